"""`millpond run --checkpoint` in this process.

Everything that decides what is said next is committed from time to time: the session, the position
in the input, the length of the output.  Whatever ends the run, the next one goes on there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack

from millpond.cli.late import LateRows
from millpond.cli.options import Options
from millpond.cli.output import Rejects
from millpond.cli.run_here import Job, Waiting, accepted, session_of
from millpond.diagnostic import InputError, RefusedError
from millpond.plan import Script
from millpond.run import DefinitionRun, Event, LocalRun, Op, Reject
from millpond.run.checkpoint import Checkpoint
from millpond.run.committed import committed_sink
from millpond.run.intake import Item

_SECONDS, _ROWS = 5.0, 1_000_000
"""A commit is made behind so many rows, or after that time: whichever comes first."""
_SHARE = 20
"""Commits take at most one part in so many of the time."""


class CommittedJob(Job):
    """A run with a checkpoint."""

    def __init__(
        self,
        script: Script,
        options: Options,
        runs: Sequence[LocalRun | DefinitionRun],
        rejects: Rejects,
        late: LateRows,
        stack: ExitStack,
    ) -> None:
        sink = committed_sink(options.sink, script.queries, options.emit.value)
        session = session_of(script, runs, options, sink, late)
        super().__init__(script, options, session, sink, rejects)
        assert options.checkpoint is not None
        self._sink = sink
        self._late = late
        self._checkpoint = Checkpoint(
            options.checkpoint,
            script.catalog,
            list(zip(script.queries, runs, strict=True)),
            **{
                "input": "one tagged file" if options.input is not None else "sources",
                "--emit": options.emit.value,
                "--instants": options.instants.value,
            },
        )
        said = self._checkpoint.open(session)
        stack.callback(self._checkpoint.close)
        stack.callback(sink.close)
        fresh, before = self._checkpoint.fresh, said or {}
        sink.begin(before.get("output"), fresh=fresh)
        rejects.file.begin(before.get("rejects"), fresh=fresh)
        late.file.begin(before.get("late"), fresh=fresh)
        if said is not None:
            self.rows, rejects.count = said["rows"], said["rejected"]
            late.count = session.late
            self.intake = self.intake_of(script, said["position"])
        self._last, self._cost, self._committed = time.monotonic(), 0.0, self.rows
        self._dirty = False

    def take(self, piece: list[Item]) -> None:
        events, stopped = accepted(piece, skip=self.options.skip)
        self.say(self.session.advance(events))
        failure = self.session.failure
        taken = events[: self.session.taken]
        self.rows += sum(each.op not in (Op.TIME, Op.END) for each in taken)
        if isinstance(failure, RefusedError):  # nothing has come of the event that it was about
            self._took(_through(piece, len(taken)))
            self.commit()
        if failure is not None:
            raise failure
        if stopped is not None:
            self._took(_before(piece, stopped))
            self.commit()
            raise InputError(stopped.diagnostic)
        self._took(piece)
        self._dirty = True
        if self._due():
            self.commit()

    def _took(self, items: Sequence[Item]) -> None:
        self.reject(items)
        self.intake.took(items)

    def settle(self, waiting: Waiting) -> None:
        """Commits what has been said when no more input comes that could make a commit due."""
        if not self._dirty:
            return
        with waiting.for_input():
            quiet = self.intake.quiet(max(0.0, self._interval - self._since))
        if quiet:
            self.commit()

    def finish(self) -> None:
        super().finish()
        self.commit()

    def interrupted(self) -> None:
        """The run that goes on says what is held back."""
        self.commit()

    def failed(self) -> None:
        """What could be committed has been."""

    def more(self) -> dict[str, int]:
        """How many commits there are."""
        return {"commit": self._checkpoint.next - 1}

    def _due(self) -> bool:
        return self._since >= self._interval or self.rows - self._committed >= _ROWS

    @property
    def _since(self) -> float:
        return time.monotonic() - self._last

    @property
    def _interval(self) -> float:
        return max(_SECONDS, _SHARE * self._cost)

    def commit(self) -> None:
        """Commits what there is, where one can go on from."""
        position = self.intake.position()
        if position is None:
            return
        start = time.monotonic()
        self._checkpoint.commit(
            self.session,
            {
                "position": position,
                "rows": self.rows,
                "rejected": self.rejects.count,
                "output": self._sink.prepare(self._checkpoint.next),
                "rejects": self.rejects.file.prepare(),
                "late": self._late.file.prepare(),
            },
        )
        self._sink.publish()
        self._last, self._committed = time.monotonic(), self.rows
        self._cost = self._last - start
        self._dirty = False


def _through(piece: Sequence[Item], events: int) -> Sequence[Item]:
    """The items up to the last of so many events."""
    for place, each in enumerate(piece):
        if isinstance(each, Event):
            if not events:
                return piece[:place]
            events -= 1
    return piece


def _before(piece: Sequence[Item], stopped: Reject) -> Sequence[Item]:
    return piece[: next(place for place, each in enumerate(piece) if each is stopped)]
