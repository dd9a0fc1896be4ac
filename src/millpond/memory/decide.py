"""Decides a query: class, number, reasons.

The number is read off the shape of the synopsis that will run, so that it bounds what runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from millpond.diagnostic import Span
from millpond.memory.aggregate import (
    Grouped,
    aggregate_parts,
    constants_of,
    failures,
    of_declared,
)
from millpond.memory.aggregate_certificate import certificate_of, certificate_together
from millpond.memory.aggregate_shape import AggregateShape, run_together, runs
from millpond.memory.answer_set import together
from millpond.memory.arasu import Violation, theorem, trivial, violations
from millpond.memory.band import banded
from millpond.memory.certificate import Certificate
from millpond.memory.condition import Condition, In
from millpond.memory.core import core
from millpond.memory.family import proved
from millpond.memory.flatten import NotFlatError
from millpond.memory.independent import in_doubt
from millpond.memory.materialised import materialised
from millpond.memory.normal_form import Piece, normal_forms
from millpond.memory.one_pass import one_pass_certificate, reading_order
from millpond.memory.shape import (
    Shape,
    ShapeNotFoundError,
    shape_of,
)
from millpond.memory.spj import Attribute, SpjQuery
from millpond.memory.threshold import alike
from millpond.memory.verdict import (
    DEFAULT_BUDGET,
    Bits,
    Growing,
    MemoryClass,
    Reason,
    SideUnits,
    StateEntry,
    Verdict,
)
from millpond.memory.windows import has_windows, windowed
from millpond.plan import Query, monotonic


def verdict_of(
    query: Query,
    *,
    budget: int = DEFAULT_BUDGET,
    one_pass: bool = False,
    proving: bool = True,
) -> Verdict:
    """How much memory `query` can ever need; with `one_pass`, of stored tables that are read once
    each, in the best order.

    Without `proving`, no proof is looked for that a self-join has no bound, which may take long:
    what is not bounded may be called `outside`.

    >>> from millpond.language import read_script
    >>> script = read_script('''CREATE STREAM s (a INT); CREATE STREAM t (d INT);
    ... SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20''')
    >>> verdict = verdict_of(script.queries[0])
    >>> print(verdict.memory, verdict.units)
    constant 18
    """
    try:
        grouped = aggregate_parts(query)
        parts: list[_Part]
        if one_pass:
            parts = _read_once(query, aggregated=grouped is not None)
        elif grouped is not None:
            parts = [_aggregated(each) for each in grouped]
        else:
            parts = [_joined(each, proving) for each in normal_forms(query)]
        found = _together(query, parts, budget)
    except NotFlatError as error:
        found = _outside(query, error.what, error.span, _UNKNOWN)
        if not one_pass:
            found = _by_time(query, budget) or found
    except ShapeNotFoundError:
        why = "every condition for a bound holds, but no synopsis was found that keeps it"
        found = _outside(query, why, query.span, _UNKNOWN)
    return replace(found, monotonic=monotonic(query.root))


def _by_time(query: Query, budget: int) -> Verdict | None:
    """The verdict by windows, or by how long rows wait; None where it is about neither."""
    over_time = windowed if has_windows(query) else banded
    try:
        return over_time(query, _buffer(query), budget)
    except NotFlatError as error:
        return _outside(query, error.what, error.span, _UNKNOWN)


@dataclass(frozen=True)
class _Part:
    """What is known of one part of a query."""

    growing: Growing
    failed: tuple[Reason, ...]
    doubt: str | None
    """Why failing conditions do not mean that there is no bound."""
    answer: SideUnits
    holds: Reason
    """Why it is bounded, if it is."""
    nothing: bool
    """Whether nothing ever has to be remembered."""
    certificate: Callable[[], Certificate]
    shape: Callable[[], Shape] | None = None
    """The shape of the synopsis that a program is made of."""
    grouping: AggregateShape | None = None
    """The same of a part with aggregates."""

    @property
    def suspect(self) -> bool:
        """Whether an input along its columns would prove that there is no bound: keeping
        duplicates, where the numbers of rows that are asked for tell more and more inputs apart;
        of groups that may be hidden, where what hides them is the same for all of them."""
        growing = self.growing
        if growing.hidden:
            return bool(self.failed) and alike(growing.query)
        counted = not growing.query.distinct and not growing.counts
        return bool(self.failed) and self.doubt == _NOT_ALONE and counted


_COMPUTED = "what is computed from a column may take few values where the column takes many"
_NOT_ALONE = "other parts of the query may make up for it"
_HIDDEN = "{} may hide it"
_UNKNOWN = SideUnits(MemoryClass.OUTSIDE, None)


def _joined(piece: Piece, proving: bool) -> _Part:
    """A part without aggregates: Theorems 5.6 and 5.10."""
    spj = core(piece.query)
    kept = dict(spj.streams)
    folded = tuple(alias for alias, _ in piece.query.streams if alias not in kept)
    failed, doubt = _proof(spj, violations(spj), piece.alone, proving)

    rule = theorem(spj)
    return _Part(
        _growing(spj, failed, counts=False),
        tuple(_against(spj, each, f"{rule} {each.condition}") for each in failed),
        doubt,
        materialised(spj),
        _bounded_by(spj, folded),
        trivial(spj),
        lambda: together([shape_of(spj)]),
        lambda: shape_of(spj),
    )


def _read_once(query: Query, *, aggregated: bool) -> list[_Part]:
    """The parts of a query over stored tables."""
    if aggregated:
        raise NotFlatError("reading once is decided for joins, and this is an aggregate", None)
    return [_read_in_order(each.query) for each in normal_forms(query)]


def _read_in_order(spj: SpjQuery) -> _Part:
    if spj.self_join:
        raise NotFlatError("a table that is joined with itself is read for both at once", spj.span)
    order = reading_order(spj)
    rule = "arasu 9"
    failed: list[Violation] = []
    doubt = None
    if order is None:
        failed, doubt = _proof(spj, violations(spj), alone=True)
    names = ", then ".join(order or ())
    why = f"each table is read once: {names}" if len(spj.streams) > 1 else "the table is read once"
    return _Part(
        _growing(spj, failed, counts=False),
        tuple(_against(spj, each, f"{rule} {each.condition}") for each in failed),
        doubt,
        materialised(spj),
        Reason(rule, "MP204", why, span=spj.span),
        trivial(spj),
        lambda: one_pass_certificate(spj, order or ()),
    )


def _aggregated(grouped: Grouped) -> _Part:
    """A part with aggregates: Theorems 8.5 and 8.6, and 8.3 and 8.4 for users' own."""
    spj = grouped.query
    rule = "arasu 8.5" if len(spj.streams) == 1 else "arasu 8.6"
    enough = rule
    if any(each.call.declared for each in grouped.asked):
        enough = "arasu 8.3" if len(spj.streams) == 1 else "arasu 8.4"
    failed, doubt = _proof(spj, failures(grouped), grouped.alone)
    if doubt == _COMPUTED and failed[0] in of_declared(grouped):
        doubt = f"Theorem {enough.split()[1]} says only what is enough for a user's aggregate"
    if failed and doubt is None and grouped.hidden is not None:
        doubt = _HIDDEN.format(grouped.hidden)
    rows = materialised(replace(spj, distinct=True))
    units = None if rows.units is None else rows.units // max(1, len(grouped.groups))
    answer = SideUnits(rows.memory, None if units is None else units * grouped.width)
    why = "every grouping column is bounded, and what the aggregates ask for can be kept"
    return _Part(
        replace(
            _growing(spj, failed, counts=True),
            constants=constants_of(grouped),
            hidden=doubt == _HIDDEN.format(grouped.hidden),
        ),
        tuple(_against(spj, each, f"{rule} {_PLACES[each.condition]}") for each in failed),
        doubt,
        answer,
        Reason(enough, "MP203", why, span=spj.span),
        False,
        lambda: certificate_of(grouped),
        grouping=None if failed else runs(grouped),
    )


def _growing(spj: SpjQuery, failed: Sequence[Violation], *, counts: bool) -> Growing:
    named = dict.fromkeys(x for each in failed for x in each.attributes)
    return Growing(spj, tuple(named), counts)


def _proof(
    spj: SpjQuery, failed: list[Violation], alone: bool, proving: bool = True
) -> tuple[list[Violation], str | None]:
    """The failing conditions that mean that there is no bound; else all, and what is in doubt."""
    if not failed:
        return [], None
    if spj.distinct and spj.self_join:
        found = proved(spj, failed) if proving else []
        if not found:
            return failed, "a stream is joined with itself, and no input was found that proves it"
        failed = found
    unclear = in_doubt(spj)
    if unclear is not None:
        return failed, f"{_said(unclear)} may bound it"
    exact = [
        each for each in failed if each.exact and all(x.derived is None for x in each.attributes)
    ]
    if not exact:
        return failed, _COMPUTED
    return exact, None if alone else _NOT_ALONE


def _said(condition: Condition) -> str:
    """A condition as the text has it."""
    spans = condition.spans if isinstance(condition, In) else (getattr(condition, "span", None),)
    found = next((each for each in spans if each is not None), None)
    return "another condition" if found is None else f"`{found.text}`"


def _together(query: Query, parts: Sequence[_Part], budget: int) -> Verdict:
    """The verdict on a query that is the sum of its parts."""
    answer = _sum([each.answer for each in parts])
    growing = [each for each in parts if each.failed and each.doubt is None]
    if growing:
        return _linear(query, growing, answer)
    for each in parts:
        if each.failed:
            first = each.failed[0]
            why = f"{first.text}; that does not prove that there is no bound, because {each.doubt}"
            found = _outside(query, why, first.span, answer, first.attributes)
            suspects = [x for x in parts if x.suspect]
            return replace(found, suspected=_linear(query, suspects, answer) if suspects else None)
    return _bounded(query, parts, answer, budget)


def _sum(sides: Sequence[SideUnits]) -> SideUnits:
    """Of several parts: the worst class, and what they hold together."""
    worst = max((each.memory for each in sides), key=list(MemoryClass).index)
    units = [each.units for each in sides]
    known = [each for each in units if each is not None]
    return SideUnits(worst, sum(known) if len(known) == len(units) else None)


def _bounded(query: Query, parts: Sequence[_Part], answer: SideUnits, budget: int) -> Verdict:
    asked = [each.shape for each in parts]
    known = [each for each in asked if each is not None]
    shapes = tuple(each() for each in known) if len(known) == len(parts) else ()
    grouped = [each.grouping for each in parts]
    groupings = tuple(each for each in grouped if each is not None)
    groupings = run_together(groupings) if len(groupings) == len(parts) else ()
    found = [each.certificate() for each in parts] if not shapes and not groupings else []
    found += [together(shapes)] if shapes else []
    found += [certificate_together(groupings)] if groupings else []
    state = tuple(entry for each in found for entry in each.state)
    units = sum(each.units or 0 for each in state)
    counts = any(_counts(each) for each in state)
    reasons = list(dict.fromkeys(each.holds for each in parts))
    memory = MemoryClass.NONE if all(each.nothing for each in parts) else MemoryClass.CONSTANT
    if units > budget:
        memory = MemoryClass.IMPRACTICAL
        reasons.append(
            Reason(
                "budget",
                "MP221",
                f"{units} units are more than the budget of {budget}",
                span=query.span,
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
        state_bytes=sum(each.size for each in found),
        shapes=shapes,
        groupings=groupings,
    )


def _counts(entry: StateEntry) -> bool:
    """Whether an entry holds numbers whose digits grow with the input."""
    growing = any(each.startswith(("count", "sum", "state")) for each in entry.keeps)
    return entry.kind == "counts" or (entry.kind in ("aggregates", "answer") and growing)


def _bounded_by(spj: SpjQuery, folded: tuple[str, ...]) -> Reason:
    if trivial(spj):
        why = (
            "no row can satisfy the condition, so the answer stays empty"
            if not spj.satisfiable
            else "one stream with duplicates kept: each row is looked at once and let go"
        )
        return Reason("arasu figure 2, step 1", "MP202", why, span=spj.span)
    return Reason(theorem(spj), "MP201", _folded(folded) + _holds(spj), span=spj.span)


def _linear(query: Query, parts: Sequence[_Part], answer: SideUnits) -> Verdict:
    reasons = tuple(dict.fromkeys(reason for each in parts for reason in each.failed))
    named = dict.fromkeys(each for reason in reasons for each in reason.attributes)
    return Verdict(
        query.name,
        MemoryClass.LINEAR,
        None,
        Bits.LINEAR,
        answer,
        _buffer(query),
        reasons,
        growth="distinct " + ", ".join(named),
        growing=tuple(each.growing for each in parts),
    )


def _against(spj: SpjQuery, violation: Violation, rule: str) -> Reason:
    """A failing condition as a reason."""
    code = _CODES[violation.condition]
    if violation.condition == "C1" and rule.startswith("arasu 8."):
        code = "MP214"
    return Reason(
        rule,
        code,
        _fails(spj, violation, code),
        tuple(str(each) for each in violation.attributes),
        violation.span or spj.span,
    )


def _outside(
    query: Query,
    why: str,
    span: Span | None,
    answer: SideUnits,
    attributes: Sequence[str] = (),
) -> Verdict:
    reason = Reason("arasu 3.2", "MP220", why, tuple(attributes), span or query.span)
    return Verdict(
        query.name, MemoryClass.OUTSIDE, None, Bits.LINEAR, answer, _buffer(query), (reason,)
    )


_CODES = {"C1": "MP211", "C2": "MP212", "C3": "MP213", "holistic": "MP215", "best": "MP216"}
_PLACES = {"C1": "C1", "C2": "C1", "C3": "C1", "holistic": "C2", "best": "C3"}
"""The conditions of Theorem 8.6: C1 is the whole criterion, asked of the characteristic query."""


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


def _folded(aliases: tuple[str, ...]) -> str:
    """Which inputs are not kept, because others of their stream do for them (section 8.1)."""
    if not aliases:
        return ""
    names = ", ".join(f"`{each}`" for each in aliases)
    need = "needs" if len(aliases) == 1 else "need"
    return f"{names} {need} nothing kept: other inputs from the same stream do instead; "


def _fails(spj: SpjQuery, violation: Violation, code: str) -> str:
    attributes = violation.attributes
    one = len(attributes) == 1
    names = ", ".join(f"`{each}`" for each in attributes)
    match violation.condition:
        case "C1":
            done = "grouped by" if code == "MP214" else "projected"
            if not set(attributes) <= set(spj.shown):
                done = "asked for by a condition"
            return f"{names} {'is' if one else 'are'} {done} and {_missing(spj, attributes)}"
        case "C2":
            return f"{names} are joined by equality and {_missing(spj, attributes)}"
        case "holistic":
            it = "it" if one else "they"
            return f"all values of {names} have to be known, and {it} {_missing(spj, attributes)}"
        case "best":
            best = "be the best" if one else f"have the best `{attributes[0]}`"
            return f"any row may {best} that joins: later rows decide by `{attributes[-1]}`"
        case _:
            why = (
                "no one smallest or largest value of a stream is enough"
                if spj.distinct
                else "how many rows lie on each side is asked for"
            )
            return f"{names} {'is' if one else 'are'} compared across streams, and {why}"


def _missing(spj: SpjQuery, attributes: Sequence[Attribute]) -> str:
    """Which ends the columns lack, said of one or of all of them."""
    intervals = [spj.predicate.interval(each) for each in attributes]
    takes, has = ("takes", "has") if len(attributes) == 1 else ("take", "have")
    low = any(each.low is None for each in intervals)
    high = any(each.high is None for each in intervals)
    if not low and not high:
        return f"{takes} any value in a range"
    if low and high:
        return f"{has} no bound"
    return f"{has} no {'lower' if low else 'upper'} bound"


def unproved(verdict: Verdict) -> Verdict:
    """A verdict without a bound that no input was found to prove."""
    first = verdict.because[0]
    text = f"{first.text}, and no input was found that proves it"
    reason = Reason("arasu 3.2", "MP220", text, first.attributes, first.span)
    return replace(verdict, memory=MemoryClass.OUTSIDE, because=(reason,), growth=None, growing=())


def _buffer(query: Query) -> SideUnits:
    """The open instant and the rows that wait: one row where every row is an instant of its own,
    else the rows of as many instants as the delay covers."""
    if query.time_type is None:
        return SideUnits(MemoryClass.CONSTANT, max(len(each.columns) for each in query.streams))
    units = 0
    for each in query.streams:
        if each.rows_per_instant is None:
            return SideUnits(MemoryClass.WINDOW, None)
        units += each.rows_per_instant * (query.delay + 1) * len(each.columns)
    return SideUnits(MemoryClass.CONSTANT, units)
