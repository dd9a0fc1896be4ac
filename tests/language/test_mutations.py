"""Right statements with a word lost, doubled or misplaced: read, or refused in good order.

A change is drawn by a seed that stands in the test's name; what it gives is shown when it fails.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.language.test_refusals import INTERNALS
from tests.language.valid import DECLARED, QUERIES, files

from millpond.diagnostic import Diagnostic, NotBuiltError, UserError
from millpond.language import read_script

_PIECE = re.compile(r"\s+|--[^\n]*|\w+|'[^']*'|<>|[<>!]=|.", re.DOTALL)


def pieces(text: str) -> list[str]:
    """A text cut into words, signs and the space between them."""
    return _PIECE.findall(text)


WORDS = sorted({each for query in (DECLARED, *QUERIES) for each in pieces(query) if each.strip()})


def mutated(text: str, draw: random.Random) -> str:
    """The text with one to three words or signs lost, doubled, exchanged or put in."""
    parts = pieces(text)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        words = [place for place, each in enumerate(parts) if each.strip()]
        if len(words) < 2:
            break
        one, other = draw.sample(words, 2)
        match draw.choice(("lose", "double", "exchange", "replace", "put in", "cut off", "slip")):
            case "lose":
                parts[one] = ""
            case "double":
                parts[one] += " " + parts[one]
            case "exchange":
                parts[one], parts[other] = parts[other], parts[one]
            case "replace":
                parts[one] = draw.choice(WORDS)
            case "put in":
                parts[one] += f" {draw.choice(WORDS)} "
            case "cut off":
                del parts[one:]
            case "slip":
                parts[one] = _slipped(parts[one], draw)
    return "".join(parts)


def _slipped(word: str, draw: random.Random) -> str:
    place = draw.randrange(len(word))
    return word[:place] + draw.choice(("", word[place] * 2, "é", "'", "(")) + word[place + 1 :]


def refusal(text: str) -> tuple[Diagnostic, ...]:
    """What is said of a text; nothing when it is read.  Anything but a refusal is raised."""
    try:
        read_script(text, "file.sql")
    except UserError as error:
        found = error
    else:
        return ()
    built = all(each.code == "MP110" for each in found.diagnostics)
    assert isinstance(found, NotBuiltError) is built
    return found.diagnostics


def check(text: str) -> bool:
    """Whether a text is read; a refusal has to be in good order."""
    found = refusal(text)
    for each in found:
        assert each.span is not None, each
        assert 0 <= each.span.start < each.span.end <= len(text), each
        for said in (each.message, *each.notes, *each.helps):
            assert not re.search(INTERNALS, said), said
            assert len(said) < 250, said
    said_once = {(each.code, each.message, each.span.start) for each in found if each.span}
    assert len(said_once) == len(found), found
    return not found


def changes(query: str, declared: str, seeds: range) -> Iterator[str]:
    """Changed queries behind right declarations, and now and then a changed declaration."""
    for seed in seeds:
        draw = random.Random(f"{query} {seed}")
        if seed % 4:
            yield f"{declared};{mutated(query, draw)}"
        else:
            yield f"{mutated(declared, draw)};{query}"


def assert_in_good_order(query: str, seeds: range) -> None:
    for text in changes(query, DECLARED, seeds):
        try:
            check(text)
        except Exception as error:
            error.add_note(text)
            raise


@pytest.mark.parametrize("query", QUERIES)
def test_what_mutations_start_from_is_right(query: str) -> None:
    assert check(DECLARED + query)


@pytest.mark.parametrize("query", QUERIES)
def test_a_changed_statement_is_read_or_refused_in_good_order(query: str) -> None:
    assert_in_good_order(query, range(16))


@pytest.mark.heavy
@pytest.mark.parametrize("query", QUERIES)
def test_a_changed_statement_is_read_or_refused_in_good_order_many_times(query: str) -> None:
    assert_in_good_order(query, range(16, 500))


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_a_changed_file_is_read_or_refused_in_good_order(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for seed in range(6):
        changed = mutated(text, random.Random(f"{path.stem} {seed}"))
        try:
            check(changed)
        except Exception as error:
            error.add_note(changed)
            raise


def test_most_changes_are_refused_and_some_are_not() -> None:
    read = [check(text) for query in QUERIES for text in changes(query, DECLARED, range(4))]
    assert 0.02 < sum(read) / len(read) < 0.5
