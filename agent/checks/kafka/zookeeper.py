"""Does ZooKeeper reply, can it accept more connections, and is its latency low enough?

Checked for the server on this machine, and on a broker for those that the broker depends on (inventory, or
zookeeper.connect), with four-letter words. One client address may hold `maxClientCnxns` connections (default
60): a broker whose address is full cannot come back after a restart, and the server closes each new connection
from there without a reply. An empty reply is therefore a fault.

Warning: an address holds many of its connections; slow, queueing or expiring sessions since the last run (each reported
until `clear_after_hours` have passed); open files; much data; followers out of sync; on a rotating disk, or on one
machine with a broker; a server elsewhere refuses connections.
Critical: nothing listens here; an empty reply; not serving (no quorum) or read-only; an address or the open files
nearly full; very slow.
Unknown: no reply in time; TLS only; a word is not in the server's whitelist (the reason has the line to add).
Ok again: as soon as the numbers are back below the limits, and the incidents are old enough.
"""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence, Tuple

from agent.host import Host, Refused
from agent.named_tuples import NamedTuple
from agent.sources.kafka import java_properties
from agent.sources.kafka import processes as kafka
from agent.sources.zookeeper import four_letter
from agent.sources.zookeeper import servers as zookeeper_servers
from agent.sources.zookeeper.four_letter import ANSWERED, EMPTY, NOT_ALLOWED, NOT_SERVING, TLS, WHITELIST
from agent.state import Incident
from agent.status import Verdict, combine, count_of, critical, unknown, warning

LIMITS = {
    "default_connections_per_source": 60,
    "source_connections_percent_warning": 75,
    "source_connections_percent_critical": 90,
    "total_connections_percent_warning": 75,
    "total_connections_percent_critical": 90,
    "latency_avg_ms_warning": 100,
    "latency_avg_ms_critical": 1000,
    "latency_max_ms_warning": 1000,
    "latency_max_ms_critical": 6000,
    "outstanding_warning": 10,
    "outstanding_critical": 1000,
    "open_files_percent_warning": 70,
    "open_files_percent_critical": 85,
    "data_bytes_warning": 1 << 30,
    "znodes_warning": 1_000_000,
    "expired_sessions_warning": 3,
    "rejected_connections_warning": 1,
    "clear_after_hours": 1,
}
PLAYBOOK = "zookeeper-connections"
DOWN = "broker-down"
DEADLINE_S = 20.0
REFUSED = "refused"
READ_ONLY = "read-only"


class Facts(NamedTuple):
    """None: this version does not say, or the word is not allowed. recent: (kind, hours ago, how many)."""

    server: str
    here: bool
    state: str
    mode: str = ""
    connections: Optional[int] = None
    connections_limit: Optional[int] = None
    fullest_source: str = ""
    fullest_source_connections: Optional[int] = None
    source_limit: Optional[int] = None
    latency_avg_ms: Optional[float] = None
    latency_max_ms: Optional[int] = None
    outstanding: Optional[int] = None
    synced_followers: Optional[int] = None
    followers: Optional[int] = None
    open_files: Optional[int] = None
    open_files_limit: Optional[int] = None
    data_bytes: Optional[int] = None
    znodes: Optional[int] = None
    recent: Tuple[Tuple[str, float, int], ...] = ()
    not_allowed: Tuple[str, ...] = ()
    rotating_disk: str = ""
    beside_broker: bool = False


def find(host: Host) -> Sequence[str]:
    kafka.need_role(host, "broker", "zookeeper")
    return [server.name for server in zookeeper_servers.servers(host)]


def look(host: Host, item: str) -> Facts:
    server = next(server for server in zookeeper_servers.servers(host) if server.name == item)
    if server.secure:
        return Facts(item, server.here, TLS)
    try:
        answers = four_letter.ask_all(host, server)
    except Refused:
        return Facts(item, server.here, REFUSED)
    states = [state for state, _text in answers.values()]
    bad = next((state for state in states if state not in (ANSWERED, NOT_ALLOWED)), "")
    if bad:
        return Facts(item, server.here, bad, source_limit=four_letter.count(server.config, "maxClientCnxns"))
    return _facts(host, server, {word: text for word, (state, text) in answers.items() if state == ANSWERED})


def _facts(host: Host, server: zookeeper_servers.Server, said: Mapping[str, str]) -> Facts:
    srvr = four_letter.parse_srvr(said["srvr"]) if "srvr" in said else None
    mntr = four_letter.parse_mntr(said["mntr"]) if "mntr" in said else {}
    sources = four_letter.parse_cons(said["cons"]) if "cons" in said else {}
    config = {**server.config, **java_properties.parse(said.get("conf", ""))}
    fullest = max(sources, key=lambda source: sources[source], default="")
    count = four_letter.count
    latency_max = srvr.latency_max_ms if srvr else count(mntr, "zk_max_latency")
    enough = {"srvr": bool(srvr), "mntr": bool(mntr), "cons": "cons" in said, "conf": bool(config)}
    return Facts(
        server=server.name,
        here=server.here,
        state=ANSWERED,
        mode=srvr.mode if srvr else mntr.get("zk_server_state", ""),
        connections=srvr.connections if srvr else count(mntr, "zk_num_alive_connections"),
        connections_limit=count(config, "maxCnxns"),
        fullest_source=fullest,
        fullest_source_connections=sources.get(fullest),
        source_limit=count(config, "maxClientCnxns"),
        latency_avg_ms=srvr.latency_avg_ms if srvr else None,
        latency_max_ms=latency_max,
        outstanding=srvr.outstanding if srvr else count(mntr, "zk_outstanding_requests"),
        synced_followers=count(mntr, "zk_synced_followers"),
        followers=four_letter.followers(mntr, config),
        open_files=count(mntr, "zk_open_file_descriptor_count"),
        open_files_limit=count(mntr, "zk_max_file_descriptor_count"),
        data_bytes=count(mntr, "zk_approximate_data_size"),
        znodes=count(mntr, "zk_znode_count"),
        recent=_recent(host, server, mntr, latency_max),
        not_allowed=tuple(word for word, reported in enough.items() if not reported),
        rotating_disk=zookeeper_servers.rotating_disk(host, config) if server.here else "",
        beside_broker=server.here and zookeeper_servers.broker_here(host),
    )


def _recent(
    host: Host, server: zookeeper_servers.Server, mntr: Mapping[str, str], latency_max: Optional[int]
) -> Tuple[Tuple[str, float, int], ...]:
    """Note what grew since the last run, and give all that is remembered. `slow` has the milliseconds as its number."""
    counters = {
        "expired": four_letter.count(mntr, "zk_stale_sessions_expired"),
        "rejected": four_letter.count(mntr, "zk_connection_rejected"),
        "slow": latency_max,
    }
    for kind, value in counters.items():
        grown = host.state.delta(f"zookeeper/{server.name}/{kind}", value) if value is not None else None
        if grown and grown.change and value:
            number = value if kind == "slow" else grown.change
            host.state.add_incidents("zookeeper", server.name, [Incident(kind, host.now(), number)])
    incidents = host.state.incidents("zookeeper", server.name)
    return tuple((one.kind, host.hours_since(one.at), one.times) for one in incidents)


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    rules = _availability(facts, limits)
    if facts.state == ANSWERED:
        rules += _room(facts, limits) + _pace(facts, limits) + _standing(facts, limits) + _place(facts)
    room = "" if facts.connections is None else f", {facts.connections} connections"
    return combine(rules, f"ZooKeeper {facts.server} is {facts.mode or 'up'}{room}")


def _availability(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    name = f"ZooKeeper {facts.server}"
    if facts.state == REFUSED:
        if facts.here:
            return [critical(f"{name} is down: nothing listens on its port", DOWN)]
        return [warning(f"{name} refuses connections: down, or rejected by a firewall", DOWN)]
    if facts.state == EMPTY:
        limit = facts.source_limit if facts.source_limit is not None else limits["default_connections_per_source"]
        full = f"{name} drops connections without a reply: maxClientCnxns reached"
        return [critical(f"{full} ({limit}{'' if facts.source_limit else ', the default'})", PLAYBOOK)]
    if facts.state == NOT_SERVING:
        return [critical(f"{name} is running but not serving requests: starting, or no quorum", DOWN)]
    if facts.state == TLS:
        return [unknown(f"{name} accepts TLS only: four-letter words require a plaintext client port")]
    rules = []
    if facts.mode == READ_ONLY:
        rules.append(critical(f"{name} is read-only: quorum lost", DOWN))
    if facts.not_allowed:
        rules.append(unknown(f"{name} does not allow {', '.join(facts.not_allowed)}: add {WHITELIST} to zoo.cfg"))
    return rules


def _room(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    per_source = limits["default_connections_per_source"] if facts.source_limit is None else facts.source_limit
    by = f"connections from {facts.fullest_source}"
    return [
        *_share(facts, "source_connections", facts.fullest_source_connections, per_source, by, limits),
        *_share(facts, "total_connections", facts.connections, facts.connections_limit, "connections in total", limits),
        *_share(facts, "open_files", facts.open_files, facts.open_files_limit, "open files", limits),
    ]


def _share(
    facts: Facts, name: str, used: Optional[int], limit: Optional[int], words: str, limits: Mapping[str, Any]
) -> List[Verdict]:
    """A limit of 0 is none."""
    if not used or not limit:
        return []
    message = f"ZooKeeper {facts.server}: {used} of {limit} {words}"
    playbook = "tune-os" if name == "open_files" else PLAYBOOK
    percent = 100 * used / limit
    if percent >= limits[f"{name}_percent_critical"]:
        return [critical(message, playbook)]
    return [warning(message, playbook)] if percent >= limits[f"{name}_percent_warning"] else []


def _pace(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    lately = f"in the last {limits['clear_after_hours']} h"
    recent = [(kind, times) for kind, hours, times in facts.recent if hours < limits["clear_after_hours"]]
    slowest = max((times for kind, times in recent if kind == "slow"), default=0)
    rejected, expired = (sum(n for kind, n in recent if kind == word) for word in ("rejected", "expired"))
    rules = [
        *_above(facts, "latency_avg_ms", facts.latency_avg_ms, "ms average latency", limits),
        *_above(facts, "latency_max_ms", slowest, f"ms maximum latency {lately}", limits),
        *_above(facts, "outstanding", facts.outstanding, "requests waiting", limits),
    ]
    if expired >= limits["expired_sessions_warning"]:
        rules.append(warning(f"ZooKeeper {facts.server}: {count_of(expired, 'session')} expired {lately}"))
    if rejected >= limits["rejected_connections_warning"]:
        rules.append(warning(f"ZooKeeper {facts.server}: {count_of(rejected, 'connection')} rejected", PLAYBOOK))
    return rules


def _above(facts: Facts, name: str, value: Optional[float], words: str, limits: Mapping[str, Any]) -> List[Verdict]:
    if value is None or value < limits[f"{name}_warning"]:
        return []
    judged = critical if value >= limits.get(f"{name}_critical", float("inf")) else warning
    return [judged(f"ZooKeeper {facts.server}: {value:.0f} {words}, limit {limits[f'{name}_warning']}")]


def _standing(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    rules = [
        *_above(facts, "data_bytes", facts.data_bytes, "bytes of data", limits),
        *_above(facts, "znodes", facts.znodes, "znodes", limits),
    ]
    synced, followers = facts.synced_followers, facts.followers
    if facts.mode == "leader" and synced is not None and followers is not None and synced < followers:
        rules.append(warning(f"ZooKeeper {facts.server}: {synced} of {followers} followers in sync", DOWN))
    return rules


def _place(facts: Facts) -> List[Verdict]:
    rules = []
    if facts.rotating_disk:
        rules.append(warning(f"ZooKeeper's log is on rotating disk {facts.rotating_disk}, should be on an SSD"))
    if facts.beside_broker:
        rules.append(warning("ZooKeeper shares this machine with a broker, should have its own"))
    return rules
