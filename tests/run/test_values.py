"""Values: what comes in comes out again, exactly, and nothing else comes in."""

from __future__ import annotations

import json
import math
from decimal import Context, Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millpond.plan.moments import TIMESTAMPS
from millpond.run.values import (
    BadRowError,
    Number,
    check_text,
    converter,
    json_text,
    order_key,
    row_text,
    taker,
)
from millpond.schema import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INT,
    INTERVAL,
    SMALLINT,
    TIMESTAMP,
    TINYINT,
    VARCHAR,
    Check,
    Column,
    IntegerType,
    Type,
    Value,
    decimal,
    enum,
    varchar,
)

SECOND = 1_000_000
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def integers(kind: IntegerType) -> st.SearchStrategy[int]:
    return st.integers(kind.range.low, kind.range.high)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**precision - 1
    return st.integers(-most, most).map(lambda n: Decimal(n).scaleb(-scale, _CONTEXT))


_CONTEXT = Context(prec=80)

TYPES: list[tuple[Type, st.SearchStrategy[Any]]] = [
    *((each, integers(each)) for each in (TINYINT, SMALLINT, INT, BIGINT)),
    (HUGEINT, st.integers()),
    (decimal(5, 2), decimals(5, 2)),
    (decimal(38, 0), decimals(38, 0)),
    (decimal(38, 38), decimals(38, 38)),
    (DOUBLE, st.floats(allow_nan=False, allow_infinity=False)),
    (BOOLEAN, st.booleans()),
    (VARCHAR, TEXT),
    (varchar(20), TEXT),
    (enum(("b", "a", "ä")), st.sampled_from(["b", "a", "ä"])),
    (DATE, st.integers(-719_162, 2_932_896)),
    (TIMESTAMP, st.integers(TIMESTAMPS.low, TIMESTAMPS.high)),
    (INTERVAL, st.integers(-(2**63), 2**63 - 1)),
]


def parsed(text: str) -> Any:
    return json.loads(text, parse_float=Number)


@pytest.mark.parametrize(("kind", "values"), TYPES, ids=lambda each: str(each)[:30])
def test_what_goes_out_comes_in_again(kind: Type, values: st.SearchStrategy[Any]) -> None:
    say, take = json_text(kind), converter(kind)

    @settings(max_examples=60, deadline=None, database=None)
    @given(value=values)
    def same(value: Value) -> None:
        text = say(value)
        again = take(parsed(text))
        assert again == value
        assert type(again) is type(value)
        assert say(again) == text, "one value, one text"

    same()
    assert say(None) == "null"


ROWS: list[tuple[Type, str, str]] = [
    (decimal(5, 2), "1", '"1.00"'),
    (decimal(5, 2), "1.50000", '"1.50"'),
    (decimal(5, 2), "-0.0", '"0.00"'),
    (decimal(5, 2), '"15e-1"', '"1.50"'),
    (decimal(5, 2), '"-999.99"', '"-999.99"'),
    (decimal(5, 0), "1e4", '"10000"'),
    (decimal(20, 1), "1234567890123456789.5", '"1234567890123456789.5"'),
    (DOUBLE, "1", "1.0"),
    (DOUBLE, "-0.0", "0.0"),
    (DOUBLE, "1e23", "1e+23"),
    (DOUBLE, "0.1000000000000000055511151231257827", "0.1"),
    (DATE, '"2012-02-29"', '"2012-02-29"'),
    (TIMESTAMP, '"2013-01-01"', '"2013-01-01T00:00:00Z"'),
    (TIMESTAMP, '"2013-01-01T05:00"', '"2013-01-01T05:00:00Z"'),
    (TIMESTAMP, '"2013-01-01 05:00:00+05:30"', '"2012-12-31T23:30:00Z"'),
    (TIMESTAMP, '"2013-01-01T05:00:00.000001Z"', '"2013-01-01T05:00:00.000001Z"'),
    (TIMESTAMP, "0", '"1970-01-01T00:00:00Z"'),
    (INTERVAL, '"PT1M30S"', '"PT1M30S"'),
    (INTERVAL, "90000000", '"PT1M30S"'),
    (HUGEINT, str(10**40), str(10**40)),
    (VARCHAR, '"\\u00e4\\ud83d\\ude00"', '"ä😀"'),
]


@pytest.mark.parametrize(("kind", "said", "again"), ROWS)
def test_a_value_is_said_in_one_way(kind: Type, said: str, again: str) -> None:
    assert json_text(kind)(converter(kind)(parsed(said))) == again


BAD: list[tuple[Type, str, str]] = [
    (INT, "true", "MP304"),
    (INT, "1.0", "MP304"),
    (INT, "1e3", "MP304"),
    (INT, '"1"', "MP304"),
    (TINYINT, "128", "MP305"),
    (SMALLINT, "-32769", "MP305"),
    (decimal(5, 2), "0.001", "MP305"),
    (decimal(5, 2), "1000", "MP305"),
    (decimal(5, 2), "1e999999999", "MP305"),
    (decimal(5, 2), '"NaN"', "MP304"),
    (decimal(5, 2), '" 1"', "MP304"),
    (decimal(5, 2), '"1_0"', "MP304"),
    (decimal(5, 2), '"٣"', "MP304"),
    (decimal(5, 2), "true", "MP304"),
    (DOUBLE, '"1.5"', "MP304"),
    (DOUBLE, "true", "MP304"),
    (DOUBLE, "1e400", "MP305"),
    (DOUBLE, "1" + "0" * 400, "MP305"),
    (BOOLEAN, "1", "MP304"),
    (BOOLEAN, '"true"', "MP304"),
    (VARCHAR, "1", "MP304"),
    (VARCHAR, "1.5", "MP304"),
    (VARCHAR, '"\\ud800"', "MP304"),
    (varchar(2), '"äöü"', "MP305"),
    (enum(("a", "b")), '"A"', "MP306"),
    (enum(("a", "b")), "[]", "MP304"),
    (DATE, '"2013-02-29"', "MP304"),
    (DATE, '"0000-01-01"', "MP304"),
    (DATE, "15706", "MP304"),
    (TIMESTAMP, '"2013-01-01T24:00:00Z"', "MP304"),
    (TIMESTAMP, '"2013-01-01T05:00:60Z"', "MP304"),
    (TIMESTAMP, '"2013-01-01T05:00:00.0000001Z"', "MP305"),
    (TIMESTAMP, '"2013-01-01T05:00:00+24:00"', "MP304"),
    (TIMESTAMP, str(2**62), "MP305"),
    (TIMESTAMP, "1.5", "MP304"),
    (INTERVAL, '"P1M"', "MP304"),
    (INTERVAL, '"P"', "MP304"),
    (INTERVAL, str(2**63), "MP305"),
]


@pytest.mark.parametrize(("kind", "said", "code"), BAD)
def test_what_is_no_value_of_the_type_is_refused(kind: Type, said: str, code: str) -> None:
    with pytest.raises(BadRowError) as caught:
        taker("`s.a`", Column("a", kind))(parsed(said))
    assert caught.value.code == code
    assert "`s.a`" in caught.value.message or code == "MP306"
    assert caught.value.helps


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_neither_comes_in_nor_goes_out(value: float) -> None:
    with pytest.raises(BadRowError, match="DOUBLE"):
        taker("`s.a`", Column("a", DOUBLE))(value)
    with pytest.raises(ValueError, match="no value"):
        json_text(DOUBLE)(value)


@pytest.mark.parametrize(
    ("kind", "check", "said", "allowed"),
    [
        (INT, Check(0, 9), "10", "0..9"),
        (INT, Check(0, 9, low_open=True), "0", "more than 0..9"),
        (INT, Check(among=(1, 3)), "2", "1, 3"),
        (decimal(5, 2), Check(Decimal(0), Decimal("0.5")), "0.51", "0.00..0.50"),
        (DOUBLE, Check(0.0, 0.5), "0.51", "0.0..0.5"),
        (VARCHAR, Check(among=("x", "y")), '"z"', "x, y"),
        (BOOLEAN, Check(among=(True,)), "false", "true"),
        (DATE, Check(0), '"1969-12-31"', "1970-01-01.."),
        (TIMESTAMP, Check(high=SECOND), "1000001", "..1970-01-01T00:00:01Z"),
    ],
)
def test_a_check_refuses_and_says_what_it_allows(
    kind: Type, check: Check, said: str, allowed: str
) -> None:
    column = Column("a", kind, check=check)
    assert check_text(column) == allowed
    with pytest.raises(BadRowError) as caught:
        taker("`s.a`", column)(parsed(said))
    assert (caught.value.code, caught.value.helps) == ("MP306", (f"the CHECK allows {allowed}",))


def test_a_window_may_end_after_the_last_year_of_the_calendar() -> None:
    say = json_text(TIMESTAMP)
    assert say(TIMESTAMPS.high) == '"9999-12-31T23:59:59.999999Z"'
    assert say((TIMESTAMPS.high or 0) + 1) == '"+10000-01-01T00:00:00Z"'
    assert say((TIMESTAMPS.low or 0) - 1) == '"+0000-12-31T23:59:59.999999Z"'
    assert json_text(DATE)(2_932_897) == '"+10000-01-01"'


def test_rows_are_objects_of_their_columns() -> None:
    say = row_text(('ä "x"', "b"), (INT, VARCHAR))
    assert say((None, 'y "z"\n')) == '{"ä \\"x\\"": null, "b": "y \\"z\\"\\n"}'


@pytest.mark.parametrize(
    "values",
    [
        (None, -(10**30), -1, 0, 1, 9, 10, 10**30),
        (None, False, True),
        (None, -1.5, 0.0, 1e300),
        (None, Decimal("-1.50"), Decimal("0.00"), Decimal("10.00")),
        (None, "", "B", "a", "ab", "ä", "\uffff", "😀"),
    ],
)
def test_values_sort_with_null_first_and_then_by_value(values: tuple[Value, ...]) -> None:
    rows = [(each, 1) for each in values]
    backwards = rows[::-1]
    assert sorted(backwards, key=order_key) == rows
