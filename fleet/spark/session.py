"""A Spark session that starts fast, says why it does not start, and never waits for ever."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import logging
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from fleet.spark import spark_errors

SETTINGS = os.path.join(os.path.dirname(__file__), "settings")
SCRATCH = "smoke-spark-"
LEFT_OVER = re.compile(rf"{SCRATCH}(\d+)-\w+")
MASTER = re.compile(r"spark://([^:/,]+):(\d+)")
CONNECT_S = 5.0
# A cluster's master may never answer; a JVM of this machine only takes long when the machine is busy.
START_S = 60.0
LOCAL_START_S = 300.0

Result = TypeVar("Result")


class CannotRun(Exception):
    """Spark cannot do the job, and this is why."""


class Wanted(NamedTuple):
    """Where and how to run. settings: a file of fleet/spark/settings by its name, or a path. start_s 0: as usual."""

    master: str = "local[*]"
    settings: str = ""
    start_s: float = 0

    @property
    def is_local(self) -> bool:
        return self.master.startswith("local")

    @property
    def deadline_s(self) -> float:
        return self.start_s or (LOCAL_START_S if self.is_local else START_S)


@contextlib.contextmanager
def session(wanted: Wanted) -> Iterator[Any]:
    """A Spark session, stopped at the end together with its JVM. One at a time in a process: RuntimeError otherwise.

    Raises CannotRun when it does not start, and for what goes wrong in Spark while it is used.
    """
    _answers(wanted.master)
    _only_one()
    if not shutil.which(_java()):
        raise CannotRun("Spark needs Java 17 or later: apt-get install openjdk-17-jre-headless")
    _sweep(tempfile.gettempdir())
    with tempfile.TemporaryDirectory(prefix=f"{SCRATCH}{os.getpid()}-") as scratch, _without_traces():
        log = os.path.join(scratch, "spark.log")
        started = _Starter(wanted, _options(wanted, log, scratch), log)
        spark = started.spark()
        process = spark.sparkContext._gateway.proc
        try:
            yield spark
        except Exception as error:
            if not spark_errors.is_sparks(error):
                raise
            raise CannotRun(spark_errors.words(error, process, log)) from error
        else:
            started.is_done = True
        finally:
            _end(spark, graceful=started.makes_classes)
            started.keep_classes()


def _sweep(folder: str) -> None:
    """Remove what our killed jobs left there; each folder is named after the process that it belongs to."""
    with os.scandir(folder) as entries:
        found = [entry for entry in entries if LEFT_OVER.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)]
    for entry in found:
        match = LEFT_OVER.fullmatch(entry.name)
        if (
            match
            and entry.stat(follow_symlinks=False).st_uid == os.getuid()
            and not os.path.exists(f"/proc/{match[1]}")
        ):
            shutil.rmtree(entry.path, ignore_errors=True)


def _only_one() -> None:
    """Spark hands out the session that is there, and the first to end would take it from the other."""
    from pyspark import SparkContext

    if SparkContext._active_spark_context is not None:
        raise RuntimeError("this process already has a Spark session")


@contextlib.contextmanager
def _without_traces() -> Iterator[None]:
    """py4j logs the trace of each call that a dying JVM does not answer; what it means is said in words instead."""

    def is_ours(record: logging.LogRecord) -> bool:
        return "py4j" not in record.pathname

    root = logging.getLogger()
    root.addFilter(is_ours)
    try:
        yield
    finally:
        root.removeFilter(is_ours)


def within(seconds: float, work: Callable[[], Result]) -> Result:
    """Do the work in a thread of its own; TimeoutError when it is not done in time, and nobody waits for it."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append((work(), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise TimeoutError
    result, error = outcome[0]
    if error:
        raise error
    return result  # type: ignore[no-any-return]


def _answers(master: str) -> None:
    """Spark asks a dead master again and again; one look at its port says it sooner."""
    named = MASTER.match(master)
    if not named:
        return
    try:
        socket.create_connection((named[1], int(named[2])), CONNECT_S).close()
    except OSError as error:
        raise CannotRun(f"the Spark master {master} cannot be reached: {error.strerror or error}") from error


def read_settings(path: str) -> dict[str, str]:
    """Lines of a name and a value, as in spark-defaults.conf."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except OSError as error:
        raise CannotRun(f"settings {path}: {error.strerror}") from error
    pairs = [re.split(r"[\s=]+", line, maxsplit=1) for line in lines if line and not line.startswith("#")]
    if any(len(pair) != 2 for pair in pairs):
        raise CannotRun(f"settings {path}: each line must be a name and a value")
    return dict(pairs)


def settings_path(wanted: Wanted) -> str:
    name = wanted.settings or ("small" if wanted.is_local else "cluster")
    bundled = os.path.join(SETTINGS, f"{name}.conf")
    return bundled if "/" not in name and os.path.exists(bundled) else name


def _options(wanted: Wanted, log: str, scratch: str) -> dict[str, str]:
    options = read_settings(settings_path(wanted))
    secret = os.environ.get("SMOKE_SPARK_SECRET")
    if secret:
        options.update({"spark.authenticate": "true", "spark.authenticate.secret": secret})
    java = [
        options.get("spark.driver.extraJavaOptions", ""),
        f"-Dlog4j2.configurationFile={SETTINGS}/log4j2.properties",
        f"-Dsmoke.log={log}",
    ]
    options["spark.driver.extraJavaOptions"] = " ".join(filter(None, java))
    if wanted.is_local:
        options.setdefault("spark.local.dir", scratch)
        # Spark asks for the address of the machine's own name; on a fresh machine that name may have none
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return options


class _Starter:
    """Starts one session: by which archive of classes, and what is said when it fails."""

    def __init__(self, wanted: Wanted, options: dict[str, str], log: str) -> None:
        self._wanted = wanted
        self._options = options
        self._log = log
        self._archive = _archive(options) if wanted.is_local else ""
        self._fresh = f"{self._archive}.{os.getpid()}"
        self.is_done = False

    def spark(self) -> Any:
        self._use_classes()
        try:
            return within(self._wanted.deadline_s, self._start)
        except TimeoutError:
            _kill_jvm()
            raise CannotRun(self._why(f"no Spark session within {self._wanted.deadline_s:.0f} s")) from None
        except Exception as error:
            _kill_jvm()
            raise CannotRun(self._why(f"Spark did not start: {spark_errors.first_line(error)}")) from error

    def _start(self) -> Any:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(self._wanted.master).appName("smoke nightly")
        for name, value in self._options.items():
            builder = builder.config(name, value)
        with _stderr_to(self._log):
            spark = builder.getOrCreate()
        if not self._wanted.is_local:
            # a master without a free worker takes the application and then never runs it
            spark.range(1).count()
        return spark

    @property
    def makes_classes(self) -> bool:
        return bool(self._archive) and not os.path.exists(self._archive)

    def _use_classes(self) -> None:
        """The JVM's class archive of an earlier run saves half of the start; the first run makes it."""
        if not self._archive:
            return
        used = f"-XX:SharedArchiveFile={self._archive}"
        if self.makes_classes:
            used = f"-XX:ArchiveClassesAtExit={self._fresh}"
        self._options["spark.driver.extraJavaOptions"] += f" {used} -Xlog:cds=off -Xlog:cds+dynamic=off"

    def keep_classes(self) -> None:
        """Of a run that did all of its work: one that failed early knows few classes."""
        if not self._archive or not os.path.exists(self._fresh):
            return
        if self.is_done:
            os.replace(self._fresh, self._archive)
        else:
            os.unlink(self._fresh)

    def _why(self, said: str) -> str:
        """With what the JVM's log says, and the likeliest cause."""
        if not self._wanted.is_local and "spark.authenticate.secret" not in self._options:
            said += "; no secret is set here (SMOKE_SPARK_SECRET): a master that asks for one does not answer"
        last = spark_errors.last_problem(self._log)
        return f"{said}; {last}" if last else said


@contextlib.contextmanager
def _stderr_to(path: str) -> Iterator[None]:
    """What the JVM says before its log is set up belongs into the log too."""
    kept = os.dup(2)
    try:
        with open(path, "ab") as log:
            os.dup2(log.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _archive(options: dict[str, str]) -> str:
    """One per JVM, Spark and options; empty where there is no place for it."""
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "fleet-smoke")
    try:
        os.makedirs(cache, exist_ok=True)
        java = subprocess.run([_java(), "-version"], capture_output=True, timeout=20, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return ""
    spec = importlib.util.find_spec("pyspark")
    origin = spec.origin if spec and spec.origin else ""
    modified = os.path.getmtime(origin) if origin else 0
    key = repr((java, origin, modified, options.get("spark.driver.extraJavaOptions", "").split(" -D")[0]))
    return os.path.join(cache, f"spark-{hashlib.sha256(key.encode()).hexdigest()[:16]}.jsa")


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return os.path.join(home, "bin", "java") if home else "java"


def _end(spark: Any, graceful: bool) -> None:
    """Stop the session, and its JVM with it. A graceful end gives it the time to write its class archive."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    with contextlib.suppress(Exception):  # a JVM that died already
        spark.stop()
    process = getattr(gateway, "proc", None)
    _forget()
    if not process:
        return
    try:
        gateway.shutdown()
        if not graceful:
            process.kill()
        with contextlib.suppress(OSError):
            process.stdin.close()
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()


def _kill_jvm() -> None:
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    if process:
        process.kill()
        process.wait(10)
    _forget()


def _forget() -> None:
    """The next session of this process starts a JVM of its own."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
