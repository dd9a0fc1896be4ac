"""What a query says of some rows after others, by definition: the question that a witness asks.

Of a query over all rows so far, the plan is built once and asked of one content after another; one
with windows is run anew each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from millpond.plan import (
    Assign,
    Changes,
    Node,
    Query,
    Results,
    Scan,
    Window,
    monotonic,
    nodes,
)
from millpond.plan.without_user_code import without_user_code
from millpond.run.contents import Bag, Contents, Log
from millpond.run.definition import DefinitionRun, unaliased
from millpond.run.definition_nodes import Builder, bag
from millpond.schema import Row


class Responses:
    """The responses of one query, each asked once; no code of a user is run for them."""

    def __init__(self, query: Query) -> None:
        self._query = without_user_code(query)
        self._growing = monotonic(query.root)
        self._times = {each.name: each.time_place for each in query.streams}
        root = unaliased(self._query.root)
        self._plain = all(_of_all_rows(each) for each in nodes(root))
        self._contents = Contents(self._query.sources)
        if self._plain:
            self._ask = Builder(self._contents, _derive_nothing, external=False).build(root)
        self._first: tuple[Sequence[tuple[str, Row]], Bag] | None = None
        """The answer to the rows that were asked about last."""

    def __call__(
        self, before: Sequence[tuple[str, Row]], probe: Sequence[tuple[str, Row]]
    ) -> frozenset[tuple[Row, int]]:
        """The changes that the probe causes, or, for a query that keeps an answer, the answer after
        it.  Rows before it are one instant, those of the probe another."""
        return self._asked(before, probe) if self._plain else self._run(before, probe)

    def _asked(
        self, before: Sequence[tuple[str, Row]], probe: Sequence[tuple[str, Row]]
    ) -> frozenset[tuple[Row, int]]:
        if self._first is None or self._first[0] is not before:
            self._first = before, self._answer(before, ())
        first = self._first[1] if self._growing else Bag()
        if not before and not probe:
            return frozenset()
        now = self._answer(before, probe)
        return frozenset((row, now[row] - first[row]) for row in now if now[row] != first[row])

    def _answer(self, before: Sequence[tuple[str, Row]], probe: Sequence[tuple[str, Row]]) -> Bag:
        for log in self._contents.logs.values():
            log.rows.clear()
            log.at.clear()
        for at, rows in ((1, before), (2, probe)):
            for stream, row in rows:
                self._contents.logs[stream].add(self._at(stream, row, at), at)
        return bag(self._ask(2))

    def _run(
        self, before: Sequence[tuple[str, Row]], probe: Sequence[tuple[str, Row]]
    ) -> frozenset[tuple[Row, int]]:
        run = DefinitionRun(self._query)
        answer: Counter[Row] = Counter()
        for at, rows in ((1, before), (2, probe)):
            for stream, row in rows:
                run.contents.logs[stream].add(self._at(stream, row, at), at)
            if at == 2 and self._growing:
                answer.clear()
            for refresh in run.refreshes(at, inclusive=True):
                for changed, n in refresh.changes:
                    answer[changed] += n
        return frozenset((row, n) for row, n in answer.items() if n)

    def _at(self, stream: str, row: Row, at: int) -> Row:
        place = self._times[stream]
        return row if place is None else (*row[:place], at, *row[place + 1 :])


def _of_all_rows(node: Node) -> bool:
    """Whether a node asks for nothing but rows of streams, all of those so far."""
    if isinstance(node, Scan):
        return node.stream.is_stream
    return not isinstance(node, Window | Assign | Changes | Results)


def _derive_nothing(node: Changes | Results) -> Log:
    raise TypeError(f"{type(node).__name__} is no node of a plain plan")
