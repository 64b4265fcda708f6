"""A fault's whole course on a host: done, seen, healed, and silent again; every other finding stays as it was.

A site waits a day until an incident is old news (`clear_after_hours`). Here the day is the time since the fault was
done, and after the healing the time since that: the inventory of each run says so, as a site's may.
"""

from __future__ import annotations

import copy
import json
import re
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from agent import engine
from agent.status import FINE, UNKNOWN
from tests.rack import steps
from tests.rack.faults import Fault, Subject, grouped, load
from tests.rack.host import RackError
from tests.rack.qemu import QmpError
from tests.rack.rack import ROOT, Rack

CLEARED = tuple(name for name in engine.names() if "clear_after_hours" in engine.load(name).LIMITS)
MARGIN_S = 2.0
# Hosts run side by side: what a neighbour's fault does to them is not counted, where their own fault does not name it.
NEIGHBOURS = {("zookeeper", "zk-1:2181"), ("peer_ports", "peers")}
CAUSE = "shared_fate"
REPEATS = 6
KEPT, HEALTHY = "courses.jsonl", "healthy.json"
# host -> how long its last run took
RUN_S: dict[str, float] = {}
# timed out after 12 s (process 594 was still running: the CPUs are busy)   no answer in 12 s
LATE = re.compile(
    r"no (?:answer|reply|process started) (?:in|within)|timed out after|the CPUs are busy"
    r"|not read completely: .*journalctl|cut short|truncated"
)
BROKEN = (RackError, QmpError, OSError, subprocess.TimeoutExpired)
Troubles = Mapping[Subject, tuple[str, str]]


@dataclass
class Course:
    """What came of a fault. seen_in, healed_in: runs, 0 if never. together: with how many it was done.

    late: runs that were repeated, for a deadline was missed in them that has nothing to do with the fault.
    other: alarms that nobody expected. commit: what was run.
    before: what did not go well in the first of two tries, if this is the second.
    """

    fault: Fault
    seen_in: int = 0
    healed_in: int = 0
    together: int = 1
    late: int = 0
    seconds: float = 0.0
    said: str = ""
    other: list[str] = field(default_factory=list)
    problem: str = ""
    before: str = ""
    commit: str = ""

    @property
    def is_good(self) -> bool:
        return bool(self.seen_in and self.healed_in and not self.other and not self.problem)


def commit() -> str:
    """The commit that is run, and whether files differ from it."""
    argv = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=ROOT, check=False)
    return done.stdout.strip() or "unknown"


def troubles(document: Mapping[str, Any]) -> dict[Subject, tuple[str, str]]:
    """(check, item) -> status and reason of every finding that is not fine."""
    return {(row["check"], row["item"]): (row["status"], row["reason"]) for row in document["findings"]
            if row["status"] not in FINE and row["check"] != "ports"}  # fmt: skip


def ask(
    rack: Rack,
    name: str,
    since: float = 0.0,
    changes: Mapping[str, Any] | None = None,
    checks: Sequence[str] = (),
    healed: bool = False,
) -> Troubles:
    """`smoke all`, or some checks, of one host. since: the moment (epoch) before which nothing is news."""
    words = ("check", *checks) if checks else ("all",)
    if not since and not changes:
        return troubles(rack.smoke(*words, "--limit", name))
    told = yaml.safe_load((rack.folder / "inventory.yaml").read_text())
    host = told["clusters"]["rack"]["hosts"][name]
    merge(host, copy.deepcopy(dict(changes or {})))
    if since:
        # what happened since then is older by the time the agent there judges it: as long as a run took lately
        lately = 0.0 if healed else RUN_S.get(name, 30.0)
        hours = round((time.time() - since + MARGIN_S + lately) / 3600, 5)
        merge(host, {"limits": {check: {"clear_after_hours": hours} for check in CLEARED}})
    file = rack.folder / f"inventory-{name}.yaml"
    file.write_text(yaml.safe_dump(told))
    began = time.monotonic()
    found = troubles(rack.smoke(*words, "--limit", name, inventory_file=file))
    RUN_S[name] = time.monotonic() - began
    return found


def asked(courses: Sequence[Course]) -> list[str]:
    """The checks that their faults are about, for a quick look; none (which is all) where a fault names none."""
    named = [{check for check, _item in course.fault.see} for course in courses]
    return sorted(set().union(*named) & set(engine.names())) if all(named) else []


def merge(into: dict[str, Any], other: Mapping[str, Any]) -> None:
    """Mappings are merged, all else is replaced."""
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


def run(rack: Rack, faults: Sequence[Fault]) -> list[Course]:
    """Do them, look, heal them, look again. What goes wrong on the way is told in the courses."""
    courses = [Course(fault, together=len(faults), commit=commit()) for fault in faults]
    began = time.monotonic()
    try:
        _see(rack, courses)
    except BROKEN as error:
        courses[0].problem = f"{error}"
    try:
        _heal(rack, courses)
    except BROKEN as error:
        courses[0].problem = courses[0].problem or f"healing: {error}"
    for course in courses:
        course.seconds = time.monotonic() - began
    return courses


def _see(rack: Rack, courses: Sequence[Course]) -> None:
    host = courses[0].fault.host
    names = rack[host].kernel_names()
    expected: dict[Subject, str] = {}
    changes: dict[str, Any] = {}
    since = time.time()
    for course in courses:
        expected |= {**_named(course.fault.may, names), **_named(course.fault.see, names)}
        # what several checks see of it is told as one cause, which is as it should be
        expected |= {(CAUSE, item): "warning|critical" for _check, item in expected}
        merge(changes, copy.deepcopy(dict(course.fault.inventory)))
        steps.do(rack[host], course.fault.inject)
    found: Troubles = {}
    for number in range(1, max(course.fault.runs for course in courses) + 1):
        if number > 1:
            time.sleep(max(course.fault.pause_s for course in courses))
        found, late = _in_time(rack, host, since, changes, expected, asked(courses) if rack.quick else ())
        for course in courses:
            course.late += late
            see = _named(course.fault.see, names)
            if not course.seen_in and all(_fits(found, subject, status) for subject, status in see.items()):
                course.seen_in = number
                course.said = "; ".join(_words(subject, found[subject]) for subject in see)
        if all(course.seen_in for course in courses):
            break
    for course in courses:
        see = _named(course.fault.see, names)
        course.said = course.said or "; ".join(_words(subject, found[subject]) for subject in see if subject in found)
        course.other = [_words(subject, told) for subject, told in found.items()
                        if subject not in NEIGHBOURS
                        and not (subject in expected and told[0] in expected[subject].split("|"))]  # fmt: skip


def _in_time(
    rack: Rack,
    host: str,
    since: float,
    changes: Mapping[str, Any] | None = None,
    expected: Mapping[Subject, str] | None = None,
    checks: Sequence[str] = (),
) -> tuple[Troubles, int]:
    """A run, and how many were repeated before it: an emulated host on a busy machine may miss a deadline."""
    for repeated in range(REPEATS):
        found = ask(rack, host, since, changes, checks, healed=expected is None)
        late = {subject for subject, told in found.items() if told[0] == UNKNOWN and LATE.search(told[1])}
        if not late - {*(expected or {}), *NEIGHBOURS}:
            return found, repeated
    return found, REPEATS


def _named(subjects: Mapping[Subject, str], names: Mapping[str, str]) -> dict[Subject, str]:
    """`{RKJ1SATA1}` in an item is that disk's name in the kernel, which is another one after each boot."""
    return {(check, item.format_map(names)): status for (check, item), status in subjects.items()}


def _heal(rack: Rack, courses: Sequence[Course]) -> None:
    host = courses[0].fault.host
    for course in reversed(courses):
        steps.do(rack[host], course.fault.heal)
    since = time.time() + MARGIN_S
    time.sleep(2 * MARGIN_S)
    found: Troubles = {}
    for number in range(1, max(course.fault.heal_runs for course in courses) + 1):
        if number > 1:
            time.sleep(max(course.fault.pause_s for course in courses))
        found, late = _in_time(rack, host, since, checks=asked(courses) if rack.quick else ())
        found = {subject: told for subject, told in found.items() if subject not in NEIGHBOURS}
        for course in courses:
            course.late += late
            course.healed_in = 0 if found else number
        if not found:
            return
    for course in courses:
        course.problem = "not healed: " + "; ".join(_words(subject, told) for subject, told in found.items())


def _fits(found: Troubles, subject: Subject, status: str) -> bool:
    return subject in found and found[subject][0] in status.split("|")


def _words(subject: Subject, told: tuple[str, str]) -> str:
    return f"{told[0]} {subject[0]} {subject[1]}: {told[1]}"


class Healthy(NamedTuple):
    """Runs of the whole rack before any fault: what they said though all is well; late: repeated, as in a Course."""

    runs: int = 0
    alarms: Sequence[str] = ()
    late: int = 0
    commit: str = ""


def healthy(rack: Rack, runs: int) -> Healthy:
    """Ask all hosts so many times, and note for `kept_healthy` what came."""
    alarms, late = [], 0
    for number in range(1, runs + 1):
        rows: list[Mapping[str, Any]] = []
        for _ in range(REPEATS):
            found = rack.smoke("all")["findings"]
            rows = [row for row in found if row["status"] not in FINE]
            if not any(row["status"] == UNKNOWN and LATE.search(row["reason"]) for row in rows):
                break
            late += 1
        alarms += [f"run {number}: {row['host']} {row['status']} {row['check']} {row['item']}: {row['reason']}"
                   for row in rows]  # fmt: skip
    rack.asked = set(rack.hosts)
    all_runs = Healthy(runs, alarms, late, commit())
    (rack.folder / HEALTHY).write_text(json.dumps(all_runs))
    return all_runs


def kept_healthy(rack: Rack) -> Healthy:
    """The last such runs since the rack is up."""
    file = rack.folder / HEALTHY
    return Healthy(*json.loads(file.read_text())) if file.exists() else Healthy()


def run_all(rack: Rack, faults: Sequence[Fault], say: Callable[[str], None]) -> list[Course]:
    """Hosts side by side, the faults of one host one after the other; courses in the order of the table."""
    hosts = dict.fromkeys(fault.host for fault in faults)
    done: dict[str, Course] = {}

    def of_host(name: str) -> None:
        if name not in rack.asked:
            ask(rack, name)  # what is news is so since an earlier run
        rack.asked.discard(name)
        for group in grouped([fault for fault in faults if fault.host == name]):
            courses = _of_group(rack, group, say)
            keep(rack, courses)
            done.update((course.fault.name, course) for course in courses)

    workers = [threading.Thread(target=of_host, args=(name,), name=name) for name in hosts]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return [done[fault.name] for fault in faults if fault.name in done]


def keep(rack: Rack, courses: Sequence[Course]) -> None:
    """Note what came of them, so that a run that is cut short, or done in parts, keeps what it has."""
    with (rack.folder / KEPT).open("a") as file:
        for course in courses:
            file.write(json.dumps({**vars(course), "fault": course.fault.name}) + "\n")


def kept(rack: Rack) -> list[Course]:
    """The last course of each fault since the rack is up, in the order of the table.

    One that went well only after another had not is told as tried a second time, whoever had it done again.
    """
    file = rack.folder / KEPT
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    last: dict[str, dict[str, Any]] = {}
    failed: dict[str, str] = {}
    known = {fault.name: fault for fault in load()}
    for row in rows:
        if row["fault"] in known:
            course = Course(**{**row, "fault": known[row["fault"]]})
            before = course.before or failed.get(row["fault"], "")
            last[row["fault"]] = {**vars(course), "before": before}
            failed[row["fault"]] = _why(course) or before
    return [Course(**last[name]) for name in known if name in last]


def _told(courses: Sequence[Course], say: Callable[[str], None]) -> list[Course]:
    for course in courses:
        how = "ok " if course.is_good else "BAD"
        say(f"{how} {course.fault.host} {course.fault.name} {course.seconds:.0f} s{_why(course)}")
    return list(courses)


def _why(course: Course) -> str:
    """What did not go well; empty if all did."""
    return "" if course.is_good else f": {'; '.join([course.said, *course.other, course.problem])}"


def _of_group(rack: Rack, group: Sequence[Fault], say: Callable[[str], None]) -> list[Course]:
    """Together; then once more alone those that did not go well, or all of them where somebody else alarmed."""
    courses = _told(run(rack, group), say)
    bad = [course for course in courses if not course.is_good]
    _refresh(rack, group[0].host, courses)
    again: dict[str, Course] = {}
    for course in courses if any(course.other for course in bad) else bad:
        (second,) = _told(run(rack, [course.fault]), say)
        second.before = _why(course)
        _refresh(rack, course.fault.host, [second])
        again[course.fault.name] = second
    return [again.get(course.fault.name, course) for course in courses]


def _refresh(rack: Rack, name: str, courses: Sequence[Course]) -> None:
    """A host that could not be healed is replaced by a fresh one: the next fault should not pay for the last."""
    if not all(course.healed_in for course in courses):
        rack.renew(name)
        ask(rack, name)
