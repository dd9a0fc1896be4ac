"""Plans as SQL for other engines, with the same answers there.

Where an engine means something else by the same words, what it is to compute is said at length:
`int / int` is a division of doubles, dividing by zero gives NULL, integer arithmetic is of 64 bits
at least, sums are exact.  What an engine has no word for is refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence

from millpond.plan.error import PlanError
from millpond.plan.expression import Call, Cast, Comparison, Expression, Literal, Operator
from millpond.plan.node import AggregateCall, Assign, Changes, Results, SemiJoin, Window
from millpond.plan.render import label
from millpond.plan.sql_expression import Behind, Expressions, Level, Printed, atom
from millpond.plan.sql_functions import AS_IS, DUCKDB, POSTGRES, SPARK
from millpond.plan.sql_query import Queries
from millpond.plan.sql_spelling import (
    DuckDbSpelling,
    EngineSpelling,
    PostgresSpelling,
    SparkSpelling,
)
from millpond.plan.window import Extent, WindowSpec
from millpond.schema import DOUBLE, TINYINT, Kind, Type

_ORDERED = (Operator.LT, Operator.LE, Operator.GE, Operator.GT)
_FLOATING = ("AVG", "MEDIAN", "VAR_SAMP", "VAR_POP", "STDDEV_SAMP", "STDDEV_POP")


class EngineExpressions(Expressions):
    """What the engines have in common."""

    engine: str
    functions: dict[str, str]

    def __init__(self, spelling: EngineSpelling) -> None:
        super().__init__(spelling)

    def as_type(self, text: str, type_: Type) -> Printed:
        return atom(f"CAST({text} AS {self.spelling.type(type_)})")

    def infix(self, call: Call, arguments: Sequence[Printed]) -> Printed:
        kinds = " ".join(each.type.kind.name for each in call.arguments)
        pattern = self.functions.get(f"{call.function} {kinds}")
        if pattern is not None:
            return atom(f"({pattern.format(*(each.text for each in arguments))})")
        if call.function in ("/", "%"):
            return self.division(call, arguments)
        widened = [
            self.widened(call, each, printed)
            for each, printed in zip(call.arguments, arguments, strict=True)
        ]
        return super().infix(call, widened)

    def widened(self, call: Call, argument: Expression, printed: Printed) -> Printed:
        """An operand in the type of the result, which engines may take to be narrower."""
        number = call.type.kind in (Kind.INTEGER, Kind.DOUBLE) and argument.type.kind.numeric
        if not number or argument.type == call.type:
            return printed
        if isinstance(argument, Literal) and call.type.kind is Kind.DOUBLE:
            return Printed(self.spelling.value(argument.value, call.type), Level.ATOM)
        return self.as_type(printed.text, call.type)

    def division(self, call: Call, arguments: Sequence[Printed]) -> Printed:
        left, right = (
            self.widened(call, each, printed)
            for each, printed in zip(call.arguments, arguments, strict=True)
        )
        return Printed(
            f"{left.within(Level.MULTIPLY)} {call.function} NULLIF({right.text}, 0)",
            Level.MULTIPLY,
        )

    def function(self, call: Call, arguments: Sequence[Printed]) -> Printed:
        counted = f"{call.function}/{len(arguments)}"
        pattern = self.functions.get(counted) or self.functions.get(call.function)
        if pattern is None:
            raise PlanError(f"{self.engine} has no word for {call.function}")
        texts = [each.text for each in arguments]
        made = pattern.format(*texts, all=", ".join(texts))
        if call.function not in AS_IS and call.type.kind.numeric:
            return self.as_type(made, call.type)
        return atom(f"({made})")

    # Aggregates ------------------------------------------------------------------------------

    def aggregate(self, call: AggregateCall, behind: Behind | None = None) -> Printed:
        if call.declared is not None:
            raise PlanError(f"{self.engine} has no word for {call.function}")
        if call.argument is None:
            return atom(f"COUNT(*){self.filtered(call)}")
        text, type_ = self.text(call.argument, behind), call.argument.type
        name = call.function
        if name in _FLOATING:
            text = text if type_ == DOUBLE else self.as_type(text, DOUBLE).text
        elif name == "SUM" and type_.kind is Kind.INTEGER:
            text = self.as_type(text, call.type).text
        made = self.aggregated(name, f"DISTINCT {text}" if call.distinct else text, type_)
        return atom(f"{made}{self.filtered(call)}")

    def aggregated(self, name: str, argument: str, _: Type) -> str:
        return f"{name}({argument})"


class DuckDbExpressions(EngineExpressions):
    """DuckDB."""

    engine = "DuckDB"
    functions = DUCKDB

    def __init__(self) -> None:
        super().__init__(DuckDbSpelling())


class SparkExpressions(EngineExpressions):
    """Spark: `<=>`, and patterns of LIKE where a backslash escapes."""

    engine = "Spark"
    functions = SPARK

    def __init__(self) -> None:
        super().__init__(SparkSpelling())

    def comparison(self, compared: Comparison, behind: Behind) -> Printed:
        if compared.op is not Operator.SAME:
            return super().comparison(compared, behind)
        left, right = (self.operand(each, behind) for each in compared.inputs)
        return Printed(f"{left} <=> {right}", Level.PREDICATE)

    def differs(self, same: Comparison, behind: Behind) -> Printed:
        return Printed(f"NOT ({self.comparison(same, behind).text})", Level.NOT)

    def like(self, call: Call, arguments: Sequence[Printed]) -> Printed:
        if len(arguments) == 3:
            return super().like(call, arguments)
        pattern = call.arguments[1]
        if isinstance(pattern, Literal) and isinstance(pattern.value, str):
            doubled = self.spelling.text(pattern.value.replace("\\", "\\\\"))
        else:
            doubled = f"REPLACE({arguments[1].text}, '\\\\', '\\\\\\\\')"
        return super().like(call, [arguments[0], atom(doubled)])


class PostgresExpressions(EngineExpressions):
    """PostgreSQL: text compares by code point only in the collation "C"."""

    engine = "PostgreSQL"
    functions = POSTGRES

    def __init__(self) -> None:
        super().__init__(PostgresSpelling())

    def comparison(self, compared: Comparison, behind: Behind) -> Printed:
        text = all(each.type.kind in (Kind.VARCHAR, Kind.NULL) for each in compared.inputs)
        if compared.op not in _ORDERED or not text:
            return super().comparison(compared, behind)
        left, right = (self.operand(each, behind) for each in compared.inputs)
        return Printed(f'{left} COLLATE "C" {compared.op} {right}', Level.PREDICATE)

    def division(self, call: Call, arguments: Sequence[Printed]) -> Printed:
        if call.function == "%" and call.type.kind is Kind.DOUBLE:
            raise PlanError("PostgreSQL has no word for % of doubles")
        return super().division(call, arguments)

    def like(self, call: Call, arguments: Sequence[Printed]) -> Printed:
        made = super().like(call, arguments)
        plain = len(arguments) == 2
        return Printed(f"{made.text} ESCAPE ''", made.level) if plain else made

    def cast(self, cast: Cast, behind: Behind) -> Printed:
        if cast.type == TINYINT:
            raise PlanError("PostgreSQL has no word for TINYINT")
        return super().cast(cast, behind)

    def function(self, call: Call, arguments: Sequence[Printed]) -> Printed:
        if call.function == "SUBSTRING" and not _from_the_start(call):
            raise PlanError("PostgreSQL has no word for a place that may count from the end")
        return super().function(call, arguments)

    def aggregated(self, name: str, argument: str, type_: Type) -> str:
        if name == "MEDIAN":
            if argument.startswith("DISTINCT "):
                raise PlanError("PostgreSQL has no word for MEDIAN(DISTINCT ...)")
            return f"PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY {argument})"
        if name in ("MIN", "MAX") and type_.kind is Kind.BOOLEAN:
            return f"{'BOOL_AND' if name == 'MIN' else 'BOOL_OR'}({argument})"
        if name in ("MIN", "MAX") and type_.kind is Kind.VARCHAR:
            return f'{name}({argument} COLLATE "C")'
        return super().aggregated(name, argument, type_)


def _from_the_start(call: Call) -> bool:
    """Whether the first place of a SUBSTRING is known to count from the start."""
    place = call.arguments[1]
    return isinstance(place, Literal) and isinstance(place.value, int) and place.value >= 1


class EngineQueries(Queries):
    """Plans over relations: an engine knows no windows and no streams of changes."""

    expressions: EngineExpressions

    def window(self, node: Window) -> str:
        if node.spec != WindowSpec(Extent.UNBOUNDED) or isinstance(node.input, Results):
            raise self.no_word(label(node))
        return self.input(node.input)

    def windowed(self, node: Window, separator: str) -> str:
        if isinstance(node.input, Results):
            raise self.no_word("WSTREAM")
        return super().windowed(node, separator)

    def assign(self, node: Assign) -> str:
        raise self.no_word(label(node))

    def changes(self, node: Changes, separator: str) -> str:
        raise self.no_word(label(node))

    def results(self, node: Results, separator: str) -> str:
        raise self.no_word(label(node))

    def semijoin(self, node: SemiJoin) -> str:
        if isinstance(self.expressions, PostgresExpressions):
            raise self.no_word("a semi-join below a join")
        return super().semijoin(node)

    def no_word(self, what: str) -> PlanError:
        return PlanError(f"{self.expressions.engine} has no word for {what}")
