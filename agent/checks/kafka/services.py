"""Is the broker or ZooKeeper server running, and do its ports listen?

Checked for each server that the inventory names by role, or that ran here in the last 7 days.
Warning: it was restarted in the last 24 hours without a reboot; its systemd unit is not active though the process runs
(nothing would restart it); a port does not listen in the first 10 minutes after its start; a debugger holds it.
Critical: no process; a port of its configuration or of the inventory does not listen; it is stopped (SIGSTOP) or frozen
(cgroup), so that the kernel accepts connections for it and no process replies.
Unknown: its configuration cannot be read and the inventory names no ports.
Ok again: it runs and listens, and its last restart is 24 hours ago. One that was removed for good is forgotten after
7 days, or at once if the inventory names the machine's roles without it.
"""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence, Tuple

from agent.host import Host
from agent.named_tuples import NamedTuple
from agent.sources.disks import file_system
from agent.sources.kafka import processes as kafka
from agent.sources.network import sockets
from agent.sources.system import systemd
from agent.state import Incident
from agent.status import Verdict, combine, critical, moment, unknown, warning

LIMITS = {"clear_after_hours": 24, "starting_minutes": 10}
PLAYBOOK = "broker-down"
# what holds a process -> what lets it go
STOPPED, FROZEN, TRACED = "stopped (SIGSTOP)", "frozen by its cgroup", "traced by a debugger"
FROZEN_V1 = "frozen by its cgroup (v1)"
HELD = {
    STOPPED: "kill -CONT {pid}",
    FROZEN: "systemctl thaw {unit}",
    FROZEN_V1: "docker unpause, or write THAWED to its freezer.state",
    TRACED: "stop the debugger",
}
UNITS = {
    "broker": ("kafka.service", "confluent-server.service", "confluent-kafka.service", "kafka-broker.service"),
    "controller": ("kafka-controller.service", "confluent-kcontroller.service", "kafka.service"),
    "zookeeper": ("zookeeper.service", "confluent-zookeeper.service"),
}


class Facts(NamedTuple):
    """pid 0: does not run. unit_state: such as active/running; empty without a unit. restarts: hours ago and times.

    held: by what the process is kept from running, of HELD; empty if by nothing.
    """

    item: str
    pid: int
    up_s: float
    seen_at: str
    config_path: str
    unit: str
    unit_state: str
    unit_holds_process: bool
    ports: Tuple[int, ...]
    closed_ports: Tuple[int, ...]
    restarted_hours_ago: Tuple[float, ...]
    restarted_times: Tuple[int, ...]
    held: str = ""


def find(host: Host) -> Sequence[str]:
    items = [*(row.item for row in kafka.known_servers(host)), *_unseen_roles(host)]
    if not items:
        kafka.need_role(host)
    return items


def _unseen_roles(host: Host) -> List[str]:
    """Roles of the inventory that no server has, neither a running one nor one of an earlier run."""
    known = kafka.known_servers(host)
    seen = {row.role for row in known}
    combined = [row.service for row in known if row.service]
    return [
        role
        for role in host.expected.roles
        if role not in seen and not any(kafka.serves(service, role) for service in combined)
    ]


def look(host: Host, item: str) -> Facts:
    row = next((row for row in kafka.known_servers(host) if row.item == item), None)
    if row is None or row.service is None:
        unit = _unit(host, row.role if row else item, "")
        seen_at = moment(row.seen_at) if row else ""
        path = row.config_path if row else ""
        return Facts(item, 0, 0.0, seen_at, path, *_said(unit), False, (), (), (), ())
    process = row.service.process
    own_unit = systemd.unit_of(host, process.pid)
    unit = _unit(host, row.role, own_unit)
    state, began = file_system.process(host, process.pid)
    _note_restart(host, item, [process.pid, began], process.started_at, unit)
    ports = _ports(host, row)
    listening = sockets.listening_ports(host, process.pid) if ports else frozenset()
    restarts = host.state.incidents("services", item)
    return Facts(
        item=item,
        pid=process.pid,
        up_s=round(max(host.now() - process.started_at, 0.0)),
        seen_at=moment(host.now()),
        config_path=row.config_path,
        unit=unit.name if unit else "",
        unit_state=unit.state if unit else "",
        unit_holds_process=bool(own_unit),
        ports=ports,
        closed_ports=tuple(port for port in ports if port not in listening),
        restarted_hours_ago=tuple(host.hours_since(restart.at) for restart in restarts),
        restarted_times=tuple(restart.times for restart in restarts),
        held=_held(host, process.pid, state),
    )


def _held(host: Host, pid: int, state: str) -> str:
    """By what a process is kept from running: state T or t of /proc/<pid>/stat, or its cgroup's freezer."""
    if state in ("T", "t"):
        return STOPPED if state == "T" else TRACED
    if systemd.is_frozen(host, pid):
        return FROZEN
    return FROZEN_V1 if systemd.is_frozen_v1(host, pid) else ""


def _unit(host: Host, role: str, own_unit: str) -> Optional[systemd.Unit]:
    names = (own_unit,) if own_unit else UNITS.get(role, ())
    return next(iter(systemd.units(host, *names)), None) if names else None


def _said(unit: Optional[systemd.Unit]) -> Tuple[str, str]:
    if unit is None:
        return "", ""
    return unit.name, unit.state + (f", {unit.result}" if unit.result not in ("", "success") else "")


def _note_restart(host: Host, item: str, process: List[Any], started_at: float, unit: Optional[systemd.Unit]) -> None:
    """A process that is not the one of the last run, in the same boot, was restarted: once, or as systemd counted.

    process: its number, and when it began in clock ticks since the boot, which no step of the clock moves.
    """
    before = host.state.cursor(f"services/{item}")
    host.state.set_cursor(f"services/{item}", process)
    counted = host.state.delta(f"services/{item}/restarts", unit.restarts) if unit and unit.restarts >= 0 else None
    if isinstance(before, list) and len(before) == 2 and _is_another(before, process):
        times = max(counted.change if counted else 0, 1)
        host.state.add_incidents("services", item, [Incident("restart", started_at, times)])


def _is_another(before: List[Any], now: List[Any]) -> bool:
    """An older agent noted the time of day for the beginning: that is not compared, nor is what was not told."""
    comparable = isinstance(before[1], str) and before[1] and now[1]
    return bool(before[0] != now[0] or (comparable and before[1] != now[1]))


def _ports(host: Host, row: kafka.Known) -> Tuple[int, ...]:
    """Those of its configuration; where all servers run, the first also has those that only the inventory names."""
    known = kafka.known_servers(host)
    if row is not known[0] or not all(other.service for other in known) or _unseen_roles(host):
        return row.ports
    claimed = {port for other in known if other is not row for port in other.ports}
    return tuple(dict.fromkeys([*row.ports, *(port for port in host.expected.ports if port not in claimed)]))


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    if not facts.pid:
        return critical(_gone(facts), PLAYBOOK)
    found: List[Verdict] = []
    up = f"process {facts.pid}, up {_span(facts.up_s)}"
    if facts.held:
        how = warning if facts.held == TRACED else critical
        mend = HELD[facts.held].format(pid=facts.pid, unit=facts.unit or "its unit")
        found.append(how(f"{facts.item} (process {facts.pid}) is {facts.held}: no reply to clients; {mend}", PLAYBOOK))
    if facts.closed_ports:
        how = warning if facts.up_s < limits["starting_minutes"] * 60 else critical
        ports = ", ".join(map(str, facts.closed_ports))
        found.append(how(f"{facts.item} is running ({up}) but does not listen on port {ports}", PLAYBOOK))
    if not facts.ports:
        found.append(unknown(f"ports unknown: {facts.config_path or 'its configuration'} cannot be read"))
    if facts.unit and not facts.unit_state.startswith("active/"):
        found.append(warning(f"{facts.unit} is {facts.unit_state} although {facts.item} is running ({up})", PLAYBOOK))
    found += _restarts(facts, limits["clear_after_hours"])
    listens = f", listens on {', '.join(map(str, facts.ports))}" if facts.ports else ""
    return combine(found, healthy=f"{facts.item} is running ({up}){listens}")


def _gone(facts: Facts) -> str:
    unit = f"; {facts.unit} is {facts.unit_state}" if facts.unit else ""
    path = f" ({facts.config_path})" if facts.config_path else ""
    seen = f", last seen {facts.seen_at}" if facts.seen_at else ""
    return f"no {facts.item.split(' ')[0]} process{path}{seen}{unit}"


def _restarts(facts: Facts, hours: float) -> List[Verdict]:
    recent = [(ago, times) for ago, times in zip(facts.restarted_hours_ago, facts.restarted_times) if ago < hours]
    if not recent:
        return []
    times = sum(times for _ago, times in recent)
    how_often = "restarted" if times == 1 else f"restarted {times} times in {hours} h, last"
    last = _span(min(ago for ago, _times in recent) * 3600)
    return [warning(f"{facts.item} was {how_often} {last} ago without a reboot of the machine", PLAYBOOK)]


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 172800 else f"{seconds / 86400:.0f} days"
