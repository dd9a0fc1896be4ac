"""Streams are found by name, whatever its case, and each name once."""

from __future__ import annotations

import pytest

from millpond.diagnostic import UserError
from millpond.schema import BIGINT, Catalog, Column, Stream


def stream(name: str) -> Stream:
    return Stream(name, (Column("a", BIGINT),))


def test_streams_are_found_by_name_in_any_case() -> None:
    catalog = Catalog()
    catalog.add(stream("Orders"))
    assert catalog.get("orders") is catalog.get("ORDERS")
    assert catalog.get("order") is None


def test_streams_keep_the_order_in_which_they_were_declared() -> None:
    catalog = Catalog()
    for name in ("z", "a", "m"):
        catalog.add(stream(name))
    assert catalog.names == ("z", "a", "m") == tuple(each.name for each in catalog)
    assert len(catalog) == 3


def test_a_name_is_declared_once() -> None:
    catalog = Catalog()
    catalog.add(stream("s"))
    with pytest.raises(UserError, match="MP104"):
        catalog.add(stream("S"))
