"""Random scalar expressions and aggregates, each as text of the language and as DuckDB's SQL.

Both texts come out of one random choice, so that no reading of the language stands between them.
Where DuckDB means something else by the same text, its side says what the language means: division
by zero is NULL, MEDIAN and variances are DOUBLE, counts are as wide as they need.

Values are small multiples of a quarter, and division is by powers of two: sums of them are exact in
any order, so that a difference between engines is never one of rounding.  Variances are not, and
are asked for only where nothing further is made of them (`spread`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Type(StrEnum):
    """What an expression gives; TIME is a timestamp, which the oracle holds as an integer."""

    INT = "int"
    TEXT = "text"
    BOOL = "bool"
    DOUBLE = "double"
    DECIMAL = "decimal"
    TIME = "time"


NUMBERS = (Type.INT, Type.DOUBLE, Type.DECIMAL)
VALUES: dict[Type, tuple[str, ...]] = {
    Type.INT: ("-2", "-1", "0", "1", "2", "4"),
    Type.TEXT: ("'x'", "'y'", "'Z'", "'xy'", "''", "'a%'"),
    Type.BOOL: ("TRUE", "FALSE"),
    Type.DOUBLE: ("-0.5", "0.0", "0.25", "1.5", "2.0"),
    Type.DECIMAL: ("-1.50", "0.00", "0.25", "1.00", "2.50"),
}
"""Constants of a type as SQL writes them; rows have the same values."""
PATTERNS = ("x%", "%y", "_", "%", "", "a%", "%x%", "__")


class Pair(NamedTuple):
    """One thing said twice."""

    pond: str
    duck: str

    def of(self, *inner: Pair) -> Pair:
        """This pair of formats with other pairs put in."""
        return Pair(
            self.pond.format(*(each.pond for each in inner)),
            self.duck.format(*(each.duck for each in inner)),
        )


def both(text: str, *inner: Pair) -> Pair:
    """What both write alike."""
    return Pair(text, text).of(*inner)


@dataclass(frozen=True)
class Column:
    """A column in scope: what names it, and its type."""

    ref: Pair
    type: Type


class Expressions:
    """Random expressions over columns in scope."""

    def __init__(
        self, rng: random.Random, columns: Sequence[Column], *, spread: bool = False
    ) -> None:
        self._rng = rng
        self._columns = columns
        self._spread = spread

    def types(self) -> list[Type]:
        """The types of the columns in scope."""
        return [each.type for each in self._columns]

    def column(self, *types: Type) -> Pair | None:
        """A column of one of the types."""
        fitting = [each.ref for each in self._columns if not types or each.type in types]
        return self._rng.choice(fitting) if fitting else None

    def literal(self, type_: Type) -> Pair:
        """A constant."""
        if type_ is Type.TIME:
            raise ValueError("no constants of time are made up")
        text = self._rng.choice(VALUES[type_])
        if type_ is Type.DOUBLE:
            return both(f"CAST({text} AS DOUBLE)")
        return both(f"({text})" if text.startswith("-") else text)

    def value(self, type_: Type, depth: int = 2) -> Pair:
        """An expression of a type; a column more often than not."""
        column = self.column(type_)
        if type_ is Type.TIME:
            if column is None:
                raise ValueError("no column of time in scope")
            return column
        if depth == 0 or self._rng.random() < 0.55:
            if column is not None and self._rng.random() < 0.9:
                return column
            return self.literal(type_)
        return self._rng.choice(self._makers[type_])(self, depth - 1)

    def condition(self, depth: int = 2) -> Pair:
        """A condition, in three-valued logic."""
        roll = self._rng.random()
        if depth > 0 and roll < 0.35:
            return self._one_of(
                lambda: both("({} AND {})", self._inner(depth), self._inner(depth)),
                lambda: both("({} OR {})", self._inner(depth), self._inner(depth)),
                lambda: both("(NOT {})", self._inner(depth)),
            )
        return self._rng.choice(_CONDITIONS)(self, depth)

    def comparison(self, left: Pair, right: Pair) -> Pair:
        """Two values of comparable types compared."""
        op = self._rng.choice(["=", "=", "=", "<>", "<", "<=", ">", ">=", "IS NOT DISTINCT FROM"])
        return both(f"({{}} {op} {{}})", left, right)

    def type(self, *, numeric: bool = False) -> Type:
        """A type that something in scope has, or any."""
        there = [each for each in self.types() if not numeric or each in NUMBERS]
        return self._rng.choice(there) if there else Type.INT

    def aggregate(self, wanted: Type | None = None) -> tuple[Pair, Type]:
        """An aggregate function of an expression in scope."""
        fitting = [
            each
            for each in _AGGREGATES
            if (wanted is None or wanted in each[1] or not each[1])
            and (self._spread or each[0] is not _variance)
        ]
        for maker, _ in self._rng.sample(fitting, len(fitting)):
            found = maker(self, wanted)
            if found is not None:
                pair, type_ = found
                if self._rng.random() < 0.12:
                    pair = both("{} FILTER (WHERE {})", pair, self.condition(1))
                if type_ is Type.INT:
                    pair = Pair(pair.pond, f"CAST({pair.duck} AS HUGEINT)")
                return pair, type_
        raise AssertionError(f"no aggregate gives {wanted}")

    def _one_of(self, *makers: Callable[[], Pair]) -> Pair:
        return self._rng.choice(makers)()

    def _inner(self, depth: int) -> Pair:
        return self.condition(depth - 1)

    def _two(self, type_: Type, depth: int) -> tuple[Pair, Pair]:
        return self.value(type_, depth), self.value(type_, depth)

    def _case(self, type_: Type, depth: int) -> Pair:
        if self._rng.random() < 0.25:
            return both("CASE WHEN {} THEN {} END", self.condition(depth), self.value(type_, depth))
        return both(
            "CASE WHEN {} THEN {} ELSE {} END",
            self.condition(depth), *self._two(type_, depth),
        )  # fmt: skip

    def _coalesce(self, type_: Type, depth: int) -> Pair:
        return both("COALESCE({}, {})", self.value(type_, depth), self.literal(type_))

    def _integer(self, depth: int) -> Pair:
        left, right = self._two(Type.INT, depth)
        return self._one_of(
            lambda: both("({} + {})", left, right),
            lambda: both("({} - {})", left, right),
            lambda: both("({} * {})", left, right),
            lambda: Pair("({0} % {1})", "({0} % NULLIF({1}, 0))").of(left, right),
            lambda: both("(-({}))", left),
            lambda: both("ABS({})", left),
            lambda: both("NULLIF({}, {})", left, right),
            lambda: both("LENGTH({})", self.value(Type.TEXT, depth)),
            lambda: self._case(Type.INT, depth),
            lambda: self._coalesce(Type.INT, depth),
        )

    def _text(self, depth: int) -> Pair:
        left, right = self._two(Type.TEXT, depth)
        return self._one_of(
            lambda: both("({} || {})", left, right),
            lambda: both("UPPER({})", left),
            lambda: both("LOWER({})", left),
            lambda: both("SUBSTRING({}, 1, 1)", left),
            lambda: both("CAST({} AS VARCHAR)", self.value(Type.INT, depth)),
            lambda: self._case(Type.TEXT, depth),
            lambda: self._coalesce(Type.TEXT, depth),
        )

    def _double(self, depth: int) -> Pair:
        number = self.value(self.type(numeric=True), depth)
        left, right = self._two(Type.DOUBLE, depth)
        return self._one_of(
            lambda: Pair(
                "({0} / {1})", "(CAST({0} AS DOUBLE) / NULLIF(CAST({1} AS DOUBLE), 0))"
            ).of(number, self.value(Type.INT, 0)),
            lambda: both("({} + {})", left, number),
            lambda: both("({} - {})", number, left),
            lambda: both("({} * {})", left, right),
            lambda: self._case(Type.DOUBLE, depth),
            lambda: self._coalesce(Type.DOUBLE, depth),
        )

    def _decimal(self, depth: int) -> Pair:
        left, right = self._two(Type.DECIMAL, depth)
        whole = self.column(Type.INT) or self.literal(Type.INT)
        return self._one_of(
            lambda: both("({} + {})", left, right),
            lambda: both("({} - {})", left, self.literal(Type.DECIMAL)),
            lambda: both("({} + {})", left, whole),
            lambda: both("({} * {})", left, self.literal(Type.INT)),
            lambda: both("(-({}))", left),
            lambda: self._case(Type.DECIMAL, depth),
            lambda: self._coalesce(Type.DECIMAL, depth),
        )

    def _boolean(self, depth: int) -> Pair:
        return self.condition(depth)

    _makers: dict[Type, list[Callable[[Expressions, int], Pair]]] = {  # noqa: RUF012 - never changed
        Type.INT: [_integer],
        Type.TEXT: [_text],
        Type.DOUBLE: [_double],
        Type.DECIMAL: [_decimal],
        Type.BOOL: [_boolean],
    }


def _compared(of: Expressions, depth: int) -> Pair:
    type_ = of.type()
    inner = max(0, depth - 1)
    if type_ in NUMBERS:
        return of.comparison(of.value(type_, inner), of.value(of.type(numeric=True), inner))
    return of.comparison(of.value(type_, inner), of.value(type_, inner))


def _is(of: Expressions, depth: int) -> Pair:
    word = of._rng.choice(["IS NULL", "IS NOT NULL"])
    return both(f"({{}} {word})", of.value(of.type(), max(0, depth - 1)))


def _is_truth(of: Expressions, depth: int) -> Pair:
    word = of._rng.choice(["IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE"])
    return both(f"({{}} {word})", of.condition(max(0, depth - 1)))


def _among(of: Expressions, depth: int) -> Pair:
    type_ = of.type()
    if type_ is Type.TIME:
        return _compared(of, depth)
    word = of._rng.choice(["IN", "IN", "NOT IN"])
    items = [of.literal(type_) for _ in range(of._rng.randint(1, 3))]
    if of._rng.random() < 0.1:
        items.append(both("NULL"))
    listed = ", ".join(["{}"] * len(items))
    return both(f"({{}} {word} ({listed}))", of.value(type_, max(0, depth - 1)), *items)


def _between(of: Expressions, depth: int) -> Pair:
    type_ = of.type(numeric=True)
    word = of._rng.choice(["BETWEEN", "BETWEEN", "NOT BETWEEN"])
    ends = of.literal(type_), of.literal(type_)
    return both(f"({{}} {word} {{}} AND {{}})", of.value(type_, max(0, depth - 1)), *ends)


def _like(of: Expressions, depth: int) -> Pair:
    word = of._rng.choice(["LIKE", "NOT LIKE"])
    pattern = of._rng.choice(PATTERNS)
    return both(f"({{}} {word} '{pattern}')", of.value(Type.TEXT, max(0, depth - 1)))


def _truth(of: Expressions, depth: int) -> Pair:
    return of.column(Type.BOOL) or _compared(of, depth)


_CONDITIONS: list[Callable[[Expressions, int], Pair]] = [
    _compared, _compared, _compared, _compared, _is, _is_truth, _among, _between, _like, _truth,
]  # fmt: skip

_Maker = Callable[[Expressions, Type | None], tuple[Pair, Type] | None]


def _count_rows(of: Expressions, wanted: Type | None) -> tuple[Pair, Type]:
    return both("COUNT(*)"), Type.INT


def _count(of: Expressions, wanted: Type | None) -> tuple[Pair, Type]:
    word = of._rng.choice(["", "DISTINCT "])
    return both(f"COUNT({word}{{}})", of.value(of.type(), 1)), Type.INT


def _sum(of: Expressions, wanted: Type | None) -> tuple[Pair, Type] | None:
    type_ = wanted or of.type(numeric=True)
    word = "DISTINCT " if of._rng.random() < 0.1 else ""
    return both(f"SUM({word}{{}})", of.value(type_, 1)), type_


def _extreme(of: Expressions, wanted: Type | None) -> tuple[Pair, Type] | None:
    type_ = wanted or of.type()
    if type_ is Type.TIME and of.column(Type.TIME) is None:
        return None
    return both(f"{of._rng.choice(['MIN', 'MAX'])}({{}})", of.value(type_, 1)), type_


def _mean(of: Expressions, wanted: Type | None) -> tuple[Pair, Type]:
    name = of._rng.choice(["AVG", "MEDIAN"])
    said = Pair(f"{name}({{}})", f"{name}(CAST({{}} AS DOUBLE))")
    return said.of(of.value(of.type(numeric=True), 1)), Type.DOUBLE


def _variance(of: Expressions, wanted: Type | None) -> tuple[Pair, Type]:
    name, theirs = of._rng.choice([("VAR", "VAR_SAMP"), ("STDDEV", "STDDEV_SAMP")])
    said = Pair(f"{name}({{}})", f"{theirs}(CAST({{}} AS DOUBLE))")
    return said.of(of.value(of.type(numeric=True), 1)), Type.DOUBLE


_AGGREGATES: list[tuple[_Maker, tuple[Type, ...]]] = [
    (_count_rows, (Type.INT,)),
    (_count, (Type.INT,)),
    (_sum, NUMBERS),
    (_extreme, ()),
    (_mean, (Type.DOUBLE,)),
    (_variance, (Type.DOUBLE,)),
]
"""Makers of aggregates, with the types that they give; none listed means any."""
