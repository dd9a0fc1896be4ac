"""`--source NAME=URI` of a check: samples of streams, and what they say of its queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from millpond.memory import Rate, Verdict
from millpond.plan import Query, Script

if TYPE_CHECKING:
    from millpond.run.measure import Sample
    from millpond.run.suggest import Suggestion


@dataclass(frozen=True)
class Samples:
    """The samples of a file's streams, and what could be declared of each."""

    by_name: Mapping[str, Sample] = field(default_factory=dict)
    uris: Mapping[str, str] = field(default_factory=dict)
    suggested: Mapping[str, tuple[Suggestion, ...]] = field(default_factory=dict)

    def rates(self, given: Mapping[str, Fraction]) -> dict[str, Rate]:
        """How fast rows come: as given, else as in the sample."""
        found = {name: Rate(each) for name, each in given.items()}
        for name, sample in self.by_name.items():
            from millpond.run.suggest import per_hour

            hourly = given.get(name) or per_hour(sample)
            if hourly is not None:
                found[name] = Rate(hourly, sample.share)
        return found

    def with_remedy(self, query: Query, verdict: Verdict, budget: int) -> Verdict:
        """The verdict with the CHECKs of the samples that would bound it."""
        from millpond.memory.remedy import remedy

        known = [
            (name, each.column, each.check)
            for name, found in self.suggested.items()
            for each in found
            if each.check is not None
        ]
        return replace(verdict, remedy=remedy(query, verdict, known, budget))


def samples_of(script: Script, uris: Mapping[str, str]) -> Samples:
    """Measures the sources of a file's streams and tables."""
    if not uris:
        return Samples()
    from millpond.run.measure import measured
    from millpond.run.suggest import suggestions

    found = {}
    for name, uri in uris.items():
        stream = script.catalog.get(name)
        if stream is not None:
            found[name] = measured(script.catalog, stream, uri)
    suggested = {name: suggestions(each) for name, each in found.items()}
    return Samples(found, uris, suggested)
