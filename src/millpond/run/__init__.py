"""The local engine: clock, ingest, both lowerings; and running by definition."""

from millpond.run.arrivals import Arrivals
from millpond.run.clock import ArrivalClock
from millpond.run.definition import DefinitionRun, evaluate
from millpond.run.engine import LocalRun, Lowering
from millpond.run.ingest import Event, Reject, TaggedReader
from millpond.run.session import ByDefinition, Compiled, Emit, Running, Session

__all__ = [
    "ArrivalClock",
    "Arrivals",
    "ByDefinition",
    "Compiled",
    "DefinitionRun",
    "Emit",
    "Event",
    "LocalRun",
    "Lowering",
    "Reject",
    "Running",
    "Session",
    "TaggedReader",
    "evaluate",
]
