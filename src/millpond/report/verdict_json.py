"""A verdict as the contract's `check --json` has it."""

from __future__ import annotations

from typing import Any

from millpond.memory import Reason, Verdict
from millpond.report.elsewhere import elsewhere_dicts, pace_dict
from millpond.report.witness import witness_dict


def verdict_dict(verdict: Verdict) -> dict[str, Any]:
    """The verdict as JSON-ready data."""
    return {
        "name": verdict.name,
        "memory": verdict.memory.value,
        "bounded": verdict.bounded,
        "units": verdict.units,
        "bits": verdict.bits.value,
        "given": list(verdict.given),
        "formula": verdict.formula,
        "bytes": verdict.state_bytes,
        "answer": {"memory": verdict.answer.memory.value, "units": verdict.answer.units},
        "buffer": {"memory": verdict.buffer.memory.value, "units": verdict.buffer.units},
        "growth": _growth(verdict),
        "pace": pace_dict(verdict.pace),
        "state": [
            {"of": each.of, "keeps": list(each.keeps), "kind": each.kind, "units": each.units}
            for each in verdict.state
        ],
        "because": [_reason(each) for each in verdict.because],
        "elsewhere": elsewhere_dicts(verdict),
        "patterns": {"root": "MON" if verdict.monotonic else None},
        "witness": witness_dict(verdict),
        "fixes": [
            {
                "text": each.text,
                "sql": each.sql,
                "memory": each.memory.value,
                "units": each.units,
                "keeps_answers": each.keeps_answers,
                "tokens": each.tokens,
            }
            for each in verdict.fixes
        ],
    }


def _growth(verdict: Verdict) -> str | None:
    """With what state grows, and how fast where that is known."""
    if verdict.growth is None or verdict.pace is None:
        return verdict.growth
    return f"{verdict.growth}: {verdict.pace.phrase}"


def _reason(reason: Reason) -> dict[str, Any]:
    span = reason.span
    return {
        "rule": reason.rule,
        "code": reason.code,
        "text": reason.text,
        "attributes": list(reason.attributes),
        "at": None if span is None else {"line": span.line, "column": span.column},
    }
