"""How much of something there is at most, where it may depend on rates: sums of products.

An amount is a polynomial whose variables are what windows hold for a rate that is not known, such
as `rate of s x 1 hour`.  Without variables it is a number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

Product = tuple[str, ...]
"""Variables that are multiplied, in order."""


@dataclass(frozen=True)
class Amount:
    """Products of variables, each with how often it is added up.

    >>> rows = Amount.of("rate of s x 1 hour")
    >>> print(rows.times(rows.plus(Amount.of(2))))
    rate of s x 1 hour x rate of s x 1 hour + rate of s x 1 hour x 2
    """

    terms: Mapping[Product, int]

    @classmethod
    def of(cls, what: int | str) -> Amount:
        """A number, or a variable."""
        return cls({(what,): 1} if isinstance(what, str) else {(): what} if what else {})

    @property
    def number(self) -> int | None:
        """The amount, if it is a number."""
        return self.terms.get((), 0) if set(self.terms) <= {()} else None

    @property
    def leading(self) -> tuple[Product, ...]:
        """The products that it grows with: those that are no part of another one."""
        return tuple(
            each
            for each in self.terms
            if each and not any(_part(each, other) for other in self.terms)
        )

    def plus(self, other: Amount) -> Amount:
        terms = dict(self.terms)
        for product, factor in other.terms.items():
            terms[product] = terms.get(product, 0) + factor
        return Amount(terms)

    def times(self, other: Amount) -> Amount:
        terms: dict[Product, int] = {}
        for one, factor in self.terms.items():
            for two, by in other.terms.items():
                product = tuple(sorted((*one, *two)))
                terms[product] = terms.get(product, 0) + factor * by
        return Amount(terms)

    def at_most(self, other: Amount) -> Amount:
        """The less of two bounds, as far as that is known: a number before what has none."""
        if self.number is None or other.number is None:
            return other if self.number is None and other.number is not None else self
        return self if self.number <= other.number else other

    @property
    def factor(self) -> str:
        """As it stands in a product."""
        return f"({self})" if len(self.terms) > 1 else str(self)

    def __str__(self) -> str:
        return " + ".join(_shown(*each) for each in self.terms.items()) or "0"


NOTHING = Amount.of(0)
ONE = Amount.of(1)


def _part(product: Product, other: Product) -> bool:
    return product != other and not Counter(product) - Counter(other)


def _shown(product: Product, factor: int) -> str:
    if not product:
        return str(factor)
    return " x ".join(product) + ("" if factor == 1 else f" x {factor}")
