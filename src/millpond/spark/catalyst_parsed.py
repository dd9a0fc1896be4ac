"""Columns that are read out of a text: `from_json` and its kin over a column of a source.

Whatever values its fields are to have, there is a text that says them, and nothing else is asked of
the text.  So the fields are columns of the source as good as any, in the place of the text.  Where
the text is asked for in another way, too, it is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from millpond.spark.catalyst import SOURCES, Expr, Operator, Output

_PARSERS = ("JsonToStructs", "CsvToStructs")


@dataclass(frozen=True)
class _Parsed:
    """What is read out of a column of a source: fields, with the numbers they have as columns."""

    text: int
    result: int
    fields: tuple[tuple[int, str, Any], ...] = field(hash=False)


def parsed(plan: Operator) -> Operator:
    """The plan with the fields of parsed texts as columns of the sources."""
    found: dict[int, set[_Parsed]] = {}
    for each in _parses(plan):
        found.setdefault(each.text, set()).add(each)
    if any(len(each) > 1 for each in found.values()):
        # The sides of a union have the same numbers, and may parse a text each for itself.
        return replace(plan, children=tuple(map(parsed, plan.children)))
    once = [one for each in found.values() for one in each]
    if not once:
        return plan
    return _Rewriter({x.text: x for x in once}, {x.result: x for x in once}).operator(plan)


def _parses(plan: Operator) -> Iterator[_Parsed]:
    sources = {each.id for one in plan.nodes if one.kind in SOURCES for each in one.output}
    for each in plan.nodes:
        for item in each.exprs("projectList") if each.kind == "Project" else ():
            made = item.children[0] if item.kind == "Alias" else item
            if made.kind not in _PARSERS or not isinstance(made.fields.get("schema"), dict):
                continue
            text = made.children[0]
            while text.kind == "Cast":
                text = text.children[0]
            if text.kind == "AttributeReference" and text.id in sources:
                yield _Parsed(text.id, item.id, tuple(_fields(plan, item.id, made)))


def _fields(plan: Operator, result: int, made: Expr) -> Iterator[tuple[int, str, Any]]:
    """The fields; one that gets a name of its own has the number of that."""
    named = {place: id_ for id_, place in reversed(list(_named(plan, result)))}
    for place, said in enumerate(made.fields["schema"]["fields"]):
        id_ = named.get(place, -(1_000 * (result + 1) + place))
        yield id_, str(said["name"]), said["type"]


def _named(plan: Operator, result: int) -> Iterator[tuple[int, int]]:
    for each in plan.nodes:
        for item in each.exprs("projectList") if each.kind == "Project" else ():
            if item.kind == "Alias" and (place := _field_of(item.children[0], result)) is not None:
                yield item.id, place


def _field_of(expr: Expr, result: int) -> int | None:
    """Which field of the result an expression is."""
    if expr.kind != "GetStructField" or expr.children[0].kind != "AttributeReference":
        return None
    return int(expr.fields["ordinal"]) if expr.children[0].id == result else None


class _Rewriter:
    def __init__(self, texts: Mapping[int, _Parsed], results: Mapping[int, _Parsed]) -> None:
        self._texts = texts
        self._results = results

    def operator(self, plan: Operator) -> Operator:
        output = tuple(x for each in plan.output for x in self._output(each))
        if plan.kind in SOURCES:
            return self._source(plan)
        placed = dict(plan.placed)
        names = (*placed, *(("keys",) if plan.kind == "Deduplicate" else ()))
        for name in names:
            placed[name] = tuple(x for each in plan.exprs(name) for x in self._item(each))
        children = tuple(map(self.operator, plan.children))
        return replace(plan, output=output, placed=placed, children=children)

    def _output(self, output: Output) -> Iterator[Output]:
        found = self._results.get(output.id)
        if found is None:
            yield output
        else:
            yield from (Output(id_, None) for id_, _, _ in found.fields)

    def _source(self, plan: Operator) -> Operator:
        """Its columns, with fields in the place of texts."""
        said, output = [], []
        for one, (column,) in zip(plan.output, plan.fields["output"], strict=True):
            found = self._texts.get(one.id)
            if found is None:
                said.append([column])
                output.append(one)
                continue
            for id_, name, type_ in found.fields:
                more = {"name": name, "dataType": type_, "nullable": True, "exprId": {"id": id_}}
                said.append([{**column, **more}])
                output.append(Output(id_, None))
        return replace(plan, fields={**plan.fields, "output": said}, output=tuple(output))

    def _item(self, expr: Expr) -> Iterator[Expr]:
        """A whole result, or a column of it, as the columns of the source that they are."""
        if expr.kind in ("Alias", "AttributeReference") and expr.id in self._results:
            found = self._results[expr.id]
            yield from (_column(id_, name) for id_, name, _ in found.fields)
            return
        inner = self._expr(expr)
        same = inner.kind == "Alias" and inner.children[0].kind == "AttributeReference"
        if same and inner.children[0].id == inner.id:
            yield _column(inner.id, inner.name)
        else:
            yield inner

    def _expr(self, expr: Expr) -> Expr:
        for result, found in self._results.items():
            place = _field_of(expr, result)
            if place is not None:
                id_, name, _ = found.fields[place]
                return replace(_column(id_, name), span=expr.span)
        return replace(expr, children=tuple(map(self._expr, expr.children)))


def _column(id_: int, name: str) -> Expr:
    return Expr("AttributeReference", {"name": name, "exprId": {"id": id_}, "dataType": None}, ())
