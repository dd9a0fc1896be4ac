"""Options that are wrong, or that do not fit one another, are said before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.harness import millpond

import millpond as package

TEXT = "CREATE STREAM s (a INT); CREATE STREAM t (d INT); SELECT a FROM s"

WRONG = [
    ("nonsense", "No such command 'nonsense'"),
    ("--nonsense", "No such option"),
    ("check", "no file to check"),
    ("check q.sql --nonsense", "No such option"),
    ("check q.sql --budget 0", "greater than or equal to 1"),
    ("check q.sql --budget many", "--budget"),
    ("check --explain", "--explain"),
    ("check --explain MP999", "there is no code MP999"),
    ("explain", "Missing argument 'FILE'"),
    ("explain q.sql q.sql", "unexpected extra argument"),
    ("explain q.sql --format xml", "'xml' is not one of 'text', 'json', 'dot', 'svg'"),
    ("run", "Missing argument 'FILE'"),
    ("run q.sql", "no input for stream `s`"),
    ("run - --input -", "cannot both come from standard input"),
    ("run q.sql --input - --engine flink", "'flink' is not one of"),
    ("run q.sql --input - --emit all", "'all' is not one of 'changes', 'answers', 'final'"),
    ("run q.sql --input - --lowering fast", "'fast' is not one of"),
    ("run q.sql --input - --instants some", "'some' is not one of 'all', 'batch'"),
    ("run q.sql --input - --on-error ignore", "'ignore' is not one of 'stop', 'skip'"),
    ("run q.sql --input - --batch-rows 0", "greater than or equal to 1"),
    ("run q.sql --input - --batch-rows -1", "greater than or equal to 1"),
    ("run q.sql --input - --rejects r", "--rejects goes with --on-error skip"),
    ("run q.sql --input - --on-error stop --rejects r", "--rejects goes with --on-error skip"),
    ("run q.sql --input - --source s=x.csv", "--input and --source exclude one another"),
    ("run q.sql --source s", "write --source NAME=VALUE"),
    ("run q.sql --source =x", "write --source NAME=VALUE"),
    ("run q.sql --source s=", "write --source NAME=VALUE"),
    ("run q.sql --source r=x.csv", "--source r: there is no such stream"),
    ("run q.sql --source t=x.csv --engine local", "no input for stream `s`"),
    ("run q.sql --input - --spark-conf x", "write --spark-conf NAME=VALUE"),
    ("run q.sql --input - --trigger once", "--trigger goes with --engine spark"),
    ("run q.sql --input - --spark-conf a=b", "--spark-conf goes with --engine spark"),
    ("run q.sql --input - --lowering bulk --engine spark", "--lowering goes with --engine local"),
    ("bench nonsense", "unknown benchmark `nonsense`"),
]
NOT_BUILT = [
    ("run q.sql --source s=kafka://host/topic --engine local", "`kafka:` as a source or a sink"),
    ("run q.sql --input - --engine local --sink kafka://host/topic", "`kafka:` as a source"),
]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.sql").write_text(TEXT)


@pytest.mark.parametrize(("line", "message"), WRONG)
def test_a_wrong_option_is_said_by_name(line: str, message: str) -> None:
    done = millpond(*line.split())
    assert (done.code, done.out) == (2, "")
    assert done.codes == ["MP403"]
    assert message in " ".join(done.err.split())
    assert "Value error" not in done.err


@pytest.mark.parametrize(("line", "message"), NOT_BUILT)
def test_what_is_not_built_is_said_by_name(line: str, message: str) -> None:
    done = millpond(*line.split())
    assert (done.code, done.codes, done.out) == (2, ["MP110"], "")
    assert message in done.err
    assert "help:" in done.err


@pytest.mark.parametrize("verb", ["check", "explain", "run"])
@pytest.mark.parametrize(
    ("name", "code"), [("nope.sql", "MP004"), (".", "MP004"), ("latin1.sql", "MP004")]
)
def test_a_file_that_cannot_be_read_is_named(verb: str, name: str, code: str) -> None:
    Path("latin1.sql").write_bytes(b"-- caf\xe9")
    done = millpond(verb, name, *(("--input", "-") if verb == "run" else ()))
    assert (done.code, done.codes) == (2, [code])
    assert f"--> {name}" in done.err


@pytest.mark.parametrize("verb", ["check", "explain", "run"])
def test_a_file_without_a_query_is_refused(verb: str) -> None:
    Path("empty.sql").write_text("CREATE STREAM s (a INT);")
    done = millpond(verb, "empty.sql", *(("--input", "-") if verb == "run" else ()))
    assert (done.code, done.codes) == (2, ["MP003"])
    assert "--> empty.sql:1:1" in done.err


UNWRITABLE = [
    "explain q.sql -o no/such/folder/x.svg",
    "run q.sql --input - --engine local --sink no/such/x.jsonl",
    "run q.sql --input - --engine local --sink q.sql/x",
    "run q.sql --input - --on-error skip --rejects no/such/x",
]


@pytest.mark.parametrize("line", UNWRITABLE)
def test_what_cannot_be_written_is_named(line: str) -> None:
    done = millpond(*line.split())
    assert (done.code, done.codes, done.out) == (2, ["MP406"], "")
    assert "cannot write" in done.err


def test_the_names_of_sources_are_those_of_streams_in_any_case() -> None:
    Path("s.jsonl").write_text('{"a": 1}\n')
    done = millpond("run", "q.sql", "--source", "S=s.jsonl", "--engine", "local")
    assert (done.code, [each["row"] for each in done.lines]) == (0, [{"a": 1}])


def test_no_arguments_show_the_help() -> None:
    done = millpond()
    assert done.code == 0
    assert done.out == millpond("--help").out == millpond("-h").out
    assert "A first look:  millpond demo" in done.out


def test_the_version_is_that_of_the_package() -> None:
    assert millpond("--version").out == f"millpond {package.__version__}\n"


@pytest.mark.parametrize("format_", ["text", "json", "dot", "svg"])
def test_explain_writes_the_same_to_a_file(format_: str) -> None:
    shown = millpond("explain", "q.sql", "--format", format_)
    written = millpond("explain", "q.sql", "--format", format_, "-o", "out")
    assert (shown.code, written.code, written.out) == (0, 0, "")
    assert Path("out").read_text(encoding="utf-8") == shown.out


# What must not happen ---------------------------------------------------------------------------


def test_a_bug_of_ours_is_70_and_says_how_to_report_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("millpond.memory.check.verdict_of", broken)
    done = millpond("check", "q.sql")
    assert (done.code, done.codes, done.out) == (70, ["MP900"], "")
    assert "ZeroDivisionError: by zero" in done.err
    assert "--debug and report" in done.err
    with pytest.raises(ZeroDivisionError):
        millpond("check", "q.sql", "--debug")


def test_debug_raises_what_would_be_said() -> None:
    from millpond.diagnostic import UserError

    with pytest.raises(UserError):
        millpond("--debug", "check", "nope.sql")


def test_ctrl_c_in_any_verb_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("millpond.memory.check.verdict_of", interrupted)
    for verb in ("check", "explain"):
        done = millpond(verb, "q.sql")
        assert (done.code, done.out, done.err) == (130, "", "")
