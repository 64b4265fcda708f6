"""Is each physical disk healthy by its SMART data?

Each disk is read once: those of a JBOD machine and of md arrays, and those behind a RAID card (its virtual disks
are skipped, they have no SMART). Growth is over 7 days, from what earlier runs saw.

Critical: the drive reports itself failing or an attribute predicts it; a self-test failed and no extended one has
passed since; uncorrectable errors (187) above 5; more than 30 sectors reallocated (5) in 7 days, or above 1000 of
them with growth, with pending ones beside, or on a disk with sectors of 4 KiB; pending or unreadable sectors (197,
198) above 16 and growing, or 1000; any end-to-end error (184); SAS grown defects, uncorrected errors or NVMe media
errors growing; an NVMe warning bit other than temperature; spare at its threshold; rated writes of an SSD used up; at
its own temperature trip point. A disk that the inventory names, or that an earlier run saw, vanished.

Warning: more than 30 sectors reallocated in 30 days, or above 8 of them with pending ones beside, or above 31 of them
on a disk with sectors of 4 KiB (above 8 on HGST and Hitachi, there also on smaller ones while they grow); an
uncorrectable error beside reallocated sectors, or a new one in 30 days; 24 pending or unreadable sectors, or 5 new ones
in 30 days; commands slower than 7.5 s (188 of Seagate); spin-up retries; SAS grown defects or uncorrected errors; NVMe
media errors; 90 % of the rated writes of an SSD used, or 20 % of its spare left; an attribute worn out or once at its
threshold; too hot by the drive's own measure; new CRC errors (199: cable) or error-log entries in 7 days.

Unknown: no answer, asleep, SMART switched off, no overall status, no root, no smartctl.

Ok again: when the numbers are stable (for 30 days where a count or a growth of 30 days was the reason, for 7 days
where one of 7 days was; pending sectors when they are gone), or the disk was replaced. A vanished disk is ok when it is
back; without an inventory it is forgotten after 7 days, or as soon as a new disk replaces it.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

from agent.host import CannotTell, Host, NoPermission, NotApplicable, ToolMissing
from agent.sources.smart import disks as smart_disks
from agent.sources.smart import missing_disks, smartctl
from agent.sources.smart import prediction as smart_prediction
from agent.sources.smart import rules as smart_rules
from agent.sources.smart.report import Facts
from agent.status import Verdict, combine, critical

LIMITS: Dict[str, Any] = {**smart_rules.LIMITS, "forget_days": 7}
PLAYBOOK = smart_rules.JBOD
__doc__ += f"\n{smart_prediction.WORTH_IN_LINES}\n"
DEADLINE_S = 30.0
SCAN_ITEM = "smartctl --scan"


def find(host: Host) -> Sequence[str]:
    items = [*smart_disks.found(host), *_lost(host)]
    problem = smart_disks.scan_problem(host)
    if problem and not items:
        raise problem
    if not items:
        raise CannotTell("neither udev nor smartctl --scan lists a disk")
    # Without smartctl or root every disk says so itself.
    return items + [SCAN_ITEM] if problem and not isinstance(problem, (ToolMissing, NoPermission)) else items


def _lost(host: Host) -> Dict[str, missing_disks.Lost]:
    return missing_disks.lost(host, LIMITS["forget_days"])


def look(host: Host, item: str) -> Facts:
    lost = _lost(host).get(item)
    member = smart_disks.found(host).get(item)
    if lost and lost.certain:
        return Facts(vanished=lost.why, in_raid=host.expected.layout == "raid10")
    if lost:
        raise CannotTell(lost.why)
    if member is None:
        raise smart_disks.scan_problem(host) or CannotTell(f"{item} is no longer listed")
    if member.skip:
        raise NotApplicable(member.skip)
    facts = smartctl.read(host, member.path, member.kind)
    return facts._replace(slot=member.slot, serial=facts.serial or member.serial, wwn=facts.wwn or member.wwn)


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    if facts.vanished:
        return critical(facts.vanished, smart_rules.RAID if facts.in_raid else smart_rules.JBOD)
    verdict = combine(smart_rules.verdicts(facts, limits), _well(facts))
    return verdict._replace(reason=f"{_name(facts)}: {verdict.reason}")


def _name(facts: Facts) -> str:
    known = [facts.serial and f"serial {facts.serial}", facts.slot and f"slot {facts.slot}"]
    words = ", ".join(word for word in known if word)
    return f"{facts.path} {facts.model}".strip() + (f" ({words})" if words else "")


def _well(facts: Facts) -> str:
    """What a healthy disk has to say."""
    counted: List[Any] = [
        (facts.reallocated_sectors, "reallocated"),
        (facts.pending_sectors, "pending"),
        (facts.grown_defects, "grown defects"),
        (facts.media_errors, "media errors"),
    ]
    said = ["passed", *(f"{count} {words}" for count, words in counted if count is not None)]
    said += [f"{facts.wear_percent} % worn"] if facts.wear_percent is not None else []
    said += [f"{facts.temperature_celsius} C"] if facts.temperature_celsius is not None else []
    return ", ".join(said) + (" (some SMART commands failed)" if facts.exit_status & smart_rules.PARTIAL else "")
