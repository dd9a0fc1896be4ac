"""States of users' aggregates: one for each group, made by `init`, `step` and `merge`.

A state is whatever the user's code gives.  Outside of the process it is text: JSON in which what
JSON does not tell apart is named.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from millpond.diagnostic import Diagnostic, UserError
from millpond.program.store import KeyedArray, Store, decode, encode

if TYPE_CHECKING:
    from millpond.plan.user_code import UserFunction
    from millpond.program.grouping import States
    from millpond.schema import Value


@dataclass
class StateStore(Store):
    """The state of each group that has one."""

    states: dict[int, Any] = field(default_factory=dict)

    @classmethod
    def for_states(cls, spec: States) -> StateStore:
        """An empty one."""
        return cls(spec, [], KeyedArray())  # type: ignore[arg-type]  # specs of all rooms

    def places(self) -> Iterator[int]:
        yield from sorted(self.states)

    def widen(self) -> None:
        self.wide = True

    def table(self) -> tuple[list[str], list[tuple[Any, ...]]]:
        names = [*(key.name for key in self.spec.keys), *self.spec.columns]
        rows = [
            (*decode(self.spec.keys, place), text_of_state(self.states[place]))
            for place in self.places()
        ]
        return names, rows

    def put(self, row: Sequence[Any]) -> int:
        *key, text = row
        self.states[encode(self.spec.keys, key)] = state_of_text(text)
        return self.units_per_bucket

    @property
    def units_per_bucket(self) -> int:
        return self.spec.units


def stepped(function: UserFunction, state: Any, value: Value, times: int) -> Any:
    """The state with a value that came so often; of many, halves are merged."""
    if times == 1:
        return function.step(state, value)
    return function.merge(state, _repeated(function, value, times))


def _repeated(function: UserFunction, value: Value, times: int) -> Any:
    if times == 1:
        return function.step(function.init(), value)
    half = _repeated(function, value, times // 2)
    both = function.merge(deepcopy(half), half)
    return function.step(both, value) if times % 2 else both


# Text -------------------------------------------------------------------------------------------


def text_of_state(state: Any) -> str:
    """A state as text; MP408 where it is made of what no text says."""
    return json.dumps(_named(state))


def state_of_text(text: str) -> Any:
    """The state that a text says."""
    return _meant(json.loads(text))


_GROUPS: dict[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple, "list": list, "set": set, "frozenset": frozenset,
}  # fmt: skip


def _named(state: Any) -> Any:
    if state is None or isinstance(state, bool | int | str):
        return state
    if isinstance(state, float | np.floating):
        return {"float": float(state).hex()}
    if isinstance(state, np.integer):
        return int(state)
    if isinstance(state, Decimal):
        return {"decimal": str(state)}
    if isinstance(state, dict):
        return {"dict": [[_named(key), _named(value)] for key, value in state.items()]}
    for name, kind in _GROUPS.items():
        if type(state) is kind:
            return {name: [_named(each) for each in state]}
    raise UserError(
        Diagnostic(
            "MP317",
            f"a state of a user's aggregate is a {type(state).__name__}, which is not written down",
            helps=("make states of numbers, texts, tuples, lists, sets and dicts",),
        )
    )


def _meant(said: Any) -> Any:
    if not isinstance(said, dict):
        return said
    ((name, of),) = said.items()
    match name:
        case "float":
            return float.fromhex(of)
        case "decimal":
            return Decimal(of)
        case "dict":
            return {_meant(key): _meant(value) for key, value in of}
    return _GROUPS[name]([_meant(each) for each in of])
