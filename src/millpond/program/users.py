"""Users' aggregates of groups: their code, loaded once, and what it works on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from millpond.plan.functions import EvaluationError
from millpond.plan.user_code import UserFunction, loaded
from millpond.program.contributions import Contributions
from millpond.program.delta import IntArray
from millpond.program.finish import Numbers, of_values
from millpond.program.grouping import Finish, Grouping, States
from millpond.program.store import State
from millpond.program.tallies import Values
from millpond.program.user_state import StateStore, stepped
from millpond.schema import Value


class Users:
    """The users' aggregates of a grouping."""

    def __init__(self, grouping: Grouping, values: Sequence[Values]) -> None:
        self._grouping = grouping
        self._values = values
        self._first = 1 + len(grouping.tallies)

    @cached_property
    def _functions(self) -> list[UserFunction]:
        return [loaded(each.declared, each.span) for each in self._grouping.states]

    @cached_property
    def _of_values(self) -> dict[str, UserFunction]:
        """The code of what is made of the values of a tally."""
        return {
            each.function: loaded(each.declared, each.span)
            for each in self._grouping.finishes
            if each.declared is not None
        }

    def of_group(self, finish: Finish, own: State, place: int) -> Value:
        """What an aggregate is of a group."""
        try:
            return self._made(finish, own, place)
        except EvaluationError as error:
            error.span = error.span or finish.span
            raise

    def of_groups(self, finish: Finish, own: State, places: IntArray) -> Numbers:
        """The same of several groups."""
        return of_values([self.of_group(finish, own, place) for place in places.tolist()])

    def _made(self, finish: Finish, own: State, place: int) -> Value:
        if finish.state is not None:
            function, store = self._functions[finish.state], self._store(own, finish.state)
            state = store.states[place] if place in store.states else function.init()
            return function.final(state)
        assert finish.tally is not None
        function, values = self._of_values[finish.function], self._values[finish.tally]
        state = function.init()
        for bucket, times in values.held(own.stores[1 + finish.tally], place):
            value = values.value(values.of_place(bucket))
            state = stepped(function, state, value, times if values.counted else 1)
        return function.final(state)

    def _store(self, own: State, number: int) -> StateStore:
        store = own.stores[self._first + number]
        assert isinstance(store, StateStore)
        return store

    def taking(self, own: State, contributions: Contributions) -> Callable[[int, int], None]:
        """What takes a contribution, by its number, into the states of a group."""
        takers = [
            self._taker(own, number, each, contributions)
            for number, each in enumerate(self._grouping.states)
        ]

        def take(contribution: int, place: int) -> None:
            for each in takers:
                each(contribution, place)

        return take

    def _taker(
        self, own: State, number: int, spec: States, contributions: Contributions
    ) -> Callable[[int, int], None]:
        function, store = self._functions[number], self._store(own, number)
        passing = contributions.passing(spec.guard)
        there = np.ones(len(contributions), bool) if passing is None else passing
        codes: list[Any] = contributions.column(spec.value).tolist()
        weights: list[int] = contributions.delta.weight.tolist()

        def take(contribution: int, place: int) -> None:
            if not there[contribution]:
                return
            code = codes[contribution]
            value = code if spec.taken is None else spec.taken.value(code)
            if place not in store.states:
                store.states[place] = function.init()
                own.filled[self._first + number] += 1
            try:
                state = stepped(function, store.states[place], value, weights[contribution])
            except EvaluationError as error:
                error.span = error.span or spec.span
                raise
            store.states[place] = state

        return take
