"""python -m agent: check this machine, print findings as they are ready, exit by Nagios rules.

With no controller installed it serves as a source for NRPE (--format nagios), Checkmk's local checks
(--format checkmk), node_exporter's textfile collector (--format prometheus), or anything that reads JSON lines.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import importlib
import os
import select
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Iterator, List, NoReturn, Optional

from agent import __version__, autodetect, engine, report, supervisor
from agent.expected import BadExpectation, Expected, from_json, split_password
from agent.host import CannotTell, Host, Stuck, run_concurrently
from agent.machine import fs_worker
from agent.machine.live import LiveHost
from agent.state import State, default_state_path
from agent.status import EXIT_CODES, OK, UNKNOWN, Finding, Verdict, unknown, worst

if TYPE_CHECKING:
    from agent.recording.recorded_host import RecordingHost

FORMATS = ("jsonl", "nagios", "checkmk", "prometheus")
USAGE_ERROR = EXIT_CODES[UNKNOWN]
GRACE_S = 4.0
GUESS_DEADLINE_S = 10.0
# 64 threads with the usual 8 MB each do not fit into a small address space; ours go some 30 calls deep.
THREAD_STACK_BYTES = 1 << 20
WATCHED = ("agent", "run")
# A run makes few cycles and ends soon: the usual 700 objects cost a tenth of its processor time.
OBJECTS_BETWEEN_COLLECTIONS = 50_000
# Not asked of the terminal: that alone loads six modules.
HELP_WIDTH = 100


def main(argv: Optional[List[str]] = None) -> int:
    gc.freeze()  # what is loaded stays, and the processes to come share it
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    arguments = argument_parser().parse_args(argv)
    problem = _misused(arguments)
    if problem:
        supervisor.say(problem)
        return USAGE_ERROR
    try:
        expected = _expected(arguments)
    except (BadExpectation, OSError, UnicodeDecodeError) as error:
        supervisor.say(f"--expected: {error}")
        return USAGE_ERROR
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _told_to_end)
    threading.stack_size(THREAD_STACK_BYTES)
    output = _Output(arguments)
    statuses: List[str] = []
    ended = supervisor.run(
        lambda: _lines(arguments, expected, statuses),
        lambda: EXIT_CODES[worst(statuses)],
        arguments.deadline + GRACE_S,
        output.hear,
    )
    code = _unfinished(arguments, expected, output, ended.why) if ended.code is None else ended.code
    output.finish()
    if output.problem:
        supervisor.say(output.problem)
    return USAGE_ERROR if output.problem else code


def _misused(arguments: argparse.Namespace) -> str:
    unknown_names = sorted(set(arguments.checks) - set(engine.names()))
    if unknown_names:
        return f"no check named {unknown_names[0]!r}; available: {', '.join(engine.names())}"
    if arguments.record and os.path.exists(arguments.record) and os.listdir(arguments.record):
        return f"--record: {arguments.record} is not empty"
    return ""


def _told_to_end(number: int, _frame: object) -> None:
    raise supervisor.ToldToEnd(number)


class _Output:
    """Where the report goes: line by line to standard output, or all at once, in the format asked for."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.lines: List[str] = []
        self.problem = ""
        self._format = arguments.format
        self._path = arguments.output
        self._streams = arguments.format == "jsonl" and not arguments.output

    def hear(self, line: str) -> None:
        self.lines.append(line)
        if self._streams:
            self._print(line)

    def finish(self) -> None:
        """What was not streamed: to standard output, or to a file that no reader sees half of."""
        if self._streams:
            return
        text = "\n".join(self.lines)
        if self._format != "jsonl":
            text = importlib.import_module(f"agent.formats.{self._format}").render([report.read(self.lines)])
        if self._path:
            why = supervisor.in_time(lambda: fs_worker.touch_replace(os.path.abspath(self._path), text + "\n", 0o644))
            self.problem = f"--output {self._path}: {why}" if why else ""
        else:
            self._print(text)

    def _print(self, text: str) -> None:
        """A full disk or a closed standard output is no reason not to end the run well; a reader that left is."""
        data = b"" if self.problem else text.encode() + b"\n"
        while data:
            try:
                data = data[os.write(1, data) :]
            except BlockingIOError:
                select.select([], [1], [])
            except BrokenPipeError:
                raise
            except OSError as error:
                self.problem = f"standard output: {error.strerror}: the report is incomplete"
                return


def _unfinished(arguments: argparse.Namespace, expected: Expected, output: _Output, why: str) -> int:
    """Complete the report of a run that did not come to its end: what is missing is unknown, and the last line why."""
    heard = report.read(output.lines)
    host = Host(expected)
    host.state = State("", time.time())
    run = report.about(host, arguments.run_id or os.urandom(16).hex())
    with contextlib.suppress(KeyError, TypeError):
        run = report.Run(*(str(heard.header[name]) for name in report.Run._fields))
    reported = {finding["check"] for finding in heard.findings}
    rows = [(name, engine.NO_ITEM) for name in arguments.checks or engine.names() if name not in reported]
    for row in [*rows, WATCHED]:
        verdict = unknown(f"the agent did not finish this run: {why}")
        output.hear(report.line(run, Finding(*row, verdict, {}, 0, time.time())))
    return EXIT_CODES[worst([UNKNOWN, *(finding["status"] for finding in heard.findings)])]


def argument_parser() -> argparse.ArgumentParser:
    formatter = functools.partial(argparse.RawDescriptionHelpFormatter, width=HELP_WIDTH)
    parser = argparse.ArgumentParser(prog="python -m agent", description=__doc__, formatter_class=formatter)
    parser.add_argument("checks", nargs="*", metavar="CHECK", help="only these checks (default: all)")
    parser.add_argument("--format", choices=FORMATS, default="jsonl")
    parser.add_argument(
        "--expected", metavar="FILE", help="expected state of this machine as JSON; - for standard input"
    )
    parser.add_argument(
        "--state",
        metavar="FILE",
        default=default_state_path(),
        help="state file, kept between runs (default: %(default)s)",
    )
    parser.add_argument(
        "--deadline",
        type=float,
        default=engine.RUN_DEADLINE_S,
        metavar="SECONDS",
        help="for the whole run (default: %(default).0f)",
    )
    parser.add_argument("--no-write-probe", action="store_true", help="do not test data mounts by writing one byte")
    parser.add_argument("--output", metavar="FILE", help="write the report to FILE atomically instead of printing it")
    parser.add_argument("--run-id", default="", help=argparse.SUPPRESS)
    parser.add_argument(
        "--record", metavar="DIR", help="also record this machine, redacted, into a folder that can be replayed"
    )
    parser.add_argument("--version", action="version", version=f"fleet-smoke agent {__version__}")
    return parser


def _expected(arguments: argparse.Namespace) -> Expected:
    expected = Expected()
    if arguments.expected == "-":
        expected = _told(sys.stdin.read())
    elif arguments.expected:
        with open(arguments.expected, encoding="utf-8") as file:
            expected = from_json(file.read())
    if arguments.no_write_probe:
        expected = expected._replace(write_probe=False)
    return expected


def _told(text: str) -> Expected:
    """What the controller says; the BMC's password goes where the checks look for it, and nowhere else."""
    text, password = split_password(text)
    expected = from_json(text)
    if password:
        os.environ[expected.bmc.password_env] = password
    return expected


def _lines(arguments: argparse.Namespace, expected: Expected, statuses: List[str]) -> Iterator[str]:
    """The report, line by line; what each finding came to is noted in `statuses`."""
    machine = LiveHost(expected)
    try:
        remembering = _load_state(machine, arguments.state)
        recorder = _recorder(machine) if arguments.record else None
        host = recorder or machine
        host.expected = _guessed(host)
        run = report.about(host, arguments.run_id or os.urandom(16).hex())
        yield report.header(run, host)
        for finding in engine.run(host, arguments.checks or None, arguments.deadline):
            statuses.append(finding.status)
            yield report.line(run, finding)
        kept = _save_state(machine, arguments.state, remembering)
        statuses.append(kept.status)
        yield report.line(run, kept)
        if recorder:
            recorder.write(arguments.record)
    finally:  # also when nobody reads us any more
        machine.close()


def _recorder(machine: Host) -> RecordingHost:
    """Loaded only when a recording is asked for: it costs every run 5 ms."""
    from agent.recording.recorded_host import RecordingHost

    return RecordingHost(machine)


def _guessed(host: Host) -> Expected:
    """What this machine should be. Where even that hangs (reading a process can, when its memory is on a dead disk),
    what earlier runs knew.
    """
    late = f"the process list timed out after {GUESS_DEADLINE_S:.0f} s"
    guessed = run_concurrently({"guess": lambda: autodetect.guess(host)}, {"guess": GUESS_DEADLINE_S})["guess"]
    if isinstance(guessed, Expected):
        return guessed
    return autodetect.recall(host, late if isinstance(guessed, Stuck) else f"{type(guessed).__name__}: {guessed}")


def _load_state(host: Host, path: str) -> str:
    """Give the host its memory; what is wrong with it, or nothing."""
    problem = ""
    text = ""
    try:
        touched = host.touch("read", path)
        text = touched.facts.get("text", "")
        if touched.error not in ("", "ENOENT"):
            problem = f"{path}: {touched.facts.get('error')}"
    except CannotTell as error:
        problem = str(error)
    try:
        host.state = State(_boot_id(host), host.now(), text)
    except ValueError as error:
        problem = f"state file {path} corrupt ({error}), reset; old events may be reported again"
        host.state = State(_boot_id(host), host.now())
    return problem


def _boot_id(host: Host) -> str:
    try:
        return host.boot_id()
    except CannotTell:
        return ""


def _save_state(host: Host, path: str, problem: str) -> Finding:
    """Keep the memory for the next run. A machine whose disk is read-only or full is still worth a report."""
    try:
        touched = host.touch("replace", path, host.state.dump())
        if touched.error:
            problem = f"{path}: {touched.facts.get('error')}"
    except CannotTell as error:
        problem = str(error)
    verdict = Verdict(OK, f"saved in {path}")
    if problem:
        verdict = unknown(f"cannot save state: trends and new events unavailable: {problem}")
    return Finding("agent", "state", verdict, {}, 0, host.state.first_seen("agent", "state", bool(problem)))


def _end(code: int) -> NoReturn:
    """End now: threads that hang are left behind, never joined."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream:
                stream.flush()
        except (OSError, ValueError) as error:
            supervisor.say(f"standard output: {error}")
            code = USAGE_ERROR
    os._exit(code)


def _started() -> NoReturn:
    """The program: whatever happens, an exit code that says so, one line, and no traceback."""
    try:
        supervisor.keep_standard_files_open()
        _end(main())
    except BrokenPipeError:
        os._exit(141)
    except KeyboardInterrupt:
        os._exit(130)
    except supervisor.ToldToEnd as told:
        os._exit(128 + told.number)
    except SystemExit as leaving:  # argparse leaves with 2, which would read as critical
        _end(USAGE_ERROR if leaving.code else 0)
    except Exception as error:  # the watching process itself failed: exit 1 would read as a warning
        supervisor.say(f"the agent failed: {supervisor.words(error)}")
        os._exit(USAGE_ERROR)


if __name__ == "__main__":
    _started()
