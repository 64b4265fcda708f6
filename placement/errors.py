"""Errors of placement plans."""

from __future__ import annotations

from inventory.errors import SmokeError


class PlacementError(SmokeError):
    """Why there is no plan: something needed is missing or makes no sense, such as a size, a rack or a name."""


class Impossible(PlacementError):
    """No plan keeps the hard rules; the message names the partition and the rule."""

    exit_code = 2
