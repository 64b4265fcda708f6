"""Findings of one host that have one cause: a disk, seen by its mount, the kernel, SMART, the broker and Kafka."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from agent.api import kafka_log as lines
from agent.status import CRITICAL, WARNING, critical
from inventory.model import Host
from smoketests.cluster.view import LONGEST_TEXT, ClusterFinding, ClusterView, findings, typed

# what the item of each names: the mount itself, or the disk below it
OF_MOUNTS = ("disk_usage",)
OF_DISKS = ("disk_errors", "smart", "raid", "disk_latency")
CHECKS = ("mounts", "kafka_log", *OF_MOUNTS, *OF_DISKS)
# what the broker's log may tell besides without being a matter of its own
NO_MATTER = {lines.LOG_DIR, lines.EXPAND, lines.MOVED}
# /kafka/d3 on sdd (ST8000NM0055, serial ZA1BC2, slot pci-0000:00:17.0-ata-4)
WORD = re.compile(r"[^\s(),;]{3,80}")
LONGEST_REASON = 300

Record = Mapping[str, Any]


class Mount(NamedTuple):
    """What is read of mounts: where it is, and what shows that it fails."""

    where: str
    read_only: tuple[str, ...]
    stat_error: str
    write_error: str
    hung: str


class BrokerLog(NamedTuple):
    """What is read of kafka_log."""

    kinds: tuple[str, ...]
    about: tuple[str, ...]


class Sign(NamedTuple):
    """One thing that was seen. whole: nothing else is in that finding. words: names of the disk."""

    check: str
    item: str
    status: str
    reason: str
    playbook: str = ""
    whole: bool = True
    words: frozenset[str] = frozenset()


def judge(view: ClusterView) -> list[ClusterFinding]:
    """A finding for each disk or log dir of a host of which two checks or more tell; facts.seen_by are theirs."""
    bad = _bad(view)
    given_up = _given_up(view)
    return [_finding(view, host, place, signs)
            for host in view.hosts if host.name in bad or host.name in given_up
            for place, signs in _places(bad.get(host.name, []), given_up.get(host.name, [])).items()
            if len({sign.check for sign in signs}) > 1]  # fmt: skip


def _bad(view: ClusterView) -> dict[str, list[Record]]:
    """What is wrong on each host, of the checks that may see a disk's failure."""
    found: dict[str, list[Record]] = {}
    for check in CHECKS:
        for host, row in findings(view, check):
            if row.get("status") in (WARNING, CRITICAL):
                found.setdefault(host.name, []).append(row)
    return found


def _places(bad: Sequence[Record], given_up: Sequence[tuple[str, Sign]]) -> dict[str, list[Sign]]:
    """What is wrong with each mount of a host, and with each log dir that lies on no such mount."""
    found = {str(row["item"]): [sign] for row, sign in _failing(bad)}
    for folder, sign in (*_logged(bad), *given_up):
        place = max((place for place in found if _holds(place, folder)), key=len, default=folder)
        found.setdefault(place, []).append(sign)
    for row in bad:
        for place, signs in found.items():
            if str(row["item"]) in _names(str(row["check"]), place, signs[0]):
                signs.append(_sign(row))
    return found


def _names(check: str, place: str, failing: Sign) -> frozenset[str]:
    """The items of a check that are about what fails; how full a mount is matters only where that is its failure."""
    if check in OF_DISKS:
        return failing.words
    return frozenset({place}) if check in OF_MOUNTS and ": full: " in failing.reason else frozenset()


def _sign(row: Record, words: frozenset[str] = frozenset(), whole: bool = True) -> Sign:
    check, item, status, reason, playbook = (
        str(row.get(name, ""))[:LONGEST_REASON] for name in ("check", "item", "status", "reason", "playbook")
    )
    return Sign(check, item, status, reason, playbook, whole, words)


def _failing(bad: Sequence[Record]) -> Iterator[tuple[Record, Sign]]:
    """The mounts that fail: that another disk is mounted, or fstab lacks a line, is no failure of a disk."""
    for row in bad:
        facts = typed(row.get("facts"), Mount) if (row["check"], row["status"]) == ("mounts", CRITICAL) else None
        if facts and any(facts[1:]):
            yield row, _sign(row, frozenset(WORD.findall(facts.where)))


def _logged(bad: Sequence[Record]) -> Iterator[tuple[str, Sign]]:
    """The log dirs that failed as the broker's own log tells; whole if it tells of one and of nothing else."""
    for row in bad:
        facts = typed(row.get("facts"), BrokerLog) if row["check"] == "kafka_log" else None
        failed = [about for kind, about in zip(facts.kinds, facts.about) if kind == lines.LOG_DIR] if facts else []
        alone = bool(facts) and len(failed) == 1 and set(facts.kinds if facts else ()) <= NO_MATTER
        for folder in failed:
            yield folder, _sign(row, whole=alone)


def _given_up(view: ClusterView) -> dict[str, list[tuple[str, Sign]]]:
    """By host, the log dirs that failed as Kafka tells; `partitions` has a finding of each."""
    names = {broker: name for name, broker in view.cluster.broker_ids.items()}
    found: dict[str, list[tuple[str, Sign]]] = {}
    for row in (view.kafka.log_dirs if view.kafka else None) or ():
        if row.error and row.broker in names:
            item = f"broker {row.broker} {row.path}"[:LONGEST_TEXT]
            sign = Sign("partitions", item, CRITICAL, f"Kafka reports {row.error}")
            found.setdefault(names[row.broker], []).append((row.path, sign))
    return found


def _holds(place: str, folder: str) -> bool:
    return f"{folder}/".startswith(f"{place.rstrip('/')}/")


def _finding(view: ClusterView, host: Host, place: str, signs: Sequence[Sign]) -> ClusterFinding:
    first, *others = signs
    checks = list(dict.fromkeys(sign.check for sign in signs))
    said = [f"one cause, seen by {', '.join(checks)}: {first.reason}"]
    said += [f"{sign.check}: {sign.reason[:120]}" for sign in others if sign.check in OF_DISKS]
    offline = _offline_replicas(view, host) if "partitions" in checks else 0
    said += [f"{offline} replicas are offline"] if offline else []
    playbook = next((sign.playbook for sign in signs if sign.playbook), "")
    facts = {"seen_by": [[sign.check, sign.item] for sign in signs if sign.whole], "offline_replicas": offline}
    return ClusterFinding(place[:LONGEST_TEXT], critical("; ".join(said)[:900], playbook), facts, host.name)


def _offline_replicas(view: ClusterView, host: Host) -> int:
    broker = view.cluster.broker_ids.get(host.name)
    return sum(broker in row.offline for row in (view.kafka.partitions if view.kafka else None) or ())
