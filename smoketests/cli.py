"""smoke: look at machines, show what is about to fail. Arguments, printing and exit codes; nothing else."""

from __future__ import annotations

import difflib
import os
import sys
import uuid
from collections.abc import Sequence
from typing import Any

import click

from agent import __version__, engine, report
from agent.report import Report
from agent.status import EXIT_CODES, UNKNOWN, worst
from smoketests import show

# Nagios' unknown. Click's own 2 would read as critical.
USAGE_ERROR = EXIT_CODES[UNKNOWN]
INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="smoke")
def smoke() -> None:
    """Hardware health and smoke tests for on-premises Kafka and ZooKeeper machines.

    Exit codes are Nagios': 0 ok, 1 warning, 2 critical, 3 unknown or wrong usage.
    """


def _check_names(_context: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    return [name for name in engine.names() if name.startswith(start)]


OPTIONS = (
    click.option("--format", "-f", "format_name", type=click.Choice(list(show.FORMATS)), default="table"),
    click.option("--store", metavar="DIR", help="Also keep the report in DIR/date=YYYY-MM-DD/."),
    click.option("--only-problems", "-p", is_flag=True, help="Leave out what is ok or skipped."),
    click.option(
        "--deadline",
        type=click.FloatRange(1, 3600),
        default=engine.RUN_DEADLINE_S,
        show_default=True,
        metavar="SECONDS",
        help="For the whole run.",
    ),
    click.option(
        "--expected", type=click.Path(exists=True, dir_okay=False), help="What this machine should be, as JSON."
    ),
    click.option("--state", metavar="FILE", help="Memory between runs (default: the agent's own place)."),
    click.option("--no-write-probe", is_flag=True, help="Do not write the one byte that proves a mount writable."),
)


def looking(command: Any) -> Any:
    """The options of every command that looks at a machine."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@smoke.command("all")
@looking
def all_checks(**options: Any) -> None:
    """Look at everything on this machine."""
    _look((), **options)


@smoke.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=_check_names)
@looking
def check(names: Sequence[str], **options: Any) -> None:
    """Look at some things only; `smoke list` names them."""
    for name in names:
        _known(name)
    _look(names, **options)


@smoke.command("list")
def list_checks() -> None:
    """Name every check and the question it asks."""
    from smoketests import explain

    for name in engine.names():
        click.echo(f"{name:<14} {explain.question(name)}")


@smoke.command("explain")
@click.argument("name", shell_complete=_check_names)
def explain_check(name: str) -> None:
    """Tell what a check asks, its limits, when it turns which colour, how it becomes ok again, and what to do."""
    from smoketests import explain

    _known(name)
    click.echo(explain.explain(name))


@smoke.command()
@click.argument("folder", metavar="DIR", type=click.Path())
def record(folder: str) -> None:
    """Write this machine, redacted, to DIR: a recording that tests can replay.

    Serial numbers, MAC and IP addresses and the host's name are replaced. Read it before you give it away.
    """
    from smoketests import local

    try:
        findings = len(list(local.lines(["--record", os.path.abspath(folder)], engine.RUN_DEADLINE_S))) - 1
    except local.AgentFailed as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{folder}: a recorded machine with {findings} findings, redacted; read it before you give it away")


@smoke.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a completion script: source <(smoke completion bash)"""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind
    click.echo(kind(smoke, {}, "smoke", "_SMOKE_COMPLETE").source())


def _known(name: str) -> None:
    """Stop with a suggestion unless there is such a check."""
    if name not in engine.names():
        near = difflib.get_close_matches(name, engine.names(), 1)
        hint = f"did you mean {near[0]}?" if near else "`smoke list` names them all"
        raise click.UsageError(f"there is no check named {name!r}; {hint}")


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
        click.echo(f"smoke: {problem}", err=True)
    statuses = [finding["status"] for finding in seen.findings]
    statuses += [UNKNOWN] if failed or unkept or seen.bad_lines or not statuses else []
    sys.exit(EXIT_CODES[worst(statuses)])


def _ask(arguments: Sequence[str], deadline_s: float) -> tuple[list[str], str]:
    """The agent's lines, and what went wrong with it or nothing."""
    from smoketests import local

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


def _progress(words: str) -> None:
    """A line that says that we are at work; only on a terminal, and gone afterwards."""
    if sys.stderr.isatty():
        click.echo(words, nl=False, err=True)


def _store(store: str, run_id: str, seen: Report, lines: Sequence[str]) -> str:
    """Keep the report; what went wrong, or nothing."""
    from smoketests import store as results

    try:
        results.write(store, run_id, str(seen.header.get("at", "")), lines)
    except (OSError, ValueError) as error:
        return f"the report could not be kept in {store}: {error}"
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


if __name__ == "__main__":
    main()
