"""Random select-project-join queries, as text and as plain data.

The plain data is what a test may evaluate by definition, without anything of millpond in between:
columns are named `s.a`, constants are integers, and a row of an input is a row of its stream.
"""

from __future__ import annotations

import operator
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

Side = str | int
"""A column as `alias.column`, or a constant."""

OPERATORS: Final = ("<", "<=", "=", ">=", ">")
_HOLDS: Final = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}
_STREAMS: Final = "stuv"
_COLUMNS: Final = {"s": "abc", "t": "def", "u": "ghi", "v": "jkl"}


@dataclass(frozen=True)
class ColumnText:
    """A declared column."""

    name: str
    type: str = "INT"
    low: int | None = None
    high: int | None = None
    not_null: bool = False

    @property
    def sql(self) -> str:
        words = [self.name, self.type]
        if self.not_null:
            words.append("NOT NULL")
        if self.low is not None and self.high is not None:
            words.append(f"CHECK ({self.name} BETWEEN {self.low} AND {self.high})")
        elif self.low is not None:
            words.append(f"CHECK ({self.name} >= {self.low})")
        elif self.high is not None:
            words.append(f"CHECK ({self.name} <= {self.high})")
        return " ".join(words)


@dataclass(frozen=True)
class StreamText:
    """A declared stream."""

    name: str
    columns: tuple[ColumnText, ...]

    @property
    def sql(self) -> str:
        return f"CREATE STREAM {self.name} ({', '.join(each.sql for each in self.columns)})"


@dataclass(frozen=True)
class ComparisonText:
    """`left op right`."""

    left: Side
    op: str
    right: Side

    @property
    def sql(self) -> str:
        return f"{self.left} {self.op} {self.right}"

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(each for each in (self.left, self.right) if isinstance(each, str))

    @property
    def join(self) -> bool:
        """Whether it compares columns of two inputs."""
        return len({each.partition(".")[0] for each in self.columns}) == 2


@dataclass(frozen=True)
class SpjText:
    """Declarations and one query."""

    streams: tuple[StreamText, ...]
    inputs: tuple[tuple[str, str], ...]
    """Alias and stream, in the order of FROM."""
    comparisons: tuple[ComparisonText, ...]
    projection: tuple[Side, ...]
    distinct: bool

    @property
    def ddl(self) -> str:
        return "".join(f"{each.sql};\n" for each in self.streams)

    @property
    def sql(self) -> str:
        words = ["SELECT", *(["DISTINCT"] if self.distinct else [])]
        words.append(", ".join(str(each) for each in self.projection))
        words.append("FROM")
        words.append(
            ", ".join(
                name if name == alias else f"{name} AS {alias}" for alias, name in self.inputs
            )
        )
        if self.comparisons:
            words.append("WHERE")
            words.append(" AND ".join(each.sql for each in self.comparisons))
        return " ".join(words)

    @property
    def text(self) -> str:
        """The script: declarations, then the query."""
        return f"{self.ddl}{self.sql}"

    @property
    def self_join(self) -> bool:
        return len({name for _, name in self.inputs}) < len(self.inputs)

    @property
    def constants(self) -> tuple[int, ...]:
        """The constants of the comparisons and the ends of the domains of columns that matter."""
        found = {
            side
            for each in self.comparisons
            for side in (each.left, each.right)
            if isinstance(side, int)
        }
        for each in self.relevant:
            column = self.column(each)
            found |= {end for end in (column.low, column.high) if end is not None}
        return tuple(sorted(found))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of every input."""
        declared = {each.name: each for each in self.streams}
        return tuple(
            f"{alias}.{column.name}"
            for alias, name in self.inputs
            for column in declared[name].columns
        )

    @property
    def relevant(self) -> tuple[str, ...]:
        """The columns that the query names."""
        named = {side for each in self.comparisons for side in each.columns} | set(self.projection)
        return tuple(each for each in self.columns if each in named)

    def of(self, alias: str) -> tuple[str, ...]:
        """The columns of one input that the query names."""
        return tuple(each for each in self.relevant if each.partition(".")[0] == alias)

    def column(self, name: str) -> ColumnText:
        """The declaration of `alias.column`."""
        alias, _, column = name.partition(".")
        stream = dict(self.inputs)[alias]
        declared = next(each for each in self.streams if each.name == stream)
        return next(each for each in declared.columns if each.name == column)


def random_spj(
    rng: random.Random,
    *,
    streams: tuple[int, int] = (1, 3),
    columns: tuple[int, int] = (1, 3),
    comparisons: tuple[int, int] = (0, 7),
    constants: tuple[int, int] = (0, 3),
    values: tuple[int, int] = (0, 6),
    operators: Sequence[str] = OPERATORS,
    distinct: bool | None = None,
    ranges: float = 0.5,
    satisfiable: float = 0.9,
    checks: float = 0.0,
    types: Sequence[str] = ("INT",),
    self_joins: float = 0.0,
) -> SpjText:
    """A random query; pairs of numbers are the least and the most of what they count.

    `values` are the ends of the range that constants come from.  Shares: `ranges` of the columns
    get a lower and an upper bound (without some, next to nothing is bounded), `checks` of them a
    declared domain, `satisfiable` of the queries are made around rows that pass, `self_joins` of
    the inputs are another use of an earlier stream.

    >>> few = {"streams": (2, 2), "columns": (1, 2), "comparisons": (1, 2)}
    >>> print(random_spj(random.Random(9), checks=0.3, **few).text)
    CREATE STREAM s (a INT CHECK (a <= 2));
    CREATE STREAM t (d INT);
    SELECT DISTINCT t.d FROM s, t WHERE t.d > s.a
    """
    return _Maker(rng, values, operators, rng.random() < satisfiable).query(
        streams, columns, comparisons, constants, distinct, ranges, checks, types, self_joins
    )


class _Maker:
    """Makes one query; where it has to be satisfiable, around one row of each input that joins."""

    def __init__(
        self, rng: random.Random, values: tuple[int, int], operators: Sequence[str], passes: bool
    ) -> None:
        self._rng = rng
        self._values = values
        self._operators = operators
        self._passes = passes
        self._row: dict[str, int] = {}

    def query(
        self,
        streams: tuple[int, int],
        columns: tuple[int, int],
        comparisons: tuple[int, int],
        constants: tuple[int, int],
        distinct: bool | None,
        ranges: float,
        checks: float,
        types: Sequence[str],
        self_joins: float,
    ) -> SpjText:
        rng = self._rng
        inputs = self._inputs(rng.randint(*streams), self_joins)
        names = {stream: _COLUMNS[stream][: rng.randint(*columns)] for _, stream in inputs}
        every = [f"{alias}.{column}" for alias, stream in inputs for column in names[stream]]
        low, high = self._values
        self._row = {each: rng.randint(low - 3, high + 3) for each in every}
        known = [rng.randint(low, high) for _ in range(rng.randint(*constants))]
        chosen: list[ComparisonText] = []
        for column in every:
            if known and rng.random() < ranges:
                chosen += self._range(column, known)
        for _ in range(rng.randint(*comparisons)):
            right: Side = rng.choice(known) if known and rng.random() < 0.35 else rng.choice(every)
            chosen += self._comparison(rng.choice(every), self._operators, right)
        rng.shuffle(chosen)
        declared = tuple(
            StreamText(
                stream,
                tuple(self._column(stream, each, inputs, checks, types) for each in columns_),
            )
            for stream, columns_ in names.items()
        )
        keep = rng.random() < 0.5 if distinct is None else distinct
        return SpjText(declared, inputs, tuple(chosen), self._projection(every, known), keep)

    def _inputs(self, count: int, self_joins: float) -> tuple[tuple[str, str], ...]:
        found: list[tuple[str, str]] = []
        for alias in _STREAMS[:count]:
            again = bool(found) and self._rng.random() < self_joins
            found.append((alias, self._rng.choice(found)[1] if again else alias))
        return tuple(found)

    def _value(self, side: Side) -> int:
        return side if isinstance(side, int) else self._row[side]

    def _comparison(
        self, left: Side, operators: Sequence[str], right: Side
    ) -> list[ComparisonText]:
        """One of the operators, if one holds of the row that has to pass."""
        fitting = [
            each
            for each in operators
            if not self._passes or _HOLDS[each](self._value(left), self._value(right))
        ]
        return [ComparisonText(left, self._rng.choice(fitting), right)] if fitting else []

    def _range(self, column: str, known: Sequence[int]) -> list[ComparisonText]:
        """Both bounds, or as many as fit."""
        if self._rng.random() < 0.15:
            return self._comparison(column, ["="], self._rng.choice(known))
        below = [each for each in known if not self._passes or each <= self._row[column]]
        above = [each for each in known if not self._passes or each >= self._row[column]]
        found = []
        for ends, operators in ((below, (">", ">=")), (above, ("<", "<="))):
            if ends:
                found += self._comparison(column, operators, self._rng.choice(ends))
        return found

    def _column(
        self,
        stream: str,
        name: str,
        inputs: Sequence[tuple[str, str]],
        checks: float,
        types: Sequence[str],
    ) -> ColumnText:
        rng = self._rng
        low: int | None = None
        high: int | None = None
        if rng.random() < checks:
            uses = [self._row[f"{alias}.{name}"] for alias, of in inputs if of == stream]
            ends = sorted((rng.randint(*self._values), rng.randint(*self._values)))
            low, high = (
                (min(ends[0], *uses), max(ends[1], *uses)) if self._passes else (ends[0], ends[1])
            )
            keep = rng.randrange(5)
            low, high = None if keep == 0 else low, None if keep == 1 else high
        return ColumnText(name, rng.choice(types), low, high, rng.random() < checks / 2)

    def _projection(self, every: Sequence[str], known: Sequence[int]) -> tuple[Side, ...]:
        """A constant, columns, or both."""
        rng = self._rng
        if rng.random() < 0.4:
            return (1,)
        found: list[Side] = [rng.choice(every) for _ in range(rng.randint(1, 2))]
        if rng.random() < 0.15:
            found.append(rng.choice(known) if known else 7)
        return tuple(dict.fromkeys(found))


_NUMBER: Final = r"-?\d+"
_COLUMN: Final = re.compile(
    rf"(?P<name>\w+) (?P<type>\w+)(?P<not_null> NOT NULL)?"
    rf"( CHECK \(\w+ (BETWEEN (?P<from>{_NUMBER}) AND (?P<to>{_NUMBER})"
    rf"|>= (?P<low>{_NUMBER})|<= (?P<high>{_NUMBER}))\))?"
)


def spj_text(text: str) -> SpjText:
    """Reads what `SpjText.text` writes: columns qualified, BETWEEN in declarations only.

    >>> text = "CREATE STREAM s (a INT CHECK (a <= 9));\\nSELECT DISTINCT s.a FROM s WHERE s.a > 1"
    >>> spj_text(text).text == text
    True
    """
    *statements, select = [" ".join(each.split()) for each in text.strip().rstrip(";").split(";")]
    matched = re.fullmatch(r"SELECT (DISTINCT )?(.+?) FROM (.+?)(?: WHERE (.+))?", select)
    assert matched, select
    distinct, projection, inputs, condition = matched.groups()
    return SpjText(
        tuple(_declared(each) for each in statements),
        tuple((each.split()[-1], each.split()[0]) for each in inputs.split(", ")),
        tuple(_compared(each) for each in condition.split(" AND ")) if condition else (),
        tuple(_side(each) for each in projection.split(", ")),
        distinct is not None,
    )


def _declared(statement: str) -> StreamText:
    matched = re.fullmatch(r"CREATE STREAM (\w+) \((.+)\)", statement)
    assert matched, statement
    columns = []
    for each in matched[2].split(", "):
        found = _COLUMN.fullmatch(each)
        assert found, each
        low, high = found["from"] or found["low"], found["to"] or found["high"]
        columns.append(
            ColumnText(
                found["name"],
                found["type"],
                None if low is None else int(low),
                None if high is None else int(high),
                found["not_null"] is not None,
            )
        )
    return StreamText(matched[1], tuple(columns))


def _compared(text: str) -> ComparisonText:
    left, op, right = text.split()
    assert op in OPERATORS, text
    return ComparisonText(_side(left), op, _side(right))


def _side(text: str) -> Side:
    return int(text) if re.fullmatch(_NUMBER, text) else text


@contextmanager
def naming(seed: int, query: SpjText) -> Iterator[None]:
    """Says which query it was that a test failed on."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"seed {seed}:\n{query.text}")
        raise
