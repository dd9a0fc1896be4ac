"""The streams that Materialize's load generators make, whose columns its declarations leave out."""

from __future__ import annotations

from millpond.language.tree import Declaration, Option
from millpond.schema import BIGINT, INT, TIMESTAMP, Column, Form, Stream, Type, varchar

_TEXT = varchar()
_AUCTION: dict[str, tuple[tuple[str, Type], ...]] = {
    "organizations": (("id", BIGINT), ("name", _TEXT)),
    "users": (("id", BIGINT), ("org_id", BIGINT), ("name", _TEXT)),
    "accounts": (("id", BIGINT), ("org_id", BIGINT), ("balance", BIGINT)),
    "auctions": (("id", BIGINT), ("seller", BIGINT), ("item", _TEXT), ("end_time", TIMESTAMP)),
    "bids": (
        ("id", BIGINT),
        ("buyer", BIGINT),
        ("auction_id", BIGINT),
        ("amount", INT),
        ("bid_time", TIMESTAMP),
    ),
}
_COUNTER = (("counter", BIGINT),)


def options_of(tree: Declaration) -> dict[str, str]:
    """The options of a declaration, by key in lower case, and their texts in upper case."""
    clauses = [each for each in tree.args.get("clauses") or () if isinstance(each, Option)]
    return {each.name.lower(): str(each.expression.name).upper() for each in clauses}


def makes_its_own(tree: Declaration) -> bool:
    """Whether what a declaration without columns makes is known."""
    return generated(tree) is not None


def generated(tree: Declaration) -> list[Stream] | None:
    """What a declaration without columns makes: a database no table of its own, the generators
    AUCTION and COUNTER theirs; None where nobody knows."""
    said = options_of(tree)
    words = said.get("pond.connection", "").split()
    options = said.get("pond.options", "")
    if tree.expressions:
        return None
    if "CDC" in said.get("connector", "") or words[:1] in (["POSTGRES"], ["MYSQL"], ["SQL"]):
        return []  # a database, of which other statements name the tables
    if not words:
        return None
    if words == ["LOAD", "GENERATOR", "AUCTION"]:
        known = _AUCTION.items() if "pond.tables" in said else ()
        return [_stream(name, columns) for name, columns in known]
    if words == ["LOAD", "GENERATOR", "COUNTER"] and "CARDINALITY" not in options:
        return [_stream(tree.this.name, _COUNTER)]
    asked = options.strip("( )").split(" ")[-1].lower()
    if words[0] == "SOURCE" and "REFERENCE" in options and asked in _AUCTION:
        return [_stream(tree.this.name, _AUCTION[asked])]
    return None


def _stream(name: str, columns: tuple[tuple[str, Type], ...]) -> Stream:
    made = tuple(Column(column, kind, nullable=False) for column, kind in columns)
    return Stream(name, made, None, Form.STREAM)
