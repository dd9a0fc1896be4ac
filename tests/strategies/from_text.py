"""What stands in FROM and WHERE of a random query: windows, tables, subqueries, joins."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from tests.strategies.expressions import Column, Expressions, Pair, Type, both
from tests.strategies.inputs import Clock, Relation, Time
from tests.strategies.query_text import Body, DerivedText, Item, Kind, QueryText, WindowText

Types = Sequence[Type] | None
OUTER = frozenset(("left", "right", "full"))


class FromClause:
    """Makes the inputs of a query; what is under them is made by who knows how."""

    def __init__(
        self, rng: random.Random, time: Time, relations: Sequence[Relation], tag: str
    ) -> None:
        self._rng = rng
        self._time = time
        self._streams = [each for each in relations if not each.table]
        self._tables = [each for each in relations if each.table]
        self._tag = tag
        self._count = 0
        slides = ["none", "none", "none", "same", "mixed"]
        self._slides = rng.choice(slides)
        self._slide = rng.randint(1, 4)
        self._spread = False
        self._by_time = False
        self._tracked = False
        """Whether every row has to know since when its parts are there."""

    def relation(self, types: Types, *, depth: int) -> Body:
        """A relation; of the given types of columns, if any are given."""
        raise NotImplementedError

    def _done(self, body: Body, **more: object) -> QueryText:
        features = set(body.features)
        if self._time.clock is Clock.TIMESTAMP:
            features.add("timestamp")
        if not self._time.timed:
            features.add("untimed")
        return QueryText(
            body.pond,
            body.duck,
            tuple(body.columns),
            tuple(body.windows),
            tuple(body.derived),
            features=frozenset(features),
            **more,  # type: ignore[arg-type] # fields of QueryText by name
        )

    def _streamed(self, body: Body, word: str) -> str:
        if body.plain and self._rng.random() < 0.6:
            return f"SELECT {word} {body.pond.removeprefix('SELECT ')}"
        return f"{word}({body.pond})"

    def _from(
        self, depth: int, internal: bool = False, *, single: bool = False
    ) -> tuple[list[Item], Pair, set[str], list[str]]:
        """What stands in FROM, how it is joined, and conditions that only the oracle has to say."""
        rng = self._rng
        items = [self._window_item(internal=internal)]
        count = 1 if single else rng.choice([1, 1, 2, 2, 2, 3] if not internal else [2, 2, 1])
        while len(items) < count:
            items.append(self._item(depth, internal, items))
        if not internal and not self._tracked and rng.random() < 0.3 and len(items) < 3:
            rng.shuffle(items)
        features = set[str]().union(*(each.features for each in items))
        if len({each.stream for each in items if each.stream}) < sum(
            each.stream is not None for each in items
        ):
            features.add("self-join")
        outer = len(items) == 2 and not internal and not self._tracked and rng.random() < 0.5
        conditions = self._validity(items)
        if internal and len(items) > 1:
            conditions.append(met([each.alias for each in items]))
        if outer:
            return items, self._outer(items, features, conditions), features, []
        if len(items) > 1:
            features.add("cross")
        return items, self._inner(items), features, conditions

    def _inner(self, items: list[Item]) -> Pair:
        joined = Pair(items[0].pond, items[0].duck)
        for place, each in enumerate(items[1:], start=1):
            item = Pair(each.pond, each.duck)
            if self._rng.random() < 0.5:
                joined = both("{}, {}", joined, item)
            else:
                # Commas bind looser than JOIN: ON may name what stands behind the last one.
                on = self._link([each], items[:place])
                if ", " in _outside(joined.pond):
                    on = Expressions(self._rng, each.columns).condition(1)
                joined = both("{} JOIN {} ON {}", joined, item, on)
        return joined

    def _outer(self, items: list[Item], features: set[str], conditions: list[str]) -> Pair:
        side = self._rng.choice(["LEFT", "RIGHT", "FULL"])
        if any(each.late_bound for each in items):
            side = "RIGHT" if items[0].late_bound else "LEFT"
        features.add(side.lower())
        on = self._link(items[:1], items[1:])
        if self._rng.random() < 0.3:
            scope = [column for each in items for column in each.columns]
            on = both("{} AND {}", on, Expressions(self._rng, scope).condition(1))
        on = Pair(on.pond, " AND ".join([on.duck, *conditions]))
        words = self._rng.choice([f"{side} JOIN", f"{side} OUTER JOIN"])
        left, right = (Pair(each.pond, each.duck) for each in items)
        return both(f"{{}} {words} {{}} ON {{}}", left, right, on)

    def _link(self, left: Sequence[Item], right: Sequence[Item]) -> Pair:
        """A condition between two sides, mostly an equality of integers."""
        ours, theirs = (
            Expressions(self._rng, [column for each in side for column in each.columns])
            for side in (left, right)
        )
        type_ = Type.INT
        one, other = ours.column(type_), theirs.column(type_)
        if one is None or other is None:
            return both("({} IS NOT NULL)", ours.value(ours.type(), 0))
        if self._rng.random() < 0.75:
            return both("{} = {}", one, other)
        return ours.comparison(one, other)

    def _validity(self, items: Sequence[Item]) -> list[str]:
        """Rows of a table that is not retroactive are those of when the others came in."""
        late = [each.alias for each in items if each.late_bound]
        others = [each.alias for each in items if not each.late_bound]
        if not late or not others:
            return []
        return [held(each, others) for each in late]

    def _item(self, depth: int, internal: bool, before: list[Item]) -> Item:
        roll = self._rng.random()
        late = any(each.late_bound for each in before)
        if self._tables and roll < 0.35 and not internal and not self._by_time:
            table = self._rng.choice(self._tables)
            mixed = any(not each.lives or each.stream is None for each in before)
            if table.retroactive and not late:
                return self._table_item(table)
            if not table.retroactive and not mixed:
                return self._table_item(table)
        if depth > 0 and not internal and not self._tracked and not late and roll < 0.6:
            if self._rng.random() < 0.4:
                return self._derived_item()
            return self._subquery_item(depth)
        return self._window_item(internal=internal)

    def _table_item(self, table: Relation) -> Item:
        alias = self._alias("r")
        window = WindowText(
            self._name(),
            table.name,
            tuple(each.name for each in table.columns),
            Kind.TABLE,
            retroactive=table.retroactive,
        )
        return Item(
            f"{table.name} AS {alias}",
            f"{window.name} AS {alias}",
            alias,
            self._columns(table, alias),
            [window],
            features={"table" if table.retroactive else "non-retroactive table"},
            late_bound=not table.retroactive,
        )

    def _subquery_item(self, depth: int) -> Item:
        spread, self._spread = self._spread, False
        body = self.relation(None, depth=depth - 1)
        self._spread = spread
        alias = self._alias("q")
        columns = [Column(both(f"{alias}.{name}"), type_) for name, type_ in body.columns]
        return Item(
            f"({body.pond}) AS {alias}",
            f"({body.duck}) AS {alias}({', '.join(name for name, _ in body.columns)})",
            alias,
            columns,
            body.windows,
            body.derived,
            {*body.features, "subquery"},
            lives=False,
        )

    def _derived_item(self) -> Item:
        """A window over a stream that a subquery gives."""
        spread, self._spread = self._spread, False
        body = self.relation(None, depth=0)
        self._spread = spread
        word = self._rng.choice(["ISTREAM", "ISTREAM", "DSTREAM", "RSTREAM"])
        streamed = self._streamed(body, word)
        query = self._done(replace(body, pond=streamed), change=word)
        log = f"given_{self._tag}_{self._next()}"
        names = tuple(name for name, _ in body.columns)
        window, said = self._window(log, names, names[0], slide=False)
        alias = self._alias("d")
        subquery = streamed if streamed.startswith(word) else f"({streamed})"
        columns = [Column(both(f"{alias}.{name}"), type_) for name, type_ in body.columns]
        return Item(
            f"{subquery}{said} AS {alias}",
            f"{window.name} AS {alias}",
            alias,
            columns,
            [window],
            [DerivedText(log, query)],
            {*body.features, f"window over {word.lower()}"},
        )

    def _window_item(self, *, internal: bool = False) -> Item:
        stream = self._rng.choice(self._streams)
        alias = self._alias(stream.name)
        names = tuple(each.name for each in stream.columns)
        keep = internal and self._rng.random() < 0.8
        window, said = self._window(stream.name, names, self._key(stream), internal=keep)
        return Item(
            f"{stream.name}{said} AS {alias}" if self._rng.random() < 0.7
            else f"{stream.name} AS {alias}{said}",
            f"{window.name} AS {alias}",
            alias,
            self._columns(stream, alias),
            [window],
            features={_feature(window, said), *(["internal"] if keep else []),
                      *(["finite"] if stream.finite is not None else [])},
            stream=stream.name,
        )  # fmt: skip

    def _window(
        self, log: str, names: tuple[str, ...], key: str, *, slide: bool = True,
        internal: bool = False,
    ) -> tuple[WindowText, str]:  # fmt: skip
        """A window over a log, and its text in brackets."""
        rng = self._rng
        kinds = ["rows", "rows", "partition", "partition", "unbounded", "none"]
        if self._time.timed:
            kinds = ["range"] * 6 + ["rows", "partition", "partition", "unbounded", "none", "now"]
        if self._by_time:
            kinds = ["range", "range", "range", "unbounded"]
        kind = rng.choice(kinds)
        step = self._step() if slide else None
        if kind == "none" and (internal or step):
            kind = "rows" if not self._time.timed else "range"
        if kind == "now" and (step or self._time.unit != 1):
            kind = "range"
        size = rng.randint(1, 7)
        inner = " INTERNAL" if internal else ""
        name = self._name()
        match kind:
            case "none":
                return WindowText(name, log, names, Kind.UNBOUNDED), ""
            case "now":
                window = WindowText(name, log, names, Kind.RANGE, 1, internal=internal)
                return window, f" [NOW{inner}]" if internal else " [NOW]"
            case "rows" | "partition":
                size = rng.randint(1, 4)
                by = (key,) if kind == "partition" else ()
                per = f"PARTITION BY {key} " if by else ""
                slid = f" SLIDE {step}" if step else ""
                window = WindowText(name, log, names, Kind.ROWS, size, step, by, internal)
                return window, f" [{per}ROWS {size}{slid}{inner}]"
            case "unbounded":
                if not self._time.timed:
                    step = None
                slid = f" SLIDE {self._time.length(step)}" if step else ""
                window = WindowText(name, log, names, Kind.UNBOUNDED, slide=step, internal=internal)
                return window, f" [UNBOUNDED{slid}{inner}]"
        window = WindowText(name, log, names, Kind.RANGE, size, step, internal=internal)
        return window, f" [{self._range(size, step)}{inner}]"

    def _range(self, size: int, step: int | None) -> str:
        slid = f" SLIDE {self._length(step)}" if step else ""
        if step and self._rng.random() < 0.2:
            return f"WINDOW {self._length(size)}{slid}"
        return f"RANGE {self._length(size)}{slid}"

    def _length(self, size: int) -> str:
        """A length of time in one of the spellings."""
        if self._time.word and self._rng.random() < 0.4:
            return f"INTERVAL '{size}' {self._time.word}"
        return self._time.length(size)

    def _step(self) -> int | None:
        match self._slides:
            case "same":
                return self._slide
            case "mixed":
                return self._rng.choice([None, 1, 2, 3, 4])
        return None

    def _where(
        self, of: Expressions, conditions: Sequence[str] = (), extra: Pair | None = None
    ) -> tuple[Pair, set[str]]:
        """WHERE, with what only the oracle says behind it."""
        terms = [extra] if extra is not None and extra.pond else []
        features = set()
        if self._rng.random() < 0.4:
            terms.append(of.condition())
            features.add("filter")
        duck = [each.duck for each in terms] + list(conditions)
        pond = [each.pond for each in terms]
        return Pair(
            f" WHERE {' AND '.join(pond)}" if pond else "",
            f" WHERE {' AND '.join(duck)}" if duck else "",
        ), features

    def _subqueries(
        self, items: list[Item], of: Expressions, *, rows_come: bool
    ) -> tuple[Pair, Body]:
        """[NOT] EXISTS or [NOT] IN, or nothing."""
        none = Body("", "", [], [])
        if self._tracked or self._rng.random() > 0.22:
            return both(""), none
        lives = all(each.lives and each.stream is not None for each in items)
        inner = self._window_item()
        if self._tables and not self._by_time and self._rng.random() < 0.3:
            table = self._rng.choice(self._tables)
            late = any(each.late_bound for each in items)
            if table.retroactive or (rows_come and not late and lives):
                inner = self._table_item(table)
        there = Expressions(self._rng, inner.columns)
        valid: list[str] = []
        if inner.late_bound:
            valid = [held(inner.alias, [each.alias for each in items])]
        word = self._rng.choice(["EXISTS", "NOT EXISTS", "IN", "NOT IN"])
        conditions = []
        left = both("")
        if word.endswith("EXISTS"):
            shown = both("1")
            conditions.append(self._link([inner], items))
        else:
            type_ = there.type()
            shown = there.value(type_, 0)
            if type_ is Type.TIME:
                shown, type_ = there.column(Type.INT) or there.literal(Type.INT), Type.INT
            left = both("{} ", of.value(type_, 0))
        if self._rng.random() < 0.35:
            conditions.append(there.condition(1))
        pond = [each.pond for each in conditions]
        duck = [each.duck for each in conditions] + valid
        inside = Pair(
            f"SELECT {shown.pond} FROM {inner.pond}"
            + (f" WHERE {' AND '.join(pond)}" if pond else ""),
            f"SELECT {shown.duck} FROM {inner.duck}"
            + (f" WHERE {' AND '.join(duck)}" if duck else ""),
        )
        more = Body("", "", [], inner.windows, features={*inner.features, word.lower()})
        return both(f"{{}}{word} ({{}})", left, inside), more

    def _assigned_item(self) -> tuple[Item, str, bool]:
        rng = self._rng
        stream = rng.choice(self._streams)
        alias, size = self._alias("w"), rng.randint(2, 6)
        emit, close = rng.choice(
            [("", True), (" EMIT ON WINDOW CLOSE", True), (" EMIT CHANGES", False)]
        )
        name = rng.choice(["tumble", "hop", "session"])
        names = tuple(each.name for each in stream.columns)
        kind, slide, per = Kind.HOP, size, ""
        partition: tuple[str, ...] = ()
        lengths = self._length(size)
        if name == "hop":
            slide = rng.randint(1, size)
            lengths = f"{self._length(slide)}, {lengths}"
        elif name == "session":
            kind = Kind.SESSION
            if rng.random() < 0.6:
                partition = (self._key(stream),)
                per = f" PARTITION BY {partition[0]}"
        window = WindowText(
            self._name(), stream.name, names, kind, size, slide, partition, close=close
        )
        pond = f"{name.upper()}(TABLE {stream.name}{per}, DESCRIPTOR(ts), {lengths}) AS {alias}"
        columns = self._columns(stream, alias)
        columns += [
            Column(both(f"{alias}.{each}"), Type.TIME) for each in ("window_start", "window_end")
        ]
        duck = f"{window.name} AS {alias}"
        return Item(pond, duck, alias, columns, [window], features={name}), emit, close

    def _columns(self, relation: Relation, alias: str) -> list[Column]:
        return [Column(both(f"{alias}.{each.name}"), each.type) for each in relation.columns]

    def _type_of(self, ref: Pair, item: Item) -> Type:
        return next(each.type for each in item.columns if each.ref == ref)

    def _key(self, stream: Relation) -> str:
        """A column to partition by."""
        fitting = [each.name for each in stream.columns if each.type is not Type.TIME]
        return self._rng.choice(fitting[:2])

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _name(self) -> str:
        return f"w_{self._tag}_{self._next()}"

    def _alias(self, stem: str) -> str:
        return f"{stem}{self._next()}"


def _feature(window: WindowText, said: str) -> str:
    words = [str(window.kind)]
    if window.partition:
        words = ["partition"]
    if "[NOW" in said:
        words = ["now"]
    if not said:
        words = ["no window"]
    return " ".join([*words, *(["slide"] if window.slide else [])])


def latest(names: Sequence[str]) -> str:
    return f"greatest({', '.join(f'{each}.enter_' for each in names)})"


def met(names: Sequence[str]) -> str:
    """Whether the parts of a result were in their windows together."""
    return f"{latest(names)} < least({', '.join(f'{each}.exit_' for each in names)})"


def held(table: str, others: Sequence[str]) -> str:
    """Whether a table had a row when the last of the others came in."""
    enter = latest(others)
    return f"{table}.enter_ <= {enter} AND {enter} < {table}.exit_"


def _outside(text: str) -> str:
    """The text without what stands in brackets or parentheses."""
    depth, found = 0, []
    for each in text:
        depth += (each in "([") - (each in ")]")
        if depth == 0:
            found.append(each)
    return "".join(found)
