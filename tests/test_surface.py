"""The public surface: what a package gives, what it loads, and which diagnostics it can say."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import millpond
from millpond.diagnostic import CODES

HOUSE = Path(millpond.__file__).parent

PUBLIC = [
    "__version__", "Answer", "Change", "Changes", "Checked", "Diagnostic", "Explanation", "Feeder",
    "InputError", "MillpondError", "Pond", "Query", "RefusedError", "Repair", "Run", "UserError",
    "Verdict", "check", "check_sql",
]  # fmt: skip
"""Names of `import millpond as mp`."""

HEAVY = (
    "pyspark", "py4j", "numba", "llvmlite", "polars", "pyarrow", "duckdb", "pandas", "fastapi",
    "uvicorn", "matplotlib",
)  # fmt: skip
"""What costs a second or a megabyte to load: only what uses it loads it."""

_ROOMS = sorted(
    each.name for each in pkgutil.iter_modules([str(HOUSE)]) if (HOUSE / each.name).is_dir()
)


def loaded(code: str, modules: tuple[str, ...]) -> set[str]:
    """Which of the modules a fresh interpreter has loaded after running `code`."""
    tail = f"\nimport sys; print('LOADED', *sorted(set({modules!r}) & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code + tail], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_the_public_names_are_these() -> None:
    assert millpond.__all__ == PUBLIC
    assert all(hasattr(millpond, each) for each in PUBLIC)
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", millpond.__version__)


@pytest.mark.parametrize("room", _ROOMS)
def test_a_room_exports_what_it_says(room: str) -> None:
    module = importlib.import_module(f"millpond.{room}")
    said = getattr(module, "__all__", [])
    assert list(said) == sorted(said, key=_as_ruff_sorts), "__all__ is sorted"
    assert all(hasattr(module, each) for each in said)
    assert not any(each.startswith("_") for each in said)
    assert module.__doc__


def _as_ruff_sorts(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def test_importing_millpond_loads_nothing_heavy() -> None:
    modules = (*HEAVY, "numpy", "sqlglot", "typer", "rich")
    assert loaded("import millpond", modules) == set()


@pytest.mark.parametrize("verb", ["check", "explain"])
def test_a_verb_that_runs_nothing_loads_no_engine(verb: str, tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_text(
        "CREATE STREAM s (a INT); CREATE STREAM t (d INT);"
        "SELECT DISTINCT s.a FROM s, t WHERE s.a = t.d AND s.a BETWEEN 1 AND 9"
    )
    code = (
        "from millpond.cli import main\n"
        f"try: main([{verb!r}, {str(path)!r}])\n"
        "except SystemExit as leaving: assert not leaving.code\n"
    )
    assert loaded(code, HEAVY) == set()


def test_types_are_shipped() -> None:
    assert (HOUSE / "py.typed").exists()


# Diagnostics ------------------------------------------------------------------------------------


def codes_in(text: str) -> set[str]:
    """Codes that a source text says; those inside longer words are none."""
    return set(re.findall(r"\bMP\d{3}\b", text))


def codes_in_use() -> dict[str, str]:
    """Every code that the sources say outside of the pages, and a file that says it."""
    found: dict[str, str] = {}
    for path in sorted(HOUSE.rglob("*.py")):
        if path.name != "codes.py":
            for code in codes_in(path.read_text(encoding="utf-8")):
                found.setdefault(code, str(path.relative_to(HOUSE)))
    return found


def test_every_code_in_use_has_a_page() -> None:
    assert not {code: file for code, file in codes_in_use().items() if code not in CODES}


def test_every_page_is_of_a_code_in_use() -> None:
    assert not set(CODES) - set(codes_in_use())


def test_pages_are_in_order_and_complete() -> None:
    assert list(CODES) == sorted(CODES)
    for code, page in CODES.items():
        assert page.code == code
        assert all((page.title, page.why, page.example, page.instead)), code
        assert not page.title.endswith("."), code
        assert page.why.endswith("."), code


def test_codes_are_told_from_longer_words() -> None:
    assert codes_in("MP101, 'MP102' XMP103 MP1045 MP10") == {"MP101", "MP102"}
