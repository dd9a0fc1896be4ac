"""What a scalar function is: its names, the types that it takes and gives, and what it computes.

A *signature* says what arguments of given types become before the call, and the type of what comes
back.  The call itself is plain Python over exact values; that its result fits the type is checked
afterwards, in one place, so that no function wraps or gives an infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millpond.plan.conversion import EvaluationError, converter, converts, fitting, same, shown
from millpond.schema import NULL, Type, Value


@dataclass(frozen=True)
class Signature:
    """The types that arguments are converted to, and the type of the result."""

    arguments: tuple[Type, ...]
    result: Type


Rule = Callable[[Sequence[Type]], Signature | None]
"""The signature for arguments of these types; None if they are not taken."""


@dataclass(frozen=True)
class Scalar:
    """A function of the values of one row."""

    name: str
    takes: str
    signature: Rule
    call: Callable[..., Value]
    strict: bool = True
    """NULL in, NULL out, without a call."""
    lazy: bool = False
    """Takes functions that give its arguments' values, and asks only those that it needs."""

    def result(self, types: Sequence[Type]) -> Type | None:
        """The type of the result; None for types that it does not take."""
        found = self.signature(types)
        return None if found is None else found.result

    def over(self, types: Sequence[Type]) -> Callable[..., Value]:
        """The function over values of these types (over what gives them, if it is lazy)."""
        found = self.signature(types)
        if found is None:
            raise ValueError(f"{self.name} does not take {', '.join(map(str, types))}")
        changes = [converter(*each) for each in zip(types, found.arguments, strict=True)]
        fit = fitting(found.result) if found.result is not NULL else same
        if self.lazy:
            return lambda *parts: self.call(
                *(_then(part, change) for part, change in zip(parts, changes, strict=True))
            )

        def called(*values: Value) -> Value:
            if self.strict and any(each is None for each in values):
                return None
            try:
                result = self.call(*(f(x) for f, x in zip(changes, values, strict=True)))
                return None if result is None else fit(result)
            except EvaluationError as error:
                raise EvaluationError(f"{self._said(values)}: {error}") from error
            except (ArithmeticError, ValueError) as error:
                raise EvaluationError(f"{self._said(values)} has no value") from error

        return called

    def _said(self, values: Sequence[Value]) -> str:
        parts = ["NULL" if each is None else shown(each) for each in values]
        if self.name.isidentifier():
            return f"{self.name}({', '.join(parts)})"
        return f" {self.name} ".join(parts) if len(parts) > 1 else f"{self.name}({parts[0]})"


def _then(part: Callable[[], Value], change: Callable[[Value], Value]) -> Callable[[], Value]:
    return part if change is same else lambda: change(part())


def taking(*wanted: Type, result: Type, optional: int = 0) -> Rule:
    """The rule of a function of these types, of which the last ones may be left out."""

    def rule(types: Sequence[Type]) -> Signature | None:
        if not len(wanted) - optional <= len(types) <= len(wanted):
            return None
        if not all(converts(*each) for each in zip(types, wanted, strict=False)):
            return None
        return Signature(wanted[: len(types)], result)

    return rule


def first_of(*rules: Rule) -> Rule:
    """The first of several rules that takes the types."""

    def rule(types: Sequence[Type]) -> Signature | None:
        return next((found for each in rules if (found := each(types)) is not None), None)

    return rule
