"""The terminal: how wide the output is, whether it is coloured, and how a style looks. Nothing else in show knows."""

from __future__ import annotations

import os
import shutil
import sys

from agent.status import CRITICAL, OK, SKIPPED, UNKNOWN, WARNING

# rich's names of styles
BOLD, CYAN = "bold", "cyan"
STATUS_STYLES = {CRITICAL: "bold red", UNKNOWN: "magenta", WARNING: "yellow", OK: "green", SKIPPED: "dim"}
NARROWEST, WIDEST, WITHOUT_TERMINAL = 60, 200, 100


def is_coloured() -> bool:
    """On a terminal only, and never against NO_COLOR (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def width(widest: int = WIDEST, without_terminal: int = WITHOUT_TERMINAL) -> int:
    """Columns: those of the terminal or of COLUMNS, within bounds."""
    if "COLUMNS" in os.environ or sys.stdout.isatty():
        return min(max(shutil.get_terminal_size().columns, NARROWEST), widest)
    return without_terminal


def painted(text: str, style: str) -> str:
    """The text between the escape sequences of one of rich's styles; as it is without a style."""
    if not style:
        return text
    from rich.color import ColorSystem
    from rich.style import Style

    return Style.parse(style).render(text, color_system=ColorSystem.STANDARD)
