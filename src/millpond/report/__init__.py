"""Rendering: diagnostics, verdicts, plans, pictures.  What is said is decided elsewhere."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from millpond.report.gauge import gauge

if TYPE_CHECKING:
    from millpond.report.diagnostics import diagnostic_dict as diagnostic_dict
    from millpond.report.diagnostics import render_diagnostic as render_diagnostic
    from millpond.report.diagnostics import render_note as render_note
    from millpond.report.diagnostics import render_page as render_page
    from millpond.report.explain import explain_dict as explain_dict
    from millpond.report.explain import explain_lines as explain_lines
    from millpond.report.picture import to_dot as to_dot
    from millpond.report.picture import to_svg as to_svg
    from millpond.report.samples import sample_dict as sample_dict
    from millpond.report.samples import sample_lines as sample_lines
    from millpond.report.style import Style as Style
    from millpond.report.verdict_json import verdict_dict as verdict_dict
    from millpond.report.verdict_text import render_verdict as render_verdict

_HOMES = {
    "Style": "style",
    "diagnostic_dict": "diagnostics",
    "explain_dict": "explain",
    "explain_lines": "explain",
    "render_diagnostic": "diagnostics",
    "render_note": "diagnostics",
    "render_page": "diagnostics",
    "render_verdict": "verdict_text",
    "sample_dict": "samples",
    "sample_lines": "samples",
    "to_dot": "picture",
    "to_svg": "picture",
    "verdict_dict": "verdict_json",
}
"""The module of each name, loaded when it is first asked for: pictures take their time."""

__all__ = [
    "Style",
    "diagnostic_dict",
    "explain_dict",
    "explain_lines",
    "gauge",
    "render_diagnostic",
    "render_note",
    "render_page",
    "render_verdict",
    "sample_dict",
    "sample_lines",
    "to_dot",
    "to_svg",
    "verdict_dict",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
