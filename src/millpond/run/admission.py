"""Which queries run: those whose state has a known bound, unless more is allowed.

How a query runs follows from its verdict: by its program where a synopsis is known, else by
definition, which keeps all of its input.
"""

from __future__ import annotations

from millpond.diagnostic import Diagnostic, RefusedError
from millpond.memory import MemoryClass, Verdict
from millpond.plan import Query
from millpond.run.definition import DefinitionRun
from millpond.run.engine import LocalRun, Lowering
from millpond.synopsis import program_of


def refusal(query: Query, verdict: Verdict, *ways_out: str) -> RefusedError | None:
    """Why a query is not run; `ways_out` say how it can be run all the same."""
    if verdict.runs:
        return None
    reason = verdict.because[0]
    linear = verdict.memory is MemoryClass.LINEAR
    code, why, notes = "MP402", reason.text, tuple[str, ...]()
    if linear:
        code, why, notes = "MP401", f"its state grows with {verdict.growth}", (reason.text,)
    elif verdict.memory is MemoryClass.WINDOW:
        code, why = (
            "MP408",
            "what its windows hold is enough for it, but its steps are not built yet",
        )
    elif verdict.units is not None:
        code = "MP408"
        enough = "1 unit is" if verdict.units == 1 else f"{verdict.units} units are"
        why = f"{enough} enough for it, but its steps are not built yet"
    repairs = tuple(f"{fix.text} makes it {fix.memory}" for fix in verdict.fixes[:2])
    return RefusedError(
        Diagnostic(
            code,
            f"query {query.name} is not run: {why}",
            reason.span,
            notes=notes,
            helps=(*repairs, *ways_out),
        ),
        exit_code=1 if linear else 3,
    )


def admitted(
    query: Query,
    verdict: Verdict | None,
    *,
    every: bool = False,
    lowering: Lowering = Lowering.AUTO,
    debug: bool = False,
) -> LocalRun | DefinitionRun:
    """What runs a query: its program, or without a known bound its definition.

    `every` says slide boundaries at which nothing changes, too; `debug` compares the units held
    with the certificate after every step.
    """
    if verdict is None or not verdict.runs:
        return DefinitionRun(query, every=every)
    return LocalRun(program_of(query, verdict), lowering=lowering, debug=debug)
