"""A plan as a picture: Graphviz text, or an SVG that needs nothing else.

The answer is at the top and rows flow upwards.  A box is coloured by what its node is to a
continuous query: where rows come from, what limits them in time, what has to integrate its input.
An edge carries an update pattern where one is known (`plan/pattern.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from millpond.report.cells import cells, filled, printable

_CHAR, _LINE, _PAD, _GAP, _INDENT, _BETWEEN = 7.2, 18.0, 12.0, 38.0, 12.0, 16.0
_WRAP = 44
_INK, _LINES = "#1c2733", "#7b8794"
_COLOURS = {
    "none": "#2e7d32",
    "constant": "#2e7d32",
    "impractical": "#b26a00",
    "window": "#b26a00",
    "domain": "#b26a00",
    "linear": "#c62828",
    "outside": "#b26a00",
}
_SOURCE, _TIME, _STATE, _STREAM, _PLAIN = (
    ("#e3f2fd", "#1565c0"),
    ("#e8f5e9", "#2e7d32"),
    ("#fff3e0", "#b26a00"),
    ("#f3e5f5", "#6a1b9a"),
    ("#f5f7fa", "#5b6b7b"),
)
_FILLS = {
    "scan": _SOURCE,
    **dict.fromkeys(("window", "assign"), _TIME),
    **dict.fromkeys(("cross", "join", "semijoin", "distinct", "aggregate"), _STATE),
    **dict.fromkeys(("difference", "intersect"), _STATE),
    **dict.fromkeys(("changes", "results"), _STREAM),
}
"""Fill and stroke by kind of node; what only passes rows on is plain."""


def to_dot(queries: Sequence[dict[str, Any]]) -> str:
    """The plans as one Graphviz graph; `queries` as `explain_dict` makes them."""
    lines = [
        "digraph plans {",
        "  rankdir=BT;",
        '  fontname="monospace";',
        '  edge [fontname="monospace", fontsize=9];',
        '  node [shape=box, style="rounded,filled", fontname="monospace"];',
    ]
    for number, query in enumerate(queries):
        lines.append(f"  subgraph cluster_{number} {{")
        lines.append(f"    label={_quoted(_title(query))};")
        lines += _dot_nodes(query["plan"], f"n{number}")
        lines.append("  }")
    return "\n".join([*lines, "}"])


def _dot_nodes(node: dict[str, Any], name: str) -> list[str]:
    fill, stroke = _FILLS.get(node["node"], _PLAIN)
    text = "\\n".join(_escaped(each) for each in _wrapped(node))
    lines = [f'    {name} [label="{text}", fillcolor="{fill}", color="{stroke}"];']
    # Graphviz puts what it reads first to the right when the root is at the top.
    for place, each in reversed(list(enumerate(node["inputs"]))):
        child = f"{name}_{place}"
        lines += _dot_nodes(each, child)
        pattern = f' [label="{each["pattern"]}"]' if each["pattern"] else ""
        lines.append(f"    {child} -> {name}{pattern};")
    return lines


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _title(query: dict[str, Any]) -> str:
    verdict = query["verdict"]
    units = "" if verdict["units"] is None else f", at most {verdict['units']} units"
    return f"{query['name']}: {verdict['memory']}{units}"


@dataclass(frozen=True)
class _Box:
    """A node with its place; the tree hangs below its root."""

    kind: str
    pattern: str | None
    lines: tuple[str, ...]
    x: float
    y: float
    width: float
    height: float
    children: tuple[_Box, ...]

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


def to_svg(queries: Sequence[dict[str, Any]]) -> str:
    """The plans below one another as one SVG."""
    parts: list[str] = []
    top, widest = _PAD, 0.0
    for query in queries:
        state = [
            f"{each['of']} keeps {', '.join(each['keeps'])} ({each['kind']}, {each['units']} units)"
            for each in query["verdict"]["state"]
        ]
        colour = _COLOURS.get(query["verdict"]["memory"], _INK)
        parts.append(_text(_title(query), _PAD, top + 14, colour, bold=True))
        for number, line in enumerate(state):
            parts.append(_text(line, _PAD + _INDENT, top + 14 + (number + 1) * _LINE))
        top += 14 + (len(state) + 1) * _LINE
        root = _layout(query["plan"], _PAD, top)
        parts += _drawn(root)
        right, bottom = _extent(root)
        longest = max(cells(each) for each in [_title(query), *state])
        widest = max(widest, right, _PAD + _INDENT + _CHAR * longest)
        top = bottom + _GAP
    width, height = widest + _PAD, top - _GAP + _PAD
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="monospace" font-size="12">',
            '<defs><marker id="to" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
            f'markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="{_LINES}"/></marker>'
            "</defs>",
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
            *parts,
            "</svg>",
        ]
    )


def _wrapped(node: dict[str, Any]) -> tuple[str, ...]:
    return tuple(filled(node["label"].split(), _WRAP))


def _layout(node: dict[str, Any], x: float, y: float) -> _Box:
    lines = _wrapped(node)
    width = _CHAR * max(cells(each) for each in lines) + 2 * _PAD
    height = _LINE * len(lines) + _PAD
    children: list[_Box] = []
    left = x
    for each in node["inputs"]:
        child = _layout(each, left, y + height + _GAP)
        children.append(child)
        left = _extent(child)[0] + _BETWEEN
    below = left - _BETWEEN - x if children else 0.0
    if width > below:  # children stand in the middle below a wider node
        children = [_moved(each, (width - below) / 2) for each in children]
    place = x + (max(width, below) - width) / 2
    return _Box(node["node"], node["pattern"], lines, place, y, width, height, tuple(children))


def _moved(box: _Box, right: float) -> _Box:
    children = tuple(_moved(each, right) for each in box.children)
    return _Box(
        box.kind,
        box.pattern,
        box.lines,
        box.x + right,
        box.y,
        box.width,
        box.height,
        children,
    )


def _extent(box: _Box) -> tuple[float, float]:
    right, bottom = box.x + box.width, box.y + box.height
    for each in box.children:
        child_right, child_bottom = _extent(each)
        right, bottom = max(right, child_right), max(bottom, child_bottom)
    return right, bottom


def _drawn(box: _Box) -> Iterator[str]:
    fill, stroke = _FILLS.get(box.kind, _PLAIN)
    yield (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="6" fill="{fill}" stroke="{stroke}"/>'
    )
    for number, line in enumerate(box.lines):
        yield _text(line, box.x + _PAD, box.y + 18 + number * _LINE, bold=number == 0)
    for each in box.children:
        yield _edge(each, box)
        if each.pattern is not None:
            yield _text(each.pattern, each.middle + 6, each.y - 5, _LINES, size=9)
        yield from _drawn(each)


def _edge(low: _Box, high: _Box) -> str:
    """From a node up to the one that it feeds, bent where that is not right above it."""
    end = high.y + high.height + 1
    half = (low.y + end) / 2
    return (
        f'<path d="M{low.middle:.1f} {low.y:.1f}C{low.middle:.1f} {half:.1f} '
        f'{high.middle:.1f} {half:.1f} {high.middle:.1f} {end:.1f}" fill="none" '
        f'stroke="{_LINES}" marker-end="url(#to)"/>'
    )


def _text(
    text: str, x: float, y: float, fill: str = _INK, *, bold: bool = False, size: int = 12
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    smaller = "" if size == 12 else f' font-size="{size}"'
    shown = escape(printable(text))  # XML has no control characters
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}"{weight}{smaller}>{shown}</text>'
