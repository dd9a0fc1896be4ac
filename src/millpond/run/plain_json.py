"""Rows, and what was promised of them, as JSON that reads back to the same.

Integers have any size there and doubles their shortest digits; a DECIMAL is text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from millpond.run.promises import Kept, Watched
from millpond.schema import Catalog, Kind, Row, Stream, Type, Value


def row_json(row: Row) -> list[Any]:
    """A row as a list."""
    return [str(each) if isinstance(each, Decimal) else each for each in row]


def row_of(types: Sequence[Type], said: Sequence[Any]) -> Row:
    """The row that a list was made of."""
    return tuple(map(_value, types, said))


def _value(kind: Type, said: Any) -> Value:
    if kind.kind is Kind.DECIMAL and said is not None:
        return Decimal(said)
    value: Value = said
    return value


def promises_json(kept: Kept) -> dict[str, Any]:
    """Promises as plain data."""
    return {
        "started": kept.started,
        "held": {
            name: [[row_json(row), n] for row, n in rows.items()]
            for name, rows in kept.held.items()
        },
        "watched": {
            name: {
                "ended": each.ended,
                "gone": [
                    [list(places), [row_json(row) for row in rows]]
                    for places, rows in each.gone.items()
                ],
                "rows": list(each.rows.items()),
                "largest": each.largest,
            }
            for name, each in kept.watched.items()
        },
    }


def promises_of(catalog: Catalog, said: Mapping[str, Any]) -> Kept:
    """The promises that plain data was made of."""
    streams = {each.name: each for each in catalog}
    held = {
        name: Counter({row_of(_types(streams[name]), row): n for row, n in rows})
        for name, rows in said["held"].items()
        if name in streams
    }
    watched = {
        name: _watched(streams[name], each)
        for name, each in said["watched"].items()
        if name in streams
    }
    return Kept(said["started"], held, watched)


def _watched(stream: Stream, said: Mapping[str, Any]) -> Watched:
    types = _types(stream)
    gone = {
        tuple(places): {row_of([types[place] for place in places], row) for row in rows}
        for places, rows in said["gone"]
    }
    return Watched(said["ended"], gone, Counter(dict(map(tuple, said["rows"]))), said["largest"])


def _types(stream: Stream) -> list[Type]:
    return [each.type for each in stream.columns]
