"""What this machine seems to be, from what runs on it, where no inventory says it."""

from __future__ import annotations

from typing import List, NamedTuple, Sequence, Tuple

from agent.expected import Expected, ExpectedMount
from agent.host import CannotTell, Host
from agent.sources import kafka, mount_table

DATA_FILE_SYSTEMS = ("ext4", "xfs", "btrfs", "ext3")


REMEMBER_DAYS = 7


class _Seen(NamedTuple):
    """What the running processes, or those of an earlier run, say of this machine."""

    roles: Tuple[str, ...]
    mounts: Tuple[str, ...]
    ports: Tuple[int, ...]
    why: str


def guess(host: Host) -> Expected:
    """What the host expects, with the empty fields filled from its processes and mounts; says what was guessed."""
    expected = host.expected
    seen = _seen(host)
    said: List[str] = []
    if not expected.roles:
        expected = expected._replace(roles=seen.roles)
        said.append(f"role: {', '.join(seen.roles) or 'none'} ({seen.why})")
    if not expected.mounts:
        expected = expected._replace(mounts=tuple(ExpectedMount(path) for path in seen.mounts))
        said.append(f"data mounts: {', '.join(seen.mounts) or 'none'} ({seen.why})")
    if not expected.ports and seen.ports:
        expected = expected._replace(ports=seen.ports)
        said.append(f"ports: {', '.join(map(str, seen.ports))} ({seen.why})")
    return expected._replace(guessed=expected.guessed + tuple(said))


def _seen(host: Host) -> _Seen:
    """A broker that runs tells its own story; one that ran a few days ago is remembered, so that its loss is seen."""
    try:
        services = kafka.services(host)
    except CannotTell as error:
        return _Seen((), (), (), str(error))
    if services:
        seen = _Seen(
            tuple(sorted({service.role for service in services})),
            _log_dir_mounts(host, services),
            tuple(sorted({port for service in services for port in _ports(service)})),
            "from the running process and its configuration",
        )
        host.state.remember("guess", [host.now(), seen.roles, seen.mounts, seen.ports])
        return seen
    remembered = host.state.remembered("guess")
    if remembered and host.now() - remembered[0] < REMEMBER_DAYS * 86400:
        at, roles, mounts, ports = remembered
        hours = (host.now() - at) / 3600
        return _Seen(tuple(roles), tuple(mounts), tuple(ports), f"seen {hours:.0f} h ago, not running now")
    return _Seen((), _named_kafka(host), (), "no Kafka or ZooKeeper process")


def _log_dir_mounts(host: Host, services: Sequence[kafka.Service]) -> Tuple[str, ...]:
    """The mounts that hold the brokers' log dirs."""
    log_dirs = [path for service in services if service.role == "broker" for path in kafka.log_dirs(service.config)]
    try:
        holding = [mount_table.mount_of(host, path) for path in log_dirs]
    except CannotTell:
        return ()
    return tuple(dict.fromkeys(mount.path for mount in holding if mount))


def _named_kafka(host: Host) -> Tuple[str, ...]:
    """File systems of disks that are mounted somewhere named kafka."""
    try:
        mounts = mount_table.mounts(host)
    except CannotTell:
        return ()
    named = (mount.path for mount in mounts if "kafka" in mount.path and mount.fstype in DATA_FILE_SYSTEMS)
    return tuple(dict.fromkeys(named))


def _ports(service: kafka.Service) -> List[int]:
    """Ports in `listeners=PLAINTEXT://:9092,…` or ZooKeeper's `clientPort=2181`."""
    if service.role == "zookeeper":
        given = service.config.get("clientPort", "2181")
    else:
        given = service.config.get("listeners", "PLAINTEXT://:9092")
    ports = [part.rpartition(":")[2].strip() for part in given.split(",")]
    return [int(port) for port in ports if port.isdigit()]
