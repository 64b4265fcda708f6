"""A fault's whole course on a host: done, seen, healed, and silent again; every other finding stays as it was.

A site waits a day until an incident is old news (`clear_after_hours`). Here the day is the time since the fault was
done, and after the healing the time since that: the inventory of each run says so, as a site's may.
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from agent import engine
from agent.status import FINE
from tests.rack import steps
from tests.rack.faults import Fault, Subject
from tests.rack.host import RackError
from tests.rack.rack import Rack

CLEARED = tuple(name for name in engine.names() if "clear_after_hours" in engine.load(name).LIMITS)
MARGIN_S = 2.0
Troubles = Mapping[Subject, tuple[str, str]]


@dataclass
class Course:
    """What came of a fault. seen_in, healed_in: runs, 0 if never. other: alarms that nobody expected."""

    fault: Fault
    seen_in: int = 0
    healed_in: int = 0
    seconds: float = 0.0
    said: str = ""
    other: list[str] = field(default_factory=list)
    problem: str = ""

    @property
    def is_good(self) -> bool:
        return bool(self.seen_in and self.healed_in and not self.other and not self.problem)


def troubles(document: Mapping[str, Any]) -> dict[Subject, tuple[str, str]]:
    """(check, item) -> status and reason of every finding that is not fine."""
    return {(row["check"], row["item"]): (row["status"], row["reason"]) for row in document["findings"]
            if row["status"] not in FINE}  # fmt: skip


def ask(rack: Rack, name: str, since: float = 0.0, changes: Mapping[str, Any] | None = None) -> Troubles:
    """`smoke all` of one host. since: the moment (seconds since the epoch) before which nothing is news."""
    if not since and not changes:
        return troubles(rack.smoke("all", "--limit", name))
    told = yaml.safe_load((rack.folder / "inventory.yaml").read_text())
    host = told["clusters"]["rack"]["hosts"][name]
    merge(host, copy.deepcopy(dict(changes or {})))
    if since:
        hours = round((time.time() - since + MARGIN_S) / 3600, 5)
        merge(host, {"limits": {check: {"clear_after_hours": hours} for check in CLEARED}})
    file = rack.folder / f"inventory-{name}.yaml"
    file.write_text(yaml.safe_dump(told))
    return troubles(rack.smoke("all", "--limit", name, inventory_file=file))


def merge(into: dict[str, Any], other: Mapping[str, Any]) -> None:
    """Mappings are merged, all else is replaced."""
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


def run(rack: Rack, fault: Fault) -> Course:
    """Do it, look, heal it, look again. What goes wrong on the way is told in the course."""
    course = Course(fault)
    began = time.monotonic()
    try:
        _see(rack, course)
    except RackError as error:
        course.problem = str(error)
    try:
        _heal(rack, course)
    except RackError as error:
        course.problem = course.problem or f"healing: {error}"
    course.seconds = time.monotonic() - began
    return course


def _see(rack: Rack, course: Course) -> None:
    fault = course.fault
    names = rack[fault.host].kernel_names()
    see, may = _named(fault.see, names), _named(fault.may, names)
    since = time.time()
    steps.do(rack[fault.host], fault.inject)
    for number in range(1, fault.runs + 1):
        if number > 1:
            time.sleep(fault.pause_s)
        found = ask(rack, fault.host, since, fault.inventory)
        if all(_fits(found, subject, status) for subject, status in see.items()):
            course.seen_in = number
            break
    course.said = "; ".join(f"{check} {item}: {found[check, item][0]}: {found[check, item][1]}"
                            for check, item in see if (check, item) in found)  # fmt: skip
    expected = {**may, **see}
    course.other = [_words(subject, told) for subject, told in found.items()
                    if not (subject in expected and told[0] in expected[subject].split("|"))]  # fmt: skip


def _named(subjects: Mapping[Subject, str], names: Mapping[str, str]) -> dict[Subject, str]:
    """`{RKJ1SATA1}` in an item is that disk's name in the kernel, which is another one after each boot."""
    return {(check, item.format_map(names)): status for (check, item), status in subjects.items()}


def _heal(rack: Rack, course: Course) -> None:
    fault = course.fault
    steps.do(rack[fault.host], fault.heal)
    since = time.time() + MARGIN_S
    time.sleep(2 * MARGIN_S)
    found: Troubles = {}
    for number in range(1, fault.heal_runs + 1):
        if number > 1:
            time.sleep(fault.pause_s)
        found = ask(rack, fault.host, since)
        if not found:
            course.healed_in = number
            return
    course.problem = "not healed: " + "; ".join(_words(subject, told) for subject, told in found.items())


def _fits(found: Troubles, subject: Subject, status: str) -> bool:
    return subject in found and found[subject][0] in status.split("|")


def _words(subject: Subject, told: tuple[str, str]) -> str:
    return f"{told[0]} {subject[0]} {subject[1]}: {told[1]}"


def healthy(rack: Rack, runs: int) -> list[str]:
    """So many runs of the whole rack, and what they said though all is well."""
    alarms = []
    for number in range(1, runs + 1):
        found = rack.smoke("all")["findings"]
        alarms += [f"run {number}: {row['host']} {row['status']} {row['check']} {row['item']}: {row['reason']}"
                   for row in found if row["status"] not in FINE]  # fmt: skip
    return alarms


def run_all(rack: Rack, faults: Sequence[Fault], say: Callable[[str], None]) -> list[Course]:
    """Hosts side by side, the faults of one host one after the other; courses in the order of the table."""
    hosts = dict.fromkeys(fault.host for fault in faults)
    done: dict[str, Course] = {}

    def of_host(name: str) -> None:
        for fault in (fault for fault in faults if fault.host == name):
            course = run(rack, fault)
            done[fault.name] = course
            say(f"{'ok ' if course.is_good else 'BAD'} {name} {fault.name} {course.seconds:.0f} s")

    workers = [threading.Thread(target=of_host, args=(name,), name=name) for name in hosts]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return [done[fault.name] for fault in faults if fault.name in done]
