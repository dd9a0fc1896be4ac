"""What CREATE AGGREGATE declares: a function of one value, where its code is, and its class.

    CREATE AGGREGATE geomean (x DOUBLE) RETURNS DOUBLE LANGUAGE python AS 'stats.means:GeoMean'
      WITH (class = 'algebraic', duplicates = 'sensitive', units = 2);

The words are those of Postgres and Snowflake.  The code is not looked at: reading a file runs
nothing of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TypeVar

from sqlglot import exp

from millpond.diagnostic import Diagnostic, UserError, did_you_mean
from millpond.language.constants import integer_of, not_built, shown
from millpond.language.findings import Findings
from millpond.language.grammar import Grammar
from millpond.language.spans import Places
from millpond.language.tree import STREAM_OPERATORS, AggregateDeclaration, Option
from millpond.language.type_names import type_of
from millpond.language.unread import IN_DECLARATIONS, refusals
from millpond.plan import AGGREGATES, SCALARS
from millpond.plan.sql_spelling import Spelling
from millpond.schema import AggregateClass, Type, UserAggregate

_C = TypeVar("_C", bound=StrEnum)

_CODE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_LIKE_CODE = "write AS 'package.module:Name'"
_LIKE_ARGUMENT = "write the one column that it is of, as in `(x DOUBLE)`"
_KNOWN = ("class", "duplicates", "units")
_TAKES = {
    **IN_DECLARATIONS,
    AggregateDeclaration: "this expressions returns language code options",
}


class _Duplicates(StrEnum):
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"


def declare_aggregate(tree: AggregateDeclaration, places: Places) -> UserAggregate:
    """The aggregate that a statement declares; raises with everything that is wrong in it."""
    errors, said = Findings(), _Said(tree, places)
    parts: tuple[Callable[[], object], ...] = (
        said.name, said.argument, said.returns, said.language, said.code, said.kind,
        said.sensitive, said.units,
    )  # fmt: skip
    for each in parts:
        try:
            each()
        except UserError as error:
            errors.add(error)
    for wrong in (*said.wrong_keys(), *refusals(tree, _TAKES, places)):
        errors.add(wrong)
    errors.checkpoint()
    return UserAggregate(
        said.name(),
        *said.argument(),
        said.returns(),
        said.code(),
        said.kind(),
        said.sensitive(),
        said.units(),
        places.of(tree.this),
        places.of(tree.args["code"]),
    )


class _Said:
    """The parts of the statement; each method gives one, or raises."""

    def __init__(self, tree: AggregateDeclaration, places: Places) -> None:
        self._tree = tree
        self._places = places
        self._options: list[Option] = tree.args.get("options") or []

    def name(self) -> str:
        """A plain word that has no meaning yet."""
        name = self._tree.name
        if name.upper() in {*SCALARS, *AGGREGATES, *Grammar.FUNCTION_PARSERS, *STREAM_OPERATORS}:
            said = f"`{name}` is a function already"
            raise self._wrong(said, self._tree.this, "choose another name")
        if Spelling().name(name) != name:
            said = f"an aggregate cannot be called `{name}`"
            raise self._wrong(said, self._tree.this, "choose a plain word without a meaning in SQL")
        return name

    def argument(self) -> tuple[str, Type]:
        """The name and the type of its one argument."""
        arguments = self._tree.expressions
        if len(arguments) != 1:
            said = f"an aggregate is of one column, and here are {len(arguments)}"
            raise self._wrong(said, arguments[1] if arguments else self._tree.this, _LIKE_ARGUMENT)
        (argument,) = arguments
        if not isinstance(argument, exp.ColumnDef) or argument.args.get("kind") is None:
            said = f"the argument {shown(argument)} has no type"
            raise self._wrong(said, argument, _LIKE_ARGUMENT)
        if argument.args.get("constraints"):
            raise not_built("constraints of an argument", self._places.of(argument))
        place = self._places.of(argument)
        return argument.name, type_of(argument.args["kind"], place, self._places)

    def returns(self) -> Type:
        return type_of(self._tree.args["returns"], self._places.whole, self._places)

    def language(self) -> None:
        """Python, which is what it is when nothing is said."""
        language = self._tree.args.get("language")
        if language is not None and language.name.lower() != "python":
            said = "the code of an aggregate is in python"
            raise self._wrong(said, language, "write LANGUAGE python")

    def code(self) -> str:
        code = self._tree.args.get("code")
        if code is None:
            said = "the aggregate does not say where its code is"
            raise self._wrong(said, self._tree.this, _LIKE_CODE)
        if _CODE.fullmatch(code.name) is None:
            said = f"{shown(code)} names no module and what is in it"
            raise self._wrong(said, code, _LIKE_CODE)
        return str(code.name)

    # WITH (...) ------------------------------------------------------------------------------

    def wrong_keys(self) -> Sequence[UserError]:
        """Options that are unknown, or given twice."""
        found, seen = [], set[str]()
        for each in self._options:
            key = each.name.lower()
            if key not in _KNOWN:
                helps = did_you_mean(key, _KNOWN)
                found.append(self._wrong(f"unknown option `{each.name}`", each.this, *helps))
            elif key in seen:
                said = f"`{key}` is said twice"
                found.append(UserError(Diagnostic("MP104", said, self._places.of(each.this))))
            seen.add(key)
        return found

    def kind(self) -> AggregateClass:
        return self._choice("class", AggregateClass)

    def sensitive(self) -> bool:
        return self._choice("duplicates", _Duplicates) is _Duplicates.SENSITIVE

    def units(self) -> int | None:
        """How many values a state is: what a distributive aggregate keeps is its result."""
        kind, option = self.kind(), self._option("units")
        if kind is AggregateClass.HOLISTIC:
            if option is not None:
                said = "a holistic aggregate has no state of a fixed size"
                raise self._wrong(said, option.this, "leave `units` out, or say another class")
            return None
        if option is None:
            if kind is AggregateClass.DISTRIBUTIVE:
                return 1
            said = "an algebraic aggregate says how many values its state is"
            raise self._wrong(said, self._tree.this, "write WITH (..., units = 2)")
        number = integer_of(option.expression)
        if number is None or number < 1:
            said = f"`units` cannot be {shown(option.expression)}"
            raise self._wrong(said, option.expression, "write a number from 1 on")
        return number

    def _choice(self, key: str, among: type[_C]) -> _C:
        """An option that is one of a few words; it has to be given, for a verdict goes by it."""
        option = self._option(key)
        words = " or ".join(f"'{each}'" for each in among)
        if option is None:
            said = f"the aggregate does not say its `{key}`"
            raise self._wrong(said, self._tree.this, f"write WITH ({key} = {words})")
        value = option.expression
        text = isinstance(value, exp.Literal) and value.is_string
        word = value.name.lower() if text or isinstance(value, exp.Column) else ""
        if word not in list(among):
            said = f"`{key}` cannot be {shown(value)}"
            raise self._wrong(said, value, f"write {key} = {words}")
        return among(word)

    def _option(self, key: str) -> Option | None:
        return next((each for each in self._options if each.name.lower() == key), None)

    def _wrong(self, message: str, tree: exp.Expr, *helps: str) -> UserError:
        return UserError(Diagnostic("MP112", message, self._places.of(tree), helps=helps))
