"""`millpond bench`: measures, and writes what it measured."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from millpond.diagnostic import Diagnostic, UserError, did_you_mean


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="What to measure; all if none.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows and repeats.")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", metavar="DIR", help="Write the tables there too.")
    ] = None,
) -> int:
    """Measure this machine: ratios between ways to run, in one run.

    \b
    Example:
      millpond bench slice --quick
    """
    folder = Path(__file__).parents[3] / "benchmarks"
    known = {each.stem: each for each in sorted(folder.glob("*.py"))}
    if not known:
        raise UserError(
            Diagnostic(
                "MP403",
                "there is nothing to measure with",
                helps=("benchmarks come with the source tree: run this from a clone",),
            )
        )
    for name in names or []:
        if name not in known:
            raise UserError(
                Diagnostic("MP403", f"unknown benchmark `{name}`", helps=did_you_mean(name, known))
            )
    for name in names or known:
        lines = [f"## {name}", "", _machine(), ""]
        print("\n".join(lines))
        module = _loaded(name, known[name])
        for line in module.run(quick=quick, say=_say):
            print(line, flush=True)
            lines.append(line)
        if output is not None:
            output.mkdir(parents=True, exist_ok=True)
            (output / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
            for file, picture in getattr(module, "pictures", {}).items():
                (output / file).write_text(picture + "\n", encoding="utf-8")
    return 0


def _loaded(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"millpond_benchmarks_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _say(text: str) -> None:
    print(f"millpond bench: {text}", file=sys.stderr)


def _machine() -> str:
    return (
        f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, "
        f"Python {platform.python_version()}."
    )
