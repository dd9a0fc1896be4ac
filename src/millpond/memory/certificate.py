"""Certificates: how many units a synopsis can hold, as text and as a number, from its shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from millpond.memory.shape import Function, Part, Shape, Side
from millpond.memory.spj import SpjQuery
from millpond.memory.verdict import DEFAULT_BUDGET, StateEntry
from millpond.schema import Kind

DENSE_SLOTS = DEFAULT_BUDGET
"""Up to this many slots a bucket's place says its key; above, each bucket holds its key as well."""


@dataclass(frozen=True)
class Certificate:
    """What is held, entry by entry, and its size in bytes."""

    state: tuple[StateEntry, ...]
    size: int

    def plus(self, other: Certificate) -> Certificate:
        return Certificate((*self.state, *other.state), self.size + other.size)


Nouns = Callable[[Shape, str, Part], tuple[str, list[str]]]
"""What a bucket holds beside its key: the kind of synopsis, and a noun for each value."""


def entries(shape: Shape) -> list[StateEntry]:
    """What is held for a query that streams its answer."""
    return [*synopses(shape, plain_nouns), *emitted(shape)]


def synopses(shape: Shape, nouns: Nouns) -> list[StateEntry]:
    """What is held of each input."""
    return [
        _synopsis_entry(shape.query, stream.alias, part, *nouns(shape, stream.alias, part))
        for stream in shape.streams
        for part in stream.parts
    ]


def plain_nouns(shape: Shape, alias: str, part: Part) -> tuple[str, list[str]]:
    """Extremes, flags or counts."""
    if part.bests:
        return "extremes", [f"{_extreme(best)} of {best.name}" for best in part.bests]
    return ("flags", ["flag"]) if shape.query.distinct else ("counts", ["count"])


def emitted(shape: Shape) -> list[StateEntry]:
    """The rows given already, where duplicates are removed."""
    if shape.emitted is None:
        return []
    rows, keys = shape.emitted_rows, shape.emitted
    return [held_by_key(shape.query, "emitted rows", "emitted", keys, rows, ["row"])]


Sizes = Mapping[str, int]
"""How many units a noun is, where it is not one."""
_ONE_EACH: Sizes = MappingProxyType({})


def held_by_key(
    query: SpjQuery,
    of: str,
    kind: str,
    keys: tuple[Function, ...],
    rows: int,
    nouns: list[str],
    sizes: Sizes = _ONE_EACH,
) -> StateEntry:
    """Something that is held for each row of the answer, under its key."""
    shown = tuple(_keeps(query, key, qualified=True) for key in keys)
    shown = shown or ("whether the row is out",) if kind == "emitted" else (*shown, *nouns)
    what = _per_bucket(keys, nouns, sizes)
    return StateEntry(
        of,
        shown,
        kind,
        rows * units_per_bucket(keys, nouns, sizes),
        f"{kind}: {product_of(keys, rows, what, qualified=True)}",
    )


def units_per_bucket(keys: tuple[Function, ...], nouns: list[str], sizes: Sizes = _ONE_EACH) -> int:
    return (0 if dense(keys) else len(keys)) + sum(sizes.get(noun, 1) for noun in nouns)


def bytes_by_key(
    keys: tuple[Function, ...], rows: int, nouns: list[str], sizes: Sizes = _ONE_EACH
) -> int:
    """Bytes as it is checkpointed: 64 bits for each key and each value."""
    return rows * 8 * (len(keys) + sum(sizes.get(noun, 1) for noun in nouns))


def _per_bucket(keys: tuple[Function, ...], nouns: list[str], sizes: Sizes = _ONE_EACH) -> str:
    values = " + ".join(_counted(noun, sizes.get(noun, 1)) for noun in nouns)
    if not dense(keys):
        return f"(its key + {values})"
    return values if len(nouns) == 1 else f"({values})"


def _counted(noun: str, units: int) -> str:
    return f"1 {noun}" if units == 1 else f"{units} units of the {noun}"


def _synopsis_entry(
    query: SpjQuery, alias: str, part: Part, kind: str, nouns: list[str]
) -> StateEntry:
    shown = [_keeps(query, key) for key in part.keys]
    if kind in ("extremes", "aggregates") or not shown:
        shown += nouns
    return StateEntry(
        alias,
        tuple(shown),
        kind,
        part.buckets * units_per_bucket(part.keys, nouns),
        f"{alias}: {product_of(part.keys, part.buckets, _per_bucket(part.keys, nouns))}",
    )


def _extreme(best: Function) -> str:
    return "minimum" if best.side is Side.LOW else "maximum"


def product_of(
    keys: tuple[Function, ...], buckets: int, noun: str, *, qualified: bool = False
) -> str:
    names = [_name(key, qualified=qualified) for key in keys]
    slots = 1
    for key in keys:
        slots *= key.size
    if not keys:
        return noun
    if slots == buckets:
        factors = [f"{key.size} values of {name}" for key, name in zip(keys, names, strict=True)]
        return " x ".join([*factors, noun])
    return f"{buckets} combinations of ({', '.join(names)}) x {noun}"


def _name(key: Function, *, qualified: bool) -> str:
    return str(key.terms[0][0]) if qualified else key.name


def _keeps(query: SpjQuery, key: Function, *, qualified: bool = False) -> str:
    null = " or NULL" if key.null_slot else ""
    return f"{_name(key, qualified=qualified)} in {_values(query, key)}{null}"


def _values(query: SpjQuery, key: Function) -> str:
    """The values of a key: a few one by one, else from the least to the greatest."""
    attribute, offset = key.terms[0]
    column, scale = query.columns[attribute], query.scale
    times = column.type.kind in (Kind.DATE, Kind.TIMESTAMP)
    if scale.unit == 1 and key.told is None and not times:
        return str(key.clamp)
    if key.side is not Side.EXACT and query.predicate.dense(attribute):
        return f"{key.told} ranges"
    if key.side is Side.EXACT:
        found = query.predicate.values(attribute).within(key.clamp)
        points = [each.low for each in found.spans if each.low == each.high]
        if len(points) == len(found.spans) <= _LISTED:
            return ", ".join(scale.shown(column, each) for each in points if each is not None)
    ends = (key.clamp.low, key.clamp.high)
    shown = ["" if each is None else scale.shown(column, each - offset) for each in ends]
    return "..".join(shown)


_LISTED = 8
"""Up to so many values are shown one by one."""


def dense(keys: tuple[Function, ...]) -> bool:
    """Whether the buckets of these keys are told by their place."""
    slots = 1
    for key in keys:
        slots *= key.size
    return slots <= DENSE_SLOTS


def bytes_of(shape: Shape) -> int:
    """Bytes of the state as it is checkpointed: 64 bits for each key and each value."""
    total = sum(
        part.buckets * 8 * (len(part.keys) + max(1, len(part.bests)))
        for each in shape.streams
        for part in each.parts
    )
    if shape.emitted is not None:
        total += shape.emitted_rows * 8 * max(1, len(shape.emitted))
    return total
