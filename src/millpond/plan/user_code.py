"""The code of users' aggregates: found when a query runs, and never trusted to be right.

A module is looked for in the folder of the file that declares the aggregate, and then where Python
looks.  Whatever the code does wrong comes back as an error with a place in the query: a module or a
method that is missing, an exception, a value of another type.
"""

from __future__ import annotations

import importlib
import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib.machinery import PathFinder
from numbers import Rational, Real
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from millpond.diagnostic import Diagnostic, Span, UserError, did_you_mean
from millpond.plan.conversion import EvaluationError, fitting
from millpond.plan.moments import date_of, datetime_of, days_of, microseconds_of
from millpond.schema import Kind, Type, UserAggregate, Value

METHODS = ("init", "step", "merge", "final")
"""What the code of an aggregate has."""

_FAILURES = (Exception, SystemExit)
"""What user's code may raise; Ctrl-C is not its own."""


class UserCodeError(EvaluationError):
    """A user's code failed on the values of a query."""

    def __init__(self, message: str, notes: tuple[str, ...] = (), helps: tuple[str, ...] = ()):
        super().__init__(message)
        self.notes = notes
        self.helps = helps


class UserFunction:
    """The loaded code of an aggregate; what it raises is a `UserCodeError`."""

    def __init__(self, declared: UserAggregate, methods: dict[str, Callable[..., Any]]) -> None:
        self._declared = declared
        self._methods = methods
        self._given = _GIVEN.get(declared.takes.kind, _as_it_is)
        self._fit = fitting(declared.returns)

    def init(self) -> Any:
        """The state of no values."""
        return self._called("init")

    def step(self, state: Any, value: Value) -> Any:
        """The state with a value more, which is no NULL."""
        return self._called("step", state, self._given(value))

    def merge(self, one: Any, other: Any) -> Any:
        """The state of the values of both."""
        return self._called("merge", one, other)

    def final(self, state: Any) -> Value:
        """What the aggregate is, as a value of the declared type."""
        found = self._called("final", state)
        if found is None:
            return None
        returns = self._declared.returns
        try:
            return self._fit(_taken(found, returns))
        except _FAILURES:
            said = f"`{self._declared.name}` gave {_shown(found)}, and it returns {returns}"
            raise UserCodeError(said, helps=(_LIKE[returns.kind],)) from None

    def compute(self, values: list[Any]) -> Value:
        """What it is over some values."""
        state = self.init()
        for each in values:
            state = self.step(state, each)
        return self.final(state)

    def _called(self, method: str, *arguments: Any) -> Any:
        try:
            return self._methods[method](*arguments)
        except _FAILURES as error:
            said = f"`{self._declared.name}` failed in {method}: {_said(error)}"
            # A step that changes its state in place and returns nothing is the usual slip.
            lost = bool(arguments) and arguments[0] is None
            helps = ("init, step and merge return the state",) if lost else ()
            raise UserCodeError(said, _place(error.__traceback__), helps) from None


def loaded(declared: UserAggregate, used: Span | None = None) -> UserFunction:
    """The code of an aggregate; `used` is where the query asks for it."""
    name, _, attribute = declared.code.partition(":")
    try:
        module = _module(name, _folder(declared))
    except _FAILURES as error:
        raise _unloaded(declared, used, *_why(name, error)) from None
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            public = [each for each in dir(found) if not each.startswith("_")]
            helps = did_you_mean(part, public)
            raise _unloaded(declared, used, f"`{name}` has no `{attribute}`", (), helps)
        found = getattr(found, part)
    try:
        made = found() if isinstance(found, type) else found
    except _FAILURES as error:
        said = f"`{attribute}()` failed: {_said(error)}"
        notes = _place(error.__traceback__)
        helps = ("it is made without arguments",)
        raise _unloaded(declared, used, said, notes, helps) from None
    missing = [each for each in METHODS if not callable(getattr(made, each, None))]
    if missing:
        listed = ", ".join(f"`{each}`" for each in missing)
        helps = ("it has init(), step(state, value), merge(one, other) and final(state)",)
        raise _unloaded(declared, used, f"`{attribute}` has no {listed}", (), helps)
    return UserFunction(declared, {each: getattr(made, each) for each in METHODS})


def _unloaded(
    declared: UserAggregate,
    used: Span | None,
    why: str,
    notes: tuple[str, ...] = (),
    helps: tuple[str, ...] = (),
) -> UserError:
    said = f"the code of `{declared.name}` cannot be loaded: {why}"
    return UserError(Diagnostic("MP316", said, declared.code_span or used, notes, helps))


# Modules ----------------------------------------------------------------------------------------


def _folder(declared: UserAggregate) -> str:
    """The folder of the file; that of the process for a text that is in none."""
    name = "" if declared.span is None else declared.span.source.name
    return str(Path(name).parent.resolve())


def _module(name: str, folder: str) -> ModuleType:
    """A module out of the folder, or else from where Python looks."""
    top = name.partition(".")[0]
    importlib.invalidate_caches()
    own = PathFinder.find_spec(top, [folder])
    if own is None:
        return importlib.import_module(name)
    known = sys.modules.get(top)
    here = known is not None and getattr(known.__spec__, "origin", None) == own.origin
    with _first_on_the_path(folder), _set_aside("" if known is None or here else top):
        return importlib.import_module(name)


@contextmanager
def _first_on_the_path(folder: str) -> Iterator[None]:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


@contextmanager
def _set_aside(top: str) -> Iterator[None]:
    """Inside, modules of that name from elsewhere are not there; afterwards they are again."""
    others = {each: m for each, m in sys.modules.items() if top and _within(each, top)}
    for each in others:
        del sys.modules[each]
    try:
        yield
    finally:
        for each in [each for each in sys.modules if others and _within(each, top)]:
            del sys.modules[each]
        sys.modules.update(others)


def _within(module: str, top: str) -> bool:
    return module == top or module.startswith(f"{top}.")


def _why(name: str, error: BaseException) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    parents = [name, *(name.rsplit(".", count)[0] for count in range(1, name.count(".") + 1))]
    if isinstance(error, ModuleNotFoundError) and error.name in parents:
        helps = ("put it beside the file, or install it",)
        return f"there is no module `{error.name}`", (), helps
    return f"`{name}` failed: {_said(error)}", _place(error.__traceback__), ()


def _said(error: BaseException) -> str:
    try:
        text = " ".join(str(error).split())
    except _FAILURES:
        text = ""
    return f"{type(error).__name__}{': ' if text else ''}{text[:120]}"


def _place(found: TracebackType | None) -> tuple[str, ...]:
    """Where in the user's code: the innermost line that is not of this file or of the importer."""
    frames = [
        each
        for each in traceback.extract_tb(found)
        if each.filename != __file__
        and not each.filename.startswith("<frozen")
        and not each.filename.startswith(_IMPORTER)
    ]
    return (f"in {Path(frames[-1].filename).name}, line {frames[-1].lineno}",) if frames else ()


_IMPORTER = str(Path(importlib.__file__).parent)


# Values -----------------------------------------------------------------------------------------


def _as_it_is(value: Any) -> Any:
    return value


_GIVEN: dict[Kind, Callable[[Any], Any]] = {
    Kind.DATE: date_of,
    Kind.TIMESTAMP: lambda value: datetime_of(value).replace(tzinfo=UTC),
}
"""What Python has for values that are numbers here."""

_LIKE = {
    Kind.INTEGER: "give an int that fits the type",
    Kind.DECIMAL: "give a Decimal or an int that fits the type",
    Kind.DOUBLE: "give a float that is finite",
    Kind.BOOLEAN: "give True or False",
    Kind.VARCHAR: "give a str that fits the type",
    Kind.DATE: "give a datetime.date",
    Kind.TIMESTAMP: "give a datetime.datetime",
}


def _taken(found: Any, type_: Type) -> Value:
    """What user's code gives, as a value of a kind; TypeError for what is none."""
    match type_.kind:
        case Kind.INTEGER if not isinstance(found, bool):
            return operator.index(found)
        case Kind.DECIMAL if isinstance(found, int | Decimal) and not isinstance(found, bool):
            return Decimal(found)
        case Kind.DOUBLE if isinstance(found, Real | Rational) and not isinstance(found, bool):
            return float(found)
        case Kind.BOOLEAN if isinstance(found, bool):
            return found
        case Kind.VARCHAR if isinstance(found, str):
            return str(found)
        case Kind.TIMESTAMP if isinstance(found, datetime):
            return microseconds_of(found)
        case Kind.DATE if isinstance(found, date) and not isinstance(found, datetime):
            return days_of(found)
    raise TypeError(type_)


def _shown(found: Any) -> str:
    try:
        text = repr(found)
    except _FAILURES:
        return f"a {type(found).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."
