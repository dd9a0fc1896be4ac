"""Decides a query: class, number, reasons.

The number is read off the shape of the synopsis that will run, so that it bounds what runs.
"""

from __future__ import annotations

from millpond.memory.arasu import Violation, theorem, trivial, violations
from millpond.memory.reachable import reachable
from millpond.memory.shape import Function, Part, Shape, Side, answer_keys, shape_of
from millpond.memory.spj import Attribute, SpjQuery, normal_form
from millpond.memory.verdict import (
    DEFAULT_BUDGET,
    Bits,
    MemoryClass,
    Reason,
    SideUnits,
    StateEntry,
    Verdict,
)
from millpond.plan import Query

DENSE_SLOTS = DEFAULT_BUDGET
"""Up to this many slots a bucket's place says its key; above, each bucket holds its key as well."""


def verdict_of(query: Query, *, budget: int = DEFAULT_BUDGET) -> Verdict:
    """How much memory `query` can ever need.

    >>> from millpond.language import read_script
    >>> script = read_script('''CREATE STREAM s (a INT); CREATE STREAM t (d INT);
    ... SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20''')
    >>> verdict = verdict_of(script.queries[0])
    >>> print(verdict.memory, verdict.units)
    constant 18
    """
    spj = normal_form(query)
    if spj is None:
        return _outside(
            query,
            None,
            "the query is no select-project-join query",
            SideUnits(MemoryClass.OUTSIDE, None),
        )
    answer = _answer(spj)
    failed = violations(spj)
    if failed and spj.distinct and spj.self_join:
        return _outside(
            query,
            spj,
            "a stream is joined with itself under DISTINCT, where failing conditions do not prove "
            "that no bound exists",
            answer,
        )
    if failed:
        return _linear(query, spj, failed, answer)
    return _bounded(query, spj, answer, budget)


def _bounded(query: Query, spj: SpjQuery, answer: SideUnits, budget: int) -> Verdict:
    shape = shape_of(spj)
    state = tuple(_entries(shape))
    units = sum(each.units for each in state)
    counts = any(each.kind == "counts" for each in state)
    memory = MemoryClass.NONE if trivial(spj) else MemoryClass.CONSTANT
    if trivial(spj):
        why = (
            "no row can satisfy the condition, so the answer stays empty"
            if not spj.satisfiable
            else "one stream with duplicates kept: each row is looked at once and let go"
        )
        reasons = [Reason("arasu figure 2, step 1", "MP202", why, span=spj.span)]
    else:
        reasons = [Reason(theorem(spj), "MP201", _holds(spj), span=spj.span)]
    if units > budget:
        memory = MemoryClass.IMPRACTICAL
        reasons.append(
            Reason(
                "budget",
                "MP221",
                f"{units} units are more than the budget of {budget}",
                span=spj.span,
            )
        )
    return Verdict(
        query.name,
        memory,
        units,
        Bits.LOG if counts else Bits.CONSTANT,
        answer,
        _buffer(query),
        tuple(reasons),
        state=state,
        state_bytes=_bytes(shape),
        shape=shape,
    )


def _linear(query: Query, spj: SpjQuery, failed: list[Violation], answer: SideUnits) -> Verdict:
    named = list(dict.fromkeys(each for violation in failed for each in violation.attributes))
    reasons = tuple(
        Reason(
            f"{theorem(spj)} {violation.condition}",
            _CODES[violation.condition],
            _fails(spj, violation),
            tuple(str(each) for each in violation.attributes),
            violation.span or spj.span,
        )
        for violation in failed
    )
    return Verdict(
        query.name,
        MemoryClass.LINEAR,
        None,
        Bits.LINEAR,
        answer,
        _buffer(query),
        reasons,
        growth="distinct " + ", ".join(str(each) for each in named),
    )


def _outside(query: Query, spj: SpjQuery | None, why: str, answer: SideUnits) -> Verdict:
    reason = Reason("none", "MP220", why, span=query.span if spj is None else spj.span)
    return Verdict(
        query.name, MemoryClass.OUTSIDE, None, Bits.LINEAR, answer, _buffer(query), (reason,)
    )


_CODES = {"C1": "MP211", "C2": "MP212", "C3": "MP213"}


def _holds(spj: SpjQuery) -> str:
    kept = "removed" if spj.distinct else "kept"
    conditions = ["every projected column is bounded"]
    if len(spj.streams) > 1:
        conditions.append("every column joined by equality is bounded")
        conditions.append(
            "no stream has two independent unbounded columns compared across streams"
            if spj.distinct
            else "no unbounded column is compared across streams"
        )
    return f"duplicates {kept}: " + ", ".join(conditions)


def _fails(spj: SpjQuery, violation: Violation) -> str:
    names = ", ".join(f"`{each}`" for each in violation.attributes)
    match violation.condition:
        case "C1":
            only = violation.attributes[0]
            return f"{names} is projected and {_missing(spj, only)}"
        case "C2":
            return f"{names} are joined by equality and have no bound"
        case _:
            kept = (
                "are compared across streams, and more than one of a stream's columns has no bound"
                if spj.distinct
                else "are compared across streams, and how many rows lie on each side is asked for"
            )
            return f"{names} {kept}"


def _missing(spj: SpjQuery, attribute: Attribute) -> str:
    interval = spj.predicate.interval(attribute)
    if interval.low is not None:
        return "has no upper bound"
    return "has no lower bound" if interval.high is not None else "has no bound"


# Certificates -----------------------------------------------------------------------------------


def _entries(shape: Shape) -> list[StateEntry]:
    entries = [
        _synopsis_entry(shape, stream.alias, part)
        for stream in shape.streams
        for part in stream.parts
    ]
    if shape.emitted is not None:
        keeps = tuple(_keeps(key, qualified=True) for key in shape.emitted)
        per = 1 + (0 if dense(shape.emitted) else len(shape.emitted))
        entries.append(
            StateEntry(
                "emitted rows",
                keeps or ("whether the row is out",),
                "emitted",
                shape.emitted_rows * per,
                "emitted: "
                + _product(
                    shape.emitted,
                    shape.emitted_rows,
                    "1 row" if per == 1 else "(its key + 1 row)",
                    qualified=True,
                ),
            )
        )
    return entries


def _synopsis_entry(shape: Shape, alias: str, part: Part) -> StateEntry:
    keeps = [_keeps(key) for key in part.keys]
    if part.bests:
        kind = "extremes"
        nouns = [f"{_extreme(best)} of {best.name}" for best in part.bests]
        keeps += nouns
    else:
        kind, noun = ("flags", "flag") if shape.query.distinct else ("counts", "count")
        keeps = keeps or [noun]
        nouns = [noun]
    values = " + ".join(f"1 {noun}" for noun in nouns)
    per = (0 if dense(part.keys) else len(part.keys)) + len(nouns)
    what = values if per == 1 else f"({values})" if dense(part.keys) else f"(its key + {values})"
    return StateEntry(
        alias,
        tuple(keeps),
        kind,
        part.buckets * per,
        f"{alias}: {_product(part.keys, part.buckets, what)}",
    )


def _extreme(best: Function) -> str:
    return "minimum" if best.side is Side.LOW else "maximum"


def _product(
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


def _keeps(key: Function, *, qualified: bool = False) -> str:
    return f"{_name(key, qualified=qualified)} in {key.clamp}" + (
        " or NULL" if key.null_slot else ""
    )


def dense(keys: tuple[Function, ...]) -> bool:
    """Whether the buckets of these keys are told by their place."""
    slots = 1
    for key in keys:
        slots *= key.size
    return slots <= DENSE_SLOTS


def _bytes(shape: Shape) -> int:
    """Bytes of the state as it is checkpointed: 64 bits for each key and each value."""
    total = sum(
        part.buckets * 8 * (len(part.keys) + max(1, len(part.bests)))
        for each in shape.streams
        for part in each.parts
    )
    if shape.emitted is not None:
        total += shape.emitted_rows * 8 * max(1, len(shape.emitted))
    return total


def _answer(spj: SpjQuery) -> SideUnits:
    """The materialised answer: the distinct rows that can be in it, with a count where kept."""
    if not spj.satisfiable:
        return SideUnits(MemoryClass.NONE, 0)
    if any(not spj.predicate.bounded(each) for each in spj.projected):
        return SideUnits(MemoryClass.LINEAR, None)
    rows = reachable(answer_keys(spj), spj.predicate)
    width = len(spj.projection) + (0 if spj.distinct else 1)
    return SideUnits(MemoryClass.CONSTANT, rows * width)


def _buffer(query: Query) -> SideUnits:
    """The open instant: one row, since every row of an untimed stream is an instant of its own."""
    return SideUnits(MemoryClass.CONSTANT, max(len(each.columns) for each in query.streams))
