"""`--rate NAME=2000/s`: how fast rows of a stream come."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TypeVar

from millpond.cli.given import pairs, wrong
from millpond.diagnostic import did_you_mean
from millpond.plan import Script

T = TypeVar("T")

_PER_HOUR = {"s": Fraction(3600), "min": Fraction(60), "h": Fraction(1), "day": Fraction(1, 24)}
_UNITS: dict[str, Fraction] = {
    **_PER_HOUR,
    **dict.fromkeys(("sec", "second"), _PER_HOUR["s"]),
    **dict.fromkeys(("m", "minute"), _PER_HOUR["min"]),
    **dict.fromkeys(("hr", "hour"), _PER_HOUR["h"]),
    "d": _PER_HOUR["day"],
}
_FORM = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*/\s*([A-Za-z]+)")
_LIKE = "--rate s=2000/s; also /min, /h and /day"


def rates_of(given: list[str] | None) -> dict[str, Fraction]:
    """Rows an hour by name of the stream, as it was written."""
    return {name: _per_hour(name, said) for name, said in pairs(given, "--rate").items()}


def _per_hour(name: str, said: str) -> Fraction:
    found = _FORM.fullmatch(said)
    if found is None:
        raise wrong(f"--rate {name}={said}: a rate is rows for a time", _LIKE)
    number, unit = found.groups()
    if unit.lower() not in _UNITS:
        raise wrong(f"--rate {name}={said}: unknown unit of time `{unit}`", _LIKE)
    return Fraction(number) * _UNITS[unit.lower()]


def in_script(script: Script, by_name: Mapping[str, T]) -> dict[str, T]:
    """What was given of the streams that a file declares, by their names there."""
    found = {name: script.catalog.get(name) for name in by_name}
    return {stream.name: by_name[name] for name, stream in found.items() if stream is not None}


def known_somewhere(scripts: Iterable[Script], names: Iterable[str], option: str) -> None:
    """Refuses a name that no file declares."""
    catalogs = [each.catalog for each in scripts]
    for name in names:
        if all(each.get(name) is None for each in catalogs):
            known = [known for each in catalogs for known in each.names]
            raise wrong(f"{option} {name}: there is no such stream", *did_you_mean(name, known))
