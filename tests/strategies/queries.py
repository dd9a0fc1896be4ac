"""Random scripts: declarations, one or two queries over all of the language, and tagged input.

A query is put together out of pieces that exist twice, as text of the language and as SQL over the
contents of its windows (`query_text.py`); every choice is made once, for both.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from tests.strategies.expressions import Expressions, Pair, Type, both
from tests.strategies.from_text import OUTER, FromClause, Types, latest
from tests.strategies.inputs import RandomInput, random_relations, random_time
from tests.strategies.query_text import (
    Body,
    Case,
    Item,
    Kind,
    QueryText,
    WindowText,
)


def random_case(seed: int) -> Case:
    """The case of a seed."""
    rng = random.Random(f"language {seed}")
    time = random_time(rng)
    relations = random_relations(rng, time)
    count = 2 if rng.random() < 0.12 else 1
    queries = tuple(
        replace(RandomQuery(rng, time, relations, f"q{place}").query(), name=f"q{place}")
        for place in range(1, count + 1)
    )
    size = rng.randint(8, 26)
    events = tuple(RandomInput(rng, time, relations).events(size))
    return Case(seed, time, relations, queries, events)


@contextmanager
def naming(case: Case) -> Iterator[None]:
    """Says which case it was that a test failed on."""
    try:
        yield
    except BaseException as error:
        lines = "\n".join(str(each) for each in case.events)
        error.add_note(f"seed {case.seed}:\n{case.text}\n{lines}")
        raise


class RandomQuery(FromClause):
    """Makes one query over declared relations."""

    def query(self) -> QueryText:
        """A query of any form."""
        roll = self._rng.random()
        if roll < 0.10 and self._time.timed:
            return self._assigned()
        if roll < 0.20:
            return self._wstream()
        if roll < 0.28:
            return self._internal()
        if roll < 0.33 and self._time.timed:
            return self._restored()
        if roll < 0.50:
            return self._changes()
        self._spread = True
        return self._done(self.relation(None, depth=1))

    # What a query is as a whole.

    def _changes(self) -> QueryText:
        body = self.relation(None, depth=1)
        change = self._rng.choice(["ISTREAM", "ISTREAM", "DSTREAM", "RSTREAM"])
        body = replace(
            body, pond=self._streamed(body, change), features={*body.features, change.lower()}
        )
        return self._done(body, change=change)

    def _restored(self) -> QueryText:
        """A query whose windows slide together, by time, with all that came and went between."""
        self._slides, self._by_time = "same", True
        body = self.relation(None, depth=0)
        change = self._rng.choice(["ISTREAM", "ISTREAM", "DSTREAM", "RSTREAM"])
        word = f"{change}_RESTORE"
        body = replace(
            body, pond=self._streamed(body, word), features={*body.features, word.lower()}
        )
        return self._done(body, change=change, restore=True)

    def _wstream(self) -> QueryText:
        """`SELECT WSTREAM(a, b)[ROWS 3] FROM ...`, of a join or an aggregate."""
        self._tracked = True
        body = self._spj(named=False) if self._rng.random() < 0.6 else self._grouped(named=False)
        timed = self._time.timed and self._rng.random() < 0.5
        size = self._rng.randint(1, 5)
        kind, said = (
            (Kind.RANGE, f"RANGE {self._time.length(size)}")
            if timed
            else (Kind.ROWS, f"ROWS {size}")
        )
        head, _, tail = body.pond.removeprefix("SELECT ").partition(" FROM ")
        pond = f"SELECT WSTREAM({head})[{said}] FROM {tail}"
        names = tuple(name for name, _ in body.columns)
        window = WindowText("out_", "results_", names, kind, size)
        features = {*body.features, f"wstream {kind}"}
        return self._done(
            replace(body, pond=pond, features=features), output=window, tracked=body.tracked
        )

    def _internal(self) -> QueryText:
        """A join of internal windows, or an aggregate over one."""
        self._tracked = True
        if self._rng.random() < 0.65:
            body = self._spj(internal=True)
            return self._done(body)
        body = self._grouped(internal=True)
        if "internal" not in body.features:
            return self._done(body)
        return self._done(body, results=True, tracked=body.tracked)

    def _assigned(self) -> QueryText:
        """TUMBLE, HOP or SESSION, with EMIT."""
        item, emit, close = self._assigned_item()
        of = Expressions(self._rng, item.columns, spread=True)
        ends = [both(f"{item.alias}.{name}") for name in ("window_start", "window_end")]
        columns: list[tuple[str, Type]] = []
        said: list[Pair] = []
        grouping = ""
        features = {*item.features, f"emit {'close' if close else 'changes'}"}
        condition, features_of = self._where(of)
        if self._rng.random() < 0.7:
            more = [of.column(Type.INT, Type.TEXT)] if self._rng.random() < 0.5 else []
            keys = [*ends, *(each for each in more if each is not None)]
            said = [each for each in keys if self._rng.random() < 0.8]
            columns = [(f"c{k}", self._type_of(each, item)) for k, each in enumerate(said)]
            for _ in range(self._rng.randint(1, 2)):
                pair, type_ = of.aggregate()
                columns.append((f"c{len(said)}", type_))
                said.append(pair)
            grouping = f" GROUP BY {', '.join(each.pond for each in keys)}"
            features |= {"group"}
        else:
            for _ in range(self._rng.randint(1, 3)):
                type_ = of.type()
                columns.append((f"c{len(said)}", type_))
                said.append(of.value(type_))
        listed = self._listed(said, columns)
        pond = f"SELECT {listed.pond} FROM {item.pond}{condition.pond}{grouping}"
        duck = f"SELECT {listed.duck} FROM {item.duck}{condition.duck}{grouping}"
        body = Body(pond, duck, columns, item.windows, features=features | features_of)
        if self._rng.random() < 0.2:
            change = self._rng.choice(["ISTREAM", "RSTREAM"])
            pond = f"SELECT {change} {pond.removeprefix('SELECT ')}{emit}"
            body = replace(body, pond=pond, features={*body.features, change.lower()})
            return self._done(body, change=change)
        return self._done(replace(body, pond=pond + emit))

    # Relations.

    def relation(self, types: Types, *, depth: int) -> Body:
        """A relation; of the given types of columns, if any are given."""
        roll = self._rng.random()
        if depth > 0 and roll < 0.18:
            return self._set_operation(types, depth)
        if roll < 0.55:
            return self._spj(types, depth=depth)
        return self._grouped(types, depth=depth)

    def _set_operation(self, types: Types, depth: int) -> Body:
        self._spread = False
        chosen = types or [
            self._rng.choice([Type.INT, Type.INT, Type.TEXT, Type.DOUBLE, Type.DECIMAL])
            for _ in range(self._rng.randint(1, 2))
        ]
        left = self.relation(chosen, depth=depth - 1)
        right = self.relation(chosen, depth=depth - 1)
        word = self._rng.choice(["UNION", "EXCEPT", "INTERSECT"]) + self._rng.choice(["", " ALL"])
        return Body(
            f"{left.pond} {word} {right.pond}",
            f"{left.duck} {word} {right.duck}",
            left.columns,
            left.windows + right.windows,
            left.derived + right.derived,
            {*left.features, *right.features, word.lower()},
            plain=False,
        )

    def _spj(
        self, types: Types = None, *, depth: int = 0, named: bool = True, internal: bool = False
    ) -> Body:
        """Select, project, join, with subqueries in WHERE."""
        items, joined, features, conditions = self._from(depth, internal)
        of = Expressions(self._rng, [column for each in items for column in each.columns])
        if named and types is None and self._rng.random() < 0.12:
            return self._star(items, joined, features, conditions)
        extra, more = self._subqueries(items, of, rows_come=not features & OUTER)
        features |= more.features
        said: list[Pair] = []
        columns: list[tuple[str, Type]] = []
        for type_ in types or [of.type() for _ in range(self._rng.randint(1, 3))]:
            plain = not named or self._rng.random() < 0.6
            found = of.column(type_) if plain else None
            said.append(found or (of.value(type_) if named else of.literal(type_)))
            columns.append((f"c{len(said)}", type_))
        distinct = not internal and not self._tracked and self._rng.random() < 0.25
        if not named:
            columns = _as_named(said, columns)
        head = "SELECT DISTINCT " if distinct else "SELECT "
        condition, said_of = self._where(of, conditions, extra)
        features |= said_of | ({"distinct"} if distinct else set())
        listed = self._listed(said, columns, named=named)
        tail = Pair(f" FROM {joined.pond}", f" FROM {joined.duck}")
        pond = head + listed.pond + tail.pond + condition.pond
        duck = head + listed.duck + tail.duck + condition.duck
        tracked = None
        if self._tracked:
            enter = latest([each.alias for each in items])
            tracked = f"SELECT {listed.duck}, {enter} AS enter_{tail.duck}{condition.duck}"
        return self._body(pond, duck, columns, items, more, features, tracked, plain=not distinct)

    def _star(
        self, items: list[Item], joined: Pair, features: set[str], conditions: list[str]
    ) -> Body:
        """`SELECT *`: all columns, a repeated name with a number."""
        said = [each.ref for item in items for each in item.columns]
        columns = [("", each.type) for item in items for each in item.columns]
        columns = _as_named(said, columns)
        listed = ", ".join(each.duck for each in said)
        of = Expressions(self._rng, [column for each in items for column in each.columns])
        condition, said_of = self._where(of, conditions)
        tracked = f"SELECT {listed}, {latest([each.alias for each in items])} AS enter_"
        tracked += f" FROM {joined.duck}{condition.duck}"
        pond = f"SELECT * FROM {joined.pond}{condition.pond}"
        duck = f"SELECT {listed} FROM {joined.duck}{condition.duck}"
        features |= said_of | {"star"}
        return self._body(
            pond, duck, columns, items, Body("", "", [], []), features,
            tracked if self._tracked else None,
        )  # fmt: skip

    def _grouped(
        self, types: Types = None, *, depth: int = 0, named: bool = True, internal: bool = False
    ) -> Body:
        """GROUP BY and HAVING."""
        items, joined, features, conditions = self._from(depth, internal, single=internal)
        scope = [column for each in items for column in each.columns]
        of = Expressions(self._rng, scope, spread=self._spread and types is None)
        extra, more = self._subqueries(items, of, rows_come=not features & OUTER)
        features |= more.features
        keys: list[tuple[Pair, Type]] = []
        for _ in range(self._rng.choice([0, 1, 1, 1, 2])):
            column = self._rng.choice(scope)
            if column.ref not in [each for each, _ in keys]:
                keys.append((column.ref, column.type))
        if named and keys and self._rng.random() < 0.12:
            made = of.value(Type.INT)
            # A mere number in GROUP BY is a place in the SELECT list.
            if any(each.isalpha() for each in made.pond):
                keys[0] = (made, Type.INT)
        said: list[Pair] = []
        columns: list[tuple[str, Type]] = []
        wanted = list(types) if types else [None] * self._rng.randint(1, 3)
        left = list(keys)
        for each in wanted:
            key = next((one for one in left if each in (None, one[1])), None)
            if key is not None and self._rng.random() < 0.7:
                left.remove(key)
                pair, type_ = key
            else:
                pair, type_ = self._plain_aggregate(of) if not named else of.aggregate(each)
            said.append(pair)
            columns.append((f"c{len(said)}", type_))
        if not any("(" in each.pond for each in said):
            # A row of keys alone is a query, too, but not much of an aggregate.
            pair, type_ = self._plain_aggregate(of)
            if types is None:
                said.append(pair)
                columns.append((f"c{len(said)}", type_))
        if not named:
            columns = _as_named(said, columns)
        features.add("group" if keys else "global aggregate")
        condition, said_of = self._where(of, conditions, extra)
        features |= said_of
        grouping = both("")
        if keys:
            listed = [each for each, _ in keys]
            grouping = Pair(
                " GROUP BY " + ", ".join(each.pond for each in listed),
                " GROUP BY " + ", ".join(each.duck for each in listed),
            )
        if self._rng.random() < 0.25:
            features.add("having")
            grouping = both("{}{}", grouping, self._having(of))
        shown = self._listed(said, columns, named=named)
        pond = f"SELECT {shown.pond} FROM {joined.pond}{condition.pond}{grouping.pond}"
        duck = f"SELECT {shown.duck} FROM {joined.duck}{condition.duck}{grouping.duck}"
        tracked = None
        if self._tracked:
            enter = f"max({latest([each.alias for each in items])})"
            tracked = (
                f"SELECT {shown.duck}, {enter} AS enter_ FROM {joined.duck}"
                f"{condition.duck}{grouping.duck}"
            )
        return self._body(pond, duck, columns, items, more, features, tracked)

    def _plain_aggregate(self, of: Expressions) -> tuple[Pair, Type]:
        """One whose name in the output is its function's."""
        column = of.column(Type.INT, Type.DECIMAL, Type.DOUBLE)
        if column is None or self._rng.random() < 0.4:
            return Pair("COUNT(*)", "CAST(COUNT(*) AS HUGEINT)"), Type.INT
        type_ = next(each.type for each in of._columns if each.ref == column)
        return both(f"{self._rng.choice(['SUM', 'MIN', 'MAX'])}({{}})", column), type_

    def _having(self, of: Expressions) -> Pair:
        self_spread, of._spread = of._spread, False
        kind = self._rng.choice([Type.INT, Type.INT, of.type(numeric=True)])
        pair, _ = of.aggregate(kind)
        of._spread = self_spread
        return both(" HAVING {}", of.comparison(pair, of.literal(kind)))

    def _body(
        self,
        pond: str,
        duck: str,
        columns: list[tuple[str, Type]],
        items: list[Item],
        more: Body,
        features: set[str],
        tracked: str | None,
        *,
        plain: bool = True,
    ) -> Body:
        windows = [window for each in items for window in each.windows] + more.windows
        derived = [stream for each in items for stream in each.derived] + more.derived
        return Body(pond, duck, columns, windows, derived, features, tracked, plain)

    def _listed(
        self, said: Sequence[Pair], columns: Sequence[tuple[str, Type]], *, named: bool = True
    ) -> Pair:
        texts = [
            both(f"{{}} AS {name}" if named else "{}", each)
            for each, (name, _) in zip(said, columns, strict=True)
        ]
        return Pair(", ".join(each.pond for each in texts), ", ".join(each.duck for each in texts))


def _as_named(said: Sequence[Pair], columns: Sequence[tuple[str, Type]]) -> list[tuple[str, Type]]:
    """The names that the contract gives to columns and functions without an alias.

    A number that a column has by itself is passed over: `ts, ts, ts_2` are `ts`, `ts_3`, `ts_2`.
    """
    names: list[str] = []
    for place, pair in enumerate(said, start=1):
        text = pair.pond
        name = f"column{place}"
        if "(" in text and text.split("(")[0].isalpha():
            name = text.split("(")[0].lower()
        elif "." in text and text.replace(".", "").replace("_", "").isalnum() and text[0].isalpha():
            name = text.rpartition(".")[2]
        names.append(name)
    given: list[str] = []
    for place, name in enumerate(names):
        spellings = (f"{name}_{number}" for number in range(2, len(names) + 2))
        free = (each for each in spellings if each not in names and each not in given)
        given.append(name if name not in names[:place] else next(free))
    return [(name, type_) for name, (_, type_) in zip(given, columns, strict=True)]
