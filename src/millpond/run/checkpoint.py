"""A session on disk: what it holds, so that another process goes on with it.

Layout of a checkpoint (`program/commits.py`):

    manifest.json            whose it is: queries, declarations, and how each query runs
    commits/<n>/manifest.json  clocks, positions, and the checksum of every other file
    commits/<n>/query-<i>/   the state of a program (`program/codec.py`), or of a query that runs
                             by definition the rows of its input, as Arrow files

A commit is made at an instant, and has all that decides what is said after it.  Whoever resumes
with other queries or declarations is told what has changed, and nothing is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from millpond.diagnostic import Diagnostic, UserError
from millpond.plan import Query, stream_sql, to_sql
from millpond.plan.sql_stream import aggregate_sql
from millpond.program.codec import MANIFEST
from millpond.program.commits import Commits
from millpond.run.checkpoint_files import Reader, Runs, Writer
from millpond.run.definition import DefinitionRun
from millpond.run.engine import LocalRun
from millpond.run.session import Session
from millpond.schema import Catalog


class Checkpoint:
    """The checkpoint of some queries in a folder.

    Raises `UserError` with MP405 if what is there is damaged, or of others.
    """

    def __init__(self, folder: Path, catalog: Catalog, runs: Runs, **how: str | bool) -> None:
        self.folder = folder
        self._runs = runs
        self._commits = Commits(folder)
        self._owner = _owner(catalog, runs, how)
        self.fresh = self._commits.owner is None
        """Whether nothing was here before."""
        if self._commits.owner is not None:
            _same(self._commits.folder, self._commits.owner, self._owner)
        self._number = 0

    def open(self, session: Session, *, restore: bool = True) -> dict[str, Any] | None:
        """Makes the checkpoint this run's own, and brings a session to where it was left.

        Gives what was committed beside the session; None where nothing was.  Without `restore`
        the session stays where it is.
        """
        self._commits.create(self._owner)
        try:
            newest = self._commits.newest()
            if newest is None:
                return None
            self._number = newest
            kept, beside = Reader(self._commits.of(newest), self._runs).read(newest)
            if restore:
                session.restore(kept)
        except BaseException:
            self.close()
            raise
        return beside

    def commit(self, session: Session, beside: Mapping[str, Any]) -> None:
        """Commits what a session holds, and what belongs beside it."""
        kept = session.snapshot(copy=False)
        self._number += 1
        number = self._number
        self._commits.write(
            number, lambda draft: Writer(draft, self._runs).write(number, kept, beside)
        )

    @property
    def next(self) -> int:
        """The number of the next commit."""
        return self._number + 1

    def close(self) -> None:
        """Lets others go on from here."""
        self._commits.close()


# Whose it is ------------------------------------------------------------------------------------


def _owner(catalog: Catalog, runs: Runs, how: Mapping[str, str | bool]) -> dict[str, Any]:
    read = {each.name for query, _ in runs for each in query.sources}
    return {
        "by": "local",
        "how": dict(how),
        "queries": {query.name: _query_owner(query, run) for query, run in runs},
        "declared": {
            **{each.name: stream_sql(each) for each in catalog if each.name in read},
            **{each.name: aggregate_sql(each) for each in catalog.aggregates},
        },
    }


def _query_owner(query: Query, run: LocalRun | DefinitionRun) -> dict[str, Any]:
    program = run.program.fingerprint if isinstance(run, LocalRun) else None
    return {"sql": query.text, "plan": to_sql(query), "program": program}


def _same(folder: Path, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Refuses a checkpoint of other queries, and says what has changed."""
    changed = list(_changes(there, here))
    if changed:
        raise UserError(
            Diagnostic(
                "MP405",
                "the checkpoint does not fit: it is of another run",
                file=str(folder / MANIFEST),
                notes=tuple(changed),
                helps=("give an empty folder, or the queries and streams that it was written for",),
            )
        )


def _changes(there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterable[str]:
    if there.get("by") != "local":
        yield "it was written by a run on Spark, which knows its input in another way"
        return
    yield from _edits("query", there["queries"], here["queries"], _query_edit)
    yield from _edits("", there["declared"], here["declared"], _declaration_edit)
    for name, said in here["how"].items():
        if there["how"].get(name) != said:
            yield f"{name}: it was {there['how'].get(name)}, and is {said}"
    if list(there["queries"]) != list(here["queries"]) and set(there["queries"]) == set(
        here["queries"]
    ):
        yield "the queries stand in another order"


def _edits(
    what: str,
    there: Mapping[str, Any],
    here: Mapping[str, Any],
    edit: Callable[[Any, Any], str | None],
) -> Iterable[str]:
    for name in {**there, **here}:
        called = f"{what} {name}".strip()
        if name not in here:
            yield f"{called} is gone"
        elif name not in there:
            yield f"{called} is new"
        elif said := edit(there[name], here[name]):
            yield f"{called} {said}"


def _query_edit(there: Mapping[str, Any], here: Mapping[str, Any]) -> str | None:
    """What has changed of a query; other words for the same plan are no change."""
    if there["program"] == here["program"] and (here["program"] or there["plan"] == here["plan"]):
        return None
    if there["plan"] != here["plan"]:
        return f"was: {_line(there['sql'])}; and is: {_line(here['sql'])}"
    if there["program"] is None or here["program"] is None:
        was, now = ("by definition" if each["program"] is None else "by a program"
                    for each in (there, here))  # fmt: skip
        return f"was run {was}, and is run {now}"
    return "is run by other steps, because of its streams or of another version of millpond"


def _declaration_edit(there: str, here: str) -> str | None:
    return None if there == here else f"was: {_line(there)} and is: {_line(here)}"


def _line(text: str) -> str:
    return " ".join(text.split())
