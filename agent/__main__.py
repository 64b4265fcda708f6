"""python -m agent: look at this machine, print findings as they are ready, exit by Nagios rules.

With no controller installed it serves as a source for NRPE (--format nagios), Checkmk's local checks
(--format checkmk), node_exporter's textfile collector (--format prometheus), or anything that reads JSON lines.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Iterator, List, NoReturn, Optional

from agent import __version__, engine, guess, report
from agent.expected import BadExpectation, Expected, from_json, split_password
from agent.host import CannotTell, Host, Stuck, together
from agent.live import LiveHost
from agent.state import State
from agent.status import EXIT_CODES, OK, UNKNOWN, Finding, Verdict, unknown, worst

if TYPE_CHECKING:
    from agent.recording import RecordingHost

FORMATS = ("jsonl", "nagios", "checkmk", "prometheus")
USAGE_ERROR = EXIT_CODES[UNKNOWN]
GRACE_S = 5.0
GUESS_DEADLINE_S = 10.0


def main(argv: Optional[List[str]] = None) -> int:
    arguments = _parser().parse_args(argv)
    unknown_names = sorted(set(arguments.checks) - set(engine.names()))
    if unknown_names:
        print(f"no check named {unknown_names[0]!r}; there are: {', '.join(engine.names())}", file=sys.stderr)
        return USAGE_ERROR
    try:
        expected = _expected(arguments)
    except (BadExpectation, OSError) as error:
        print(f"--expected: {error}", file=sys.stderr)
        return USAGE_ERROR
    if arguments.record and os.path.exists(arguments.record) and os.listdir(arguments.record):
        print(f"--record: {arguments.record} is not empty", file=sys.stderr)
        return USAGE_ERROR
    machine = LiveHost(expected)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, _frame: _interrupted(machine, got))
    _watch(machine, arguments.deadline)
    try:
        return _run(machine, arguments)
    finally:  # also when nobody reads us any more
        machine.close()


def _interrupted(machine: LiveHost, number: int) -> None:
    """Told to end: nothing that we started is left running."""
    machine.close()
    _end(128 + number)


def _watch(machine: LiveHost, deadline_s: float) -> None:
    """End the program a little after its deadline, whatever it hangs on."""
    timer = threading.Timer(deadline_s + GRACE_S, _give_up, (machine,))
    timer.daemon = True
    timer.start()


def _give_up(machine: LiveHost) -> None:
    machine.close()
    print(f"the agent itself hangs: no end {GRACE_S:.0f} s after its deadline", file=sys.stderr)
    _end(EXIT_CODES[UNKNOWN])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m agent", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checks", nargs="*", metavar="CHECK", help="only these checks (default: all)")
    parser.add_argument("--format", choices=FORMATS, default="jsonl")
    parser.add_argument("--expected", metavar="FILE", help="what this machine should be, as JSON; - for standard input")
    parser.add_argument(
        "--state", metavar="FILE", default=default_state_path(), help="memory between runs (default: %(default)s)"
    )
    parser.add_argument(
        "--deadline",
        type=float,
        default=engine.RUN_DEADLINE_S,
        metavar="SECONDS",
        help="for the whole run (default: %(default).0f)",
    )
    parser.add_argument(
        "--no-write-probe", action="store_true", help="do not write the one byte that proves a data mount writable"
    )
    parser.add_argument("--output", metavar="FILE", help="write there, whole and at once, instead of printing")
    parser.add_argument("--run-id", default="", help=argparse.SUPPRESS)
    parser.add_argument(
        "--record", metavar="DIR", help="also write this machine, redacted, to a folder that can be replayed"
    )
    parser.add_argument("--version", action="version", version=f"fleet-smoke agent {__version__}")
    return parser


def default_state_path() -> str:
    """Root keeps its memory in /var/lib; anyone else in their own state folder."""
    if os.geteuid() == 0:
        return "/var/lib/fleet-smoke/state.json"
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(home, "fleet-smoke", "state.json")


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


def _run(machine: Host, arguments: argparse.Namespace) -> int:
    remembering = _load_state(machine, arguments.state)
    recorder = _recorder(machine) if arguments.record else None
    host = recorder or machine
    host.expected = _guessed(host)
    run = report.about(host, arguments.run_id or os.urandom(16).hex())
    lines = [report.header(run, host)]
    stream = arguments.format == "jsonl" and not arguments.output
    if stream:
        print(lines[0], flush=True)
    statuses: List[str] = []
    for finding in _findings(host, machine, arguments, remembering):
        statuses.append(finding.status)
        lines.append(report.line(run, finding))
        if stream:
            print(lines[-1], flush=True)
    if not stream:
        _write(machine, arguments, lines)
    if recorder:
        recorder.write(arguments.record)
    return EXIT_CODES[worst(statuses)]


def _recorder(machine: Host) -> RecordingHost:
    """Loaded only when a recording is asked for: it costs every run 5 ms."""
    from agent.recording import RecordingHost

    return RecordingHost(machine)


def _guessed(host: Host) -> Expected:
    """What this machine should be. Where even that hangs (reading a process can, when its memory is on a dead disk),
    what earlier runs knew.
    """
    late = f"the list of processes gave no answer in {GUESS_DEADLINE_S:.0f} s"
    guessed = together({"guess": lambda: guess.guess(host)}, {"guess": GUESS_DEADLINE_S})["guess"]
    if isinstance(guessed, Expected):
        return guessed
    return guess.recall(host, late if isinstance(guessed, Stuck) else f"{type(guessed).__name__}: {guessed}")


def _findings(host: Host, machine: Host, arguments: argparse.Namespace, remembering: str) -> Iterator[Finding]:
    yield from engine.run(host, arguments.checks or None, arguments.deadline)
    yield _save_state(machine, arguments.state, remembering)


def _write(machine: Host, arguments: argparse.Namespace, lines: List[str]) -> None:
    """All at once, in the format asked for: to standard output, or to a file that no reader sees half of."""
    text = "\n".join(lines)
    if arguments.format != "jsonl":
        text = importlib.import_module(f"agent.formats.{arguments.format}").render([report.read(lines)])
    if not arguments.output:
        print(text, flush=True)
        return
    touched = machine.touch("replace", os.path.abspath(arguments.output), text + "\n", 0o644)
    if touched.error:
        raise SystemExit(f"--output {arguments.output}: {touched.facts.get('error')}")


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
        problem = f"{path} was damaged ({error}) and is begun anew: what was new before may be told again"
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
    verdict = Verdict(OK, f"kept in {path}")
    if problem:
        verdict = unknown(f"no memory between runs, so growth and news cannot be told: {problem}")
    return Finding("agent", "state", verdict, {}, 0, host.state.first_seen("agent", "state", bool(problem)))


def _end(code: int) -> NoReturn:
    """End now: threads that hang are left behind, never joined."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    try:
        _end(main())
    except BrokenPipeError:
        os._exit(141)
    except KeyboardInterrupt:
        os._exit(130)
    except SystemExit as leaving:  # argparse leaves with 2, which would read as critical
        if isinstance(leaving.code, str):
            print(leaving.code, file=sys.stderr)
        _end(USAGE_ERROR if leaving.code else 0)
