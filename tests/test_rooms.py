"""Imports between rooms flow one way, and each big library is imported in its own rooms only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOUSE = ROOT / "src" / "millpond"

ROOMS = (
    "diagnostic", "schema", "plan", "language", "order", "memory", "program", "synopsis",
    "optimize", "window", "run", "spark", "dsms", "archive", "machine", "report", "api",
    "cli",
)  # fmt: skip
"""In the order in which data flows: a room imports from rooms before it, never from one behind."""

STRANGERS = {("spark", "run"), ("run", "spark")}
"""Two ways to run the same programs, neither of which knows the other."""

HOMES = {
    "sqlglot": {"language"},
    "polars": {"run", "api"},
    "numba": {"run"},
    "pyspark": {"spark", "api", "cli"},
    "py4j": {"spark"},
    "typer": {"cli"},
}
"""Where a library may be imported; everything else meets what those rooms make of it."""


def imported(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Every module that a file imports, wherever the import stands: line and dotted name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, *([base] if base else [])])
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}"


def package_of(path: Path) -> str:
    return ".".join(["millpond", *path.relative_to(HOUSE).parent.parts])


def house_imports() -> Iterator[tuple[str, str, str]]:
    """Importing room ("" for the house itself), imported name, and where."""
    for path in sorted(HOUSE.rglob("*.py")):
        parts = path.relative_to(HOUSE).parts
        room = parts[0] if len(parts) > 1 else ""
        for line, name in imported(ast.parse(path.read_text(encoding="utf-8")), package_of(path)):
            yield room, name, f"{path.relative_to(ROOT)}:{line} imports {name}"


def room_of(name: str) -> str | None:
    """The room that a dotted name is in; None for what is no room of the house."""
    parts = name.split(".")
    return parts[1] if parts[0] == "millpond" and len(parts) > 1 and parts[1] in ROOMS else None


def against_the_flow(importer: str, name: str) -> bool:
    """Whether a room reaches for one behind it, or for one that it must not know."""
    room = room_of(name)
    if not importer or room is None or importer == room:
        return False
    return ROOMS.index(room) > ROOMS.index(importer) or (importer, room) in STRANGERS


def test_every_room_that_exists_is_in_the_list() -> None:
    there = {each.name for each in HOUSE.iterdir() if (each / "__init__.py").exists()}
    assert there <= set(ROOMS)


def test_imports_between_rooms_flow_one_way() -> None:
    wrong = [where for room, name, where in house_imports() if against_the_flow(room, name)]
    assert not wrong, "\n".join(wrong)


def test_libraries_are_imported_in_their_own_rooms() -> None:
    wrong = [
        where
        for room, name, where in house_imports()
        if room not in HOMES.get(name.partition(".")[0], {room})
    ]
    assert not wrong, "\n".join(wrong)


def test_the_readme_lists_the_rooms_in_the_same_order() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)/` \|", text, re.MULTILINE)
    assert listed == [each for each in ROOMS if (HOUSE / each / "__init__.py").exists()]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import millpond.cli.main", ["millpond.cli.main"]),
        ("from millpond.run import x, y", ["millpond.run.x", "millpond.run.y"]),
        ("from millpond import cli", ["millpond.cli"]),
        ("def f():\n    from millpond.spark import x", ["millpond.spark.x"]),
        ("if 1:\n    class C:\n        import polars as pl", ["polars"]),
        ("from . import x", ["millpond.plan.x"]),
        ("from .. import cli", ["millpond.cli"]),
        ("from ..cli import x", ["millpond.cli.x"]),
    ],
)
def test_the_scan_sees_every_form_of_import(text: str, names: list[str]) -> None:
    assert [name for _, name in imported(ast.parse(text), "millpond.plan")] == names


@pytest.mark.parametrize(
    ("importer", "name", "wrong"),
    [
        ("plan", "millpond.schema.Stream", False),
        ("plan", "millpond.plan.node", False),
        ("plan", "millpond.language.read", True),
        ("diagnostic", "millpond.schema", True),
        ("run", "millpond.spark.java", True),
        ("spark", "millpond.run", True),
        ("cli", "millpond.spark", False),
        ("plan", "millpond.__version__", False),
        ("plan", "sqlglot.exp", False),
        ("", "millpond.cli.main", False),
    ],
)
def test_the_flow_is_told_right(importer: str, name: str, wrong: bool) -> None:
    assert against_the_flow(importer, name) is wrong
