"""Builds the tick step of a program: the operators' steps, each inlined into the one before it.

A row that arrives passes its guard, finds its bucket, meets the buckets of the other inputs by
nested loops, and is merged into its own.  A loop over a coordinate is narrowed by every link that
already has a value on its other side: an equality leaves one place, an inequality a range.  What
comes out of one operator goes straight into the steps of the next.

`row_kernel` takes rows as they arrive, `partial_kernel` takes buckets of rows that were reduced
elsewhere (by Polars, or by Spark): the same steps behind another beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, cast

from millpond.program import aggregate_steps
from millpond.program.expression import (
    Arith,
    At,
    Compare,
    Condition,
    Field,
    Greatest,
    Int,
    IsNull,
    Least,
    Local,
    NotNull,
    Number,
    greatest,
    least,
    plus,
)
from millpond.program.operator import (
    BestOf,
    Case,
    Constant,
    EmittedSet,
    GreatestOf,
    Held,
    Keep,
    Key,
    KeyOf,
    LeastOf,
    Link,
    Reduction,
    RowSet,
    Select,
    SynopsisJoin,
)
from millpond.program.program import Program, table_of
from millpond.program.store import MARKED, strides
from millpond.program.tick import (
    AddTo,
    AnyOf,
    Arm,
    Digit,
    Emit,
    Kernel,
    Put,
    Range,
    Scale,
    Set,
    Step,
    Times,
    When,
)
from millpond.program.tick import Held as HeldPlaces

Emitter = Callable[[Sequence[Number], Sequence[Condition | bool], Number], tuple[Step, ...]]
"""What happens to a row that an operator gives: its columns, where NULL, its multiplicity."""

_FLIPPED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "=="}


def row_kernel(program: Program) -> Kernel:
    """The tick step for rows as they arrive."""
    builder = _Builder(program)
    arms = [builder.select_arm(each) for each in program.selects]
    arms += [builder.row_arm(join, i) for join in program.joins for i in range(len(join.inputs))]
    return Kernel(
        "rows",
        (*_column_arrays(program), *_table_arrays(program), *_store_arrays(program)),
        tuple(arms),
        builder.width,
    )


def partial_kernel(program: Program) -> Kernel:
    """The tick step for rows already reduced: the selector is the number of the reduction."""
    builder = _Builder(program)
    arms = [
        builder.partial_arm(join, place, part)
        for join in program.joins
        for place, parts in enumerate(join.inputs)
        for part in range(len(parts))
    ]
    reductions = [each for join in program.joins for parts in join.inputs for each in parts]
    bests = max((len(each.bests) for each in reductions), default=0)
    held = max((len(each.held) for each in reductions), default=0)
    numbers = (name for k in range(held) for name in (f"held{k}", f"there{k}"))
    inputs = ("cell", "amount", *(f"best{k}" for k in range(bests)), *numbers)
    arrays = (*inputs, *_table_arrays(program), *_store_arrays(program))
    return Kernel("partials", arrays, tuple(arms), builder.width)


def _column_arrays(program: Program) -> list[str]:
    return [
        f"{kind}{stream}_{column}"
        for stream, each in enumerate(program.inputs)
        for column in range(len(each.columns))
        for kind in ("c", "n")
    ]


def _table_arrays(program: Program) -> list[str]:
    return [_table(number) for number in range(len(program.tables))]


def _store_arrays(program: Program) -> list[str]:
    names = []
    for number, spec in enumerate(program.stores):
        if isinstance(spec, RowSet):
            continue  # rows are let through behind the steps
        names += [f"v{number}_{k}" for k in range(spec.values)]
        names.append(f"p{number}")
    return names


class _Builder:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._numbers = {id(spec): number for number, spec in enumerate(program.stores)}
        self._tables = {table: number for number, table in enumerate(program.tables)}
        self.width = 2 * len(program.output) + 2

    # What comes out --------------------------------------------------------------------------

    def _output(
        self, columns: Sequence[Number], nulls: Sequence[Condition | bool], weight: Number
    ) -> tuple[Step, ...]:
        return (Emit(tuple(columns), tuple(nulls), weight),)

    def _emitted(self, spec: EmittedSet) -> Emitter:
        """Lets a row on if its bucket of the emitted set is empty, and fills that."""
        number = self._numbers[id(spec)]

        def emit(
            columns: Sequence[Number], nulls: Sequence[Condition | bool], weight: Number
        ) -> tuple[Step, ...]:
            place = Local("given")
            terms, steps = [], list[Step]()
            for at, (key, stride) in enumerate(zip(spec.keys, strides(spec.keys), strict=True)):
                assert isinstance(key.value, Field)
                column = [each.name for each in spec.output].index(key.value.name)
                digit = Local(f"given{at}")
                steps.append(Set(digit.name, plus(columns[column], -key.low)))
                null = nulls[column]
                if null is not False:
                    slot = Set(digit.name, Int(key.size - 1))
                    steps.append(When(() if null is True else (null,), (slot,)))
                terms.append((digit, stride))
            return (
                *steps,
                Set(place.name, _sum(terms)),
                When(
                    (Compare("==", At(f"v{number}_0", place), Int(0)),),
                    (
                        Put(f"v{number}_0", place, Int(1)),
                        self._fill(number),
                        *self._output(columns, nulls, Int(1)),
                    ),
                ),
            )

        return emit

    @property
    def _emit(self) -> Emitter:
        emitted = self._program.emitted
        return self._output if emitted is None else self._emitted(emitted)

    # Arms ------------------------------------------------------------------------------------

    def select_arm(self, select: Select) -> Arm:
        stream = self._stream(select.stream)
        columns = [Int(0) if each is None else self._here(stream, each) for each in select.columns]
        nulls: list[Condition | bool] = [
            True if column is None else self._null(stream, null) if null else False
            for column, null in zip(select.columns, select.nulls, strict=True)
        ]
        guard = tuple(self._test(stream, each) for each in select.guard)
        return Arm(stream, (When(guard, self._emit(columns, nulls, Int(1))),))

    def row_arm(self, join: SynopsisJoin, place: int) -> Arm:
        """A row of one input: its parts' guards are disjoint."""
        stream = self._stream(join.inputs[place][0].stream) if join.inputs[place] else -1
        steps: list[Step] = []
        for part, reduction in enumerate(join.inputs[place]):
            guard = tuple(self._test(stream, each) for each in reduction.guard)
            body: list[Step] = []
            for at, key in enumerate(reduction.keys):
                name = _key(place, at)
                body.append(Set(name, self._here(stream, key.value)))
                if key.null_of is not None:
                    slot = Set(name, Int(key.high + 1))
                    body.append(When((self._null(stream, key.null_of),), (slot,)))
            body.append(Set(_cell(place), _place(place, reduction)))
            body += [
                Set(_best(place, k), self._here(stream, best.value))
                for k, best in enumerate(reduction.bests)
            ]
            body += aggregate_steps.of_row(
                reduction,
                place,
                lambda each: self._here(stream, each),
                lambda each: self._test(stream, each),
            )
            steps.append(When(guard, (*body, *self._arrive(join, place, part, Int(1)))))
        return Arm(stream, tuple(steps))

    def partial_arm(self, join: SynopsisJoin, place: int, part: int) -> Arm:
        """A bucket of rows of one part of one input."""
        reduction = join.inputs[place][part]
        here = Local("r")
        steps: list[Step] = [Set(_cell(place), At("cell", here))]
        steps += self._decode(place, reduction)
        steps += [Set(_best(place, k), At(f"best{k}", here)) for k in range(len(reduction.bests))]
        steps += aggregate_steps.of_partial(reduction, place)
        amount = At("amount", here) if join.counts else Int(1)
        return Arm(
            self._numbers[id(reduction)],
            (*steps, *self._arrive(join, place, part, amount)),
        )

    # Joining and merging ---------------------------------------------------------------------

    def _arrive(
        self, join: SynopsisJoin, place: int, part: int, amount: Number
    ) -> tuple[Step, ...]:
        """What a row (or some rows of one bucket) causes, and then its merge into the bucket."""
        reduction = join.inputs[place][part]
        meets = tuple(
            step
            for case in join.cases
            if case.reductions[place] == part
            for step in self._meet(join, case, place, amount)
        )
        number, cell = self._numbers[id(reduction)], Local(_cell(place))
        value = At(f"v{number}_0", cell)
        empty = Compare("==", value, Int(0))
        match reduction.keep:
            case Keep.NOTHING:
                return meets
            case Keep.COUNT:
                return (
                    *meets,
                    AddTo(f"v{number}_0", cell, amount),
                    When((Compare("==", value, amount),), (self._fill(number),)),
                )
            case Keep.FLAG:
                return (
                    When((empty,), (*meets, Put(f"v{number}_0", cell, Int(1)), self._fill(number))),
                )
            case Keep.EXTREME:
                return self._arrive_extreme(reduction, number, place, meets)
            case Keep.AGGREGATE if join.counts:
                merged = aggregate_steps.merged(reduction, number, place, cell)
                return (*meets, *merged, self._mark(number, cell))
            case Keep.AGGREGATE:
                return self._arrive_extreme(reduction, number, place, meets)

    def _arrive_extreme(
        self, reduction: Reduction, number: int, place: int, meets: tuple[Step, ...]
    ) -> tuple[Step, ...]:
        cell = Local(_cell(place))
        held = At(f"p{number}", cell)
        better = tuple(
            Compare("<" if best.least else ">", Local(_best(place, k)), At(f"v{number}_{k}", cell))
            for k, best in enumerate(reduction.bests)
        )
        more = aggregate_steps.improves(reduction, number, place, cell)
        better += tuple(
            Compare("!=", Local(f"better{k}"), Int(0)) for k in range(len(reduction.held))
        )
        first = (
            Put(f"p{number}", cell, Int(1)),
            self._fill(number),
            *(
                Put(f"v{number}_{k}", cell, Local(_best(place, k)))
                for k in range(len(reduction.bests))
            ),
        )
        improve = tuple(
            When((test,), (Put(f"v{number}_{k}", cell, Local(_best(place, k))),))
            for k, test in enumerate(better[: len(reduction.bests)])
        )
        merged = aggregate_steps.merged(reduction, number, place, cell)
        return (
            *more,
            AnyOf(
                (Compare("==", held, Int(0)), *better),
                (*meets, *improve, *merged, When((Compare("==", held, Int(0)),), first)),
            ),
        )

    def _mark(self, number: int, cell: Local) -> Step:
        """A bucket that holds nothing yet is marked."""
        empty = Compare("==", At(f"p{number}", cell), Int(0))
        return When((empty,), (Put(f"p{number}", cell, Int(1)), self._fill(number)))

    def _meet(self, join: SynopsisJoin, case: Case, place: int, amount: Number) -> tuple[Step, ...]:
        """The rows that a bucket of `place` makes with the buckets of the other inputs."""
        found = self._loops(join, case, [place], self._order(join, case, place), amount)
        alone = [link for link in case.links if _inputs(link) <= {place}]
        return (When(self._tests(alone), found),) if alone else found

    def _order(self, join: SynopsisJoin, case: Case, place: int) -> list[int]:
        """The other inputs, those that an equality binds first."""
        left = [each for each in range(len(join.inputs)) if each != place]
        order: list[int] = []
        while left:
            known = {place, *order}
            nearest = max(
                left,
                key=lambda each: sum(
                    link.op == "==" and _inputs(link) <= known | {each} and each in _inputs(link)
                    for link in case.links
                ),
            )
            order.append(nearest)
            left.remove(nearest)
        return order

    def _tests(self, links: Sequence[Link]) -> tuple[Condition, ...]:
        return tuple(
            Compare(cast(Literal["<="], link.op), self._value(link.left), self._value(link.right))
            for link in links
        )

    def _loops(
        self, join: SynopsisJoin, case: Case, bound: list[int], order: list[int], amount: Number
    ) -> tuple[Step, ...]:
        if not order:
            return self._rows(join, case, bound[0], amount)
        place, *rest = order
        reduction = join.inputs[place][case.reductions[place]]
        number, cell = self._numbers[id(reduction)], Local(_cell(place))
        links = [
            link
            for link in case.links
            if place in _inputs(link) and _inputs(link) <= {*bound, place}
        ]
        inner = self._loops(join, case, [*bound, place], rest, amount)
        tests = self._tests(links)
        if reduction.keep in MARKED:
            # Those that links to inputs further in ask for, too.
            used = {each.best for link in case.links for each in _bests(link, place)}
            used |= {x.best for x in case.given if isinstance(x, BestOf) and x.input == place}
            bests = tuple(Set(_best(place, k), At(f"v{number}_{k}", cell)) for k in sorted(used))
            held = aggregate_steps.of_bucket(reduction, number, place, cell)
            body: tuple[Step, ...] = (
                When(
                    (Compare("!=", At(f"p{number}", cell), Int(0)),),
                    (*bests, When(tests, (*held, *inner))),
                ),
            )
        else:
            body = (When((Compare("!=", At(f"v{number}_0", cell), Int(0)), *tests), inner),)
        if not reduction.dense:
            array = f"p{number}" if reduction.keep in MARKED else f"v{number}_0"
            return (HeldPlaces(cell.name, array, (*self._decode(place, reduction), *body)),)
        body = (Set(cell.name, _place(place, reduction)), *body)
        for at in reversed(range(len(reduction.keys))):
            body = self._coordinate(place, at, reduction.keys[at], links, body)
        return body

    def _coordinate(
        self, place: int, at: int, key: Key, links: Sequence[Link], body: tuple[Step, ...]
    ) -> tuple[Step, ...]:
        """A loop over one coordinate of an input's buckets, narrowed by what is known."""
        name = _key(place, at)
        lows: list[Number] = [Int(key.low)]
        highs: list[Number] = [Int(key.low + key.size - 1)]
        for link in links:
            for mine, op, other in (
                (link.left, link.op, link.right),
                (link.right, _FLIPPED[link.op], link.left),
            ):
                if not (isinstance(mine, KeyOf) and (mine.input, mine.key) == (place, at)):
                    continue
                if mine.table is not None:
                    continue  # the key says nothing of what is compared
                if place in _inputs_of(other):
                    continue
                value = plus(self._value(other), -mine.offset)
                if op == "==":
                    inside = (
                        Compare(">=", Local(name), Int(key.low)),
                        Compare("<=", Local(name), Int(key.high)),
                    )
                    return (Set(name, value), When(inside, body))
                if op in (">=", ">"):
                    lows.append(plus(value, 1 if op == ">" else 0))
                else:
                    highs.append(plus(value, -1 if op == "<" else 0))
        return (Range(name, greatest(lows), least(highs), body),)

    def _rows(
        self, join: SynopsisJoin, case: Case, arriving: int, amount: Number
    ) -> tuple[Step, ...]:
        """The row that the buckets in the registers make; `arriving` is where the new rows are."""
        columns: list[Number] = []
        nulls: list[Condition | bool] = []
        for column in case.columns:
            null: Condition | bool = isinstance(column, Constant) and column.value is None
            if isinstance(column, KeyOf):
                key = join.inputs[column.input][case.reductions[column.input]].keys[column.key]
                if key.null_of is not None:
                    null = Compare(">", Local(_key(column.input, column.key)), Int(key.high))
            columns.append(self._value(column))
            nulls.append(null)
        if not join.counts:
            steps = self._given(join, case, {}, columns, nulls)
            return (*steps, *self._emit(columns, nulls, Int(1)))
        counts = {
            place: amount if place == arriving else counted
            for place in range(len(join.inputs))
            if (counted := self._counted(join, case, place)) is not None
        }
        steps = self._given(join, case, counts, columns, nulls)
        if len(counts) < len(join.inputs):
            return (*steps, *self._emit(columns, nulls, Int(1)))  # nobody asks for it
        steps.append(Set("w", amount))
        steps += [Times("w", each) for place, each in counts.items() if place != arriving]
        return (*steps, *self._emit(columns, nulls, Local("w")))

    def _counted(self, join: SynopsisJoin, case: Case, place: int) -> Number | None:
        """How many rows the bucket of an input has; None if it does not say."""
        reduction = join.inputs[place][case.reductions[place]]
        if reduction.keep is Keep.AGGREGATE:
            rows = aggregate_steps.rows_of(reduction)
            return None if rows is None else Local(aggregate_steps.number_of(place, rows))
        return At(f"v{self._numbers[id(reduction)]}_0", Local(_cell(place)))

    def _given(
        self,
        join: SynopsisJoin,
        case: Case,
        counts: Mapping[int, Number],
        columns: list[Number],
        nulls: list[Condition | bool],
    ) -> list[Step]:
        """What the buckets give to a group: more columns of the row, and the steps before it."""
        steps: list[Step] = []
        for each in case.given:
            if isinstance(each, BestOf):
                columns.append(self._value(each))
                nulls.append(False)
                continue
            reduction = join.inputs[each.input][case.reductions[each.input]]
            number = Local(aggregate_steps.number_of(each.input, each.held))
            there = Local(aggregate_steps.there_is(each.input, each.held))
            if reduction.held[each.held].fold.adds:
                target = Local(f"g{len(columns)}")
                steps.append(Set(target.name, number))
                steps += [Scale(target.name, n) for i, n in counts.items() if i != each.input]
                number = target
            columns.append(number)
            nulls.append(Compare("==", there, Int(0)))
        return steps

    def _value(self, held: Held) -> Number:
        """A number that a bucket speaks for, from the registers."""
        match held:
            case KeyOf(place, key, offset):
                number: Number = Local(_key(place, key))
                table = table_of(held)
                if table is not None:
                    number = At(_table(self._tables[table]), number)
                return plus(number, offset)
            case BestOf(place, best, offset):
                return plus(Local(_best(place, best)), offset)
            case Constant(value):
                table = table_of(held)
                if table is not None:
                    return At(_table(self._tables[table]), Int(0))
                return Int(value if isinstance(value, int) else 0)
            case LeastOf(operands):
                return least(self._value(each) for each in operands)
            case GreatestOf(operands):
                return greatest(self._value(each) for each in operands)

    # Small pieces ----------------------------------------------------------------------------

    def _fill(self, number: int) -> Step:
        return Put("filled", Int(number), Arith("+", At("filled", Int(number)), Int(1)))

    def _decode(self, place: int, reduction: Reduction) -> list[Step]:
        return [
            Digit(_key(place, at), Local(_cell(place)), stride, key.size, key.low)
            for at, (key, stride) in enumerate(
                zip(reduction.keys, strides(reduction.keys), strict=True)
            )
        ]

    def _stream(self, name: str) -> int:
        return [each.name for each in self._program.inputs].index(name)

    def _here(self, stream: int, expression: Number) -> Number:
        """An expression of the row at hand, as it is read from the columns."""
        match expression:
            case Field(name):
                column = self._program.inputs[stream].columns.index(name)
                return At(f"c{stream}_{column}", Local("r"))
            case Arith(op, left, right):
                return Arith(op, self._here(stream, left), self._here(stream, right))
            case Greatest(operands):
                return Greatest(tuple(self._here(stream, each) for each in operands))
            case Least(operands):
                return Least(tuple(self._here(stream, each) for each in operands))
            case _:
                return expression

    def _test(self, stream: int, test: Condition) -> Condition:
        match test:
            case Compare(op, left, right):
                return Compare(op, self._here(stream, left), self._here(stream, right))
            case IsNull(field):
                return self._null(stream, field)
            case NotNull(field):
                null = self._null(stream, field)
                return Compare("==", null.left, Int(0))

    def _null(self, stream: int, field: str) -> Compare:
        column = self._program.inputs[stream].columns.index(field)
        return Compare("!=", At(f"n{stream}_{column}", Local("r")), Int(0))


def _cell(place: int) -> str:
    return f"cell{place}"


def _key(place: int, at: int) -> str:
    return f"k{place}_{at}"


def _best(place: int, k: int) -> str:
    return f"b{place}_{k}"


def _place(place: int, reduction: Reduction) -> Number:
    """The bucket that the coordinates in the registers name."""
    return _sum(
        [
            (plus(Local(_key(place, at)), -key.low), stride)
            for at, (key, stride) in enumerate(
                zip(reduction.keys, strides(reduction.keys), strict=True)
            )
        ]
    )


def _sum(terms: Sequence[tuple[Number, int]]) -> Number:
    total: Number | None = None
    for value, stride in terms:
        term = value if stride == 1 else Arith("*", value, Int(stride))
        total = term if total is None else Arith("+", total, term)
    return Int(0) if total is None else total


def _table(number: int) -> str:
    return f"t{number}"


def _inputs_of(held: Held) -> set[int]:
    match held:
        case KeyOf(place) | BestOf(place):
            return {place}
        case LeastOf(operands) | GreatestOf(operands):
            return {place for each in operands for place in _inputs_of(each)}
        case Constant():
            return set()


def _inputs(link: Link) -> set[int]:
    return _inputs_of(link.left) | _inputs_of(link.right)


def _bests(link: Link, place: int) -> list[BestOf]:
    found: list[BestOf] = []
    for side in (link.left, link.right):
        operands = side.operands if isinstance(side, LeastOf | GreatestOf) else (side,)
        found += [each for each in operands if isinstance(each, BestOf) and each.input == place]
    return found
