"""Conditions that order says nothing of, and that leave a failing condition failing all the same.

A filter such as `page LIKE '/x%'` may bound a column, as far as the criterion knows.  It does not
where it reads columns that nothing else of the query reads, and some values of them pass: give all
rows those values, and what is left is the query without the filter.  Such values are looked for
among the constants of the filter and their neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import islice, product

from millpond.memory.attribute import Attribute, attribute
from millpond.memory.condition import Condition, In, Number, Opaque, Pair, Range
from millpond.memory.spj import SpjQuery
from millpond.plan import COMPARISONS, Expression, Literal, columns_of
from millpond.plan.evaluate import compiled
from millpond.plan.functions import EvaluationError
from millpond.plan.node import Field
from millpond.schema import Column, EnumType, Kind, Row, Value

MOST_TRIED = 5_000
_LONGEST = 200
"""How long the texts are that are made for a length."""


def in_doubt(query: SpjQuery) -> Condition | None:
    """A condition that may bound what the others do not; None if there is none."""
    found = _settled(query)
    return None if isinstance(found, dict) else found


def settled(query: SpjQuery) -> dict[Attribute, Value]:
    """Values of the columns that such conditions read, for which they hold."""
    found = _settled(query)
    return found if isinstance(found, dict) else {}


def _settled(query: SpjQuery) -> dict[Attribute, Value] | Condition:
    """Those values, or the first condition for which there are none."""
    values: dict[Attribute, Value] = {}
    unclear = [each for each in query.conditions if _unclear(each)]
    plain = {x for each in query.conditions if not _unclear(each) for x in bases_of(each.columns)}
    plain |= bases_of(query.shown) | bases_of(query.beside)
    left = list(unclear)
    while left:
        together = _together(left)
        left = [each for each in left if each not in together]
        read = {x for each in together for x in bases_of(each.columns)}
        if read & plain or len({x.alias for x in read}) > 1:
            return together[0]
        columns = sorted(read)
        passing = _passing(query, together, columns)
        if passing is None:
            return together[0]
        values |= dict(zip(columns, passing, strict=True))
    return values


def _unclear(condition: Condition) -> bool:
    return isinstance(condition, Opaque) or any(
        each.derived is not None for each in condition.columns
    )


def bases_of(attributes: Sequence[Attribute]) -> set[Attribute]:
    """The declared columns that attributes are, or are computed from."""
    found = set()
    for each in attributes:
        if each.derived is None:
            found.add(each)
        else:
            found |= {attribute(column) for column in columns_of(each.derived)}
    return found


def _together(conditions: Sequence[Condition]) -> list[Condition]:
    """The first condition, and those that read columns in common with it, or with these."""
    found = [conditions[0]]
    read = bases_of(conditions[0].columns)
    while True:
        more = [x for x in conditions if x not in found and bases_of(x.columns) & read]
        if not more:
            return found
        found += more
        read |= {x for each in more for x in bases_of(each.columns)}


def _passing(
    query: SpjQuery, conditions: Sequence[Condition], columns: Sequence[Attribute]
) -> Row | None:
    """Some values of the columns that meet all of the conditions."""
    fields = [_field(each, query.columns[each]) for each in columns]
    tests = [_test(each, fields) for each in conditions]
    read = [x.derived for each in conditions for x in each.columns if x.derived is not None]
    read += [each.expression for each in conditions if isinstance(each, Opaque)]
    constants = [x for each in read for x in _constants(each)]
    for each in conditions:
        if isinstance(each, In):
            ends = (end for one in each.ranges for end in (one.low, one.high))
            constants += [_exact(x) for x in ends if x is not None]
    values = [list(_values(query.columns[each], constants)) for each in columns]
    for row in islice(product(*values), MOST_TRIED):
        try:
            if all(test(row) for test in tests):
                return row
        except EvaluationError:
            continue
    return None


def _exact(end: Number) -> Value:
    if isinstance(end, str) or end.denominator == 1:
        return end if isinstance(end, str) else int(end)
    return Decimal(end.numerator) / Decimal(end.denominator)


def _test(condition: Condition, fields: Sequence[Field]) -> Callable[[Row], bool]:
    """A condition as a function of a row."""
    match condition:
        case Opaque():
            value, wanted = compiled(condition.expression, fields), not condition.negated
            return lambda row: value(row) is wanted
        case In():
            of, allowed = _value(condition.column, fields), condition
            return lambda row: _among(of(row), allowed)
        case Pair():
            left, right = (_value(each, fields) for each in condition.columns)
            holds, offset = COMPARISONS[condition.op], condition.offset

            def compared(row: Row) -> bool:
                one, other = left(row), right(row)
                if one is None or other is None or isinstance(one, str) or isinstance(other, str):
                    return one is not None and other is not None and holds(one, other)
                return holds(Fraction(one) - Fraction(other), offset)

            return compared
    return lambda row: False


def _value(each: Attribute, fields: Sequence[Field]) -> Callable[[Row], Value]:
    if each.derived is not None:
        return compiled(each.derived, fields)
    place = [(field.alias, field.name) for field in fields].index((each.alias, each.column))
    return lambda row: row[place]


def _among(value: Value, condition: In) -> bool:
    if value is None:
        return condition.null
    found = value if isinstance(value, str) else Fraction(value)
    return any(not each.meet(Range(found, found)).empty for each in condition.ranges)


def _field(each: Attribute, column: Column) -> Field:
    return Field(each.alias, each.column, column.type, column.nullable)


def _constants(expression: Expression) -> Iterator[Value]:
    if isinstance(expression, Literal):
        yield expression.value
    for each in expression.inputs:
        yield from _constants(each)


def _values(column: Column, constants: Sequence[Value]) -> Iterator[Value]:
    """Values of a column that are worth trying, allowed by its CHECK."""
    for value in dict.fromkeys(_candidates(column, constants)):
        if value is None or column.check.admits(value):
            yield value
    if column.nullable:
        yield None


def _candidates(column: Column, constants: Sequence[Value]) -> Iterator[Value]:
    yield from column.check.listed or ()
    if isinstance(column.type, EnumType):
        yield from column.type.values
        return
    match column.type.kind:
        case Kind.VARCHAR:
            texts = [each for each in constants if isinstance(each, str)]
            lengths = [x for x in constants if isinstance(x, int) and 0 <= x <= _LONGEST]
            yield from ("a" * (length + more) for length in lengths for more in (0, 1))
            for text in (*texts, "", "a"):
                for filled in (text, text.replace("%", "").replace("_", "a")):
                    yield from (filled, filled.lower(), filled.upper(), filled + "a", "b" + filled)
                    yield from (filled + "a" * (length + 1) for length in lengths)
        case Kind.BOOLEAN:
            yield from (True, False)
        case Kind.DOUBLE | Kind.DECIMAL | Kind.INTEGER | Kind.DATE | Kind.TIMESTAMP:
            numbers = [x for x in constants if isinstance(x, int | float | Decimal)]
            ends = [x for x in (column.check.low, column.check.high) if isinstance(x, int | float)]
            if column.type.kind in (Kind.DOUBLE, Kind.DECIMAL):
                make = float if column.type.kind is Kind.DOUBLE else Decimal
                yield from (make(number) for number in numbers)
            for number in (*numbers, *ends, 0):
                for step in range(-3, 4):
                    near = int(number) + step
                    yield float(near) if column.type.kind is Kind.DOUBLE else near
