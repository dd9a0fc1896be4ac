"""The local engine: clock, ingest, both lowerings; and running by definition."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millpond.run.arrivals import Arrivals as Arrivals
    from millpond.run.clock import ArrivalClock as ArrivalClock
    from millpond.run.definition import DefinitionRun as DefinitionRun
    from millpond.run.definition import Refresh as Refresh
    from millpond.run.engine import LocalRun as LocalRun
    from millpond.run.engine import Lowering as Lowering
    from millpond.run.event import Event as Event
    from millpond.run.event import Op as Op
    from millpond.run.event import Reject as Reject
    from millpond.run.feed import merged as merged
    from millpond.run.ingest import TaggedReader as TaggedReader
    from millpond.run.output import Printer as Printer
    from millpond.run.output import Teller as Teller
    from millpond.run.output import tagged_line as tagged_line
    from millpond.run.session import Emit as Emit
    from millpond.run.session import Session as Session

_HOMES = {
    "ArrivalClock": "clock",
    "Arrivals": "arrivals",
    "DefinitionRun": "definition",
    "Emit": "session",
    "Event": "event",
    "LocalRun": "engine",
    "Lowering": "engine",
    "Op": "event",
    "Printer": "output",
    "Refresh": "definition",
    "Reject": "event",
    "Session": "session",
    "TaggedReader": "ingest",
    "Teller": "output",
    "merged": "feed",
    "tagged_line": "output",
}
"""The module of each name, loaded when it is first asked for: engines take their time to load."""

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


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
