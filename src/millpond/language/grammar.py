"""The base of millpond's grammar: sqlglot's parser made strict, with the places of what it reads.

sqlglot forgives a missing THEN, AND or bracket and gives hundreds of functions nodes of their own.
Here nothing is forgiven, and a function call is an `exp.Anonymous` under the user's own name: which
functions there are is the binder's to say.  Lengths of time are read here as well, since intervals,
windows and options are made of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Never, TypeVar

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from millpond.language.tree import Length
from millpond.language.units import is_unit

_EXPECTED = re.compile(r"Expect(?:ed|ing) ([A-Z]+|[^\w\s]+)(?: |$)")
"""What of sqlglot's own messages a user can read: a word or a sign that is missing."""
_NO_UNITS = ("SLIDE", "INTERNAL")
"""Words that may follow a number in a window, and are no unit."""

Tree = TypeVar("Tree", bound=exp.Expr | None)


class UnparsedError(ParseError):
    """The parser stopped at `token`, None at the end; `expected` says what it waited for."""

    def __init__(
        self,
        token: Token | None,
        expected: str | None,
        *helps: str,
        last: Token | None = None,
    ) -> None:
        super().__init__(f"expected {expected}", [{}])
        self.token = token
        self.last = last or token
        self.expected = expected
        self.helps = helps


class UnbuiltError(ParseError):
    """The parser knows what goes from token to token by name, and it is not built."""

    def __init__(self, what: str, first: Token, last: Token, *helps: str) -> None:
        super().__init__(what, [{}])
        self.what = what
        self.first, self.last = first, last
        self.helps = helps


def _named(name: str) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[])


class Grammar(Parser):
    """What the other parts of the grammar build on; a mixin over the parser of any dialect."""

    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        "CAST": lambda self: self._inside(self._parse_cast(True)),
        "EXTRACT": lambda self: self._inside(self._parse_extract()),
        "POSITION": lambda self: self._inside(self._parse_position()),
        "SUBSTRING": lambda self: self._inside(self._parse_substring()),
        "TRIM": lambda self: self._inside(self._parse_trim()),
        **dict.fromkeys(("TRY_CAST", "SAFE_CAST"), lambda self: self._refuse_try_cast()),
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        "CASE": lambda self: self._parse_case(),
    }
    NO_PAREN_FUNCTIONS: ClassVar[dict[TokenType, Callable[..., Any]]] = {
        token: partial(_named, token.name) for token in Parser.NO_PAREN_FUNCTIONS
    }
    PRIMARY_PARSERS: ClassVar[dict[TokenType, Callable[..., Any]]] = {
        **Parser.PRIMARY_PARSERS,
        TokenType.NULL: lambda self, token: self.expression(exp.Null(), token),
        TokenType.TRUE: lambda self, token: self.expression(exp.Boolean(this=True), token),
        TokenType.FALSE: lambda self, token: self.expression(exp.Boolean(this=False), token),
        TokenType.STAR: lambda self, token: self._placed(self._parse_star_ops(), token),
    }
    STRICT_CAST: ClassVar[bool] = True
    OPTIONAL_ALIAS_TOKEN_CTE: ClassVar[bool] = False
    MODIFIERS_ATTACHED_TO_SET_OP: ClassVar[bool] = True

    # Errors ----------------------------------------------------------------------------------

    def raise_error(self, message: str, token: Token | None = None) -> Never:
        """Stops here: of the errors of one statement only the first is known to be one."""
        found = _EXPECTED.match(message)
        raise UnparsedError(token or self._curr or None, f"`{found.group(1)}`" if found else None)

    def _expect(self, what: str | None, *helps: str, last: Token | None = None) -> Never:
        raise UnparsedError(self._curr or None, what, *helps, last=last)

    def _inside(self, tree: Tree) -> Tree:
        """The argument of a function, whose bracket has to be closed next."""
        if not self._match(TokenType.R_PAREN, advance=False):
            self._expect("`)`")
        return tree

    # Places ----------------------------------------------------------------------------------

    def _placed(self, tree: Tree, first: Token) -> Tree:
        """Notes that a tree goes from a token to the one that was read last."""
        if tree is not None and first and self._prev and first.start <= self._prev.start:
            tree.meta["start"], tree.meta["end"] = first.start, self._prev.end
        return tree

    def _parse_unary(self) -> exp.Expr | None:
        first = self._curr
        return self._placed(super()._parse_unary(), first)

    def _parse_range(self, this: exp.Expr | None = None, parse_is: bool = False) -> exp.Expr | None:
        first = self._curr
        tree = super()._parse_range(this, parse_is)
        return tree if this is not None else self._placed(tree, first)

    def _parse_types(
        self,
        check_func: bool = False,
        schema: bool = False,
        allow_identifiers: bool = True,
        with_collation: bool = False,
    ) -> exp.Expr | None:
        first = self._curr
        tree = super()._parse_types(check_func, schema, allow_identifiers, with_collation)
        return self._placed(tree, first) if isinstance(tree, exp.DataType) else tree

    def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
        """Comes behind every call, and so knows where it ends."""
        if isinstance(this, exp.Anonymous) and self._prev.token_type is TokenType.R_PAREN:
            this.meta["end"] = self._prev.end
        return super()._parse_window(this, alias)

    # Expressions -----------------------------------------------------------------------------

    def _parse_case(self) -> exp.Expr | None:
        if self._match(TokenType.DOT, advance=False):
            return super()._parse_case()
        subject = None
        if not self._match(TokenType.WHEN, advance=False):
            subject = self._parse_disjunction()
        arms = []
        while self._match(TokenType.WHEN):
            condition = self._parse_disjunction()
            if not self._match(TokenType.THEN):
                self._expect("`THEN`")
            arms.append(self.expression(exp.If(this=condition, true=self._parse_disjunction())))
        if not arms:
            self._expect("`WHEN`")
        default = self._needed(self._parse_disjunction) if self._match(TokenType.ELSE) else None
        if not self._match(TokenType.END):
            self._expect("`END`")
        return self.expression(exp.Case(this=subject, ifs=arms, default=default))

    def _negate_range(self, this: exp.Expr | None = None) -> exp.Expr | None:
        """NOT of a condition is a node of its own in all dialects, and never a mark on another."""
        return None if this is None else self.expression(exp.Not(this=this))

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        symmetric = True if self._match_text_seq("SYMMETRIC") else None
        if symmetric is None:
            self._match_text_seq("ASYMMETRIC")
        low = self._needed(self._parse_bitwise)
        if not self._match(TokenType.AND):
            self._expect("`AND`")
        high = self._needed(self._parse_bitwise)
        return self.expression(exp.Between(this=this, low=low, high=high, symmetric=symmetric))

    def _parse_cast(self, strict: bool, safe: bool | None = None) -> exp.Expr:
        operand = self._needed(self._parse_disjunction)
        if not self._match(TokenType.ALIAS):
            self._expect("`AS`")
        first = self._curr
        to = self._needed(self._parse_types, "a type")
        if not isinstance(to, exp.DataType):
            to = self._placed(exp.DataType(this=exp.DType.USERDEFINED, kind=to.name), first)
        return self.expression(exp.Cast(this=operand, to=to))

    def _parse_extract(self) -> exp.Extract | exp.Anonymous:
        first = self._curr
        part = self._placed(self._needed(partial(self._parse_var_or_string, True)), first)
        if not (self._match(TokenType.FROM) or self._match(TokenType.COMMA)):
            self._expect("`FROM`")
        return self.expression(exp.Extract(this=part, expression=self._needed(self._parse_bitwise)))

    def _parse_position(self, haystack_first: bool = False) -> exp.StrPosition:
        needle = self._needed(self._parse_bitwise)
        if not self._match(TokenType.IN):
            self._expect("`IN`", "write `POSITION(part IN text)`")
        haystack = self._needed(self._parse_bitwise)
        return self.expression(exp.StrPosition(this=haystack, substr=needle))

    def _parse_trim(self) -> exp.Trim:
        first, tree = self._curr, super()._parse_trim()
        if tree.args.get("collation"):
            raise UnbuiltError("COLLATE", first, self._prev)
        return tree

    def _refuse_try_cast(self) -> Never:
        """The name and its bracket are behind the parser."""
        name = self._tokens[self._index - 2]
        raise UnbuiltError(
            name.text.upper(), name, name, "write CAST: a value that does not fit is an error"
        )

    def _needed(self, parse: Callable[[], Any], what: str | None = None) -> Any:
        found = parse()
        if found is None:
            self._expect(what)
        return found

    # Lengths ---------------------------------------------------------------------------------

    def _parse_interval(  # type: ignore[override]  # a Length stands where sqlglot has an Interval
        self, require_interval: bool = True, parse_function_unit: bool = True
    ) -> exp.Expr | None:
        return self._parse_length() if self._curr.token_type is TokenType.INTERVAL else None

    def _parse_length(self) -> Length | None:
        """`10`, `1 min`, `INTERVAL '1' MINUTE`, `INTERVAL 1 MINUTE`, `INTERVAL '10 minutes'`."""
        first = self._curr
        if first.token_type is TokenType.NUMBER:
            self._advance()
            return self._length(first, first.text, self._unit())
        signs = (TokenType.STRING, TokenType.NUMBER, TokenType.DASH)
        if first.token_type is not TokenType.INTERVAL or self._next.token_type not in signs:
            return None
        self._advance()
        sign = "-" if self._match(TokenType.DASH) else ""
        text = self._curr.text.strip()
        if not self._match_set((TokenType.STRING, TokenType.NUMBER)):
            self._expect("a number")
        if any(each.isalpha() or each == ":" for each in text):
            return self._length(first, sign + text, None)
        unit = self._unit()
        if unit is None:
            self._expect("a unit of time, such as `SECOND` or `MINUTE`,")
        return self._length(first, sign + text, unit)

    def _length(self, first: Token, text: str, unit: Token | None) -> Length:
        tree = Length(this=text, unit=None if unit is None else unit.text)
        if unit is not None:
            tree.meta["unit"] = (unit.start, unit.end)
        return self._placed(tree, first)

    def _unit(self) -> Token | None:
        """The word behind a number, if it can be a unit; whether it is one is seen later."""
        token = self._curr
        word = token.text.upper()
        named = token.token_type is TokenType.VAR and word.isalpha() and word not in _NO_UNITS
        if not named and (token.token_type is TokenType.IDENTIFIER or not is_unit(word)):
            return None
        self._advance()
        return token
