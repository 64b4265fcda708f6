"""What the gate stores: every decision, and the state before a maintenance for the verification after it.

STORE/gate/date=YYYY-MM-DD/HHMMSS-RUN.json, written aside, synced and then renamed.
"""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent import atomic_file, report
from inventory.errors import SmokeError
from smoketests.gate import replaced_disk
from smoketests.gate.decision import CANNOT_TELL, Decision, RuleResult
from smoketests.gate.maintenance import REPLACE_DISK, Maintenance
from smoketests.results import store as results

if TYPE_CHECKING:
    from inventory.model import Host
    from smoketests.gate.context import GateContext

STORE = "results"
SCHEMA = 1
LARGEST = 8 << 20
MOST_DAYS = 60
DAY_S = 86_400
# a wait asks for the same ones at each look
MOST_READ = 20_000
RECENT_S = 3600
MOST_FINDINGS = 200


class NoRecord(SmokeError):
    """There is no decision to compare with; why, in words."""


def as_json(decision: Decision) -> dict[str, Any]:
    """The whole decision as JSON values."""
    return {
        "schema": SCHEMA,
        "run_id": decision.run_id,
        "at": decision.at,
        "who": decision.who,
        "answer": decision.answer,
        "exit_code": decision.exit_code,
        "summary": decision.summary,
        "seconds": round(decision.seconds, 1),
        "maintenance": dict(decision.maintenance),
        "unsteady": decision.unsteady,
        "readings": [list(reading) for reading in decision.readings],
        "rules": [_rule_as_json(rule) for rule in decision.rules],
        "state": dict(decision.state),
    }


def _rule_as_json(rule: RuleResult) -> dict[str, Any]:
    found = [{"id": one.id(rule.name), **one._asdict()} for one in rule.findings[:MOST_FINDINGS]]
    return {**rule._asdict(), "evidence": dict(rule.evidence), "findings": found, "accept": rule.token}


def kept(decision: Decision, store: str) -> Decision:
    """The decision, kept; where that fails it gets a result more, which makes it no GO: nobody could prove it."""
    try:
        path = results.path_of(os.path.join(store, "gate"), decision.run_id, decision.at).removesuffix("l")
        _write(path, json.dumps(as_json(decision), indent=1, default=str))
    except (OSError, ValueError) as error:
        why = f"cannot store the decision in {store}: {error}"
        unkept = RuleResult(CANNOT_TELL, why, name="record", question="Is this decision stored?")
        return replace(decision, rules=[*decision.rules, unkept])
    return decision


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    atomic_file.replace(path, f"{text}\n".encode(), 0o640)


def state_of(situation: GateContext) -> dict[str, Any]:
    """What the gate behind the maintenance wants to know of the time in front of it."""
    state: dict[str, Any] = {"hosts": {host.name: _host_state(situation, host) for host in situation.leaving}}
    if situation.purpose == REPLACE_DISK and not situation.after:
        (host,) = situation.leaving
        serial = situation.maintenance.disk
        smart = replaced_disk.smart_of(situation.view, host, serial)
        facts = (smart or {}).get("facts") or {}
        state["disk"] = serial
        state["disk_facts"] = {name: facts.get(name) for name in ("size_bytes", "slot", "model", "path")}
        state["mounts"] = replaced_disk.mounts_of(situation.view, host, serial)
        state["log_dirs"] = replaced_disk.log_dirs_on(situation.view, situation.brokers_of(host), state["mounts"])
    return state


def _host_state(situation: GateContext, host: Host) -> dict[str, Any]:
    rows = list(replaced_disk.smart_rows(situation.view, host))
    return {
        "layout": host.layout,
        "disks": {str((row.get("facts") or {}).get("serial") or row.get("item")): row.get("status") for row in rows},
    }


def before(store: str, maintenance: Maintenance, now: float) -> dict[str, Any]:
    """The state of the newest decision in front of this maintenance; NoRecord if there is none to be read.

    Who asked again with the old disk out already saw less of it: the newest that saw its size is preferred. now:
    seconds since the epoch; what is older than MOST_DAYS is not looked at.
    """
    first: dict[str, Any] = {}
    for record in _newest_first(os.path.join(store, "gate"), now - MOST_DAYS * DAY_S):
        if _is_of(record, maintenance):
            state = {**record["state"], "at": record.get("at", ""), "answer": record.get("answer", "")}
            first = first or state
            if maintenance.purpose != REPLACE_DISK or _size_of(state):
                return state
    if not first:
        hosts = ", ".join(maintenance.hosts)
        raise NoRecord(f"{store}: no decision of the last {MOST_DAYS} days before {maintenance.purpose} of {hosts}")
    return first


def recent(store: str, cluster: str, now: float) -> list[Mapping[str, Any]]:
    """The decisions of the last hour about this cluster, newest first; none where the store cannot be read."""
    since, found = report.timestamp(now - RECENT_S), []
    try:
        for record in _newest_first(os.path.join(store, "gate"), now - RECENT_S):
            if not isinstance(record.get("at"), str) or record["at"] < since:
                break
            asked = record.get("maintenance")
            if isinstance(asked, dict) and asked.get("cluster") == cluster:
                found.append(record)
    except NoRecord:
        return []
    return found


def _size_of(state: Mapping[str, Any]) -> Any:
    facts = state.get("disk_facts")
    return facts.get("size_bytes") if isinstance(facts, dict) else None


def _is_of(record: Mapping[str, Any], maintenance: Maintenance) -> bool:
    asked = record.get("maintenance")
    if not isinstance(asked, dict) or not isinstance(record.get("state"), dict) or asked.get("after"):
        return False
    plain = replaced_disk.plain
    same_disk = not maintenance.disk or plain(str(asked.get("disk"))) == plain(maintenance.disk)
    hosts = asked.get("hosts")
    return (
        same_disk
        and asked.get("cluster") == maintenance.cluster
        and isinstance(hosts, list)
        and set(map(str, hosts)) == set(maintenance.hosts)
        and asked.get("purpose") == maintenance.purpose
    )


def _newest_first(folder: str, since: float) -> Iterator[Mapping[str, Any]]:
    """Decisions that can be read; one that is damaged is as if it were not there."""
    oldest = time.strftime("date=%Y-%m-%d", time.gmtime(since))
    try:
        days = sorted((day for day in os.listdir(folder) if day.startswith("date=") and day >= oldest), reverse=True)
        for day in days:
            for name in sorted(os.listdir(os.path.join(folder, day)), reverse=True):
                if name.endswith(".json") and not name.startswith("."):
                    record = _read(os.path.join(folder, day, name))
                    if record:
                        yield record
    except FileNotFoundError:
        return
    except OSError as error:
        raise NoRecord(f"{folder}: {error.strerror}") from error


def _read(path: str) -> Mapping[str, Any]:
    try:
        return _told(path)
    except (OSError, ValueError, RecursionError):
        return {}


@functools.lru_cache(maxsize=MOST_READ)
def _told(path: str) -> Mapping[str, Any]:
    """What `before` and `recent` want of a record; of one behind a maintenance no state. A record never changes."""
    with open(path, encoding="utf-8") as file:
        said = json.loads(file.read(LARGEST))
    if not isinstance(said, dict) or said.get("schema") != SCHEMA:
        return {}
    asked = said.get("maintenance")
    behind = isinstance(asked, dict) and asked.get("after")
    wanted = ("at", "who", "answer", "maintenance", *(() if behind else ("state",)))
    return {name: said.get(name) for name in wanted}
