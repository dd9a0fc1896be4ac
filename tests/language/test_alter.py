"""ALTER ... ADD CHECK: queries behind it rely on it, those before do not."""

from __future__ import annotations

import pytest

from millpond.diagnostic import UserError
from millpond.language import read_script
from millpond.memory import verdict_of
from millpond.plan.sql_stream import stream_sql
from millpond.schema import Check

S = "CREATE STREAM s (a INT, b INT CHECK (b > 5));\n"
ASKS = "SELECT DISTINCT a FROM s"


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER STREAM s ADD CHECK (a BETWEEN 0 AND 9)",
        "ALTER TABLE s ADD CHECK (a >= 0 AND a <= 9)",
        "alter stream S add constraint digits check (A between 0 and 9)",
    ],
)
def test_a_check_is_added(statement: str) -> None:
    script = read_script(f"{S}{statement}; {ASKS}")
    column = script.catalog.get("s")
    assert column is not None
    assert column.columns[0].check == Check(0, 9)
    assert verdict_of(script.queries[0]).units == 11


def test_it_holds_beside_those_of_the_declaration() -> None:
    stream = read_script(f"{S}ALTER STREAM s ADD CHECK (b <= 9); {ASKS}").catalog.get("s")
    assert stream is not None
    assert stream.columns[1].check == Check(5, 9, low_open=True)
    assert read_script(stream_sql(stream)).catalog.get("s") == stream


def test_queries_before_it_do_not_rely_on_it() -> None:
    script = read_script(f"{S}{ASKS}; ALTER STREAM s ADD CHECK (a IN (1, 2)); {ASKS}")
    assert [verdict_of(each).memory.value for each in script.queries] == ["linear", "constant"]


def test_a_query_may_stand_before_its_streams() -> None:
    script = read_script(
        f"SELECT d FROM t; {S}ALTER STREAM s ADD CHECK (a > 1); "
        "CREATE STREAM t (d INT); SELECT a FROM s"
    )
    assert [each.sources[0].name for each in script.queries] == ["t", "s"]


def test_what_contradicts_the_declaration_is_refused() -> None:
    with pytest.raises(UserError) as raised:
        read_script(f"{S}ALTER STREAM s ADD CHECK (b < 5); {ASKS}")
    (found,) = raised.value.diagnostics
    assert (found.code, found.span and found.span.text) == ("MP106", "b < 5")
