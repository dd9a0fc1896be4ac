"""The tick lowering: a program's step compiled with Numba, and kept compiled between runs.

The printed step is written to a file in the user's cache folder, named by what it says, and
imported from there, so that Numba's own cache finds it again.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import warnings
from functools import cached_property, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from millpond.program import (
    Batch,
    Delta,
    Program,
    RowSet,
    State,
    Step,
    arrays_of,
    finished,
    interpreted,
    python_of,
    row_kernel,
    run_step,
    tables_of,
)

_HEADER = '''"""A compiled step of millpond; made by it, and made again when it is gone."""
import numpy as np
from numba import njit


@njit(cache=True)
def grow(out):
    larger = np.empty((2 * len(out), out.shape[1]), dtype=out.dtype)
    larger[: len(out)] = out
    return larger


@njit(cache=True)
'''


class TickLowering:
    """Advances a program row by row: compiled, or in the interpreter for a few rows."""

    name = "tick"

    def __init__(self, program: Program, *, compiled: bool = True) -> None:
        self.program = program
        self._kernel = row_kernel(program)
        self._compiled = compiled
        stored = [spec for spec in program.stores if not isinstance(spec, RowSet)]
        self.possible = program.whole and all(spec.dense for spec in stored)
        """Keyed stores have no compiled form, nor have values that are no integers."""
        self._tables = tables_of(program)

    def advance(self, state: State, batch: Batch) -> Delta:
        """Takes the rows of a batch in; gives the changes they cause, not consolidated."""
        return finished(self.program, state, self.stepped(state, batch), batch.rows)

    def stepped(self, state: State, batch: Batch) -> Delta:
        """What comes out of the steps."""
        arrays: list[Any] = []
        for columns, stream in zip(batch.columns, self.program.inputs, strict=True):
            for name in stream.columns:
                arrays += [columns.values[name], columns.nulls[name]]
        given = batch.stream, batch.row, batch.at
        if self.program.whole and any(each.dtype == object for each in arrays):
            state.widen()  # numbers past 64 bits
        arrays += self._tables
        if self._compiled and self.possible and not state.wide:
            return run_step(
                self._step, self.program, state, len(batch), *given, arrays, wide=self._wide
            )
        stream, row, at = (each.tolist() for each in given)
        lists = [each.tolist() if isinstance(each, np.ndarray) else each for each in arrays]
        return run_step(
            self._plain,
            self.program,
            state,
            len(batch),
            stream,
            row,
            at,
            lists,
            wide=self._wide,
        )

    @property
    def loops(self) -> bool:
        """Whether the step of a row goes through buckets one by one."""
        return self._source.count("for ") > _HEADER.count("for ") + 1

    @property
    def tables(self) -> list[Any]:
        """The tables that the step takes behind the columns."""
        return list(self._tables)

    def step(self, *, compiled: bool, trapping: bool = True) -> Step:
        """The step itself."""
        return self._step if compiled else self._plain if trapping else self._wide()

    @property
    def cached(self) -> bool:
        """Whether the compiled step is at hand, so that using it costs no compiling."""
        return self.possible and _cached(self._source)

    def prepare(self, state: State, batch: Batch) -> None:
        """Has the step compiled by another process, for arrays like these."""
        if self.possible and not state.wide and not self.cached:
            compile_elsewhere(self._source, self._signature(state, batch))

    def _signature(self, state: State, batch: Batch) -> str:
        """The types of the step's arguments, as Numba writes them."""
        columns = [
            each[name]
            for one, stream in zip(batch.columns, self.program.inputs, strict=True)
            for name in stream.columns
            for each in (one.values, one.nulls)
        ]
        given = [*columns, *self._tables, *arrays_of(state)]
        arrays = ", ".join(f"{each.dtype}[::1]" for each in given if isinstance(each, np.ndarray))
        fixed = "int64, int64, int64, int64[::1], int64[::1], int64[::1], int64[::1], "
        return f"({fixed}int64[:, ::1], int64, {arrays})"

    def _wide(self) -> Step:
        return interpreted(self._kernel, trapping=False)

    @cached_property
    def _plain(self) -> Step:
        return interpreted(self._kernel, trapping=True)

    @cached_property
    def _source(self) -> str:
        return _HEADER + python_of(self._kernel)

    @cached_property
    def _step(self) -> Step:
        step: Step = module_of(self._source).rows
        return step


def cache_folder() -> Path:
    """Where compiled steps are kept; a folder of this process's own if that cannot be written."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(base) / "millpond" / "tick"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        return _own_folder()
    return folder


@lru_cache(maxsize=1)
def _own_folder() -> Path:
    import atexit
    import shutil

    folder = Path(tempfile.mkdtemp(prefix="millpond-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:24]


def _cached(source: str) -> bool:
    name = f"step_{_digest(source)}"
    if name in _loaded:
        return True
    return any((cache_folder() / "__pycache__").glob(f"{name}.rows-*.nbc"))


_loaded: dict[str, ModuleType] = {}

_COMPILE = """
import sys
from millpond.run.tick import module_of
from numba.core.sigutils import normalize_signature
with open(sys.argv[1]) as file:
    step = module_of(file.read()).rows
types, _ = normalize_signature(sys.argv[2])  # the cache knows a step by types, not by their text
step.compile(types)
"""


def compile_elsewhere(source: str, signature: str) -> subprocess.Popen[bytes]:
    """Starts a process that compiles a step for good, and is on its own from there."""
    nobody = subprocess.DEVNULL
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # nobody waits for it
        return subprocess.Popen(
            [sys.executable, "-c", _COMPILE, str(_written(source)), signature],
            stdin=nobody,
            stdout=nobody,
            stderr=nobody,
            start_new_session=True,
        )


def _written(source: str) -> Path:
    """The file that a step is imported from."""
    path = cache_folder() / f"step_{_digest(source)}.py"
    if not path.exists():
        with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".tmp", delete=False) as file:
            file.write(source)
        os.replace(file.name, path)
    return path


def module_of(source: str) -> ModuleType:
    """The module of a printed step, whose function Numba compiles when it is called."""
    name = f"step_{_digest(source)}"
    if name not in _loaded:
        path = _written(source)
        spec = importlib.util.spec_from_file_location(f"millpond_{name}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # Numba's cache looks functions up by their module
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spec.loader.exec_module(module)
        _loaded[name] = module
    return _loaded[name]
