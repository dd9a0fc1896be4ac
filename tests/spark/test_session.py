"""A session starts quietly, in a process of its own, and says what is missing when it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from millpond.diagnostic import UserError
from millpond.spark import session as room
from millpond.spark.java import JavaNotFound
from millpond.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = """
import sys
from millpond.spark.session import session
spark = session(master="local[1]")
print(spark.range(3).count(), spark.conf.get("spark.sql.session.timeZone"))
spark.stop()
"""


def in_a_process(text: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", text],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.spark
def test_spark_says_nothing_on_our_streams_and_leaves_nothing_behind(tmp_path: Path) -> None:
    done = in_a_process(START, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3 UTC\n", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spark
def test_why_spark_did_not_start_is_said(tmp_path: Path) -> None:
    text = (
        "from millpond.diagnostic import UserError\n"
        "from millpond.spark.session import session\n"
        "try:\n    session(master='nonsense')\n"
        "except UserError as error:\n"
        "    said = error.diagnostics[0]\n"
        "    print(said.code, said.notes)\n"
    )
    done = in_a_process(text, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("MP503")
    assert "Master must" in done.stdout
    assert done.stderr == ""


def test_without_pyspark_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == "pyspark"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(UserError, match="MP501"):
        session()


def test_without_java_it_is_said_where_it_was_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> None:
        raise JavaNotFound(["JAVA_HOME is not set", "no java on the PATH"])

    monkeypatch.setattr(room, "find_java", nowhere)
    with pytest.raises(UserError, match="MP502") as failed:
        room._prepare()
    said = failed.value.diagnostics[0]
    assert said.notes == ("JAVA_HOME is not set", "no java on the PATH")
    assert any("pip install" in each for each in said.helps)


def test_settings_of_the_user_go_before_ours() -> None:
    chosen = room._settings(
        "local[4]",
        {"spark.sql.shuffle.partitions": "3", "spark.driver.extraJavaOptions": "-Dx=1"},
    )
    assert chosen["spark.sql.shuffle.partitions"] == "3"
    assert chosen["spark.driver.extraJavaOptions"].endswith(" -Dx=1")
    assert room._settings("local[4]", {})["spark.sql.shuffle.partitions"] == "4"
    assert "spark.sql.shuffle.partitions" not in room._settings("spark://host:7077", {})


def test_a_session_that_runs_is_taken_as_it_is(spark: SparkSession) -> None:
    assert session() is spark
