"""Regular expressions that are compiled when they are first needed.

The agent knows some 250 of them and needs few in a run on a healthy machine; compiling them all costs every broker
30 ms of processor time in every run.
"""

from __future__ import annotations

import re
from typing import Any, Optional, Pattern, Union, cast


class _Later:
    """Stands for a compiled pattern, and becomes one at the first question."""

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags
        self._compiled: Optional[Pattern[str]] = None

    def __getattr__(self, name: str) -> Any:
        if self._compiled is None:
            self._compiled = re.compile(self._text, self._flags)
        method = getattr(self._compiled, name)
        setattr(self, name, method)  # found without this detour from now on: some are asked for each line of a log
        return method


def pattern(text: str, flags: Union[int, re.RegexFlag] = 0) -> Pattern[str]:
    """Like re.compile, later: an error in `text` shows at the first use."""
    return cast(Pattern[str], _Later(text, int(flags)))
