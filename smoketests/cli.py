"""smoke: check machines, show what is about to fail. Arguments, printing and exit codes; nothing else."""

from __future__ import annotations

import difflib
import importlib
import os
import signal
import sys
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from agent import __version__, engine, report
from agent.formats.text import printable
from agent.host import CannotTell, NotApplicable
from agent.report import Report
from agent.status import EXIT_CODES, UNKNOWN, worst
from inventory.errors import SmokeError
from smoketests import show
from smoketests.commands.cli_options import JOBS, SSH

if TYPE_CHECKING:
    from smoketests.results.run_results import Survey

# Nagios' unknown. Click's own 2 would read as critical.
USAGE_ERROR = EXIT_CODES[UNKNOWN]
INTERRUPTED = 130
MOST_BAD_LINES = 20


# Commands with files of their own, loaded when they are wanted.
ELSEWHERE = {
    "bundle": "smoketests.commands.bundle:bundle",
    "gate": "smoketests.commands.gate:gate",
    "inventory": "smoketests.commands.inventory:inventory",
    "nightly": "smoketests.commands.nightly:nightly",
    "place": "placement.command:place",
    "playbook": "playbooks.commands.playbook:playbook",
    "report": "smoketests.commands.report:report_command",
}
# the playbooks that a check leads to, a line each
WHAT_TO_DO = "playbooks.show:of_check"


class Commands(click.Group):
    """The commands of this file and those of ELSEWHERE; a mistyped one gives a hint."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted([*super().list_commands(context), *ELSEWHERE])

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in ELSEWHERE:
            return super().get_command(context, name)
        command: click.Command = _elsewhere(ELSEWHERE[name])
        return command

    def invoke(self, context: click.Context) -> Any:
        """The one place where an error becomes its sentence and an exit code."""
        try:
            return super().invoke(context)
        except (SmokeError, CannotTell, NotApplicable) as error:
            for line in str(error).splitlines():
                _say(printable(line))
            sys.exit(getattr(error, "exit_code", USAGE_ERROR))


def _elsewhere(place: str) -> Any:
    """What is behind `module:name`, loaded now."""
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(module), attribute)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="smoke")
def smoke() -> None:
    """Hardware health and smoke tests for on-premises Kafka and ZooKeeper machines.

    Exit codes are Nagios': 0 ok, 1 warning, 2 critical, 3 unknown or wrong usage.
    """


def _check_names(_context: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    return [name for name in _names(clusters=True) if name.startswith(start)]


def _names(clusters: bool) -> list[str]:
    """What can be asked of a machine, and of clusters."""
    if not clusters:
        return engine.names()
    from smoketests.results import run

    return run.check_names()


OPTIONS = (
    click.option("--format", "-f", "format_name", type=click.Choice(list(show.FORMATS)), default="table"),
    click.option("--store", metavar="DIR", help="Also store the report in DIR/date=YYYY-MM-DD/."),
    click.option("--only-problems", "-p", is_flag=True, help="Leave out what is ok or skipped."),
    click.option(
        "--deadline",
        type=click.FloatRange(1, 3600),
        default=engine.RUN_DEADLINE_S,
        show_default=True,
        metavar="SECONDS",
        help="Deadline of the whole run.",
    ),
    click.option("--expected", type=click.Path(exists=True, dir_okay=False), help="The expected machine, as JSON."),
    click.option("--state", metavar="FILE", help="State file between runs (default: the agent's own)."),
    click.option("--no-write-probe", is_flag=True, help="Do not write the one byte that proves a mount writable."),
)


OF_MANY = (
    click.option("--inventory", "-i", "inventories", multiple=True, metavar="FILE",
                 help="Check the hosts of this inventory over SSH instead of this machine. Repeatable."),
    click.option("--limit", "-l", default="", metavar="PATTERN",
                 help="Only these hosts: kafka-a03, kafka-a*, kafka-a[01-14], !kafka-a07; comma separated."),
    click.option("--cluster", default="", metavar="NAME", help="Only this cluster."),
    click.option("--role", default="", metavar="ROLE", help="Only brokers, zookeepers, controllers."),
    click.option("--layout", default="", metavar="LAYOUT", help="Only jbod or raid10."),
    JOBS,
    *SSH,
)  # fmt: skip


def looking(command: Any) -> Any:
    """The options of every command that looks at machines."""
    for option in reversed([*OF_MANY, *OPTIONS]):
        command = option(command)
    return command


@smoke.command("all")
@looking
def all_checks(**options: Any) -> None:
    """Run all checks: on this machine, or on the hosts of an inventory and their clusters (-i)."""
    _choose((), **options)


@smoke.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=_check_names)
@looking
def check(names: Sequence[str], **options: Any) -> None:
    """Run some checks only; `smoke list` names them."""
    for name in names:
        _known(name, clusters=bool(options["inventories"]))
    _choose(names, **options)


@smoke.command("list")
def list_checks() -> None:
    """List every check with its question."""
    from smoketests.commands import explain

    for name in _names(clusters=True):
        click.echo(f"{name:<20} {explain.question(name)}{'' if name in engine.names() else '  (with -i)'}")


@smoke.command("explain")
@click.argument("name", shell_complete=_check_names)
def explain_check(name: str) -> None:
    """Explain a check: its question, limits, thresholds per status, how it becomes ok again, and what to do."""
    from smoketests.commands import explain

    if name == "gate":
        click.echo(explain.gate())
        return
    _known(name, clusters=True)
    click.echo(explain.explain(name))
    for line in _elsewhere(WHAT_TO_DO)(name):
        click.echo(line)


@smoke.command()
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option(
    "--check", "existing", is_flag=True, help="check an existing recording for content that it must not contain"
)
def record(folder: str, existing: bool) -> None:
    """Record this machine, redacted, in DIR: a recording that tests can replay.

    It holds known parts of known files and tools only. Secrets are removed; serial numbers, MAC and IP addresses, home
    folders and the host's name are replaced. DIR/removed.txt says what was removed. Read it before you share it.
    """
    from smoketests.commands import record as recording

    sys.exit(recording.look_over(folder) if existing else recording.make(folder))


@smoke.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a completion script: source <(smoke completion bash)"""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind
    click.echo(kind(smoke, {}, "smoke", "_SMOKE_COMPLETE").source())


def _known(name: str, clusters: bool) -> None:
    """Stop with a suggestion unless there is such a check."""
    known = _names(clusters)
    if name in known:
        return
    if name in _names(clusters=True):
        raise click.UsageError(f"{name} checks a cluster: name its inventory with -i")
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}?" if near else "`smoke list` names them all"
    raise click.UsageError(f"no check named {name!r}; {hint}")


def _choose(names: Sequence[str], **options: Any) -> None:
    """This machine, or many."""
    of_many = ("limit", "cluster", "role", "layout", "known_hosts", "identity", "ssh_config", "ask_sudo")
    if options["inventories"]:
        if options["expected"]:
            raise click.UsageError("--expected is for this machine; with -i the inventory has the expected values")
        _look_at_many(names, **options)
    for name in of_many:
        if options[name]:
            raise click.UsageError(f"--{name.replace('_', '-')} needs an inventory (-i)")
    own = ("format_name", "store", "only_problems", "deadline", "expected", "state", "no_write_probe")
    _look(names, **{name: options[name] for name in own})


def _look_at_many(names: Sequence[str], **options: Any) -> NoReturn:
    from smoketests.results import run

    format_name, only_problems = options["format_name"], options["only_problems"]
    password = click.prompt("sudo password on the hosts", hide_input=True, err=True) if options["ask_sudo"] else ""
    wanted = run.RunOptions(
        options["inventories"], options["limit"], options["cluster"], options["role"], options["layout"], names,
        options["jobs"], options["deadline"], options["known_hosts"], options["identity"], options["ssh_config"],
        password, not options["no_write_probe"], options["store"] or "", options["state"] or "",
        show.needs_all(format_name, only_problems),
    )  # fmt: skip
    seen = run.ask(wanted, _say)
    _print(seen, format_name, only_problems)
    for problem in seen.bad_lines[:MOST_BAD_LINES]:
        _say(printable(problem))
    sys.exit(seen.exit_code)


def _print(seen: Survey, format_name: str, only_problems: bool) -> None:
    if format_name == "table" and len(seen.asked) == 1:
        one = seen.report(seen.asked[0])
        of_cluster = seen.of_cluster(seen.asked[0].cluster)
        click.echo(show.render("table", [one._replace(findings=[*one.findings, *of_cluster])], only_problems))
        return
    if format_name == "table" and not seen.asked and len(seen.clusters) == 1:
        header = {"host": seen.clusters[0].name, "at": seen.at}
        click.echo(show.render("table", [Report(header, seen.judged(), [])], only_problems))
        return
    for part in show.many(format_name, seen, only_problems):
        click.echo(part)


def _look(
    names: Sequence[str],
    format_name: str,
    store: str | None,
    only_problems: bool,
    deadline: float,
    expected: str | None,
    state: str | None,
    no_write_probe: bool,
) -> None:
    run_id = uuid.uuid4().hex
    arguments = [*names, "--run-id", run_id]
    arguments += ["--expected", os.path.abspath(expected)] if expected else []
    arguments += ["--state", os.path.abspath(state)] if state else []
    arguments += ["--no-write-probe"] if no_write_probe else []
    lines, failed = _ask(arguments, deadline)
    seen = report.read(lines)
    unkept = _store(store, run_id, seen, lines) if store and lines else ""
    click.echo(show.render(format_name, [seen], only_problems))
    for problem in filter(None, [*seen.bad_lines, failed, unkept]):
        _say(problem)
    statuses = [finding["status"] for finding in seen.findings]
    statuses += [UNKNOWN] if failed or unkept or seen.bad_lines or not statuses else []
    sys.exit(EXIT_CODES[worst(statuses)])


def _ask(arguments: Sequence[str], deadline_s: float) -> tuple[list[str], str]:
    """The agent's lines, and what went wrong with it or nothing."""
    from smoketests.remote import local

    lines: list[str] = []
    try:
        for line in local.lines(arguments, deadline_s):
            lines.append(line)
            _progress(f"\r{len(lines) - 1} findings …")
    except local.AgentFailed as error:
        return lines, str(error)
    finally:
        _progress("\r\033[K")
    return lines, ""


def _say(words: str) -> None:
    click.echo(f"smoke: {words}", err=True)


def _progress(words: str) -> None:
    """A line that says that we are at work; only on a terminal, and gone afterwards."""
    if sys.stderr.isatty():
        click.echo(words, nl=False, err=True)


def _store(store: str, run_id: str, seen: Report, lines: Sequence[str]) -> str:
    """Keep the report; what went wrong, or nothing."""
    from smoketests.results import store as results

    try:
        results.write(store, run_id, str(seen.header.get("at", "")), lines)
    except (OSError, ValueError) as error:
        return f"cannot store the report in {store}: {error}"
    return ""


def main() -> None:
    """The `smoke` command."""
    try:
        code = smoke.main(prog_name="smoke", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.Abort:
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(USAGE_ERROR)
    except BrokenPipeError:
        # the reader (head, less) had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(INTERRUPTED)
    finally:
        # all is said: from here on Ctrl-C ends us without a word
        signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
