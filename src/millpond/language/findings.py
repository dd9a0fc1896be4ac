"""What is found wrong with a statement, each thing once."""

from __future__ import annotations

from millpond.diagnostic import Collector, Diagnostic, MillpondError


class Findings(Collector):
    """A collector that takes nothing twice.

    A part may be looked at more than once: a query that WITH names wherever it is used, and what a
    subquery stopped at again by the query around it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._noted: set[Diagnostic] = set()
        self.number = 0
        """How often something was found, the same twice included."""

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was found so far."""
        return tuple(self._noted)

    def add(self, error: MillpondError) -> None:
        self.number += 1
        new = [each for each in error.diagnostics if each not in self._noted]
        if new:
            self._noted.update(new)
            super().add(type(error)(*new))

    def checkpoint_since(self, number: int) -> None:
        """Stop here if more was found than that: what is wrong elsewhere stops nobody."""
        if self.number > number:
            self.checkpoint()
