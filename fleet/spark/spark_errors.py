"""Why Spark failed, in plain text: from its exceptions, its log, and how its JVM ended."""

from __future__ import annotations

import re
import signal
import subprocess

LONGEST = 500
# How Spark's JVM ends by itself: SparkExitCode in Spark's sources.
OUT_OF_MEMORY = 52
MORE_MEMORY = "increase spark.driver.memory in a settings file, or use --settings large"
DEATH_S = 10.0
CLASS = re.compile(r"(?<![\w.])(?:[a-z]\w*\.)+[A-Z][\w$]*: ")


def is_sparks(error: Exception) -> bool:
    """Whether Spark, its JVM or the way to it failed, and not the job."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return isinstance(error, (Py4JError, PySparkException, ConnectionError))


def words(error: Exception, process: subprocess.Popen[bytes] | None, log: str) -> str:
    """One or two sentences. log: the path of the JVM's log."""
    code = _exit_code(error, process)
    if code in (OUT_OF_MEMORY, -signal.SIGKILL) or _ran_out(error):
        killed = "was killed (usually out of memory)" if code == -signal.SIGKILL else "ran out of memory"
        return f"Spark's Java process {killed}; {MORE_MEMORY}"
    if code is not None:
        said = last_problem(log)
        return f"Spark's Java process ended with code {code} during the job" + (f"; {said}" if said else "")
    return f"Spark failed: {cause(error)}"


def _exit_code(error: Exception, process: subprocess.Popen[bytes] | None) -> int | None:
    """Of a JVM that is gone, or about to be: its connections break a moment earlier."""
    from py4j.protocol import Py4JNetworkError

    if process is None:
        return None
    try:
        return process.wait(DEATH_S if isinstance(error, (Py4JNetworkError, ConnectionError)) else 0)
    except subprocess.TimeoutExpired:
        return None


def _ran_out(error: Exception) -> bool:
    return "OutOfMemoryError" in _told(error)


def _told(error: Exception) -> str:
    """With Java's trace, where there is one: it is asked for only now, and a JVM that is gone has no answer."""
    try:
        return str(error)
    except Exception:
        return ""


def cause(error: Exception) -> str:
    """The innermost cause that Java names, without the class's package."""
    causes = re.findall(r"^Caused by: (.+)$", _told(error), re.MULTILINE)
    return CLASS.sub("", causes[-1])[:LONGEST] if causes else first_line(error)


def first_line(error: Exception) -> str:
    lines = [line for line in _told(error).splitlines() if line.strip()]
    return lines[0].strip()[:LONGEST] if lines else type(error).__name__


def last_problem(log: str) -> str:
    """The last warning or error that Spark logged, as one line."""
    try:
        with open(log, encoding="utf-8", errors="replace") as file:
            lines = file.read()[-100_000:].splitlines()
    except OSError:
        return ""
    # 26/11/20 03:12:00 WARN StandaloneAppClient$ClientEndpoint: Failed to connect to master 127.0.0.1:7077
    told = [line for line in lines if re.match(r"\S+ \S+ (?:WARN|ERROR) ", line)]
    causes = [line.strip() for line in lines if line.lstrip().startswith("Caused by:")]
    last = told[-1].split(" ", 3)[-1] if told else ""
    return "; ".join(filter(None, [last, causes[-1] if causes else ""]))[:LONGEST]
