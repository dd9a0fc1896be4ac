"""What a query says of some rows after others, by definition: the question that a witness asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from millpond.plan import Query, monotonic
from millpond.plan.without_user_code import without_user_code
from millpond.run.definition import DefinitionRun
from millpond.schema import Row


class Responses:
    """The responses of one query, each asked once; no code of a user is run for them."""

    def __init__(self, query: Query) -> None:
        self._query = without_user_code(query)
        self._growing = monotonic(query.root)
        self._times = {each.name: each.time_place for each in query.streams}

    def __call__(
        self, before: Sequence[tuple[str, Row]], probe: Sequence[tuple[str, Row]]
    ) -> frozenset[tuple[Row, int]]:
        """The changes that the probe causes, or, for a query that keeps an answer, the answer after
        it.  Rows before it are one instant, those of the probe another."""
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
