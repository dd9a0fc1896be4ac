"""What the documents show is what happens: SQL is checked, commands are run, paths exist.

A page is run from top to bottom in a folder of its own.  What a fenced block is for stands behind
its language:

- `file=NAME` writes the block to that file, in any language;
- `sql run` is SQL that `millpond check` takes, bounded or not;
- `console` holds commands behind `$ `, each followed by exactly what it prints, standard output
  before standard error; a line of `...` stands for any lines.  `exit=N` says how the last one
  leaves; without it any code will do by which millpond says something of the user's text;
- `pycon` is a session with Python: what stands behind `>>> ` prints what follows, and names stay
  from block to block;
- `no-run` marks what is shown only.
"""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cli.harness import Done, millpond, shell

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

COMMANDS = ("millpond", "echo", "printf", "cat")
"""What a console block may run."""

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$",
    re.MULTILINE | re.DOTALL,
)


class WrongPageError(AssertionError):
    """A page that does not show what happens, with the line that is to blame."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    words: tuple[str, ...]
    body: str
    line: int

    def said(self, option: str) -> str | None:
        """The value of `option=value`."""
        return next(
            (each.partition("=")[2] for each in self.words if each.startswith(option)), None
        )


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for each in _FENCE.finditer(text):
        language, *words = each["info"].split() or [""]
        body = re.sub(rf"^{each['indent']}", "", each["body"], flags=re.MULTILINE)
        yield Block(language, tuple(words), body, text.count("\n", 0, each.start()) + 1)


def commands(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block with the lines that it prints."""
    found: list[tuple[str, list[str]]] = []
    lines = iter(block.body.splitlines())
    for line in lines:
        if line.startswith("$ "):
            while line.endswith("\\"):
                line += "\n" + next(lines)
            found.append((line.removeprefix("$ "), []))
        elif found:
            found[-1][1].append(line)
        else:
            raise WrongPageError(f"line {block.line}: a console block starts with `$ `")
    yield from found


def same(shown: list[str], printed: list[str]) -> bool:
    """Whether the lines are those; `...` stands for any."""
    if not shown:
        return not printed
    if shown[0].strip() == "...":
        return any(same(shown[1:], printed[place:]) for place in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and same(shown[1:], printed[1:])


def run_page(text: str, folder: Path) -> None:
    """Does what the page shows; raises at the first thing that is otherwise."""
    names: dict[str, Any] = {}
    for block in blocks(text):
        where = f"line {block.line}"
        name = block.said("file=")
        if "no-run" in block.words:
            continue
        if name is not None:
            (folder / name).write_text(block.body, encoding="utf-8")
        elif block.language == "sql":
            if "run" not in block.words:
                raise WrongPageError(f"{where}: say `sql run`, `sql file=NAME` or `sql no-run`")
            done = millpond("check", "-", stdin=block.body.encode())
            if done.code not in (0, 1):
                raise WrongPageError(f"{where}: {done.err}")
        elif block.language == "console":
            _console(block, folder)
        elif block.language == "pycon":
            _session(block, folder, names)


def _session(block: Block, folder: Path, names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.body, names, "page", None, block.line)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        runner.run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    if runner.failures:
        raise WrongPageError(f"line {block.line}: " + "".join(said))


def _console(block: Block, folder: Path) -> None:
    code = block.said("exit=")
    found = list(commands(block))
    for number, (command, shown) in enumerate(found, 1):
        done = _done(command, folder, block.line)
        printed = [*done.out.splitlines(), *done.err.splitlines()]
        if not same(shown, printed):
            raise WrongPageError(f"line {block.line}: `{command}` prints\n" + "\n".join(printed))
        right = {0, 1, 2, 3} if code is None or number < len(found) else {int(code)}
        if done.code not in right:
            raise WrongPageError(f"line {block.line}: `{command}` leaves with {done.code}")


def _done(command: str, folder: Path, line: int) -> Done:
    words = shlex.split(command)
    if words[0] not in COMMANDS:
        raise WrongPageError(f"line {line}: `{words[0]}` is none of {', '.join(COMMANDS)}")
    if words[0] != "millpond" or re.search(r"[|<>&;$`]", re.sub(r"'[^']*'", "", command)):
        return shell(command, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return millpond(*words[1:])


# The documents ----------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_shows_what_happens(page: Path, tmp_path: Path) -> None:
    run_page(page.read_text(encoding="utf-8"), tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_paths_of_a_page_lead_somewhere(page: Path) -> None:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    links = re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", text)
    assert not [each for each in links if not (page.parent / each).exists()]
    paths = re.findall(r"`([\w.-]+(?:/[\w.-]+)+\.\w+)`", text)
    homes = (ROOT, ROOT / "src" / "millpond", page.parent)
    assert not [each for each in paths if not any((home / each).exists() for home in homes)]


# The mechanism ----------------------------------------------------------------------------------

PAGE = """\
# A page

```sql file=q.sql
CREATE STREAM s (a INT);
SELECT a FROM s WHERE a > 10;
```

1. In a list:

   ```json file=rows.jsonl
   {"s": {"a": 11}}
   {"s": {"a": 1}}
   ```

```console
$ millpond run q.sql --input rows.jsonl
{"op": "+", "row": {"a": 11}, "at": 1}
$ echo "a  b" | \\
    cat
a  b
```

```console exit=0
$ millpond check --explain MP101
MP101: unknown stream
...
```

```sql run
CREATE STREAM s (a INT); SELECT DISTINCT a FROM s
```

```sql no-run
SELECT whatever
```

```pycon
>>> x = 2
```

```pycon
>>> x + 1
3
```

```
make demo
```
"""


def test_a_right_page_is_run_from_top_to_bottom(tmp_path: Path) -> None:
    run_page(PAGE, tmp_path)
    assert (tmp_path / "rows.jsonl").read_text() == '{"s": {"a": 11}}\n{"s": {"a": 1}}\n'
    assert [(each.language, each.words) for each in blocks(PAGE)] == [
        ("sql", ("file=q.sql",)), ("json", ("file=rows.jsonl",)), ("console", ()),
        ("console", ("exit=0",)), ("sql", ("run",)), ("sql", ("no-run",)),
        ("pycon", ()), ("pycon", ()), ("", ()),
    ]  # fmt: skip


def test_a_command_may_read_from_a_pipe(tmp_path: Path) -> None:
    command = "echo 'CREATE STREAM s (a INT); SELECT a FROM s' | millpond check -"
    shown = "q1: none, 0 units: nothing has to be remembered"
    run_page(f"```console\n$ {command}\n{shown}\n```", tmp_path)


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('{"a": 11}, "at": 1}\n$', '{"a": 12}, "at": 1}\n$', "line 15: `millpond run q.sql"),
        ('"at": 1}\n$ echo', '"at": 1}\n\n$ echo', "line 15: `millpond run q.sql"),
        ("    cat\na  b", "    cat\na b", 'line 15: `echo "a  b"'),
        ("exit=0", "exit=1", "leaves with 0"),
        ("MP101: unknown stream", "MP101: known stream", "`millpond check --explain MP101` prints"),
        ("sql run", "sql", "line 29: say `sql run`"),
        ("SELECT DISTINCT a FROM s", "SELECT b FROM s", "line 29: error[MP102]"),
        ("$ millpond check", "$ rm check", "line 23: `rm` is none of"),
        ("```console\n$", "```console\nfirst\n$", "line 15: a console block starts with"),
        ("sql file=q.sql", "sql no-run", "No such file"),
        ("a > 10", "a > 11", "line 15"),
        (">>> x + 1\n3", ">>> x + 1\n4", "line 41: "),
    ],
)
def test_a_wrong_page_is_caught(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    assert PAGE.count(right) >= 1
    with pytest.raises(WrongPageError) as caught:
        run_page(PAGE.replace(right, wrong, 1), tmp_path)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("shown", "printed", "is_same"),
    [
        ("", "", True),
        ("a", "a", True),
        ("a", "b", False),
        ("a", "", False),
        ("", "a", False),
        ("...", "", True),
        ("...", "a\nb", True),
        ("a\n...", "a\nb\nc", True),
        ("a\n...\nc", "a\nb\nb\nc", True),
        ("a\n...\nc", "a\nb\nb\nd", False),
        ("...\nb\n...", "a\nb\nc", True),
        ("a ...", "a b", False),
    ],
)
def test_dots_stand_for_any_lines(shown: str, printed: str, is_same: bool) -> None:
    assert same(shown.splitlines(), printed.splitlines()) is is_same
