"""What steps read of a row of a stream, as SQL over the columns that the stream has.

A program reads numbers: a column of integers as it is, and of everything else what `prepared.py`
makes of it.  Here each of those is an expression over the user's columns.  Places that no integer
says (texts, DOUBLEs, numbers of several kinds) stay the values that they are of, which SQL compares
alike; what only such places have is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from millpond.plan import Expression, columns_of
from millpond.plan.error import PlanError
from millpond.plan.sql_expression import Expressions, Level, Printed, atom
from millpond.program.expression import (
    Arith,
    Compare,
    Condition,
    Field,
    Greatest,
    Int,
    IsNull,
    Least,
    NotNull,
    Number,
    fields,
)
from millpond.program.line import Doubles, Line, Position, Whole, double_at
from millpond.program.measured import Known, Measured, Ordered
from millpond.program.prepared import Among, Placed, Ranked, Read, Rounding, Truth
from millpond.program.program import InputStream
from millpond.program.sql_places import MOST_LISTED, Places, decimal
from millpond.schema import BIGINT, IntegerType, Kind, Stream, Type

_SQL = {"==": "=", "!=": "<>"}


class StreamColumns:
    """The numbers and conditions of one input of a program, over the columns of its stream."""

    def __init__(self, read: InputStream, stream: Stream, expressions: Expressions) -> None:
        self._stream = stream
        self._expressions = expressions
        self._coding = dict(zip(read.columns, read.coding, strict=True))
        self.places = Places(expressions)

    def number(self, number: Number) -> str:
        """A number of a row; of a place that no integer says, the value that is there."""
        match number:
            case Int(value):
                return str(value)
            case Field(name):
                return self._field(name)
            case Arith(op, left, right):
                self._counted(number)
                return f"{self._wide(left)} {op} {self._wide(right)}"
            case Greatest(operands) | Least(operands):
                word = "GREATEST" if isinstance(number, Greatest) else "LEAST"
                return f"{word}({', '.join(map(self.number, operands))})"
        raise TypeError(f"{number} is no number over the columns of a row")

    def kept(self, number: Number) -> str:
        """The same as a value that is kept: arithmetic ends in 64 bits."""
        text = self.number(number)
        wide = any(isinstance(each, Arith) or self._computed(each) for each in _parts(number))
        return f"CAST({text} AS BIGINT)" if wide else text

    def condition(self, condition: Condition) -> str:
        """A condition on a row, to stand in a conjunction."""
        match condition:
            case NotNull(name):
                return f"{self._source(name)} IS NOT NULL"
            case IsNull(name):
                return f"{self._source(name)} IS NULL"
            case Compare(op, Field(name), Int(value)) if name in self._coding:
                return self._asked(name, op, value)
            case Compare(op, left, right):
                return f"{self.number(left)} {_SQL.get(op, op)} {self.number(right)}"

    def conditions(self, guard: Sequence[Condition]) -> list[str]:
        """All of a guard, those left out that follow from others."""
        compared = {
            name
            for each in guard
            if isinstance(each, Compare)
            for name in fields(each)
            if not isinstance(self._coding.get(name), Truth | Among)
        }
        return [
            self.condition(each)
            for each in guard
            if not (isinstance(each, NotNull) and each.field in compared)
        ]

    def type(self, number: Number) -> Type:
        """The type of what is kept of a number."""
        for name in fields(number):
            coding = self._coding[name]
            if isinstance(coding, Placed) and not isinstance(coding.line, Whole):
                return self.type_of(coding.read)
            if isinstance(coding, Measured | Ordered):
                return self.type_of(coding.read)
        return BIGINT

    def line(self, number: Number) -> Line:
        """The line that a number of a row lies on."""
        for name in fields(number):
            coding = self._coding[name]
            if isinstance(coding, Placed | Ranked):
                return coding.line
        return Whole()

    def type_of(self, read: Read) -> Type:
        if read.expression is not None:
            return read.expression.type
        column = self._stream.column(read.text)
        assert column is not None
        return column.type

    def text(self, expression: Expression) -> str:
        """An expression over the columns of the stream, by their names alone."""
        return self._printed(expression).text

    # Prepared columns ------------------------------------------------------------------------

    def _printed(self, expression: Expression) -> Printed:
        name = self._expressions.spelling.name
        # A batch is the only table that is read.
        behind = {(each.alias, each.name): atom(name(each.name)) for each in columns_of(expression)}
        return self._expressions.printed(expression, behind)

    def _field(self, name: str) -> str:
        coding = self._coding.get(name)
        if coding is None:
            return self._expressions.spelling.name(name)
        match coding:
            case Placed(read, line):
                return self._placed(read, line)
            case Ranked():
                return self._ranked(coding)
            case Truth() | Among():
                return f"CASE WHEN {self._holds(coding)} THEN 1 ELSE 0 END"
            case Measured(read) | Ordered(read):
                return self._read(read).text
            case Known(read):
                return f"CASE WHEN {self._operand(read)} IS NOT NULL THEN 1 END"
        raise PlanError(f"{name} is no value of a row")

    def _source(self, name: str) -> str:
        """What is NULL where a column is."""
        coding = self._coding.get(name)
        if isinstance(coding, Ranked) and len(coding.terms) == 1:
            return self._operand(coding.terms[0][0])
        if isinstance(coding, Placed) and not self._partial(coding):
            return self._operand(coding.read)
        return self._field(name)

    def _partial(self, placed: Placed) -> bool:
        """Whether values may have no place: DOUBLEs between whole numbers."""
        return isinstance(placed.line, Whole) and self.type_of(placed.read).kind is Kind.DOUBLE

    def _asked(self, name: str, op: str, value: int) -> str:
        """A column compared with a constant."""
        coding = self._coding[name]
        if isinstance(coding, Truth | Among) and (op, value) == ("==", 1):
            return self._holds(coding)
        if isinstance(coding, Truth) and coding.wanted is None and (op, value) == ("==", 0):
            return f"{self._operand(coding.read)} IS NOT NULL"
        if isinstance(coding, Ranked) and (op, value) == (">=", 0):
            return self._listed(coding)
        text = str(value)
        if isinstance(coding, Placed) and isinstance(coding.line, Doubles):
            text = self._expressions.spelling.double(double_at(value))
        return f"{self._field(name)} {_SQL.get(op, op)} {text}"

    def _read(self, read: Read) -> Printed:
        if read.expression is None:
            return atom(self._expressions.spelling.name(read.text))
        return self._printed(read.expression)

    def _operand(self, read: Read) -> str:
        return self._read(read).within(Level.CONCAT)

    def _placed(self, read: Read, line: Line) -> str:
        if not isinstance(line, Whole):
            return self._read(read).text
        return self.places.number(self._read(read), self.type_of(read), line)

    def _computed(self, number: Number) -> bool:
        """Whether a number may be of a type that is wider than 64 bits, or none of integers."""
        coding = self._coding.get(number.name) if isinstance(number, Field) else None
        if not isinstance(coding, Placed) or not isinstance(coding.line, Whole):
            return False
        return not coding.line.plain and self.type_of(coding.read).kind is not Kind.BOOLEAN

    def _ranked(self, ranked: Ranked) -> str:
        places = ranked.places
        if len(places) > MOST_LISTED:
            raise PlanError(f"a table of {len(places)} values is too long to read")
        values = [self._of_term(*each, ranked.line) for each in ranked.terms]
        type_ = self.type_of(ranked.terms[0][0])
        if ranked.rounding is Rounding.EXACT:
            (value,) = values
            arms = " ".join(
                f"WHEN {self.places.value(place, ranked.line, type_)} THEN {number}"
                for number, place in enumerate(places)
            )
            return f"CASE {value} {arms} END"
        up = ranked.rounding is Rounding.UP
        word = "GREATEST" if up else "LEAST"
        joined = f"{word}({', '.join(values)})" if len(values) > 1 else values[0]
        numbered = list(enumerate(places))
        numbered = numbered[:-1] if up else numbered[:0:-1]
        tests = [
            f"WHEN {self.places.beside(joined, place, ranked.line, type_, below=up)} THEN {number}"
            for number, place in numbered
        ]
        missing = " OR ".join(f"{each} IS NULL" for each in values)
        last = len(places) - 1 if up else 0
        return f"CASE WHEN {missing} THEN NULL {' '.join(tests)} ELSE {last} END"

    def _listed(self, ranked: Ranked) -> str:
        """Whether a value is one of a list."""
        (read, _), line = ranked.terms[0], ranked.line
        type_ = self.type_of(read)
        values = (self.places.value(each, line, type_) for each in ranked.places)
        return f"{self._operand(read)} IN ({', '.join(values)})"

    def _of_term(self, read: Read, offset: int, line: Line) -> str:
        value = self._operand(read)
        if not offset:
            return value
        if not isinstance(line, Whole):
            raise PlanError("values at a distance on a line that no integers count are not built")
        return f"({value} + {decimal(Fraction(offset * line.by, line.times))})"

    def _holds(self, coding: Truth | Among) -> str:
        if isinstance(coding, Truth):
            return _truth(self._read(coding.read), coding.wanted)
        value, type_ = self._operand(coding.read), self.type_of(coding.read)
        if type_.kind is Kind.BOOLEAN:
            value = f"CAST({value} AS INT)"
        spans = [self._span(value, low, high, coding.line, type_) for low, high in coding.spans]
        held = " OR ".join(spans) or "FALSE"
        if coding.null:
            return f"({value} IS NULL OR {held})"
        return f"({held})" if len(spans) > 1 else held

    def _span(
        self, value: str, low: Position | None, high: Position | None, line: Line, type_: Type
    ) -> str:
        if low is not None and low == high:
            return f"{value} = {self.places.value(low, line, type_)}"
        tests = []
        if low is not None:
            tests.append(self.places.beside(value, low, line, type_, below=False))
        if high is not None:
            tests.append(self.places.beside(value, high, line, type_, below=True))
        return " AND ".join(tests) or f"{value} IS NOT NULL"

    def _counted(self, number: Number) -> None:
        """Only places that integers say can be added to."""
        for name in fields(number):
            coding = self._coding.get(name)
            if isinstance(coding, Placed) and not isinstance(coding.line, Whole):
                raise PlanError("distances between values that no integers count are not built")

    def _wide(self, number: Number) -> str:
        """An operand of arithmetic, with room for its result."""
        text = self.number(number)
        if not isinstance(number, Field):
            return text
        column = self._stream.column(number.name)
        type_ = BIGINT if column is None else column.type
        narrow = isinstance(type_, IntegerType) and type_.bits is not None and type_.bits < 64
        return f"CAST({text} AS {'BIGINT' if narrow else 'DECIMAL(20, 0)'})"


def _parts(number: Number) -> Iterator[Number]:
    yield number
    if isinstance(number, Greatest | Least):
        for each in number.operands:
            yield from _parts(each)


def _truth(printed: Printed, wanted: bool | None) -> str:
    if wanted is None:
        return f"{printed.within(Level.CONCAT)} IS NULL"
    return printed.within(Level.NOT) if wanted else f"NOT {printed.within(Level.ATOM)}"
