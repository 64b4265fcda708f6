"""A run in progress: its plan and journal, the machine, the prompt, and the facts determined on the way."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.formats.text import printable
from agent.host import CannotTell
from inventory.errors import SmokeError
from playbooks.fact_schema import Fact
from playbooks.facts import Look, NotFound, find
from playbooks.model import Playbook
from playbooks.placeholders import Placeholder
from playbooks.plan.plan import Plan, as_json
from playbooks.plan.template import Action, Filling, FoundLater
from playbooks.run import disk_safety, progress
from playbooks.run.journal import Journal
from playbooks.run.prompt import Interrupts, Person
from playbooks.target import Say, Target
from smoketests.gate import lock, shared_lock

LOCK_MINUTES = 60.0
MAX_GO_AGE_S = 60.0


class Failed(SmokeError):
    """A step failed, the gate says NO-GO, or it would be dangerous to go on; the message says what."""


class NotKnown(SmokeError):
    """What has to be known to go on cannot be told; the message says what."""


@dataclass
class Session:
    """accept: rule of the gate -> why its answer is taken. yes: nobody is asked.

    max_go_age_s: how old the gate's GO may be when something is taken away.
    """

    plan: Plan
    journal: Journal
    target: Target
    person: Person
    say: Say
    show: Say
    interrupts: Interrupts
    yes: bool = False
    accept: Mapping[str, str] = field(default_factory=dict)
    chosen: Mapping[str, str] = field(default_factory=dict)
    max_go_age_s: float = MAX_GO_AGE_S

    def __post_init__(self) -> None:
        self.progress = progress.of(self.journal.events)

    @property
    def playbook(self) -> Playbook:
        return self.plan.playbook

    @property
    def units(self) -> list[str]:
        """Those of the machine's broker and ZooKeeper server."""
        facts = {**self.plan.facts, **self.progress.facts}.values()
        return [fact.words("unit") for fact in facts if fact.kind in ("broker", "zookeeper") and fact.words("unit")]

    @property
    def servers(self) -> list[str]:
        """What a command would call them: their units and process ids."""
        facts = {**self.plan.facts, **self.progress.facts}.values()
        return [*self.units, *(fact.words("pid") for fact in facts if fact.kind in ("broker", "zookeeper"))]

    def filling(self) -> Filling:
        return self.plan.filling(self.progress.facts)

    def note(self, event: str, action: Action | None = None, **fields: object) -> None:
        """Into the journal, and into what we know."""
        self.journal.write(event, **({"step": action.key} if action else {}), **fields)
        self.progress = progress.of(self.journal.events)

    def mark(self, action: Action) -> str:
        """What finds a command of this run again among a machine's processes."""
        return f"{self.plan.id}/{action.key}"

    # facts

    def learn(self, error: FoundLater) -> None:
        """Find a fact whose time has come. NotKnown."""
        name = error.need
        need = self.playbook.needs[name]
        choice = self.plan.choice
        choice.named = {**choice.named, **self.chosen}
        facts = {**self.plan.facts, **self.progress.facts}
        look = Look(self.target.host, self.target.view(), (), facts, self.plan.disks)
        try:
            found = find(name, need.kind, look, choice, facts.get(need.of), need.optional)
        except NotFound as why:
            raise NotKnown(
                f"{why}\nOnce it is available: smoke playbook resume {self.plan.id} --choose {name}=NAME"
            ) from why
        self.note("fact", need=name, fact=as_json(found))
        self.show(f"{name}: " + ", ".join(f"{key} {found.words(key)}" for key in found.values))

    def old_disk(self, need: str) -> Fact | None:
        """The disk that the one of this need replaces: what it is `of`, else the plan's own."""
        of = self.plan.facts.get(self.playbook.needs[need].of)
        kinds = ("jbod-disk", "md-disk", "raid10-disk", "hw-raid-disk")
        others = (fact for name, fact in self.plan.facts.items() if name != need and fact.kind in kinds)
        return of if of and of.kind in kinds else next(others, None)

    def check_devices(self, action: Action, words: Sequence[Placeholder]) -> None:
        """Nothing goes on if a device is another disk by now, or the disk to be destroyed is in use. Failed."""
        known = {**self.plan.facts, **self.progress.facts}
        view = self.target.view()
        try:
            found = disk_safety.moved(view, _named(known, words))
        except CannotTell as error:
            raise NotKnown(f"cannot check the disks of {self.target.name}: {error}") from error
        need = action.step.destroys
        if need:
            untouched = need not in self.progress.touched
            found += disk_safety.refusals(view, known[need], self.old_disk(need), untouched)
        if found:
            self.note("refused", action, why=found)
            raise Failed("refused: " + "; ".join(printable(one) for one in found))

    # the maintenance lock

    def hold(self, purpose: str = "", minutes: float = LOCK_MINUTES) -> None:
        """The cluster (without an inventory, this machine) is ours from here on. Failed if it is somebody else's."""
        cluster = self.plan.cluster or f"machine {self.plan.host}"
        try:
            ours = self._kept(minutes) or self._taken(cluster, purpose or self.playbook.name, minutes)
        except lock.Held as error:
            raise Failed(f"another maintenance is in progress: {error}") from error
        except lock.CannotLock as error:
            raise NotKnown(str(error)) from error
        fields = {**vars(ours), "hosts": list(ours.hosts)}
        if fields != self.progress.lock:
            self.note("locked", lock=fields)

    def keep(self, seconds: float = 0.0) -> None:
        """What comes may outlast the lock: make it longer than these seconds. Failed if somebody else has it by now."""
        if self.progress.lock:
            try:
                self.hold(minutes=LOCK_MINUTES + 2 * seconds / 60)  # renewed when less than half of it is left
            except NotKnown as error:  # it may lie in the very server that is waited for
                self.show(f"   cannot renew the lock: {printable(str(error))}")

    def _taken(self, cluster: str, purpose: str, minutes: float) -> lock.Lock:
        """A new one; or that of this very run, which was killed before it could write down that it has it."""
        owner = f"{lock.owner()}, run {self.plan.id}"
        try:
            return shared_lock.take(
                self.target.store, [self.plan.host], cluster, owner, purpose, minutes, self.target.cluster
            )
        except lock.Held as error:
            if not error.lock.owner.endswith(f", run {self.plan.id}"):
                raise
            return shared_lock.renew(error.lock, minutes, self.target.cluster)

    def _kept(self, minutes: float) -> lock.Lock | None:
        """The lock that we have, longer if it would soon end; None if we have none or it is gone."""
        if not self.progress.lock:
            return None
        ours = self._lock(self.progress.lock)
        if ours.until - time.time() > minutes * 60 / 2 and any(one.id == ours.id for one in self._held()):
            return ours
        try:
            return shared_lock.renew(ours, minutes, self.target.cluster)
        except lock.CannotLock:
            return None  # it ended and was swept away, or another user released it: then it can be taken anew

    def _held(self) -> list[lock.Lock]:
        return shared_lock.held(self.target.store, self.target.cluster)

    def _lock(self, said: Mapping[str, Any]) -> lock.Lock:
        """As it was written down; the store may have another name today."""
        return lock.Lock(**{**said, "hosts": tuple(said["hosts"]), "store": self.target.store})

    def let_go(self) -> None:
        """Give the lock back."""
        if self.progress.lock:
            ours = self._lock(self.progress.lock)
            try:
                shared_lock.release(ours, self.target.cluster)
            except lock.CannotLock as error:
                self.say(f"cannot release the lock {ours.id}: {error}")
            self.note("unlocked", lock=ours.id)


def _named(known: Mapping[str, Fact], words: Sequence[Placeholder]) -> Iterator[tuple[str, Fact, str]]:
    for name in words:
        if name.need in known:
            yield name.need, known[name.need], name.field
