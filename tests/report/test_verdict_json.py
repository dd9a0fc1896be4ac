"""`check --json` has the keys and types of the contract, for every memory class."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from tests.report.cases import QUERIES, decided, repaired

from millpond.memory import Rate, at_rates
from millpond.report import verdict_dict

Shape = Any
"""A type, a tuple of choices, a list of one shape, or a dict of shapes."""

NUMBER = (int, None)
CLASSES = ("none", "constant", "impractical", "window", "domain", "linear", "outside")

PACE = (
    {"rows": int, "bytes": int, "per": ("hour", None), "measured": bool, "without": [str]},
    None,
)
VERDICT: Shape = {
    "name": str,
    "memory": CLASSES,
    "bounded": (True, False, None),
    "units": NUMBER,
    "bits": ("constant", "log", "linear"),
    "given": [str],
    "formula": (str, None),
    "bytes": NUMBER,
    "answer": {"memory": CLASSES, "units": NUMBER},
    "buffer": {"memory": CLASSES, "units": NUMBER},
    "growth": (str, None),
    "pace": PACE,
    "state": [{"of": str, "keeps": [str], "kind": str, "units": NUMBER}],
    "because": [
        {
            "rule": str,
            "code": str,
            "text": str,
            "attributes": [str],
            "at": ({"line": int, "column": int}, None),
        }
    ],
    "elsewhere": [
        {
            "engine": ("Spark", "Flink"),
            "memory": ("none", "constant", "window", "linear", "refused"),
            "keeps": str,
            "given": str,
            "pace": PACE,
        }
    ],
    "patterns": {"root": ("MON", "WKS", "WK", "STR", "NN", None)},
    "witness": (dict, None),
    "fixes": [
        {
            "text": str,
            "sql": str,
            "memory": CLASSES,
            "units": NUMBER,
            "keeps_answers": str,
            "tokens": int,
        }
    ],
}


def misfits(value: Any, shape: Shape, where: str = "") -> list[str]:
    """Where a value is not of a shape."""
    if isinstance(shape, tuple):
        return [] if any(not misfits(value, each) for each in shape) else [f"{where}: {value!r}"]
    if isinstance(shape, dict):
        if not isinstance(value, dict) or list(value) != list(shape):
            return [f"{where}: keys {list(value) if isinstance(value, dict) else value!r}"]
        return [
            wrong for key in shape for wrong in misfits(value[key], shape[key], f"{where}.{key}")
        ]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{where}: {value!r}"]
        return [
            wrong
            for place, each in enumerate(value)
            for wrong in misfits(each, shape[0], f"{where}[{place}]")
        ]
    if isinstance(shape, type):
        return [] if type(value) is shape else [f"{where}: {value!r}"]
    return (
        [] if value is shape or (type(value) is str and value == shape) else [f"{where}: {value!r}"]
    )


@pytest.mark.parametrize("case", QUERIES)
def test_a_verdict_has_the_keys_and_types_of_the_contract(case: str) -> None:
    query, _ = decided(case)
    rates = {"s": Rate(Fraction(60))}
    for verdict in (repaired(case), at_rates(query, repaired(case), rates)):
        found = json.loads(json.dumps(verdict_dict(verdict)))
        assert not misfits(found, VERDICT)


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (True, int),
        (1, True),
        (1.0, int),
        ({"b": 1, "a": 1}, {"a": int, "b": int}),
        ({"a": 1}, {"a": int, "b": int}),
        ([1, "x"], [int]),
        ("huge", CLASSES),
        (None, str),
    ],
)
def test_what_is_not_of_a_shape_is_told(value: Any, shape: Shape) -> None:
    assert misfits(value, shape)


@pytest.mark.parametrize(
    ("case", "memory", "bounded", "units", "growth"),
    [
        ("none", "none", True, 0, None),
        ("empty", "none", True, 0, None),
        ("constant", "constant", True, 18, None),
        ("emitted", "constant", True, 27, None),
        ("impractical", "impractical", True, 200_000_000_000, None),
        ("linear", "linear", False, None, "distinct s.b, t.e"),
        ("window", "window", None, None, "rate of w x 10 instants"),
        ("outside", "outside", None, None, None),
    ],
)
def test_what_is_said_of_each_class(
    case: str, memory: str, bounded: bool | None, units: int | None, growth: str | None
) -> None:
    found = verdict_dict(decided(case)[1])
    assert (found["memory"], found["bounded"], found["units"], found["growth"]) == (
        memory, bounded, units, growth,
    )  # fmt: skip
    if units is not None:
        assert sum(each["units"] for each in found["state"]) == units


def test_the_example_of_the_contract() -> None:
    found = verdict_dict(decided("constant")[1])
    assert found["formula"] == "s: 9 values of a x 1 count + t: 9 values of d x 1 count"
    assert found["bytes"] == 288
    assert found["answer"] == {"memory": "constant", "units": 18}
    assert found["state"][0] == {
        "of": "s", "keeps": ["a in 11..19"], "kind": "counts", "units": 9,
    }  # fmt: skip
    assert found["because"][0]["rule"] == "arasu 5.6"
    assert found["because"][0]["code"] == "MP201"


def test_a_linear_verdict_names_the_condition_its_attributes_and_bounded_repairs() -> None:
    found = verdict_dict(repaired("linear"))
    assert found["because"][0]["code"] == "MP213"
    assert found["because"][0]["attributes"] == ["s.b", "t.e"]
    assert found["because"][0]["at"] == {"line": 3, "column": 28}
    assert found["fixes"]
    assert all(each["memory"] in ("none", "constant") for each in found["fixes"])
