"""State as files: the same on every engine, so that a query can start on one and go on on another.

A folder holds one Arrow IPC file for each store (a row for each bucket that holds something: the
key's coordinates, then the values) and a `manifest.json` that says whose state it is.  Columns are
64-bit integers; one in which a number has passed 2^63, or that holds other values, is text
(`cells.py`).  A folder is whole or it is not used: each file has its checksum in the manifest, and
the manifest its own.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from millpond.diagnostic import Diagnostic, UserError
from millpond.program.cells import text_of, value_of
from millpond.program.program import Program
from millpond.program.store import LARGEST, State, Store

VERSION = 1
"""Of the layout; a reader takes no other."""

_ROWS = "@"
"""A column of NULLs, where there is no other: a row of no columns is still a row."""

MANIFEST = "manifest.json"


def write_state(state: State, folder: Path) -> None:
    """Writes a state into a folder, which is made if need be; every file is on disk afterwards.

    Whoever wants all or nothing writes into a folder under another name and renames that.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for number, store in enumerate(state.stores):
        name = f"store-{number}.arrow"
        checksum = write_file(folder / name, _arrow(store))
        files.append({"file": name, "filled": int(state.filled[number]), "sha256": checksum})
    write_manifest(folder / MANIFEST, {"fingerprint": state.fingerprint, "stores": files})


def read_state(program: Program, folder: Path) -> State:
    """The state that `write_state` wrote, if it is this program's and whole.

    Raises `UserError` with MP405, which names the file that does not fit.
    """
    manifest = read_manifest(folder / MANIFEST)
    if manifest.get("fingerprint") != program.fingerprint:
        damaged(
            folder / MANIFEST,
            "is of another query or of other streams",
            "give an empty folder, or the one that this query wrote",
        )
    state = program.empty()
    said = manifest.get("stores")
    if not isinstance(said, list) or len(said) != len(state.stores):
        damaged(folder / MANIFEST, "does not list the files of this query")
    tables = []
    for store, entry in zip(state.stores, said, strict=True):
        path = folder / str(entry["file"])
        rows = _rows(store, path, read_file(path, str(entry["sha256"])))
        if len(rows) != entry["filled"]:
            damaged(path, f"has {len(rows)} buckets instead of {entry['filled']}")
        tables.append(rows)
    try:
        state.fill(tables)
    except (IndexError, ValueError) as error:
        damaged(folder / MANIFEST, f"holds a bucket that this query does not have ({error})")
    if state.wide:
        state.widen()  # All stores or none: a step over wide counts takes no 64-bit arrays.
    return state


def write_manifest(path: Path, said: Mapping[str, Any]) -> None:
    """A JSON object with its version and its own checksum, on disk afterwards."""
    whole = {"version": VERSION, **said}
    write_file(path, json.dumps(whole | {"sha256": _seal(whole)}, indent=1).encode() + b"\n")


def read_manifest(path: Path) -> dict[str, Any]:
    """What `write_manifest` wrote; MP405 if it is missing, damaged or of another version."""
    try:
        said = json.loads(path.read_bytes())
    except OSError as error:
        damaged(path, f"cannot be read ({error.strerror})")
    except ValueError:
        damaged(path, "is truncated or damaged")
    if not isinstance(said, dict) or said.pop("sha256", None) != _seal(said):
        damaged(path, "is truncated or damaged")
    if said.pop("version", None) != VERSION:
        damaged(path, f"is not of version {VERSION}, the one that this millpond reads")
    return said


def write_file(path: Path, content: bytes) -> str:
    """Writes a file, waits until it is on disk, and gives its checksum.

    Its name is on disk when its folder has been synced.
    """
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return hashlib.sha256(content).hexdigest()


def read_file(path: Path, checksum: str) -> bytes:
    """A file that has to have this checksum; MP405 if it does not."""
    try:
        content = path.read_bytes()
    except OSError as error:
        damaged(path, f"cannot be read ({error.strerror})")
    if hashlib.sha256(content).hexdigest() != checksum:
        damaged(path, "is truncated or damaged")
    return content


def damaged(path: Path, what: str, *helps: str) -> NoReturn:
    """Refuses a checkpoint because of one of its files."""
    usual = "a checkpoint is whole or it is not used: start again with an empty folder"
    raise UserError(
        Diagnostic(
            "MP405",
            f"the checkpoint does not fit: {path.name} {what}",
            file=str(path),
            helps=helps or (usual,),
        )
    )


def _seal(said: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _arrow(store: Store) -> bytes:
    names, rows = store.table()
    # The names of a store that keeps nothing do not matter: it has no rows.
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    table = pa.table([_column(each) for each in columns], names=names)
    if not names:
        table = pa.table({_ROWS: pa.nulls(len(rows))})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _column(values: Sequence[Any]) -> Any:
    if all(value is None or (type(value) is int and abs(value) <= LARGEST) for value in values):
        return pa.array(values, pa.int64())
    return pa.array([text_of(value) for value in values], pa.utf8())


def _rows(store: Store, path: Path, content: bytes) -> list[tuple[Any, ...]]:
    try:
        with pa.ipc.open_file(pa.BufferReader(content)) as reader:
            table = reader.read_all()
    except pa.ArrowInvalid:
        damaged(path, "is no Arrow file")
    names, _ = store.table()
    if table.column_names != (names or [_ROWS]):
        damaged(path, "has other columns than this query keeps")
    try:
        columns = [
            [value_of(value) for value in each.to_pylist()]
            if pa.types.is_string(each.type)
            else each.to_pylist()
            for each in table.columns
        ]
    except (ArithmeticError, ValueError) as error:
        damaged(path, f"holds what is no value ({error})")
    if not names:
        return [()] * table.num_rows
    return list(zip(*columns, strict=True))
