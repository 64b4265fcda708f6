"""Reports as text, one file per format. Compute nothing.

Of one host every format is `render(reports, only_problems) -> str`; of many `many(survey, only_problems)` gives the
text in parts, so that thousands of reports need not be held. What only_problems leaves out still counts in the totals.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agent.report import Report

if TYPE_CHECKING:
    from smoketests.results.run_results import Survey

# nagios and prometheus live with the agent, which must print them where no controller is installed.
FORMATS = {
    "table": "smoketests.show.table",
    "json": "smoketests.show.json",
    "junit": "smoketests.show.junit",
    "nagios": "agent.formats.nagios",
    "prometheus": "agent.formats.prometheus",
}
OF_MANY = {
    "table": "smoketests.show.many_hosts",
    "json": "smoketests.show.json",
    "junit": "smoketests.show.junit",
    "nagios": "smoketests.show.nagios",
    "prometheus": "smoketests.show.prometheus",
}


def render(name: str, reports: Sequence[Report], only_problems: bool = False) -> str:
    text: str = importlib.import_module(FORMATS[name]).render(reports, only_problems)
    return text


def many(name: str, seen: Survey, only_problems: bool = False) -> Iterator[str]:
    """Lines, or groups of lines."""
    parts: Iterator[str] = importlib.import_module(OF_MANY[name]).many(seen, only_problems)
    return parts


def needs_all(name: str, only_problems: bool = False) -> bool:
    """Whether this format also shows what is well, so that whole reports must be kept."""
    return name in ("junit", "prometheus") or (name == "json" and not only_problems)
