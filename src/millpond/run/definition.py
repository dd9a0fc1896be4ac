"""Running by definition: the plan evaluated from scratch over the current contents of its inputs.

Slow and plain on purpose: this is the executable semantics that every other way to run is compared
with (design.md, semantics 2 and 3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from millpond.plan import (
    COMPARISONS,
    ColumnRef,
    Comparison,
    Cross,
    Distinct,
    Filter,
    Literal,
    Node,
    Project,
    Query,
    Scan,
)

Row = tuple[int | None, ...]
Bag = Counter[Row]
Contents = Mapping[str, Sequence[Row]]
"""The rows of each stream so far, by its name."""


def evaluate(node: Node, contents: Contents) -> Bag:
    """The bag that a node is over these contents."""
    match node:
        case Scan():
            return Counter(contents[node.stream.name])
        case Cross():
            result: Bag = Counter({(): 1})
            for each in node.inputs:
                factor = evaluate(each, contents)
                result = Counter(
                    {
                        (*left, *right): n * m
                        for left, n in result.items()
                        for right, m in factor.items()
                    }
                )
            return result
        case Filter():
            tests = [_test(node.input, each) for each in node.predicates]
            return Counter(
                {
                    row: n
                    for row, n in evaluate(node.input, contents).items()
                    if all(test(row) for test in tests)
                }
            )
        case Project():
            values = [_value(node.input, item.expression) for item in node.items]
            projected: Bag = Counter()
            for row, n in evaluate(node.input, contents).items():
                projected[tuple(value(row) for value in values)] += n
            return projected
        case Distinct():
            return Counter(dict.fromkeys(evaluate(node.input, contents), 1))


def _value(node: Node, expression: ColumnRef | Literal) -> Callable[[Row], int | None]:
    if isinstance(expression, Literal):
        constant = expression.value
        return lambda row: constant
    place = next(
        place
        for place, field in enumerate(node.fields)
        if field.alias == expression.alias and field.name == expression.name
    )
    return lambda row: row[place]


def _test(node: Node, comparison: Comparison) -> Callable[[Row], bool]:
    """Whether a comparison is true; unknown is not."""
    left, right = _value(node, comparison.left), _value(node, comparison.right)
    holds = COMPARISONS[comparison.op]

    def test(row: Row) -> bool:
        x, y = left(row), right(row)
        return x is not None and y is not None and holds(x, y)

    return test


class DefinitionRun:
    """Keeps all input, and asks the query again after every instant."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._contents: dict[str, list[Row]] = {each.name: [] for each in query.streams}
        self._answer: Bag = Counter()

    def instant(self, rows: Sequence[tuple[str, Row]]) -> Iterator[tuple[Row, int]]:
        """Takes the rows of one instant; gives the changes of the answer."""
        for stream, row in rows:
            self._contents[stream].append(row)
        new = evaluate(self._query.root, self._contents)
        old, self._answer = self._answer, new
        for row in {**old, **new}:
            if new[row] != old[row]:
                yield row, new[row] - old[row]

    def units(self) -> int:
        """Attribute values held: all of the input."""
        return sum(len(row) for rows in self._contents.values() for row in rows)
