"""One row at a time: plain values in, plain changes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from millpond.schema import IntegerType, Stream

if TYPE_CHECKING:
    from millpond.api.changes import Told
    from millpond.api.run import Run
    from millpond.run.row_step import RowStep

_SAFE = 1 << 62
"""Numbers beyond it go the way of any batch."""


class Feeder:
    """Takes the rows of a stream one at a time; `Run.feeder` makes one.

    Each call gives the changes that the row causes: a list of `(row, n, at)`, with the row as a
    tuple of values.

    >>> import millpond as mp
    >>> pond = mp.Pond("CREATE STREAM s (a INT, b INT); CREATE STREAM t (d INT)")
    >>> q = pond.query("SELECT DISTINCT s.a FROM s, t WHERE s.b < t.d AND s.a = 10")
    >>> run = q.start()
    >>> s, t = run.feeder("s"), run.feeder("t")
    >>> s(10, 1), t(1), t(2)
    ([], [], [((10,), 1, 3)])
    """

    def __init__(
        self, run: Run, stream: Stream, step: RowStep | None, push: Callable[[tuple[Any, ...]], Any]
    ) -> None:
        self._run = run
        self._stream = stream
        self._push = push
        self._step = step if all(map(_ranged, stream.columns)) else None
        self._ranges = [
            (
                -_SAFE if each.values.low is None else max(-_SAFE, each.values.low),
                _SAFE if each.values.high is None else min(_SAFE, each.values.high),
                each.nullable,
            )
            for each in stream.columns
        ]
        wanted = () if step is None else step.columns
        self._places = [stream.names.index(each) for each in wanted]
        self._all = self._places == list(range(len(stream.names)))

    def __call__(self, *values: Any) -> list[Told]:
        """The next row, in the order of the columns."""
        step = self._step
        if step is None or len(values) != len(self._ranges):
            return list(self._push(values))
        for value, (low, high, nullable) in zip(values, self._ranges, strict=True):
            if type(value) is int and low <= value <= high:
                continue
            if value is not None or not nullable:
                return list(self._push(values))
        row = values if self._all else tuple([values[place] for place in self._places])
        told = self._run._fed(self._stream, step, row)
        return list(self._push(values)) if told is None else told


def _ranged(column: Any) -> bool:
    """Whether the integers from one to another are what a column takes."""
    return isinstance(column.type, IntegerType) and column.check.among is None
