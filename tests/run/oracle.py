"""The answers of a random query at every instant, by DuckDB, from raw rows.

The raw rows go into DuckDB with their instants and arrival numbers.  At every time from the first
instant to the end of input the same one-time query is asked over the contents that its windows have
then (`oracle_windows.py`): that is the answer, and the rest of this module is subtraction.  One
statement for all times, by a lateral join, is three times as fast but no oracle: DuckDB 2.0 gives
wrong answers to IN inside of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import duckdb
from tests.run.oracle_clock import read_logs
from tests.run.oracle_windows import NEVER, lifetimes_sql, window_sql
from tests.strategies.expressions import Type
from tests.strategies.query_text import Case, Kind, QueryText, WindowText

Value = Any
Row = tuple[Value, ...]
Bag = Counter[Row]

_SQL_TYPES = {
    Type.INT: "BIGINT",
    Type.TEXT: "VARCHAR",
    Type.BOOL: "BOOLEAN",
    Type.DOUBLE: "DOUBLE",
    Type.DECIMAL: "DECIMAL(9, 2)",
    Type.TIME: "BIGINT",
}
_NOTHING: Bag = Counter()


@dataclass(frozen=True)
class Answer:
    """What a query says at one time; `said` if that is an instant of the query."""

    at: int
    bag: Bag
    said: bool


class Oracle:
    """One query of a case over its input."""

    def __init__(self, case: Case, query: QueryText) -> None:
        self._case = case
        self._query = query
        self._connection = duckdb.connect(config={"threads": 1})
        self._logs = read_logs(case.events, case.relations, query.logs, case.time)
        self._tables = frozenset(each.name for each in case.relations if each.table)
        for each in case.relations:
            if each.name in query.logs:
                self._load(each.name, [(one.name, one.type) for one in each.columns])

    def close(self) -> None:
        """Lets go of the database."""
        self._connection.close()

    @property
    def end(self) -> int:
        """The last instant that is closed."""
        return self._logs.end

    def answers(self) -> list[Answer]:
        """The answer at every time, the stream-valued query's rows of that time."""
        return self._run(self._query)

    def changes(self) -> list[tuple[int, Row, int]]:
        """The differences between consecutive answers; of a stream, what it gives."""
        return list(self.changes_of(self.answers()))

    def changes_of(self, answers: Iterable[Answer]) -> Iterator[tuple[int, Row, int]]:
        """The same of answers that are there already."""
        before = _NOTHING
        for each in answers:
            if self._query.stream_valued:
                before = _NOTHING
            for row in {**before, **each.bag}:
                if each.bag[row] != before[row]:
                    yield each.at, row, each.bag[row] - before[row]
            before = each.bag

    def expired(self) -> int:
        """How many rows left a window of the query before the input ended."""
        return sum(self._left(each) for each in self._query.every_window)

    # A query, and those below it.

    def _run(self, query: QueryText) -> list[Answer]:
        for each in query.derived:
            self._give(each.log, query=each.query, given=self._run(each.query))
        first = self._first_instant(query)
        if first is None:
            return []
        if query.output is not None or query.results:
            return self._of_results(query, first)
        bags = self._bags(query, query.duck, first)
        if query.change is None:
            return self._answers(query, bags)
        return self._of_changes(query, bags)

    def _answers(self, query: QueryText, bags: Mapping[int, Bag]) -> list[Answer]:
        """Answers of a relation: at its instants, and wherever it changes."""
        always = self._instants(query)
        before, found = _NOTHING, []
        for at, bag in bags.items():
            found.append(Answer(at, bag, at in always or bag != before))
            before = bag
        return found

    def _of_changes(self, query: QueryText, bags: Mapping[int, Bag]) -> list[Answer]:
        """ISTREAM, DSTREAM and RSTREAM of consecutive answers."""
        between = self._between(query, bags) if query.restore else {}
        before, found = _NOTHING, []
        for each in self._answers(query, bags):
            given = _given(query.change, before, each.bag)
            if query.restore and each.said:
                short = between[each.at]
                given = given | short if query.change == "RSTREAM" else short
            if query.change == "RSTREAM" and not each.said:
                given = _NOTHING
            found.append(replace(each, bag=given))
            before = each.bag
        return found

    def _between(self, query: QueryText, bags: Mapping[int, Bag]) -> dict[int, Bag]:
        """What the same query without SLIDE gives from the boundary before until before each."""
        eager = replace(query, windows=tuple(replace(each, slide=None) for each in query.windows))
        start = self._logs.first_row(self._streams(query))
        assert start is not None
        step = query.windows[0].slide or 1
        word = "DSTREAM" if query.change == "DSTREAM" else "ISTREAM"
        found: dict[int, Bag] = {at: Counter() for at in bags}
        before = _NOTHING
        for at, bag in self._bags(eager, query.duck, start).items():
            boundary = at - at % step + step
            if boundary in found:
                found[boundary] += _given(word, before, bag)
            before = bag
        return found

    def _of_results(self, query: QueryText, first: int) -> list[Answer]:
        """What was given so far, or a window on it (Golab, 3.3.3)."""
        assert query.tracked is not None
        plain = replace(
            query, windows=tuple(replace(each, internal=False) for each in query.windows)
        )
        before, given = _NOTHING, []
        for at, rows in self._rows(plain, query.tracked, first).items():
            bag = Counter(row[:-1] for row in rows)
            entered = Counter(row[:-1] for row in rows if row[-1] == at)
            given.append(Answer(at, entered | (bag - before), True))
            before = bag
        output = query.output or WindowText(
            "out_", "results_", tuple(name for name, _ in query.columns), Kind.UNBOUNDED
        )
        self._give("results_", query=query, given=given)
        names = ", ".join(f"out_.{each}" for each in output.columns)
        whole = replace(query, windows=(output,), derived=(), output=None, results=False)
        return self._answers(query, self._bags(whole, f"SELECT {names} FROM out_", first))

    # Instants.

    def _streams(self, query: QueryText) -> frozenset[str]:
        return query.logs - self._tables

    def _first_instant(self, query: QueryText) -> int | None:
        """The first of the query's instants, or the first boundary of one that slides."""
        boundaries = self._boundaries(query) if query.sliding else self._instants(query)
        return min(boundaries, default=None)

    def _instants(self, query: QueryText) -> set[int]:
        """The instants that a query has in any case, changed or not."""
        if not query.sliding:
            return self._logs.instants(query.logs) | set(self._logs.ticks)
        boundaries = self._boundaries(query)
        first = min(boundaries, default=NEVER)
        tables = self._logs.instants(query.logs & self._tables)
        return boundaries | {each for each in tables if each >= first}

    def _boundaries(self, query: QueryText) -> set[int]:
        first = self._logs.first_row(self._streams(query))
        if first is None:
            return set()
        found: set[int] = set()
        for each in query.every_window:
            if each.kind is Kind.ROWS and each.slide is not None:
                found |= self._nth_rows(each)
            elif each.on_boundaries and each.slide is not None:
                found |= {at for at in range(first + 1, self._logs.end + 1) if at % each.slide == 0}
        return found

    def _nth_rows(self, window: WindowText) -> set[int]:
        per = f"PARTITION BY {', '.join(window.partition)} " if window.partition else ""
        sql = (
            f"SELECT ts_ FROM (SELECT ts_, row_number() OVER ({per}ORDER BY ts_, n_) AS r_ "
            f"FROM {window.log}) WHERE r_ % {window.slide} = 0 AND ts_ <= {self._logs.end}"
        )
        return {at for (at,) in self._connection.execute(sql).fetchall()}

    # DuckDB.

    def _bags(self, query: QueryText, sql: str, first: int) -> dict[int, Bag]:
        return {at: Counter(rows) for at, rows in self._rows(query, sql, first).items()}

    def _rows(self, query: QueryText, sql: str, first: int) -> dict[int, list[Row]]:
        """The rows of the query at every time from `first` to the end of input."""
        asked = _over_windows(query, sql)
        found = {}
        for at in range(first, self._logs.end + 1):
            found[at] = self.ask(asked, at)
        return found

    def ask(self, sql: str, at: int) -> list[Row]:
        """What a query over the logs says at a time, in any order."""
        rows = self._connection.execute(sql.replace("$now", f"({at})")).fetchall()
        return [_plain(row) for row in rows]

    def _left(self, window: WindowText) -> int:
        if window.kind in (Kind.TABLE, Kind.HOP, Kind.SESSION):
            return 0
        sql = (
            f"SELECT count(*) FROM ({lifetimes_sql(window)}) "
            f"WHERE enter_ < exit_ AND exit_ <= {self._logs.end}"
        )
        counted = self._connection.execute(sql).fetchone()
        return 0 if counted is None else int(counted[0])

    def _load(self, name: str, columns: list[tuple[str, Type]]) -> None:
        rows = [
            (*(each.values[column] for column, _ in columns), each.at, each.arrival, each.weight)
            for each in self._logs.rows[name]
        ]
        self._create(name, columns, rows)

    def _give(self, log: str, *, query: QueryText, given: list[Answer]) -> None:
        """The rows that a stream gave, in the contract's order within an instant."""
        rows = [
            (*row, each.at, place, 1)
            for each in given
            for place, row in enumerate(sorted(each.bag.elements(), key=order_key))
        ]
        self._create(log, list(query.columns), rows)

    def _create(self, name: str, columns: list[tuple[str, Type]], rows: list[Row]) -> None:
        said = [
            f"{column} {_sql_type(type_, rows, k)}" for k, (column, type_) in enumerate(columns)
        ]
        said += ["ts_ BIGINT", "n_ BIGINT", "w_ BIGINT"]
        self._connection.execute(f"CREATE TABLE {name} ({', '.join(said)})")
        if rows:
            listed = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
            self._connection.execute(f"INSERT INTO {name} VALUES {listed}")


def _over_windows(query: QueryText, sql: str) -> str:
    named = [f"{each.name} AS ({window_sql(each)})" for each in query.windows]
    return f"WITH {', '.join(named)} {sql}" if named else sql


def _given(change: str | None, before: Bag, after: Bag) -> Bag:
    match change:
        case "ISTREAM":
            return after - before
        case "DSTREAM":
            return before - after
    return after


def _sql_type(type_: Type, rows: list[Row], place: int) -> str:
    """A column's type; wide enough for integers and of the scale of decimals that are there."""
    if type_ is Type.INT and any(abs(row[place] or 0) >= 2**63 for row in rows):
        return "HUGEINT"
    if type_ is Type.DECIMAL:
        scales = [
            -int(row[place].as_tuple().exponent) for row in rows if isinstance(row[place], Decimal)
        ]
        return f"DECIMAL(38, {max(scales, default=2)})"
    return _SQL_TYPES[type_]


def _literal(value: Value) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case float():
            return f"CAST('{value!r}' AS DOUBLE)"
    return str(value)


def _plain(row: Any) -> Row:
    return tuple(canonical(each) for each in row)


def canonical(value: Value) -> Value:
    """A number of type DOUBLE to twelve digits, so that rounding makes no difference; no -0.0."""
    return float(f"{value:.12g}") + 0.0 if isinstance(value, float) else value


def order_key(row: Row) -> tuple[Any, ...]:
    """The contract's order of rows: NULL first, then by value."""
    return tuple((each is not None, 0 if each is None else each) for each in row)
