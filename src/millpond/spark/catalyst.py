"""Catalyst's analysed plan of a DataFrame as plain data.

`toJSON` of a plan gives its operators and their expressions in one call.  It leaves out what the
rest depends on: which columns carry a watermark, which parts are streams, which sources are one,
and where the user's text says an expression.  Those are asked of the plan operator by operator.
Nothing is rewritten and no job is run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from millpond.diagnostic import Diagnostic, Span, UserError
from millpond.spark.call_site import span_of

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Session:
    """The settings that expressions depend on."""

    zone: str


@dataclass(frozen=True)
class Expr:
    """An expression, by the last name of its class, with its place in the user's text."""

    kind: str
    fields: Fields = field(repr=False)
    children: tuple[Expr, ...]
    span: Span | None = field(default=None, compare=False)

    @property
    def id(self) -> int:
        """What tells columns apart, whatever they are called."""
        return int(self.fields["exprId"]["id"])

    @property
    def name(self) -> str:
        return str(self.fields["name"])

    @property
    def nodes(self) -> Iterator[Expr]:
        """The expression and all below it."""
        yield self
        for each in self.children:
            yield from each.nodes

    @property
    def references(self) -> Iterator[int]:
        """The columns that it is made of."""
        return (each.id for each in self.nodes if each.kind == "AttributeReference")

    def one(self, name: str) -> Expr:
        """A part that is no child."""
        return expr_of(self.fields[name])


@dataclass(frozen=True)
class Output:
    """A column that an operator gives."""

    id: int
    delay: int | None
    """The delay of its watermark in microseconds, if it has one."""


@dataclass(frozen=True)
class Operator:
    """An operator of the plan, by the last name of its class."""

    kind: str
    fields: Fields = field(repr=False)
    children: tuple[Operator, ...]
    output: tuple[Output, ...]
    streaming: bool
    placed: Mapping[str, tuple[Expr, ...]] = field(default_factory=dict, repr=False)
    """Its expressions by name, with their places."""
    source: str | None = None
    """Of a streaming source: what is the same of all that read the same."""
    schema: tuple[Mapping[str, Any], ...] = ()
    """Of what is no stream: its columns, as Spark writes a schema."""

    @property
    def nodes(self) -> Iterator[Operator]:
        """The operator and all below it, each before its inputs."""
        yield self
        for each in self.children:
            yield from each.nodes

    @property
    def delays(self) -> dict[int, int]:
        """The columns with a watermark, and its delay."""
        return {each.id: each.delay for each in self.output if each.delay is not None}

    def exprs(self, name: str) -> tuple[Expr, ...]:
        """The expressions of a field; none if it has none."""
        if name in self.placed:
            return self.placed[name]
        said = self.fields.get(name)
        if not said:
            return ()
        return (expr_of(said),) if isinstance(said[0], dict) else tuple(map(expr_of, said))

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of all expressions that stand in its fields."""
        return frozenset(_kinds(self.fields))


@dataclass(frozen=True)
class Analysed:
    """A plan, and why Spark would not run it in any output mode, if so."""

    plan: Operator
    refused: str | None = None


def analysed(frame: Any) -> Analysed:
    """The analysed plan of a DataFrame of a classic session."""
    return _read(frame._jdf.queryExecution(), frame.sparkSession)


def analysed_sql(spark: Any, text: str) -> Analysed:
    """The analysed plan of a text over the views and tables of a classic session.

    A command is not carried out.  Raises `UserError` with MP504 for a text that Spark refuses.
    """
    from pyspark.errors import PySparkException

    state = spark._jsparkSession.sessionState()
    mode = spark._jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
    try:
        return _read(state.executePlan(state.sqlParser().parsePlan(text), mode), spark)
    except PySparkException as error:
        said = str(error).strip().splitlines()[0]
        raise UserError(Diagnostic("MP504", f"Spark refuses the text: {said}")) from None


def session_of(spark: Any) -> Session:
    """The settings of a session that expressions depend on."""
    return Session(str(spark.conf.get("spark.sql.session.timeZone")))


def _read(execution: Any, spark: Any) -> Analysed:
    java = execution.analyzed()
    plan = _Reader(iter(json.loads(java.toJSON()))).operator(java)
    return Analysed(plan, _refused(java, spark) if plan.streaming else None)


def _refused(java: Any, spark: Any) -> str | None:
    """What Spark says against a plan in append mode, if it takes it in no other mode either: the
    check that starting a query makes."""
    from pyspark.errors import PySparkException

    sql = spark._jvm.org.apache.spark.sql
    checker, modes = sql.catalyst.analysis.UnsupportedOperationChecker, sql.streaming.OutputMode
    said: list[str] = []
    for mode in ("Append", "Update", "Complete"):
        try:
            checker.checkForStreaming(java, getattr(modes, mode)())
        except PySparkException as error:
            said.append(str(error).strip().splitlines()[0])
        else:
            return None
    telling = [each for each in said if "OUTPUT_MODE" not in each] or said
    return re.sub(r"^\[[^]]*\] ", "", telling[0]).rstrip("; ")


# Expressions ------------------------------------------------------------------------------------


def expr_of(said: list[dict[str, Any]]) -> Expr:
    """An expression out of a list of its nodes, each before its children."""
    nodes = iter(said)

    def next_one() -> Expr:
        fields = next(nodes)
        children = tuple(next_one() for _ in range(fields["num-children"]))
        return Expr(_kind(fields), fields, children)

    return next_one()


def _kind(fields: Fields) -> str:
    return str(fields["class"]).rpartition(".")[2]


def _kinds(said: Any) -> Iterator[str]:
    if isinstance(said, dict):
        if "class" in said:
            yield _kind(said)
        said = list(said.values())
    if isinstance(said, list):
        for each in said:
            yield from _kinds(each)


# Operators --------------------------------------------------------------------------------------

_EXPRESSIONS = {
    "Filter": ("condition",),
    "Join": ("condition",),
    "Project": ("projectList",),
    "Aggregate": ("groupingExpressions", "aggregateExpressions"),
}
"""The fields whose places matter."""

SOURCES = ("StreamingRelation", "StreamingRelationV2")
ARITHMETIC = ("Add", "Subtract", "Multiply")
"""What may be too large for its type."""
_OUTPUT = re.compile(r"#(\d+)L?(?:-T(\d+)ms)?$")
_BETWEEN = "\x01"
_MILLISECOND = 1_000


class _Reader:
    """Walks the operators in Java and in JSON side by side."""

    def __init__(self, said: Iterator[dict[str, Any]]) -> None:
        self._said = said

    def operator(self, java: Any) -> Operator:
        fields = next(self._said)
        kind = _kind(fields)
        children = java.children()
        below = tuple(self.operator(children.apply(i)) for i in range(fields["num-children"]))
        streaming = bool(java.isStreaming())
        placed = {}
        for name in _EXPRESSIONS.get(kind, ()) if streaming else ():
            placed[name] = tuple(_placed(fields.get(name), getattr(java, name)()))
        return Operator(
            kind,
            fields,
            below,
            tuple(_outputs(java)),
            streaming,
            placed,
            _source(java, kind, fields) if kind in SOURCES else None,
            () if streaming else tuple(json.loads(java.schema().json())["fields"]),
        )


def _outputs(java: Any) -> Iterator[Output]:
    text = java.output().mkString(_BETWEEN)
    for each in text.split(_BETWEEN) if text else ():
        found = _OUTPUT.search(each)
        if found is None:
            raise ValueError(f"{each!r} is no column")
        delay = None if found[2] is None else int(found[2]) * _MILLISECOND
        yield Output(int(found[1]), delay)


def _source(java: Any, kind: str, fields: Fields) -> str:
    """Readers of one source read the same rows, also those that were made apart: a V1 source is
    told by its class, options and paths, a V2 one by its options."""
    columns = [(each[0]["name"], each[0]["dataType"]) for each in fields["output"]]
    if kind == "StreamingRelation":
        said = java.dataSource()
        told = [said.className(), said.paths().mkString(_BETWEEN), said.options().toString()]
    else:
        told = [java.sourceName(), java.extraOptions().asCaseSensitiveMap().toString()]
    return json.dumps([*told, columns])


def _placed(said: Any, java: Any) -> Iterator[Expr]:
    """Expressions with the places that Java knows: one, which may be an Option, or a sequence."""
    if not said:
        return
    if isinstance(said[0], dict):
        yield _with_places(expr_of(said), java.get() if _option(java) else java)
        return
    for place, each in enumerate(said):
        yield _with_places(expr_of(each), java.apply(place))


def _option(java: Any) -> bool:
    return str(java.getClass().getName()).startswith("scala.")


def _with_places(expr: Expr, java: Any) -> Expr:
    """Each side of an AND has its own place, and what is below has that of what it stands in."""
    if expr.kind == "And":
        sides = (
            _with_places(each, java.children().apply(i)) for i, each in enumerate(expr.children)
        )
        return replace(expr, children=tuple(sides))
    return _at(_with_modes(expr, java), span_of(java.origin()))


def _at(expr: Expr, span: Span | None) -> Expr:
    return replace(expr, children=tuple(_at(each, span) for each in expr.children), span=span)


def _with_modes(expr: Expr, java: Any) -> Expr:
    """Arithmetic with what it does where a number is too large, which is as the session was set
    when the expression was made."""
    if not any(each.kind in ARITHMETIC for each in expr.nodes):
        return expr
    below = java.children()
    children = tuple(_with_modes(each, below.apply(i)) for i, each in enumerate(expr.children))
    fields = expr.fields
    if expr.kind in ARITHMETIC:
        fields = {**fields, "failOnError": java.evalMode().toString() == "ANSI"}
    return replace(expr, fields=fields, children=children)
