"""The entry point: verbs, and what becomes of everything that can go wrong in one."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module

import typer
from typer.exceptions import TyperException

from millpond.diagnostic import Diagnostic, MillpondError
from millpond.report import Style, diagnostic_dict, render_diagnostic

VERBS = ("check", "explain", "compile", "run", "demo", "bench")
"""Each in the module of its name, in the order of `--help`."""


def app(verbs: Sequence[str] = VERBS) -> typer.Typer:
    """The command with these verbs: engines and pictures load for those that use them."""
    made = typer.Typer(
        name="millpond",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Continuous queries over streams, with a proved bound on their memory before they "
        "start.\n\nA first look:  millpond demo",
    )
    for each in verbs:
        made.command()(getattr(import_module(f"millpond.cli.{each}"), each))
    made.callback()(_options)
    return made


@contextmanager
def _loading(alone: bool) -> Iterator[None]:
    """In a process of our own, what is loaded stays: to look through it for garbage is time for
    nothing."""
    if alone:
        gc.disable()
    yield
    if alone:
        gc.freeze()
        gc.enable()


def _version(value: bool) -> None:
    if value:
        from millpond import __version__

        print(f"millpond {__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and stop."
    ),
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and leaves with an exit code of the contract."""
    _open_streams()
    alone = arguments is None
    code = _run(list(sys.argv[1:] if arguments is None else arguments), alone=alone)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _output_closed()
    except OSError as error:
        code = _failed(error)
    sys.exit(code)


def _open_streams() -> None:
    """Whoever starts us may have closed standard output or error, and wants none."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # it stays open to the end
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def _run(arguments: list[str], *, alone: bool) -> int:
    debug = "--debug" in arguments
    as_json = "--json" in arguments
    try:
        said = [each for each in arguments if each != "--debug"] or ["--help"]
        verbs = said[:1] if said[0] in VERBS else VERBS
        with _loading(alone):
            command = typer.main.get_command(app(verbs))
        result = command.main(
            said,
            prog_name="millpond",
            standalone_mode=False,
            obj=debug,
        )
        return result if isinstance(result, int) else 0
    except (BrokenPipeError, SystemExit):  # Typer leaves with 1 when the pipe is closed
        return _output_closed()
    except KeyboardInterrupt:
        return 130
    except TyperException as error:
        _say(Diagnostic("MP403", _message(error), helps=("--help shows an example",)), as_json)
        return 2
    except MillpondError as error:
        if debug:
            raise
        for each in error.diagnostics:
            _say(each, as_json)
        return error.exit_code
    except OSError as error:
        if debug:
            raise
        return _failed(error, as_json)
    except Exception as error:
        if debug:
            raise
        _say(
            Diagnostic(
                "MP900",
                f"{type(error).__name__}: {error}",
                notes=("this is a bug of millpond, not of your query or input",),
                helps=("run it again with --debug and report what it prints",),
            ),
            as_json,
        )
        return 70


def _message(error: TyperException) -> str:
    said = error.format_message() if hasattr(error, "format_message") else str(error)
    return said.rstrip(".").replace("Value error, ", "") or "wrong usage"


def _say(diagnostic: Diagnostic, as_json: bool) -> None:
    """For people, or with `--json` as a line of JSON."""
    with suppress(OSError):  # nobody can be told
        print(
            json.dumps(diagnostic_dict(diagnostic), ensure_ascii=False)
            if as_json
            else render_diagnostic(diagnostic, Style.of(sys.stderr)),
            file=sys.stderr,
        )


def _failed(error: OSError, as_json: bool = False) -> int:
    """Reading or writing that the system refused: a full disk, say."""
    try:
        sys.stdout.flush()
    except OSError:
        _output_closed()  # or the end of the process would try again
    what = error.strerror or str(error)
    _say(Diagnostic("MP406", f"reading or writing failed: {what}", file=error.filename), as_json)
    return 2


def _output_closed() -> int:
    """Whoever read our output has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
