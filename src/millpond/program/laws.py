"""The laws of lowered programs, as checks that any operator and any lowering is put through.

Each takes a batch of rows and raises `LawBroken` with what differs.  They ask nothing of how a
lowering works, so that a new operator or a new lowering is checked by handing it in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from millpond.program.delta import Batch
from millpond.program.lowered import Lowered, answer
from millpond.program.store import State

Changes = list[tuple[int, tuple[int | None, ...], int]]


class LawBroken(AssertionError):
    """A lowering does not do what its interface says."""


def run(
    lowered: Lowered, batch: Batch, cuts: Iterable[int] = (), state: State | None = None
) -> Changes:
    """The consolidated changes of a batch fed in pieces, in the order of the contract.

    Also holds the state to its certificate after every piece.
    """
    state = lowered.program.empty() if state is None else state
    changes: Changes = []
    for piece in pieces(batch, cuts):
        delta = lowered.advance(state, piece).consolidate()
        changes += [(at, row, n) for row, n, at in delta.rows()]
        units_stay_below_the_certificate(lowered, state)
    return changes


def pieces(batch: Batch, cuts: Iterable[int]) -> list[Batch]:
    """A batch cut at some places, moved so that no instant is cut in two."""
    places = {0, len(batch)}
    for cut in cuts:
        if 0 < cut < len(batch):
            places.add(int(np.searchsorted(batch.at, batch.at[cut], side="left")))
    ordered = sorted(places)
    return [batch.slice(a, b) for a, b in pairwise(ordered)]


def chunking_never_shows(lowered: Lowered, batch: Batch, cuts: Sequence[int]) -> None:
    """`advance` over a then b is `advance` over a;b."""
    _same("in pieces", run(lowered, batch, cuts), "at once", run(lowered, batch))


def coarser_instants_consolidate(lowered: Lowered, batch: Batch, ends: Sequence[int]) -> None:
    """With instants joined, the output is the finer output, consolidated.

    `ends` are places in the batch; the instants between two of them become one, the last.
    """
    at = batch.at.copy()
    for piece in pieces(batch, ends):
        inside = (batch.at >= piece.at[0]) & (batch.at <= piece.at[-1]) if len(piece) else []
        at[inside] = piece.at[-1] if len(piece) else 0
    finer = run(lowered, batch)
    joined: dict[int, Counter[tuple[int | None, ...]]] = {}
    coarse_of = dict(zip(batch.at.tolist(), at.tolist(), strict=True))
    for instant, row, n in finer:
        joined.setdefault(coarse_of[instant], Counter())[row] += n
    expected = [
        (instant, row, n) for instant, rows in joined.items() for row, n in rows.items() if n
    ]
    _same("coarse", run(lowered, batch.with_instants(at)), "consolidated", expected)


def lowerings_agree(one: Lowered, other: Lowered, batch: Batch, cuts: Sequence[int]) -> None:
    """Two lowerings give the same changes and hold the same state."""
    states = one.program.empty(), other.program.empty()
    _same(
        type(one).__name__,
        run(one, batch, cuts, states[0]),
        type(other).__name__,
        run(other, batch, cuts, states[1]),
    )
    if states[0].tables() != states[1].tables():
        raise LawBroken(f"states differ: {states[0].tables()} and {states[1].tables()}")


def units_stay_below_the_certificate(lowered: Lowered, state: State) -> None:
    """What is held is never more than was promised, and is what the tables show."""
    program = lowered.program
    if state.units() > program.certificate:
        raise LawBroken(f"{state.units()} units, and the certificate is {program.certificate}")
    for store, filled in zip(state.stores, state.filled.tolist(), strict=True):
        held = sum(1 for _ in store.places())
        if held != filled:
            raise LawBroken(f"{filled} buckets are counted and {held} are held")


def state_goes_out_and_comes_back(lowered: Lowered, batch: Batch, cut: int) -> None:
    """A run that is stopped, written down, read back and continued is the run."""
    whole = run(lowered, batch)
    first = lowered.program.empty()
    parts = pieces(batch, [cut])
    before = [each for piece in parts[:1] for each in run(lowered, piece, state=first)]
    second = lowered.program.empty()
    second.fill([rows for _, rows in first.tables()])
    after = [each for piece in parts[1:] for each in run(lowered, piece, state=second)]
    _same("continued", before + after, "whole", whole)


def state_stands_for_the_answer(lowered: Lowered, batch: Batch) -> None:
    """Γ over the state is the sum of the changes."""
    state = lowered.program.empty()
    total: Counter[tuple[int | None, ...]] = Counter()
    for _, row, n in run(lowered, batch, state=state):
        total[row] += n
    said = answer(lowered.program, state)
    if said is None:
        return
    _same("answer", [(0, row, n) for row, n, _ in said.rows()], "changes", [
        (0, row, n) for row, n in total.items() if n
    ])  # fmt: skip


def all_laws(lowered: Lowered, batch: Batch, cuts: Sequence[int]) -> None:
    """Every law that is about one lowering."""
    chunking_never_shows(lowered, batch, cuts)
    coarser_instants_consolidate(lowered, batch, cuts)
    for cut in cuts[:2]:
        state_goes_out_and_comes_back(lowered, batch, cut)
    state_stands_for_the_answer(lowered, batch)


def _same(one: str, first: Changes, other: str, second: Changes) -> None:
    a, b = Counter(first), Counter(second)
    if a != b:
        raise LawBroken(f"only {one}: {_some(a - b)}; only {other}: {_some(b - a)}")


def _some(changes: Counter[tuple[int, tuple[int | None, ...], int]]) -> Changes:
    return list(changes.elements())[:5]


__all__ = [
    "LawBroken",
    "all_laws",
    "chunking_never_shows",
    "coarser_instants_consolidate",
    "lowerings_agree",
    "run",
    "state_goes_out_and_comes_back",
    "state_stands_for_the_answer",
    "units_stay_below_the_certificate",
]
