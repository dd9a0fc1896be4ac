"""The folder that a run in Python commits to, and goes on from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millpond.diagnostic import Diagnostic, UserError
from millpond.plan import Query
from millpond.run import Session
from millpond.run.checkpoint import Checkpoint
from millpond.run.plain_json import row_json, row_of
from millpond.schema import Catalog, Row

Place = str | os.PathLike[str]


class Folder:
    """Holds at most one checkpoint at a time."""

    def __init__(self, catalog: Catalog, query: Query, session: Session) -> None:
        self._catalog = catalog
        self._query = query
        self._session = session
        self._held: Checkpoint | None = None

    def commit(self, place: Place, beside: Mapping[str, Any]) -> None:
        """Commits the session, and what belongs beside it, to a folder."""
        if self._held is None or self._held.folder != Path(place):
            self.close()
            self._held = self._begun(place)
        self._held.commit(self._session, beside)

    def resume(self, place: Place) -> dict[str, Any]:
        """Brings the session to the newest commit of a folder; gives what was beside it."""
        made = self._of(place)
        beside = None if made.fresh else made.open(self._session)
        if beside is None:
            made.close()
            raise _refused(
                place, "there is nothing to go on from", "run.checkpoint(path) commits a run"
            )
        self._held = made
        return beside

    def close(self) -> None:
        """Lets others go on from there."""
        if self._held is not None:
            self._held.close()
            self._held = None

    def answer(self, place: Place, said: list[Any] | None) -> dict[Row, int]:
        """The answer that was committed."""
        if said is None:
            self.close()
            raise _refused(
                place,
                "the checkpoint has no answer: the run that wrote it did not keep one",
                "leave keep_answer out, or start anew",
            )
        types = [each.type for each in self._query.fields]
        return {row_of(types, row): n for row, n in said}

    def _begun(self, place: Place) -> Checkpoint:
        """A new checkpoint in a folder where there is none."""
        made = self._of(place)
        if made.open(self._session, restore=False) is None:
            return made
        made.close()
        raise _refused(
            place,
            "the folder has the commits of another run",
            "give an empty folder, or go on from there: q.resume(path)",
        )

    def _of(self, place: Place) -> Checkpoint:
        run = self._session.run_of(0)
        return Checkpoint(Path(place), self._catalog, [(self._query, run)], clock="of each stream")


def answer_json(answer: Mapping[Row, int] | None) -> list[Any] | None:
    """An answer as plain data."""
    return None if answer is None else [[row_json(row), n] for row, n in answer.items()]


def _refused(place: Place, message: str, *helps: str) -> UserError:
    return UserError(Diagnostic("MP405", message, file=str(place), helps=helps))
