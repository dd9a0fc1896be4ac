"""What a query does and what it keeps: its plan, its verdict, and the program that runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millpond.memory import Verdict
from millpond.plan import (
    HANGING,
    Node,
    Query,
    column_texts,
    label,
    monotonic,
    plan_dict,
    tree_lines,
)
from millpond.program import (
    EmittedSet,
    Keep,
    Operator,
    Program,
    Reduction,
    RowSet,
    Select,
    SynopsisJoin,
)
from millpond.program.expression import (
    Arith,
    At,
    Compare,
    Condition,
    Field,
    Greatest,
    Int,
    IsNull,
    Least,
    Local,
    NotNull,
    Number,
)
from millpond.program.grouping import GroupedProgram, Grouping, Groups, Tally
from millpond.report.cells import cells, filled, printable
from millpond.report.style import PLAIN, Style
from millpond.report.verdict_json import verdict_dict
from millpond.report.verdict_text import render_verdict

_WIDTH = 90
"""What a line of the tree may take where its words allow it."""


def explain_lines(
    query: Query, verdict: Verdict, program: Program | None, style: Style = PLAIN
) -> list[str]:
    """The plan, the verdict and the program, for reading."""
    pattern = "  (every edge only adds rows: MON)" if monotonic(query.root) else ""
    lines = [style.bold("plan") + pattern]
    tree = tree_lines(query.root, lambda node, room: _described(node, room, style), _WIDTH)
    lines += ["  " + each for each in tree]
    lines += [style.bold("verdict")]
    said = render_verdict(verdict, style, query=query, why=True)
    lines += ["  " + each for each in said.splitlines()]
    if program is not None:
        lines += [style.bold("program")]
        if not program.runs:
            lines.append("  the answer is always empty: nothing runs")
        for operator in program.operators:
            lines += ["  " + each for each in _operator(operator)]
        if isinstance(program, GroupedProgram):
            lines += ["  " + each for each in _grouping(program.grouping)]
    return lines


def _described(node: Node, room: int, style: Style) -> list[str]:
    """What a node does, and the columns that it makes: behind it, or below where that is long."""
    said = printable(label(node))
    columns = _listed([printable(each) for each in column_texts(node)])
    behind = "".join(f" {each}" for each in columns)
    if columns and cells(f"{said} {behind}") <= room:
        return [said + style.dim(f" {behind}")]
    lines = [said] if cells(said) <= room else filled(said.split(), room - HANGING)
    return [*lines, *(style.dim(each) for each in filled(columns, room - HANGING))]


def _listed(texts: Sequence[str]) -> list[str]:
    """The parts of `(a, b, c)`, each of which stays on one line."""
    if not texts:
        return []
    found = [f"{each}," for each in texts]
    found[0] = f"({found[0]}"
    found[-1] = f"{found[-1][:-1]})"
    return found


def _operator(operator: Operator) -> list[str]:
    if isinstance(operator, Select):
        return [f"select from {operator.stream} {_where(operator.guard)}", *_lowerings(operator)]
    if isinstance(operator, EmittedSet):
        keys = ", ".join(f"{key.name} in {key.low}..{key.high}" for key in operator.keys)
        return [f"emitted set by ({keys}): each row once", *_lowerings(operator)]
    if isinstance(operator, RowSet):
        return [f"set of rows of {operator.width} values: each row once"]
    lines = ["synopsis join" if len(operator.inputs) > 1 else "pass on"]
    for parts in operator.inputs:
        lines += [line for each in parts for line in _reduction(each)]
    return [*lines, *_lowerings(operator)]


def _reduction(reduction: Reduction) -> list[str]:
    lines = [f"  {reduction.name}: rows of {reduction.stream} {_where(reduction.guard)}"]
    by = ", ".join(
        key.name
        if _number(key.value) == key.name
        else f"{_number(key.value)} in {key.low}..{key.high}"
        for key in reduction.keys
    )
    what = {
        Keep.COUNT: "a count",
        Keep.FLAG: "a flag",
        Keep.NOTHING: "nothing",
        Keep.EXTREME: " and ".join(
            f"the {'least' if best.least else 'greatest'} {_number(best.value)}"
            for best in reduction.bests
        ),
        Keep.AGGREGATE: " and ".join(
            [
                *(best.name for best in reduction.bests),
                *(f"the {each.name}" for each in reduction.held),
            ]
        ),
    }[reduction.keep]
    per = f" per value of ({by})" if by else ""
    layout = "" if reduction.dense else ", each with its key"
    lines.append(f"    keeps {what}{per}{layout}: at most {reduction.certificate} units")
    return lines


def _grouping(grouping: Grouping) -> list[str]:
    """What is kept of each group, and of the values of each."""
    lines = ["groups"]
    held = " and ".join(f"the {each.name}" for each in grouping.groups.held)
    lines.append(f"  {_kept(held or 'a mark', grouping.groups)}")
    for each in grouping.tallies:
        what = "how often it came" if each.keep is Keep.COUNT else "a flag"
        lines.append(f"  {each.name}: {_kept(what, each)}")
    return [*lines, "  steps: bulk, tick (interpreted)"]


def _kept(what: str, store: Groups | Tally) -> str:
    by = ", ".join(f"{key.name} in {key.low}..{key.high}" for key in store.keys)
    per = f" per value of ({by})" if by else ""
    layout = "" if store.dense else ", each with its key"
    return f"keeps {what}{per}{layout}: at most {store.certificate} units"


def _lowerings(operator: Operator) -> list[str]:
    if isinstance(operator, SynopsisJoin) and not all(
        best.whole for parts in operator.inputs for each in parts for best in each.bests
    ):
        return ["  steps: tick (interpreted)"]
    dense = getattr(operator, "dense", True)
    return [f"  steps: bulk, tick{'' if dense else ' (interpreted)'}"]


def _where(guard: tuple[Condition, ...]) -> str:
    if not guard:
        return "(all of them)"
    return "where " + " and ".join(_condition(each) for each in guard)


def _condition(condition: Condition) -> str:
    match condition:
        case Compare(op, left, right):
            return f"{_number(left)} {'=' if op == '==' else op} {_number(right)}"
        case NotNull(field):
            return f"{field} is not null"
        case IsNull(field):
            return f"{field} is null"


def _number(number: Number) -> str:
    match number:
        case Int(value):
            return str(value)
        case Field(name) | Local(name):
            return name
        case Arith(op, left, right):
            return f"{_number(left)} {op} {_number(right)}"
        case Greatest(operands):
            return f"max({', '.join(_number(each) for each in operands)})"
        case Least(operands):
            return f"min({', '.join(_number(each) for each in operands)})"
        case At(array, index):
            return f"{array}[{_number(index)}]"


def explain_dict(query: Query, verdict: Verdict, program: Program | None) -> dict[str, Any]:
    """The same as JSON-ready data."""
    return {
        "name": query.name,
        "plan": plan_dict(query.root),
        "verdict": verdict_dict(verdict),
        "program": None
        if program is None
        else {
            "fingerprint": program.fingerprint,
            "certificate": program.certificate,
            "operators": [
                {"kind": type(each).__name__, "says": _operator(each)} for each in program.operators
            ],
        },
    }
