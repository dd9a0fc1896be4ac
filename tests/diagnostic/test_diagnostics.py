"""Diagnostics are values with a page; errors carry them, and decide the exit code."""

from __future__ import annotations

import pytest

from millpond.diagnostic import (
    CODES,
    Collector,
    Diagnostic,
    InputError,
    InternalError,
    MillpondError,
    NotBuiltError,
    RefusedError,
    Source,
    Span,
    UserError,
    did_you_mean,
    page,
)

SOURCE = Source("f.sql", "SELECT a\nFROM s")


def at(start: int, code: str = "MP101") -> Diagnostic:
    return Diagnostic(code, f"at {start}", Span(SOURCE, start, start + 1))


def test_a_code_without_a_page_is_a_bug() -> None:
    with pytest.raises(ValueError, match="MP999 has no page"):
        Diagnostic("MP999", "what")


def test_pages_are_found_in_any_case() -> None:
    assert page("mp101") is page("MP101") is CODES["MP101"]
    assert page("MP999") is None


def test_the_place_is_the_span_or_the_line_of_a_file() -> None:
    assert at(9).place == ("f.sql", 2, 1)
    assert Diagnostic("MP301", "x", file="r.jsonl", line=7).place == ("r.jsonl", 7, 1)
    assert Diagnostic("MP404", "x", file="r.jsonl").place == ("r.jsonl", None, None)
    assert Diagnostic("MP403", "x").place is None


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UserError(at(0)), 2),
        (InputError(at(0)), 2),
        (NotBuiltError(at(0)), 2),
        (InternalError(at(0)), 70),
        (RefusedError(at(0), exit_code=1), 1),
        (RefusedError(at(0), exit_code=3), 3),
    ],
)
def test_the_kind_of_an_error_decides_the_exit_code(error: MillpondError, code: int) -> None:
    assert error.exit_code == code
    assert str(error) == "MP101: at 0"


def test_an_error_needs_a_diagnostic() -> None:
    with pytest.raises(ValueError, match="needs a diagnostic"):
        UserError()


def test_collected_errors_come_together_in_the_order_of_the_text() -> None:
    errors = Collector()
    errors.checkpoint()
    errors.add(UserError(at(9), at(3)))
    errors.add(NotBuiltError(at(5)))
    errors.add(UserError(Diagnostic("MP003", "nowhere")))
    with pytest.raises(UserError) as caught:
        errors.checkpoint()
    assert [each.message for each in caught.value.diagnostics] == [
        "nowhere", "at 3", "at 5", "at 9",
    ]  # fmt: skip
    assert not isinstance(caught.value, NotBuiltError)


def test_collected_errors_are_not_built_if_all_of_them_are() -> None:
    errors = Collector()
    errors.add(NotBuiltError(at(5)))
    errors.add(NotBuiltError(at(3)))
    with pytest.raises(NotBuiltError):
        errors.checkpoint()


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("pric", ["price", "amount"], "did you mean `price`?"),
        ("PRICE", ["Price"], "did you mean `Price`?"),
        ("INT8", ["INT", "BIGINT", "TEXT"], "did you mean `INT` or `BIGINT`?"),
        ("x", ["price", "amount"], "there is `amount`, `price`"),
        ("x", "abcdefghij", "there is `a`, `b`, `c`, `d`, `e`, `f`, `g`, `h`, ..."),
    ],
)
def test_a_hint_names_what_is_near_or_what_there_is(name: str, known: list[str], hint: str) -> None:
    assert did_you_mean(name, known) == (hint,)


def test_there_is_no_hint_where_nothing_is_known() -> None:
    assert did_you_mean("x", []) == ()
