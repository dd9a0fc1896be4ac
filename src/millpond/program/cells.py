"""Values of a state as text, where they are no 64-bit integers: exact, and told by their types.

Integers are their digits; everything else is a small JSON array that begins with a name.
"""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

from millpond.program.near import Near


def text_of(value: Any) -> str | None:
    """A value as text; None for NULL."""
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return json.dumps(_said(value), ensure_ascii=False)


def value_of(text: str | None) -> Any:
    """The value that `text_of` wrote."""
    if text is None:
        return None
    if not text.startswith("["):
        return int(text)
    kind, *said = json.loads(text)
    match kind:
        case "text" | "boolean":
            return said[0]
        case "double":
            return float.fromhex(said[0])
        case "decimal":
            return Decimal(said[0])
        case "fraction":
            return Fraction(said[0])
        case "near":
            level, value, shade, grid = said
            return Near(value_of(value), shade, grid=grid, level=level)
    raise ValueError(f"{kind!r} is no kind of value")


def _said(value: Any) -> list[Any]:
    match value:
        case bool():
            return ["boolean", value]
        case str():
            return ["text", value]
        case float():
            return ["double", value.hex()]
        case Decimal():
            return ["decimal", str(value)]
        case Fraction():
            return ["fraction", str(value)]
        case Near():
            level, place, shade = value.sort
            return ["near", level, text_of(place), shade, value.grid]
    raise TypeError(f"{value!r} is no value of a state")
