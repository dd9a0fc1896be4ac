"""What a run says, for Python programs: changes and answers, as rows and as Arrow tables.

Rows stay as the engine made them, columns of numbers or tuples, until somebody looks: then they
are a `pyarrow.Table` with the query's columns, the multiplicity `n` and, for changes, the instant
`at`.  A column of the query that has one of these names keeps it; `n_`, `at_` are then ours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from millpond.api.values import Say, python_value
from millpond.diagnostic import Diagnostic, UserError
from millpond.plan import Query
from millpond.program import Delta, IntArray
from millpond.run.table_sinks import arrow_array, arrow_type
from millpond.schema import IntegerType, Row, Type

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

_SHOWN = 20
"""Rows of a table in a notebook."""

Told = tuple[Row, int, int]
"""A row, its multiplicity (negative: it leaves), and its instant."""


@dataclass(frozen=True)
class Form:
    """What rows of a query look like."""

    names: tuple[str, ...]
    types: tuple[Type, ...]
    time: Type | None
    """The type of its instants; None where they are counted."""

    @classmethod
    def of(cls, query: Query) -> Form:
        fields = query.fields
        names = tuple(each.name for each in fields)
        return cls(names, tuple(each.type for each in fields), query.time_type)

    @cached_property
    def says(self) -> tuple[Say | None, ...]:
        return tuple(map(python_value, self.types))

    @cached_property
    def instant(self) -> Say | None:
        return python_value(self.time)

    @cached_property
    def plain(self) -> bool:
        """Whether every value is the number or the text that it is inside."""
        return self.instant is None and not any(self.says)

    def row(self, row: Row) -> Row:
        """A row in Python's own values."""
        if self.plain:
            return row
        return tuple(
            value if say is None or value is None else say(value)
            for say, value in zip(self.says, row, strict=True)
        )

    def at(self, at: int) -> Any:
        return at if self.instant is None else self.instant(at)

    def free(self, name: str) -> str:
        """A name for a column of ours."""
        taken = {each.lower() for each in self.names}
        while name in taken:
            name += "_"
        return name


class Change(NamedTuple):
    """A row that came into the answer `n` times at the instant `at`; that left it, if `n < 0`."""

    row: dict[str, Any]
    n: int
    at: Any

    @property
    def op(self) -> str:
        """`+` or `-`, as the command line prints it."""
        return "+" if self.n > 0 else "-"


class _Rows(ABC):
    """Rows with multiplicities."""

    _form: Form

    @abstractmethod
    def __len__(self) -> int: ...

    @cached_property
    @abstractmethod
    def table(self) -> pa.Table:
        """All of it as an Arrow table."""

    def to_polars(self) -> pl.DataFrame:
        """All of it as a Polars frame."""
        import polars as pl

        frame = pl.from_arrow(self.table)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def to_pandas(self) -> Any:
        """All of it as a pandas frame, where pandas is installed."""
        return self.table.to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        return html_table(self.table)


class Changes(_Rows):
    """The changes of an answer, in the order of instants, at each all `-` before all `+`.

    >>> import millpond as mp
    >>> pond = mp.Pond("CREATE STREAM s (a INT)")
    >>> run = pond.query("SELECT a FROM s WHERE a > 10").start()
    >>> changes = run.push("s", [{"a": 11}, {"a": 5}, {"a": 12}])
    >>> [(each.op, each.row, each.n, each.at) for each in changes]
    [('+', {'a': 11}, 1, 1), ('+', {'a': 12}, 1, 3)]
    >>> changes.table.to_pydict()
    {'a': [11, 12], 'n': [1, 1], 'at': [1, 3]}
    """

    def __init__(self, form: Form, told: Sequence[Told] | Delta) -> None:
        self._form = form
        self._given = told

    def __len__(self) -> int:
        return len(self._given)

    def __iter__(self) -> Iterator[Change]:
        form = self._form
        for row, n, at in self.told():
            yield Change(dict(zip(form.names, form.row(row), strict=True)), n, form.at(at))

    def __repr__(self) -> str:
        return f"<Changes: {len(self)} rows>"

    def told(self) -> Iterator[Told]:
        """Each row as a tuple, with its multiplicity and its instant, as the engine has them."""
        return self._given.rows() if isinstance(self._given, Delta) else iter(self._given)

    @cached_property
    def table(self) -> pa.Table:
        """Columns of the query, `n` (negative: rows leave) and `at`, as an Arrow table."""
        form = self._form
        if isinstance(self._given, Delta):
            delta = self._given
            arrays = [
                _of_numbers(values, nulls, kind)
                for values, nulls, kind in zip(delta.values, delta.nulls, form.types, strict=True)
            ]
            return _named(form, arrays, n=_weights(delta.weight), at=_instants(form, delta.at))
        rows = [row for row, _, _ in self._given]
        return _named(
            form,
            _columns(form, rows),
            n=_weights([n for _, n, _ in self._given]),
            at=_instants(form, [at for _, _, at in self._given]),
        )


class Answer(_Rows):
    """What the answer is: rows with multiplicities, in the order of the columns.

    >>> import millpond as mp
    >>> pond = mp.Pond("CREATE STREAM s (a INT CHECK (a BETWEEN 1 AND 9)); CREATE STREAM t (b INT)")
    >>> run = pond.query("SELECT s.a FROM s, t WHERE s.a = t.b").start()
    >>> len(run.push("s", [{"a": 3}, {"a": 3}])), len(run.push("t", [{"b": 3}]))
    (0, 1)
    >>> list(run.answer())
    [({'a': 3}, 2)]
    """

    def __init__(self, form: Form, rows: Sequence[tuple[Row, int]]) -> None:
        self._form = form
        self._given = rows

    def __len__(self) -> int:
        return len(self._given)

    def __iter__(self) -> Iterator[tuple[dict[str, Any], int]]:
        form = self._form
        for row, n in self._given:
            yield dict(zip(form.names, form.row(row), strict=True)), n

    def __repr__(self) -> str:
        return f"<Answer: {len(self)} rows>"

    @cached_property
    def table(self) -> pa.Table:
        """Columns of the query and `n`, as an Arrow table."""
        rows = [row for row, _ in self._given]
        return _named(
            self._form, _columns(self._form, rows), n=_weights([n for _, n in self._given])
        )


# Arrow ------------------------------------------------------------------------------------------


def _named(form: Form, arrays: list[Any], **ours: Any) -> pa.Table:
    import pyarrow as pa

    names = [*form.names, *map(form.free, ours)]
    return pa.Table.from_arrays([*arrays, *ours.values()], names=names)


def _columns(form: Form, rows: Sequence[Row]) -> list[Any]:
    """A column of each type, of rows."""
    values = list(zip(*rows, strict=True)) if rows else [()] * len(form.types)
    return [
        _column(list(column), kind, name)
        for column, kind, name in zip(values, form.types, form.names, strict=True)
    ]


def _column(values: list[Any], kind: Type, name: str) -> Any:
    import pyarrow as pa

    try:
        return arrow_array(values, kind)
    except (pa.ArrowException, OverflowError) as error:
        raise UserError(
            Diagnostic(
                "MP406",
                f"column `{name}` has a value that Arrow's {arrow_type(kind)} does not hold",
                notes=(str(error).splitlines()[0],),
                helps=("iterate over the rows: Python's integers have any size",),
            )
        ) from None


def _of_numbers(values: IntArray, nulls: IntArray | None, kind: Type) -> Any:
    """A column of a type, of 64-bit numbers and marks where they are NULL."""
    import pyarrow as pa

    if values.dtype == object:
        none = [False] * len(values) if nulls is None else nulls.tolist()
        listed = [None if n else each for each, n in zip(values.tolist(), none, strict=True)]
        return arrow_array(listed, kind)
    mask = None if nulls is None else nulls.astype(bool)
    array = pa.array(values, pa.int64(), mask=mask)
    if isinstance(kind, IntegerType) and kind.bits is not None:
        return array.cast(arrow_type(kind))
    return arrow_array(array.to_pylist(), kind)


def _weights(weights: IntArray | list[int]) -> Any:
    """Multiplicities: 64 bits, or decimal digits where one does not fit."""
    import pyarrow as pa

    numbers = weights if isinstance(weights, list) else weights.tolist()
    if isinstance(weights, np.ndarray) and weights.dtype != object:
        return pa.array(weights, pa.int64())
    if all(-(2**63) <= each < 2**63 for each in numbers):
        return pa.array(numbers, pa.int64())
    return pa.array([str(each) for each in numbers]).cast(pa.decimal256(76, 0))


def _instants(form: Form, at: IntArray | list[int]) -> Any:
    import pyarrow as pa

    if form.time is None:
        return pa.array(at, pa.int64())
    return arrow_array(at if isinstance(at, list) else at.tolist(), form.time)


# Notebooks --------------------------------------------------------------------------------------


def html_table(table: pa.Table) -> str:
    """The first rows of a table, for a notebook."""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.column_names)
    columns = [each.to_pylist() for each in table.slice(0, _SHOWN).columns]
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_cell(each))}</td>' for each in row)}</tr>"
        for row in zip(*columns, strict=True)
    )
    more = table.num_rows - _SHOWN
    below = f"<p>and {more} more rows</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def _cell(value: Any) -> str:
    return "NULL" if value is None else str(value)
