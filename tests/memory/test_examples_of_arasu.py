"""The examples of Arasu's paper by number, and how we read the paper where it errs or is silent."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.memory.by_definition import Rows, joined
from tests.memory.reduction import reduce_rows
from tests.strategies.spj import ComparisonText, Side, SpjText, naming, random_spj, spj_text

from millpond.language import read_script
from millpond.memory import (
    Attribute,
    MemoryClass,
    SpjQuery,
    Verdict,
    normal_form,
    verdict_of,
)
from millpond.memory.lto import lto_queries, max_ref, min_ref
from millpond.order import ZERO, Bound, DifferenceBounds


def verdict(text: str) -> Verdict:
    return verdict_of(read_script(text).queries[0])


def query(text: str) -> SpjQuery:
    found = normal_form(read_script(text).queries[0])
    assert found is not None
    return found


def codes(found: Verdict) -> list[str]:
    return [each.code for each in found.because]


def kept(found: Verdict) -> list[tuple[str, ...]]:
    return [(each.of, *each.keeps) for each in found.state]


def names(attributes: list[Attribute]) -> list[str]:
    return [str(each) for each in attributes]


# Section 4 ----------------------------------------------------------------------------------------


def equal_to(x: str, k: int) -> list[Bound[str]]:
    return [(x, ZERO, k), (ZERO, x, -k)]


@pytest.mark.parametrize(
    ("atoms", "redundant"),
    [
        pytest.param([("A", "B", -1), ("B", "C", -1), ("A", "C", -1)], True, id="A<B B<C A<C"),
        pytest.param([("A", "C", -1), *equal_to("A", 5), (ZERO, "C", -6)], True, id="A=5 C>5 A<C"),
        pytest.param(
            [("A", "B", 0), ("B", "A", 0), ("A", "C", -1), ("B", "C", -1)], False, id="A=B A<C B<C"
        ),
    ],
)
def test_definition_4_1_redundancy_of_a_below_c(atoms: list[Bound[str]], redundant: bool) -> None:
    assert DifferenceBounds("ABC").with_bounds(atoms).redundant("A", "C") is redundant


def test_section_4_transitive_closure() -> None:
    closure = DifferenceBounds("AB").at_most("A", 4).at_least("B", 9)
    assert closure.implies("A", ZERO, 7)
    assert closure.implies(ZERO, "B", -6)
    assert closure.implies("A", "B", -1)
    assert not closure.implies("B", "A", 0)


def test_section_4_unsatisfiable_cycle() -> None:
    closure = DifferenceBounds("ABC").less("A", "B").less("B", "C").less("C", "A")
    assert not closure.satisfiable


def test_section_4_notation_of_q3() -> None:
    """S(Q3) = {S, T}, C(Q3) = {10, 20}; E(Q3) has A and D beside the constants."""
    spj = query(f"{S_ABC_T_DE}SELECT a FROM s, t WHERE a = d AND a > 10 AND d < 20")
    assert [alias for alias, _ in spj.streams] == ["s", "t"]
    assert names(list(spj.predicate.elements)) == ["s.a", "t.d"]
    # Over the integers `a > 10` is `a >= 11`: the neighbours are among them.
    assert {10, 20} <= set(spj.constants) <= {10, 11, 19, 20}


# Section 5 ----------------------------------------------------------------------------------------

S_AB_T_C = "CREATE STREAM s (a INT, b INT); CREATE STREAM t (c INT);\n"
S_ABC_T_DE = "CREATE STREAM s (a INT, b INT, c INT); CREATE STREAM t (d INT, e INT);\n"
FIGURE_1 = """CREATE STREAM s1 (a INT, b INT, c INT, d INT); CREATE STREAM s2 (e INT, f INT, g INT);
    CREATE STREAM s3 (h INT, i INT, j INT);
    SELECT DISTINCT 1 FROM s1, s2, s3 WHERE 10 < e AND e < f AND f < 20 AND j < f AND i < j
    AND g < c AND c < b AND g < b AND h < a AND d > 10"""


def test_definition_5_1_locally_totally_ordered_queries() -> None:
    spj = query(f"{S_ABC_T_DE}SELECT 1 FROM s, t WHERE a = 10 AND b < a AND a < c AND d < e")
    # D < E may lie in five ways beside 10; S is totally ordered as it is.
    assert len(list(lto_queries(spj.predicate, spj.constants))) == 5
    spj = query(
        f"{S_ABC_T_DE}SELECT 1 FROM s, t WHERE a = 10 AND b < a AND a < c AND d < e AND e < a"
    )
    assert len(list(lto_queries(spj.predicate, spj.constants))) == 1


def test_theorem_5_3_three_lto_queries() -> None:
    text = f"{S_AB_T_C}SELECT a FROM s, t WHERE b = c AND a = 10"
    spj = query(text)
    found = list(lto_queries(spj.predicate, spj.constants))
    assert [str(each.interval(Attribute("t", "c"))) for each in found] == ["..9", "10", "11.."]
    assert codes(verdict(text)) == ["MP212"]


def test_example_5_5_max_ref_and_min_ref() -> None:
    predicate = query(FIGURE_1).predicate
    assert names(max_ref(predicate, "s1")) == ["s1.a", "s1.c"]
    assert names(min_ref(predicate, "s1")) == []
    assert names(max_ref(predicate, "s2")) == []
    assert names(min_ref(predicate, "s2")) == ["s2.g"]
    assert names(max_ref(predicate, "s3")) == []
    assert names(min_ref(predicate, "s3")) == ["s3.h", "s3.j"]


def test_example_5_7() -> None:
    found = verdict(f"{S_AB_T_C}SELECT a FROM s, t WHERE a < 20 AND a = c AND c > 10 AND b > 20")
    assert found.memory is MemoryClass.CONSTANT
    assert found.units == 18
    assert kept(found) == [("s", "a in 11..19"), ("t", "c in 11..19")]
    assert found.shape is not None
    (part,) = found.shape.streams[0].parts
    # The filter A > 10 is in P+ only; B > 20 is enforced and costs nothing.
    assert str(part.predicate.interval(Attribute("s", "a"))) == "11..19"
    assert str(part.predicate.interval(Attribute("s", "b"))) == "21.."


def test_example_5_8_an_unbounded_projected_column() -> None:
    found = verdict(f"{S_AB_T_C}SELECT a FROM s, t WHERE a > 10 AND b = c AND b = 10")
    assert found.memory is MemoryClass.LINEAR
    assert [(each.code, each.attributes) for each in found.because] == [("MP211", ("s.a",))]


EXAMPLE_5_9 = "a FROM s, t WHERE a = 10 AND b < c AND b > 10 AND c > 10"


def test_example_5_9_an_inequality_join_of_unbounded_columns() -> None:
    found = verdict(f"{S_AB_T_C}SELECT {EXAMPLE_5_9}")
    assert found.memory is MemoryClass.LINEAR
    assert [(each.code, each.attributes) for each in found.because] == [("MP213", ("s.b", "t.c"))]
    predicate = query(f"{S_AB_T_C}SELECT {EXAMPLE_5_9}").predicate
    assert names(min_ref(predicate, "s")) == ["s.b"]
    assert names(max_ref(predicate, "t")) == ["t.c"]


def test_example_5_11_the_same_with_duplicates_removed() -> None:
    found = verdict(f"{S_AB_T_C}SELECT DISTINCT {EXAMPLE_5_9}")
    assert found.memory is MemoryClass.CONSTANT
    assert found.units == 3
    assert kept(found) == [
        ("s", "minimum of b"),
        ("t", "maximum of c"),
        ("emitted rows", "whether the row is out"),
    ]


@pytest.mark.parametrize(
    ("text", "kept_fails", "removed_fails"),
    [
        pytest.param("a FROM s, t WHERE a = d", [], [], id="all hold"),
        pytest.param("a, b FROM s, t WHERE a = d", ["MP211"], ["MP211"], id="C1"),
        pytest.param("a FROM s, t WHERE b = d", ["MP212"], ["MP212"], id="C2"),
        pytest.param("a FROM s, t WHERE b < d", ["MP213"], [], id="C3, one extreme of each"),
        pytest.param(
            "a FROM s, t WHERE b < d AND c > e", ["MP213"] * 2, ["MP213"], id="C3, two extremes"
        ),
        pytest.param("b FROM s WHERE b > 10", [], ["MP211"], id="one stream"),
    ],
)
def test_theorems_5_6_and_5_10_condition_by_condition(
    text: str, kept_fails: list[str], removed_fails: list[str]
) -> None:
    text += f" {'AND' if 'WHERE' in text else 'WHERE'} a > 10 AND a < 20"
    for word, fails in (("", kept_fails), ("DISTINCT ", removed_fails)):
        found = verdict(f"{S_ABC_T_DE}SELECT {word}{text}")
        assert found.bounded is not bool(fails)
        assert [each for each in codes(found) if each not in ("MP201", "MP202")] == fails


EXAMPLE_5_12 = (
    "CREATE STREAM s (a INT, b INT, c INT); CREATE STREAM t (d INT, e INT); "
    "SELECT DISTINCT s.a FROM s, t WHERE s.a = 10 AND s.b > t.d AND s.c > t.e AND s.b > 10 "
    "AND s.c < 10 AND t.d > 10 AND t.e < 10"
)


def test_example_5_12_two_independent_joins() -> None:
    found = verdict(EXAMPLE_5_12)
    assert found.memory is MemoryClass.LINEAR
    assert [(each.code, each.attributes) for each in found.because] == [
        ("MP213", ("s.b", "s.c", "t.d", "t.e"))
    ]


def test_example_5_12_starts_at_12() -> None:
    """Printed with c = 11 first, whose partner (10, -12) fails D > 10 and joins with nothing."""
    text = spj_text(EXAMPLE_5_12)
    sequence = range(11, 20)
    s = Rows("s", text.of("s"), np.array([[10, c, -c] for c in sequence]))
    t = Rows("t", text.of("t"), np.array([[c - 1, -c - 1] for c in sequence]))
    expected = np.eye(len(sequence), dtype=np.bool_)
    expected[0, 0] = False
    assert (joined(text, [s, t]) == expected).all()


# Sections 6 and 7 ---------------------------------------------------------------------------------


def test_example_6_1_two_joins_are_the_witness() -> None:
    found = verdict(FIGURE_1)
    assert found.memory is MemoryClass.LINEAR
    assert [(each.code, set(each.attributes)) for each in found.because] == [
        ("MP213", {"s1.a", "s1.c", "s2.g", "s3.h"})
    ]


def test_example_6_1_without_one_of_the_two_joins() -> None:
    found = verdict(FIGURE_1.replace("AND h < a", "AND i > 0"))
    assert found.memory is MemoryClass.CONSTANT


Q7 = (
    "CREATE STREAM s (a INT, b INT, c INT); CREATE STREAM t (d INT, e INT); "
    "SELECT s.a FROM s, t WHERE s.b < t.d AND t.d > 10 AND s.b < 20 AND s.a = 10"
)


def bucket(text: str, alias: str, row: list[int]) -> tuple[int, tuple[int | None, ...]]:
    shape = verdict(text).shape
    assert shape is not None
    rows = Rows(alias, spj_text(text).of(alias), np.array([row]))
    return reduce_rows(shape, rows).buckets[0]


def test_example_7_1_buckets_of_q7() -> None:
    """The paper has 13 ranges a column; only 10 values of B are told apart by rows that join."""
    different = {bucket(Q7, "s", [10, b]) for b in range(-30, 20)}
    assert len(different) == 10
    assert bucket(Q7, "s", [10, 14]) != bucket(Q7, "s", [10, 15])
    assert len({bucket(Q7, "t", [d]) for d in range(11, 50)}) == 10


def test_example_7_2_rows_below_10_are_one_bucket() -> None:
    assert len({bucket(Q7, "s", [10, b]) for b in (-1000, 0, 9, 10)}) == 1


def test_example_7_4_the_best_row_is_the_greatest_minimum() -> None:
    found = verdict(
        "CREATE STREAM s (a INT, b INT, c INT, d INT); CREATE STREAM t (e INT, f INT); "
        "SELECT DISTINCT a FROM s, t WHERE b > f AND c > f AND d > f AND a = 10 AND e = a"
    )
    assert found.units == 3
    assert kept(found)[:2] == [("s", "maximum of min(b, c, d)"), ("t", "minimum of f")]


# Section 8.1: self-joins --------------------------------------------------------------------------

S_AB = "CREATE STREAM s (a INT, b INT);\n"


def test_example_8_1() -> None:
    found = verdict(
        f"{S_AB}SELECT DISTINCT s1.a FROM s AS s1, s AS s2 "
        "WHERE s1.a = 10 AND s1.a = s2.a AND s1.b = s2.b AND s1.b > 10"
    )
    assert (found.memory, found.units) == (MemoryClass.CONSTANT, 1)


@pytest.mark.parametrize(
    ("text", "memory", "units"),
    [
        ("DISTINCT 1 FROM s AS s1, s AS s2 WHERE s1.a < s2.a", MemoryClass.CONSTANT, 3),
        ("1 FROM s AS s1, s AS s2 WHERE s1.a < s2.a", MemoryClass.LINEAR, None),
        (
            "s1.a FROM s AS s1, s AS s2 WHERE s1.a = s2.a AND s1.a > 10 AND s2.a < 20",
            MemoryClass.CONSTANT,
            18,
        ),
        ("1 FROM s AS s1, s AS s2", MemoryClass.CONSTANT, 2),
    ],
)
def test_section_8_1_self_joins_that_meet_or_keep_duplicates(
    text: str, memory: MemoryClass, units: int | None
) -> None:
    found = verdict(f"{S_AB}SELECT {text}")
    assert (found.memory, found.units) == (memory, units)


# How the paper is read ----------------------------------------------------------------------------

FOUR = (
    "CREATE STREAM s (a INT, b INT); CREATE STREAM t (d INT, e INT); "
    "CREATE STREAM u (g INT, h INT); CREATE STREAM v (j INT);\n"
)
NONE, CONSTANT, LINEAR = MemoryClass.NONE, MemoryClass.CONSTANT, MemoryClass.LINEAR


@pytest.mark.parametrize(
    ("text", "memory", "units"),
    [
        pytest.param("DISTINCT a FROM s WHERE a > 9 AND a < 11", CONSTANT, 1, id="a point"),
        pytest.param(
            "a FROM s, t WHERE a = d AND a > 9 AND a < 11", CONSTANT, 2, id="a point, joined"
        ),
        pytest.param("a FROM s, t WHERE a = d AND a > 9 AND a < 10", NONE, 0, id="nothing between"),
        pytest.param("DISTINCT a FROM s WHERE a > 9 AND a < 10", NONE, 0, id="nothing, distinct"),
        pytest.param("DISTINCT a FROM s, t WHERE b < d AND d < b", NONE, 0, id="a cycle"),
        pytest.param("a, b FROM s WHERE a < b", NONE, 0, id="one stream, duplicates kept"),
        pytest.param(
            "1 FROM s, t WHERE a < 6 AND d > 5 AND a < d", CONSTANT, 2, id="implied by two filters"
        ),
        pytest.param(
            "1 FROM s, t WHERE a < 6 AND d > 4 AND a < d",
            CONSTANT,
            4,
            id="all but one pair implied",
        ),
        pytest.param(
            "DISTINCT 1 FROM s, t WHERE a <= 5 AND d >= 5 AND a <= d AND b < e",
            CONSTANT,
            3,
            id="implied by two filters, beside a join",
        ),
        pytest.param("DISTINCT 1 FROM s, t WHERE a <= d", CONSTANT, 3, id="not strict"),
        pytest.param(
            "DISTINCT 1 FROM s, t WHERE a = d", LINEAR, None, id="only the equal part of it"
        ),
        pytest.param("DISTINCT 1 FROM s, t WHERE a <= d AND d <= a", LINEAR, None, id="both ways"),
        pytest.param(
            "1 FROM s, t WHERE a < d AND a > 0 AND d < 10", CONSTANT, 16, id="bounds from a join"
        ),
        pytest.param(
            "b FROM s, t WHERE a = b AND a = d AND d = e AND e >= 1 AND e <= 3",
            CONSTANT,
            6,
            id="bounds from equalities",
        ),
        pytest.param(
            "a FROM s, t, u WHERE a <= d AND d <= g AND a >= 1 AND g <= 2",
            CONSTANT,
            6,
            id="bounds over two joins",
        ),
        pytest.param("DISTINCT a FROM s WHERE a >= 0", LINEAR, None, id="half-bounded"),
        pytest.param("1 FROM s, t WHERE a < d AND a > 0", LINEAR, None, id="half-bounded, joined"),
        pytest.param(
            "1 FROM s, t WHERE a < d AND a > 0 AND a < 9", CONSTANT, 16, id="one side bounded"
        ),
        pytest.param(
            "DISTINCT 1 FROM s, t WHERE a < d AND b < e", LINEAR, None, id="two columns of a stream"
        ),
        pytest.param(
            "DISTINCT 1 FROM s, t WHERE a < d AND b < e AND a = b AND d = e",
            CONSTANT,
            3,
            id="equal columns of a stream",
        ),
        pytest.param(
            "DISTINCT 1 FROM s, t WHERE a < d AND b < d",
            CONSTANT,
            3,
            id="one class in each LTO query",
        ),
        pytest.param(
            "DISTINCT 1 FROM s, t, u WHERE a < d AND d < g",
            LINEAR,
            None,
            id="a maximum and a minimum",
        ),
        pytest.param("DISTINCT 1 FROM s, t, u WHERE a < d", CONSTANT, 4, id="a stream apart"),
        pytest.param(
            "DISTINCT 1 FROM s, t, u, v WHERE a < d AND g < j", CONSTANT, 5, id="disconnected joins"
        ),
        pytest.param("1 FROM s, t", CONSTANT, 2, id="no column at all"),
        pytest.param("DISTINCT 1 FROM s", CONSTANT, 1, id="no column of one stream"),
        pytest.param("1 FROM s, t, u WHERE a < d AND g = 1", LINEAR, None, id="disconnected, kept"),
        pytest.param("DISTINCT a FROM s, t WHERE b < d", LINEAR, None, id="no constants"),
        pytest.param("DISTINCT 1 FROM s, t WHERE a < d AND b > e", LINEAR, None, id="both ends"),
        pytest.param(
            "1 FROM s, t WHERE a <= d AND b <= e AND a >= 0 AND b >= 0 AND d <= 1 AND e <= 1",
            CONSTANT,
            8,
            id="non-strict joins of bounded columns",
        ),
    ],
)
def test_readings(text: str, memory: MemoryClass, units: int | None) -> None:
    found = verdict(f"{FOUR}SELECT {text}")
    assert (found.memory, found.units) == (memory, units)


def test_redundancy_is_asked_of_atoms_that_only_the_closure_has() -> None:
    """`b < d` and `a = b` give `a < d`, which P does not have."""
    predicate = query(f"{FOUR}SELECT DISTINCT 1 FROM s, t WHERE a = b AND b < d").predicate
    assert names(min_ref(predicate, "s")) == ["s.a", "s.b"]
    predicate = query(
        f"{FOUR}SELECT DISTINCT 1 FROM s, t WHERE a < b AND b < d AND a < d"
    ).predicate
    assert names(min_ref(predicate, "s")) == ["s.b"]


def test_max_ref_and_min_ref_are_taken_per_lto_query() -> None:
    """The query has two columns in MinRef(S), each LTO query one class of them."""
    spj = query(f"{FOUR}SELECT DISTINCT 1 FROM s, t WHERE a < d AND b < d")
    assert names(min_ref(spj.predicate, "s")) == ["s.a", "s.b"]
    derived = lto_queries(spj.predicate, spj.constants)
    assert {tuple(names(min_ref(each, "s"))) for each in derived} == {
        ("s.a",),
        ("s.b",),
        ("s.a", "s.b"),
    }


@pytest.mark.parametrize(
    ("column", "units"),
    [
        ("a INT NOT NULL CHECK (a BETWEEN 0 AND 9)", 10),
        ("a INT CHECK (a BETWEEN 0 AND 9)", 11),
        ("a INT CHECK (a >= 0 AND a < 10)", 11),
        ("a INT NOT NULL CHECK (a = 4)", 1),
        ("a INT CHECK (a = 4)", 2),
        ("a TINYINT NOT NULL", 256),
        ("a TINYINT", 257),
        ("a TINYINT CHECK (a > 0)", 128),
        ("a INT CHECK (a >= 0)", None),
        ("a INT", None),
        ("a SMALLINT", None),
        ("a BIGINT NOT NULL", None),
    ],
)
def test_section_9_domains_are_filters_that_null_passes(column: str, units: int | None) -> None:
    found = verdict(f"CREATE STREAM s ({column}); SELECT DISTINCT a FROM s")
    assert found.units == units
    compared = verdict(f"CREATE STREAM s ({column}); SELECT DISTINCT a FROM s WHERE a = a")
    nullable = units is not None and "NOT NULL" not in column
    assert compared.units == (units - 1 if units is not None and nullable else units)


def test_a_constant_that_no_value_of_the_type_reaches_makes_the_answer_empty() -> None:
    found = verdict("CREATE STREAM s (a TINYINT); SELECT DISTINCT a FROM s WHERE a > 127")
    assert (found.memory, found.units, codes(found)) == (MemoryClass.NONE, 0, ["MP202"])
    found = verdict("CREATE STREAM s (a INT); SELECT DISTINCT a FROM s WHERE a > 2147483647")
    assert found.memory is MemoryClass.NONE


def with_one_more_filter(rng: random.Random, text: SpjText) -> SpjText:
    columns = [each for each in text.columns if rng.random() < 0.9] or list(text.columns)
    left = rng.choice(columns)
    mine = [each for each in columns if each.partition(".")[0] == left.partition(".")[0]]
    sides: list[Side] = [*mine, *(text.constants or (0,))]
    right = rng.choice(sides)
    added = ComparisonText(left, rng.choice(["<", "<=", "=", ">=", ">"]), right)
    return SpjText(
        text.streams, text.inputs, (*text.comparisons, added), text.projection, text.distinct
    )


def test_theorem_5_3_a_filter_leaves_a_bounded_query_bounded() -> None:
    """A filter of the input does; the printed proof filters the output, which may lack the
    columns.  Constants of the filter are those of the query, or new."""
    bounded = 0
    for seed in range(400):
        rng = random.Random(seed)
        text = random_spj(rng, checks=rng.choice([0, 0.5]))
        if verdict(text.text).bounded:
            bounded += 1
            more = with_one_more_filter(rng, text)
            with naming(seed, more):
                assert verdict(more.text).bounded
    assert bounded > 100
