"""Rendering: diagnostics, verdicts, plans, pictures.  What is said is decided elsewhere."""

from millpond.report.diagnostics import diagnostic_dict, render_diagnostic, render_page
from millpond.report.explain import explain_dict, explain_lines
from millpond.report.gauge import gauge
from millpond.report.picture import to_dot, to_svg
from millpond.report.style import Style
from millpond.report.verdict_json import verdict_dict
from millpond.report.verdict_text import render_verdict

__all__ = [
    "Style",
    "diagnostic_dict",
    "explain_dict",
    "explain_lines",
    "gauge",
    "render_diagnostic",
    "render_page",
    "render_verdict",
    "to_dot",
    "to_svg",
    "verdict_dict",
]
