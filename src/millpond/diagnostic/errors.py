"""Errors that carry diagnostics; their kind decides the exit code of the command line."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.diagnostic.diagnostic import Diagnostic


class MillpondError(Exception):
    """Anything that millpond reports; `diagnostics` says what and where."""

    exit_code = 70

    def __init__(self, *diagnostics: Diagnostic) -> None:
        if not diagnostics:
            raise ValueError("an error needs a diagnostic")
        self.diagnostics: tuple[Diagnostic, ...] = diagnostics
        super().__init__("; ".join(f"{each.code}: {each.message}" for each in diagnostics))


class UserError(MillpondError):
    """The user's text or options are wrong."""

    exit_code = 2


class InputError(UserError):
    """A row of the user's data is wrong."""


class NotBuiltError(UserError):
    """The text is legal, and millpond does not run it yet."""


class RefusedError(MillpondError):
    """A query is not run because its memory has no bound, or none that is known."""

    def __init__(self, *diagnostics: Diagnostic, exit_code: int) -> None:
        super().__init__(*diagnostics)
        self.exit_code = exit_code


class InternalError(MillpondError):
    """A bug of ours."""


class Collector:
    """Collects diagnostics, so that all errors of a file come in one go."""

    def __init__(self) -> None:
        self._errors: list[MillpondError] = []

    def add(self, error: MillpondError) -> None:
        self._errors.append(error)

    def checkpoint(self) -> None:
        """Stop here if anything was found."""
        if self._errors:
            found = [each for error in self._errors for each in error.diagnostics]
            raise _widest(self._errors)(*_in_order(found))


def _widest(errors: Sequence[MillpondError]) -> type[UserError]:
    """`NotBuiltError` only when nothing else is wrong."""
    if all(isinstance(error, NotBuiltError) for error in errors):
        return NotBuiltError
    return UserError


def _in_order(found: list[Diagnostic]) -> list[Diagnostic]:
    return sorted(found, key=lambda each: each.span.start if each.span else -1)
