"""The gate against mistakes in the inventory and leftovers of playbooks, on a real cluster (W1, W6, W7, W8)."""

from __future__ import annotations

import ipaddress
import json
import pathlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import yaml

from smoketests.gate.playbook_runs import FOLDER
from tests.real.parts.gate_site import BROKERS, GateSite, gate_site

pytestmark = [pytest.mark.slow, pytest.mark.root, pytest.mark.timeout(600)]
A01, A02, A03 = BROKERS


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GateSite]:
    """Brokers that are their own controllers: three processes on three hosts, each known to ssh by a second address."""
    with gate_site(tmp_path_factory.mktemp("combined"), "combined") as running:
        machines = running.hosts.machines.values()
        lines = [f"[{other(one.address)}]:{one.port} {one.sshd.host_key}\n" for one in machines]
        with open(running.hosts.folder / "known_hosts", "a") as file:
            file.writelines(lines)
        yield running


def other(address: str) -> str:
    """The same address as one number: ssh gets there, and no broker is registered by it."""
    return str(int(ipaddress.ip_address(address)))


def changed(site: GateSite, name: str, change: Callable[[dict[str, Any]], None], **cluster: Any) -> pathlib.Path:
    """The inventory in which hosts are otherwise; cluster: its own settings."""
    path = site.write(name, **cluster)
    text = yaml.safe_load(path.read_text())
    change(text["clusters"]["prod-a"]["hosts"])
    path.write_text(yaml.safe_dump(text, sort_keys=False))
    return path


def bare(hosts: dict[str, Any]) -> None:
    """Names, and where sshd is: no role, no id, an address by which no broker is registered."""
    for row in hosts.values():
        for field in ("roles", "broker_id", "layout"):
            del row[field]
        row["address"] = other(row["address"])


def test_an_inventory_of_names_and_addresses_alone_does_not_hide_a_broker(site: GateSite) -> None:
    site.kafka.create("alone", (1,))
    try:
        decided = site.gate(A01, inventory=changed(site, "bare.yaml", bare))
    finally:
        site.kafka.delete("alone")

    assert decided.answer == "NO-GO", decided
    assert "alone" in decided.of("failed")["unreplicated"]
    assert f"broker 1 ({A01})" in str(decided.rules["availability"]), "it is known by its meta.properties"


def test_ids_mixed_up_in_the_inventory_are_cannot_tell_with_both_sides(site: GateSite) -> None:
    def mix(hosts: dict[str, Any]) -> None:
        hosts[A01]["broker_id"], hosts[A02]["broker_id"] = hosts[A02]["broker_id"], hosts[A01]["broker_id"]
        for row in hosts.values():
            row["address"] = other(row["address"])

    decided = site.gate(A01, inventory=changed(site, "mixed.yaml", mix))

    assert decided.answer != "GO" and decided.exit_code in (2, 3), decided
    said = decided.of("cannot tell")["availability"]
    assert f"which broker runs on {A01}: the inventory says 2, but its meta.properties or configuration say 1" in said


def test_one_finding_is_accepted_and_a_new_one_of_the_same_rule_is_not(site: GateSite) -> None:
    site.kafka.create("cache", (2,))
    try:
        known = site.gate(A02).rules["unreplicated"]["accept"]
        taken = site.gate(A02, "--accept", known, "--because", "cache is a cache")
        site.kafka.create("ledger", (2,))
        new = site.gate(A02, "--accept", known, "--because", "cache is a cache")
    finally:
        site.kafka.delete("cache")
        if site.kafka.partitions("ledger"):
            site.kafka.delete("ledger")

    assert taken.answer == "GO", taken
    assert new.answer == "NO-GO" and "ledger" in new.of("failed")["unreplicated"], new
    assert taken.document["summary"].startswith(f"GO for reboot of {A02}: ")


def test_behind_an_abandoned_playbook_the_rewritten_order_of_replicas_is_found(site: GateSite) -> None:
    """A run put broker 1 last in orders-0, and ended there: no leader is missed, for 1 is nobody's first any more."""
    reorder(site, (2, 3, 1))
    folder = site.store / FOLDER
    folder.mkdir(parents=True)
    plan = {"playbook": "rolling-restart", "host": A01, "cluster": "prod-a", "source": "- gate: reboot"}
    change = {"kind": "replica order", "item": "orders-0", "before": [1, 2, 3], "after": [2, 3, 1]}
    rows = [{"event": "planned", "at": "2026-11-21T21:07:33Z", "plan": plan},
            {"event": "began", "at": "2026-11-21T21:07:33Z", "who": "ann@bastion (pid 7)"},
            {"event": "started", "at": "2026-11-21T21:07:40Z", "step": "2", "changes": [change]}]  # fmt: skip
    (folder / f"{_now()}-3f2a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    try:
        before, behind = site.gate(A01), site.gate(A01, "--after")
    finally:
        reorder(site, (1, 2, 3))
    again = site.gate(A01, "--after")

    assert behind.answer == "NO-GO", behind
    assert "it changed the order of replicas of orders-0" in behind.of("failed")["playbook_changes"]
    assert behind.rules["preferred_leaders"]["status"] == "passed", "which is why the journal has to tell"
    assert before.answer == "GO" and "playbook_changes" in before.of("warned"), before
    assert again.rules["playbook_changes"]["status"] == "passed", again


def reorder(site: GateSite, replicas: Sequence[int]) -> None:
    """The order of orders-0, as a playbook changes it: no data move."""
    from kafka import TopicPartition

    with site.kafka.admin() as client:
        answers = client.alter_partition_reassignments({TopicPartition("orders", 0): list(replicas)})
    assert set(answers.values()) == {None}, answers
    site.kafka.until("the new order", lambda _facts: site.kafka.partitions("orders")[0].replicas == tuple(replicas))
    site.kafka.settle()
    site.kafka.elect()


def _now() -> str:
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime())
