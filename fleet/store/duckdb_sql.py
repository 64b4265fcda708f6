"""What every question to DuckDB needs: text as SQL writes it, and no progress bar on a terminal."""

from __future__ import annotations

NO_BAR = "SET enable_progress_bar = false"


def literal(text: str) -> str:
    """As SQL writes a string."""
    return "'" + text.replace("'", "''") + "'"
