"""What CREATE STREAM declares: types, NOT NULL, and the interval that CHECK allows."""

from __future__ import annotations

import pytest

from millpond.language import read_script
from millpond.schema import Column, IntegerType, Interval


def column(definition: str) -> Column:
    (stream,) = read_script(f"CREATE STREAM s ({definition})").catalog
    return stream.columns[0]


@pytest.mark.parametrize(
    ("spelled", "type_", "bits"),
    [
        ("TINYINT", "TINYINT", 8),
        ("SMALLINT", "SMALLINT", 16),
        ("INT", "INT", 32),
        ("INTEGER", "INT", 32),
        ("BIGINT", "BIGINT", 64),
        ("bigint", "BIGINT", 64),
        ("Int", "INT", 32),
    ],
)
def test_integer_types_by_their_names(spelled: str, type_: str, bits: int) -> None:
    found = column(f"a {spelled}").type
    assert isinstance(found, IntegerType)
    assert (found.name, found.bits) == (type_, bits)


@pytest.mark.parametrize(
    ("definition", "nullable"),
    [
        ("a INT", True),
        ("a INT NULL", True),
        ("a INT NOT NULL", False),
        ("a INT not null CHECK (a > 0)", False),
        ("a INT CHECK (a > 0) NOT NULL", False),
    ],
)
def test_a_column_may_be_null_unless_it_says_not(definition: str, nullable: bool) -> None:
    assert column(definition).nullable is nullable


@pytest.mark.parametrize(
    ("check", "interval"),
    [
        ("a BETWEEN 0 AND 9", Interval(0, 9)),
        ("a between -5 and 2 * 3", Interval(-5, 6)),
        ("a < 5", Interval(None, 4)),
        ("a <= 5", Interval(None, 5)),
        ("a = 5", Interval(5, 5)),
        ("a >= 5", Interval(5, None)),
        ("a > 5", Interval(6, None)),
        ("5 > a", Interval(None, 4)),
        ("5 <= a", Interval(5, None)),
        ("5 = a", Interval(5, 5)),
        ("a > 0 AND a < 9", Interval(1, 8)),
        ("(a > 0) AND ((a < 9) AND A < 7)", Interval(1, 6)),
        ("a > 0 AND a > 3", Interval(4, None)),
        (f"a < {10**40}", Interval(None, 10**40 - 1)),
    ],
)
def test_check_is_an_interval(check: str, interval: Interval) -> None:
    assert column(f"a INT CHECK ({check})").declared == interval


@pytest.mark.parametrize(
    "definition",
    [
        "a INT CHECK (a > 0) CHECK (a < 9)",
        "a INT CONSTRAINT low CHECK (a > 0) CONSTRAINT high CHECK (a < 9)",
        "a INT NOT NULL CHECK (a > 0) NOT NULL CHECK (a < 9)",
    ],
)
def test_several_checks_hold_together(definition: str) -> None:
    assert column(definition).declared == Interval(1, 8)


@pytest.mark.parametrize(
    ("definition", "domain"),
    [
        ("a TINYINT", Interval(-128, 127)),
        ("a TINYINT CHECK (a > 0)", Interval(1, 127)),
        ("a SMALLINT", Interval()),
        ("a INT", Interval()),
        ("a BIGINT CHECK (a > 0)", Interval(1, None)),
    ],
)
def test_only_a_check_and_tinyint_are_domains(definition: str, domain: Interval) -> None:
    assert column(definition).domain == domain


def test_names_keep_their_letters_and_are_found_by_any() -> None:
    script = read_script('CREATE STREAM Orders (Price INT, "Two Words" INT)')
    (stream,) = script.catalog
    assert (stream.name, stream.names) == ("Orders", ("Price", "Two Words"))
    assert script.catalog.get("ORDERS") is stream
    assert stream.column("pRICE") is stream.columns[0]
