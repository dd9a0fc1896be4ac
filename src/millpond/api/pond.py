"""Declarations and queries over them, for Python programs."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from html import escape
from os import PathLike
from typing import Any

from millpond.api.run import OnLate, Run
from millpond.diagnostic import Diagnostic, UserError
from millpond.language import read_script
from millpond.memory import Fix, MemoryClass, Reason, check_script
from millpond.memory import Verdict as Judged
from millpond.memory.witness import Witness
from millpond.plan import Query as Planned
from millpond.plan import Script
from millpond.report import explain_dict, explain_lines, render_verdict, to_svg, verdict_dict
from millpond.run import Lowering
from millpond.run.admission import admitted, refusal
from millpond.run.respond import Responses
from millpond.synopsis import program_of

_NAME = "<pond>"


class Pond:
    """Streams and tables, and queries over them.

    `ddl` declares them as a file does.  Nothing runs before a query is started.

    >>> import millpond as mp
    >>> pond = mp.Pond("CREATE STREAM s (a INT, b BIGINT); CREATE STREAM t (d INT, e BIGINT)")
    >>> pond.streams
    ('s', 't')
    >>> q = pond.query("SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20")
    >>> q.verdict.memory, q.verdict.units
    (<MemoryClass.CONSTANT: 'constant'>, 18)
    """

    def __init__(self, ddl: str = "", *, dialect: str = "cql") -> None:
        self._ddl = ddl
        self._dialect = dialect
        self._declared = read_script(ddl, _NAME, dialect)

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams and tables that are declared."""
        return self._declared.catalog.names

    def query(self, sql: str, name: str | None = None) -> Query:
        """A query over the streams of the pond; raises `UserError` if it says nothing sensible.

        >>> import millpond as mp
        >>> mp.Pond("CREATE STREAM s (a INT)").query("SELECT b FROM s")
        Traceback (most recent call last):
        ...
        millpond.diagnostic.errors.UserError: MP102: no input of the query has a column `b`
        """
        ddl = self._ddl.rstrip()
        between = "" if not ddl or ddl.endswith(";") else ";"
        script = read_script(f"{ddl}{between}\n{sql}" if ddl else sql, _NAME, self._dialect)
        asked = script.queries[len(self._declared.queries) :]
        if len(asked) != 1:
            what = "no query" if not asked else f"{len(asked)} queries"
            raise UserError(
                Diagnostic(
                    "MP003" if not asked else "MP403",
                    f"the text has {what}, and one is wanted",
                    helps=("write one SELECT, or CREATE QUERY name AS SELECT ...",),
                )
            )
        query = asked[0]
        if name is not None:
            query = replace(query, name=name)
        return Query(replace(script, queries=(query,)), self._dialect)

    def __repr__(self) -> str:
        return f"<Pond: {', '.join(self.streams)}>"


class Query:
    """A query that can be checked, explained and started; `Pond.query` makes one."""

    def __init__(self, script: Script, dialect: str = "cql") -> None:
        self._script = script
        self._dialect = dialect

    @property
    def name(self) -> str:
        """What it is called."""
        return self._query.name

    @property
    def sql(self) -> str:
        """Its text."""
        return self._query.text

    @cached_property
    def verdict(self) -> Verdict:
        """How much memory it can ever need, and why; found when it is first asked for."""
        (found,) = check_script(self._script, Responses, dialect=self._dialect)
        return Verdict(found, self._query)

    def explain(self) -> Explanation:
        """Its plan, its verdict, and the program that runs it.

        >>> import millpond as mp
        >>> q = mp.Pond("CREATE STREAM s (a INT)").query("SELECT a FROM s WHERE a > 10")
        >>> print(q.explain())  # doctest: +ELLIPSIS
        plan  (every edge only adds rows: MON)
        ...
        """
        return Explanation(self._query, self.verdict.judged)

    def start(
        self,
        *,
        allow_unbounded: bool = False,
        max_state: int | None = None,
        keep_answer: bool = False,
        on_late: OnLate | None = None,
        debug: bool = False,
    ) -> Run:
        """Runs it in this process, from the empty state.

        A query whose state has no known bound is refused, unless `allow_unbounded` is said with
        `max_state`, the units at which it has to stop.  `keep_answer` keeps the answer of a query
        that remembers nothing; `on_late` is told of each row that comes too late; `debug` compares
        the units held with the certificate after every step.

        >>> import millpond as mp
        >>> q = mp.Pond("CREATE STREAM s (a INT)").query("SELECT DISTINCT a FROM s")
        >>> q.start()
        Traceback (most recent call last):
        ...
        millpond.diagnostic.errors.RefusedError: MP401: query q1 is not run: its state grows \
with distinct s.a
        >>> run = q.start(allow_unbounded=True, max_state=2)
        >>> len(run.push("s", [{"a": 1}, {"a": 2}]))
        2
        """
        self._admit(allow_unbounded, max_state)
        run = admitted(self._query, self.verdict.judged, lowering=Lowering.AUTO, debug=debug)
        return Run(
            self._script.catalog,
            self._query,
            run,
            keep_answer=keep_answer,
            limit=max_state,
            on_late=on_late,
        )

    def resume(
        self,
        path: str | PathLike[str],
        *,
        allow_unbounded: bool = False,
        max_state: int | None = None,
        keep_answer: bool = False,
        on_late: OnLate | None = None,
        debug: bool = False,
    ) -> Run:
        """Goes on from the newest commit of a folder that `Run.checkpoint` wrote.

        Raises `UserError` if the folder is damaged, or of another query: the error says what has
        changed.  `run.rows` says how much of each stream was taken before.
        """
        run = self.start(
            allow_unbounded=allow_unbounded,
            max_state=max_state,
            keep_answer=keep_answer,
            on_late=on_late,
            debug=debug,
        )
        return run._resumed(path)

    def __repr__(self) -> str:
        return f"<Query {self.name}: {self.sql}>"

    @property
    def _query(self) -> Planned:
        return self._script.queries[0]

    def _admit(self, allow_unbounded: bool, max_state: int | None) -> None:
        if allow_unbounded != (max_state is not None):
            raise UserError(
                Diagnostic(
                    "MP403",
                    "allow_unbounded=True and max_state=UNITS go together",
                    helps=("start(allow_unbounded=True, max_state=1_000_000)",),
                )
            )
        refused = refusal(
            self._query,
            self.verdict.judged,
            "start(allow_unbounded=True, max_state=1_000_000) runs it until it holds so much",
        )
        if refused is not None and not allow_unbounded:
            raise refused


class Verdict:
    """What `check` says of a query; `str()` of it is that text.

    >>> import millpond as mp
    >>> q = mp.Pond("CREATE STREAM s (a INT)").query("SELECT DISTINCT a FROM s WHERE a IN (1, 2)")
    >>> print(q.verdict)
    q1: constant, at most 2 units (16 bytes), whatever comes
      emitted: 2 values of s.a x 1 row
    """

    def __init__(self, judged: Judged, query: Planned | None = None) -> None:
        self.judged = judged
        self._asked = query

    @property
    def name(self) -> str:
        """What the query is called."""
        return self.judged.name

    @property
    def memory(self) -> MemoryClass:
        """How its state grows."""
        return self.judged.memory

    @property
    def bounded(self) -> bool | None:
        """Whether its state has a bound; None where that is not decided."""
        return self.judged.bounded

    @property
    def units(self) -> int | None:
        """The most units that its state can ever hold; None without a bound."""
        return self.judged.units

    @property
    def growth(self) -> str | None:
        """With what its state grows, where it does."""
        return self.judged.growth

    @property
    def because(self) -> tuple[Reason, ...]:
        """The rules that hold or fail."""
        return self.judged.because

    @property
    def witness(self) -> Witness | None:
        """An input that proves that there is no bound."""
        return self.judged.witness

    @property
    def fixes(self) -> tuple[Fix, ...]:
        """Edits that make it bounded, the smallest first."""
        return self.judged.fixes

    def as_dict(self) -> dict[str, Any]:
        """All of it, as `millpond check --json` prints it."""
        return verdict_dict(self.judged)

    def __str__(self) -> str:
        return render_verdict(self.judged, query=self._asked)

    def __repr__(self) -> str:
        return f"<Verdict {self.judged}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


class Explanation:
    """A plan with its verdict and its program: text, or in a notebook a picture."""

    def __init__(self, query: Planned, judged: Judged) -> None:
        program = program_of(query, judged) if judged.runs else None
        self._parts = query, judged, program

    def __str__(self) -> str:
        return "\n".join(explain_lines(*self._parts))

    __repr__ = __str__

    def _repr_svg_(self) -> str:
        return to_svg([explain_dict(*self._parts)])
