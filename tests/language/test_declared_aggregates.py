"""CREATE AGGREGATE: what it declares, that queries find it, and that reading runs none of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.cli.harness import millpond
from tests.plan.roundtrip import assert_round_trip

from millpond.language import read_script
from millpond.plan import Aggregate, AggregateCall, PlanError, nodes, to_sql
from millpond.schema import DOUBLE, INT, AggregateClass, UserAggregate, decimal

STREAM = "CREATE STREAM s (a INT, b BIGINT, d DECIMAL(9, 2), k VARCHAR);\n"
GEOMEAN = (
    "CREATE AGGREGATE geomean (x DOUBLE) RETURNS DOUBLE LANGUAGE python AS 'no.such:GeoMean'\n"
    "  WITH (class = 'algebraic', duplicates = 'sensitive', units = 2);\n"
)


def declared(text: str) -> UserAggregate:
    (found,) = read_script(f"{STREAM}{text}").catalog.aggregates
    return found


def calls(query: str) -> list[AggregateCall]:
    root = read_script(f"{STREAM}{GEOMEAN}{query}").queries[0].root
    return [call for each in nodes(root) if isinstance(each, Aggregate) for call in each.calls]


def test_everything_that_is_said_is_declared() -> None:
    found = declared(GEOMEAN)
    assert found == UserAggregate(
        "geomean", "x", DOUBLE, DOUBLE, "no.such:GeoMean", AggregateClass.ALGEBRAIC, True, 2
    )
    spans = [each.text for each in (found.span, found.code_span) if each is not None]
    assert spans == ["geomean", "'no.such:GeoMean'"]


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("WITH (class = distributive, duplicates = insensitive)", 1),
        ("WITH (class = 'DISTRIBUTIVE', duplicates = 'Insensitive', units = 3)", 3),
        ("WITH (class = holistic) LANGUAGE 'Python' WITH (duplicates = insensitive)", None),
    ],
)
def test_words_go_without_quotes_and_in_any_order(text: str, units: int | None) -> None:
    found = declared(
        f"CREATE AGGREGATE FUNCTION most (v DECIMAL(4, 1)) RETURNS INT {text} AS 'm:F'"
    )
    assert (found.takes, found.returns) == (decimal(4, 1), INT)
    assert (found.sensitive, found.units) == (False, units)


def test_a_query_finds_it_in_any_case_and_before_it_is_declared() -> None:
    script = read_script(f"{STREAM}SELECT GeoMean(a), k FROM s GROUP BY k;\n{GEOMEAN}")
    assert [each.name for each in script.queries[0].fields] == ["geomean", "k"]
    (aggregate,) = (each for each in nodes(script.queries[0].root) if isinstance(each, Aggregate))
    (call,) = aggregate.calls
    assert call.declared is script.catalog.aggregate("GEOMEAN")
    assert (call.function, call.type, call.nullable) == ("geomean", DOUBLE, True)
    assert hash(call)


@pytest.mark.parametrize("argument", ["a", "b", "d", "a + 1", "NULL", "CAST(k AS DOUBLE)"])
def test_it_takes_what_becomes_its_type_by_itself(argument: str) -> None:
    assert len(calls(f"SELECT geomean({argument}) FROM s")) == 1


def test_it_goes_with_distinct_filter_having_and_others() -> None:
    found = calls(
        "SELECT k, geomean(DISTINCT a) + 1, geomean(a) FILTER (WHERE b > 0), geomean(a), SUM(a) "
        "FROM s GROUP BY k HAVING geomean(a) > 1"
    )
    assert [str(each) for each in found] == [
        "geomean(DISTINCT s.a)", "geomean(s.a) FILTER (WHERE s.b > 0)", "geomean(s.a)", "SUM(s.a)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, geomean(DISTINCT a) FILTER (WHERE b > 0) AS g FROM s GROUP BY k",
        "SELECT k FROM s GROUP BY k HAVING geomean(d) > 1",
        "SELECT g FROM (SELECT geomean(a) AS g FROM s) AS x WHERE g > 1",
        "SELECT k FROM s WHERE a IN (SELECT CAST(geomean(b) AS INT) FROM s)",
        "SELECT geomean(a) FROM s [ROWS 5]",
    ],
)
def test_a_file_with_aggregates_comes_back_from_its_text(query: str) -> None:
    holistic = "CREATE AGGREGATE mode (x VARCHAR(9)) RETURNS ENUM('x', 'it''s') AS 'm:F.g' "
    options = "WITH (class = holistic, duplicates = sensitive);"
    assert_round_trip(f"{STREAM}{GEOMEAN}{holistic}{options}{query}")


def test_an_engine_has_no_word_for_it() -> None:
    query = read_script(f"{STREAM}{GEOMEAN}SELECT geomean(a) FROM s").queries[0]
    for dialect in ("duckdb", "spark", "postgres"):
        with pytest.raises(PlanError, match="no word for geomean"):
            to_sql(query, dialect)


def test_other_dialects_read_it_too() -> None:
    for dialect in ("postgres", "snowflake", "flink", "spark"):
        script = read_script(f"{STREAM}{GEOMEAN}SELECT geomean(a) FROM s", dialect=dialect)
        assert script.catalog.aggregates == (declared(GEOMEAN),)


@pytest.mark.parametrize("verb", ["check", "explain"])
def test_checking_and_explaining_never_load_the_code(verb: str, tmp_path: Path) -> None:
    (tmp_path / "ruinous.py").write_text("raise SystemExit('loaded')\n")
    path = tmp_path / "q.sql"
    path.write_text(
        STREAM + GEOMEAN.replace("no.such", "ruinous") + "SELECT k, geomean(a) FROM s GROUP BY k"
    )
    done = millpond(verb, path)
    assert done.code in (0, 1), done.err
    assert "geomean" in done.out or "s.k" in done.out
    assert "ruinous" not in sys.modules
