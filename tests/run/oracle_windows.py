"""What is in a window at an instant, in DuckDB's SQL, from raw rows alone.

A log has a stream's columns, the instant `ts_` and the arrival number `n_` of each row; `$now` is
the instant.  Every window also says when a row comes in (`enter_`) and leaves (`exit_`): for
internal windows, for results and for tables whose changes touch later rows only.  The contents are
worked out apart from that, from the contract's words on what is inside.
"""

from __future__ import annotations

from tests.strategies.query_text import Kind, WindowText

NEVER = 2**62


def window_sql(window: WindowText) -> str:
    """A query for the contents at `$now`, with lifetimes."""
    match window.kind:
        case Kind.TABLE:
            return _table(window)
        case Kind.HOP:
            return _hop(window)
        case Kind.SESSION:
            return _session(window)
    lives = f"SELECT *, {_lifetime(window)} FROM {window.log}"
    if window.internal:
        # Rows that have come in stay to be seen; whether parts of a result met is asked by times.
        return f"SELECT * FROM ({lives}) WHERE enter_ <= $now AND enter_ < exit_"
    return _contents(window, lives)


def lifetimes_sql(window: WindowText) -> str:
    """A query for every row of a log with the times at which it comes and leaves."""
    return f"SELECT *, {_lifetime(window)} FROM {window.log}"


def below(time: str, step: int) -> str:
    """The largest multiple of `step` that is not above `time`, also for negative times."""
    return f"(({time}) - ((({time}) % {step} + {step}) % {step}))"


def _contents(window: WindowText, lives: str) -> str:
    if window.kind is Kind.ROWS:
        return _last_rows(window, lives)
    if window.slide is None:
        tests = ["ts_ <= $now"]
        if window.kind is Kind.RANGE:
            tests.append(f"$now < ts_ + {window.size}")
    else:
        boundary = below("$now", window.slide)
        tests = [f"ts_ < {boundary}"]
        if window.kind is Kind.RANGE:
            tests.append(f"{boundary} - {window.size} <= ts_")
    return f"SELECT * FROM ({lives}) WHERE {' AND '.join(tests)}"


def _last_rows(window: WindowText, lives: str) -> str:
    per = f"PARTITION BY {', '.join(window.partition)} " if window.partition else ""
    numbered = (
        f"SELECT *, row_number() OVER ({per}ORDER BY ts_, n_) AS r_, count(*) OVER ({per}) AS c_ "
        f"FROM ({lives}) WHERE ts_ <= $now"
    )
    last = "c_" if window.slide is None else f"(c_ - c_ % {window.slide})"
    return f"SELECT * FROM ({numbered}) WHERE r_ <= {last} AND r_ > {last} - {window.size}"


def _lifetime(window: WindowText) -> str:
    slide, size = window.slide, window.size
    if window.kind is Kind.ROWS:
        return _lifetime_of_rows(window)
    enter, leave = "ts_", f"ts_ + {size}"
    if slide is not None:
        enter = f"{below('ts_', slide)} + {slide}"
        leave = f"{below(leave, slide)} + {slide}"
    if window.kind is Kind.UNBOUNDED:
        leave = str(NEVER)
    return f"{enter} AS enter_, {leave} AS exit_"


def _lifetime_of_rows(window: WindowText) -> str:
    """The instants of the rows that let a row in and push it out, found by their numbers."""
    per = f"PARTITION BY {', '.join(window.partition)} " if window.partition else ""
    order = f"OVER ({per}ORDER BY ts_, n_)"
    if window.slide is None:
        return f"ts_ AS enter_, coalesce(lead(ts_, {window.size}) {order}, {NEVER}) AS exit_"
    number, m = f"row_number() {order}", window.slide
    instants = f"list(ts_) OVER ({per}ORDER BY ts_, n_ ROWS BETWEEN UNBOUNDED PRECEDING"
    instants += " AND UNBOUNDED FOLLOWING)"
    first = f"(({number} + {m - 1}) // {m}) * {m}"
    last = f"(({number} + {window.size} + {m - 1}) // {m}) * {m}"
    return (
        f"coalesce(({instants})[{first}], {NEVER}) AS enter_, "
        f"coalesce(({instants})[{last}], {NEVER}) AS exit_"
    )


def _hop(window: WindowText) -> str:
    slide = window.slide or window.size
    first = f"{below(f'ts_ - {window.size}', slide)} + {slide}"
    starts = f"SELECT *, unnest(range({first}, ts_ + 1, {slide})) AS window_start FROM {window.log}"
    enter = f"window_start + {window.size}" if window.close else "ts_"
    return (
        f"SELECT *, window_start + {window.size} AS window_end, {enter} AS enter_, "
        f"{NEVER} AS exit_ FROM ({starts}) WHERE {enter} <= $now"
    )


def _session(window: WindowText) -> str:
    per = f"PARTITION BY {', '.join(window.partition)} " if window.partition else ""
    again = f", {', '.join(window.partition)}" if window.partition else ""
    begun = (
        f"SELECT *, CASE WHEN ts_ - lag(ts_) OVER ({per}ORDER BY ts_, n_) < {window.size} "
        f"THEN 0 ELSE 1 END AS new_ FROM {window.log} WHERE ts_ <= $now"
    )
    numbered = f"SELECT *, sum(new_) OVER ({per}ORDER BY ts_, n_) AS s_ FROM ({begun})"
    of = f"OVER (PARTITION BY s_{again})"
    ends = (
        f"SELECT *, min(ts_) {of} AS window_start, max(ts_) {of} + {window.size} AS window_end "
        f"FROM ({numbered})"
    )
    seen = "window_end <= $now" if window.close else "TRUE"
    enter = "window_end" if window.close else "ts_"
    return f"SELECT *, {enter} AS enter_, {NEVER} AS exit_ FROM ({ends}) WHERE {seen}"


def _table(window: WindowText) -> str:
    """Each row of a table with the instants of its insertion and deletion, first in first out."""
    names = ", ".join(window.columns)
    turn = f"row_number() OVER (PARTITION BY {names} ORDER BY ts_, n_) AS k_"
    alike = " AND ".join(f"i.{each} IS NOT DISTINCT FROM d.{each}" for each in window.columns)
    lives = (
        f"SELECT i.*, i.ts_ AS enter_, coalesce(d.ts_, {NEVER}) AS exit_ "
        f"FROM (SELECT *, {turn} FROM {window.log} WHERE w_ = 1) AS i "
        f"LEFT JOIN (SELECT *, {turn} FROM {window.log} WHERE w_ = -1) AS d "
        f"ON i.k_ = d.k_ AND {alike}"
    )
    # Rows that never were there at the end of an instant were there at none.
    now = "enter_ <= $now AND $now < exit_" if window.retroactive else "enter_ < exit_"
    return f"SELECT * FROM ({lives}) WHERE {now}"
