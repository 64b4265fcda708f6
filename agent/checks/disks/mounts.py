"""Is every data mount mounted from its own disk, and can it be written to?

Data mounts: those of the inventory, or those that hold the brokers' log dirs; and ZooKeeper's dataDir and dataLogDir.
Critical: nothing is mounted (the broker then fills the root disk); another disk is mounted than should be, or memory
(tmpfs), an overlay or a network file system; the file system is read-only, shut down or returns errors, whatever the
mount table states ("rw" proves nothing: a one-byte unnamed file is created, synced and dropped, as the server's
own user); that user may not write; it is hung; it is full; ext4 counted new errors within a day.
Warning: ext4 counted errors in the last days; it responds slowly while its disk still works; fstab differs from what
is mounted, so that a reboot would change it; the data are in the overlay of a container.
Unknown: not root, or the inventory names a serial number or UUID that this machine does not report.
Ok again: as soon as the mount is as it should be. Errors that ext4 counted stay a warning until e2fsck or 30 days.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, Mapping, Optional, Sequence, Tuple

from agent.expected import ExpectedMount
from agent.host import CannotTell, Host, unless_unsure
from agent.named_tuples import NamedTuple
from agent.sources.disks import data_mounts, file_system, mount_identity, mount_table
from agent.sources.disks import file_system_kinds as kinds
from agent.status import Verdict, combine, critical, moment, unknown, warning

LIMITS = {"hung_seconds_critical": 60, "errors_per_day_critical": 1, "error_days_warning": 30}
PLAYBOOK = "hidden-readonly"
DEADLINE_S = file_system.STAT_DEADLINE_S + file_system.WRITE_DEADLINE_S + file_system.USAGE_DEADLINE_S + 4.0


class Facts(NamedTuple):
    """where: the mount and its disk, for a person. lands_on: what holds the data while nothing is mounted.

    wrong, untold: what the inventory said of the disk and is not so, and what could not be compared. covers: the
    device that this mount hides. stat_error, write_error: errno names. probed: the folder that was written to, empty if
    none was, and unproven why; writer: as which user, empty: as root; denied_by: whose folder it is that may not write.
    """

    where: str
    mounted: bool
    lands_on: str = ""
    its_disk: str = ""
    device: str = ""
    fstype: str = ""
    fstype_expected: str = ""
    covers: str = ""
    read_only: Tuple[str, ...] = ()
    wrong: Tuple[str, ...] = ()
    belongs_to: str = ""
    untold: Tuple[str, ...] = ()
    fstab_problem: str = ""
    options_lost: Tuple[str, ...] = ()
    options_only_now: Tuple[str, ...] = ()
    stat_error: str = ""
    write_error: str = ""
    probed: str = ""
    writer: str = ""
    denied_by: str = ""
    unproven: str = ""
    hung: str = ""
    hung_s: float = 0.0
    completed_meanwhile: Optional[int] = None
    free_bytes: Optional[int] = None
    inodes_free: Optional[int] = None
    ext4_errors: int = 0
    ext4_errors_in_a_day: Optional[int] = None
    ext4_last_error_at: str = ""
    ext4_last_error_days: Optional[float] = None
    ext4_untold: Tuple[str, ...] = ()


def find(host: Host) -> Sequence[str]:
    paths = data_mounts.paths(host)
    if host.expected.mounts or (paths and "broker" not in host.expected.roles):
        return paths
    if "broker" in host.expected.roles:
        or_root = "" if host.is_root() else ", or make the broker's configuration readable by root"
        raise CannotTell(f"data mounts of this broker unknown: name them in the inventory{or_root}")
    raise unless_unsure(host, "no data mounts expected on this machine")


def look(host: Host, item: str) -> Facts:
    expected = next(mount for mount in data_mounts.all_of(host) if mount.path == item)
    mount = mount_table.mount_at(host, item)
    if mount is None:
        below = mount_table.mount_of(host, item)
        lands_on = mount_identity.where(host, below) if below else "the root disk"
        return Facts(item, False, lands_on, mount_identity.whereabouts(host, expected))
    seen = {**_disk(host, expected, mount), **_probes(host, mount), **_ext4(host, mount)}
    return Facts(mount_identity.where(host, mount), True)._replace(**seen)


def _disk(host: Host, expected: ExpectedMount, mount: mount_table.Mount) -> Dict[str, Any]:
    compared = mount_identity.compare(host, expected, mount)
    drift = mount_identity.drift(host, mount)
    return {
        "device": mount_identity.device_of(host, mount),
        "fstype": mount.fstype,
        "fstype_expected": expected.fstype,
        "covers": mount_identity.covered(host, mount),
        "read_only": tuple(option for option in mount.options if option in kinds.READ_ONLY_OPTIONS),
        "wrong": compared.wrong,
        "untold": compared.untold + drift.untold,
        "belongs_to": mount_identity.owner(host, mount) if compared.wrong else "",
        "its_disk": mount_identity.whereabouts(host, expected) if compared.wrong else "",
        "fstab_problem": drift.problem,
        "options_lost": drift.lost,
        "options_only_now": tuple(option for option in drift.only_now if option not in kinds.READ_ONLY_OPTIONS),
    }


def _probes(host: Host, mount: mount_table.Mount) -> Dict[str, Any]:
    """Look first; write only to what answers."""
    probe = file_system.answers(host, mount.path)
    if probe.hung_s or probe.error:
        return {"stat_error": probe.error, **_hung("stat", probe)}
    if not host.expected.write_probe:
        return {}
    writer = data_mounts.writer(host, mount)
    try:
        probe = file_system.takes_write(host, mount.path, writer)
    except CannotTell as error:
        return {"unproven": str(error)}
    room = file_system.room(host, mount.path) if probe.error in kinds.FULL else {}
    denied = (file_system.owner(host, writer.seen_at) or "another user") if probe.denied else ""
    seen = {"write_error": probe.error, "probed": writer.folder, "writer": writer.user, "denied_by": denied}
    return {**seen, **_hung("write", probe), **room}


def _hung(kind: str, probe: file_system.Probe) -> Dict[str, Any]:
    return {"hung": kind, "hung_s": probe.hung_s, "completed_meanwhile": probe.completed} if probe.hung_s else {}


def _ext4(host: Host, mount: mount_table.Mount) -> Dict[str, Any]:
    try:
        seen = file_system.ext4_errors(host, mount_identity.device_of(host, mount))
    except CannotTell as error:
        return {"ext4_untold": (f"the errors that ext4 counted: {error}",)}
    if seen is None:
        return {}
    known = seen.last_at > 0
    return {
        "ext4_errors": seen.errors,
        "ext4_errors_in_a_day": host.state.growth(f"ext4_errors {mount_identity.where(host, mount)}", seen.errors, 1.0),
        "ext4_last_error_at": moment(seen.last_at) if known else "",
        "ext4_last_error_days": (host.now() - seen.last_at) / file_system.DAY_S if known else None,
    }


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    its_disk = f"; {facts.its_disk}" if facts.its_disk else ""
    if not facts.mounted:
        message = f"{facts.where}: not mounted, writes go to {facts.lands_on}{its_disk}"
        return critical(message, "replace-jbod-disk")
    rules = (_hanging, _no_disk, _failing, _read_only, _ext4_errors, _other_disk, _untold, _after_reboot)
    verdict = combine([found for rule in rules for found in rule(facts, limits)], healthy=_healthy(facts))
    return verdict._replace(reason=f"{facts.where}: {verdict.reason}")


def _healthy(facts: Facts) -> str:
    old = f"; {facts.ext4_errors} old ext4 errors, last {facts.ext4_last_error_at}" if facts.ext4_errors else ""
    by = f" by {facts.writer}" if facts.writer else ""
    return f"{facts.fstype}, {f'writable{by}' if facts.probed else 'mounted rw, write not tested'}{old}"


def _hanging(facts: Facts, limits: Mapping[str, Any]) -> Iterator[Verdict]:
    if not facts.hung:
        return
    waited = f"{facts.hung_s:.0f} s" if facts.hung_s < 120 else f"{facts.hung_s / 60:.0f} min"
    message = f"no reply to {facts.hung} for {waited}"
    if facts.completed_meanwhile and facts.hung_s < limits["hung_seconds_critical"]:
        yield warning(f"slow: {message}, while the disk completed {facts.completed_meanwhile} requests", "hung-disk")
    else:
        yield critical(f"hung: {message}", "hung-disk")


def _no_disk(facts: Facts, limits: Mapping[str, Any]) -> Iterator[Verdict]:
    """What is mounted is no file system of a disk, and nobody said that it should be so."""
    if facts.fstype == facts.fstype_expected:
        return
    over = f", mounted over {facts.covers}" if facts.covers else ""
    kind = kinds.no_disk(facts.fstype)
    if kind == kinds.OVERLAY and facts.where.startswith("/ on "):
        yield warning(f"{facts.fstype}: the data are in the root of a container and are lost with it")
    elif kind:
        yield critical(f"{facts.fstype}{over}: {kind}", "replace-jbod-disk")


def _failing(facts: Facts, limits: Mapping[str, Any]) -> Iterator[Verdict]:
    error = facts.stat_error or facts.write_error
    fails = f"{'stat' if facts.stat_error else 'create'} fails with {error}"
    if error in kinds.SICK:
        yield critical(fails if facts.read_only else f"{fails} though mounted rw", kinds.SICK[error])
    elif error in kinds.FULL:
        room = "" if facts.free_bytes is None else f", {facts.free_bytes >> 20} MB and {facts.inodes_free} inodes free"
        yield critical(f"full: {fails}{room}", "full-disk")
    elif error == "ENOENT" and facts.write_error:
        yield critical(f"log dir {facts.probed} does not exist", "replace-jbod-disk")
    elif error in ("EOPNOTSUPP", "ENOTSUP"):  # one number, two names
        yield unknown(f"cannot test writes: {facts.fstype} does not support O_TMPFILE")
    elif facts.denied_by:
        who = f"the server's user {facts.writer} cannot write to {facts.probed}"
        yield critical(f"{who}, owned by {facts.denied_by}", "replace-jbod-disk")
    elif facts.unproven:
        yield unknown(f"cannot test writes: {facts.unproven}")
    elif error:
        yield unknown(f"{fails}{', needs root' if error in ('EACCES', 'EPERM') else ''}")


def _read_only(facts: Facts, limits: Mapping[str, Any]) -> Iterator[Verdict]:
    if facts.read_only:
        yield critical(f"mounted with {','.join(facts.read_only)}", "hidden-readonly")


def _ext4_errors(facts: Facts, limits: Mapping[str, Any]) -> Iterator[Verdict]:
    if not facts.ext4_errors:
        return
    plural = "" if facts.ext4_errors == 1 else "s"
    message = f"ext4 logged {facts.ext4_errors} error{plural}, last {facts.ext4_last_error_at or 'at an unknown time'}"
    new = facts.ext4_errors_in_a_day or 0
    days = facts.ext4_last_error_days
    if new >= limits["errors_per_day_critical"]:
        message += f", {new} of them new" if new < facts.ext4_errors else ", new within a day"
        yield critical(message, "hidden-readonly")
    elif days is None or days < limits["error_days_warning"]:
        yield warning(message, "hidden-readonly")


def _other_disk(facts: Facts, limits: Mapping[str, Any]) -> Iterator[Verdict]:
    if facts.wrong:
        owner = f"; the mounted one belongs to {facts.belongs_to}" if facts.belongs_to else ""
        its_disk = f"; {facts.its_disk}" if facts.its_disk else ""
        yield critical(f"should be {' and '.join(facts.wrong)}{owner}{its_disk}", "replace-jbod-disk")
    if facts.fstype_expected not in ("", facts.fstype):
        yield warning(f"{facts.fstype}, should be {facts.fstype_expected}")


def _untold(facts: Facts, limits: Mapping[str, Any]) -> Iterator[Verdict]:
    for reason in facts.untold + facts.ext4_untold:
        yield unknown(f"cannot determine {reason}")


def _after_reboot(facts: Facts, limits: Mapping[str, Any]) -> Iterator[Verdict]:
    if facts.fstab_problem:
        yield warning(facts.fstab_problem)
    if facts.options_lost:
        yield warning(f"{','.join(facts.options_lost)} in /etc/fstab is not in effect until a remount", "tune-os")
    if facts.options_only_now:
        yield warning(f"{','.join(facts.options_only_now)} is not in /etc/fstab: lost after a reboot", "tune-os")
