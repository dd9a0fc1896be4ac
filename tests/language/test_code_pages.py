"""The pages of the codes that are about a text: the example has the fault, and what is to be
written instead has not."""

from __future__ import annotations

import pytest

from millpond.diagnostic import CODES, Page, UserError
from millpond.language import read_script

WITHOUT_SQL = {"MP004"}
"""Pages about the file rather than its text."""
READ = {"MP003"}
"""Pages about a text that is read, and of no use."""

NOTED = {"MP113"}
"""Pages about what is noted of another engine's file, which is read all the same."""

PAGES = [each for code, each in CODES.items() if code < "MP200" and code not in WITHOUT_SQL]


def codes(text: str) -> set[str]:
    try:
        read_script(text)
    except UserError as error:
        return {each.code for each in error.diagnostics}
    return set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_the_example_of_a_page_has_the_fault_and_nothing_else(page: Page) -> None:
    if page.code in NOTED:
        assert {each.code for each in read_script(page.example, dialect="flink").notes} == NOTED
        assert read_script(page.instead, dialect="flink").notes == ()
        return
    assert codes(page.example) == ({page.code} - READ)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_what_a_page_has_instead_is_read(page: Page) -> None:
    assert codes(page.instead) == set()
