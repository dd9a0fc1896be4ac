"""Random queries over columns of every type, with rows for them, and what DuckDB answers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import duckdb

Row = tuple[Any, ...]

DDL = """
CREATE STREAM s (a INT, b DOUBLE, c VARCHAR, k BOOLEAN NOT NULL);
CREATE STREAM t (d INT NOT NULL, e DECIMAL(5, 1), f ENUM('x', 'y', 'z'), g TINYINT CHECK (g > 0));
CREATE STREAM u (a INT, h DATE NOT NULL, i DOUBLE CHECK (i BETWEEN 0 AND 2), m BOOLEAN);
"""
TABLES = {
    "s": "a INT, b DOUBLE, c VARCHAR, k BOOLEAN",
    "t": "d INT, e DECIMAL(5, 1), f VARCHAR, g TINYINT",
    "u": "a INT, h DATE, i DOUBLE, m BOOLEAN",
}
_VALUES: dict[str, dict[str, Sequence[Any]]] = {
    "s": {
        "a": (None, 0, 1, 2, 3),
        "b": (None, 0.0, 0.5, 1.0, 2.0),
        "c": (None, "", "x", "xy", "z"),
        "k": (True, False),
    },
    "t": {
        "d": (0, 1, 2, 4),
        "e": (None, Decimal("0.5"), Decimal("1.0"), Decimal("1.1"), Decimal("2.0")),
        "f": (None, "x", "y", "z"),
        "g": (None, 1, 2, 3),
    },
    "u": {
        "a": (None, 0, 1, 2),
        "h": (date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 3)),
        "i": (None, 0.0, 0.5, 2.0),
        "m": (None, True, False),
    },
}
NAMES = {name: tuple(values) for name, values in _VALUES.items()}
_EXACT = {"s": "a", "t": "deg", "u": "a"}
_NUMBERS = {"s": "ab", "t": "deg", "u": "ai"}
_TEXTS = {"s": "c", "t": "f", "u": ""}
_TRUTHS = {"s": "k", "t": "", "u": "m"}
_OPERATORS = ("<", "<=", "=", "<>", ">=", ">")


def random_rows(rng: random.Random, most: int = 6) -> dict[str, list[Row]]:
    """A few rows of each stream, within its domains."""
    return {
        name: [
            tuple(rng.choice(each) for each in values.values()) for _ in range(rng.randint(1, most))
        ]
        for name, values in _VALUES.items()
    }


class Where:
    """Makes conditions over some of the inputs."""

    def __init__(self, rng: random.Random, inputs: Sequence[str]) -> None:
        self._rng = rng
        self._inputs = inputs

    def condition(self, depth: int) -> str:
        rng = self._rng
        if depth == 0 or rng.random() < 0.3:
            return self._leaf()
        kind = rng.choice(("AND", "AND", "OR", "OR", "NOT"))
        if kind == "NOT":
            return f"NOT ({self.condition(depth - 1)})"
        parts = [self.condition(depth - 1) for _ in range(2)]
        return f"({f' {kind} '.join(parts)})"

    def _leaf(self) -> str:
        makers: tuple[Callable[[], str | None], ...] = (
            self._limit,
            self._limit,
            self._comparison,
            self._comparison,
            self._offset,
            self._listed,
            self._text,
            self._truth,
            self._null,
            self._other,
        )
        while True:
            found = self._rng.choice(makers)()
            if found is not None:
                return found

    def _column(self, among: dict[str, str]) -> str | None:
        found = [f"{each}.{column}" for each in self._inputs for column in among[each]]
        return self._rng.choice(found) if found else None

    def _number(self) -> str:
        return self._rng.choice(("0", "1", "2", "0.5", "1.1", "-1"))

    def _op(self) -> str:
        return self._rng.choice(_OPERATORS)

    def _limit(self) -> str:
        column = self._column(_NUMBERS)
        how = self._rng.randrange(5)
        if how == 0:
            return f"{column} BETWEEN {self._rng.randint(-1, 1)} AND {self._rng.randint(1, 2)}"
        if how == 1:
            return f"{self._number()} {self._op()} {column}"
        if how == 2 and (exact := self._column(_EXACT)):
            factor = self._rng.choice(("2 * ", "3 * ", "-"))
            return f"{factor}{exact} {self._op()} {self._number()}"
        return f"{column} {self._op()} {self._number()}"

    def _comparison(self) -> str:
        return f"{self._column(_NUMBERS)} {self._op()} {self._column(_NUMBERS)}"

    def _offset(self) -> str:
        one, other, n = self._column(_EXACT), self._column(_EXACT), self._rng.randint(-2, 3)
        if self._rng.random() < 0.5:
            return f"{one} + {n} {self._op()} {other}"
        return f"{one} - {other} {self._op()} {n}"

    def _listed(self) -> str:
        items = ", ".join(self._rng.sample(("0", "1", "2", "0.5", "NULL"), 2))
        word = self._rng.choice(("IN", "IN", "NOT IN"))
        return f"{self._column(_NUMBERS)} {word} ({items})"

    def _text(self) -> str | None:
        column = self._column(_TEXTS)
        if column is None:
            return None
        how = self._rng.randrange(4)
        if how == 0:
            return f"{column} LIKE 'x%'"
        if how == 1:
            return f"{column} {self._rng.choice(('IN', 'NOT IN'))} ('x', 'z')"
        if how == 2:
            return f"{column} {self._op()} {self._column(_TEXTS)}"
        return f"{column} {self._op()} '{self._rng.choice(('x', 'y', 'xz'))}'"

    def _truth(self) -> str | None:
        column = self._column(_TRUTHS)
        if column is None:
            return None
        words = ("{}", "NOT {}", "{} IS TRUE", "{} IS NOT FALSE", "{} = TRUE", "{} <> FALSE")
        return self._rng.choice(words).format(column)

    def _null(self) -> str:
        column = self._column(self._rng.choice((_NUMBERS, _NUMBERS, _TRUTHS))) or self._column(
            _NUMBERS
        )
        return f"{column} IS {self._rng.choice(('', 'NOT '))}NULL"

    def _other(self) -> str | None:
        how = self._rng.randrange(4)
        if how == 0 and "u" in self._inputs:
            return f"u.h {self._op()} DATE '2024-01-0{self._rng.randint(1, 3)}'"
        if how == 1:
            return f"{self._column(_NUMBERS)} IS NOT DISTINCT FROM {self._column(_NUMBERS)}"
        if how == 2:
            exact = self._column(_EXACT)
            return f"{exact} * {self._column(_EXACT)} {self._op()} {self._rng.randint(0, 2)}"
        return f"({self._leaf()}) IS {self._rng.choice(('TRUE', 'NOT TRUE', 'FALSE'))}"


def random_select(rng: random.Random, *, distinct: bool) -> str:
    """A query of one to three inputs; sometimes a union, sometimes over subqueries or JOIN."""
    word = "SELECT DISTINCT" if distinct else "SELECT"
    if rng.random() < 0.15:
        parts = [_select(rng, "SELECT", "a") for _ in range(2)]
        return f" {'UNION' if distinct else 'UNION ALL'} ".join(parts)
    return _select(rng, word, None)


def _select(rng: random.Random, word: str, only: str | None) -> str:
    inputs = rng.sample(("s", "t", "u"), rng.choice((1, 2, 2, 3)))
    if only is not None and inputs == ["t"]:
        inputs = ["s"]
    from_ = ", ".join(_input(rng, each) for each in inputs)
    if only is None and "t" not in inputs and len(inputs) == 2 and rng.random() < 0.5:
        from_ = " JOIN ".join(inputs) + " USING (a)"
    where = Where(rng, inputs).condition(rng.choice((1, 2, 2, 3)))
    first = "s" if "s" in inputs else "u" if "u" in inputs else "t"
    shown = [f"{first}.a"] if only else [f"{each}.{rng.choice(NAMES[each])}" for each in inputs]
    return f"{word} {', '.join(shown)} FROM {from_} WHERE {where}"


def _input(rng: random.Random, name: str) -> str:
    if rng.random() < 0.75:
        return name
    return f"(SELECT * FROM {name} WHERE {Where(rng, [name]).condition(1)}) AS {name}"


class Duck:
    """The same streams as tables."""

    def __init__(self) -> None:
        self._connection = duckdb.connect()
        for name, columns in TABLES.items():
            self._connection.execute(f"CREATE TABLE {name} ({columns})")

    def answer(self, sql: str, rows: dict[str, list[Row]]) -> Counter[Row]:
        for name, each in rows.items():
            self._connection.execute(f"DELETE FROM {name}")
            marks = ", ".join("?" for _ in NAMES[name])
            self._connection.executemany(f"INSERT INTO {name} VALUES ({marks})", each)
        return Counter(self._connection.execute(sql).fetchall())
