"""The tick lowering: a program's step compiled with Numba, and kept compiled between runs.

The printed step is written to a file in the user's cache folder, named by what it says, and
imported from there, so that Numba's own cache finds it again.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
import warnings
from functools import cached_property, lru_cache
from pathlib import Path
from types import ModuleType

from millpond.program import (
    Batch,
    Delta,
    IntArray,
    Program,
    State,
    Step,
    interpreted,
    python_of,
    row_kernel,
    run_step,
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
        self.possible = all(spec.dense for spec in program.stores)
        """Keyed stores have no compiled form."""

    def advance(self, state: State, batch: Batch) -> Delta:
        """Takes the rows of a batch in; gives the changes they cause, not consolidated."""
        arrays: list[IntArray] = []
        for columns, stream in zip(batch.columns, self.program.inputs, strict=True):
            for name in stream.columns:
                arrays += [columns.values[name], columns.nulls[name]]
        given = batch.stream, batch.row, batch.at
        if self._compiled and self.possible and not state.wide:
            return run_step(
                self._step, self.program, state, len(batch), *given, arrays, wide=self._wide
            )
        stream, row, at = (each.tolist() for each in given)
        lists = [each.tolist() for each in arrays]
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
    def cached(self) -> bool:
        """Whether the compiled step is at hand, so that using it costs no compiling."""
        return self.possible and _cached(self._source)

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
        step: Step = _module(self._source).rows
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


def _module(source: str) -> ModuleType:
    name = f"step_{_digest(source)}"
    if name not in _loaded:
        path = cache_folder() / f"{name}.py"
        if not path.exists():
            with tempfile.NamedTemporaryFile(
                "w", dir=path.parent, suffix=".tmp", delete=False
            ) as file:
                file.write(source)
            os.replace(file.name, path)
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
