"""Where Arasu's paper errs or is silent: one test a line of our reading, with its counterexample.

Each claim is checked twice: what the verdict is, and what counting by brute force finds.  Readings
that need more than one query are in `test_examples_of_arasu.py`.
"""

from __future__ import annotations

import random
from itertools import product
from math import comb

import numpy as np
import pytest
from tests.memory import brute_force, brute_force_aggregates, brute_force_self_joins
from tests.memory.brute_force import largest_irredundant
from tests.memory.self_joins import answer, random_contents
from tests.strategies.aggregates import aggregate_text
from tests.strategies.spj import spj_text

from millpond.language import read_script
from millpond.memory import MemoryClass, Verdict, verdict_of

STREAMS = (
    "CREATE STREAM s (a INT, b INT, c INT); CREATE STREAM t (d INT, e INT); "
    "CREATE STREAM u (g INT);\n"
)
TWO = "FROM s AS s1, s AS s2"


def verdict(text: str) -> Verdict:
    return verdict_of(read_script(f"{STREAMS}SELECT {text}").queries[0])


def check(text: str, *, bounded: bool) -> None:
    """Verdict and brute force agree on a query without self-joins and aggregates."""
    assert verdict(text).bounded is bounded
    assert brute_force.grows(spj_text(f"{STREAMS}SELECT {text}"), (3, 5)) is not bounded


def check_aggregate(text: str, *, bounded: bool) -> None:
    assert verdict(text).bounded is bounded
    assert brute_force_aggregates.grows(aggregate_text(f"{STREAMS}SELECT {text}")) is not bounded


# How the definitions are read ---------------------------------------------------------------------


def test_the_closure_is_over_the_integers() -> None:
    """`a > 9 AND a < 11` is a point, so that the equality join has a bound."""
    check("s.a FROM s, t WHERE s.a = t.d AND s.a > 9 AND s.a < 11", bounded=True)
    check("s.a FROM s, t WHERE s.a = t.d AND s.a > 9 AND s.a < 10", bounded=True)
    check("s.a FROM s, t WHERE s.a = t.d AND s.a > 9", bounded=False)


def test_what_two_filters_imply_is_no_join_though_no_element_stands_between() -> None:
    """`s.a < 6 AND t.d > 5` implies `s.a < t.d`, which is not redundant by Definition 4.1: there
    is no k with `s.a < k < t.d`."""
    text = "1 FROM s, t WHERE s.a < 6 AND t.d > 5 AND s.a < t.d"
    check(text, bounded=True)
    assert verdict(text).units == 2


def test_redundancy_is_asked_of_the_closure() -> None:
    """`a < d` is in P+ only; were it not counted, a bounded query might keep the wrong column."""
    check("DISTINCT 1 FROM s, t WHERE s.a = s.b AND s.b < t.d", bounded=True)
    check("DISTINCT 1 FROM s, t WHERE s.a < s.b AND s.b < t.d AND s.a < t.d", bounded=True)


def test_max_ref_is_taken_per_lto_query_also_in_theorem_8_6() -> None:
    """As printed, `MaxRef(S)` is {a, b} in each; locally ordered, it is {a} where `a <= b`."""
    check_aggregate("MAX(s.a) FROM s, t WHERE t.d < s.a AND t.d < s.b AND s.a <= s.b", bounded=True)
    check_aggregate("MAX(s.a) FROM s, t WHERE t.d < s.a AND t.d < s.b", bounded=False)


def test_without_constants_every_column_is_unbounded() -> None:
    check("DISTINCT s.a FROM s, t WHERE s.b < t.d", bounded=False)
    check("DISTINCT 1 FROM s, t WHERE s.b < t.d", bounded=True)
    check("1 FROM s, t WHERE s.b < t.d", bounded=False)


def test_one_stream_with_duplicates_kept_is_bounded_and_so_is_what_nothing_satisfies() -> None:
    check("s.a, s.b FROM s WHERE s.a < s.b", bounded=True)
    check("DISTINCT s.a FROM s, t WHERE s.b < t.d AND t.d < s.b", bounded=True)
    assert verdict("DISTINCT s.a FROM s, t WHERE s.b < t.d AND t.d < s.b").units == 0


def test_a_join_that_is_not_strict_is_never_split() -> None:
    """Its `=` part alone is not bounded, and the whole is."""
    check("DISTINCT 1 FROM s, t WHERE s.a <= t.d", bounded=True)
    check("DISTINCT 1 FROM s, t WHERE s.a < t.d", bounded=True)
    check("DISTINCT 1 FROM s, t WHERE s.a = t.d", bounded=False)


def test_theorem_5_3_a_filter_of_the_input_can_unbound_a_self_join() -> None:
    """The printed proof evaluates a filtered query by filtering what the bounded one gives."""
    bounded = f"DISTINCT 1 {TWO} WHERE s1.a = s2.a"
    filtered = f"{bounded} AND s1.b = 1 AND s2.b = 2"
    assert verdict(bounded).units == 1
    assert verdict(filtered).memory is MemoryClass.LINEAR
    assert not brute_force_self_joins.grows(spj_text(f"{STREAMS}SELECT {bounded}"))
    assert brute_force_self_joins.grows(spj_text(f"{STREAMS}SELECT {filtered}"))


# Self-joins under DISTINCT (section 8.1) ----------------------------------------------------------


def test_self_joins_a_redundancy_is_removed_before_the_split_into_lto_queries() -> None:
    """`s1.a = s2.a` says that S is not empty; an LTO query of it is not bounded."""
    text = f"DISTINCT 1 {TWO} WHERE s1.a = s2.a"
    derived = f"{text} AND s1.a < s1.b AND s2.a > s2.b"
    assert (verdict(text).memory, verdict(text).units) == (MemoryClass.CONSTANT, 1)
    assert verdict(derived).memory is MemoryClass.LINEAR
    assert not brute_force_self_joins.grows(spj_text(f"{STREAMS}SELECT {text}"))
    assert brute_force_self_joins.grows(spj_text(f"{STREAMS}SELECT {derived}"))


def test_self_joins_b_condition_c3_is_not_necessary() -> None:
    """Three distinct values are asked for: two registers do, and no input is told apart for ever.
    What cannot be proved is never called linear."""
    text = f"DISTINCT 1 {TWO}, s AS s3 WHERE s1.a < s2.a AND s2.a < s3.a"
    found = verdict(text)
    assert found.memory in (MemoryClass.OUTSIDE, MemoryClass.CONSTANT)
    assert not brute_force_self_joins.grows(spj_text(f"{STREAMS}SELECT {text}"))
    query = spj_text(f"CREATE STREAM s (a INT);\nSELECT {text}")
    for seed in range(200):
        contents = random_contents(random.Random(seed), query, 5, 0, 4, 0)
        values = {row["a"] for row in contents["s"]}
        assert bool(answer(query, contents)) is (len(values) >= 3)


def test_self_joins_c_aliases_fold_together_that_do_not_fold_one_by_one() -> None:
    text = f"DISTINCT 1 {TWO}, s AS s3 WHERE s1.b = s2.a AND s3.a = s3.b"
    found = verdict(text)
    assert (found.memory, found.units) == (MemoryClass.CONSTANT, 1)
    # It says no more than `s3.a = s3.b` does.
    query = spj_text(f"CREATE STREAM s (a INT, b INT);\nSELECT {text}")
    for seed in range(200):
        contents = random_contents(random.Random(seed), query, 4, 0, 3, 0)
        assert bool(answer(query, contents)) is any(row["a"] == row["b"] for row in contents["s"])


def test_self_joins_that_keep_duplicates_hold_as_printed() -> None:
    for text, bounded in {
        f"1 {TWO} WHERE s1.a = s2.a": False,
        f"s1.a {TWO} WHERE s1.a = s2.a AND s1.a > 10 AND s2.a < 13": True,
        f"1 {TWO}": True,
    }.items():
        assert verdict(text).bounded is bounded
        assert brute_force_self_joins.grows(spj_text(f"{STREAMS}SELECT {text}")) is not bounded


# Aggregates (section 8.2) -------------------------------------------------------------------------


def test_theorem_8_6_c3_max_needs_min_ref_to_be_empty_too() -> None:
    """`MAX(s.a)` over `s.b < t.d` passes the printed C3, as does its mirror image."""
    check_aggregate("MAX(s.a) FROM s, t WHERE s.b < t.d", bounded=False)
    check_aggregate("MAX(s.a) FROM s, t WHERE s.a < t.d", bounded=False)
    check_aggregate("MIN(s.a) FROM s, t WHERE s.b > t.d", bounded=False)
    check_aggregate("MAX(s.a) FROM s, t WHERE s.a > t.d", bounded=True)
    check_aggregate("MIN(s.a) FROM s, t WHERE s.a < t.d", bounded=True)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_theorem_8_6_c3_the_staircase_has_as_many_states_as_there_are_paths(size: int) -> None:
    """What rows of S say to every t.d: the greatest `a` of those with `b < d`."""
    points = list(product(range(size), repeat=2))
    states: set[tuple[int, ...]] = set()
    told = {(0,) * size}
    while states != told:
        states = told
        told = states | {
            tuple(max(best, a + 1) if b < d + 1 else best for d, best in enumerate(state))
            for state in states
            for b, a in points
        }
    assert len(states) == comb(2 * size, size)


def test_theorem_8_6_c1_is_not_necessary_where_the_value_is_forced() -> None:
    check_aggregate("SUM(s.a) FROM s, t WHERE s.b < t.d AND s.a = 0", bounded=True)
    check_aggregate("AVG(s.a) FROM s, t WHERE s.b < t.d AND s.a = 5", bounded=True)
    check_aggregate("MEDIAN(s.a) FROM s, t WHERE s.b < t.d AND s.a = 5", bounded=True)
    check_aggregate("SUM(s.a) FROM s, t WHERE s.b < t.d AND s.a = 5", bounded=False)
    check_aggregate("COUNT(s.a) FROM s, t WHERE s.b < t.d AND s.a = 0", bounded=False)
    # The groups have to be known all the same.
    check_aggregate("SUM(s.a) FROM s, t WHERE s.b = t.d AND s.a = 0", bounded=False)


def test_count_distinct_goes_without_duplicates_and_median_with_them() -> None:
    body = "FROM s, t WHERE s.b < t.d AND s.a > 0 AND s.a < 3"
    check_aggregate(f"COUNT(DISTINCT s.a) {body}", bounded=True)
    check_aggregate(f"MEDIAN(s.a) {body}", bounded=False)
    assert [each.rule for each in verdict(f"MEDIAN(s.a) {body}").because] == ["arasu 8.6 C1"]


# Beyond the paper ---------------------------------------------------------------------------------


@pytest.mark.parametrize("aggregate", ["AVG(t.e)", "MEDIAN(t.e)"])
def test_a_mean_does_not_ask_how_often_everything_comes(aggregate: str) -> None:
    """C1 of Theorem 8.6 fails: counting the pairs with `s.a < u.g` has no bound."""
    finite = " AND t.e > 0 AND t.e < 3" if aggregate.startswith("MEDIAN") else ""
    check_aggregate(f"{aggregate} FROM s, t, u WHERE s.a < u.g{finite}", bounded=True)
    check_aggregate(f"COUNT(*) FROM s, t, u WHERE s.a < u.g{finite}", bounded=False)
    # A join of the averaged stream weighs its rows differently.
    check_aggregate(
        f"{aggregate} FROM s, t, u WHERE s.a < u.g AND s.b = t.d AND s.b > 0 AND s.b < 3{finite}",
        bounded=False,
    )


def test_population_variance_does_not_ask_how_often_everything_comes_and_a_sample_s_does() -> None:
    assert verdict("VAR_POP(t.e) FROM s, t, u WHERE s.a < u.g").units == 6
    check_aggregate("VAR(t.e) FROM s, t, u WHERE s.a < u.g", bounded=False)


def test_an_aggregate_of_a_column_that_a_group_has_one_value_of_counts_nothing() -> None:
    body = "FROM s, t WHERE s.b < t.d AND s.a > 0 AND s.a < 3"
    check_aggregate(f"s.a, AVG(s.a) {body} GROUP BY s.a", bounded=True)
    check_aggregate(f"s.a, SUM(s.a) {body} GROUP BY s.a", bounded=False)


def test_the_variance_of_a_constant_asks_for_none_or_one_or_more_rows() -> None:
    text = "VAR(s.a) FROM s, t WHERE s.b < t.d AND s.a = 5"
    check_aggregate(text, bounded=True)
    assert verdict(text).formula == (
        "s: (1 minimum of b + 1 second minimum of b) + t: (1 maximum of d + 1 second maximum of d)"
        " + answer: 1 count of a"
    )


def test_section_9_a_column_that_can_lie_anywhere_is_bounded_by_what_it_is_compared_with() -> None:
    """|sat(x)| is not finite, and section 9 would have `s.x` unbounded; but `t.d` tells no more
    than nine ranges of it apart."""
    declared = "CREATE STREAM s (x DOUBLE NOT NULL); CREATE STREAM t (d INT NOT NULL);\n"
    text = "FROM s, t WHERE s.x < t.d AND t.d BETWEEN 11 AND 19"
    found = verdict_of(read_script(f"{declared}SELECT t.d {text}").queries[0])
    assert found.formula == "s: 9 values of x x 1 count + t: 9 values of d x 1 count"
    projected = verdict_of(read_script(f"{declared}SELECT s.x {text}").queries[0])
    assert [each.code for each in projected.because] == ["MP211"]


# Traps --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "bounded"),
    [
        pytest.param("DISTINCT s.a FROM s WHERE s.a > 9 AND s.a < 11", True, id="a point"),
        pytest.param("DISTINCT s.a FROM s WHERE s.a > 9 AND s.a < 10", True, id="nothing"),
        pytest.param(
            "1 FROM s, t WHERE s.a < t.d AND s.a > 0 AND t.d < 4", True, id="bounds through a join"
        ),
        pytest.param(
            "s.b FROM s, t WHERE s.a = s.b AND s.a = t.d AND t.d >= 1 AND t.d <= 3",
            True,
            id="bounds through equalities",
        ),
        pytest.param("DISTINCT s.a FROM s WHERE s.a >= 0", False, id="half-bounded"),
        pytest.param("1 FROM s, t WHERE s.a < t.d AND s.a > 0", False, id="half-bounded, joined"),
        pytest.param(
            "DISTINCT 1 FROM s, t WHERE s.a < t.d AND s.b < t.d",
            True,
            id="several columns, one class in each LTO query",
        ),
        pytest.param(
            "DISTINCT 1 FROM s, t WHERE s.a < t.d AND s.b < t.e AND s.a = s.b AND t.d = t.e",
            True,
            id="equal columns of a stream",
        ),
        pytest.param("1 FROM s, t", True, id="disconnected, an empty projection"),
        pytest.param(
            "1 FROM s, t, u WHERE s.a < t.d AND u.g = 1", False, id="disconnected, kept"
        ),
        pytest.param("DISTINCT 1 FROM s, t, u WHERE s.a < t.d", True, id="disconnected, distinct"),
    ],
)  # fmt: skip
def test_traps(text: str, bounded: bool) -> None:
    check(text, bounded=bounded)


# From the section on Schiff, about queries of this kind -------------------------------------------


def test_splitting_unequal_proves_nothing_against_a_bound() -> None:
    """Of rows (a, b), four are as good as all of them for `a <> d AND b <> e`; the four parts that
    `<>` splits into have staircases."""
    sizes = []
    for size in (3, 5, 7):
        pairs = np.array(list(product(range(size), repeat=2)))
        a, b = pairs[:, :1], pairs[:, 1:]
        d, e = pairs[:, 0], pairs[:, 1]
        whole, part = (a != d) & (b != e), (a < d) & (b < e)
        sizes.append((largest_irredundant(whole), largest_irredundant(part)))
    assert [whole for whole, _ in sizes] == [sizes[0][0]] * 3
    assert sizes[0][1] < sizes[1][1] < sizes[2][1]
    found = verdict("DISTINCT 1 FROM s, t WHERE s.a <> t.d AND s.b <> t.e")
    assert found.memory is MemoryClass.OUTSIDE
    check("DISTINCT 1 FROM s, t WHERE s.a < t.d AND s.b < t.e", bounded=False)
