"""Functions of dates and timestamps: EXTRACT's parts under their own names, and DATE_TRUNC.

A DATE is taken at its midnight.  What a part is, `moments.py` says.
"""

from __future__ import annotations

from millpond.plan import moments
from millpond.plan.signature import Rule, Scalar, first_of, taking
from millpond.schema import BIGINT, DOUBLE, INTERVAL, TIMESTAMP, VARCHAR

_PART = taking(TIMESTAMP, result=BIGINT)
_EPOCH: Rule = first_of(taking(TIMESTAMP, result=DOUBLE), taking(INTERVAL, result=DOUBLE))


def _seconds(microseconds: int) -> float:
    return microseconds / moments.SECOND


TIMES = (
    *(Scalar(name, "a DATE or a TIMESTAMP", _PART, moments.part(name)) for name in moments.PARTS),
    Scalar("EPOCH", "a DATE, a TIMESTAMP or an INTERVAL", _EPOCH, _seconds),
    Scalar(
        "DATE_TRUNC",
        "a unit such as 'hour', and a DATE or a TIMESTAMP",
        taking(VARCHAR, TIMESTAMP, result=TIMESTAMP),
        moments.truncated,
    ),
)
