"""The log dirs of every broker as Kafka reports them, and which findings of the same host have the same cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.status import FINE, critical, ok, unknown
from inventory.names import some
from smoketests.cluster.leader_balance import broker_name
from smoketests.cluster.view import LONGEST_TEXT, ClusterFinding, ClusterView, findings
from smoketests.readers.kafka.model import LogDir

PLAYBOOK = "replace-jbod-disk"
# The checks of a host that see the same failure from their side.
SAME_CAUSE = ("mounts", "disk_errors", "kafka_log", "smart", "raid")


def judge(
    view: ClusterView, log_dirs: Sequence[LogDir] | None, brokers: Sequence[int], names: Mapping[int, str]
) -> list[ClusterFinding]:
    """A finding of each log dir with an error, and one of all others. brokers: the ids of those that live."""
    told = log_dirs or ()
    failed = [row for row in told if row.error]
    silent = [str(broker) for broker in brokers if broker not in {row.broker for row in told}]
    facts = {"log_dirs": len(told), "failed": len(failed), "brokers_untold": len(silent)}
    verdict = ok(f"{len(told) - len(failed)} of {len(told)} log dirs of {len(brokers)} brokers have no error")
    if silent:
        verdict = unknown(f"no log-dir data from broker {some(silent)}")
    return [*(_failed(view, row, names) for row in failed), ClusterFinding("log_dirs", verdict, facts)]


def _failed(view: ClusterView, row: LogDir, names: Mapping[int, str]) -> ClusterFinding:
    name = names.get(row.broker, "")
    rows = list(_same(view, name, row.path))
    said = (
        f"{broker_name(row.broker, names)} took its log dir offline: {row.path} ({row.error}): its replicas are offline"
    )
    if rows:
        seen = some(sorted({f"{other['check']} {other['item']}"[:LONGEST_TEXT] for other in rows}))
        said = f"{said}; same cause as the host's own findings: {seen}"
    playbook = next((str(other["playbook"]) for other in rows if other.get("playbook")), PLAYBOOK)
    facts = {"broker": row.broker, "path": row.path, "error": row.error, "same_cause": len(rows)}
    return ClusterFinding(f"broker {row.broker} {row.path}"[:LONGEST_TEXT], critical(said[:500], playbook), facts, name)


def _same(view: ClusterView, name: str, path: str) -> Iterator[Mapping[str, Any]]:
    """What this host's own checks find wrong with the file system or the disk below that path, or with the path."""
    hosts = [host for host in view.hosts if host.name == name]
    wrong = [row for check in SAME_CAUSE for _host, row in findings(view, check, hosts) if row["status"] not in FINE]
    for row in wrong:
        item = str(row.get("item", ""))
        if path == item or path.startswith(f"{item.rstrip('/')}/") or path in str(row.get("reason", "")):
            yield row
