"""Tagged input: what arrives is the same however it arrives, and nothing gets lost."""

from __future__ import annotations

import io
import json
import os
import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millpond.run.event import Event, Op, Reject
from millpond.run.ingest import TaggedReader
from millpond.schema import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    TIMESTAMP,
    TINYINT,
    VARCHAR,
    Catalog,
    Check,
    Column,
    Form,
    Kind,
    Stream,
    Time,
    decimal,
    enum,
    varchar,
)


def catalog(*streams: Stream) -> Catalog:
    made = Catalog()
    for each in streams:
        made.add(each)
    return made


A = Column("a", TINYINT, check=Check(low=-5, low_open=True))
CATALOG = catalog(
    Stream("s", (A, Column("b", BIGINT, nullable=False))), Stream("日本", (Column("é", INT),))
)

TEXT = "\ufeff" + "\r\n".join([
    '{"s": {"a": 1, "b": 2}}', "", '{"日本": {"é": 3}}', '{"s": {"a": 1}}', '{"@tick": 1}', "  ",
    '{"日本": {"ß": 3}}', "nonsense", '{"s": {"b": 9223372036854775807, "a": null}}',
])  # fmt: skip
RAW = TEXT.encode() + b"\n\xff\n" + '{"日本": {"é": null}}'.encode()

EVENTS = [
    Event("s", (1, 2), 1),
    Event("日本", (3,), 3),
    (4, "MP303"),
    Event(None, (), 5, Op.TICK),
    (7, "MP303"),
    (8, "MP301"),
    Event("s", (None, 9223372036854775807), 9),
    (10, "MP307"),
    Event("日本", (None,), 11),
]


class Pieces(io.RawIOBase):
    """A file that hands out the pieces it was given, whatever is asked for."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = list(pieces)

    def read(self, size: int = -1) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""


def reader(catalog: Catalog = CATALOG) -> TaggedReader:
    return TaggedReader(catalog, "rows")


def said(pieces: Iterator[list[Event | Reject]]) -> list[Any]:
    """Events as they are; of rejects the line and the code."""
    return [
        each if isinstance(each, Event) else (each.line, each.diagnostic.code)
        for piece in pieces
        for each in piece
    ]


def read(*pieces: bytes, of: Catalog = CATALOG) -> list[Any]:
    return said(reader(of).chunks(Pieces(*pieces)))  # type: ignore[arg-type]


# How it arrives ---------------------------------------------------------------------------------


def test_events_and_bad_lines_come_in_order_with_their_numbers() -> None:
    assert read(RAW) == EVENTS


def test_a_cut_anywhere_changes_nothing() -> None:
    for place in range(1, len(RAW)):
        assert read(RAW[:place], RAW[place:]) == EVENTS


def test_many_cuts_change_nothing() -> None:
    assert read(*(RAW[place : place + 1] for place in range(len(RAW)))) == EVENTS
    for seed in range(50):
        rng = random.Random(seed)
        cuts = [0, *sorted(rng.sample(range(1, len(RAW)), 9)), len(RAW)]
        pieces = [RAW[low:high] for low, high in pairwise(cuts)]
        assert read(*pieces) == EVENTS, f"seed {seed}"


def test_a_pipe_is_read_as_it_fills() -> None:
    """Rows come out when they have arrived, not when a buffer is full."""
    out, in_ = os.pipe()
    with os.fdopen(out, "rb") as reading, os.fdopen(in_, "wb", buffering=0) as writing:
        pieces = reader().chunks(reading)
        writing.write(b'{"s": {"a": 1, "b": 2}}\n{"s": ')
        assert said(iter([next(pieces)])) == [Event("s", (1, 2), 1)]
        writing.write(b'{"a": 1, "b": 3}}\n')
        assert said(iter([next(pieces)])) == [Event("s", (1, 3), 2)]
        writing.close()
        assert list(pieces) == []


@pytest.mark.parametrize("raw", [b"", b"\n", b"\n\n", b"\xef\xbb\xbf", b" \r\n\t\r\n"])
def test_nothing_comes_of_nothing(raw: bytes) -> None:
    assert read(raw) == []


def test_a_mark_in_the_middle_is_no_mark() -> None:
    assert read(b'{"@tick": 1}\n\xef\xbb\xbf{"@tick": 1}\n') == [
        Event(None, (), 1, Op.TICK),
        (2, "MP301"),
    ]


def test_a_reject_keeps_its_line_without_the_end() -> None:
    (found,) = (each for piece in reader().chunks(Pieces(b"x\xff y\r\n")) for each in piece)  # type: ignore[arg-type]
    assert isinstance(found, Reject)
    assert found.text == "x\N{REPLACEMENT CHARACTER} y"
    assert found.diagnostic.place == ("rows", 1, 1)


# What is taken ----------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=3,
)


def fits(a: Any, b: Any) -> bool:
    """What the declaration says, said again."""
    a_fits = a is None or (type(a) is int and -4 <= a <= 127)
    return a_fits and type(b) is int and -(2**63) <= b < 2**63


@settings(max_examples=150, deadline=None)
@given(a=VALUES | st.integers(-6, 130), b=VALUES | st.sampled_from([2**63 - 1, 2**63, -(2**63)]))
def test_a_row_is_taken_exactly_if_it_fits_its_declaration(a: Any, b: Any) -> None:
    (found,) = read(json.dumps({"s": {"a": a, "b": b}}).encode())
    if fits(a, b):
        assert found == Event("s", (a, b), 1)
    else:
        line, code = found
        assert line == 1
        assert code in ("MP304", "MP305", "MP306")


@settings(max_examples=150, deadline=None)
@given(said_=st.dictionaries(st.sampled_from(["s", "日本", "@tick", "@x", "r", "a"]), VALUES))
def test_any_object_is_an_event_or_a_bad_line(said_: dict[str, Any]) -> None:
    assert len(read(json.dumps(said_).encode())) == 1


@settings(max_examples=150, deadline=None)
@given(raw=st.binary(max_size=40))
def test_any_bytes_are_events_or_bad_lines(raw: bytes) -> None:
    lines = raw.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    assert len(read(raw)) == sum(1 for each in lines if each.strip())


def test_a_row_that_is_no_line_is_checked_in_the_same_way() -> None:
    assert reader().event("s", {"a": 1, "b": 2}, 7) == Event("s", (1, 2), 7)
    found = reader().event("s", {"a": 1.5, "b": 2}, 7)
    assert isinstance(found, Reject)
    assert (found.line, found.diagnostic.code, found.text) == (
        7,
        "MP304",
        '{"s": {"a": 1.5, "b": 2}}',
    )


def test_bare_rows_of_one_stream() -> None:
    stream = CATALOG.get("s")
    bare = TaggedReader(CATALOG, "rows", only=stream)
    lines = b'{"a": 1, "b": 2}\n{"s": {"a": 1, "b": 2}}\n{"@tick": 1}\n[]\n{"b": 3, "a": null}'
    assert said(bare.chunks(io.BytesIO(lines))) == [
        Event("s", (1, 2), 1), (2, "MP303"), (3, "MP303"), (4, "MP301"), Event("s", (None, 3), 5),
    ]  # fmt: skip


# Time, tables and promises ----------------------------------------------------------------------

TS = Column("ts", BIGINT, nullable=False)
KIND = Column("kind", VARCHAR, check=Check(among=("x", "y")))
EVERY = catalog(
    Stream("s", (Column("a", INT), KIND, TS), time=Time("ts", delay=2)),
    Stream(
        "f", (Column("a", INT), TS), form=Form.FINITE, time=Time("ts"), until=100,
        rows_per_instant=2,
    ),
    Stream("r", (Column("k", INT), Column("name", VARCHAR)), form=Form.TABLE),
    Stream("c", (Column("k", INT),), form=Form.STATIC),
)  # fmt: skip
UNTIMED = catalog(
    Stream("s", (Column("a", INT),)), Stream("r", (Column("k", INT),), form=Form.TABLE)
)
BY_CLOCK = catalog(
    Stream("e", (Column("v", decimal(5, 2)), Column("ts", TIMESTAMP)), time=Time("ts")),
    Stream("r", (Column("k", INT),), form=Form.TABLE),
)


def events(text: str, of: Catalog = EVERY) -> list[Any]:
    return read(text.encode(), of=of)


def test_every_kind_of_line_is_an_event() -> None:
    assert events(
        """\
{"c": {"k": 1}}
{"r": {"k": 1, "name": "ä"}}
{"r": {"k": 1, "name": "ä"}, "@op": "insert"}
{"@op": "delete", "r": {"k": 1, "name": "ä"}}
{"s": {"a": null, "kind": "x", "ts": 5}}
{"r": {"k": 2, "name": null}, "@at": 9}
{"@time": 17}
{"@punct": {"s": {"a": 4, "kind": "y"}, "f": {"a": null}}}
{"f": {"a": 1, "ts": 100}}
{"@end": "f"}"""
    ) == [
        Event("c", (1,), 1),
        Event("r", (1, "ä"), 2),
        Event("r", (1, "ä"), 3),
        Event("r", (1, "ä"), 4, Op.DELETE),
        Event("s", (None, "x", 5), 5),
        Event("r", (2, None), 6, Op.INSERT, 9),
        Event(None, (), 7, Op.TIME, 17),
        Event("f", (1, 100), 9),
        Event("f", (), 10, Op.END, 100),
    ]


def test_times_of_timestamp_columns_are_iso_texts_or_microseconds() -> None:
    text = """\
{"e": {"v": "1.5", "ts": "1970-01-01T00:00:01Z"}}
{"e": {"v": 1.50, "ts": 2000000}}
{"@time": "1970-01-01T01:00:03+01:00"}
{"@time": 4000000}
{"r": {"k": 1}, "@at": "1970-01-01 00:00:05"}"""
    assert [each.at or each.row[-1] for each in events(text, BY_CLOCK)] == [
        second * 1_000_000 for second in (1, 2, 3, 4, 5)
    ]


def test_a_time_of_one_kind_only_says_so_where_a_file_has_several() -> None:
    both = catalog(*EVERY, Stream("e", (Column("ts", TIMESTAMP),), time=Time("ts")))
    one, other = events('{"@time": 7}\n{"@time": "1970-01-01T00:00:01Z"}', both)
    assert (one.at, one.kind) == (7, None)
    assert (other.at, other.kind) == (1_000_000, Kind.TIMESTAMP)


def test_ticks_and_times_go_together_only_where_streams_are_of_both_kinds() -> None:
    tick, time = '{"@tick": 1}', '{"@time": 1}'
    untimed_too = catalog(*EVERY, Stream("u", (Column("a", INT),)))
    assert [len(events(each, untimed_too)) for each in (tick, time)] == [1, 1]
    assert events(tick, untimed_too) == [Event(None, (), 1, Op.TICK)]
    assert events(tick) == [(1, "MP308")]
    assert events(time, UNTIMED) == [(1, "MP308")]
    assert events(time, untimed_too) == [Event(None, (), 1, Op.TIME, 1)]
    tables_only = catalog(Stream("r", (Column("k", INT),), form=Form.TABLE))
    assert events(tick, tables_only) == [Event(None, (), 1, Op.TICK)]


def codes(text: str, of: Catalog = EVERY) -> list[str]:
    """A plus for what is taken, a code for what is not."""
    return [each[1] if not isinstance(each, Event) else "+" for each in events(text, of)]


def test_a_delete_takes_one_row_that_is_there() -> None:
    row = '{"r": {"k": 1, "name": "x"}'
    insert, delete = row + "}", row + ', "@op": "delete"}'
    text = "\n".join([delete, insert, insert, delete, delete, delete, insert, delete])
    assert codes(text) == ["MP312", "+", "+", "+", "+", "MP312", "+", "+"]


def test_a_static_table_is_filled_before_the_first_row_of_a_stream() -> None:
    c, bad, s = '{"c": {"k": 1}}', '{"s": {"a": "x"}}', '{"s": {"a": 1, "kind": "x", "ts": 1}}'
    text = "\n".join([c, bad, '{"@time": 0}', '{"r": {"k": 1, "name": "x"}}', c, s, c])
    assert codes(text) == ["+", "MP304", "+", "+", "+", "+", "MP313"]


def test_one_row_more_than_promised_at_an_instant_is_bad() -> None:
    row = '{{"f": {{"a": {}, "ts": {}}}}}'.format
    text = "\n".join([row(1, 5), row(2, 5), row(3, 5), row("1.5", 6), row(4, 6), row(5, 6)])
    assert codes(text) == ["+", "+", "MP311", "MP304", "+", "+"]


def test_rows_at_an_instant_are_counted_while_they_can_change_an_answer() -> None:
    """The largest delay of the file is 2: what is further behind is late for every query."""
    row = '{{"f": {{"a": 1, "ts": {}}}}}'.format
    assert codes("\n".join(map(row, [5, 5, 7, 5]))) == ["+", "+", "+", "MP311"]
    assert codes("\n".join(map(row, [5, 5, 8, 5, 5]))) == ["+", "+", "+", "+", "+"]


def test_counts_far_behind_are_let_go() -> None:
    text = "\n".join(f'{{"f": {{"a": 1, "ts": {ts}}}}}' for ts in range(-20_000, 0))
    one = reader(EVERY)
    assert len(said(one.chunks(io.BytesIO(text.encode())))) == 20_000
    assert len(one._promises._watched["f"]._rows) < 5000


def test_a_finite_stream_ends_at_its_last_timestamp_or_where_it_is_said() -> None:
    row, end = '{{"f": {{"a": 1, "ts": {}}}}}'.format, '{"@end": "f"}'
    text = "\n".join([row(100), row(101), row(99), end, row(50), end])
    assert codes(text) == ["+", "MP310", "+", "+", "MP310", "MP310"]


def test_a_row_that_was_promised_not_to_come_is_bad() -> None:
    row = '{{"s": {{"a": {}, "kind": "{}", "ts": 1}}}}'.format
    text = "\n".join(
        [
            row(1, "x"),
            '{"@punct": {"s": {"a": 1}}}',
            row(1, "x"),
            '{"@punct": {"s": {"kind": "y", "a": 2}}}',
            row(2, "x"),
            row(2, "y"),
            '{"@punct": {"s": {"a": null}}}',
            row("null", "x"),
        ]
    )
    assert codes(text) == ["+", "MP314", "+", "MP314", "MP314"]


def test_the_time_of_a_row_is_never_null() -> None:
    assert codes('{"e": {"v": 1, "ts": null}}', BY_CLOCK) == ["MP306"]


# What is wrong, and what to do instead ----------------------------------------------------------

WIDE = catalog(
    Stream(
        "s",
        (
            Column("i", INT), Column("d", decimal(4, 2)), Column("x", DOUBLE),
            Column("b", BOOLEAN), Column("v", varchar(3)), Column("e", enum(("lo", "hi"))),
            Column("n", INT, nullable=False, check=Check(0, 9)), Column("ts", TIMESTAMP),
        ),
        time=Time("ts"),
    ),
    Stream("f", (TS,), form=Form.FINITE, time=Time("ts"), until=100),
    Stream("r", (Column("k", INT),), form=Form.TABLE),
)  # fmt: skip


def wide(**values: str) -> str:
    """A row of `s` that is right but for some values, written as JSON."""
    right = {
        "i": "1", "d": '"1.25"', "x": "0.5", "b": "true", "v": '"abc"', "e": '"lo"', "n": "9",
        "ts": '"2013-01-01T05:00:00Z"',
    }  # fmt: skip
    return '{"s": {' + ", ".join(f'"{k}": {v}' for k, v in (right | values).items()) + "}}"


WRONG: list[tuple[str, str, str, str]] = [
    ('{"s": {"i": 1', "MP301", "not a JSON object", "an event looks like"),
    ('{"t": {}}', "MP302", "unknown stream `t`", "there is `f`, `r`, `s`"),
    ('{"s": {"i": 1}}', "MP303", "a row of `s` lacks column `d`", "write NULL as null"),
    (wide(ii="1"), "MP303", "stream `s` has no column `ii`", "did you mean `i`?"),
    (wide(i='"1"'), "MP304", '`s.i` is INT, and the row has "1"', "without quotes"),
    (wide(i="1.0"), "MP304", "`s.i` is INT, and the row has 1.0", "without quotes, point"),
    (wide(i="2147483648"), "MP305", "2147483648 does not fit", "INT holds -2147483648..2147483647"),
    (wide(n="10"), "MP306", "10 is outside the CHECK of `s.n`", "the CHECK allows 0..9"),
    (wide(n="null"), "MP306", "`s.n` is NOT NULL", "give a value, or drop NOT NULL"),
    (wide(ts="null"), "MP306", "`s.ts` is the time of the row", "every row"),
    (wide(x="NaN"), "MP304", "NaN is no value", "write null"),
    (wide(x="1e400"), "MP305", "1e400 does not fit in `s.x`", "DOUBLE holds numbers up to"),
    (wide(d='"1.234"'), "MP305", '"1.234" does not fit', "2 digits before the point and 2 behind"),
    (wide(d="100"), "MP305", "100 does not fit in `s.d`", "2 digits before the point"),
    (wide(b="1"), "MP304", "`s.b` is BOOLEAN, and the row has 1", "write true or false"),
    (wide(v='"abcd"'), "MP305", '"abcd" does not fit in `s.v`', "at most 3 characters"),
    (wide(v='"\\ud800"'), "MP304", "`s.v` is VARCHAR(3)", "half of a surrogate pair"),
    (wide(e='"mid"'), "MP306", '"mid" is not in the list of', "the list is lo, hi"),
    (wide(ts='"yesterday"'), "MP304", "`s.ts` is TIMESTAMP", '"2013-01-31T05:00:00Z"'),
    (wide(ts='"2013-01-01T05:00:00.1234567Z"'), "MP305", "does not fit", "six digits"),
    ('{"@tick": 1}', "MP308", "`@tick` is about untimed streams", 'write {"@time": 17}'),
    (
        '{"@time": "soon"}',
        "MP308",
        '`@time`: the time is TIMESTAMP, and the row has "soon"',
        "write",
    ),
    ('{"@end": "s"}', "MP308", "`s` is declared without an end", "there is `f`"),
    ('{"@end": "g"}', "MP302", "unknown stream `g`", "there is"),
    ('{"@punct": {"r": {"k": 1}}}', "MP308", "`r` is a table", ""),
    ('{"@punct": {"s": {"z": 1}}}', "MP303", "no column `z`", "there is"),
    ('{"@tock": 1}', "MP308", "unknown control line `@tock`", "did you mean `@tick`?"),
    ('{"r": {"k": 1}, "@op": "upsert"}', "MP308", 'an `@op` is "insert" or', '"@op": "delete"'),
    ('{"r": {"k": 1}, "@of": "x"}', "MP308", "a row of a table takes no `@of`", "mean `@op`"),
    ('{"r": {"k": 1}, "@op": "delete"}', "MP312", 'does not hold {"k": 1}', "inserted before"),
    ('{"f": {"ts": 101}}', "MP310", "`f` ends at 100, and the row is of 101", "later `until`"),
]


@pytest.mark.parametrize(("line", "code", "message", "hint"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_said_with_its_line_and_a_hint(
    line: str, code: str, message: str, hint: str
) -> None:
    text = f"{wide()}\n\n{line}\n{wide()}\n".encode()
    first, bad, last = (each for piece in reader(WIDE).chunks(io.BytesIO(text)) for each in piece)
    assert isinstance(first, Event)
    assert isinstance(last, Event)
    assert isinstance(bad, Reject)
    found = bad.diagnostic
    assert (found.code, found.place) == (code, ("rows", 3, 1))
    assert message in found.message
    assert hint in " ".join(found.helps)
    assert len(found.message) < 300
