"""State written and read is the same state, and a folder that does not fit is refused."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.run.harness import BOUNDED_OF_TABLE_1, DDL, compiled, random_arrivals

from millpond.diagnostic import UserError
from millpond.program import LARGEST, Delta, Keep, Merger, Partial, Program, Reduction, State
from millpond.program.codec import MANIFEST, read_manifest, read_state, write_manifest, write_state
from millpond.run.tick import TickLowering

TEXTS = {name: DDL + sql for name, sql in BOUNDED_OF_TABLE_1.items()} | {
    "keyed": DDL + "SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 0 AND t.d < 2000000000",
    "null key": "CREATE STREAM u (x INT CHECK (x BETWEEN 0 AND 3), y INT);\n"
    "SELECT DISTINCT x FROM u WHERE y > 3",
}


def filled(name: str, rows: int = 200) -> tuple[Program, State]:
    """A program and the state that random input leaves."""
    script, program = compiled(TEXTS[name])
    arrivals = random_arrivals(random.Random(name), script, rows, 0, 30)
    state = program.empty()
    TickLowering(program, compiled=False).advance(state, arrivals.batch(program))
    return program, state


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_read_is_what_was_written(name: str, tmp_path: Path) -> None:
    program, state = filled(name)
    write_state(state, tmp_path)
    again = read_state(program, tmp_path)
    assert again.tables() == state.tables()
    assert again.units() == state.units()
    assert again.units() > 0 or program.certificate == 0
    if name == "null key":
        assert any(None in row for _, rows in again.tables() for row in rows)
    script, _ = compiled(TEXTS[name])
    more = random_arrivals(random.Random(1), script, 50, 0, 30).batch(program)
    step = TickLowering(program, compiled=False)
    assert in_rows(step.advance(again, more)) == in_rows(step.advance(state, more))


def in_rows(delta: Delta) -> list[object]:
    return list(delta.consolidate().rows())


def test_counts_past_64_bits_are_digits_and_stay_exact(tmp_path: Path) -> None:
    program, state = filled("Q3")
    number = next(
        number
        for number, each in enumerate(program.stores)
        if isinstance(each, Reduction) and each.keep is Keep.COUNT
    )
    cell = next(iter(state.stores[number].places()))
    state.widen()
    state.stores[number].values[0][cell] = 3 * LARGEST
    write_state(state, tmp_path)
    again = read_state(program, tmp_path)
    assert again.tables() == state.tables()

    def more() -> Partial:
        one = np.array([cell], dtype=np.int64)
        return Partial(number, one, np.array([LARGEST]), (), np.ones(1, dtype=np.int64))

    merger = Merger(program)
    for _ in range(3):
        assert in_rows(merger.merge(again, [more()])) == in_rows(merger.merge(state, [more()]))
    assert again.tables() == state.tables()
    assert again.stores[number].values[0][cell] == 6 * LARGEST


def arrow(folder: Path) -> Path:
    return next(path for path in sorted(folder.glob("*.arrow")) if path.stat().st_size > 400)


def truncate(folder: Path) -> str:
    arrow(folder).write_bytes(arrow(folder).read_bytes()[:-9])
    return arrow(folder).name


def damage(folder: Path) -> str:
    content = bytearray(arrow(folder).read_bytes())
    content[len(content) // 2] ^= 1
    arrow(folder).write_bytes(content)
    return arrow(folder).name


def remove(folder: Path) -> str:
    name = arrow(folder).name
    arrow(folder).unlink()
    return name


def swap(folder: Path) -> str:
    first, second = sorted(folder.glob("*.arrow"))[:2]
    contents = first.read_bytes(), second.read_bytes()
    second.write_bytes(contents[0])
    first.write_bytes(contents[1])
    return first.name


def truncate_manifest(folder: Path) -> str:
    path = folder / MANIFEST
    path.write_bytes(path.read_bytes()[:-9])
    return MANIFEST


def edit_manifest(folder: Path) -> str:
    path = folder / MANIFEST
    said = json.loads(path.read_text())
    said["stores"][0]["filled"] += 1
    path.write_text(json.dumps(said))
    return MANIFEST


def remove_manifest(folder: Path) -> str:
    (folder / MANIFEST).unlink()
    return MANIFEST


def make_newer(folder: Path) -> str:
    path = folder / MANIFEST
    write_manifest(path, read_manifest(path) | {"version": 2})
    return MANIFEST


def make_foreign(folder: Path) -> str:
    _, state = filled("Q7")
    write_state(state, folder)
    return MANIFEST


@pytest.mark.parametrize(
    "harm",
    [
        truncate,
        damage,
        remove,
        swap,
        truncate_manifest,
        edit_manifest,
        remove_manifest,
        make_newer,
        make_foreign,
    ],
)
def test_a_folder_that_does_not_fit_is_refused_by_name(
    harm: Callable[[Path], str], tmp_path: Path
) -> None:
    program, state = filled("Q3")
    write_state(state, tmp_path)
    name = harm(tmp_path)
    with pytest.raises(UserError) as refused:
        read_state(program, tmp_path)
    (said,) = refused.value.diagnostics
    assert said.code == "MP405"
    assert name in said.message
    assert said.file == str(tmp_path / name)
    assert said.helps
