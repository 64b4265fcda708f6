"""The root of every error that ends a command with a sentence."""

from __future__ import annotations

from typing import ClassVar


class SmokeError(Exception):
    """Why something cannot be done; the message is one sentence for a person, the exit code that of a command."""

    exit_code: ClassVar[int] = 3
