"""`millpond compile` prints steps that run, and says why where there are none."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from tests.cli.harness import millpond

DDL = "CREATE STREAM s (a INT, b INT, k ENUM('x', 'y'));\nCREATE STREAM t (d INT, e DOUBLE);\n"
Q3 = "SELECT s.a FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20"


def file_of(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "query.sql"
    path.write_text(DDL + text)
    return path


def sections(text: str) -> dict[str, str]:
    """The statements of a section by its sign."""
    parts = text.replace("(Δ)\n", "\x00").replace("(Γ)\n", "\x00").replace("(∅)\n", "\x00")
    _, empty, step, answer = parts.split("\x00")
    return {"empty": empty, "step": step, "answer": answer}


def test_the_text_that_is_printed_runs_in_duckdb(tmp_path: Path) -> None:
    done = millpond("compile", file_of(tmp_path, Q3), "--to", "sql")
    assert done.code == 0
    assert done.out.startswith("-- for DuckDB and for Spark\n")
    text = sections(done.out)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE s_batch (a INT, b INT, k VARCHAR)")
        connection.execute("CREATE TABLE t_batch (d INT, e DOUBLE)")
        connection.execute(text["empty"])
        connection.execute("INSERT INTO s_batch VALUES (11, 1, 'x'), (11, 2, 'y'), (30, 1, 'x')")
        connection.execute("INSERT INTO t_batch VALUES (11, 0), (12, 0)")
        connection.execute(text["step"])
        assert connection.execute("SELECT * FROM q1_changes").fetchall() == [(11, 2)]
        connection.execute("DELETE FROM s_batch; DELETE FROM t_batch")
        connection.execute("INSERT INTO s_batch VALUES (12, 1, 'x'), (11, 2, 'y')")
        connection.execute(text["step"])
        changes = connection.execute("SELECT * FROM q1_changes ORDER BY a").fetchall()
        assert changes == [(11, 1), (12, 1)]
        answer = connection.execute(text["answer"]).fetchall()
        assert sorted(answer) == [(11, 3), (12, 1)]


def test_it_is_written_to_a_file(tmp_path: Path) -> None:
    path = file_of(tmp_path, Q3)
    shown = millpond("compile", path, "--to", "sql").out
    done = millpond("compile", path, "--to", "sql", "-o", tmp_path / "steps.sql")
    assert (done.code, done.out) == (0, "")
    assert (tmp_path / "steps.sql").read_text() == shown


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    done = millpond("compile", file_of(tmp_path, Q3), "--to", "sql", "-o", tmp_path / "no" / "x")
    assert (done.code, done.codes) == (2, ["MP406"])


def test_words_differ_where_engines_have_no_common_one(tmp_path: Path) -> None:
    select = 'SELECT a AS "select" FROM s WHERE a > 1'
    path = file_of(tmp_path, select)
    duck = millpond("compile", path, "--to", "sql").out
    spark = millpond("compile", path, "--to", "sql", "--engine", "spark").out
    assert duck.startswith("-- for DuckDB\n")
    assert spark.startswith("-- for Spark\n")
    assert 'a AS "select"' in duck
    assert "a AS `select`" in spark


@pytest.mark.parametrize("target", ["machine", "c"])
def test_targets_to_come_are_said_to_be_not_built(tmp_path: Path, target: str) -> None:
    done = millpond("compile", file_of(tmp_path, Q3), "--to", target)
    assert (done.code, done.codes) == (2, ["MP110"])
    assert f"--to {target} is not built yet" in done.err


def test_a_query_without_a_bound_has_no_steps(tmp_path: Path) -> None:
    path = file_of(tmp_path, "SELECT s.a FROM s, t WHERE s.a = t.d")
    done = millpond("compile", path, "--to", "sql")
    assert (done.code, done.out, done.codes) == (1, "", ["MP401"])


def test_an_aggregate_of_ones_own_is_refused_by_name(tmp_path: Path) -> None:
    declared = (
        "CREATE AGGREGATE oldest (x INT) RETURNS INT LANGUAGE python AS 'own:First' "
        "WITH (class = 'algebraic', duplicates = 'sensitive', units = 1);\n"
    )
    (tmp_path / "own.py").write_text(
        "class First:\n"
        "    def init(self): return None\n"
        "    def step(self, state, value): return value if state is None else state\n"
        "    def merge(self, one, other): return other if one is None else one\n"
        "    def final(self, state): return state\n"
    )
    path = file_of(tmp_path, f"{declared}SELECT k, oldest(b) FROM s GROUP BY k")
    done = millpond("compile", path, "--to", "sql")
    assert (done.code, done.out, done.codes) == (2, "", ["MP110"])
    assert "an aggregate is the user's own" in done.err


def test_each_query_of_a_file_has_its_steps(tmp_path: Path) -> None:
    done = millpond(
        "compile", file_of(tmp_path, f"CREATE QUERY one AS {Q3};\nCREATE QUERY two AS {Q3}"),
        "--to", "sql",
    )  # fmt: skip
    assert "CREATE TABLE one_s (" in done.out
    assert "CREATE TABLE two_s (" in done.out


def test_a_query_that_nothing_passes_has_no_steps(tmp_path: Path) -> None:
    path = file_of(tmp_path, "SELECT a FROM s WHERE a > 1 AND a < 1")
    done = millpond("compile", path, "--to", "sql")
    assert done.code == 0
    assert "no row ever passes" in done.out
