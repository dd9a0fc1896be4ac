"""Continuous queries over streams, with a proved bound on their memory before they start."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from millpond.api.changes import Answer as Answer
    from millpond.api.changes import Change as Change
    from millpond.api.changes import Changes as Changes
    from millpond.api.check import Checked as Checked
    from millpond.api.check import check as check
    from millpond.api.check import check_sql as check_sql
    from millpond.api.feeder import Feeder as Feeder
    from millpond.api.frame_text import Repair as Repair
    from millpond.api.pond import Explanation as Explanation
    from millpond.api.pond import Pond as Pond
    from millpond.api.pond import Query as Query
    from millpond.api.pond import Verdict as Verdict
    from millpond.api.run import Run as Run
    from millpond.diagnostic import Diagnostic as Diagnostic
    from millpond.diagnostic import InputError as InputError
    from millpond.diagnostic import MillpondError as MillpondError
    from millpond.diagnostic import RefusedError as RefusedError
    from millpond.diagnostic import UserError as UserError

_HOMES = {
    "Answer": "api.changes",
    "Change": "api.changes",
    "Changes": "api.changes",
    "Checked": "api.check",
    "Diagnostic": "diagnostic",
    "Explanation": "api.pond",
    "Feeder": "api.feeder",
    "InputError": "diagnostic",
    "MillpondError": "diagnostic",
    "Pond": "api.pond",
    "Query": "api.pond",
    "RefusedError": "diagnostic",
    "Repair": "api.frame_text",
    "Run": "api.run",
    "UserError": "diagnostic",
    "Verdict": "api.pond",
    "check": "api.check",
    "check_sql": "api.check",
}
"""The module of each public name, which is loaded when the name is first asked for."""

__all__ = ["__version__", *_HOMES]


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("millpond")
    except PackageNotFoundError:  # read from a source tree that is not installed
        return "0"


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
