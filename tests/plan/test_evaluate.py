"""Expressions over rows: three-valued logic by name, and random expressions against DuckDB."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import Any

import duckdb
import pytest

from millpond.diagnostic import Source, Span
from millpond.plan import (
    AGGREGATES,
    SCALARS,
    Call,
    Case,
    Cast,
    ColumnRef,
    Comparison,
    Expression,
    Field,
    InList,
    Is,
    Literal,
    Logical,
    Not,
    Operator,
    moments,
)
from millpond.plan.evaluate import compiled, holds, no_value
from millpond.plan.functions import EvaluationError, common_type, fits
from millpond.schema import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTERVAL,
    NULL,
    TIMESTAMP,
    VARCHAR,
    DecimalType,
    Kind,
    Row,
    Type,
    Value,
    decimal,
)

CENTS = decimal(6, 2)
COLUMNS: dict[str, Type] = {
    "a": BIGINT, "b": BIGINT, "x": DOUBLE, "y": DOUBLE, "c": CENTS, "e": CENTS, "p": BOOLEAN,
    "q": BOOLEAN, "u": VARCHAR, "v": VARCHAR, "d": DATE, "f": DATE, "t": TIMESTAMP, "w": TIMESTAMP,
}  # fmt: skip
FIELDS = [Field("s", name, type, True) for name, type in COLUMNS.items()]
TRUTH: tuple[Value, ...] = (True, False, None)


def column(name: str) -> ColumnRef:
    return ColumnRef("s", name, COLUMNS[name], True)


def literal(value: Value, type: Type) -> Literal:
    return Literal(value, NULL if value is None else type)


def truth(value: Value) -> Literal:
    return literal(value, BOOLEAN)


def number(value: Value) -> Literal:
    return literal(value, BIGINT)


def call(name: str, *arguments: Expression, span: Span | None = None) -> Call:
    function = SCALARS[name]
    result = function.result([each.type for each in arguments])
    assert result is not None, f"{name} of {', '.join(str(each.type) for each in arguments)}"
    return Call(function.name, arguments, result, True, span)


def value(expression: Expression, row: Row = (), fields: Sequence[Field] = ()) -> Value:
    return compiled(expression, fields)(row)


FAILS = call("+", number(2**63 - 1), number(1))
FAILING_CONDITION = Comparison(Operator.EQ, FAILS, number(0))


# Three-valued logic ------------------------------------------------------------------------------


def test_and_and_or_are_three_valued() -> None:
    for parts in product(TRUTH, repeat=3):
        operands = tuple(map(truth, parts))
        conjunction = False if False in parts else None if None in parts else True
        disjunction = True if True in parts else None if None in parts else False
        assert value(Logical("AND", operands)) is conjunction
        assert value(Logical("OR", operands)) is disjunction
        assert holds(operands, ())(()) is (conjunction is True)


def test_not_of_unknown_is_unknown() -> None:
    assert [value(Not(truth(each))) for each in TRUTH] == [False, True, None]


def test_is_is_never_unknown() -> None:
    for found, wanted in product(TRUTH, repeat=2):
        assert value(Is(truth(found), wanted if wanted is None else bool(wanted))) is (
            found is wanted
        )


def test_a_comparison_with_null_is_unknown_but_for_is_not_distinct_from() -> None:
    for op in Operator:
        expected = None if op is not Operator.SAME else False
        assert value(Comparison(op, number(None), number(1))) is expected
        assert value(Comparison(op, number(1), number(None))) is expected
    assert value(Comparison(Operator.SAME, number(None), number(None))) is True
    assert value(Comparison(Operator.SAME, number(1), number(1))) is True


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    ("operand", "items", "result"),
    [
        (1, (1, None), True),
        (2, (1, None), None),
        (2, (1, 3), False),
        (None, (1,), None),
        (None, (None,), None),
    ],
)
def test_in_is_an_or_of_equalities(
    operand: Value, items: tuple[Value, ...], result: Value, constant: bool
) -> None:
    # A call is no constant, so that both ways of looking are taken.
    made: Callable[[Value], Expression] = (
        number if constant else lambda each: call("COALESCE", number(each))
    )
    assert value(InList(number(operand), tuple(map(made, items)))) is result


def test_case_takes_the_first_branch_that_is_true() -> None:
    branches = ((truth(None), number(1)), (truth(True), number(2)), (truth(True), number(3)))
    assert value(Case(branches, number(4), BIGINT)) == 2
    assert value(Case(branches[:1], number(4), BIGINT)) == 4


def test_branches_of_a_case_come_as_its_type() -> None:
    case = Case(((column("p"), column("a")),), column("c"), decimal(21, 2))
    fields = [FIELDS[0], FIELDS[4], FIELDS[6]]
    assert str(value(case, (1, None, True), fields)) == "1.00"


# Short circuits ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        (Logical("AND", (truth(False), FAILING_CONDITION)), False),
        (Logical("OR", (truth(True), FAILING_CONDITION)), True),
        (InList(number(1), (number(1), FAILS)), True),
        (Case(((truth(True), number(1)),), FAILS, BIGINT), 1),
        (Case(((truth(False), FAILS),), number(2), BIGINT), 2),
        (call("COALESCE", number(1), FAILS), 1),
        (call("IF", truth(True), number(1), FAILS), 1),
    ],
)
def test_evaluation_stops_where_the_result_is_known(expression: Expression, result: Value) -> None:
    assert value(expression) == result


@pytest.mark.parametrize(
    "expression",
    [
        Logical("AND", (truth(None), FAILING_CONDITION)),
        Logical("AND", (FAILING_CONDITION, truth(False))),
        Logical("OR", (truth(None), FAILING_CONDITION)),
        InList(number(None), (FAILS, number(1))),
        call("+", number(None), FAILS),
        call("COALESCE", FAILS, number(1)),
        Comparison(Operator.EQ, number(None), FAILS),
    ],
)
def test_unknown_stops_nothing(expression: Expression) -> None:
    with pytest.raises(EvaluationError):
        value(expression)


def test_predicates_are_anded_from_left_to_right() -> None:
    assert holds([truth(False), FAILING_CONDITION], ())(()) is False
    with pytest.raises(EvaluationError):
        holds([truth(None), FAILING_CONDITION], ())(())


# Numbers and times -------------------------------------------------------------------------------


def compared(op: Operator, one: Literal | ColumnRef, other: Literal | ColumnRef, row: Row) -> Value:
    refs = [each for each in (one, other) if isinstance(each, ColumnRef)]
    fields = [Field(each.alias, each.name, each.type, True) for each in refs]
    return value(Comparison(op, one, other), row, fields)


def test_numbers_of_different_kinds_compare_exactly() -> None:
    assert compared(Operator.EQ, number(2**53 + 1), column("x"), (2.0**53,)) is False
    assert compared(Operator.GT, number(2**53 + 1), column("x"), (2.0**53,)) is True
    assert compared(Operator.EQ, column("c"), column("x"), (Decimal("0.10"), 0.1)) is False
    assert compared(Operator.LT, column("c"), column("x"), (Decimal("0.10"), 0.1)) is True
    assert compared(Operator.EQ, column("c"), column("a"), (Decimal("2.00"), 2)) is True


def test_a_decimal_constant_beside_a_double_is_that_double() -> None:
    tenth = literal(Decimal("0.1"), decimal(1, 1))
    assert compared(Operator.EQ, column("x"), tenth, (0.1,)) is True
    assert compared(Operator.LE, column("x"), tenth, (0.1,)) is True
    assert value(InList(column("x"), (tenth,)), (0.1,), [FIELDS[2]]) is True


def test_a_date_compares_with_a_timestamp_at_its_midnight() -> None:
    row = (1, moments.DAY)
    assert compared(Operator.EQ, column("d"), column("t"), row) is True
    assert compared(Operator.EQ, column("t"), column("d"), row[::-1]) is True
    assert compared(Operator.LT, column("d"), column("t"), (1, moments.DAY + 1)) is True
    assert value(InList(column("t"), (literal(1, DATE),)), (moments.DAY,), [FIELDS[12]]) is True


# Errors ------------------------------------------------------------------------------------------


def span_of(text: str, part: str) -> Span:
    start = text.index(part)
    return Span(Source("q.sql", text), start, start + len(part))


def test_an_error_knows_the_innermost_place() -> None:
    text = "SELECT ABS(a + 1) FROM s"
    inner = call("+", column("a"), number(1), span=span_of(text, "a + 1"))
    outer = call("ABS", inner, span=span_of(text, "ABS(a + 1)"))
    with pytest.raises(EvaluationError) as caught:
        value(outer, (2**63 - 1,), FIELDS[:1])
    assert caught.value.span == inner.span
    (diagnostic,) = no_value(caught.value).diagnostics
    assert (diagnostic.code, diagnostic.span) == ("MP309", inner.span)
    assert "9223372036854775807 + 1: 9223372036854775808 does not fit BIGINT" in diagnostic.message


def test_a_cast_that_fails_knows_its_place() -> None:
    text = "SELECT CAST(u AS BIGINT) FROM s"
    cast = Cast(column("u"), BIGINT, span_of(text, "CAST(u AS BIGINT)"))
    with pytest.raises(EvaluationError, match="'x' is no BIGINT") as caught:
        value(cast, ("x",), [FIELDS[8]])
    assert caught.value.span == cast.span


def test_a_column_that_is_not_there_is_found_out_before_any_row() -> None:
    with pytest.raises(ValueError, match=r"s\.b is no column"):
        compiled(column("b"), FIELDS[:1])


def test_columns_are_told_apart_by_alias() -> None:
    fields = [Field("s", "a", BIGINT, True), Field("t", "a", BIGINT, True)]
    assert value(ColumnRef("t", "a", BIGINT, True), (1, 2), fields) == 2


# Against DuckDB ----------------------------------------------------------------------------------

Made = tuple[Expression, str]
"""An expression, and what it is in DuckDB's SQL."""

_NAMES = {
    BIGINT: "BIGINT", DOUBLE: "DOUBLE", BOOLEAN: "BOOLEAN", VARCHAR: "VARCHAR", DATE: "DATE",
    TIMESTAMP: "TIMESTAMP", CENTS: "DECIMAL(6, 2)", INTERVAL: "INTERVAL",
}  # fmt: skip


def random_value(chance: random.Random, type: Type) -> Value:
    """Small, so that no expression leaves its type; halves, so that DOUBLEs are exact."""
    if chance.random() < 0.2:
        return None
    match type.kind:
        case Kind.INTEGER:
            return chance.randrange(-4, 5)
        case Kind.DOUBLE:
            return chance.randrange(-8, 9) / 4
        case Kind.DECIMAL:
            return Decimal(chance.randrange(-8, 9)) / 4 + Decimal("0.00")
        case Kind.BOOLEAN:
            return chance.random() < 0.5
        case Kind.DATE:
            return chance.randrange(-60, 60)
        case Kind.TIMESTAMP:
            return chance.randrange(-60, 60) * 43_200_000_000 + chance.randrange(3) * 500_000
        case Kind.INTERVAL:
            return chance.randrange(-5, 5) * 21_600_000_000
    return "".join(chance.choice("abAB%_é ") for _ in range(chance.randrange(5)))


class Maker:
    """Random expressions of a kind."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def of(self, type: Type, depth: int) -> Made:
        if depth == 0 or self._chance.random() < 0.15:
            return self._leaf(type)
        general = [self._case, self._coalesce, self._extreme, self._nullif]
        special = {
            Kind.INTEGER: [self._arithmetic, self._whole, self._of_text, self._part, self._rounded],
            Kind.DOUBLE: [self._mixed, self._quotient, self._rounded],
            Kind.DECIMAL: [self._arithmetic, self._rounded],
            Kind.BOOLEAN: [self._logic, self._comparison, self._comparison, self._like, self._in,
                           self._is, self._search],
            Kind.VARCHAR: [self._text, self._text, self._shown],
            Kind.DATE: [self._day],
            Kind.TIMESTAMP: [self._moment, self._truncated],
            Kind.INTERVAL: [self._span],
        }  # fmt: skip
        mine = special[type.kind]
        return self._chance.choice([*mine, *mine, *general])(type, depth - 1)

    def _leaf(self, type: Type) -> Made:
        names = [name for name, each in COLUMNS.items() if each == type]
        if names and self._chance.random() < 0.7:
            name = self._chance.choice(names)
            return column(name), name
        return self._constant(random_value(self._chance, type), type)

    def _constant(self, value: Value, type: Type) -> Made:
        made = literal(value, type)
        return (
            Cast(made, type) if value is None else made,
            f"CAST({spelled(value, type)} AS {_NAMES[type]})",
        )

    def _called(self, name: str, sql: str, *parts: Made) -> Made:
        """A call, where {0} and so on in the SQL stand for the arguments."""
        made = call(name, *(expression for expression, _ in parts))
        return made, "(" + sql.format(*(f"({text})" for _, text in parts)) + ")"

    def _pair(self, type: Type, depth: int) -> tuple[Made, Made]:
        return self.of(type, depth), self.of(type, depth)

    def _any(self) -> Type:
        return self._chance.choice(list(_NAMES))

    def _number(self, depth: int) -> Made:
        return self.of(self._chance.choice([BIGINT, DOUBLE, CENTS]), depth)

    # Everything

    def _case(self, type: Type, depth: int) -> Made:
        condition, then, otherwise = self.of(BOOLEAN, depth), *self._pair(type, depth)
        meant = common_type([then[0].type, otherwise[0].type])
        assert meant is not None
        return (
            Case(((condition[0], then[0]),), otherwise[0], meant),
            f"(CASE WHEN {condition[1]} THEN {then[1]} ELSE {otherwise[1]} END)",
        )

    def _coalesce(self, type: Type, depth: int) -> Made:
        return self._called("COALESCE", "coalesce({0}, {1})", *self._pair(type, depth))

    def _extreme(self, type: Type, depth: int) -> Made:
        name = self._chance.choice(["GREATEST", "LEAST"])
        return self._called(name, name + "({0}, {1})", *self._pair(type, depth))

    def _nullif(self, type: Type, depth: int) -> Made:
        return self._called("NULLIF", "nullif({0}, {1})", *self._pair(type, depth))

    # Numbers

    def _arithmetic(self, type: Type, depth: int) -> Made:
        pair = self._pair(type, depth)
        signs = ["+", "-", "%"]
        scales = [each[0].type.scale for each in pair if isinstance(each[0].type, DecimalType)]
        if sum(scales) < 10:
            signs.append("*")
        return self._signed(self._chance.choice(signs), *pair)

    def _signed(self, sign: str, one: Made, other: Made) -> Made:
        return self._called(sign, "{0} % nullif({1}, 0)" if sign == "%" else f"{{0}} {sign} {{1}}",
                            one, other)  # fmt: skip

    def _mixed(self, type: Type, depth: int) -> Made:
        pair = [self.of(DOUBLE, depth), self._number(depth)]
        self._chance.shuffle(pair)
        return self._signed(self._chance.choice("+-*"), *pair)

    def _quotient(self, type: Type, depth: int) -> Made:
        # Powers of two keep the quotient exact, so that comparisons of it agree.
        below = self._constant(self._chance.choice([-2, 0, 1, 4]), BIGINT)
        sql = "CAST({0} AS DOUBLE) / nullif(CAST({1} AS DOUBLE), 0)"
        return self._called("/", sql, self._number(depth), below)

    def _rounded(self, type: Type, depth: int) -> Made:
        part = self.of(type, depth)
        name = self._chance.choice(["ABS", "FLOOR", "CEIL", "ROUND", "-"])
        text = part[1] if name in ("ABS", "-") or type is not BIGINT else f"{part[1]}::DECIMAL"
        if name == "-" or type is not BIGINT:
            return self._called(name, f"{name}({{0}})", (part[0], text))
        return self._called(name, f"CAST({name}({{0}}) AS BIGINT)", (part[0], text))

    def _whole(self, type: Type, depth: int) -> Made:
        part = self._number(depth)
        if self._chance.random() < 0.5:
            return Cast(part[0], BIGINT), f"CAST({part[1]} AS BIGINT)"
        return self._called("SIGN", "sign({0})::BIGINT", part)

    def _of_text(self, type: Type, depth: int) -> Made:
        if self._chance.random() < 0.5:
            return self._called("LENGTH", "length({0})", self.of(VARCHAR, depth))
        return self._called("STRPOS", "strpos({0}, {1})", *self._pair(VARCHAR, depth))

    # Conditions

    def _logic(self, type: Type, depth: int) -> Made:
        op = self._chance.choice(["AND", "OR", "NOT"])
        if op == "NOT":
            expression, text = self.of(BOOLEAN, depth)
            return Not(expression), f"(NOT {text})"
        parts = [self.of(BOOLEAN, depth) for _ in range(self._chance.randrange(2, 4))]
        return (
            Logical(op, tuple(expression for expression, _ in parts)),
            "(" + f" {op} ".join(text for _, text in parts) + ")",
        )

    def _alike(self, depth: int) -> tuple[Made, Made]:
        if self._chance.random() < 0.3:
            return self._number(depth), self._number(depth)
        if self._chance.random() < 0.2:
            return self.of(DATE, depth), self.of(TIMESTAMP, depth)
        return self._pair(self._any(), depth)

    def _comparison(self, type: Type, depth: int) -> Made:
        op = self._chance.choice(list(Operator))
        one, other = self._alike(depth)
        return Comparison(op, one[0], other[0]), f"(({one[1]}) {op} ({other[1]}))"

    def _in(self, type: Type, depth: int) -> Made:
        wanted = self._any()
        operand, *items = (self.of(wanted, depth) for _ in range(self._chance.randrange(2, 5)))
        return (
            InList(operand[0], tuple(expression for expression, _ in items)),
            f"({operand[1]} IN ({', '.join(text for _, text in items)}))",
        )

    def _is(self, type: Type, depth: int) -> Made:
        wanted = self._chance.choice([None, True, False])
        expression, text = self.of(self._any() if wanted is None else BOOLEAN, depth)
        return Is(expression, wanted), f"({text} IS {'NULL' if wanted is None else wanted})"

    def _like(self, type: Type, depth: int) -> Made:
        name = self._chance.choice(["LIKE", "ILIKE"])
        if self._chance.random() < 0.3:
            pattern = self._constant(self._chance.choice(["a$%", "%$_b", "$$%"]), VARCHAR)
            sign = self._constant("$", VARCHAR)
            return self._called(name, f"{{0}} {name} {{1}} ESCAPE '$'", self.of(VARCHAR, depth),
                                pattern, sign)  # fmt: skip
        return self._called(name, f"{{0}} {name} {{1}}", *self._pair(VARCHAR, depth))

    def _search(self, type: Type, depth: int) -> Made:
        name = self._chance.choice(["STARTS_WITH", "ENDS_WITH", "CONTAINS"])
        return self._called(name, name + "({0}, {1})", *self._pair(VARCHAR, depth))

    # Text

    def _text(self, type: Type, depth: int) -> Made:
        part = self.of(VARCHAR, depth)
        name = self._chance.choice(
            ["LOWER", "UPPER", "REVERSE", "TRIM", "LTRIM", "RTRIM", "LEFT", "RIGHT", "SUBSTRING",
             "REPLACE", "||", "CONCAT"]
        )  # fmt: skip
        if name in ("LEFT", "RIGHT"):
            return self._called(name, name + "({0}, {1})", part, self.of(BIGINT, 0))
        if name == "SUBSTRING":
            length = self._constant(self._chance.randrange(4), BIGINT)
            return self._called(name, "substring({0}, {1}, {2})", part, self.of(BIGINT, 0), length)
        if name == "REPLACE":
            return self._called(name, "replace({0}, {1}, {2})", part, *self._pair(VARCHAR, 0))
        if name == "||":
            return self._called(name, "{0} || {1}", part, self.of(VARCHAR, depth))
        if name == "CONCAT":
            return self._called(name, "concat({0}, {1})", part, self.of(BIGINT, depth))
        return self._called(name, name + "({0})", part)

    def _shown(self, type: Type, depth: int) -> Made:
        expression, text = self.of(self._chance.choice([BIGINT, BOOLEAN, DATE, CENTS]), 0)
        return Cast(expression, VARCHAR), f"CAST({text} AS VARCHAR)"

    # Times

    def _part(self, type: Type, depth: int) -> Made:
        name = self._chance.choice(sorted(moments.PARTS))
        when = self.of(self._chance.choice([DATE, TIMESTAMP]), depth)
        return self._called(name, name + "(CAST({0} AS TIMESTAMP))", when)

    def _day(self, type: Type, depth: int) -> Made:
        if self._chance.random() < 0.5:
            expression, text = self.of(TIMESTAMP, depth)
            return Cast(expression, DATE), f"CAST({text} AS DATE)"
        sign = self._chance.choice("+-")
        days = "{0} " + sign + " CAST({1} AS INTEGER)"
        return self._called(sign, days, self.of(DATE, depth), self.of(BIGINT, 0))

    def _moment(self, type: Type, depth: int) -> Made:
        when = self.of(self._chance.choice([DATE, TIMESTAMP]), depth)
        sign = self._chance.choice("+-")
        sql = "CAST({0} AS TIMESTAMP) " + sign + " {1}"
        return self._called(sign, sql, when, self.of(INTERVAL, depth))

    def _truncated(self, type: Type, depth: int) -> Made:
        unit = self._constant(self._chance.choice(moments.UNITS).lower(), VARCHAR)
        return self._called("DATE_TRUNC", "date_trunc({0}, CAST({1} AS TIMESTAMP))", unit,
                            self.of(self._chance.choice([DATE, TIMESTAMP]), depth))  # fmt: skip

    def _span(self, type: Type, depth: int) -> Made:
        if self._chance.random() < 0.5:
            sql = "CAST({0} AS TIMESTAMP) - CAST({1} AS TIMESTAMP)"
            return self._called("-", sql, self.of(TIMESTAMP, depth), self.of(DATE, depth))
        return self._called("-", "{0} - {1}", *self._pair(INTERVAL, depth))


def spelled(value: Value, type: Type) -> str:
    """A constant in DuckDB's SQL."""
    if value is None or isinstance(value, bool):
        return "NULL" if value is None else str(value)
    match type.kind:
        case Kind.DATE:
            return f"'{moments.date_text(_int(value))}'"
        case Kind.TIMESTAMP:
            return f"'{moments.timestamp_text(_int(value))}'"
        case Kind.INTERVAL:
            return f"to_microseconds({value})"
        case Kind.VARCHAR:
            return f"'{value}'"
    return repr(value) if isinstance(value, float) else str(value)


def _int(value: Value) -> int:
    assert isinstance(value, int)
    return value


def plain(found: Any) -> Any:
    """A value that DuckDB gives as one of ours."""
    if isinstance(found, datetime):
        return moments.microseconds_of(found)
    if isinstance(found, date):
        return moments.days_of(found)
    if isinstance(found, timedelta):
        return found // timedelta(microseconds=1)
    return found


def agree(mine: Value, theirs: Any) -> bool:
    if mine is None or theirs is None or isinstance(mine, str | bool):
        return mine is theirs or (mine == theirs and type(mine) is type(theirs))
    return mine == theirs or float(mine) == pytest.approx(float(theirs), rel=1e-9, abs=1e-12)


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def loaded(duck: duckdb.DuckDBPyConnection, chance: random.Random, count: int) -> list[Row]:
    """Random rows, also in DuckDB's table s."""
    rows = [tuple(random_value(chance, type) for type in COLUMNS.values()) for _ in range(count)]
    columns = ", ".join(f"{name} {_NAMES[type]}" for name, type in COLUMNS.items())
    duck.execute(f"CREATE OR REPLACE TABLE s (place BIGINT, {columns})")
    listed = ", ".join(
        f"({place}, {', '.join(map(spelled, row, COLUMNS.values()))})"
        for place, row in enumerate(rows)
    )
    duck.execute(f"INSERT INTO s VALUES {listed}")
    return rows


def check_random_expressions(duck: duckdb.DuckDBPyConnection, seed: int, count: int) -> None:
    chance = random.Random(seed)
    rows = loaded(duck, chance, 30)
    made = Maker(chance)
    there = 0
    for _ in range(count):
        expression, sql = made.of(chance.choice(list(_NAMES)), 3)
        evaluate = compiled(expression, FIELDS)
        found = duck.execute(f"SELECT {sql} FROM s ORDER BY place").fetchall()
        for row, (theirs,) in zip(rows, found, strict=True):
            mine = evaluate(row)
            there += mine is not None
            assert fits(mine, expression.type), (seed, str(expression), row, mine)
            assert agree(mine, plain(theirs)), (seed, str(expression), sql, row, mine, theirs)

    assert there > count * len(rows) // 3, "most values are NULL"


@pytest.mark.parametrize("seed", range(20))
def test_random_expressions_agree_with_duckdb(duck: duckdb.DuckDBPyConnection, seed: int) -> None:
    check_random_expressions(duck, seed, 60)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(100, 200))
def test_many_random_expressions_agree_with_duckdb(
    duck: duckdb.DuckDBPyConnection, seed: int
) -> None:
    check_random_expressions(duck, seed, 200)


@pytest.mark.parametrize("sign", ["+", "-", "*", "%"])
def test_integers_overflow_where_duckdb_says_so(duck: duckdb.DuckDBPyConnection, sign: str) -> None:
    edges = [0, 1, -1, 3, 2**31, 2**32, -(2**31), 2**62, -(2**62), 2**63 - 1, -(2**63)]
    evaluate = compiled(call(sign, column("a"), column("b")), FIELDS[:2])
    for one, other in product(edges, repeat=2):
        if sign == "%" and (other == 0 or (one, other) == (-(2**63), -1)):
            continue  # DuckDB calls a division by zero, and this one, an error.
        try:
            (theirs,) = duck.execute(
                f"SELECT CAST(? AS BIGINT) {sign} CAST(? AS BIGINT)", [one, other]
            ).fetchall()[0]
        except duckdb.OutOfRangeException:
            with pytest.raises(EvaluationError):
                evaluate((one, other))
        else:
            assert evaluate((one, other)) == theirs


_AGGREGATES = {
    "COUNT": "count({})", "SUM": "sum({})", "AVG": "avg({})", "MIN": "min({})", "MAX": "max({})",
    "MEDIAN": "median({}::DOUBLE)", "VAR_SAMP": "var_samp({})", "VAR_POP": "var_pop({})",
    "STDDEV_SAMP": "stddev_samp({})", "STDDEV_POP": "stddev_pop({})",
    "BOOL_AND": "bool_and({})", "BOOL_OR": "bool_or({})",
}  # fmt: skip


@pytest.mark.parametrize("name", _AGGREGATES)
def test_aggregates_agree_with_duckdb(duck: duckdb.DuckDBPyConnection, name: str) -> None:
    chance = random.Random(name)
    function = AGGREGATES[name]
    for count in (1, 2, 3, 8, 40):
        rows = loaded(duck, chance, count)
        for place, (of, type) in enumerate(COLUMNS.items()):
            if function.result(type) is None:
                continue
            values = [row[place] for row in rows if row[place] is not None]
            mine = function.compute(values) if values else function.nothing
            found = duck.execute(f"SELECT {_AGGREGATES[name].format(of)} FROM s").fetchone()
            assert found is not None
            assert agree(mine, plain(found[0])), (name, of, values, mine, found)
