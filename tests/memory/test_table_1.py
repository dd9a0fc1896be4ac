"""Arasu, Table I: seven queries, with duplicates kept and removed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from millpond.language import read_script
from millpond.memory import Bits, MemoryClass, SideUnits, Verdict, verdict_of

STREAMS = "CREATE STREAM s (a INT, b INT, c INT); CREATE STREAM t (d INT, e INT);\n"
QUERIES = {
    "Q1": "a FROM s WHERE a > 10",
    "Q2": "a FROM s, t WHERE a = d",
    "Q3": "a FROM s, t WHERE a = d AND a > 10 AND d < 20",
    "Q4": "a FROM s, t WHERE b < d AND a = 10",
    "Q5": "a FROM s, t WHERE b < d AND c < e AND a = 10",
    "Q6": "a FROM s, t WHERE b < d AND c < e AND b < e AND c < d AND a = 10",
    "Q7": "a FROM s, t WHERE b < d AND d > 10 AND b < 20 AND a = 10",
}


def verdict(query: str, duplicates: str) -> Verdict:
    words = {"kept": "SELECT", "removed": "SELECT DISTINCT"}[duplicates]
    return verdict_of(read_script(f"{STREAMS}{words} {QUERIES[query]}").queries[0])


@dataclass(frozen=True)
class Yes:
    """Computable in bounded memory: what is kept of each input, in units."""

    state: tuple[tuple[str, str, str, int], ...] = ()
    """Of what, what, of which kind, how many units."""

    @property
    def units(self) -> int:
        return sum(units for *_, units in self.state)


@dataclass(frozen=True)
class No:
    """Not computable in bounded memory: the conditions that fail, with their attributes."""

    because: tuple[tuple[str, str], ...]


ONCE = ("emitted rows", "whether the row is out", "emitted", 1)
CELLS: list[tuple[str, str, Yes | No]] = [
    ("Q1", "kept", Yes()),
    ("Q1", "removed", No((("MP211", "s.a"),))),
    ("Q2", "kept", No((("MP211", "s.a"), ("MP212", "s.a t.d")))),
    ("Q2", "removed", No((("MP211", "s.a"), ("MP212", "s.a t.d")))),
    # A and D meet at 11 to 19.
    ("Q3", "kept", Yes((("s", "a in 11..19", "counts", 9), ("t", "d in 11..19", "counts", 9)))),
    (
        "Q3",
        "removed",
        Yes(
            (
                ("s", "a in 11..19", "flags", 9),
                ("t", "d in 11..19", "flags", 9),
                ("emitted rows", "s.a in 11..19", "emitted", 9),
            )
        ),
    ),
    ("Q4", "kept", No((("MP213", "s.b t.d"),))),
    (
        "Q4",
        "removed",
        Yes((("s", "minimum of b", "extremes", 1), ("t", "maximum of d", "extremes", 1), ONCE)),
    ),
    ("Q5", "kept", No((("MP213", "s.b t.d"), ("MP213", "s.c t.e")))),
    ("Q5", "removed", No((("MP213", "s.b s.c t.d t.e"),))),
    (
        "Q6",
        "kept",
        No(
            (
                ("MP213", "s.b t.d"),
                ("MP213", "s.b t.e"),
                ("MP213", "s.c t.d"),
                ("MP213", "s.c t.e"),
            )
        ),
    ),
    (
        "Q6",
        "removed",
        Yes(
            (
                ("s", "minimum of max(b, c)", "extremes", 1),
                ("t", "maximum of min(d, e)", "extremes", 1),
                ONCE,
            )
        ),
    ),
    # B at most 10 joins with every D above 10, and D at least 20 with every B below 20.
    ("Q7", "kept", Yes((("s", "b in 10..19", "counts", 10), ("t", "d in 11..20", "counts", 10)))),
    (
        "Q7",
        "removed",
        Yes((("s", "minimum of b", "extremes", 1), ("t", "maximum of d", "extremes", 1), ONCE)),
    ),
]
UNITS = {
    ("Q1", "kept"): 0,
    ("Q3", "kept"): 18,
    ("Q3", "removed"): 27,
    ("Q4", "removed"): 3,
    ("Q6", "removed"): 3,
    ("Q7", "kept"): 20,
    ("Q7", "removed"): 3,
}
EVERY = pytest.mark.parametrize(
    ("query", "duplicates", "cell"), CELLS, ids=[f"{each[0]} {each[1]}" for each in CELLS]
)


@EVERY
def test_table_1(query: str, duplicates: str, cell: Yes | No) -> None:
    found = verdict(query, duplicates)
    theorem = "arasu 5.6" if duplicates == "kept" else "arasu 5.10"
    assert found.units == UNITS.get((query, duplicates))
    assert found.bounded == isinstance(cell, Yes)
    if isinstance(cell, No):
        assert found.memory is MemoryClass.LINEAR
        assert found.bits is Bits.LINEAR
        assert (found.state, found.formula, found.state_bytes) == ((), None, None)
        assert [(each.code, " ".join(each.attributes)) for each in found.because] == list(
            cell.because
        )
        conditions = {"MP211": "C1", "MP212": "C2", "MP213": "C3"}
        assert [each.rule for each in found.because] == [
            f"{theorem} {conditions[code]}" for code, _ in cell.because
        ]
        assert found.growth == "distinct " + ", ".join(_named(cell))
        return
    assert found.units == cell.units
    assert found.memory is (MemoryClass.CONSTANT if cell.state else MemoryClass.NONE)
    assert found.growth is None
    assert (
        tuple((each.of, *each.keeps, each.kind, each.units) for each in found.state) == cell.state
    )
    counts = any(kind == "counts" for _, _, kind, _ in cell.state)
    assert found.bits is (Bits.LOG if counts else Bits.CONSTANT)
    ((rule, code),) = [(each.rule, each.code) for each in found.because]
    assert (rule, code) == (
        (theorem, "MP201") if cell.state else ("arasu figure 2, step 1", "MP202")
    )


def _named(cell: No) -> Iterable[str]:
    return dict.fromkeys(each for _, names in cell.because for each in names.split())


@EVERY
def test_what_is_kept_apart_from_operator_state(
    query: str, duplicates: str, cell: Yes | No
) -> None:
    """The answer holds each distinct row, with its count where duplicates are kept; the buffer
    holds one row of the wider stream, S(A, B, C)."""
    found = verdict(query, duplicates)
    rows = {"Q1": None, "Q2": None, "Q3": 9}.get(query, 1)
    if rows is None:
        assert found.answer == SideUnits(MemoryClass.LINEAR, None)
    else:
        per_row = 2 if duplicates == "kept" else 1
        assert found.answer == SideUnits(MemoryClass.CONSTANT, rows * per_row)
    assert found.buffer == SideUnits(MemoryClass.CONSTANT, 3)


def test_the_certificate_of_q3() -> None:
    found = verdict("Q3", "kept")
    assert found.formula == "s: 9 values of a x 1 count + t: 9 values of d x 1 count"
    assert found.state_bytes == 288
    assert found.answer.units == 18
    assert found.buffer.units == 3
    assert str(found) == "q1: constant, at most 18 units"


def test_the_certificate_of_q6_with_duplicates_removed() -> None:
    found = verdict("Q6", "removed")
    assert found.formula == (
        "s: 1 minimum of max(b, c) + t: 1 maximum of min(d, e) + emitted: 1 row"
    )
    assert found.state_bytes == 24


@pytest.mark.parametrize(
    ("query", "duplicates", "marked"),
    [
        ("Q1", "removed", ["a"]),
        ("Q2", "kept", ["a", "a = d"]),
        ("Q4", "kept", ["b < d"]),
        ("Q5", "kept", ["b < d", "c < e"]),
    ],
)
def test_reasons_point_at_the_text(query: str, duplicates: str, marked: list[str]) -> None:
    spans = [each.span for each in verdict(query, duplicates).because]
    assert [each.text for each in spans if each is not None] == marked


def test_a_budget_below_the_number_makes_it_impractical() -> None:
    query = read_script(f"{STREAMS}SELECT {QUERIES['Q3']}").queries[0]
    found = verdict_of(query, budget=17)
    assert found.memory is MemoryClass.IMPRACTICAL
    assert (found.units, found.bounded) == (18, True)
    assert [each.code for each in found.because] == ["MP201", "MP221"]
    assert verdict_of(query, budget=18).memory is MemoryClass.CONSTANT
