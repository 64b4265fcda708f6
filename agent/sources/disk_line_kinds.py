"""What a kernel line can say of a disk, a controller or a file system."""

from __future__ import annotations

import re

from agent.patterns import pattern
from agent.sources.kernel_forms import LineForm

MEDIUM = "medium error"
IO = "I/O error"
TIMEOUT = "command timeout"
RESET = "reset"
LINK = "link error"
OFFLINE = "offline"
HARDWARE = "hardware error"
PREDICTED = "failure predicted"
CORRECTED = "read error corrected by md"
MEMBER_FAILED = "md member failed"
DEGRADED = "array degraded"
CONTROLLER = "controller fault"
CONTROLLER_EVENT = "controller event"
FS_ERROR = "file system error"
FS_SHUTDOWN = "file system shutdown"
FS_STOPPED = "file system shut down by an operator"
FS_MARKED = "file system marked as damaged"
READ_ONLY = "read-only remount"
JOURNAL = "journal abort"
HUNG_TASK = "hung task"


def form(kind: str, heads: str, expression: str, each: bool = True) -> LineForm:
    return LineForm(kind, pattern(expression, re.ASCII), each, heads)
