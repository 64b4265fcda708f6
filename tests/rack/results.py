"""What came of a run of the table, as tests/rack/RESULTS.md."""

from __future__ import annotations

import os
import pathlib
import platform
import time
from collections.abc import Sequence

from tests.rack.course import Course, Healthy

RESULTS = pathlib.Path(__file__).parent / "RESULTS.md"
WIDEST = 160


def render(done: Sequence[Course], healthy: Healthy) -> str:
    """The whole file."""
    good = sum(one.is_good for one in done)
    hosts = len({one.fault.host for one in done})
    late = healthy.late + sum(one.late for one in done)
    second = [one for one in done if one.before]
    commits = ", ".join(sorted({*(one.commit for one in done), healthy.commit} - {""})) or "unknown"
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    lines = [
        "# What the rack saw",
        "",
        f"Written by `scripts/rack table` on {when}, of commit {commits}: {platform.system()} {platform.release()}, "
        f"{os.cpu_count()} processors, {hosts} hosts by software emulation. Seconds are those of this machine.",
        "",
        f"* {good} of {len(done)} faults were seen as the table says, gave no other alarm and were silent once healed.",
        f"* {len(healthy.alarms)} false alarms in {healthy.runs} runs of `smoke all` on the healthy hosts.",
        f"* {late} runs were repeated, for an emulated host missed a deadline in them, being short of processor time.",
        f"* {len(second)} faults were tried a second time, alone, for the first did not go well; why is told below.",
        "",
        "Faults that do not touch each other are done together.",
        "",
        "| fault | host | expected | seen in run | seconds | silent again in run | together with | note |",
        "|---|---|---|---|---|---|---|---|",
        *(_row(one) for one in done),
    ]
    bad = [one for one in done if not one.is_good]
    lines += ["", "## Not as the table says", ""] if bad or healthy.alarms else []
    lines += [f"* {one.fault.name}: {_cell(why)}" for one in bad for why in _whys(one)]
    lines += [f"* a healthy host: {_cell(alarm)}" for alarm in healthy.alarms]
    lines += ["", "## Tried a second time", ""] if second else []
    lines += [f"* {one.fault.name}, the first time{_cell(one.before)}" for one in second]
    lines += ["", "## What was said", ""] + [
        f"* **{one.fault.name}**: {_cell(one.said) or 'nothing, as it should be'}" for one in done
    ]
    return "\n".join(lines) + "\n"


def write(path: str, text: str) -> None:
    """Aside, then renamed."""
    aside = pathlib.Path(f"{path}.part")
    aside.write_text(text)
    aside.rename(path)


def _row(one: Course) -> str:
    fault = one.fault
    expected = "<br>".join(f"{check} {item}: {status}" for (check, item), status in fault.see.items()) or "no alarm"
    cells = [fault.name, fault.host, expected, one.seen_in or "**never**", f"{one.seconds:.0f}",
             one.healed_in or "**never**", one.together - 1 or "", fault.note]  # fmt: skip
    return "| " + " | ".join(str(cell).replace("|", " or ") for cell in cells) + " |"


def _whys(one: Course) -> list[str]:
    missing = [] if one.seen_in else [f"not seen; {one.said or 'nothing was said of it'}"]
    return [*missing, *(f"also said: {words}" for words in one.other), *([one.problem] if one.problem else [])]


def _cell(text: str) -> str:
    return " ".join(text.split())[: 4 * WIDEST].replace("|", "/")
