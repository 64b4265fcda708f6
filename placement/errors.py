"""What can go wrong with a question about placement."""

from __future__ import annotations


class PlacementError(Exception):
    """Why there is no plan, in a sentence. exit_code: what the command ends with."""

    exit_code = 3


class CannotTell(PlacementError):
    """Something needed is missing or makes no sense: a size, a rack, a name."""


class Impossible(PlacementError):
    """No plan keeps the hard rules; the message names the partition and the rule."""

    exit_code = 2
