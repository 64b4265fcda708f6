"""Is the new disk at least as large, mounted where the old one was, and clean by its SMART data?

Compared with what the gate recorded before the maintenance.

Failed: the old disk is still mounted, or still in the machine; the new one is smaller; nothing, or nothing writable, is
mounted there; SMART finds a fault; an array of the machine is still incomplete.

Warned: the broker does not use the log dir that was on the old disk; the old disk's size is not known, but the new one
is as large as any other of the machine.

Cannot tell: the store has no decision from before the maintenance; no size or no SMART data of the disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.host import CannotTell
from agent.status import CRITICAL, OK, SKIPPED, WARNING, Verdict, critical, unknown, warning
from inventory.model import Host
from inventory.names import some
from smoketests.cluster.view import findings
from smoketests.gate import arrays, host_findings, replaced_disk
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import REPLACE_DISK

PURPOSES = (REPLACE_DISK,)
WHEN = ("after",)
CHECKS = ("smart", "mounts", "raid")
Row = Mapping[str, Any]


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    (host,) = situation.leaving
    if not situation.before:
        raise CannotTell(situation.unread.get("before", "no data from before the maintenance"))
    if not host_findings.answers(situation, host):
        raise CannotTell(f"no data from {host.name}: {host_findings.why_silent(situation, host)}")
    old = str(situation.before.get("disk", ""))
    mounts = [str(path) for path in situation.before.get("mounts") or ()]
    on = {path: replaced_disk.disk_below(situation.view, host, path) for path in mounts}
    fresh = _fresh(situation, host, old)
    new = [row for row in fresh if any(row is found for found in on.values())] or fresh
    verdicts = [
        *_elsewhere(on, fresh, old),
        *_still_there(situation, host, old, mounts),
        *_mounts(situation, host, mounts),
    ]
    verdicts += [*_arrays(situation, host), *_log_dirs(situation, host, mounts)]
    if not new:
        verdicts += _nothing_new(situation, host)
    for row in new:
        verdicts += [*_size(situation, host, row), *_clean(row)]
    names = [str((row.get("facts") or {}).get("serial") or row.get("item")) for row in new]
    where = f", mounted at {', '.join(mounts)}" if mounts else ""
    healthy = f"{some(names)} replaces {old}{where}, SMART is clean"
    if not new:
        healthy = f"a disk replaces {old}{where}; the inventory skips SMART: {host.skip.get('smart', '')}"
    return ruled(verdicts, healthy, old=old, new=names)


def _nothing_new(situation: GateContext, host: Host) -> Iterator[Verdict]:
    """Where SMART tells of disks, a new one must be among them; where the inventory skips it, the mounts must do."""
    if any((row.get("facts") or {}).get("serial") for row in replaced_disk.smart_rows(situation.view, host)):
        yield critical(f"no new disk found in {host.name}")
    elif "smart" not in host.skip:
        yield unknown(f"which disk of {host.name} is the new one: SMART reports none")
    elif not situation.before.get("mounts"):
        yield unknown(f"whether a new disk is in {host.name}: it had no mount, and the inventory skips SMART")


def _fresh(situation: GateContext, host: Host, old: str) -> list[Row]:
    """The disks that were not there before."""
    hosts = situation.before.get("hosts") or {}
    before = {replaced_disk.plain(serial) for serial in ((hosts.get(host.name) or {}).get("disks") or {})}
    return [
        row
        for row in replaced_disk.smart_rows(situation.view, host)
        if row.get("status") != SKIPPED and not replaced_disk.serials_of(row) & (before | {replaced_disk.plain(old)})
    ]


def _elsewhere(on: Mapping[str, Row | None], fresh: Sequence[Row], old: str) -> Iterator[Verdict]:
    """A place of the old disk where another is that the machine had before: kernel names have changed hands."""
    for path, row in on.items():
        if not row or row in fresh or row.get("status") == SKIPPED:
            continue
        if replaced_disk.plain(old) not in replaced_disk.serials_of(row):
            yield critical(f"{path} is on {row.get('item')}, which was in the machine before, not on a new disk")


def _still_there(situation: GateContext, host: Host, old: str, mounts: list[str]) -> Iterator[Verdict]:
    held = set(mounts) & set(replaced_disk.mounts_now(situation.view, host, old))
    if held:
        yield critical(f"the old disk {old} is still mounted at {', '.join(sorted(held))}")
    elif (row := replaced_disk.smart_of(situation.view, host, old)) and replaced_disk.is_seen(row):
        yield critical(f"the old disk {old} is still in {host.name}: was another one pulled?")


def _mounts(situation: GateContext, host: Host, mounts: list[str]) -> Iterator[Verdict]:
    """What the check mounts says of the places where the old disk was."""
    rows = {str(row.get("item")): row for _host, row in findings(situation.view, "mounts", (host,))}
    for path in mounts:
        row = rows.get(path)
        said = str(row.get("reason", ""))[:200] if row else ""
        if row is None:
            yield unknown(f"{host.name}: no data for {path}")
        elif row.get("status") == CRITICAL:
            yield critical(said)
        elif row.get("status") == WARNING:
            yield warning(said)
        elif row.get("status") not in (OK, SKIPPED):
            yield unknown(said)


def _arrays(situation: GateContext, host: Host) -> Iterator[Verdict]:
    for row in arrays.of(situation.view, host):
        if row.facts.state != "optimal":
            said = row.facts.said or row.facts.state
            yield critical(f"{row.item} is still incomplete: {said}")


def _log_dirs(situation: GateContext, host: Host, mounts: list[str]) -> Iterator[Verdict]:
    """A log dir that was taken out of log.dirs meanwhile, and not put back."""
    before = {str(path) for path in situation.before.get("log_dirs") or ()}
    gone = sorted(before - set(replaced_disk.log_dirs_on(situation.view, situation.brokers_of(host), mounts)))
    if gone and situation.view.kafka and situation.view.kafka.log_dirs:
        yield warning(f"the broker no longer uses {some(gone)}: is it in its log.dirs?")


def _size(situation: GateContext, host: Host, row: Row) -> Iterator[Verdict]:
    """A disk that had died before anybody asked tells no size: then the machine's other disks are the measure."""
    was = (situation.before.get("disk_facts") or {}).get("size_bytes")
    now = replaced_disk.size_of(row)
    beside = [one for one in replaced_disk.smart_rows(situation.view, host) if one is not row]
    others = list(filter(None, map(replaced_disk.size_of, beside)))
    if now and isinstance(was, (int, float)) and was > 0:
        if now < was:
            yield critical(f"{row.get('item')} has {now:,.0f} bytes, the old disk had {was - now:,.0f} more")
    elif now and now >= max(others, default=now + 1):
        yield warning(f"no size reported for the old disk; {row.get('item')} is as large as any other of {host.name}")
    else:
        yield unknown(f"whether {row.get('item')} is as large as the old disk: no size reported")


def _clean(row: Row) -> Iterator[Verdict]:
    said = str(row.get("reason", ""))[:200]
    if row.get("status") in (CRITICAL, WARNING):
        yield critical(f"the new disk is not clean: {said}")
    elif row.get("status") != OK:
        yield unknown(f"whether the new disk is clean: {said}")
