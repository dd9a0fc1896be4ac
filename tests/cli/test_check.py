"""`millpond check`: verdicts, exit codes, pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.harness import Done, millpond

from millpond.diagnostic import CODES

STREAMS = "CREATE STREAM s (a INT, b INT); CREATE STREAM t (d INT, e INT);"
NONE = f"{STREAMS} SELECT a FROM s"
CONSTANT = f"{STREAMS} SELECT DISTINCT a FROM s WHERE a BETWEEN 1 AND 100"
IMPRACTICAL = f"{STREAMS} SELECT DISTINCT a FROM s WHERE a BETWEEN 1 AND 100000000000"
LINEAR = f"{STREAMS} SELECT s.a FROM s, t WHERE s.a = t.d"
OUTSIDE = f"{STREAMS} SELECT s.a FROM s LEFT JOIN t ON s.a = t.d"
WINDOW = "CREATE STREAM s (a INT, ts BIGINT, TIMESTAMP BY ts); SELECT a FROM s [RANGE 9]"
WRONG = f"{STREAMS} SELECT x FROM s"


def check(text: str, *options: str) -> Done:
    return millpond("check", "-", *options, stdin=text.encode())


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        (NONE, (), 0),
        (CONSTANT, (), 0),
        (CONSTANT, ("--strict",), 0),
        (CONSTANT, ("--budget", "99"), 0),
        (CONSTANT, ("--budget", "99", "--strict"), 1),
        (CONSTANT, ("--budget", "100", "--strict"), 0),
        (IMPRACTICAL, (), 0),
        (IMPRACTICAL, ("--strict",), 1),
        (IMPRACTICAL, ("--strict", "--budget", "1000000000000"), 0),
        (LINEAR, (), 1),
        (LINEAR, ("--json",), 1),
        (LINEAR, ("--strict",), 1),
        (WINDOW, (), 0),
        (WINDOW, ("--strict",), 0),
        (OUTSIDE, (), 0),
        (OUTSIDE, ("--strict",), 3),
        (OUTSIDE, ("--strict", "--json"), 3),
        (f"{NONE}; {LINEAR.removeprefix(STREAMS)}", (), 1),
        (f"{OUTSIDE}; {LINEAR.removeprefix(STREAMS)}", ("--strict",), 1),
        (f"{OUTSIDE}; {IMPRACTICAL.removeprefix(STREAMS)}", ("--strict",), 1),
        (WRONG, (), 2),
        (WRONG, ("--json",), 2),
        (f"{LINEAR}; SELECT x FROM s", (), 2),
        (STREAMS, (), 2),
        ("", (), 2),
    ],
)
def test_the_exit_code_says_whether_every_query_holds(
    text: str, options: tuple[str, ...], code: int
) -> None:
    assert check(text, *options).code == code


def test_errors_go_to_stderr_and_verdicts_to_stdout() -> None:
    bounded, wrong = check(CONSTANT), check(WRONG)
    assert bounded.out.startswith("q1: constant, at most 100 units")
    assert not bounded.err
    assert not wrong.out
    assert wrong.codes == ["MP102"]


def test_all_errors_of_a_file_are_said() -> None:
    done = check(f"{STREAMS}\nSELECT x FROM s;\nSELECT a FORM s;\nSELECT y FROM t")
    assert done.codes == ["MP102", "MP001", "MP102"]
    assert [each.strip() for each in done.err.splitlines() if "-->" in each] == [
        "--> <stdin>:2:8", "--> <stdin>:3:15", "--> <stdin>:4:8",
    ]  # fmt: skip


def test_json_is_one_document_of_all_queries() -> None:
    done = check(f"{CONSTANT}; CREATE QUERY lin AS {LINEAR.removeprefix(STREAMS)}", "--json")
    said = json.loads(done.out)
    assert list(said) == ["version", "queries"]
    assert said["version"] == 1
    assert [(each["name"], each["memory"]) for each in said["queries"]] == [
        ("q1", "constant"), ("lin", "linear"),
    ]  # fmt: skip
    assert said["queries"][1]["fixes"]
    assert "file" not in said["queries"][0]


def test_several_files_are_told_apart(tmp_path: Path) -> None:
    one, two = tmp_path / "one.sql", tmp_path / "two.sql"
    one.write_text(CONSTANT)
    two.write_text(LINEAR)
    done = millpond("check", one, two)
    assert done.code == 1
    assert [each for each in done.out.splitlines() if not each.startswith(" ")] == [
        f"{one}: q1: constant, at most 100 units (800 bytes), whatever comes",
        f"{two}: q1: linear, no bound: it grows with distinct s.a, t.d",
    ]
    said = json.loads(millpond("check", one, two, "--json").out)
    assert [each["file"] for each in said["queries"]] == [str(one), str(two)]


def test_every_repair_is_bounded_when_it_is_checked_again() -> None:
    for fix in json.loads(check(LINEAR, "--json").out)["queries"][0]["fixes"]:
        again = check(STREAMS + fix["sql"], "--json")
        assert again.code == 0
        (query,) = json.loads(again.out)["queries"]
        assert (query["memory"], query["units"]) == (fix["memory"], fix["units"])


def test_why_adds_the_rule() -> None:
    assert "by arasu 5.10" not in check(CONSTANT).out
    assert "by arasu 5.10" in check(CONSTANT, "--why").out


@pytest.mark.parametrize("code", CODES)
def test_explain_prints_the_page_of_a_code(code: str) -> None:
    for spelled in (code, code.lower()):
        done = millpond("check", "--explain", spelled)
        assert done.code == 0
        assert done.out.startswith(f"{code}: {CODES[code].title}\n")


def test_a_code_that_is_none_has_a_hint() -> None:
    done = millpond("check", "--explain", "MP100")
    assert (done.code, done.codes) == (2, ["MP403"])
    assert "did you mean" in done.err


SQL = ("SELECT", "CREATE STREAM")


@pytest.mark.parametrize(
    "code",
    [code for code, page in CODES.items() if page.example.startswith(SQL) and code < "MP300"],
)
def test_the_examples_of_a_page_do_what_the_page_says(code: str) -> None:
    """What is SQL in a page: the example is refused or judged by its code, the other is not."""
    page = CODES[code]
    streams = "" if page.example.startswith("CREATE STREAM") else STREAMS
    done = check(streams + page.example, "--json", "--why")
    said = done.codes + [
        each["code"]
        for query in (json.loads(done.out)["queries"] if done.out else [])
        for each in query["because"]
    ]
    assert code in said
    if page.instead.startswith(SQL):
        instead = check(streams + page.instead, "--json")
        assert code not in instead.codes
        if code >= "MP200":
            for query in json.loads(instead.out)["queries"]:
                assert query["memory"] in ("none", "constant")
