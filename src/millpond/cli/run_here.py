"""`millpond run` in this process: input to a session, what it says to its output."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any, Protocol

from millpond.cli.late import LateRows
from millpond.cli.options import Engine, Instants, Options
from millpond.cli.output import Output, Rejects
from millpond.cli.progress import ProgressLine
from millpond.diagnostic import InputError, MillpondError
from millpond.memory import Verdict
from millpond.plan import Query, Script
from millpond.run import DefinitionRun, Emit, Event, LocalRun, Op, Reject, Session, Teller
from millpond.run.admission import admitted
from millpond.run.contents import Moment
from millpond.run.intake import Intake, Item, SourcesIntake, TaggedIntake
from millpond.run.values import plain_text
from millpond.schema import Kind, Type

_STEP = 256
"""Events that a query by definition is given at a time, so that Ctrl-C is not long in coming."""


class Tellers(Protocol):
    """Where the output of a run goes."""

    def teller(self, query: Query, several: bool) -> Teller[Any]: ...

    def write(self, said: Iterable[Any]) -> None: ...


def run_here(script: Script, verdicts: list[Verdict], options: Options) -> int:
    """Runs the queries of a script in this process."""
    committed = options.checkpoint is not None
    with ExitStack() as stack:
        late = stack.enter_context(LateRows(script, options.late, committed=committed))
        rejects = stack.enter_context(Rejects(options, committed=committed))
        waiting = stack.enter_context(_interruptible())
        runs = _runs(script, verdicts, options)
        if committed:
            from millpond.cli.run_committed import CommittedJob  # it takes a while to load

            job: Job = CommittedJob(script, options, runs, rejects, late, stack)
        else:
            output = stack.enter_context(Output(options.sink, script.queries, options.emit.value))
            session = session_of(script, runs, options, output, late)
            job = Job(script, options, session, output, rejects)
        job.run(waiting, ProgressLine(options.json, _bound(script, verdicts, options)))
    return 0


class Job:
    """A run from its first piece of input to its end."""

    def __init__(
        self,
        script: Script,
        options: Options,
        session: Session,
        output: Tellers,
        rejects: Rejects,
    ) -> None:
        self.options = options
        self.session = session
        self.output = output
        self.rejects = rejects
        self.rows = 0
        self.progress: ProgressLine | None = None
        self.intake = self.intake_of(script, None)

    def intake_of(self, script: Script, position: Any) -> Intake:
        """The input, from a position on."""
        sources, path = self.options.sources, self.options.input
        if path is None:
            return SourcesIntake(script.catalog, sources, position)
        marks = self.options.checkpoint is not None
        return TaggedIntake(script.catalog, path, sources, position, marks=marks)

    def run(self, waiting: Waiting, progress: ProgressLine) -> None:
        """Takes all of the input, and says what there is to say."""
        self.progress = progress
        try:
            try:
                for piece in _pieces(self.intake, self.options, waiting, self.settle):
                    self.take(piece)
                    if progress.due():
                        self._show(progress)
            except KeyboardInterrupt:
                self.interrupted()
                raise
            except MillpondError:
                self.failed()
                raise
            self.finish()
        finally:
            self._show(progress)
            progress.end()

    def take(self, piece: list[Item]) -> None:
        """A piece of the input, up to what the run has to end with."""
        events, stopped = accepted(piece, skip=self.options.skip)
        self.say(self.session.advance(events))
        self.reject(piece)
        self.rows += sum(each.op not in (Op.TIME, Op.END) for each in events)
        if self.session.failure is not None:
            raise self.session.failure
        if stopped is not None:
            raise InputError(stopped.diagnostic)

    def say(self, said: Sequence[Any]) -> None:
        """Writes output, not into the line that says how far the run is."""
        if said and self.progress is not None:
            self.progress.clear()
        self.output.write(said)

    def settle(self, waiting: Waiting) -> None:
        """Before more input is waited for."""

    def finish(self) -> None:
        """The input has ended."""
        self.say(self.session.finish())
        if self.session.failure is not None:
            raise self.session.failure

    def interrupted(self) -> None:
        """What was said, and held back, is all that is said."""
        self.say(self.session.finish(ended=False))

    def failed(self) -> None:
        """The same: it was true before something failed."""
        self.say(self.session.finish(ended=False))

    def reject(self, items: Iterable[Item]) -> None:
        """Writes bad rows to where they go, if the run goes on behind them."""
        if self.options.skip:
            for each in items:
                if isinstance(each, Reject):
                    self.rejects.add(each)

    def more(self) -> dict[str, int]:
        """What else there is to show."""
        return {}

    def _show(self, progress: ProgressLine) -> None:
        at, more = _instant(self.session)
        progress.show(
            rows=self.rows,
            at=at,
            units=self.session.units(),
            rejected=self.rejects.count,
            **more,
            **self.more(),
        )


def _runs(
    script: Script, verdicts: list[Verdict], options: Options
) -> list[LocalRun | DefinitionRun]:
    every = options.emit is Emit.ANSWERS
    return [
        admitted(
            query,
            verdicts[place] if verdicts else None,
            every=every,
            lowering=options.lowering,
            debug=options.debug,
        )
        for place, query in enumerate(script.queries)
    ]


def _bound(script: Script, verdicts: list[Verdict], options: Options) -> int | None:
    """The most units that all queries together can hold; None where that is not known."""
    if not verdicts or any(not each.runs or each.units is None for each in verdicts):
        return options.max_state
    return sum(each.units or 0 for each in verdicts)


def session_of(
    script: Script,
    runs: Sequence[LocalRun | DefinitionRun],
    options: Options,
    output: Tellers,
    late: LateRows,
) -> Session:
    """The session of some queries, whose output goes where `output` says."""
    several = len(script.queries) > 1
    tellers = [output.teller(query, several) for query in script.queries]
    return Session(
        script.catalog,
        zip(script.queries, runs, tellers, strict=True),
        options.emit,
        instants=options.instants.value,
        separate=options.input is None,
        late=late.add,
        limit=options.max_state,
    )


def _instant(session: Session) -> tuple[int | str, dict[str, int | str | None]]:
    """How far time has come: by count, or by the times that were read."""
    times = session.times()
    if times is None:
        return session.clock.now, {}
    kind, read, mark = times
    return _label(kind, read) or 0, {"watermark": _label(kind, mark), "late": session.late}


def _label(kind: Type, moment: Moment) -> int | str | None:
    if math.isinf(moment):
        return None
    return int(moment) if kind.kind is Kind.INTEGER else plain_text(kind)(int(moment))


def _pieces(
    intake: Intake, options: Options, waiting: Waiting, settle: Callable[[Waiting], None]
) -> Iterator[list[Item]]:
    """The input in batches: as it arrives, or of --batch-rows rows."""
    pieces = iter(intake)
    size, held = options.batch_rows, list[Item]()
    slow = options.engine is Engine.DEFINITION or options.allow_unbounded
    # A batch whose last instant alone is printed has to stay whole.
    whole = not slow or options.instants is Instants.BATCH
    while True:
        settle(waiting)
        with waiting.for_input():
            piece = next(pieces, None)
        if piece is None:
            break
        if size is None:
            step = max(1, len(piece)) if whole else _STEP
            for start in range(0, len(piece), step):
                waiting.stop_if_asked()
                yield piece[start : start + step]
            continue
        held += piece
        while len(held) >= size:
            yield held[:size]
            held = held[size:]
    if held:
        yield held


def accepted(piece: Sequence[Item], *, skip: bool) -> tuple[list[Event], Reject | None]:
    """The accepted events of a piece, up to a bad row at which the run has to stop."""
    events: list[Event] = []
    for each in piece:
        if isinstance(each, Event):
            events.append(each)
        elif not skip:
            return events, each
    return events, None


class Waiting:
    """Ctrl-C while waiting for input stops at once; while a batch is worked on, after it."""

    def __init__(self) -> None:
        self.interrupted = False
        self._waiting = False

    def stop_if_asked(self) -> None:
        if self.interrupted:
            raise KeyboardInterrupt

    @contextmanager
    def for_input(self) -> Iterator[None]:
        self.stop_if_asked()
        self._waiting = True
        try:
            yield
        finally:
            self._waiting = False

    def interrupt(self, signum: int, frame: FrameType | None) -> None:
        self.interrupted = True
        if self._waiting:
            raise KeyboardInterrupt


@contextmanager
def _interruptible() -> Iterator[Waiting]:
    waiting = Waiting()
    before = signal.signal(signal.SIGINT, waiting.interrupt)
    try:
        yield waiting
    finally:
        signal.signal(signal.SIGINT, before)
