"""Rows for which an expression need not have a value: an earlier condition is false of them.

`WHERE c <> '' AND CAST(c AS INT) > 5` looks at the CAST only where `c <> ''` is not false.
Columns are computed before any step, for all rows; where that fails, the conditions that stand
earlier in the text say whether anybody would have asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from millpond.memory import Attribute, SpjQuery
from millpond.memory.condition import Condition, In, Number, Opaque, Pair, Range
from millpond.plan import COMPARISONS
from millpond.plan.evaluate import compiled
from millpond.plan.functions import EvaluationError
from millpond.plan.node import Field
from millpond.program import fields_of
from millpond.schema import Row, Stream, Value

Asks = Callable[[Row], bool]


def excused(spj: SpjQuery, alias: str, stream: Stream, of: Condition | Attribute) -> Asks:
    """Whether a condition on the input that stands before another one, or before those on
    a column, is false of a row."""
    end = _start([of] if not isinstance(of, Attribute) else _about(spj, of))
    fields = fields_of(alias, stream)
    earlier = [
        _is_false(each, fields)
        for each in spj.conditions
        if {x.alias for x in each.columns} == {alias}
        and (start := _start([each])) is not None
        and (end is None or start < end)
    ]

    def asks(row: Row) -> bool:
        for each in earlier:
            try:
                if each(row):
                    return True
            except EvaluationError:
                return False
        return False

    return asks


def _about(spj: SpjQuery, x: Attribute) -> list[Condition]:
    return [each for each in spj.conditions if x in each.columns]


def _start(conditions: Sequence[Condition]) -> int | None:
    """Where the first of some conditions begins in the text."""
    return min((span for each in conditions for span in _starts(each)), default=None)


def _starts(condition: Condition) -> Iterator[int]:
    spans = condition.spans if isinstance(condition, In) else (getattr(condition, "span", None),)
    yield from (each.start for each in spans if each is not None)


def _is_false(condition: Condition, fields: Sequence[Field]) -> Asks:
    """Whether a condition is false; where it is unknown, later ones are still looked at."""
    match condition:
        case Opaque():
            of, unwanted = compiled(condition.expression, fields), condition.negated
            return lambda row: of(row) is unwanted
        case In():
            value, allowed = _value(condition.column, fields), condition
            return lambda row: _outside(value(row), allowed)
        case Pair():
            left, right = (_value(each, fields) for each in condition.columns)
            holds, offset = COMPARISONS[condition.op], condition.offset

            def differs(row: Row) -> bool:
                one, other = left(row), right(row)
                if one is None or other is None:
                    return False
                if isinstance(one, str) or isinstance(other, str):
                    return not holds(one, other)
                return not holds(Fraction(one) - Fraction(other), offset)

            return differs
    return lambda row: False


def _value(x: Attribute, fields: Sequence[Field]) -> Callable[[Row], Value]:
    if x.derived is not None:
        return compiled(x.derived, fields)
    place = [each.name for each in fields].index(x.column)
    return lambda row: row[place]


def _outside(value: Value, condition: In) -> bool:
    if value is None:
        return False
    exact: Number = value if isinstance(value, str) else Fraction(value)
    point = Range(exact, exact)
    return all(each.meet(point).empty for each in condition.ranges)
