"""The table an SRE reads: worst first, one line per finding, totals last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent.formats.text import printable
from agent.report import Report
from agent.status import BY_SEVERITY, CRITICAL, EXIT_CODES, FINE, OK, SKIPPED, UNKNOWN, WARNING, worst
from smoketests.show import terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Finding = Mapping[str, Any]
Row = tuple[str, str, str, str]


def render(reports: Sequence[Report], only_problems: bool = False) -> str:
    """As wide as the terminal; colours only on one, and never against NO_COLOR."""
    from rich.console import Console

    console = Console(width=terminal.width(), highlight=False, force_terminal=terminal.is_coloured())
    with console.capture() as capture:
        draw(console, reports, only_problems)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def draw(console: Console, reports: Sequence[Report], only_problems: bool = False) -> None:
    """Guesses, problems, what is well, totals."""
    for report in reports:
        for sentence in report.header.get("guessed", ()):
            console.print(printable(f"guessed {sentence}"), style="dim", markup=False)
    findings = [finding for report in reports for finding in report.findings]
    console.print(_table([f for f in findings if not only_problems or f["status"] not in FINE]))
    for report in reports:
        console.print(f"\n{totals(report)}", markup=False, style=terminal.BOLD)


def _table(findings: Sequence[Finding]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, max_width=16)
    table.add_column(overflow="fold", ratio=1)
    for status, check, sentence, playbook in rows(findings):
        words = Text(sentence)
        if playbook:
            words.append(f"  > {playbook}", style=terminal.CYAN)
        table.add_row(Text(status.upper(), style=terminal.STATUS_STYLES[status]), Text(check), words)
    return table


def rows(findings: Sequence[Finding]) -> Iterator[Row]:
    """(status, check, sentence, playbook), worst first; what is well or skipped is folded."""
    for status in reversed(BY_SEVERITY):
        of_status = sorted((f for f in findings if f["status"] == status), key=lambda f: (f["check"], f["item"]))
        if status == SKIPPED:
            yield from _skipped(of_status)
        elif status == OK:
            yield from _well(of_status)
        else:
            for finding in of_status:
                yield status, printable(finding["check"]), _sentence(finding), printable(finding["playbook"])


def _sentence(finding: Finding) -> str:
    """The reason, led by the item where the reason does not name it, and since when if that was an earlier run."""
    item, reason = printable(finding["item"]), printable(finding["reason"])
    sentence = reason if item in ("-", finding["check"]) or item in reason else f"{item}: {reason}"
    earlier = finding["first_seen"] < finding["at"]
    return f"{sentence} (since {printable(finding['first_seen'])})" if earlier else sentence


def _well(findings: Sequence[Finding]) -> Iterator[Row]:
    """A check's healthy items share a line."""
    checks: dict[str, list[Finding]] = {}
    for finding in findings:
        checks.setdefault(printable(finding["check"]), []).append(finding)
    for check, of_check in sorted(checks.items()):
        items = ", ".join(printable(finding["item"]) for finding in of_check)
        sentence = _alone(of_check[0]) if len(of_check) == 1 else f"{len(of_check)} items: {items}"
        yield OK, check, sentence, ""


def _alone(finding: Finding) -> str:
    return printable(finding["reason"])


def _skipped(findings: Sequence[Finding]) -> Iterator[Row]:
    """Checks that were skipped for the same reason share a line."""
    reasons: dict[str, dict[str, None]] = {}
    for finding in findings:
        reasons.setdefault(printable(finding["reason"]), {})[printable(finding["check"])] = None
    for reason, checks in reasons.items():
        first, *others = checks
        yield SKIPPED, first, reason + (f" (also {', '.join(others)})" if others else ""), ""


def totals(report: Report) -> str:
    """vm: 25 checks, 61 findings: 1 critical, 2 unknown, 3 warning; 2 new since 2026-11-20T03:00:00Z; exit 2"""
    findings, header = report.findings, report.header
    counts = [f"{sum(f['status'] == status for f in findings)} {status}" for status in (CRITICAL, UNKNOWN, WARNING)]
    said = f"{len({f['check'] for f in findings} - {'agent'})} checks, {len(findings)} findings: {', '.join(counts)}"
    previous = header.get("previous_at")
    if previous:
        new = sum(f["status"] not in FINE and f["first_seen"] >= f["at"] for f in findings)
        said += f"; {new} new since {printable(str(previous))}"
    overall = worst(finding["status"] for finding in findings) if findings else UNKNOWN
    return f"{printable(str(header.get('host', '')))}: {said}; exit {EXIT_CODES[overall]}"
