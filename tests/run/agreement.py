"""What millpond prints for a random case, beside what the oracle says.

Lines are read back by the types of the query's columns; numbers of type DOUBLE are brought to
twelve digits on both sides.  The order of lines is held against the contract on the lines as they
are.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.cli.harness import Done, jsonl, millpond
from tests.run.oracle import Answer, Bag, Oracle, Row, canonical, order_key
from tests.strategies.expressions import Type
from tests.strategies.query_text import Case, QueryText

from millpond.language import read_script
from millpond.plan import Node, nodes

Line = dict[str, Any]
At = int | Decimal


@dataclass(frozen=True)
class Seen:
    """What there was to see in a case."""

    features: frozenset[str]
    nodes: frozenset[type[Node]]
    """The kinds of nodes in the plans of its queries."""
    filled: bool
    """Whether there was a change to print."""
    expired: bool
    """Whether rows left a window before the end of input."""


@dataclass(frozen=True)
class Told:
    """What the oracle says of a query."""

    query: QueryText
    answers: list[Answer]
    changes: list[tuple[int, Row, int]]
    expired: int


def agree(case: Case, folder: Path) -> Seen:
    """Raises if some output of the case is not what the oracle says."""
    told = [_told(case, each) for each in case.queries]
    rng = random.Random(case.seed)
    for emit, compare in _EMITTED.items():
        if emit == "changes" or rng.random() < 0.3:
            done = run(case, folder, emit, rng.choice([1, 2, 3, 7, 100]))
            assert done.code == 0, f"exit {done.code}: {done.err}"
            compare(case, told, _per_query(case, done.lines))
    plans = [each.root for each in read_script(case.text).queries]
    return Seen(
        case.features,
        frozenset(type(each) for plan in plans for each in nodes(plan)),
        any(each.changes for each in told),
        any(each.expired for each in told),
    )


def run(case: Case, folder: Path, emit: str, batch_rows: int) -> Done:
    """The command, on the files of a case."""
    script, events = folder / "case.sql", folder / "case.jsonl"
    script.write_text(case.text)
    events.write_bytes(jsonl(case.events))
    return millpond(
        "run", script, "--engine", "definition", "--input", events,
        "--emit", emit, "--batch-rows", str(batch_rows),
    )  # fmt: skip


def expected_changes(case: Case) -> list[list[tuple[int, Row, int]]]:
    """The oracle's changes, per query."""
    return [_told(case, each).changes for each in case.queries]


def _told(case: Case, query: QueryText) -> Told:
    oracle = Oracle(case, query)
    try:
        answers = oracle.answers()
        return Told(query, answers, list(oracle.changes_of(answers)), oracle.expired())
    finally:
        oracle.close()


def _per_query(case: Case, lines: Sequence[Line]) -> list[list[Line]]:
    """The lines of each query; that they come in order is checked here."""
    names = [each.name for each in case.queries]
    several = len(names) > 1
    assert all(("query" in each) is several for each in lines), "query is said of several only"
    if any("at" in each for each in lines):
        keys = [(case.time.heard(each["at"]), names.index(each.get("query", names[0])))
                for each in lines]  # fmt: skip
        assert keys == sorted(keys), "lines are in order of `at`, then of the queries"
    return [[line for line in lines if line.get("query", name) == name] for name in names]


def _row(case: Case, query: QueryText, row: Line) -> Row:
    names = [name for name, _ in query.columns]
    assert list(row) == names, f"columns {list(row)} for {names}"
    return tuple(_value(case, row[name], type_) for name, type_ in query.columns)


def _value(case: Case, value: Any, type_: Type) -> Any:
    if value is None:
        return None
    match type_:
        case Type.TIME:
            return case.time.heard(value)
        case Type.DECIMAL:
            assert isinstance(value, str), f"a DECIMAL is text: {value!r}"
            return Decimal(value)
        case Type.DOUBLE:
            assert isinstance(value, float), f"a DOUBLE is a number with a point: {value!r}"
            return value
    expected = {Type.INT: int, Type.TEXT: str, Type.BOOL: bool}[type_]
    assert type(value) is expected, f"{value!r} is no {type_}"
    return value


def _rounded(row: Row) -> Row:
    return tuple(map(canonical, row))


def _compare_changes(case: Case, told: Sequence[Told], lines: Sequence[Sequence[Line]]) -> None:
    for each, own in zip(told, lines, strict=True):
        read = [
            (case.time.heard(line["at"]), line["op"], _row(case, each.query, line["row"]),
             line.get("n", 1))
            for line in own
        ]  # fmt: skip
        assert all(line.get("n") != 1 for line in own), "`n` is left out when it is 1"
        keys = [(at, op == "+", order_key(row)) for at, op, row, _ in read]
        assert keys == sorted(keys), "changes are in the contract's order"
        found: Counter[tuple[At, Row]] = Counter()
        for at, op, row, n in read:
            found[at, _rounded(row)] += n if op == "+" else -n
        expected: Counter[tuple[At, Row]] = Counter({(at, row): n for at, row, n in each.changes})
        _same(each.query.name, _sorted(expected), _sorted(found))


def _compare_answers(case: Case, told: Sequence[Told], lines: Sequence[Sequence[Line]]) -> None:
    for each, own in zip(told, lines, strict=True):
        found = []
        for line in own:
            rows = [(_row(case, each.query, one["row"]), one.get("n", 1)) for one in line["answer"]]
            keys = [order_key(row) for row, _ in rows]
            assert keys == sorted(keys), "an answer is in the contract's order"
            found.append((case.time.heard(line["at"]), _bag(rows)))
        expected: list[tuple[At, Bag]] = [(one.at, one.bag) for one in each.answers if one.said]
        if each.query.stream_valued:
            # At an instant at which nothing is given there may be a line that says so.
            expected = [one for one in expected if one[1]]
            found = [one for one in found if one[1]]
        _same(each.query.name, _said(expected), _said(found))


def _compare_final(case: Case, told: Sequence[Told], lines: Sequence[Sequence[Line]]) -> None:
    for each, own in zip(told, lines, strict=True):
        found = _bag([(_row(case, each.query, line["row"]), line.get("n", 1)) for line in own])
        if each.query.stream_valued:
            expected = Counter(row for one in each.answers for row in one.bag.elements())
        else:
            expected = each.answers[-1].bag if each.answers else Counter()
        _same(each.query.name, _said([(0, expected)]), _said([(0, found)]))


_EMITTED: dict[str, Callable[[Case, Sequence[Told], Sequence[Sequence[Line]]], None]] = {
    "changes": _compare_changes,
    "answers": _compare_answers,
    "final": _compare_final,
}


def _bag(rows: Iterable[tuple[Row, int]]) -> Bag:
    found: Bag = Counter()
    for row, n in rows:
        found[_rounded(row)] += n
    return found


def _sorted(changes: Counter[tuple[At, Row]]) -> list[str]:
    kept = [(at, row, n) for (at, row), n in changes.items() if n]
    kept.sort(key=lambda each: (each[0], each[2] > 0, order_key(each[1])))
    return [f"{at}: {n:+} {_shown(row)}" for at, row, n in kept]


def _said(answers: Iterable[tuple[At, Bag]]) -> list[str]:
    return [
        f"{at}: "
        + ", ".join(f"{bag[row]} {_shown(row)}" for row in sorted(bag, key=order_key) if bag[row])
        for at, bag in answers
    ]


def _shown(row: Row) -> str:
    return f"({', '.join(str(each) if isinstance(each, Decimal) else repr(each) for each in row)})"


def _same(name: str, expected: list[str], found: list[str]) -> None:
    if expected == found:
        return
    missing = [each for each in expected if each not in found]
    wrong = [each for each in found if each not in expected]
    raise AssertionError(f"{name}: the oracle alone says {missing}, millpond alone {wrong}")
