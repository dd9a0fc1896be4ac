"""Functions and types, rule by rule; `tests/plan/test_evaluate.py` compares them with DuckDB."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import pytest

from millpond.plan.functions import (
    AGGREGATES,
    REFUSED_FUNCTIONS,
    SCALARS,
    EvaluationError,
    cast_allowed,
    common_type,
    comparable,
    convert,
    fits,
)
from millpond.schema import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INT,
    INTERVAL,
    NULL,
    SMALLINT,
    TIMESTAMP,
    TINYINT,
    VARCHAR,
    Type,
    Value,
    decimal,
    enum,
    varchar,
)

DAY = 86_400_000_000
LARGEST = 2**63 - 1
COLOURS = enum(("red", "blue"))


def type_of(value: Value) -> Type:
    """The type that a plain value has as a constant."""
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        assert isinstance(exponent, int)
        return decimal(38, -exponent)
    by_class: dict[type, Type] = {bool: BOOLEAN, int: BIGINT, float: DOUBLE, str: VARCHAR}
    return by_class.get(type(value), NULL)


def called(name: str, *values: Value, types: Sequence[Type] | None = None) -> Value:
    function = SCALARS[name]
    over = function.over(types or [type_of(each) for each in values])
    if function.lazy:
        return over(*((lambda each=each: each) for each in values))
    return over(*values)


def moment(text: str) -> Value:
    return convert(text, VARCHAR, TIMESTAMP)


# Types -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "types", "result"),
    [
        ("+", [INT, INT], BIGINT),
        ("+", [TINYINT, TINYINT], BIGINT),
        ("+", [INT, HUGEINT], HUGEINT),
        ("+", [INT, decimal(4, 2)], decimal(13, 2)),
        ("+", [decimal(5, 1), decimal(4, 2)], decimal(7, 2)),
        ("*", [decimal(5, 1), decimal(4, 2)], decimal(9, 3)),
        ("*", [decimal(38, 10), decimal(38, 10)], decimal(38, 20)),
        ("*", [decimal(38, 20), decimal(38, 20)], None),
        ("+", [decimal(5, 1), DOUBLE], DOUBLE),
        ("+", [INT, NULL], BIGINT),
        ("+", [NULL, NULL], BIGINT),
        ("+", [INT, VARCHAR], None),
        ("+", [BOOLEAN, INT], None),
        ("+", [INT], None),
        ("-", [INT], BIGINT),
        ("-", [HUGEINT], HUGEINT),
        ("-", [decimal(4, 2)], decimal(4, 2)),
        ("-", [INTERVAL], INTERVAL),
        ("-", [VARCHAR], None),
        ("-", [TIMESTAMP, TIMESTAMP], INTERVAL),
        ("-", [TIMESTAMP, DATE], INTERVAL),
        ("-", [TIMESTAMP, INTERVAL], TIMESTAMP),
        ("-", [DATE, INTERVAL], TIMESTAMP),
        ("-", [DATE, DATE], BIGINT),
        ("-", [DATE, INT], DATE),
        ("-", [INTERVAL, TIMESTAMP], None),
        ("+", [TIMESTAMP, TIMESTAMP], None),
        ("+", [BIGINT, INTERVAL], None),
        ("+", [TIMESTAMP, NULL], TIMESTAMP),
        ("*", [INTERVAL, INT], INTERVAL),
        ("/", [INT, INT], DOUBLE),
        ("/", [decimal(4, 2), INT], DOUBLE),
        ("/", [INTERVAL, INT], None),
        ("%", [INT, INT], BIGINT),
        ("%", [decimal(4, 2), INT], decimal(12, 2)),
        ("||", [VARCHAR, INT], VARCHAR),
        ("||", [INT, INT], None),
        ("LIKE", [VARCHAR, VARCHAR], BOOLEAN),
        ("LIKE", [COLOURS, VARCHAR, VARCHAR], BOOLEAN),
        ("LIKE", [INT, VARCHAR], None),
        ("ABS", [SMALLINT], BIGINT),
        ("SIGN", [DOUBLE], INT),
        ("FLOOR", [decimal(5, 2)], decimal(4, 0)),
        ("FLOOR", [DOUBLE], DOUBLE),
        ("FLOOR", [DOUBLE, INT], None),
        ("ROUND", [decimal(5, 2), INT], decimal(6, 2)),
        ("ROUND", [INT], BIGINT),
        ("ROUND", [DOUBLE, DOUBLE], None),
        ("SQRT", [INT], DOUBLE),
        ("COALESCE", [INT, NULL, decimal(4, 1)], decimal(11, 1)),
        ("COALESCE", [INT, VARCHAR], None),
        ("COALESCE", [NULL, NULL], NULL),
        ("COALESCE", [], None),
        ("NULLIF", [INT, DOUBLE], INT),
        ("NULLIF", [NULL, INT], INT),
        ("GREATEST", [DATE, TIMESTAMP], TIMESTAMP),
        ("IF", [BOOLEAN, INT, BIGINT], BIGINT),
        ("IF", [INT, INT, INT], None),
        ("LEFT", [VARCHAR, HUGEINT], VARCHAR),
        ("LENGTH", [varchar(5)], BIGINT),
        ("CONCAT", [INT, COLOURS, BOOLEAN], VARCHAR),
        ("YEAR", [DATE], BIGINT),
        ("YEAR", [INT], None),
        ("EPOCH", [INTERVAL], DOUBLE),
        ("DATE_TRUNC", [VARCHAR, DATE], TIMESTAMP),
    ],
)
def test_a_function_gives_a_type_or_refuses(
    name: str, types: Sequence[Type], result: Type | None
) -> None:
    assert SCALARS[name].result(types) == result


@pytest.mark.parametrize(
    ("types", "meant"),
    [
        ([TINYINT, INT, BIGINT], BIGINT),
        ([BIGINT, HUGEINT], HUGEINT),
        ([HUGEINT, decimal(4, 2)], decimal(38, 2)),
        ([decimal(4, 2), decimal(5, 1)], decimal(6, 2)),
        ([decimal(4, 2), DOUBLE], DOUBLE),
        ([DATE, TIMESTAMP], TIMESTAMP),
        ([varchar(3), VARCHAR], VARCHAR),
        ([COLOURS, VARCHAR], VARCHAR),
        ([COLOURS, COLOURS], COLOURS),
        ([COLOURS, enum(("x",))], VARCHAR),
        ([NULL, INT], INT),
        ([NULL], NULL),
        ([], NULL),
        ([INT, BOOLEAN], None),
        ([INT, VARCHAR], None),
        ([DATE, INT], None),
        ([TIMESTAMP, INTERVAL], None),
    ],
)
def test_types_meet_in_the_narrowest_that_all_convert_to(
    types: Sequence[Type], meant: Type | None
) -> None:
    assert common_type(types) == meant
    assert common_type(types[::-1]) == meant


def test_only_values_that_meet_in_a_type_compare() -> None:
    assert comparable(DATE, TIMESTAMP)
    assert comparable(INT, DOUBLE)
    assert not comparable(BOOLEAN, INT)
    assert not comparable(VARCHAR, DATE)


@pytest.mark.parametrize(
    ("source", "target", "allowed"),
    [
        (DOUBLE, TINYINT, True),
        (VARCHAR, INTERVAL, True),
        (TIMESTAMP, VARCHAR, True),
        (BOOLEAN, INT, True),
        (INT, BOOLEAN, True),
        (TIMESTAMP, DATE, True),
        (NULL, DATE, True),
        (BIGINT, TIMESTAMP, False),
        (TIMESTAMP, BIGINT, False),
        (BOOLEAN, DOUBLE, False),
        (INTERVAL, BIGINT, False),
    ],
)
def test_casts_are_between_these_kinds(source: Type, target: Type, allowed: bool) -> None:
    assert cast_allowed(source, target) is allowed
    if not allowed:
        with pytest.raises(ValueError, match="cannot be cast"):
            convert(1, source, target)


@pytest.mark.parametrize(
    ("value", "type", "fit"),
    [
        (None, INT, True),
        (127, TINYINT, True),
        (128, TINYINT, False),
        (True, INT, False),
        (1, BOOLEAN, False),
        (10**50, HUGEINT, True),
        (1, DOUBLE, False),
        (math.nan, DOUBLE, False),
        (math.inf, DOUBLE, False),
        (Decimal("1.25"), decimal(3, 2), True),
        (Decimal("1.255"), decimal(3, 2), False),
        (Decimal("10"), decimal(3, 2), False),
        (Decimal("0E+5"), decimal(3, 2), True),
        (Decimal("NaN"), decimal(3, 2), False),
        ("abc", varchar(3), True),
        ("abcd", varchar(3), False),
        ("red", COLOURS, True),
        ("green", COLOURS, False),
        (-719162, DATE, True),
        (-719163, DATE, False),
        (2**62, TIMESTAMP, False),
        ("x", NULL, False),
    ],
)
def test_a_value_fits_its_type(value: Value, type: Type, fit: bool) -> None:
    assert fits(value, type) is fit


# Casts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        (None, INT, VARCHAR, None),
        (2.5, DOUBLE, INT, 2),
        (3.5, DOUBLE, INT, 4),
        (-2.5, DOUBLE, INT, -2),
        (Decimal("2.5"), decimal(2, 1), INT, 3),
        (Decimal("-2.5"), decimal(2, 1), INT, -3),
        (2**53 + 1, BIGINT, DOUBLE, 2.0**53),
        (7, INT, decimal(5, 2), Decimal("7.00")),
        (99.995, DOUBLE, decimal(5, 2), Decimal("100.00")),
        (Decimal("0.005"), decimal(4, 3), decimal(4, 2), Decimal("0.01")),
        ("12", VARCHAR, INT, 12),
        (" -12 ", VARCHAR, INT, -12),
        ("1.5e3", VARCHAR, DOUBLE, 1500.0),
        ("1.255", VARCHAR, decimal(4, 2), Decimal("1.26")),
        ("TRUE", VARCHAR, BOOLEAN, True),
        ("0", VARCHAR, BOOLEAN, False),
        (True, BOOLEAN, INT, 1),
        (5, INT, BOOLEAN, True),
        (True, BOOLEAN, VARCHAR, "true"),
        (1.0, DOUBLE, VARCHAR, "1.0"),
        (Decimal("0E-10"), decimal(12, 10), VARCHAR, "0.0000000000"),
        ("1970-01-02", VARCHAR, DATE, 1),
        ("1969-12-31", VARCHAR, DATE, -1),
        ("1970-01-02", VARCHAR, TIMESTAMP, DAY),
        ("1970-01-01 00:01", VARCHAR, TIMESTAMP, 60_000_000),
        ("1970-01-01T00:00:01.5Z", VARCHAR, TIMESTAMP, 1_500_000),
        ("1970-01-01 02:00:00+02:00", VARCHAR, TIMESTAMP, 0),
        (-1, TIMESTAMP, VARCHAR, "1969-12-31T23:59:59.999999Z"),
        (-1, TIMESTAMP, DATE, -1),
        (2, DATE, TIMESTAMP, 2 * DAY),
        (0, DATE, VARCHAR, "1970-01-01"),
        ("PT1M30.5S", VARCHAR, INTERVAL, 90_500_000),
        ("-P1DT1H", VARCHAR, INTERVAL, -DAY - 3_600_000_000),
        (-90_500_000, INTERVAL, VARCHAR, "-PT1M30.500000S"),
        (0, INTERVAL, VARCHAR, "PT0S"),
        ("abc", VARCHAR, varchar(3), "abc"),
        ("red", VARCHAR, COLOURS, "red"),
        (-0.0, DOUBLE, VARCHAR, "-0.0"),
    ],
)
def test_a_cast_gives(value: Value, source: Type, target: Type, result: Value) -> None:
    found = convert(value, source, target)
    assert (found, str(found)) == (result, str(result))


@pytest.mark.parametrize(
    ("value", "source", "target"),
    [
        (128, INT, TINYINT),
        (2**63, HUGEINT, BIGINT),
        (1e19, DOUBLE, BIGINT),
        (10**400, HUGEINT, DOUBLE),
        (Decimal("99.995"), decimal(5, 3), decimal(4, 2)),
        (1000, INT, decimal(5, 2)),
        ("2.5", VARCHAR, INT),
        ("1_000", VARCHAR, INT),
        ("", VARCHAR, INT),
        ("x", VARCHAR, DOUBLE),
        ("nan", VARCHAR, DOUBLE),
        ("1e999", VARCHAR, DOUBLE),
        ("1e9999", VARCHAR, decimal(38, 0)),
        ("maybe", VARCHAR, BOOLEAN),
        ("2021-02-30", VARCHAR, DATE),
        ("2021-2-3", VARCHAR, DATE),
        ("2021-01-01 25:00", VARCHAR, TIMESTAMP),
        ("2021-01-01 10:00:00.1234567", VARCHAR, TIMESTAMP),
        ("0001-01-01 00:00+01:00", VARCHAR, TIMESTAMP),
        ("P1M", VARCHAR, INTERVAL),
        ("P", VARCHAR, INTERVAL),
        ("abcd", VARCHAR, varchar(3)),
        ("green", VARCHAR, COLOURS),
    ],
)
def test_a_value_that_does_not_fit_its_cast_is_an_error(
    value: Value, source: Type, target: Type
) -> None:
    with pytest.raises(EvaluationError):
        convert(value, source, target)


def test_a_cast_to_text_and_back_gives_the_same_value() -> None:
    chance = random.Random(3)
    for _ in range(300):
        for value, type in (
            (chance.randrange(-(10**40), 10**40), HUGEINT),
            (chance.uniform(-1, 1) * 10 ** chance.randrange(-300, 300), DOUBLE),
            (chance.randrange(-719162, 2932897), DATE),
            (chance.randrange(-62_135_596_800_000_000, 253_402_300_800_000_000), TIMESTAMP),
            (chance.randrange(-(2**63), 2**63), INTERVAL),
        ):
            assert convert(convert(value, type, VARCHAR), VARCHAR, type) == value


# Values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "result"),
    [
        ("/", (7, 2), 3.5),
        ("/", (1, 0), None),
        ("/", (1.0, 0.0), None),
        ("%", (7, 0), None),
        ("%", (Decimal("7.5"), 0), None),
        ("%", (-7, 3), -1),
        ("%", (7, -3), 1),
        ("%", (-7.5, 2), -1.5),
        ("%", (Decimal("-7.5"), 2), Decimal("-1.5")),
        ("+", (LARGEST, -1), LARGEST - 1),
        ("+", (Decimal("0.10"), 1), Decimal("1.10")),
        ("*", (Decimal("1.25"), Decimal("-1.5")), Decimal("-1.875")),
        ("*", (Decimal("-0.5"), Decimal("0.0")), Decimal("0.00")),
        ("-", (0.0,), 0.0),
        ("-", (5,), -5),
        ("ABS", (Decimal("-1.5"),), Decimal("1.5")),
        ("SIGN", (-0.5,), -1),
        ("SIGN", (0.0,), 0),
        ("FLOOR", (-2.5,), -3.0),
        ("CEIL", (-0.5,), 0.0),
        ("FLOOR", (Decimal("-2.5"),), Decimal("-3")),
        ("ROUND", (2.5,), 3.0),
        ("ROUND", (-2.5,), -3.0),
        ("ROUND", (1.005, 2), 1.01),
        ("ROUND", (15, -1), 20),
        ("ROUND", (15, 3), 15),
        ("ROUND", (4, -1), 0),
        ("ROUND", (4, -50), 0),
        ("ROUND", (1.5, 400), 1.5),
        ("ROUND", (Decimal("2.345"), 2), Decimal("2.350")),
        ("TRUNC", (-2.789, 1), -2.7),
        ("TRUNC", (Decimal("-2.7"),), Decimal("-2")),
        ("LOG", (2, 8), 3.0),
        ("GREATEST", (1, None, 3), 3),
        ("LEAST", (None, None), None),
        ("LEAST", ("b", "ab"), "ab"),
        ("NULLIF", (1, 1.0), None),
        ("NULLIF", (1, None), 1),
        ("COALESCE", (None, 2, 3), 2),
        ("COALESCE", (None, 1, Decimal("2.5")), Decimal("1.0")),
        ("IF", (None, 1, 2), 2),
        ("IF", (False, 1), None),
        ("NVL2", (None, 1, 2), 2),
        ("LOWER", (None,), None),
        ("||", ("a", 1), "a1"),
        ("||", ("a", None), None),
        ("CONCAT", ("a", None, 1, True), "a1true"),
        ("LIKE", ("a\nbc", "a%_c"), True),
        ("LIKE", ("a.c", "a_c"), True),
        ("LIKE", ("abc", "a.c"), False),
        ("LIKE", ("a%c", "a$%c", "$"), True),
        ("LIKE", ("abc", "a$%c", "$"), False),
        ("LIKE", ("a\\c", "a\\c"), True),
        ("LIKE", ("abc", "ABC"), False),
        ("ILIKE", ("abc", "AB%"), True),
        ("LENGTH", ("a\U0001f986b",), 3),
        ("SUBSTRING", ("hello", 2, 3), "ell"),
        ("SUBSTRING", ("hello", 2), "ello"),
        ("SUBSTRING", ("hello", 0, 3), "he"),
        ("SUBSTRING", ("hello", -3, 2), "ll"),
        ("SUBSTRING", ("hello", -10, 8), "hel"),
        ("SUBSTRING", ("hello", 9), ""),
        ("LEFT", ("abc", 2), "ab"),
        ("LEFT", ("abc", -1), "ab"),
        ("LEFT", ("abc", -5), ""),
        ("RIGHT", ("abc", 2), "bc"),
        ("RIGHT", ("abc", 0), ""),
        ("RIGHT", ("abc", 5), "abc"),
        ("RIGHT", ("abc", -1), "bc"),
        ("RIGHT", ("abc", -5), ""),
        ("TRIM", (" \ta ",), "\ta"),
        ("LTRIM", ("xyax", "xy"), "ax"),
        ("RTRIM", ("ax ",), "ax"),
        ("REPLACE", ("aaa", "", "b"), "aaa"),
        ("STRPOS", ("abc", "c"), 3),
        ("STRPOS", ("abc", "z"), 0),
        ("POSITION", ("c", "abc"), 3),
        ("REVERSE", ("abc",), "cba"),
        ("CONTAINS", ("abc", "b"), True),
    ],
)
def test_a_function_gives(name: str, values: Sequence[Value], result: Value) -> None:
    found = called(name, *values)
    assert (found, str(found)) == (result, str(result))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("+", (LARGEST, 1)),
        ("-", (-LARGEST - 1,)),
        ("*", (2**40, 2**40)),
        ("ABS", (-LARGEST - 1,)),
        ("ROUND", (LARGEST, -1)),
        ("*", (1e200, 1e200)),
        ("+", (Decimal("9" * 38), 1)),
        ("EXP", (1000,)),
        ("SQRT", (-1,)),
        ("LN", (0,)),
        ("LOG", (1, 8)),
        ("POWER", (0, -1)),
        ("POWER", (-8, 0.5)),
        ("LIKE", ("a", "a$", "$")),
        ("LIKE", ("a", "a", "$$")),
        ("SUBSTRING", ("a", 1, -1)),
    ],
)
def test_what_has_no_value_is_an_error(name: str, values: Sequence[Value]) -> None:
    with pytest.raises(EvaluationError):
        called(name, *values)


def test_an_overflow_says_what_was_computed() -> None:
    with pytest.raises(EvaluationError) as caught:
        called("+", LARGEST, 1)
    assert str(caught.value) == ("9223372036854775807 + 1: 9223372036854775808 does not fit BIGINT")


def test_hugeint_never_overflows() -> None:
    assert called("*", 2**200, 2**200, types=[HUGEINT, BIGINT]) == 2**400


def test_what_a_lazy_function_does_not_choose_is_not_evaluated() -> None:
    def fails() -> Value:
        raise EvaluationError("evaluated")

    assert SCALARS["COALESCE"].over([INT, INT])(lambda: 1, fails) == 1
    assert SCALARS["IF"].over([BOOLEAN, INT, INT])(lambda: False, fails, lambda: 2) == 2


@pytest.mark.parametrize(
    ("name", "text", "result"),
    [
        ("YEAR", "1969-12-31 23:59:59.5", 1969),
        ("QUARTER", "2020-12-31", 4),
        ("MONTH", "2020-02-29", 2),
        ("WEEK", "2021-01-01", 53),
        ("DAY", "2020-02-29", 29),
        ("DAYOFYEAR", "2020-12-31", 366),
        ("DAYOFWEEK", "2020-01-05", 0),
        ("ISODOW", "2020-01-05", 7),
        ("HOUR", "1960-02-29 01:02:03", 1),
        ("MINUTE", "1960-02-29 01:02:03", 2),
        ("SECOND", "1960-02-29 01:02:03.9", 3),
        ("MILLISECOND", "1960-02-29 01:02:03.9", 3900),
        ("MICROSECOND", "1960-02-29 01:02:03.9", 3_900_000),
        ("EPOCH", "1969-12-31 23:59:59.5", -0.5),
    ],
)
def test_a_part_of_a_timestamp(name: str, text: str, result: Value) -> None:
    assert called(name, moment(text), types=[TIMESTAMP]) == result


@pytest.mark.parametrize(
    ("unit", "text", "start"),
    [
        ("second", "1960-02-29 01:02:03.9", "1960-02-29 01:02:03"),
        ("HOURS", "1960-02-29 01:02:03.9", "1960-02-29 01:00"),
        ("day", "0001-01-01 01:02:03.9", "0001-01-01"),
        ("week", "2020-01-05 10:00", "2019-12-30"),
        ("week", "0001-01-07 10:00", "0001-01-01"),
        ("month", "2020-02-29 10:00", "2020-02-01"),
        ("quarter", "2020-06-30 10:00", "2020-04-01"),
        ("year", "2020-06-30 10:00", "2020-01-01"),
    ],
)
def test_date_trunc_gives_the_start_of_the_unit(unit: str, text: str, start: str) -> None:
    assert called("DATE_TRUNC", unit, moment(text), types=[VARCHAR, TIMESTAMP]) == moment(start)


def test_date_trunc_knows_its_units() -> None:
    with pytest.raises(EvaluationError):
        called("DATE_TRUNC", "fortnight", 0, types=[VARCHAR, TIMESTAMP])


def test_times_add_and_subtract() -> None:
    assert called("-", 5 * DAY, 2, types=[TIMESTAMP, DATE]) == 3 * DAY
    assert called("+", 1, DAY, types=[DATE, INTERVAL]) == 2 * DAY
    assert called("-", 5, 2, types=[DATE, DATE]) == 3
    assert called("+", 5, 2, types=[INT, DATE]) == 7
    assert called("*", DAY, -2, types=[INTERVAL, INT]) == -2 * DAY
    last = moment("9999-12-31 23:59:59.999999")
    with pytest.raises(EvaluationError, match="does not fit TIMESTAMP"):
        called("+", last, 1, types=[TIMESTAMP, INTERVAL])


# Names -------------------------------------------------------------------------------------------


def test_an_alias_is_the_function_itself() -> None:
    for table in (SCALARS, AGGREGATES):
        for key, function in table.items():
            assert key == key.upper()
            assert table[function.name] is function
    assert SCALARS["CHAR_LENGTH"].name == SCALARS["LEN"].name == "LENGTH"
    assert SCALARS["MOD"].name == "%"
    assert AGGREGATES["STDDEV"].name == "STDDEV_SAMP"


def test_no_name_has_two_meanings() -> None:
    assert not set(SCALARS) & set(AGGREGATES)
    assert not (set(SCALARS) | set(AGGREGATES)) & set(REFUSED_FUNCTIONS)


def test_what_depends_on_more_than_the_rows_is_refused_with_a_reason() -> None:
    for name in ("NOW", "RANDOM", "CURRENT_TIMESTAMP", "ROW_NUMBER", "LAG", "FIRST_VALUE"):
        assert REFUSED_FUNCTIONS[name]


# Aggregates --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "type", "result"),
    [
        ("COUNT", VARCHAR, HUGEINT),
        ("SUM", TINYINT, HUGEINT),
        ("SUM", decimal(4, 2), decimal(38, 2)),
        ("SUM", DOUBLE, DOUBLE),
        ("SUM", VARCHAR, None),
        ("SUM", BOOLEAN, None),
        ("AVG", INT, DOUBLE),
        ("MIN", COLOURS, COLOURS),
        ("MAX", TIMESTAMP, TIMESTAMP),
        ("MEDIAN", VARCHAR, None),
        ("BOOL_AND", BOOLEAN, BOOLEAN),
        ("BOOL_OR", INT, None),
    ],
)
def test_an_aggregate_gives_a_type_or_refuses(name: str, type: Type, result: Type | None) -> None:
    assert AGGREGATES[name].result(type) == result


@pytest.mark.parametrize(
    ("name", "values", "result"),
    [
        ("COUNT", [], 0),
        ("COUNT", ["a", "a"], 2),
        ("SUM", [LARGEST, LARGEST], 2 * LARGEST),
        ("SUM", [Decimal("9" * 38), Decimal("9" * 38)], Decimal(2 * (10**38 - 1))),
        ("SUM", [1e308, 1e308, -1e308], 1e308),
        ("SUM", [1e16, 1.0, -1e16], 1.0),
        ("AVG", [1e308, 1e308], 1e308),
        ("AVG", [LARGEST, LARGEST - 1], float(LARGEST)),
        ("AVG", [Decimal("0.1"), Decimal("0.2")], 0.15),
        ("MEDIAN", [3, 1, 2], 2.0),
        ("MEDIAN", [4, 1, 2, 3], 2.5),
        ("MEDIAN", [1.5e308, 1.7e308], 1.6e308),
        ("MEDIAN", [Decimal("1.5"), Decimal("2.5")], 2.0),
        ("VAR_SAMP", [5], None),
        ("STDDEV_SAMP", [5], None),
        ("VAR_POP", [5], 0.0),
        ("STDDEV_POP", [5], 0.0),
        ("VAR_SAMP", [1, 2, 3, 4], 5 / 3),
        ("VAR_SAMP", [1e9 + 1, 1e9 + 2, 1e9 + 3], 1.0),
        ("VAR_SAMP", [0.1, 0.1, 0.1], 0.0),
        ("STDDEV_SAMP", [1e200, -1e200], math.sqrt(2) * 1e200),
        ("STDDEV_POP", [1e-200, 3e-200], 1e-200),
        ("MIN", [0.0, -0.0], 0.0),
        ("MAX", ["b", "ab"], "b"),
        ("MIN", [True, False], False),
        ("BOOL_AND", [True, False], False),
        ("BOOL_OR", [True, False], True),
    ],
)
def test_an_aggregate_gives(name: str, values: list[Value], result: Value) -> None:
    found = AGGREGATES[name].compute(values)
    if isinstance(result, float):
        assert isinstance(found, float)
        assert found == pytest.approx(result, rel=1e-15, abs=0)
    else:
        assert found == result


@pytest.mark.parametrize(
    ("name", "values"), [("SUM", [1e308, 1e308]), ("VAR_SAMP", [1e200, -1e200])]
)
def test_an_aggregate_outside_double_is_an_error(name: str, values: list[Value]) -> None:
    with pytest.raises(EvaluationError):
        AGGREGATES[name].compute(values)


@pytest.mark.parametrize("seed", range(20))
def test_double_aggregates_are_right_under_cancellation(seed: int) -> None:
    chance = random.Random(seed)
    values = [chance.choice((1e15, 1.0)) + chance.random() for _ in range(50)]
    exact = [Fraction(each) for each in values]
    mean = sum(exact) / 50
    variance = sum((each - mean) ** 2 for each in exact) / 49
    assert AGGREGATES["SUM"].compute(values) == float(sum(exact))
    assert AGGREGATES["AVG"].compute(values) == float(mean)
    assert AGGREGATES["VAR_SAMP"].compute(values) == float(variance)
    assert AGGREGATES["STDDEV_SAMP"].compute(values) == pytest.approx(
        math.sqrt(variance), rel=1e-15
    )
    chance.shuffle(values)
    assert AGGREGATES["VAR_SAMP"].compute(values) == float(variance)
