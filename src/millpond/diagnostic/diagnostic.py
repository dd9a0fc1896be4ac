"""A diagnostic is a value: code, severity, message, primary span, notes, helps."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from millpond.diagnostic.codes import CODES
from millpond.diagnostic.span import Span


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Diagnostic:
    """One finding about a user's text or data."""

    code: str
    message: str
    span: Span | None = None
    notes: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()
    severity: Severity = Severity.ERROR
    file: str | None = field(default=None)
    line: int | None = field(default=None)

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"diagnostic code {self.code} has no page")

    @property
    def place(self) -> tuple[str, int | None, int | None] | None:
        """File, line and column; data files have no span but a line."""
        if self.span is not None:
            return self.span.source.name, self.span.line, self.span.column
        if self.file is not None:
            return self.file, self.line, 1 if self.line is not None else None
        return None


def did_you_mean(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """A hint that names the nearest known names, or what there is when none is near."""
    names = sorted(set(known))
    folded = {each.lower(): each for each in names}
    near = difflib.get_close_matches(name.lower(), folded, n=2, cutoff=0.6)
    if near:
        return (f"did you mean {' or '.join(f'`{folded[each]}`' for each in near)}?",)
    if names:
        shown = ", ".join(f"`{each}`" for each in names[:8])
        return (f"there is {shown}" + (", ..." if len(names) > 8 else ""),)
    return ()
