"""Pictures of plans: an SVG that any program reads, and a Graphviz text with the same nodes."""

from __future__ import annotations

import itertools
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.report.cases import QUERIES, decided

from millpond.language import read_script
from millpond.memory import verdict_of
from millpond.plan import tree_lines
from millpond.report import explain_dict, to_dot, to_svg
from millpond.report.cells import cells

SVG = "{http://www.w3.org/2000/svg}"

WIDE = "日本語のとても長い列の名前"
LONG = "a_stream_with_a_very_long_name_that_is_wider_than_its_children_ever_get"
ODD = f"""
CREATE STREAM s ("a<b> & 'c'" INT, "{WIDE}" INT, "x\x01y" INT);
CREATE STREAM "{LONG}" (d INT);
CREATE STREAM "quo""te\\" (e INT);
CREATE QUERY "odd <one>" AS
SELECT s."a<b> & 'c'" AS "out & about", s."x\x01y", s."{WIDE}" AS "]]>"
FROM s, "{LONG}" AS t, "quo""te\\" AS u, s AS v
WHERE d = 1 AND e = 2 AND s."{WIDE}" BETWEEN 1 AND {10**40} AND d < e;
"""

Box = tuple[float, float, float, float]


def explained(text: str) -> list[dict[str, Any]]:
    return [explain_dict(each, verdict_of(each), None) for each in read_script(text).queries]


def all_cases() -> list[dict[str, Any]]:
    return [explain_dict(*decided(case), None) for case in QUERIES]


PICTURES = {
    **{case: [explain_dict(*decided(case), None)] for case in QUERIES},
    "all of them": all_cases(),
    "odd": explained(ODD),
}


def boxes(svg: ElementTree.Element) -> list[Box]:
    """Left, top, right and bottom of each node's box; the first rectangle is the paper."""
    found = []
    for each in svg.findall(f"{SVG}rect")[1:]:
        x, y, width, height = (float(each.attrib[key]) for key in ("x", "y", "width", "height"))
        found.append((x, y, x + width, y + height))
    return found


def texts(svg: ElementTree.Element) -> list[tuple[Box, str]]:
    """Each text with about the room that it takes."""
    found = []
    for each in svg.findall(f"{SVG}text"):
        x, y, text = float(each.attrib["x"]), float(each.attrib["y"]), each.text or ""
        found.append(((x, y - 11, x + 7.2 * cells(text), y + 3), text))
    return found


def overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def inside(one: Box, other: Box) -> bool:
    return other[0] <= one[0] and other[1] <= one[1] and one[2] <= other[2] and one[3] <= other[3]


def count(node: dict[str, Any]) -> int:
    return 1 + sum(count(each) for each in node["inputs"])


@pytest.mark.parametrize("case", PICTURES)
def test_an_svg_is_xml_with_a_box_for_each_node(case: str) -> None:
    svg = ElementTree.fromstring(to_svg(PICTURES[case]))
    assert svg.tag == f"{SVG}svg"
    assert len(boxes(svg)) == sum(count(each["plan"]) for each in PICTURES[case])


@pytest.mark.parametrize("case", PICTURES)
def test_nothing_in_an_svg_overlaps_or_hangs_over_the_edge(case: str) -> None:
    svg = ElementTree.fromstring(to_svg(PICTURES[case]))
    paper = (0.0, 0.0, float(svg.attrib["width"]), float(svg.attrib["height"]))
    for one, other in itertools.combinations(boxes(svg), 2):
        assert not overlap(one, other)
    for (one, text), (other, _) in itertools.combinations(texts(svg), 2):
        assert not overlap(one, other), text
    for each in [*boxes(svg), *(box for box, _ in texts(svg))]:
        assert inside(each, paper)
    for one, text in texts(svg):
        assert all(inside(one, box) for box in boxes(svg) if overlap(one, box)), text


@pytest.mark.parametrize("case", PICTURES)
def test_an_svg_says_all_that_the_plan_says(case: str) -> None:
    svg = ElementTree.fromstring(to_svg(PICTURES[case]))
    said = " ".join(text for _, text in texts(svg)).split()
    for each in PICTURES[case]:
        assert each["name"].split()[0] in " ".join(said)
        for word in _labels(each["plan"]):
            assert word.replace("\x01", "\N{REPLACEMENT CHARACTER}") in said


def _labels(node: dict[str, Any]) -> list[str]:
    return [*node["label"].split(), *(word for each in node["inputs"] for word in _labels(each))]


STATEMENT = re.compile(
    r"""
    \s*(?: rankdir=BT;
         | fontname="monospace";
         | edge\ \[fontname="monospace",\ fontsize=9\];
         | node\ \[shape=box,\ style="rounded,filled",\ fontname="monospace"\];
         | subgraph\ cluster_\d+\ \{
         | label="(?:[^"\\]|\\.)*";
         | (?P<node>n\w+)\ \[label="(?:[^"\\]|\\.)*"(?:,\ (?:fillcolor|color)="\#\w{6}"){2}\];
         | (?P<from>n\w+)\ ->\ (?P<to>n\w+)(?:\ \[label="MON"\])?;
         | \} )
    """,
    re.VERBOSE,
)


@pytest.mark.parametrize("case", PICTURES)
def test_a_dot_text_has_the_nodes_and_edges_of_the_plan(case: str) -> None:
    first, *lines, last = to_dot(PICTURES[case]).splitlines()
    assert (first, last) == ("digraph plans {", "}")
    found = [STATEMENT.fullmatch(each) for each in lines]
    assert all(found), [line for line, each in zip(lines, found, strict=True) if not each]
    nodes = [each["node"] for each in found if each and each["node"]]
    edges = [(each["from"], each["to"]) for each in found if each and each["from"]]
    assert len(set(nodes)) == len(nodes) == sum(count(each["plan"]) for each in PICTURES[case])
    assert len(edges) == len(nodes) - len(PICTURES[case]), "a tree has one edge less than nodes"
    assert {end for edge in edges for end in edge} <= set(nodes)
    assert "".join([first, *lines, last]).count("{") == "".join([first, *lines, last]).count("}")


def test_the_tree_the_dot_and_the_svg_have_the_same_nodes() -> None:
    query, verdict = decided("emitted")
    data = [explain_dict(query, verdict, None)]
    assert len(tree_lines(query.root)) == count(data[0]["plan"])
