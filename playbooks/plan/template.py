"""A playbook's steps with one machine's facts in them: arguments, conditions, and each of a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inventory.errors import SmokeError
from playbooks import placeholders
from playbooks.fact_schema import ALWAYS, Fact
from playbooks.model import Condition, Playbook, Step
from playbooks.placeholders import EACH, Placeholder


class FoundLater(SmokeError):
    """A fact that is found only later."""

    def __init__(self, need: str) -> None:
        self.need = need
        super().__init__(f"{need} is determined later")


class NotTold(SmokeError):
    """A fact that the machine does not tell, and that a command needs."""


@dataclass(frozen=True)
class Action:
    """One thing to do: a step, or one turn of a step with `each`. key: its number, `7` or `7.2`."""

    key: str
    step: Step
    each: str = ""


@dataclass(frozen=True)
class Filling:
    """Facts by need, with those that are always known."""

    playbook: Playbook
    facts: Mapping[str, Fact]

    def value(self, name: Placeholder, each: str = "") -> str:
        """FoundLater, or an empty text where the machine does not tell."""
        if name == EACH:
            return each
        if name.need not in self.facts:
            raise FoundLater(name.need)
        return self.facts[name.need].words(name.field)

    def is_late(self, name: Placeholder) -> bool:
        return name != EACH and name.need not in self.facts

    def argv(self, words: Sequence[str], each: str = "") -> tuple[str, ...]:
        """A command's arguments. FoundLater, NotTold."""
        return tuple(placeholders.fill(word, lambda name: self._needed(name, each)) for word in words)

    def input(self, text: str, each: str = "") -> str:
        """Likewise, for a command's standard input."""
        return placeholders.fill(text, lambda name: self._needed(name, each))

    def words(self, text: str, each: str = "") -> str:
        """A sentence for a person. FoundLater."""
        return placeholders.fill(text, lambda name: self.value(name, each) or "(unknown)")

    def holds(self, condition: Condition | None) -> bool:
        """Whether a step is for this machine. FoundLater."""
        if condition is None:
            return True
        return condition.holds(*(placeholders.fill(side, self.value) for side in (condition.left, condition.right)))

    def actions(self, number: int, step: Step) -> list[Action]:
        """What a step is on this machine: one action, or one for each of a list. FoundLater."""
        if not step.each:
            return [Action(str(number), step)]
        need, _, field = step.each.partition(".")
        if need not in self.facts:
            raise FoundLater(need)
        values = self.facts[need].values.get(field, ())
        assert isinstance(values, tuple)
        return [Action(f"{number}.{turn}", step, value) for turn, value in enumerate(values, 1)]

    def _needed(self, name: Placeholder, each: str) -> str:
        value = self.value(name, each)
        if not value:
            raise NotTold(f"{name} is unknown on this machine, and the command requires it")
        return value


def always(host: str, address: str, cluster: str, run_id: str) -> dict[str, Fact]:
    """The facts that every playbook may name."""
    known = {"host": {"name": host, "address": address, "cluster": cluster}, "run": {"id": run_id}}
    assert set(known) == set(ALWAYS)
    return {name: Fact(name, {field: value for field, value in values.items() if value})
            for name, values in known.items()}  # fmt: skip
