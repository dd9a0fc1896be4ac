"""A plan as a picture: Graphviz text, or an SVG that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from millpond.report.cells import cells, printable

_CHAR, _LINE, _PAD, _GAP, _INDENT = 7.2, 18.0, 10.0, 26.0, 12.0
_COLOURS = {
    "none": "#2e7d32",
    "constant": "#2e7d32",
    "impractical": "#b26a00",
    "linear": "#c62828",
    "outside": "#b26a00",
}


def to_dot(queries: Sequence[dict[str, Any]]) -> str:
    """The plans as one Graphviz graph; `queries` as `explain_dict` makes them."""
    lines = ["digraph plans {", "  rankdir=BT;", '  node [shape=box, fontname="monospace"];']
    for number, query in enumerate(queries):
        lines.append(f"  subgraph cluster_{number} {{")
        lines.append(f"    label={_quoted(_title(query))};")
        lines += _dot_nodes(query["plan"], f"n{number}")
        lines.append("  }")
    return "\n".join([*lines, "}"])


def _dot_nodes(node: dict[str, Any], name: str) -> list[str]:
    lines = [f"    {name} [label={_quoted(node['label'])}];"]
    for place, each in enumerate(node["inputs"]):
        child = f"{name}_{place}"
        lines += _dot_nodes(each, child)
        lines.append(f'    {child} -> {name} [label="MON"];')
    return lines


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _title(query: dict[str, Any]) -> str:
    verdict = query["verdict"]
    units = "" if verdict["units"] is None else f", at most {verdict['units']} units"
    return f"{query['name']}: {verdict['memory']}{units}"


@dataclass(frozen=True)
class _Box:
    """A node with its place; the tree hangs below its root."""

    lines: tuple[str, ...]
    x: float
    y: float
    width: float
    height: float
    children: tuple[_Box, ...]


def to_svg(queries: Sequence[dict[str, Any]]) -> str:
    """The plans below one another as one SVG."""
    parts: list[str] = []
    top, widest = _PAD, 0.0
    for query in queries:
        state = [
            f"{each['of']} keeps {', '.join(each['keeps'])} ({each['kind']}, {each['units']} units)"
            for each in query["verdict"]["state"]
        ]
        parts.append(_text(_title(query), _PAD, top + 14, query["verdict"]["memory"], bold=True))
        for number, line in enumerate(state):
            parts.append(_text(line, _PAD + _INDENT, top + 14 + (number + 1) * _LINE, None))
        top += 14 + (len(state) + 1) * _LINE
        root = _layout(query["plan"], _PAD, top)
        parts += _drawn(root)
        right, bottom = _extent(root)
        longest = max(cells(each) for each in [_title(query), *state])
        widest = max(widest, right, _PAD + _INDENT + _CHAR * longest)
        top = bottom + _GAP
    width, height = widest + _PAD, top
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="monospace" font-size="12">',
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
            *parts,
            "</svg>",
        ]
    )


def _wrapped(label: str, width: int = 44) -> tuple[str, ...]:
    lines: list[str] = []
    for word in label.split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return tuple(lines)


def _layout(node: dict[str, Any], x: float, y: float) -> _Box:
    lines = _wrapped(node["label"])
    width = _CHAR * max(cells(each) for each in lines) + 2 * _PAD
    height = _LINE * len(lines) + _PAD
    children: list[_Box] = []
    left = x
    for each in node["inputs"]:
        child = _layout(each, left, y + height + _GAP)
        children.append(child)
        left = _extent(child)[0] + _PAD
    span = max(width, left - _PAD - x if children else 0.0)
    return _Box(lines, x + (span - width) / 2, y, width, height, tuple(children))


def _extent(box: _Box) -> tuple[float, float]:
    right, bottom = box.x + box.width, box.y + box.height
    for each in box.children:
        child_right, child_bottom = _extent(each)
        right, bottom = max(right, child_right), max(bottom, child_bottom)
    return right, bottom


def _drawn(box: _Box) -> list[str]:
    parts = [
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        'rx="4" fill="#f5f7fa" stroke="#5b6b7b"/>'
    ]
    for number, line in enumerate(box.lines):
        parts.append(_text(line, box.x + _PAD, box.y + 15 + number * _LINE, None))
    for each in box.children:
        x, y = each.x + each.width / 2, each.y
        to_x, to_y = box.x + box.width / 2, box.y + box.height
        parts.append(
            f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="#5b6b7b"/>'
        )
        parts += _drawn(each)
    return parts


def _text(text: str, x: float, y: float, memory: str | None, *, bold: bool = False) -> str:
    fill = _COLOURS.get(memory or "", "#1c2733")
    weight = ' font-weight="bold"' if bold else ""
    shown = escape(printable(text))  # XML has no control characters
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}"{weight}>{shown}</text>'
