"""Files as they come: encodings, ends of lines, and files that cannot be read."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from millpond.diagnostic import UserError
from millpond.language import read_file

TEXT = "CREATE STREAM s (a INT);\nSELECT a FROM s;\n"


@pytest.mark.parametrize(
    "raw",
    [
        TEXT.encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("\n", "\r").encode(),
        TEXT.strip().encode(),
        b"-- \xc3\xa9\n" + TEXT.encode(),
    ],
)
def test_a_file_is_read_whatever_its_mark_and_ends_of_lines(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "q.sql"
    path.write_bytes(raw)
    script = read_file(str(path))
    assert [each.text for each in script.queries] == ["SELECT a FROM s"]
    assert script.source.name == str(path)


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(TEXT.encode())))
    script = read_file("-")
    assert len(script.queries) == 1
    assert script.source.name == "<stdin>"


def test_a_file_that_is_no_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_bytes(b"CREATE STREAM s (a INT);\n\n-- caf\xe9\nSELECT a FROM s;")
    with pytest.raises(UserError) as caught:
        read_file(str(path))
    (found,) = caught.value.diagnostics
    assert found.code == "MP004"
    assert found.place == (str(path), 3, 1)


@pytest.mark.parametrize(("name", "said"), [("nope.sql", "No such file"), ("", "directory")])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, said: str) -> None:
    path = tmp_path / name
    with pytest.raises(UserError) as caught:
        read_file(str(path))
    (found,) = caught.value.diagnostics
    assert found.code == "MP004"
    assert said in found.message
    assert found.place == (str(path), None, None)
