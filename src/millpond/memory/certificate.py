"""Certificates: how many units a synopsis can hold, as text and as a number, from its shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from millpond.memory.shape import Function, Part, Shape, Side
from millpond.memory.verdict import DEFAULT_BUDGET, StateEntry

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
        _synopsis_entry(stream.alias, part, *nouns(shape, stream.alias, part))
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
    return [held_by_key("emitted rows", "emitted", shape.emitted, shape.emitted_rows, ["row"])]


def held_by_key(
    of: str, kind: str, keys: tuple[Function, ...], rows: int, nouns: list[str]
) -> StateEntry:
    """Something that is held for each row of the answer, under its key."""
    shown = tuple(keeps(key, qualified=True) for key in keys)
    shown = shown or ("whether the row is out",) if kind == "emitted" else (*shown, *nouns)
    what = _per_bucket(keys, nouns)
    return StateEntry(
        of,
        shown,
        kind,
        rows * units_per_bucket(keys, nouns),
        f"{kind}: {product_of(keys, rows, what, qualified=True)}",
    )


def units_per_bucket(keys: tuple[Function, ...], nouns: list[str]) -> int:
    return (0 if dense(keys) else len(keys)) + len(nouns)


def bytes_by_key(keys: tuple[Function, ...], rows: int, nouns: list[str]) -> int:
    """Bytes as it is checkpointed: 64 bits for each key and each value."""
    return rows * 8 * (len(keys) + len(nouns))


def _per_bucket(keys: tuple[Function, ...], nouns: list[str]) -> str:
    values = " + ".join(f"1 {noun}" for noun in nouns)
    if not dense(keys):
        return f"(its key + {values})"
    return values if len(nouns) == 1 else f"({values})"


def _synopsis_entry(alias: str, part: Part, kind: str, nouns: list[str]) -> StateEntry:
    shown = [keeps(key) for key in part.keys]
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


def keeps(key: Function, *, qualified: bool = False) -> str:
    return f"{_name(key, qualified=qualified)} in {key.clamp}" + (
        " or NULL" if key.null_slot else ""
    )


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
