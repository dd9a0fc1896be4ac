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

from millpond.language import read_script
from millpond.run import Event, Reject, TaggedReader
from millpond.schema import Catalog

CATALOG = read_script(
    'CREATE STREAM s (a TINYINT CHECK (a > -5), b BIGINT NOT NULL);CREATE STREAM "日本" ("é" INT);'
).catalog

TEXT = "\ufeff" + "\r\n".join([
    '{"s": {"a": 1, "b": 2}}', "", '{"日本": {"é": 3}}', '{"s": {"a": 1}}', '{"@tick": 1}', "  ",
    '{"日本": {"ß": 3}}', "nonsense", '{"s": {"b": 9223372036854775807, "a": null}}',
])  # fmt: skip
RAW = TEXT.encode() + b"\n\xff\n" + '{"日本": {"é": null}}'.encode()

EVENTS = [
    Event("s", (1, 2), 1),
    Event("日本", (3,), 3),
    (4, "MP303"),
    Event(None, (), 5),
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


def read(*pieces: bytes) -> list[Any]:
    return said(reader().chunks(Pieces(*pieces)))  # type: ignore[arg-type]


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
    assert read(b'{"@tick": 1}\n\xef\xbb\xbf{"@tick": 1}\n') == [Event(None, (), 1), (2, "MP301")]


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
