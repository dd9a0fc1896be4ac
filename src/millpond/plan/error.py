"""What is wrong with a request about a plan, rather than with a user's text."""

from __future__ import annotations


class PlanError(ValueError):
    """A plan cannot be printed as asked: a kind of node is not known, or an engine has no word
    for it."""
