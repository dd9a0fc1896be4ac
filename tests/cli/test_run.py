"""`millpond run` prints what the contract says, whatever runs the query and however it is cut.

What is expected is computed here by list comprehensions over all rows so far.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.cli.harness import Done, jsonl, millpond

Value = int | None
Row = tuple[Value, ...]
Event = tuple[str | None, Row]
"""A row of a stream; a tick has no stream."""

STREAMS = {"s": ("a", "b"), "t": ("d",), "unread": ("z",)}
TEXT = """
CREATE STREAM s (a INT, b BIGINT); CREATE STREAM t (d INT); CREATE STREAM unread (z INT);
SELECT b, a, 7 FROM s WHERE a > 1;
CREATE QUERY pairs AS SELECT s.a FROM s, t WHERE s.a = t.d AND s.a BETWEEN 0 AND 4;
CREATE QUERY below AS SELECT DISTINCT s.a AS x, s.a FROM s, t
WHERE s.b < t.d AND s.a BETWEEN 1 AND 3;
"""


@dataclass(frozen=True)
class Model:
    """A query as plain Python."""

    name: str
    names: tuple[str, ...]
    streams: frozenset[str]
    answer: Callable[[Sequence[Row], Sequence[Row]], Counter[Row]]


def known(*values: Value) -> bool:
    return None not in values


def less(x: Value, y: Value) -> bool:
    return x is not None and y is not None and x < y


def between(low: int, x: Value, high: int) -> bool:
    return x is not None and low <= x <= high


MODELS = (
    Model(
        "q1", ("b", "a", "column3"), frozenset("s"),
        lambda s, t: Counter((b, a, 7) for a, b in s if less(1, a)),
    ),
    Model(
        "pairs", ("a",), frozenset("st"),
        lambda s, t: Counter((a,) for a, _ in s for (d,) in t if a == d and between(0, a, 4)),
    ),
    Model(
        "below", ("x", "a"), frozenset("st"),
        lambda s, t: Counter(
            {(a, a) for a, b in s for (d,) in t if less(b, d) and between(1, a, 3)}
        ),
    ),
)  # fmt: skip


def random_events(size: int, seed: int = 1) -> list[Event]:
    rng = random.Random(seed)

    def value() -> Value:
        return None if rng.random() < 0.1 else rng.randint(-2, 6)

    found: list[Event] = []
    for _ in range(size):
        stream = rng.choice(["s", "s", "t", "unread", None])
        found.append((stream, tuple(value() for _ in STREAMS.get(stream or "", ()))))
    return found


def lines_of(events: Sequence[Event]) -> bytes:
    return jsonl(
        {"@tick": 1} if stream is None else {stream: dict(zip(STREAMS[stream], row, strict=True))}
        for stream, row in events
    )


# What is expected -------------------------------------------------------------------------------


def in_order(rows: Counter[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: [(value is not None, value or 0) for value in row])


def item(model: Model, row: Row, n: int) -> dict[str, Any]:
    return {"row": dict(zip(model.names, row, strict=True)), "n": n}


def answers(model: Model, events: Sequence[Event]) -> Iterator[tuple[int, Counter[Row]]]:
    """The answer at each of the query's instants."""
    s: list[Row] = []
    t: list[Row] = []
    for at, (stream, row) in enumerate(events, 1):
        if stream == "s":
            s.append(row)
        elif stream == "t":
            t.append(row)
        if stream is None or stream in model.streams:
            yield at, model.answer(s, t)


def changes(model: Model, instants: Sequence[tuple[int, Counter[Row]]]) -> Iterator[dict[str, Any]]:
    """Differences of answers that follow one another, the first one with the empty bag."""
    before: Counter[Row] = Counter()
    for at, after in instants:
        for sign, rows in (("-", before - after), ("+", after - before)):
            for row in in_order(rows):
                n = {"n": rows[row]} if rows[row] != 1 else {}
                said = {"op": sign, "row": item(model, row, 1)["row"], **n, "at": at}
                yield {"query": model.name, **said}
        before = after


def expected(
    emit: str, events: Sequence[Event], batches: Sequence[int] | None = None
) -> list[dict[str, Any]]:
    """The lines of all queries; with `batches`, only the last instant of each that ends there."""
    found: list[tuple[int, int, dict[str, Any]]] = []
    for place, model in enumerate(MODELS):
        instants = list(answers(model, events))
        if batches is not None:
            instants = last_of_each(instants, batches)
        if emit == "changes":
            found += [(each["at"], place, each) for each in changes(model, instants)]
        elif emit == "answers":
            found += [
                (
                    at,
                    place,
                    {
                        "query": model.name,
                        "at": at,
                        "answer": [item(model, row, now[row]) for row in in_order(now)],
                    },
                )
                for at, now in instants
            ]
        elif instants:
            last = instants[-1][1]
            found += [
                (0, place, {"query": model.name, **item(model, row, last[row])})
                for row in in_order(last)
            ]
    return [each for _, _, each in sorted(found, key=lambda each: each[:2])]


def last_of_each(
    instants: Sequence[tuple[int, Counter[Row]]], ends: Sequence[int]
) -> list[tuple[int, Counter[Row]]]:
    """Of the instants up to each end, the last one."""
    kept, low = [], 0
    for end in ends:
        inside = [each for each in instants if low < each[0] <= end]
        kept += inside[-1:]
        low = end
    return kept


# Properties -------------------------------------------------------------------------------------

EVENTS = random_events(160)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("run")
    (folder / "q.sql").write_text(TEXT)
    (folder / "rows.jsonl").write_bytes(lines_of(EVENTS))
    return folder / "q.sql", folder / "rows.jsonl"


@cache
def right(emit: str) -> list[dict[str, Any]]:
    return expected(emit, EVENTS)


WAYS = [
    *[("--lowering", lowering) for lowering in ("auto", "bulk", "tick", "plain")],
    ("--engine", "definition"),
    ("--engine", "local"),
]


@pytest.mark.parametrize("emit", ["changes", "answers", "final"])
@pytest.mark.parametrize("way", WAYS, ids="=".join)
@pytest.mark.parametrize("rows", [None, 1, 3, 1000])
def test_every_way_to_run_prints_what_the_contract_says(
    files: tuple[Path, Path], emit: str, way: tuple[str, str], rows: int | None
) -> None:
    cut = () if rows is None else ("--batch-rows", str(rows))
    done = millpond("run", files[0], "--input", files[1], "--emit", emit, *way, *cut)
    assert (done.code, done.err) == (0, "")
    assert done.lines == right(emit)
    assert [list(each) for each in done.lines] == [list(each) for each in right(emit)]


@pytest.mark.parametrize("emit", ["changes", "answers"])
@pytest.mark.parametrize("engine", ["local", "definition"])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_instants_batch_keeps_the_last_instant_of_each_batch(
    files: tuple[Path, Path], emit: str, engine: str, rows: int
) -> None:
    done = millpond(
        "run", files[0], "--input", files[1], "--emit", emit, "--engine", engine,
        "--instants", "batch", "--batch-rows", str(rows),
    )  # fmt: skip
    ends = [*range(rows, len(EVENTS), rows), len(EVENTS)]
    assert done.lines == expected(emit, EVENTS, ends)


def test_the_last_answer_does_not_depend_on_instants(files: tuple[Path, Path]) -> None:
    done = millpond(
        "run", files[0], "--input", files[1], "--emit", "final",
        "--instants", "batch", "--batch-rows", "7",
    )  # fmt: skip
    assert done.lines == right("final")


PAIRS = "SELECT s.a FROM s, t WHERE s.a = t.d AND s.a BETWEEN 0 AND 4"


@pytest.mark.parametrize(
    ("query", "emit", "lines"),
    [
        (
            PAIRS,
            "changes",
            [
                '{"op": "+", "row": {"a": 1}, "n": 2, "at": 4}',
                '{"op": "+", "row": {"a": 1}, "at": 5}',
            ],
        ),
        (
            PAIRS,
            "answers",
            [
                '{"at": 1, "answer": []}',
                '{"at": 2, "answer": []}',
                '{"at": 3, "answer": []}',
                '{"at": 4, "answer": [{"row": {"a": 1}, "n": 2}]}',
                '{"at": 5, "answer": [{"row": {"a": 1}, "n": 3}]}',
            ],
        ),
        (PAIRS, "final", ['{"row": {"a": 1}, "n": 3}']),
        (
            'SELECT b AS "ä ""b""" FROM s; CREATE QUERY d AS SELECT d FROM t',
            "changes",
            [
                r'{"query": "q1", "op": "+", "row": {"ä \"b\"": 2}, "at": 1}',
                r'{"query": "q1", "op": "+", "row": {"ä \"b\"": 2}, "at": 2}',
                r'{"query": "d", "op": "+", "row": {"d": 1}, "at": 4}',
                r'{"query": "q1", "op": "+", "row": {"ä \"b\"": null}, "at": 5}',
            ],
        ),
    ],
)
def test_lines_are_the_bytes_of_the_contract(
    tmp_path: Path, query: str, emit: str, lines: list[str]
) -> None:
    rows = lines_of([("s", (1, 2)), ("s", (1, 2)), (None, ()), ("t", (1,)), ("s", (1, None))])
    path = tmp_path / "q.sql"
    path.write_text(TEXT.partition("SELECT")[0] + query, encoding="utf-8")
    done = millpond("run", path, "--input", "-", "--emit", emit, stdin=rows)
    assert done.out.splitlines() == lines


def test_null_comes_first_and_numbers_by_value(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("CREATE STREAM s (a BIGINT, b INT); SELECT a, b FROM s")
    values = [10, 9, -1, -(2**63), 2**63 - 1, None, 100]
    rows = jsonl({"s": {"a": a, "b": b}} for a in values for b in (2, None, 1))
    done = millpond("run", tmp_path / "q.sql", "--input", "-", "--emit", "final", stdin=rows)
    assert [(each["row"]["a"], each["row"]["b"]) for each in done.lines] == [
        (a, b) for a in (None, -(2**63), -1, 9, 10, 100, 2**63 - 1) for b in (None, 1, 2)
    ]


def test_counts_are_exact_beyond_64_bits(tmp_path: Path) -> None:
    """A product of five inputs with thousands of equal rows has more rows than 2^63."""
    streams = "rstuv"
    text = "".join(f"CREATE STREAM {each} (a INT CHECK (a = 1));" for each in streams)
    joined = ", ".join(streams)
    (tmp_path / "q.sql").write_text(f"{text} SELECT r.a FROM {joined}")
    each = 8_000
    rows = b"".join(jsonl([{stream: {"a": 1}}]) * each for stream in streams)
    done = millpond("run", tmp_path / "q.sql", "--input", "-", "--emit", "final", stdin=rows)
    assert done.lines == [{"row": {"a": 1}, "n": each**5}]
    assert each**5 > 2**63


@pytest.mark.parametrize("engine", ["auto", "local", "definition"])
@pytest.mark.parametrize("emit", ["changes", "answers", "final"])
def test_an_empty_input_prints_nothing(files: tuple[Path, Path], engine: str, emit: str) -> None:
    done = millpond("run", files[0], "--input", "-", "--engine", engine, "--emit", emit)
    assert (done.code, done.out, done.err) == (0, "", "")


# What is refused --------------------------------------------------------------------------------

LINEAR = "CREATE STREAM s (a INT); CREATE STREAM t (d INT); SELECT s.a FROM s, t WHERE s.a = t.d"
OUTSIDE = "CREATE STREAM s (a INT); SELECT x.a FROM s x LEFT JOIN s y ON x.a = y.a"


def run_text(text: str, tmp_path: Path, *options: str) -> Done:
    (tmp_path / "q.sql").write_text(text)
    rows = jsonl([{"s": {"a": 1}}, {"s": {"a": 1}}])
    return millpond("run", tmp_path / "q.sql", "--input", "-", *options, stdin=rows)


@pytest.mark.parametrize(("text", "exit_", "code"), [(LINEAR, 1, "MP401"), (OUTSIDE, 3, "MP402")])
def test_a_query_without_a_known_bound_is_not_run(
    tmp_path: Path, text: str, exit_: int, code: str
) -> None:
    done = run_text(text, tmp_path)
    assert (done.code, done.codes, done.out) == (exit_, [code], "")
    assert "--engine definition" in done.err


@pytest.mark.parametrize(
    ("window", "said"),
    [("[RANGE 9]", "what its windows hold is enough"), ("[ROWS 9]", "18 units are enough")],
)
def test_a_window_is_said_to_be_enough_where_it_is_not_run_yet(
    tmp_path: Path, window: str, said: str
) -> None:
    timed = "CREATE STREAM s (a INT, ts BIGINT, TIMESTAMP BY ts); SELECT a FROM s "
    done = run_text(timed + window, tmp_path)
    assert (done.code, done.codes) == (3, ["MP408"])
    assert said in done.err


@pytest.mark.parametrize("text", [LINEAR, OUTSIDE])
def test_running_by_definition_refuses_nothing(tmp_path: Path, text: str) -> None:
    assert run_text(text, tmp_path, "--engine", "definition").code == 0


def test_the_refusal_names_a_repair_that_runs(tmp_path: Path) -> None:
    said = json.loads(
        millpond("check", "-", "--json", stdin=LINEAR.encode()).out
    )["queries"][0]["fixes"][0]  # fmt: skip
    assert f"{said['text']} makes it {said['memory']}" in run_text(LINEAR, tmp_path).err
    streams = LINEAR.partition("SELECT")[0]
    assert run_text(streams + said["sql"], tmp_path).code == 0


# Progress and sinks -----------------------------------------------------------------------------


def test_json_progress_is_lines_on_stderr(files: tuple[Path, Path]) -> None:
    plain = millpond("run", files[0], "--input", files[1])
    done = millpond("run", files[0], "--input", files[1], "--json", "--batch-rows", "10")
    assert done.out == plain.out
    said = [json.loads(each) for each in done.err.splitlines()]
    assert said
    for each in said:
        assert list(each) == ["rows", "rows_per_second", "at", "units", "bound", "rejected"]
        assert all(type(value) is int for value in each.values())
        assert 0 <= each["units"] <= each["bound"]
    assert (said[-1]["rows"], said[-1]["at"]) == (len(EVENTS), len(EVENTS))


def test_progress_by_definition_has_no_bound(files: tuple[Path, Path]) -> None:
    done = millpond("run", files[0], "--input", files[1], "--json", "--engine", "definition")
    last = json.loads(done.err.splitlines()[-1])
    assert last["bound"] is None
    assert last["units"] > 0


def test_progress_is_not_said_to_what_is_no_terminal(files: tuple[Path, Path]) -> None:
    assert millpond("run", files[0], "--input", files[1]).err == ""


@pytest.mark.parametrize("name", ["out.jsonl", "out.json", "out.ndjson", "folder", "new/folder"])
def test_a_sink_gets_the_same_bytes_as_standard_output(
    files: tuple[Path, Path], tmp_path: Path, name: str
) -> None:
    plain = millpond("run", files[0], "--input", files[1])
    path = tmp_path / name
    done = millpond("run", files[0], "--input", files[1], "--engine", "local", "--sink", path)
    assert (done.code, done.out) == (0, "")
    (written,) = [path] if path.is_file() else path.iterdir()
    assert written.read_text(encoding="utf-8") == plain.out


def test_a_sink_may_be_a_uri_or_standard_output(files: tuple[Path, Path], tmp_path: Path) -> None:
    plain = millpond("run", files[0], "--input", files[1])
    path = tmp_path / "a b.jsonl"
    local = ("--engine", "local", "--sink")
    assert millpond("run", files[0], "--input", files[1], *local, path.as_uri()).code == 0
    assert path.read_text(encoding="utf-8") == plain.out
    assert millpond("run", files[0], "--input", files[1], *local, "-").out == plain.out
