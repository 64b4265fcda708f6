"""Reports as text, one file per format. Compute nothing; every format is `render(reports, only_problems) -> str`.

What only_problems leaves out of the rows still counts in the totals.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from agent.report import Report

# nagios and prometheus live with the agent, which must print them where no controller is installed.
FORMATS = {
    "table": "smoketests.show.table",
    "json": "smoketests.show.json",
    "junit": "smoketests.show.junit",
    "nagios": "agent.formats.nagios",
    "prometheus": "agent.formats.prometheus",
}


def render(name: str, reports: Sequence[Report], only_problems: bool = False) -> str:
    text: str = importlib.import_module(FORMATS[name]).render(reports, only_problems)
    return text
