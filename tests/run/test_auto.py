"""Which lowering takes a batch: nothing is loaded or compiled before it can pay."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from tests.run.harness import BOUNDED_OF_TABLE_1, DDL, compiled

from millpond.program import Batch, Columns, Delta, Program, State
from millpond.run import tick
from millpond.run.admission import admitted
from millpond.run.arrivals import batch_of
from millpond.run.auto import Auto

PROGRAM = compiled(DDL + BOUNDED_OF_TABLE_1["Q3"])[1]


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Fake:
    """A lowering that takes some time for a row, and says which rows it was given."""

    name: str
    clock: Clock
    cost: float
    log: list[tuple[str, int]]
    possible: bool = True
    cached: bool = False
    asked: int = 0
    program: Program = field(default_factory=lambda: PROGRAM)

    def advance(self, state: State, batch: Batch) -> Delta:
        self.log.append((self.name, len(batch)))
        self.clock.now += self.cost * len(batch)
        return Delta.empty(self.program.names)

    def prepare(self, state: State, batch: Batch) -> None:
        self.asked += 1


def batch(size: int) -> Batch:
    made = batch_of(PROGRAM, "s", Columns.of(("a", "b", "c"), [(11, 1, 1)] * size), 1)
    assert made is not None
    return made


@dataclass
class Case:
    auto: Auto
    tick: Fake
    log: list[tuple[str, int]]
    state: State

    def take(self, size: int) -> list[tuple[str, int]]:
        self.log.clear()
        self.auto.advance(self.state, batch(size))
        return list(self.log)


@pytest.fixture
def case(monkeypatch: pytest.MonkeyPatch) -> Case:
    for name in ("polars", "numba"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    log: list[tuple[str, int]] = []
    clock = Clock()
    fast = Fake("tick", clock, 1e-8, log)
    plain, bulk = Fake("plain", clock, 2e-5, log), Fake("bulk", clock, 1e-6, log)
    return Case(Auto(PROGRAM, fast, plain, lambda: bulk, clock), fast, log, PROGRAM.empty())


def test_rows_are_interpreted_until_loading_polars_would_have_been_as_fast(case: Case) -> None:
    assert case.take(5) == [("plain", 5)]
    assert case.take(30_000) == [*[("plain", 4096)] * 4, ("bulk", 30_000 - 4 * 4096)]
    assert case.take(100) == [("bulk", 100)]
    assert case.take(64) == [("plain", 64)]


def test_polars_is_used_where_it_is_loaded(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", sys)
    assert case.take(5) == [("plain", 5)]
    assert case.take(100) == [("bulk", 100)]


def test_a_compiled_step_is_used_once_loading_numba_has_paid(case: Case) -> None:
    case.tick.cached = True
    assert case.take(5) == [("plain", 5)]
    case.take(400_000)
    assert case.take(5) == [("tick", 5)]
    assert case.tick.asked == 0


def test_the_compiler_is_asked_once_and_not_waited_for(case: Case) -> None:
    case.take(3_000_000)
    assert case.take(10)[0][0] == "plain"
    assert case.tick.asked == 1
    case.take(3_000_000)
    assert case.tick.asked == 1
    case.tick.cached = True
    assert case.take(10)[0][0] == "tick"


def test_what_cannot_be_compiled_never_is(case: Case) -> None:
    case.tick.possible, case.tick.cached = False, True
    for _ in range(3):
        case.take(3_000_000)
    assert case.tick.asked == 0
    assert case.take(100) == [("bulk", 100)]


def test_batches_are_cut_between_instants(case: Case) -> None:
    many = batch(10_000)
    case.log.clear()
    case.auto.advance(case.state, many.with_instants(np.sort(np.arange(10_000) // 5000)))
    assert case.log[0] == ("plain", 5000)


@pytest.mark.heavy
def test_another_process_compiles_what_this_one_then_loads(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    script, program = compiled(DDL + BOUNDED_OF_TABLE_1["Q7"])
    del script
    step = tick.TickLowering(program)
    rows = batch_of(program, "s", Columns.of(("a", "b", "c"), [(10, 11, 1)]), 1)
    assert rows is not None
    state = program.empty()
    assert not step.cached
    working = tick.compile_elsewhere(step._source, step._signature(state, rows))
    assert working.wait(120) == 0
    assert step.cached
    step.advance(state, rows)
    stats = step.step(compiled=True).stats
    assert sum(stats.cache_hits.values()) == 1
    assert not stats.cache_misses


def test_a_run_in_debug_mode_looks_at_its_certificate_after_every_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from millpond.language import read_script
    from millpond.memory import verdict_of

    query = read_script(DDL + BOUNDED_OF_TABLE_1["Q3"]).queries[0]
    looked = []
    run = admitted(query, verdict_of(query), debug=True)
    monkeypatch.setattr(run, "_check", lambda: looked.append(run.units()))
    run.advance(batch(20))  # type: ignore[union-attr]
    assert len(looked) == 20


@pytest.mark.parametrize(
    ("cost", "ways"),
    [(1e-5, ["tick", "bulk", "bulk", "bulk"]), (1e-8, ["tick", "bulk", "tick", "tick"])],
)
def test_many_rows_of_one_instant_go_where_they_are_quicker(
    case: Case, monkeypatch: pytest.MonkeyPatch, cost: float, ways: list[str]
) -> None:
    for name in ("numba", "polars"):
        monkeypatch.setitem(sys.modules, name, tick)  # all that matters is that they are loaded
    case.tick.cached = True
    case.tick.cost = cost

    def taken(size: int) -> str:
        case.log.clear()
        rows = batch(size)
        case.auto.advance(case.state, rows.with_instants(np.ones_like(rows.at)))
        return case.log[0][0]

    assert [taken(10_000) for _ in ways] == ways
    assert taken(1_000) == "tick"
    assert case.take(10_000) == [("tick", 10_000)]
