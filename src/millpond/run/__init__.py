"""The local engine: clock, ingest, both lowerings; and running by definition."""

from millpond.run.arrivals import Arrivals
from millpond.run.clock import ArrivalClock
from millpond.run.definition import DefinitionRun, Refresh
from millpond.run.engine import LocalRun, Lowering
from millpond.run.event import Event, Op, Reject
from millpond.run.feed import merged
from millpond.run.ingest import TaggedReader
from millpond.run.output import Printer, Teller, tagged_line
from millpond.run.session import Emit, Session

__all__ = [
    "ArrivalClock",
    "Arrivals",
    "DefinitionRun",
    "Emit",
    "Event",
    "LocalRun",
    "Lowering",
    "Op",
    "Printer",
    "Refresh",
    "Reject",
    "Session",
    "TaggedReader",
    "Teller",
    "merged",
    "tagged_line",
]
