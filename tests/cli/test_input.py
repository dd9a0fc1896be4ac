"""Lines as they come: what is a row, what is a bad one, and where it stood."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.harness import Done, millpond

TEXT = """
CREATE STREAM s (a TINYINT CHECK (a BETWEEN 0 AND 9), b BIGINT NOT NULL);
CREATE STREAM t (d INT);
SELECT a FROM s
"""

GOOD: dict[bytes, list[int | None]] = {
    b'{"s": {"a": 1, "b": 2}}': [1],
    b'{"s": {"b": 2, "a": 1}}': [1],
    b'{"s":{"a":1,"b":2}}': [1],
    b' \t{ "s" : { "a" : 1 , "b" : 2 } } \t': [1],
    b'{"s": {"a": null, "b": 9223372036854775807}}': [None],
    b'{"s": {"a": -0, "b": -9223372036854775808}}': [0],
    b'{"s": {"\\u0061": 1, "b": 2}}': [1],
    b'{"t": {"d": 1}}': [],
    b'{"@tick": 1}': [],
}

BAD: list[tuple[bytes, str, str]] = [
    (b"nonsense", "MP301", "not a JSON object: Expecting value (column 1)"),
    (b'{"s": {"a": 1, "b": 2}', "MP301", "not a JSON object: Expecting ',' delimiter"),
    (b'{"s": {"a": 1, "b": 2}} {}', "MP301", "not a JSON object: Extra data (column 25)"),
    (b"{'s': {'a': 1, 'b': 2}}", "MP301", "not a JSON object"),
    (b'{"s": {"a": 01, "b": 2}}', "MP301", "not a JSON object"),
    (b'[{"s": {"a": 1, "b": 2}}]', "MP301", "an event is an object"),
    (b"{}", "MP301", "an event is an object"),
    (b"1", "MP301", "an event is an object"),
    (b"null", "MP301", "an event is an object"),
    (b"[" * 100_000, "MP301", "nested too deeply"),
    (b'{"s": {"a": 1, "b": 2}, "t": {"d": 1}}', "MP301", "one stream a line, not also `t`"),
    (b'{"r": {"a": 1}}', "MP302", "unknown stream `r`"),
    (b'{"S": {"a": 1, "b": 2}}', "MP302", "unknown stream `S`"),
    (b'{"\\ud800": {}}', "MP302", "unknown stream `\\ud800`"),
    (b'{"s": {"a": 1}}', "MP303", "a row of `s` lacks column `b`"),
    (b'{"s": {}}', "MP303", "a row of `s` lacks column `a`"),
    (b'{"s": null}', "MP303", "a row of `s` is an object of its columns"),
    (b'{"s": [1, 2]}', "MP303", "a row of `s` is an object of its columns"),
    (b'{"s": {"a": 1, "b": 2, "c": 3}}', "MP303", "stream `s` has no column `c`"),
    (b'{"s": {"a": 1, "B": 2}}', "MP303", "stream `s` has no column `B`"),
    (b'{"s": {"a": 1, "b": 2, "\\udfff": 3}}', "MP303", "has no column `\\udfff`"),
    (b'{"s": {"a": 1, "a": 2, "b": 2}}', "MP303", "the key `a` stands twice"),
    (b'{"s": {"a": 1, "b": 2}, "s": {"a": 1, "b": 2}}', "MP303", "the key `s` stands twice"),
    (b'{"s": {"a": 1.0, "b": 2}}', "MP304", "`s.a` is TINYINT, and the row has 1.0"),
    (b'{"s": {"a": 1e0, "b": 2}}', "MP304", "`s.a` is TINYINT, and the row has 1e0"),
    (b'{"s": {"a": "1", "b": 2}}', "MP304", '`s.a` is TINYINT, and the row has "1"'),
    (b'{"s": {"a": true, "b": 2}}', "MP304", "`s.a` is TINYINT, and the row has true"),
    (b'{"s": {"a": [1], "b": 2}}', "MP304", "`s.a` is TINYINT, and the row has [1]"),
    (b'{"s": {"a": {}, "b": 2}}', "MP304", "`s.a` is TINYINT, and the row has {}"),
    (b'{"s": {"a": NaN, "b": 2}}', "MP304", "NaN is no value"),
    (b'{"s": {"a": 1, "b": -Infinity}}', "MP304", "-Infinity is no value"),
    (b'{"s": {"a": 1, "b": 1e400}}', "MP304", "`s.b` is BIGINT, and the row has 1e400"),
    (b'{"s": {"a": 128, "b": 2}}', "MP305", "128 does not fit in `s.a`"),
    (b'{"s": {"a": 1, "b": 9223372036854775808}}', "MP305", "does not fit in `s.b`"),
    (b'{"s": {"a": 1, "b": -9223372036854775809}}', "MP305", "does not fit in `s.b`"),
    (b'{"s": {"a": 1, "b": ' + b"9" * 500 + b"}}", "MP305", "9... does not fit in `s.b`"),
    (b'{"s": {"a": 1, "b": ' + b"9" * 9000 + b"}}", "MP305", "thousands of digits"),
    (b'{"s": {"a": 10, "b": 2}}', "MP306", "10 is outside the CHECK of `s.a`"),
    (b'{"s": {"a": -1, "b": 2}}', "MP306", "-1 is outside the CHECK of `s.a`"),
    (b'{"s": {"a": 1, "b": null}}', "MP306", "`s.b` is NOT NULL, and the row has null"),
    (b'{"t": {"d": 2147483648}}', "MP305", "2147483648 does not fit in `t.d`"),
    (b'{"s": {"a": 1, "b": 2}}\xff', "MP307", "not UTF-8"),
    (b'{"s\xe9": 1}', "MP307", "not UTF-8"),
    (b'{"s": {"a": 1, "\xed\xa0\x80": 2}}', "MP307", "not UTF-8"),
    ('{"@tick": 1}'.encode("utf-16-le"), "MP301", "not a JSON object"),
    ('{"@tick": 1}'.encode("utf-16"), "MP307", "not UTF-8"),
    (b'{"@tick": 2}', "MP308", "a tick is written as 1"),
    (b'{"@tick": true}', "MP308", "a tick is written as 1"),
    (b'{"@tick": 1.0}', "MP308", "a tick is written as 1"),
    (b'{"@tick": 1, "@time": 2}', "MP308", "`@tick` stands alone, not with `@time`"),
    (b'{"@time": 17}', "MP308", "`@time` is about timed streams"),
    (b'{"@end": "s"}', "MP308", "`@end` ends a finite stream, and `s` is declared without"),
    (b'{"@punct": {}}', "MP308", "`@punct` names a stream and values of its columns"),
    (b'{"@tock": 1}', "MP308", "unknown control line `@tock`"),
    (b'{"s": {"a": 1, "b": 2}, "@op": "delete"}', "MP308", "a row of a stream takes no `@op`"),
    (b'{"@at": 1, "s": {"a": 1, "b": 2}}', "MP308", "a row of a stream takes no `@at`"),
]

ROW = b'{"s": {"a": 1, "b": 2}}'


@pytest.fixture
def query(tmp_path: Path) -> Path:
    path = tmp_path / "q.sql"
    path.write_text(TEXT)
    return path


def values(done: Done) -> list[int | None]:
    return [each["row"]["a"] for each in done.lines]


@pytest.mark.parametrize("line", GOOD)
def test_a_row_is_taken_as_it_is(query: Path, line: bytes) -> None:
    done = millpond("run", query, "--input", "-", stdin=line)
    assert (done.code, done.err) == (0, "")
    assert values(done) == GOOD[line]


@pytest.mark.parametrize(("line", "code", "message"), BAD, ids=range(len(BAD)))
def test_a_bad_line_stops_the_run_with_its_number(
    query: Path, line: bytes, code: str, message: str
) -> None:
    text = ROW + b"\n\n" + ROW + b"\n" + line + b"\n" + ROW + b"\n"
    done = millpond("run", query, "--input", "-", stdin=text)
    assert (done.code, done.codes) == (2, [code])
    assert message in done.err
    assert "--> <stdin>:4:1" in done.err
    assert len(done.err) < 500
    assert values(done) == [1, 1], "the rows before it have been answered"


def test_bad_lines_are_skipped_counted_and_kept(query: Path, tmp_path: Path) -> None:
    lines = [ROW, *(line for line, _, _ in BAD), b"", ROW]
    rejects = tmp_path / "rejects.jsonl"
    done = millpond(
        "run", query, "--input", "-", "--on-error", "skip", "--rejects", rejects,
        stdin=b"\r\n".join(lines),
    )  # fmt: skip
    assert (done.code, done.err) == (0, f"millpond: {len(BAD)} bad rows skipped, see {rejects}\n")
    assert [(each["row"]["a"], each["at"]) for each in done.lines] == [(1, 1), (1, 2)]
    kept = [json.loads(each) for each in rejects.read_text(encoding="utf-8").splitlines()]
    assert [(each["line"], each["code"]) for each in kept] == [
        (number, code) for number, (_, code, _) in enumerate(BAD, 2)
    ]
    for each, (line, _, message) in zip(kept, BAD, strict=True):
        assert list(each) == ["line", "code", "error", "text"]
        assert message in each["error"]
        assert each["text"] == line.decode(errors="replace")


def test_skipping_without_a_file_shows_the_first_and_counts_all(query: Path) -> None:
    bad = b'{"r": {}}\n'
    done = millpond("run", query, "--input", "-", "--on-error", "skip", stdin=bad * 3 + ROW)
    assert done.code == 0
    assert done.codes == ["MP302"]
    assert "--> <stdin>:1:1" in done.err
    assert done.err.endswith("millpond: 3 bad rows skipped\n")
    assert values(done) == [1]


def test_rejects_count_in_progress(query: Path) -> None:
    done = millpond(
        "run", query, "--input", "-", "--on-error", "skip", "--json", stdin=b"x\n" + ROW
    )
    said = [json.loads(each) for each in done.err.splitlines() if each.startswith("{")]
    assert (said[-1]["rejected"], said[-1]["rows"]) == (1, 1)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\n\n", b"\r\n \t\r\n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\n", b"\xef\xbb\xbf\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_marks_ends_of_lines_and_blank_lines_are_nothing(
    query: Path, end: bytes, start: bytes, last: bool
) -> None:
    text = start + end.join([ROW, b'{"@tick": 1}', ROW]) + (end if last else b"")
    done = millpond("run", query, "--input", "-", stdin=text)
    assert (done.code, done.err) == (0, "")
    assert [each["at"] for each in done.lines] == [1, 3]


def test_blank_lines_count_in_the_number_of_a_bad_one(query: Path) -> None:
    done = millpond("run", query, "--input", "-", stdin=b"\xef\xbb\xbf\r\n\n  \nbad")
    assert "--> <stdin>:4:1" in done.err


def test_a_line_of_20_megabytes_is_read(query: Path) -> None:
    wide = b'{"s": {"a": 1, ' + b" " * 20_000_000 + b'"b": 2}}'
    done = millpond("run", query, "--input", "-", stdin=wide + b"\n" + ROW)
    assert [each["at"] for each in done.lines] == [1, 2]


def test_a_bad_line_of_20_megabytes_is_refused_in_few_words(query: Path) -> None:
    wide = b'{"s": {"a": "' + b"x" * 20_000_000 + b'", "b": 2}}'
    done = millpond("run", query, "--input", "-", stdin=ROW + b"\n" + wide)
    assert (done.code, done.codes) == (2, ["MP304"])
    assert len(done.err) < 500


def test_ticks_are_instants_of_every_query(tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_text(TEXT + "; SELECT d FROM t")
    text = b"\n".join([b'{"@tick": 1}', ROW, b'{"t": {"d": 5}}', b'{"@tick": 1}'])
    done = millpond("run", path, "--input", "-", "--emit", "answers", stdin=text)
    assert [(each["query"], each["at"], len(each["answer"])) for each in done.lines] == [
        ("q1", 1, 0), ("q2", 1, 0), ("q1", 2, 1), ("q2", 3, 1), ("q1", 4, 1), ("q2", 4, 1),
    ]  # fmt: skip


def test_a_row_of_a_stream_that_no_query_reads_is_checked_and_counts_in_at(query: Path) -> None:
    text = b'{"t": {"d": 5}}\n' + ROW
    done = millpond("run", query, "--input", "-", stdin=text)
    assert [each["at"] for each in done.lines] == [2]


@pytest.mark.parametrize(("name", "said"), [("nope.jsonl", "No such file"), ("", "directory")])
def test_input_that_cannot_be_read_is_named(
    query: Path, tmp_path: Path, name: str, said: str
) -> None:
    done = millpond("run", query, "--input", tmp_path / name)
    assert (done.code, done.codes) == (2, ["MP404"])
    assert said in done.err
    assert str(tmp_path / name) in done.err
