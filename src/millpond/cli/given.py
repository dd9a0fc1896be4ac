"""What options say, and what is wrong with it, whatever the verb."""

from __future__ import annotations

from pathlib import Path

from millpond.diagnostic import Diagnostic, UserError


def pairs(given: list[str] | None, option: str) -> dict[str, str]:
    """`NAME=VALUE` options as a mapping; a name stands once, in whatever case it is written."""
    found: dict[str, str] = {}
    for each in given or []:
        name, equals, value = each.partition("=")
        if not (name and equals and value):
            raise wrong(f"{option} {each}: write {option} NAME=VALUE")
        if name.casefold() in map(str.casefold, found):
            raise wrong(f"{option} {name} is given twice", f"write one {option} {name}=...")
        found[name] = value
    return found


def wrong(message: str, *helps: str) -> UserError:
    """An option that is wrong."""
    return UserError(Diagnostic("MP403", message, helps=helps))


def unwritable(path: Path, error: OSError) -> UserError:
    """A file that cannot be written."""
    said = f"cannot write {path}: {error.strerror or error}"
    return UserError(Diagnostic("MP406", said, file=str(path)))


def not_yet(what: str, *helps: str) -> UserError:
    """An option that is of the contract and not built."""
    return UserError(Diagnostic("MP110", f"{what} is not built yet", helps=helps))
