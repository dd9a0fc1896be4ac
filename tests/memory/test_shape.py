"""The shape of the synopsis: that there is one, that it keeps enough, and that its size is right.

What it keeps is enough iff two instances of an input that reduce to the same state give the same
answers with whatever the other inputs hold or ever will hold.  An answer is a union over rows of
the others, so that single rows of each of them decide it; and two instances of one state have
their union for a third, so that it is enough to add one row that does not change the state.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import islice, product

import numpy as np
import pytest
from tests.memory.by_definition import (
    Rows,
    Truths,
    Values,
    answers,
    box,
    joined,
    own_output,
    responses,
)
from tests.memory.reduction import Reduced, reduce_rows
from tests.memory.self_joins import as_text
from tests.strategies.spj import SpjText, naming, random_spj, spj_text

from millpond.language import read_script
from millpond.memory import Attribute, Function, MemoryClass, Shape, Verdict, verdict_of
from millpond.memory.lto import Join

_MOST_ROWS = 500
_MOST_OTHERS = 1600
_MARGIN = 2
"""How far the small rows go beyond the constants."""


def verdict(query: SpjText) -> Verdict:
    return verdict_of(read_script(query.text).queries[0])


class Instance:
    """A bounded query, and all small rows of its inputs, or a sample of them."""

    def __init__(self, query: SpjText, shape: Shape, rng: random.Random) -> None:
        self.query = query
        self.shape = shape
        ends = query.constants or (0, 2)
        self.low, self.high = ends[0] - _MARGIN, ends[-1] + _MARGIN
        self._rng = rng

    @cached_property
    def rows(self) -> list[Rows]:
        """Rows of each input, in the order of FROM."""
        return [
            box(self.query, alias, self.low, self.high, nulls=True).sample(self._rng, _MOST_ROWS)
            for alias, _ in self.query.inputs
        ]

    @cached_property
    def reduced(self) -> list[Reduced]:
        return [reduce_rows(self.shape, each) for each in self.rows]

    def others(self, place: int) -> list[Rows]:
        """All rows of one input, and so many of the others' that their product stays small."""
        most = int(_MOST_OTHERS ** (1 / (len(self.rows) - 1)))
        return [
            each if at == place else each.sample(self._rng, most)
            for at, each in enumerate(self.rows)
        ]


def bounded(
    seeds: range, *, self_joins: float = 0.1, streams: tuple[int, int] = (2, 3)
) -> Iterator[tuple[int, SpjText, Verdict]]:
    """The random queries of two or three inputs that are bounded and keep something, as they are
    decided: a self-join under DISTINCT by its core."""
    for seed in seeds:
        rng = random.Random(seed)
        query = random_spj(
            rng,
            streams=streams,
            checks=rng.choice([0, 0.5]),
            values=(0, rng.choice([2, 4])),
            self_joins=self_joins,
            types=("INT", "INT", "INT", "TINYINT"),
        )
        with naming(seed, query):
            found = verdict(query)
        if found.memory in (MemoryClass.CONSTANT, MemoryClass.IMPRACTICAL):
            decided = as_text(shape(found).query, query)
            if len(decided.inputs) > 1:
                yield seed, decided, found


def shape(found: Verdict) -> Shape:
    assert found.shape is not None
    return found.shape


# What is checked of one query ---------------------------------------------------------------------


def check_rows_outside_of_the_parts(given: Instance) -> None:
    """A row that no part takes joins with nothing."""
    for place, rows in enumerate(given.rows):
        lost = given.reduced[place].part == -1
        found = responses(given.query, rows.alias, given.others(place))
        assert not found[lost].any(), f"a row of {rows.alias} is lost"


def check_same_state_same_answers(given: Instance) -> None:
    """Rows that do not change what is kept of an input do not change any later answer."""
    for place, rows in enumerate(given.rows):
        found = responses(given.query, rows.alias, given.others(place))
        output = own_output(given.query, rows)
        reduced = given.reduced[place]
        for bucket, places in reduced.groups().items():
            joins = found[places]
            matters = joins.any(axis=1)
            assert len(np.unique(output[places[matters]], axis=0)) <= 1, (
                f"{rows.alias} {bucket}: rows of one bucket come out differently"
            )
            bests = np.array([reduced.bests[each] for each in places]).reshape(len(places), -1)
            if bests.shape[1] == 0:
                assert (joins == joins[0]).all(), f"{rows.alias} {bucket}: rows differ"
            else:
                _check_bests(bests.astype(np.int64), joins, f"{rows.alias} {bucket}")


def _check_bests(bests: Values, joins: Truths, at: str) -> None:
    """Rows that are best in each function together join with all that a worse row joins with."""
    both = np.unique(np.concatenate([bests, joins], axis=1), axis=0)
    count = bests.shape[1]
    bests, joins = both[:, :count], both[:, count:].astype(np.bool_)
    for own_bests, own_joins in zip(bests, joins, strict=True):
        missed = own_joins & ~joins
        as_good = [missed[bests[:, each] >= own_bests[each]] for each in range(count)]
        if count == 1:
            assert not as_good[0].any(), f"{at}: the best row joins with less"
            continue
        first, second = (each.astype(np.float32) for each in as_good[:2])
        rest = [np.logical_and.reduce(each) for each in islice(product(*as_good[2:]), 500)]
        for each in rest or [np.ones(joins.shape[1], dtype=np.bool_)]:
            assert not ((first * each) @ second.T).any(), f"{at}: the best rows join with less"


def check_combinations(given: Instance) -> None:
    """Rows of parts join iff these parts are combined, and the combination's joins hold."""
    rng = random.Random(0)
    most = 60 if len(given.rows) == 2 else 25
    rows = [each.sample(rng, most) for each in given.rows]
    truth = joined(given.query, rows)
    reduced = [reduce_rows(given.shape, each) for each in rows]
    told = np.zeros_like(truth)
    for combination in given.shape.combinations:
        inside = np.ones_like(truth)
        for place, part in enumerate(combination.parts):
            axes = [-1 if at == place else 1 for at in range(len(rows))]
            inside &= (reduced[place].part == part).reshape(axes)
        for join in combination.joins:
            inside &= _holds(join, rows)
        for x, y, c in combination.equalities:
            inside &= _holds((x, y, c), rows) & _holds((y, x, -c), rows)
        told |= inside
    assert (told == truth).all(), "the combinations ask for something else than the query"


def check_the_best_of_a_combination(given: Instance) -> None:
    """In a combination, a row joins with all that a row with a worse best value joins with."""
    for place, rows in enumerate(given.rows):
        others = given.others(place)
        found = responses(given.query, rows.alias, others)
        reduced = given.reduced[place]
        kept = [
            None if at == place else reduce_rows(given.shape, each)
            for at, each in enumerate(others)
        ]
        for combination in given.shape.combinations:
            masks = [
                np.ones(1, dtype=np.bool_) if each is None else each.part == part
                for each, part in zip(kept, combination.parts, strict=True)
            ]
            partners = masks[0]
            for mask in masks[1:]:
                partners = np.logical_and.outer(partners, mask)
            best = combination.best[place]
            for bucket, places in reduced.groups().items():
                if bucket[0] != combination.parts[place]:
                    continue
                joins = found[places][:, partners.reshape(-1)]
                if best is not None:
                    values = np.array([reduced.bests[each][best] for each in places])
                    order = np.argsort(values, kind="stable")
                    joins, values = joins[order], values[order]
                    assert (joins[:-1] <= joins[1:]).all(), f"{rows.alias} {bucket}: no best row"
                    same = values[:-1] == values[1:]
                    joins = np.concatenate([joins[:-1][same], joins[1:][same]], axis=1)
                    joins = np.stack(np.split(joins, 2, axis=1))
                assert (joins == joins[:1]).all(), f"{rows.alias} {bucket}: rows differ"


def _holds(join: Join, rows: list[Rows]) -> Truths:
    x, y, c = join
    return _spread(x, rows) - _spread(y, rows) <= c


def _spread(each: Attribute, rows: list[Rows]) -> Values:
    place = next(at for at, candidate in enumerate(rows) if candidate.alias == each.alias)
    axes = [-1 if at == place else 1 for at in range(len(rows))]
    return rows[place].of(str(each)).reshape(axes)


def check_the_synopses_answer(given: Instance) -> None:
    """Section 7: Q(Syn(s1), ..., Syn(sn)) = Q(s1, ..., sn), counts included, for instances that
    come as they may."""
    rng = random.Random(1)
    for _ in range(5):
        instances = [
            rows.take(np.array(rng.choices(range(len(rows)), k=rng.randint(1, 12))))
            for rows in given.rows
        ]
        synopses = [_synopsis(given.shape, rows) for rows in instances]
        expected = answers(given.query, instances)
        found = answers(given.query, synopses)
        if given.query.distinct:
            assert set(found) == set(expected)
        else:
            assert found == expected


def _synopsis(shape: Shape, instance: Rows) -> Rows:
    """The rows that stand for an instance: the first of a bucket as often as there are rows in it,
    or under DISTINCT the best ones."""
    reduced = reduce_rows(shape, instance)
    kept: list[int] = []
    for places in reduced.groups().values():
        bests = [reduced.bests[each] for each in places]
        if shape.query.distinct and bests[0]:
            by_best = np.array(bests).argmax(axis=0)
            kept += places[by_best].tolist()
        else:
            kept += [int(places[0])] * len(places)
    return instance.take(np.array(kept, dtype=np.int64))


CHECKS = [
    check_rows_outside_of_the_parts,
    check_same_state_same_answers,
    check_combinations,
    check_the_best_of_a_combination,
    check_the_synopses_answer,
]


def check(seed: int, query: SpjText, found: Verdict) -> None:
    with naming(seed, query):
        given = Instance(query, shape(found), random.Random(seed))
        for each in CHECKS:
            each(given)


# There is a shape, and it keeps enough ------------------------------------------------------------


@pytest.mark.parametrize("start", range(0, 900, 300))
def test_what_is_kept_of_a_bounded_query_is_enough(start: int) -> None:
    checked = 0
    for seed, query, found in bounded(range(start, start + 300)):
        check(seed, query, found)
        checked += 1
    assert checked > 100


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(100_000, 120_000, 2_500))
def test_what_is_kept_of_a_bounded_query_is_enough_at_length(start: int) -> None:
    for seed, query, found in bounded(range(start, start + 2_500)):
        check(seed, query, found)


def check_that_there_is_a_shape(seeds: range) -> None:
    """Larger queries than can be evaluated: the verdict itself raises if there is no shape."""
    found = 0
    for seed in seeds:
        rng = random.Random(seed)
        query = random_spj(
            rng,
            streams=(2, 4),
            comparisons=(2, 14),
            constants=(1, 3),
            ranges=rng.choice([0.2, 0.5, 0.9]),
            checks=rng.choice([0, 0.5]),
            values=(0, rng.choice([3, 30])),
            types=("INT", "INT", "TINYINT"),
            self_joins=0.1,
        )
        with naming(seed, query):
            found += verdict(query).shape is not None
    assert found > len(seeds) // 4


def test_every_bounded_query_has_a_shape() -> None:
    check_that_there_is_a_shape(range(300))


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(10_000, 20_000, 2_500))
def test_every_bounded_query_has_a_shape_at_length(start: int) -> None:
    check_that_there_is_a_shape(range(start, start + 2_500))


REGRESSIONS = {
    "the others say where a column lies, and it is kept for rows that they do not say it of": """
        CREATE STREAM s (a INT); CREATE STREAM t (d INT);
        CREATE STREAM u (g INT, h INT CHECK (h BETWEEN -3 AND 5));
        SELECT DISTINCT 1 FROM s, t, u
        WHERE s.a > 2 AND u.g > t.d AND t.d < s.a AND u.h <= t.d AND u.h <= 2""",
    "an equality that only two parts together imply": """
        CREATE STREAM s (a INT); CREATE STREAM t (d INT, e INT);
        SELECT DISTINCT 1 FROM s, t
        WHERE t.e > 0 AND t.d >= s.a AND t.d >= 5 AND t.e <= s.a AND t.e <= 5""",
    "an equality with a column that a part fixes": """
        CREATE STREAM s (a INT, b INT, c INT);
        CREATE STREAM t (d INT CHECK (d BETWEEN 3 AND 4)); CREATE STREAM u (g INT, h INT NOT NULL);
        SELECT DISTINCT 1 FROM s, t, u WHERE s.a >= 1 AND u.g <= s.c AND s.c <= s.a
        AND t.d < u.g AND u.h <= 1 AND t.d <= s.c""",
    "a part that is one value filters rows of a part that reaches beyond it": """
        CREATE STREAM s (a INT); CREATE STREAM t (e INT); CREATE STREAM u (i INT);
        SELECT DISTINCT 1 FROM s, t, u
        WHERE t.e > 0 AND t.e < 3 AND u.i >= t.e AND s.a > u.i AND s.a >= 3""",
    "a join that constants make redundant for some parts and a filter for others": """
        CREATE STREAM s (a INT CHECK (a <= 4)); CREATE STREAM t (e INT CHECK (e BETWEEN 3 AND 6));
        CREATE STREAM u (g INT);
        SELECT DISTINCT t.e FROM s, t, u WHERE u.g < t.e AND s.a < 1 AND s.a < u.g""",
    "a combination in which every column is fixed": """
        CREATE STREAM s (a INT, b INT, c INT);
        CREATE STREAM t (d INT CHECK (d BETWEEN -3 AND 2), e INT CHECK (e >= 1));
        CREATE STREAM u (g INT CHECK (g >= 1));
        SELECT DISTINCT 1 FROM s, t, u WHERE s.c > t.d AND u.g >= 1 AND s.c >= 0 AND t.e > 0
        AND s.c < u.g AND s.b < u.g AND s.a < 0""",
    "columns with a CHECK of one value are not equal where they may be NULL": """
        CREATE STREAM s (a INT CHECK (a BETWEEN 0 AND 0), b INT CHECK (b BETWEEN 2 AND 2));
        CREATE STREAM t (d INT CHECK (d BETWEEN 0 AND 0));
        SELECT DISTINCT s.a, s.b, t.d FROM s, t""",
    "a CHECK of one value beside a compared column of that value": """
        CREATE STREAM s (a INT CHECK (a BETWEEN 2 AND 2), b INT);
        CREATE STREAM t (d INT);
        SELECT s.a FROM s, t WHERE s.b = 2 AND s.b <= t.d AND t.d <= 4""",
}


@pytest.mark.parametrize("text", REGRESSIONS.values(), ids=REGRESSIONS)
def test_what_is_kept_is_enough_in(text: str) -> None:
    query = spj_text(text)
    for distinct in {query.distinct, True}:
        each = replace(query, distinct=distinct)
        found = verdict(each)
        assert found.bounded
        check(0, each, found)
        check_sizes(each, shape(found))


# Its size -----------------------------------------------------------------------------------------


def check_sizes(query: SpjText, found: Shape) -> None:
    """Every row has a bucket; all buckets that are counted are hit, where keys are plain."""
    ends = query.constants or (0, 2)
    low, high = ends[0] - 4, ends[-1] + 4
    all_small = all(query.column(each).type == "INT" for each in query.relevant)
    boxes = [box(query, alias, low, high, nulls=True) for alias, _ in query.inputs]
    for rows, stream in zip(boxes, found.streams, strict=True):
        buckets = [bucket[0] for bucket in reduce_rows(found, rows).groups()]
        for number, part in enumerate(stream.parts):
            hit = buckets.count(number)
            said = f"{stream.alias}, part {number}"
            assert hit <= part.buckets, f"{said}: {hit} buckets, {part.buckets} are said"
            if all_small and all(_inside(key, low, high) for key in part.keys):
                assert hit == part.buckets, f"{said}: {hit} of {part.buckets} buckets"
    if found.emitted is not None and len(boxes) == 2 and len(boxes[0]) * len(boxes[1]) < 10**6:
        rows_out = len(answers(query, boxes))
        assert rows_out <= found.emitted_rows, f"{rows_out} rows, {found.emitted_rows} are said"
        if all_small and all(_inside(key, low, high) for key in found.emitted):
            assert rows_out == found.emitted_rows, f"{rows_out} of {found.emitted_rows} rows"


def _inside(key: Function, low: int, high: int) -> bool:
    """Whether a key is one column whose every value is in the box."""
    least, most = key.clamp.low, key.clamp.high
    return (
        len(key.terms) == 1
        and least is not None
        and low <= least
        and most is not None
        and most <= high
    )


@pytest.mark.parametrize("start", range(0, 400, 200))
def test_buckets_are_counted_right(start: int) -> None:
    for seed, query, found in bounded(range(start, start + 200)):
        with naming(seed, query):
            check_sizes(query, shape(found))


@pytest.mark.heavy
@pytest.mark.parametrize("start", range(200_000, 204_000, 500))
def test_buckets_are_counted_right_at_length(start: int) -> None:
    for seed, query, found in bounded(range(start, start + 500)):
        with naming(seed, query):
            check_sizes(query, shape(found))


# Fewer filters never need less --------------------------------------------------------------------


def with_fewer_filters(query: SpjText, rng: random.Random) -> Iterator[SpjText]:
    """The query with a filter taken out, or a declared domain made wider."""
    for place, each in enumerate(query.comparisons):
        if not each.join:
            fewer = (*query.comparisons[:place], *query.comparisons[place + 1 :])
            yield replace(query, comparisons=fewer)
    for at, stream in enumerate(query.streams):
        for number, column in enumerate(stream.columns):
            wider = replace(
                column,
                low=None if column.low is None else column.low - rng.randint(0, 3),
                high=None if column.high is None else column.high + rng.randint(0, 3),
            )
            columns = (*stream.columns[:number], wider, *stream.columns[number + 1 :])
            streams = (
                *query.streams[:at],
                replace(stream, columns=columns),
                *query.streams[at + 1 :],
            )
            yield replace(query, streams=streams)


def check_monotonicity(seeds: range) -> None:
    """With duplicates removed, another function may become the one whose best value is kept, so
    that only what is emitted is monotone."""
    for seed in seeds:
        rng = random.Random(seed)
        query = random_spj(rng, checks=0.6, ranges=0.3)
        before = verdict(query)
        if before.units is None:
            continue
        for each in with_fewer_filters(query, rng):
            with naming(seed, each):
                after = verdict(each)
                if after.memory is before.memory:
                    units = [_monotone_units(found) for found in (before, after)]
                    assert units[0] <= units[1], f"{units} units; before:\n{query.text}\nafter:"


def _monotone_units(found: Verdict) -> int:
    return sum(
        each.units or 0
        for each in found.state
        if each.kind == "emitted" or not shape(found).query.distinct
    )


def test_fewer_filters_never_need_less() -> None:
    check_monotonicity(range(80))


@pytest.mark.heavy
def test_fewer_filters_never_need_less_at_length() -> None:
    check_monotonicity(range(5_000, 8_000))
