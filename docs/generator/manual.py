"""The commands and options of smoke and of the agent, read from click and argparse: as man pages and as Markdown."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import click

from agent import __version__
from agent.api.command_line import argument_parser
from agent.status import EXIT_CODES
from docs.generator import markdown
from docs.generator.markdown import Page
from smoketests.cli import smoke

FOLDER = "reference"
# click's mark for a paragraph whose lines stay as they are
VERBATIM = "\b"
DESCRIPTION = "Hardware health and smoke tests for Kafka and ZooKeeper machines"
# not the path of the user who writes the page
STATE = "/var/lib/fleet-smoke/state.json; without root ~/.local/state/fleet-smoke/state.json"
STATUSES = "\n\n".join(f"{code}: {', '.join(s for s, c in EXIT_CODES.items() if c == code)}" for code in range(4))


class Command(NamedTuple):
    """One command. usage: without its name. options: (how it is given, what it does)."""

    name: str
    usage: str
    text: str
    options: Sequence[tuple[str, str]]


class Manual(NamedTuple):
    """A program's manual page: the program itself, then its commands."""

    title: str
    section: int
    description: str
    commands: Sequence[Command]
    environment: Sequence[tuple[str, str]]
    see_also: Sequence[str]


def smoke_manual() -> Manual:
    """smoke(1), with every command and subcommand."""
    environment = sorted(set(_variables(smoke, "smoke")))
    return Manual("smoke", 1, DESCRIPTION, list(_walked(smoke, "smoke")), environment, ["smoke-agent(8)"])


def agent_manual() -> Manual:
    """smoke-agent(8): the agent on one machine, without a controller."""
    parser = argument_parser()
    usage = parser.format_usage().partition(":")[2].strip()
    usage = " ".join(usage.removeprefix(parser.prog).split())
    own = Command(parser.prog, usage, parser.description or "", _flags(parser))
    return Manual("smoke-agent", 8, "the agent of fleet-smoke, on one machine", [own], [], ["smoke(1)"])


def _walked(command: click.Command, name: str) -> Iterator[Command]:
    context = click.Context(command, info_name=name)
    options = [_option(one, context) for one in command.params if isinstance(one, click.Option) and not one.hidden]
    yield Command(name, " ".join(command.collect_usage_pieces(context)), inspect.cleandoc(command.help or ""), options)
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found and not found.hidden:
                yield from _walked(found, f"{name} {below}")


def _option(option: click.Option, context: click.Context) -> tuple[str, str]:
    """How it is given, and what it does; a choice without help has its default."""
    given, meaning = option.get_help_record(context) or (option.opts[0], "")
    return given, meaning or f"Default: {option.get_default(context)}"


def _variables(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """The environment variables that options read, and the option of each."""
    context = click.Context(command, info_name=name)
    for option in command.params:
        if isinstance(option, click.Option) and isinstance(option.envvar, str):
            yield option.envvar, f"default of {option.opts[-1]}"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found:
                yield from _variables(found, f"{name} {below}")


def _flags(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    rows = []
    for action in parser._actions:
        if action.help is argparse.SUPPRESS:
            continue
        choices = f"{{{','.join(map(str, action.choices))}}}" if action.choices else ""
        takes = "" if action.nargs == 0 else str(action.metavar or choices or action.dest.upper())
        given = " ".join(filter(None, [", ".join(action.option_strings), takes]))
        default = STATE if action.dest == "state" else action.default
        values = {**vars(action), "prog": parser.prog, "default": default}
        rows.append((given, (action.help or "default: %(default)s") % values))
    return rows


# man pages


def roff(manual: Manual) -> str:
    """The manual in the macros of man(7)."""
    first, *others = manual.commands
    parts = [
        f'.TH "{manual.title.upper()}" "{manual.section}" "" "fleet-smoke {__version__}"',
        f".SH NAME\n{quoted(manual.title)} \\- {quoted(manual.description)}",
        f".SH SYNOPSIS\n.B {quoted(first.name)}\n{quoted(first.usage)}",
        ".SH DESCRIPTION",
        _roff_text(first.text),
        ".SH OPTIONS",
        *_roff_options(first),
        *([".SH COMMANDS"] if others else []),
        *(part for command in others for part in _roff_command(command)),
        ".SH EXIT STATUS",
        _roff_text(STATUSES),
        *_roff_environment(manual),
        ".SH SEE ALSO",
        quoted(", ".join(manual.see_also)),
    ]
    return "\n".join(filter(None, parts)) + "\n"


def _roff_command(command: Command) -> Iterator[str]:
    yield f'.SS "{quoted(command.name)} {quoted(command.usage)}"'
    yield _roff_text(command.text)
    yield from _roff_options(command)


def _roff_options(command: Command) -> Iterator[str]:
    for given, meaning in command.options:
        yield f".TP\n.B {quoted(given)}\n{quoted(' '.join(meaning.split()))}"


def _roff_environment(manual: Manual) -> Iterator[str]:
    if manual.environment:
        yield ".SH ENVIRONMENT"
    for name, meaning in manual.environment:
        yield f".TP\n.B {quoted(name)}\n{quoted(meaning)}"


def _roff_text(text: str) -> str:
    parts = []
    for paragraph, as_it_is in paragraphs(text):
        body = "\n".join(quoted(line) for line in paragraph.splitlines())
        parts.append(f".PP\n.nf\n{body}\n.fi" if as_it_is else f".PP\n{body}")
    return "\n".join(parts)


def paragraphs(text: str) -> Iterator[tuple[str, bool]]:
    """Each paragraph, and whether its lines stay as they are."""
    for part in re.split(r"\n\s*\n", text.strip()):
        if part.strip():
            yield part.replace(VERBATIM, "").strip("\n"), VERBATIM in part


def quoted(text: str) -> str:
    r"""Text that roff prints as it is.

    >>> quoted(r".a-b\n"), quoted("'it")
    ('\\&.a\\-b\\en', "\\&'it")
    """
    text = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return f"\\&{text}" if text[:1] in (".", "'") else text


# pages of the site


def pages() -> list[Page]:
    return [_page(manual) for manual in (smoke_manual(), agent_manual())]


def _page(manual: Manual) -> Page:
    title = f"{manual.title}({manual.section})"
    commands = [part for command in manual.commands for part in _markdown(command)]
    return markdown.page(f"{FOLDER}/{manual.title}.md", title, manual.description, *commands)


def _markdown(command: Command) -> Iterator[str]:
    yield f"## {markdown.escaped(command.name)}"
    yield markdown.block(f"{command.name} {command.usage}".strip())
    for paragraph, as_it_is in paragraphs(command.text):
        yield markdown.block(paragraph) if as_it_is else markdown.escaped(paragraph)
    rows = [(markdown.code(given.replace("|", "\\|")), markdown.escaped(meaning)) for given, meaning in command.options]
    yield markdown.table(("option", ""), rows) if rows else ""
