"""Functions that choose among their arguments, all of types that meet in one.

COALESCE, IF and NVL2 are lazy: what is not chosen is not evaluated, and cannot fail.  GREATEST and
LEAST skip NULLs, as in Postgres, DuckDB and Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millpond.plan.conversion import common_type
from millpond.plan.signature import Scalar, Signature
from millpond.schema import BOOLEAN, NULL, Type, Value

_Thunk = Callable[[], Value]


def _alike(types: Sequence[Type]) -> Signature | None:
    meant = common_type(types) if types else None
    return None if meant is None else Signature((meant,) * len(types), meant)


def _compared(types: Sequence[Type]) -> Signature | None:
    """Two values that compare, the first of which comes back; numbers compare as they are."""
    meant = common_type(types) if len(types) == 2 else None
    if meant is None:
        return None
    if meant.kind.numeric:
        return Signature(tuple(types), meant if types[0] is NULL else types[0])
    return Signature((meant, meant), meant)


def _conditional(types: Sequence[Type]) -> Signature | None:
    if len(types) not in (2, 3) or types[0] not in (BOOLEAN, NULL):
        return None
    found = _alike(types[1:])
    return None if found is None else Signature((types[0], *found.arguments), found.result)


def _by_null(types: Sequence[Type]) -> Signature | None:
    found = _alike(types[1:]) if len(types) == 3 else None
    return None if found is None else Signature((types[0], *found.arguments), found.result)


def _coalesce(*parts: _Thunk) -> Value:
    return next((value for each in parts if (value := each()) is not None), None)


def _if(condition: _Thunk, then: _Thunk, otherwise: _Thunk | None = None) -> Value:
    if condition() is True:
        return then()
    return None if otherwise is None else otherwise()


def _nvl2(subject: _Thunk, there: _Thunk, missing: _Thunk) -> Value:
    return missing() if subject() is None else there()


def _nullif(one: Value, other: Value) -> Value:
    return None if one == other else one


def _extreme(best: Callable[..., Any]) -> Callable[..., Value]:
    def found(*values: Value) -> Value:
        result: Value = best((each for each in values if each is not None), default=None)
        return result

    return found


_VALUES = "values of one kind"

CHOICES = (
    Scalar("COALESCE", _VALUES, _alike, _coalesce, strict=False, lazy=True),
    Scalar("NULLIF", "two values of one kind", _compared, _nullif, strict=False),
    Scalar("GREATEST", _VALUES, _alike, _extreme(max), strict=False),
    Scalar("LEAST", _VALUES, _alike, _extreme(min), strict=False),
    Scalar("IF", "a condition and one or two values", _conditional, _if, strict=False, lazy=True),
    Scalar("NVL2", "a value to test, and two to choose from", _by_null, _nvl2, strict=False,
           lazy=True),
)  # fmt: skip
