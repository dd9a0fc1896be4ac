"""`mp.check`: the verdict on a streaming DataFrame that somebody already has.

Its analysed plan is read and taken to a plan of ours, which then goes the road of every query:
criterion, witness, repairs.  Where Spark lets go of state behind a watermark, what that leaves is
said in rates and lengths.  Nothing is rewritten, and nothing is run on Spark.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from millpond.api.frame_text import Repair, placed, repairs_of, script_of
from millpond.diagnostic import Diagnostic, Span, UserError
from millpond.memory import (
    DEFAULT_BUDGET,
    Bits,
    MemoryClass,
    Reason,
    SideUnits,
    Verdict,
    check_script,
)
from millpond.plan import (
    PlanError,
)
from millpond.report import render_verdict
from millpond.report.amounts import counted
from millpond.run.respond import Responses
from millpond.spark.catalyst import (
    SOURCES,
    Analysed,
    Operator,
    Session,
    analysed,
    analysed_sql,
    session_of,
)
from millpond.spark.catalyst_expression import OutsideError
from millpond.spark.catalyst_parsed import parsed
from millpond.spark.catalyst_plan import translated
from millpond.spark.catalyst_question import Question, first_rows, groups_alone, window_starts
from millpond.spark.catalyst_table import Tables
from millpond.spark.state import Kept, by_event_time, foreign, kept
from millpond.spark.watermarks import watermarks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_SHOWN = 3
"""How many repairs the text shows."""


@dataclass(frozen=True, repr=False)
class Checked:
    """What `mp.check` says; its text is what `millpond check` prints (docs/pyspark.md)."""

    verdict: Verdict
    fixes: tuple[Repair, ...]
    spark: tuple[Kept, ...]
    """What Spark's own operators keep of the query as it is written."""
    refused: str | None = None
    """Why Spark starts it in no output mode, if so."""

    @property
    def name(self) -> str:
        return self.verdict.name

    @property
    def memory(self) -> MemoryClass:
        return self.verdict.memory

    @property
    def bounded(self) -> bool | None:
        return self.verdict.bounded

    @property
    def units(self) -> int | None:
        return self.verdict.units

    @property
    def because(self) -> tuple[Reason, ...]:
        return self.verdict.because

    @property
    def witness(self) -> Any:
        return self.verdict.witness

    @property
    def growth(self) -> str | None:
        return self.verdict.growth

    @property
    def spark_grows(self) -> bool | None:
        """Whether the state that Spark keeps grows with the input, whatever it is; None if that is
        not known."""
        stays = [each for each in self.spark if each.horizon is None]
        if not all(each.keyed for each in stays):
            return True
        if not stays:
            return None if self.memory is MemoryClass.OUTSIDE else False
        if self.bounded and len(stays) > 1:
            return None  # One of them may have keys without a bound, though the whole has one.
        return None if self.bounded is None else not self.bounded

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        because = sorted(self.because, key=lambda each: each.span is None)
        yield render_verdict(replace(self.verdict, because=tuple(because), fixes=()))
        joins = any(each.horizon is None and not each.keyed for each in self.spark)
        for each in self.fixes[:_SHOWN]:
            yield f"  repair: {each.text}"
            yield from (f"    {line}" for line in (each.code or each.sql or "").splitlines())
            units = "" if each.units is None else f", at most {counted(each.units, 'unit')}"
            still = ""
            if joins and each.memory is not MemoryClass.WINDOW:
                still = "; Spark's own join keeps every row all the same"
            yield f"    then {each.memory}{units}; answers: {each.keeps_answers}{still}"
        if self.refused is not None:
            yield f"  on Spark: not started in any output mode: {self.refused}"
        for kept_ in self.spark:
            yield f"  on Spark: {kept_}"

    def __repr__(self) -> str:
        return f"<Checked {self.name}: {self.memory}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def check(frame: DataFrame, *, name: str = "df", budget: int = DEFAULT_BUDGET) -> Checked:
    """How much memory a streaming DataFrame can ever need.

    `name` is what it is called in the text; a bound above `budget` units is called impractical.
    Examples are in docs/pyspark.md.

    Raises `UserError` (MP504) for what is no streaming DataFrame of a classic session.
    """
    if not hasattr(frame, "_jdf"):
        raise _unreadable(frame)
    return _whole(analysed(frame), session_of(frame.sparkSession), name, budget)


def check_sql(
    spark: SparkSession, text: str, *, name: str = "sql", budget: int = DEFAULT_BUDGET
) -> Checked:
    """The same of a SQL text over the views and tables of a session."""
    if not hasattr(spark, "_jsparkSession"):
        raise _unreadable(spark)
    found = _whole(analysed_sql(spark, text), session_of(spark), name, budget)
    edits = tuple(each if each.sql is None else replace(each, code=None) for each in found.fixes)
    return replace(found, fixes=edits)


def _unreadable(what: object) -> UserError:
    module, kind = type(what).__module__, type(what).__name__
    connect = ".connect" in module
    said = f"the plan of a {kind} of Spark Connect stays on the server" if connect else None
    return UserError(
        Diagnostic(
            "MP504",
            said or f"a {kind} is no DataFrame of Spark, nor a session",
            helps=("check it in a classic session: SparkSession.builder.master(...)",),
        )
    )


# The road ---------------------------------------------------------------------------------------


def _whole(read: Analysed, session: Session, name: str, budget: int) -> Checked:
    found = _timed(read.plan, _checked(read.plan, session, name, budget))
    return replace(found, refused=read.refused)


def _checked(plan: Operator, session: Session, name: str, budget: int) -> Checked:
    if not plan.streaming:
        raise UserError(
            Diagnostic(
                "MP504",
                f"`{name}` reads no stream: it ends, and its memory with it",
                helps=("start from spark.readStream",),
            )
        )
    state = tuple(kept(plan))
    code = foreign(plan)
    if code is not None:
        return Checked(_outside(name, code, None), (), state)
    limited = [each for each in state if each.horizon is not None]
    if limited:
        return Checked(_windowed(name, state, limited), (), state)
    timed = by_event_time(plan)
    if timed is not None and state:
        why = f"`{timed}` has a watermark, and what its conditions leave of the state is not known"
        return Checked(_outside(name, why, None), (), state)
    road = _Road(session, name, budget, state, frozenset(_columns(plan)))
    plan = parsed(plan)
    try:
        return _judged(plan, road)
    except (OutsideError, PlanError) as error:
        if not state:
            return Checked(_nothing(name), (), state)
        span = error.span if isinstance(error, OutsideError) else None
        undecided = Checked(_outside(name, str(error), span), (), state)
    if any(each.kind == "Join" and not _streams(each) for each in plan.nodes if each.streaming):
        return _beside_tables(plan, undecided, road)
    for question in (first_rows(plan), window_starts(plan), groups_alone(plan)):
        if question is not None:
            return _asked(question, undecided, road)
    return undecided


@dataclass(frozen=True)
class _Road:
    """What goes with a plan on its way to a verdict."""

    session: Session
    name: str
    budget: int
    state: tuple[Kept, ...]
    columns: frozenset[str]
    """The columns that the sources have of themselves."""


def _columns(plan: Operator) -> Iterator[str]:
    for each in plan.nodes:
        if each.kind in SOURCES:
            yield from (str(column["name"]) for (column,) in each.fields["output"])


def _judged(plan: Operator, road: _Road, tables: Tables = Tables.UNKNOWN) -> Checked:
    translation = translated(plan, road.session, tables)
    script = script_of(translation, road.name)
    (verdict,) = check_script(script, Responses, road.budget)
    fixes = tuple(repairs_of(script, verdict, road.columns))
    return Checked(placed(verdict, script.queries[0], translation.root), fixes, road.state)


def _streams(join: Operator) -> bool:
    return all(each.streaming for each in join.children)


def _beside_tables(plan: Operator, undecided: Checked, road: _Road) -> Checked:
    """What holds whatever the tables hold, and what holds as soon as they hold a row."""
    try:
        found = _judged(plan, road, Tables.OPEN)
        if found.bounded:
            return found
        found = _judged(plan, road, Tables.PINNED)
    except (OutsideError, PlanError):
        return undecided
    if found.memory is not MemoryClass.LINEAR:
        if not found.bounded:
            return undecided
        why = "the tables that are joined may bound it, and what they hold is not known here"
        return replace(undecided, verdict=_outside(road.name, why, None))
    verdict = replace(
        found.verdict, answer=_UNKNOWN, given=("rows of the tables that rows of the stream meet",)
    )
    fixes = tuple(replace(each, units=None) for each in found.fixes if each.code)
    return replace(found, verdict=verdict, fixes=fixes)


def _asked(question: Question, undecided: Checked, road: _Road) -> Checked:
    """The verdict on a plan by that on another one, whose answers are not its own."""
    try:
        found = _judged(question.plan, road)
    except (OutsideError, PlanError):
        return undecided
    if not (question.bounds if found.bounded else question.both_ways):
        return undecided
    if found.memory is MemoryClass.OUTSIDE:
        return undecided
    verdict = replace(found.verdict, answer=_UNKNOWN, monotonic=False)
    kept_up = question.same_columns and question.bounds
    fixes = tuple(each for each in found.fixes if each.code and kept_up)
    return replace(found, verdict=verdict, fixes=fixes)


def _timed(plan: Operator, found: Checked) -> Checked:
    """With the watermarks that would bound by time what Spark keeps, before other repairs."""
    added = watermarks(plan) if found.memory is MemoryClass.LINEAR else None
    if added is None:
        return found
    window = Repair(added.text, added.code, None, MemoryClass.WINDOW, None, "recent only")
    return replace(found, fixes=(window, *found.fixes))


# Verdicts that no text is needed for ------------------------------------------------------------

_UNKNOWN = SideUnits(MemoryClass.OUTSIDE, None)


def _verdict(name: str, memory: MemoryClass, reason: Reason, **more: Any) -> Verdict:
    return Verdict(
        name,
        memory,
        more.pop("units", None),
        more.pop("bits", Bits.LINEAR),
        _UNKNOWN,
        _UNKNOWN,
        (reason,),
        monotonic=False,
        **more,
    )


def _outside(name: str, why: str, span: Span | None) -> Verdict:
    return _verdict(name, MemoryClass.OUTSIDE, Reason("arasu 3.2", "MP220", why, span=span))


def _nothing(name: str) -> Verdict:
    why = "each row is looked at once and let go"
    reason = Reason("arasu figure 2, step 1", "MP202", why)
    return _verdict(name, MemoryClass.NONE, reason, units=0, bits=Bits.CONSTANT)


def _windowed(name: str, state: tuple[Kept, ...], limited: list[Kept]) -> Verdict:
    """Where a watermark lets go of state: of all of it, or nothing is promised."""
    for each in state:
        if each.horizon is None:
            return _outside(name, f"{each}, and the rest goes with the watermark", None)
    growth = "; ".join(dict.fromkeys(each.horizon or "" for each in limited))
    why = "; ".join(str(each) for each in limited)
    reason = Reason("watermark", "MP207", why)
    given = ["event time that goes on in every stream"]
    if not all(each.timed for each in limited):
        given.append("no event time that is NULL")
    return _verdict(name, MemoryClass.WINDOW, reason, growth=growth, given=tuple(given))
