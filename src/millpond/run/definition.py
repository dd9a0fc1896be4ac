"""Running by definition: the plan evaluated from scratch over what its inputs hold.

Slow and plain on purpose: this is the executable semantics that every other way to run is compared
with (design.md, semantics 1 to 4; Golab, Definitions 2.1 and 3.1).  An `Answers` is a plan that
has an answer at each of its instants; a `Given` is one that gives rows at them, and what it gives
is the log of a derived stream for the plan above it, which is another run with instants of its
own.  All runs of one query look at the same `Contents`, and each is asked, in order of time, about
every moment at which something may change.

Instants are the timestamps of rows and the changes of tables, and, only where the answer changes,
the times at which windows do by themselves.  A plan all of whose streams are read through a SLIDE
has instants at slide boundaries, from the first one after its first row on, changed or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple, cast

from millpond.plan import Alias, Change, Changes, Node, Query, Results, Scan, Window, nodes, scans
from millpond.run.contents import BEFORE, NEVER, Bag, Contents, Lived, Log, Moment
from millpond.run.definition_nodes import Builder, bag
from millpond.run.kept import AnswersKept, DefinitionKept
from millpond.run.values import order_key
from millpond.run.windows import RangeWindow, RowsWindow, Slid
from millpond.schema import Row


class Refresh(NamedTuple):
    """What a query says at one of its instants: the changes, or the rows that it gives."""

    at: int
    changes: list[tuple[Row, int]]


@dataclass(frozen=True)
class _Look:
    """The value of a plan at a moment, and before it."""

    instant: bool
    before: Bag
    now: Bag
    lived: list[Lived]


class Answers:
    """A plan that has an answer at each instant.

    With `every`, no slide boundary is passed over, also where nothing changes; with `external`,
    INTERNAL windows are taken as external ones.
    """

    def __init__(
        self, node: Node, contents: Contents, *, external: bool = False, every: bool = False
    ) -> None:
        self._contents = contents
        self._external = external
        self._every = every
        self._derived: list[Derived] = []
        builder = Builder(contents, self._derive, external=external)
        self._ask = builder.build(node)
        self.fields = node.fields
        self._leaves = builder.leaves
        self._streams = [contents.logs[each] for each in _names(node, streams=True)]
        self._tables = [contents.tables[each] for each in _names(node, streams=False)]
        self.sliding = slides(node)
        self.boundaries: list[Slid] = [
            each
            for each in builder.windows
            if isinstance(each, RangeWindow | RowsWindow) and each.slides
        ]
        self.boundaries += [b for each in self._derived for b in each.boundaries]
        self._now: Moment = BEFORE
        self._asked: Moment | None = None
        self._last = _Look(False, Bag(), Bag(), [])

    def _derive(self, node: Changes | Results) -> Log:
        derived = Derived(node, self._contents, external=self._external)
        self._derived.append(derived)
        return derived.log

    def next_due(self) -> Moment:
        """The next moment at which there may be an instant."""
        now = self._now
        due = min(
            [
                *(each.next_due(now) for each in self._leaves),
                *(each.next_due() for each in self._derived),
                *(each.next_due(now) for each in self._tables),
            ],
            default=NEVER,
        )
        if not self.sliding:
            logs = (*self._streams, self._contents.ticks)
            return min([due, *(each.next_due(now) for each in logs)])
        start = self._start()
        if now < start:
            return min(due, start)
        if self._every:
            return min([due, *(each.next_boundary(now) for each in self.boundaries)])
        return due

    def look(self, at: int) -> _Look:
        """The answer at the next moment that is due."""
        for each in self._derived:
            each.move(at)
        self._now = at
        if self.sliding and at < self._start():
            return _Look(False, self._last.now, self._last.now, [])
        before, asked = self._last.now, self._asked
        if asked is None or any(each.next_due(asked) <= at for each in self._leaves):
            lived = self._ask(at)
            now, self._asked = bag(lived), at
        else:
            lived, now = [], before
        self._last = _Look(self._scheduled(at) or now != before, before, now, lived)
        return self._last

    def answer(self) -> Bag:
        """The answer at the moment that was last looked at."""
        return self._last.now

    def boundary_from(self, at: Moment) -> Moment:
        """The first boundary at which what happens at a moment can be seen."""
        return min((each.boundary_from(at) for each in self.boundaries), default=NEVER)

    def _start(self) -> Moment:
        """The first boundary after the first row."""
        first = min((each.at[0] for each in self._streams if each.at), default=NEVER)
        return self.boundary_from(first) if first != NEVER else NEVER

    def _scheduled(self, at: int) -> bool:
        """Whether there is an instant even if nothing changes."""
        if any(each.has(at) for each in self._tables):
            return True
        if self.sliding:
            return any(each.is_boundary(at) for each in self.boundaries)
        return any(each.has(at) for each in (*self._streams, self._contents.ticks))

    def all(self) -> Iterator[Answers]:
        """This plan, and every plan that one of its derived streams runs."""
        yield self
        for each in self._derived:
            yield from each.all()

    def logs(self) -> Iterator[Derived]:
        """Every derived stream, from the top down."""
        for each in self._derived:
            yield each
            yield from each.logs()

    def snapshot(self) -> AnswersKept:
        """How far it is; its derived streams have snapshots of their own."""
        return AnswersKept(self._now, self._asked, self._last.now)

    def restore(self, kept: AnswersKept) -> None:
        self._now, self._asked = kept.now, kept.asked
        self._last = _Look(False, kept.last, kept.last, [])

    def units(self) -> int:
        """Attribute values held by derived streams."""
        return sum(each.units() for each in self._derived)


class Given:
    """What ISTREAM, DSTREAM or RSTREAM gives at each instant of its input."""

    def __init__(
        self, node: Changes, contents: Contents, *, external: bool, every: bool = False
    ) -> None:
        every = every or node.change is Change.RSTREAM
        self.answers = Answers(node.input, contents, external=external, every=every)
        self._change = node.change
        self._between: _Between | None = None
        if node.restore and self.answers.sliding:
            eager = Answers(eagerly(node.input), contents, external=external)
            self._between = _Between(eager, self.answers)

    def next_due(self) -> Moment:
        due = self.answers.next_due()
        return due if self._between is None else min(due, self._between.next_due())

    def at(self, at: int) -> Bag | None:
        """The rows of the next moment that is due; None if it is no instant."""
        seen = self.answers.look(at)
        if not seen.instant:
            return None
        if self._between is None:
            return _given(self._change, seen)
        came, went = self._between.take(at)
        match self._change:
            case Change.ISTREAM:
                return came
            case Change.DSTREAM:
                return went
        return seen.now | came

    def all(self) -> Iterator[Answers]:
        yield from self.answers.all()
        if self._between is not None:
            yield from self._between.eager.all()

    def logs(self) -> Iterator[Derived]:
        yield from self.answers.logs()
        if self._between is not None:
            yield from self._between.eager.logs()

    def units(self) -> int:
        return self.answers.units() + (0 if self._between is None else self._between.units())


def _given(change: Change, seen: _Look) -> Bag:
    match change:
        case Change.ISTREAM:
            return seen.now - seen.before
        case Change.DSTREAM:
            return seen.before - seen.now
    return seen.now


class _Between:
    """What came and went between two refreshes of a sliding plan: its changes if it were asked at
    all times (Golab, 3.3.4).

    A refresh at a boundary of time sees what came before it; one that an M-th row makes sees that
    row, too.
    """

    def __init__(self, eager: Answers, sliding: Answers) -> None:
        self.eager = eager
        self._sliding = sliding
        self._inclusive = all(each.by_rows for each in sliding.boundaries)

    def next_due(self) -> Moment:
        """When what happens next has to be said."""
        due = self.eager.next_due()
        return NEVER if due == NEVER else self._sliding.boundary_from(due)

    def take(self, at: int) -> tuple[Bag, Bag]:
        """What came and what went since the last refresh, added up."""
        came, went = Bag(), Bag()
        while (due := self.eager.next_due()) < at or (self._inclusive and due == at):
            seen = self.eager.look(int(due))
            came += seen.now - seen.before
            went += seen.before - seen.now
        return came, went

    def units(self) -> int:
        return self.eager.units()


class GivenResults:
    """Every result of a plan, when it is given: when the last of its parts came in, or when the
    answer has it more often than before (Golab, 3.3.2)."""

    def __init__(self, node: Results, contents: Contents) -> None:
        self.answers = Answers(node.input, contents, external=True)

    def next_due(self) -> Moment:
        return self.answers.next_due()

    def at(self, at: int) -> Bag | None:
        """The results of the next moment that is due; None if it is no instant."""
        seen = self.answers.look(at)
        entered = Bag(row for row, enter, _ in seen.lived if enter == at)
        given = entered | (seen.now - seen.before)
        return given if seen.instant or given else None

    def all(self) -> Iterator[Answers]:
        yield from self.answers.all()

    def logs(self) -> Iterator[Derived]:
        yield from self.answers.logs()

    def units(self) -> int:
        return self.answers.units()


class Derived:
    """A plan that gives rows, run as a stream of its own."""

    def __init__(self, node: Changes | Results, contents: Contents, *, external: bool) -> None:
        self.log = Log()
        self.fields = node.fields
        self._width = len(node.fields)
        self._run = (
            GivenResults(node, contents)
            if isinstance(node, Results)
            else Given(node, contents, external=external)
        )

    @property
    def boundaries(self) -> list[Slid]:
        return self._run.answers.boundaries

    def all(self) -> Iterator[Answers]:
        return self._run.all()

    def logs(self) -> Iterator[Derived]:
        return self._run.logs()

    def next_due(self) -> Moment:
        return self._run.next_due()

    def move(self, at: int) -> None:
        """Runs through an instant; rows of one instant come in the order in which output has
        them."""
        while self.next_due() <= at:
            due = int(self.next_due())
            given = self._run.at(due)
            for row in sorted((given or Bag()).elements(), key=order_key):
                self.log.add(row, due)

    def units(self) -> int:
        return len(self.log) * self._width + self._run.units()


class DefinitionRun:
    """Keeps all input, and asks the query again at every instant.

    Whoever drives it puts rows and changes of tables into `contents`, in order of time, and then
    asks for the instants that are closed.  With `every`, slide boundaries at which nothing changes
    are instants that are said, too.
    """

    def __init__(self, query: Query, *, every: bool = False) -> None:
        self.query = query
        self.contents = Contents(query.sources)
        self._every = every
        self._given: Given | None = None
        self._answers: Answers | None = None
        self._now = 0
        self._said = Bag()
        root = unaliased(query.root)
        if isinstance(root, Changes):
            self._given = Given(root, self.contents, external=False, every=every)
        else:
            self._answers = Answers(root, self.contents, every=every)

    def next_due(self) -> Moment:
        """The next moment at which there may be an instant."""
        return self._plan.next_due()

    def refreshes(self, end: Moment, *, inclusive: bool = False) -> Iterator[Refresh]:
        """The instants before a time that have not been said yet; with `inclusive`, its own too."""
        while (due := self.next_due()) < end or (inclusive and due == end and due != NEVER):
            changes = self._at(int(due))
            if changes is not None:
                yield Refresh(int(due), changes)

    @property
    def _plan(self) -> Given | Answers:
        plan = self._answers if self._given is None else self._given
        assert plan is not None
        return plan

    def _at(self, at: int) -> list[tuple[Row, int]] | None:
        if self._given is not None:
            given = self._given.at(at)
            if given is None:
                return None
            self._said = given
            return list(given.items())
        assert self._answers is not None
        seen = self._answers.look(at)
        if not seen.instant:
            return None
        changed = {**seen.before, **seen.now} if seen.before != seen.now else {}
        differences = ((row, seen.now[row] - seen.before[row]) for row in changed)
        return [(row, n) for row, n in differences if n]

    def instant(self, rows: list[tuple[str, Row]]) -> Iterator[tuple[Row, int]]:
        """Takes the rows of one instant of untimed input, which are counted here; gives the
        changes."""
        self._now += 1
        if not rows:
            self.contents.ticks.add((), self._now)
        for stream, row in rows:
            self.contents.logs[stream].add(row, self._now)
        for refresh in self.refreshes(self._now, inclusive=True):
            yield from refresh.changes

    def answer(self) -> Bag:
        """The answer after the last instant that was said; of rows that are given at instants,
        those of the last one."""
        return self._said if self._answers is None else self._answers.answer()

    def answers(self) -> list[Answers]:
        """The plans that are asked, from the top down."""
        return list(self._plan.all())

    def derived(self) -> list[Derived]:
        """The derived streams, from the top down."""
        return list(self._plan.logs())

    def snapshot(self) -> DefinitionKept:
        """All that it holds, to go back to or to go on from."""
        contents = self.contents
        return DefinitionKept(
            {name: log.snapshot() for name, log in contents.logs.items()},
            {name: table.snapshot() for name, table in contents.tables.items()},
            contents.ticks.snapshot(),
            [each.snapshot() for each in self.answers()],
            [each.log.snapshot() for each in self.derived()],
            self._said,
        )

    def restored(self, kept: DefinitionKept) -> DefinitionRun:
        """A run of the same query that goes on from a snapshot."""
        run = DefinitionRun(self.query, every=self._every)
        for name, log in kept.logs.items():
            run.contents.logs[name].restore(log)
        for name, table in kept.tables.items():
            run.contents.tables[name].restore(table)
        run.contents.ticks.restore(kept.ticks)
        for answers, said in zip(run.answers(), kept.answers, strict=True):
            answers.restore(said)
        for derived, log in zip(run.derived(), kept.derived, strict=True):
            derived.log.restore(log)
        run._said = kept.said
        return run

    def units(self) -> int:
        """Attribute values held: all of the input, and all of derived streams."""
        return self.contents.units() + self._plan.units()


def unaliased(node: Node) -> Node:
    """What is below names of subqueries."""
    return unaliased(node.input) if isinstance(node, Alias) else node


def gives_rows(query: Query) -> bool:
    """Whether a query says the rows of each instant, rather than the changes of an answer.

    All results of INTERNAL windows or of WSTREAM are an answer that only ever grows.
    """
    return isinstance(unaliased(query.root), Changes)


def slides(node: Node) -> bool:
    """Whether every stream of a plan is read through a SLIDE."""
    through = [
        each
        for each in nodes(node)
        if isinstance(each, Window)
        and each.spec.slide is not None
        and isinstance(unaliased(each.input), Scan)
    ]
    streams = [each for each in scans(node) if each.stream.is_stream]
    return bool(through) and len(through) == len(streams)


def eagerly(node: Node) -> Node:
    """The same plan without SLIDE."""
    if isinstance(node, Window):
        spec = replace(node.spec, slide=None)
        return replace(node, input=eagerly(node.input), spec=spec)
    assert is_dataclass(node)
    inputs: dict[str, Any] = {}
    for each in fields(node):
        value = getattr(node, each.name)
        if any(value is one for one in node.inputs):
            inputs[each.name] = eagerly(value)
        elif each.name == "inputs":
            inputs[each.name] = tuple(eagerly(one) for one in value)
    return cast(Node, replace(node, **inputs))


def _names(node: Node, *, streams: bool) -> list[str]:
    """The streams, or the tables, read anywhere in a plan."""
    found = (each.stream for each in scans(node))
    return list(dict.fromkeys(each.name for each in found if each.is_stream is streams))
