"""Does the broker's configuration fit this machine, and is none of it known to lose data?

Item of each setting of each broker, read from server.properties and --override (what kafka-configs.sh changed while it
ran is not seen here), with the defaults of Kafka 3.9.
Critical: log.dirs names a file system in memory, or is not set, so that data goes to /tmp/kafka-logs.
Warning: a log dir on the root disk; in JBOD two log dirs on one mount, or a data mount of the inventory that no log dir
uses; fewer num.io.threads than data disks; unclean.leader.election.enable; offsets.retention.minutes so short
that consumers lose their place over a weekend; message.max.bytes of twice replica.fetch.max.bytes, so that followers
fall behind, or above socket.request.max.bytes; compression.type other than `producer`, so that the broker recompresses;
min.insync.replicas above the replicas that new topics or the consumers' offsets get.
Unknown: its configuration cannot be read, or has no number where one is required.
Ok again: as soon as the file is changed; the broker follows at its next restart.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, List, Mapping, Sequence, Tuple

from agent.host import CannotTell, Host, NotApplicable
from agent.named_tuples import NamedTuple
from agent.sources.kafka import processes as kafka
from agent.sources.kafka import settings as kafka_settings
from agent.status import Verdict, combine, count_of, critical, unknown, warning

LIMITS = {
    "disks_per_io_thread_warning": 1,
    "offsets_retention_minutes_warning": 4320,
    "message_times_fetch_warning": 2,
}
PLAYBOOK = "rolling-restart"
IN_MEMORY = ("tmpfs", "ramfs")


class Facts(NamedTuple):
    """values: of the settings that this one is judged by, the defaults included; the rest as in kafka_settings."""

    setting: str
    values: Mapping[str, str]
    layout: str
    given: bool
    log_dirs: Tuple[str, ...]
    mounts: Tuple[str, ...]
    fstypes: Tuple[str, ...]
    idle: Tuple[str, ...]
    absent: Tuple[str, ...]


def find(host: Host) -> Sequence[str]:
    kafka.need_role(host, "broker")
    brokers = kafka.items(host, "broker")
    if not brokers:
        raise NotApplicable("no broker runs here (see services)")
    return [item for broker in brokers for item in _items(host, broker)]


def _items(host: Host, broker: str) -> List[str]:
    """`log.dirs`, or `log.dirs of broker /etc/kafka/2.properties` where several run; the broker if nothing is known."""
    service = kafka.running(host, "broker").get(broker)
    if service is None or not service.config:
        return [broker]
    return [setting if broker == "broker" else f"{setting} of {broker}" for setting in kafka_settings.DEFAULTS]


def look(host: Host, item: str) -> Facts:
    setting, _, broker = item.partition(" of ") if item.partition(" of ")[0] in RULES else ("", "", item)
    service = kafka.running(host, "broker").get(broker or "broker")
    if service is None:
        raise NotApplicable(f"{item} does not run (see services)")
    if not service.config:
        raise CannotTell(f"{'' if host.is_root() else 'needs root: '}{service.config_path} cannot be read")
    values = kafka_settings.values(service.config, setting)
    return Facts(setting, values, host.expected.layout, *kafka_settings.places(host, service))


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    message = ", ".join(f"{name} {value[:40]}" for name, value in facts.values.items())
    try:
        found = list(RULES[facts.setting](facts, limits))
    except ValueError:
        found = [unknown(f"not a number in one of these: {message}")]
    on = f"{count_of(len(facts.log_dirs), 'log dir')} on {count_of(len(set(facts.mounts)), 'mount')}"
    return combine(found, healthy=message or on)


def _log_dirs(facts: Facts, limits: Mapping[str, Any]) -> Iterator[Verdict]:
    if not facts.given:
        yield critical("log.dirs is not set: data goes to /tmp/kafka-logs, which a reboot may empty", PLAYBOOK)
        return
    on_root = []
    for folder, mount, fstype in zip(facts.log_dirs, facts.mounts, facts.fstypes):
        if fstype in IN_MEMORY:
            yield critical(f"log dir {folder} is in memory ({fstype}): a reboot empties it", PLAYBOOK)
        elif mount == "/" and not _awaits_its_mount(folder, facts):
            on_root.append(folder)
    if on_root:
        yield warning(f"on the root disk, which Kafka can fill: {', '.join(on_root)}", PLAYBOOK)
    if facts.layout == "jbod":
        yield from _one_mount_each(facts)


def _awaits_its_mount(folder: str, facts: Facts) -> bool:
    """Whether a mount of the inventory belongs there that is not there now, which `mounts` tells."""
    return any(f"{folder}/".startswith(f"{path.rstrip('/')}/") for path in facts.absent)


def _one_mount_each(facts: Facts) -> Iterator[Verdict]:
    for mount in sorted({mount for mount in facts.mounts if mount != "/" and facts.mounts.count(mount) > 1}):
        folders = [folder for folder, holding in zip(facts.log_dirs, facts.mounts) if holding == mount]
        yield warning(f"{' and '.join(folders)} share mount {mount}: Kafka counts one disk twice", PLAYBOOK)
    if facts.idle:
        yield warning(f"no log dir on {', '.join(facts.idle)}, nor data of another server", PLAYBOOK)


def _io_threads(facts: Facts, limits: Mapping[str, Any]) -> Iterator[Verdict]:
    threads, disks = int(facts.values["num.io.threads"]), len(set(facts.mounts))
    if disks > threads * limits["disks_per_io_thread_warning"]:
        yield warning(f"num.io.threads is {threads}, should be at least {disks} for {disks} data disks", PLAYBOOK)


def _unclean(facts: Facts, limits: Mapping[str, Any]) -> Iterator[Verdict]:
    if facts.values["unclean.leader.election.enable"].lower() == "true":
        message = (
            "unclean.leader.election.enable is true: a replica that lacks records may become leader, they are lost"
        )
        yield warning(message, PLAYBOOK)


def _offsets(facts: Facts, limits: Mapping[str, Any]) -> Iterator[Verdict]:
    minutes, least = int(facts.values["offsets.retention.minutes"]), limits["offsets_retention_minutes_warning"]
    if minutes < least:
        message = f"offsets.retention.minutes is {minutes}, should be at least {least}: "
        yield warning(f"{message}a consumer group that stops for {minutes / 60:.0f} h loses its offsets", PLAYBOOK)


def _message_size(facts: Facts, limits: Mapping[str, Any]) -> Iterator[Verdict]:
    message, fetch, request = (int(value) for value in facts.values.values())
    if message >= fetch * limits["message_times_fetch_warning"]:
        text = f"message.max.bytes is {message}, replica.fetch.max.bytes only {fetch}: "
        yield warning(f"{text}followers fetch such batches one by one and fall behind", PLAYBOOK)
    if message > request:
        text = f"message.max.bytes is {message}, socket.request.max.bytes only {request}"
        yield warning(f"{text}: the largest messages are rejected", PLAYBOOK)


def _compression(facts: Facts, limits: Mapping[str, Any]) -> Iterator[Verdict]:
    kind = facts.values["compression.type"]
    if kind.lower() != "producer":
        yield warning(
            f"compression.type is {kind}, should be producer: the broker recompresses other batches", PLAYBOOK
        )


def _min_isr(facts: Facts, limits: Mapping[str, Any]) -> Iterator[Verdict]:
    values = facts.values
    least, created, offsets = (int(values[name]) for name in ("min.insync.replicas", *REPLICAS))
    if created < least and values["auto.create.topics.enable"].lower() == "true":
        message = f"min.insync.replicas is {least}, default.replication.factor only {created}: "
        yield warning(f"{message}topics created on first use cannot be written with acks=all", PLAYBOOK)
    if offsets < least:
        message = f"min.insync.replicas is {least}, offsets.topic.replication.factor only {offsets}"
        yield warning(f"{message}: consumers cannot commit", PLAYBOOK)


REPLICAS = ("default.replication.factor", "offsets.topic.replication.factor")
RULES: Mapping[str, Callable[[Facts, Mapping[str, Any]], Iterator[Verdict]]] = {
    "log.dirs": _log_dirs,
    "num.io.threads": _io_threads,
    "unclean.leader.election.enable": _unclean,
    "offsets.retention.minutes": _offsets,
    "message.max.bytes": _message_size,
    "compression.type": _compression,
    "min.insync.replicas": _min_isr,
}
