"""What windows hold over some input, from the definition of windows alone; nothing of
`millpond.memory` is used to find it."""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from tests.cli.harness import jsonl
from tests.strategies.query_text import Case

from millpond.language.units import MICROSECONDS
from millpond.memory.amount import Amount
from millpond.plan import Assign, Node, Query, Scan, Script, Window, nodes
from millpond.run.contents import BEFORE, NEVER, Log, Moment
from millpond.run.definition import DefinitionRun
from millpond.run.event import Event, Op
from millpond.run.ingest import TaggedReader
from millpond.run.windows import window_on
from millpond.schema import Kind, Row

Logs = Mapping[str, Log]


def logs_of(case: Case, script: Script) -> Logs:
    """The rows of each stream in the order of their instants, as if none came late."""
    pieces = TaggedReader(script.catalog, "case").chunks(io.BytesIO(jsonl(case.events)))
    events = [each for piece in pieces for each in piece if isinstance(each, Event)]
    found = {each.name: Log() for each in script.catalog if each.is_stream}
    placed: list[tuple[int, str, Row]] = []
    for number, each in enumerate(events, 1):
        stream = script.catalog.get(each.stream or "")
        if each.op is Op.INSERT and stream is not None and stream.is_stream:
            place = stream.time_place
            value = number if place is None else each.row[place]
            assert isinstance(value, int)
            placed.append((value, stream.name, each.row))
    for at, name, row in sorted(placed, key=lambda each: each[0]):
        found[name].add(row, at)
    return found


def answers(query: Query, node: Node, logs: Logs) -> Iterator[Counter[Row]]:
    """What a node has at each of its instants, by definition."""
    run = DefinitionRun(replace(query, root=node))
    for name, log in logs.items():
        if name in run.contents.logs:
            for row, at in zip(log.rows, log.at, strict=True):
                run.contents.logs[name].add(row, at)
    answer: Counter[Row] = Counter()
    for refresh in run.refreshes(NEVER):
        for row, n in refresh.changes:
            answer[row] += n
        answer = +answer
        yield answer


def most_held(leaf: Window | Assign, logs: Logs) -> int:
    """The greatest number of rows that are in a window, or come to be seen in it later."""
    scan = next(each for each in nodes(leaf) if isinstance(each, Scan))
    log = logs[scan.stream.name]
    last = list(_leaves(leaf, log))
    lives = [(at, end) for at, end in zip(log.at, last, strict=True) if end != BEFORE]
    moments = sorted({*log.at, *(int(each) for each in last if abs(each) != NEVER)})
    return max((sum(at <= now <= end for at, end in lives) for now in moments), default=0)


def _leaves(leaf: Window | Assign, log: Log) -> Iterator[Moment]:
    """The last moment at which each row is needed; BEFORE if it never is."""
    if isinstance(leaf, Assign):
        step = leaf.function.slide
        yield from (at // step * step + leaf.function.size - 1 for at in log.at)
        return
    numbered = Log()
    for number, (row, at) in enumerate(zip(log.rows, log.at, strict=True)):
        numbered.add((*row, number), at)
    window = window_on(numbered, leaf.spec, leaf.input.fields, external=True)
    seen: dict[int, Moment] = {}
    now: Moment = BEFORE
    while (now := window.next_due(now)) != NEVER:
        following = window.next_due(now)
        for row, _, _ in window.visible(now):
            place = row[-1]
            assert isinstance(place, int)
            seen[place] = following - 1
    yield from (seen.get(number, BEFORE) for number in range(len(log)))


# Formulas ---------------------------------------------------------------------------------------

_RATE = re.compile(r"rate of (\w+) x (\d+) (\w+)")


def value_of(amount: Amount, script: Script, logs: Logs) -> int:
    """An amount at the rates that there were: the most rows in any time of a length."""
    total = 0
    for product, factor in amount.terms.items():
        for each in product:
            factor *= int(_with_rates(each, script, logs))
        total += factor
    return total


def value_of_text(formula: str, script: Script, logs: Logs) -> int:
    """The same of a formula as it is printed: `s: rate of s x 1 hour x 3 columns`."""
    said = _with_rates(formula.partition(": ")[2], script, logs)
    found = 1
    for factor in said.split(" x "):
        assert re.fullmatch(r"\d+( \w+)?", factor), formula
        found *= int(factor.split()[0])
    return found


def _with_rates(text: str, script: Script, logs: Logs) -> str:
    def peak(match: re.Match[str]) -> str:
        name, number, word = match.groups()
        stream = script.catalog.get(name)
        assert stream is not None
        length = int(number)
        if not word.startswith("instant"):
            micro = stream.time_type is not None and stream.time_type.kind is Kind.TIMESTAMP
            assert stream.time is not None
            unit = 1 if micro else MICROSECONDS[stream.time.unit or ""]
            length = length * MICROSECONDS[word.removesuffix("s")] // unit
        at = logs[name].at
        ends = ((place + 1, bisect_right(at, end - length)) for place, end in enumerate(at))
        return str(max((place - start for place, start in ends), default=0))

    return _RATE.sub(peak, text)
