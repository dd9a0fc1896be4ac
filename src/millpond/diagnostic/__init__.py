"""Codes, spans, and errors as values: what every other room reports with.

A `Diagnostic` says what is wrong, where, and what to do instead; `report/` renders it.  The
exceptions carry diagnostics, and their three kinds (the user's mistake, a thing not built, a bug
of ours) decide the exit code.
"""

from millpond.diagnostic.codes import CODES, Page, page
from millpond.diagnostic.diagnostic import Diagnostic, Severity, did_you_mean
from millpond.diagnostic.errors import (
    Collector,
    InputError,
    InternalError,
    MillpondError,
    NotBuiltError,
    RefusedError,
    UserError,
)
from millpond.diagnostic.span import Source, Span

__all__ = [
    "CODES",
    "Collector",
    "Diagnostic",
    "InputError",
    "InternalError",
    "MillpondError",
    "NotBuiltError",
    "Page",
    "RefusedError",
    "Severity",
    "Source",
    "Span",
    "UserError",
    "did_you_mean",
    "page",
]
