"""Colours are for terminals, and not where NO_COLOR is set."""

from __future__ import annotations

import io

import pytest

from millpond.report import Style


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _no_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_a_terminal_has_colours() -> None:
    assert Style.of(Terminal()).bold("x") == "\x1b[1mx\x1b[0m"


def test_what_is_no_terminal_has_none() -> None:
    assert Style.of(io.StringIO()).bold("x") == "x"


@pytest.mark.parametrize("value", ["1", "", "0"])
def test_no_color_takes_them_away(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("NO_COLOR", value)
    assert Style.of(Terminal()).dim("x") == "x"


def test_a_closed_stream_has_none() -> None:
    closed = io.StringIO()
    closed.close()
    assert Style.of(closed).bold("x") == "x"
