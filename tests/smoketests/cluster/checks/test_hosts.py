"""Cluster checks that judge what hosts said: reach, balance, slow disks, clocks, drift, ports, shared fate."""

from __future__ import annotations

from typing import Any

import pytest

from smoketests.cluster import statistics
from smoketests.cluster.checks import clock_skew, disk_balance, drift, ports, reach, shared_fate, slow_disk
from smoketests.cluster.view import ClusterView
from tests.smoketests.cluster.views import GB, answered, judged, problems, said, unreached, view

# --- reach


@pytest.mark.parametrize(("seconds", "status"), [(44.9, "ok"), (45, "warning"), (46, "warning")])
def test_an_answer_that_took_most_of_the_time_is_told(seconds: float, status: str) -> None:
    seen = ClusterView(view({1: []}).cluster, {"kafka-a01": answered(seconds=seconds)})

    assert judged(seen, "reach")["kafka-a01"]["status"] == status


def test_a_host_that_did_not_answer_is_unknown_with_its_reason() -> None:
    seen = ClusterView(view({1: [], 2: []}).cluster, {"kafka-a01": unreached("host key changed (known SHA256:ab)")})
    rows = judged(seen, "reach")

    assert (rows["kafka-a01"]["status"], rows["kafka-a01"]["reason"]) == (
        "unknown",
        "host key changed (known SHA256:ab)",
    )
    assert rows["kafka-a02"]["status"] == "unknown", "nothing is known of it at all"


def test_hosts_that_the_caller_left_out_are_no_rows() -> None:
    seen = view({1: []}, silent=[2], left_out=frozenset({"kafka-a02"}))

    assert set(judged(seen, "reach")) == {"kafka-a01"}
    assert reach.LIMITS["answer_s_warning"] == 45


# --- disk balance across brokers


def usage(percent: float, item: str = "/kafka/d1", data: bool = True) -> dict[str, Any]:
    return said("disk_usage", item, data=data, used_bytes=int(percent * GB), free_bytes=int((100 - percent) * GB))


@pytest.mark.parametrize(("fullest", "status"), [(40, "ok"), (59.9, "ok"), (60, "warning"), (95, "warning")])
def test_the_edges_of_balance(fullest: float, status: str) -> None:
    row = judged(view({1: [usage(40)], 2: [usage(41)], 3: [usage(fullest)]}), "cluster_disk_balance")["brokers"]

    assert row["status"] == status
    assert status == "ok" or ("kafka-a03" in row["reason"] and row["playbook"] == "full-disk")
    assert disk_balance.LIMITS["spread_points_warning"] == 20


def test_the_mounts_of_a_broker_count_together_and_the_systems_do_not() -> None:
    lopsided = [usage(10), usage(70, "/kafka/d2"), usage(95, "/", data=False)]

    assert not problems(view({1: lopsided, 2: [usage(40)]}), "cluster_disk_balance")


def test_two_brokers_are_enough_to_be_out_of_balance() -> None:
    assert [r["status"] for r in problems(view({1: [usage(10)], 2: [usage(60)]}), "cluster_disk_balance")] == [
        "warning"
    ]


def test_a_broker_that_lost_a_mount_is_not_judged_by_the_rest() -> None:
    from inventory.model import Mount

    mounts = (Mount("/kafka/d1"), Mount("/kafka/d2"))
    seen = view({1: [usage(10)], 2: [usage(40)], 3: [usage(40)]}, host_fields={1: {"mounts": mounts}})
    row = judged(seen, "cluster_disk_balance")["brokers"]

    assert row["status"] == "unknown" and "kafka-a01" in row["reason"]


def test_balance_says_which_broker_did_not_tell() -> None:
    row = judged(view({1: [usage(40)], 2: [usage(40)]}, silent=[3]), "cluster_disk_balance")["brokers"]

    assert row["status"] == "unknown"
    assert row["reason"] == "cannot tell for kafka-a03: no report, see reach"


def test_what_was_not_asked_is_skipped() -> None:
    other = [said("swappiness", swappiness=1)]
    row = judged(view({1: other, 2: other}), "cluster_disk_balance")["-"]

    assert (row["status"], row["reason"]) == ("skipped", "disk_usage ran on no host")
    assert judged(view({1: [usage(1)]}), "cluster_disk_balance")["-"]["status"] == "skipped", "one broker alone"


# --- slow disks


def latency(ms: float, disk: str = "sda", **facts: Any) -> dict[str, Any]:
    given = {"disk": f"{disk} (ST8000, serial Z{disk})", "model": "ST8000", "rotational": True, "reads": 1000,
             "writes": 1000, "r_await_ms": ms, "w_await_ms": ms, "utilisation_percent": 40.0}  # fmt: skip
    return said("disk_latency", disk, **{**given, **facts})


def disks(*ms: float, **facts: Any) -> list[dict[str, Any]]:
    return [latency(value, f"sd{chr(97 + index)}", **facts) for index, value in enumerate(ms)]


PEERS = {1: disks(10, 11, 9, 10), 2: disks(10, 12, 10, 9)}


@pytest.mark.parametrize(("ms", "slow"), [(10, False), (29.9, False), (30.1, True), (200, True)])
def test_a_disk_is_slow_at_three_times_its_peers(ms: float, slow: bool) -> None:
    found = problems(view({**PEERS, 3: disks(ms, 10, 10, 10)}), "slow_disk")

    assert [(row["host"], row["item"]) for row in found] == ([("kafka-a03", "sda")] if slow else [])
    assert not slow or (found[0]["status"] == "warning" and found[0]["playbook"] == "replace-jbod-disk")
    assert slow_disk.LIMITS["times_median_warning"] == 3


def test_a_small_difference_of_quick_disks_is_not_slowness() -> None:
    quick = {number: disks(0.1, 0.1, 0.1, rotational=False, model="SSD") for number in (1, 2, 3)}
    quick[3] = disks(1.9, 0.1, 0.1, rotational=False, model="SSD")
    slower = {**quick, 3: disks(2.2, 0.1, 0.1, rotational=False, model="SSD")}

    assert not problems(view(quick), "slow_disk")
    assert [row["item"] for row in problems(view(slower), "slow_disk")] == ["sda"]


def test_scattered_peers_make_the_judge_more_patient() -> None:
    scattered = {1: disks(2, 40, 5, 30), 2: disks(8, 25, 3, 12), 3: disks(45, 10, 10, 10)}

    assert [row["item"] for row in problems(view({**PEERS, 3: disks(45, 10, 10, 10)}), "slow_disk")] == ["sda"]
    assert not problems(view(scattered), "slow_disk")


@pytest.mark.parametrize(
    "idle", [{"utilisation_percent": 1.9}, {"reads": 99, "writes": 99}, {"r_await_ms": None, "w_await_ms": None}]
)
def test_an_idle_disk_is_not_slow(idle: dict[str, Any]) -> None:
    assert not problems(view({**PEERS, 3: [latency(500, "sda", **idle), *disks(10, 10)[1:]]}), "slow_disk")


def test_disks_are_compared_with_their_own_model_where_there_are_enough() -> None:
    archive = disks(90, 95, 92, model="ARCHIVE")
    seen = view({**PEERS, 3: archive, 4: archive})

    assert not problems(seen, "slow_disk"), "six of them are alike, though slower than the others"


def test_a_lone_model_is_compared_with_its_kind_never_with_solid_state_disks() -> None:
    solid = {1: disks(0.3, 0.3, 0.3, 0.3, rotational=False, model="SSD")}
    row = judged(view({**solid, 2: disks(12.0)}), "slow_disk")["disks"]

    assert row["status"] == "skipped" and "too few peers" in row["reason"] and "kafka-a02" in row["reason"]
    assert [r["item"] for r in problems(view({**PEERS, 3: disks(150, model="OTHER")}), "slow_disk")] == ["sda"]


def test_a_small_cluster_whose_disks_have_no_peers_is_left_in_peace() -> None:
    row = judged(view({1: disks(12.0), 2: disks(300.0), 3: disks(11.0)}), "slow_disk")["disks"]

    assert row["status"] == "skipped" and "too few peers" in row["reason"]


def test_when_most_disks_of_a_host_are_slow_the_host_is_named_not_the_disks() -> None:
    (row,) = problems(view({**PEERS, 3: disks(100, 90, 110, 95), 4: disks(10, 9, 11, 10)}), "slow_disk")

    assert row["host"] == "kafka-a03" and row["item"] == "disks of kafka-a03"
    assert "controller" in row["reason"] and row["playbook"] == "hung-disk"


def test_a_slow_disk_of_a_raid10_has_its_own_playbook() -> None:
    seen = view({**PEERS, 3: disks(200, 10, 10)}, host_fields={3: {"layout": "raid10"}})

    assert [row["playbook"] for row in problems(seen, "slow_disk")] == ["replace-raid10-disk"]


def test_a_disk_that_only_writes_slowly_is_told_of_its_writes() -> None:
    (row,) = problems(view({**PEERS, 3: [latency(10, r_await_ms=11.0, w_await_ms=300.0, reads=99), *disks(1, 10)[1:]]}),
                      "slow_disk")  # fmt: skip

    assert "writes take 300.0 ms" in row["reason"] and "reads" not in row["reason"]


@pytest.mark.parametrize("facts", [{"utilisation_percent": 2.0}, {"reads": 100, "writes": 0}])
def test_as_much_work_as_the_limit_is_enough_to_judge(facts: dict[str, Any]) -> None:
    found = problems(view({**PEERS, 3: [latency(500, "sda", **facts), *disks(10, 10)[1:]]}), "slow_disk")

    assert [row["item"] for row in found] == ["sda"]


def test_exactly_three_times_the_median_is_slow() -> None:
    assert [row["item"] for row in problems(view({**PEERS, 3: disks(30, 10, 10, 10)}), "slow_disk")] == ["sda"]


def test_two_slow_disks_of_two_are_two_disks() -> None:
    assert [row["item"] for row in problems(view({**PEERS, 3: disks(100, 90)}), "slow_disk")] == ["sda", "sdb"]


def test_slow_disk_says_which_host_did_not_tell() -> None:
    (row,) = problems(view(PEERS, silent=[3]), "slow_disk")

    assert row["status"] == "unknown" and "kafka-a03" in row["reason"]


# --- clocks


def clock(offset_ms: float, synchronised: bool = True) -> list[dict[str, Any]]:
    return [said("clock", "clock", offset_ms=offset_ms, synchronised=synchronised, source="chronyd")]


@pytest.mark.parametrize(
    ("offset", "status"),
    [
        (0, ""),
        (99.9, ""),
        (100, "warning"),
        (-100, "warning"),
        (999.9, "warning"),
        (1000, "critical"),
        (-1e6, "critical"),
    ],
)
def test_the_edges_of_skew(offset: float, status: str) -> None:
    found = problems(view({1: clock(0), 2: clock(0), 3: clock(offset), 4: clock(0)}), "clock_skew")

    assert [(row["host"], row["status"]) for row in found] == ([("kafka-a03", status)] if status else [])
    assert clock_skew.LIMITS == {"skew_ms_warning": 100, "skew_ms_critical": 1000, "own_clock_slack_ms": 2000}


def test_one_wild_clock_does_not_make_the_others_wrong() -> None:
    found = problems(view({1: clock(2), 2: clock(-3), 3: clock(86_400_000)}), "clock_skew")

    assert [row["host"] for row in found] == ["kafka-a03"]
    assert "ahead of the median of 3 hosts" in found[0]["reason"]


def test_of_two_clocks_the_one_that_is_off_by_its_own_word_is_named() -> None:
    assert [row["host"] for row in problems(view({1: clock(-400), 2: clock(1)}), "clock_skew")] == ["kafka-a01"]


def test_an_offset_that_nothing_vouches_for_is_unknown_not_well() -> None:
    (row,) = problems(view({1: clock(0), 2: clock(0), 3: clock(0, synchronised=False)}), "clock_skew")

    assert row["status"] == "unknown" and "kafka-a03" in row["reason"]


def test_a_host_that_follows_a_wrong_time_server_shows_by_our_own_clock() -> None:
    windows = {f"kafka-a0{number}": (1000.0, 1002.0) for number in (1, 2, 3)}
    headers = {1: {"clock": 1001.0}, 2: {"clock": 1000.5}, 3: {"clock": 1005.5}}
    seen = view({1: clock(0), 2: clock(0), 3: clock(0)}, headers=headers, windows=windows)
    found = problems(seen, "clock_skew")

    assert [(row["host"], row["status"]) for row in found] == [("kafka-a03", "critical")]
    assert "1500 ms ahead of the median of 3 hosts by our clock" in found[0]["reason"]


def test_the_time_that_an_answer_took_is_no_skew() -> None:
    windows = {"kafka-a01": (1000.0, 1030.0), "kafka-a02": (1000.0, 1000.2)}
    seen = view({1: clock(0), 2: clock(0)}, headers={1: {"clock": 1029.0}, 2: {"clock": 1001.9}}, windows=windows)

    assert not problems(seen, "clock_skew")


# --- drift


def machine(**changed: Any) -> list[dict[str, Any]]:
    has = {"swappiness": 1, "max_map_count": 262144, "total_gb": 125.6, "limit": 100000, "model": "ST8000",
           "firmware": "SN02", "scheduler": "mq-deadline", "nic": "14.31", **changed}  # fmt: skip
    return [
        said("swappiness", "vm.swappiness", swappiness=has["swappiness"]),
        said("memory_maps", "vm.max_map_count", pid=0, max_map_count=has["max_map_count"]),
        said("memory", "memory", total_gb=has["total_gb"]),
        said("open_files", "broker", pid=311, open_files_limit=has["limit"]),
        said("smart", "Z1", model=has["model"], firmware=has["firmware"]),
        said("disk_scheduler", "sda", scheduler=has["scheduler"]),
        said("nic_link", "eth0", driver="mlx5_core", firmware=has["nic"]),
    ]


@pytest.mark.parametrize(
    ("changed", "item"),
    [
        ({"swappiness": 60}, "vm.swappiness"),
        ({"max_map_count": 65530}, "vm.max_map_count"),
        ({"total_gb": 94.1}, "memory"),
        ({"limit": 1024}, "open files limit of broker"),
        ({"model": "WD80"}, "disk models"),
        ({"firmware": "SN01"}, "firmware of ST8000"),
        ({"scheduler": "bfq"}, "schedulers"),
        ({"nic": "14.20"}, "firmware of mlx5_core cards"),
    ],
)
def test_the_odd_one_among_peers_is_named(changed: dict[str, Any], item: str) -> None:
    found = problems(view({1: machine(), 2: machine(), 3: machine(**changed), 4: machine()}), "drift")

    assert [(row["host"], row["item"], row["status"]) for row in found] == [("kafka-a03", item, "warning")]
    assert "3 of 4 peers" in found[0]["reason"]


def test_alike_machines_drift_in_nothing() -> None:
    rows = judged(view({number: machine() for number in (1, 2, 3)}), "drift")

    assert [row["status"] for row in rows.values()] == ["ok"]
    assert drift.LIMITS["min_peers"] == 3


def test_another_kernel_is_drift() -> None:
    seen = view({number: machine() for number in (1, 2, 3)}, headers={2: {"kernel": "6.1.0-18"}})
    (row,) = problems(seen, "drift")

    assert (row["host"], row["item"]) == ("kafka-a02", "kernel")
    assert row["reason"] == "kernel is 6.1.0-18, 2 of 3 peers have 6.1.0-22"


def test_an_upgrade_half_done_has_no_majority() -> None:
    old = {"kernel": "6.1.0-18"}
    (row,) = problems(view({number: machine() for number in (1, 2, 3, 4)}, headers={1: old, 2: old}), "drift")

    assert row["host"] == "" and "no majority among 4 peers" in row["reason"]


def test_two_machines_are_no_majority() -> None:
    assert not problems(view({1: machine(), 2: machine(swappiness=60)}), "drift")


@pytest.mark.parametrize(("total_gb", "differs"), [(125.0, False), (122.5, False), (121.5, True), (129.0, False)])
def test_what_the_kernel_keeps_for_itself_is_not_a_lost_dimm(total_gb: float, differs: bool) -> None:
    found = problems(view({1: machine(), 2: machine(), 3: machine(), 4: machine(total_gb=total_gb)}), "drift")

    assert [row["item"] for row in found] == (["memory"] if differs else [])


def test_machines_of_another_role_or_layout_are_not_peers() -> None:
    other = {"roles": ("zookeeper",)}
    seen = view(
        {number: machine() if number < 4 else machine(swappiness=0, total_gb=8) for number in range(1, 7)},
        host_fields={4: other, 5: other, 6: other},
    )

    assert not problems(seen, "drift")


def test_drift_says_who_did_not_tell() -> None:
    (row,) = problems(view({1: machine(), 2: machine(), 3: machine()}, silent=[4]), "drift")

    assert (row["status"], row["item"]) == ("unknown", "broker/jbod") and "kafka-a04" in row["reason"]


# --- ports

PEER_PORTS = tuple(f"kafka-a{number:02d}:9092" for number in range(1, 5)) + ("zk1:2181",)


def tried(*unreached: tuple[str, str], peers: int = 4) -> list[dict[str, Any]]:
    return [said("peer_ports", "peers", peers=peers, unreached=[list(pair) for pair in unreached])]


def reaching(rows: dict[int, Any], silent: tuple[int, ...] = ()) -> ClusterView:
    """Each host is to reach all the others and ZooKeeper."""
    fields = {
        number: {"peers": tuple(peer for peer in PEER_PORTS if f"a{number:02d}" not in peer)}
        for number in (*rows, *silent)
    }
    return view(rows, silent, fields)


def test_all_reach_all() -> None:
    assert not problems(reaching({1: tried(), 2: tried(), 3: tried()}), "ports")
    assert ports.LIMITS["min_witnesses"] == 2


def test_a_port_that_none_reaches_is_its_own_machines_fault() -> None:
    down = ("kafka-a03:9092", "refused")
    (row,) = problems(reaching({1: tried(down), 2: tried(down), 3: tried(), 4: tried(down)}), "ports")

    assert (row["host"], row["item"], row["status"]) == ("kafka-a03", "kafka-a03:9092", "critical")
    assert "no process listens" in row["reason"] and row["playbook"] == "broker-down"


def test_a_port_that_drops_everyone_is_a_firewall() -> None:
    drops = ("kafka-a03:9092", "no answer")
    (row,) = problems(reaching({1: tried(drops), 2: tried(drops), 3: tried(), 4: tried(drops)}), "ports")

    assert (row["status"], row["playbook"]) == ("critical", "firewall")


def test_one_witness_is_not_enough_to_call_a_port_dead() -> None:
    (row,) = problems(reaching({1: tried(("kafka-a02:9092", "refused")), 2: tried()}), "ports")

    assert row["status"] == "warning" and "no other host tried it" in row["reason"]


def test_a_pair_that_cannot_talk_is_a_warning_with_both_names() -> None:
    (row,) = problems(reaching({1: tried(("zk1:2181", "no answer")), 2: tried(), 3: tried()}), "ports")

    assert row["status"] == "warning" and row["reason"] == "kafka-a01 cannot reach zk1:2181 (no answer); 2 others do"


def test_a_machine_that_reaches_nobody_is_cut_off_and_blames_nobody() -> None:
    cut = tried(("kafka-a02:9092", "no answer"), ("kafka-a03:9092", "no answer"), peers=2)
    (row,) = problems(reaching({1: cut, 2: tried(), 3: tried()}), "ports")

    assert (row["host"], row["status"]) == ("kafka-a01", "critical") and "cut off" in row["reason"]


def test_a_machine_with_one_peer_is_not_cut_off_when_that_is_down() -> None:
    down = ("kafka-a03:9092", "refused")
    found = problems(reaching({1: tried(down, peers=1), 2: tried(down), 3: tried()}), "ports")

    assert [row["item"] for row in found] == ["kafka-a03:9092"]


def test_where_nobody_reaches_anybody_the_ports_are_shut_and_nobody_is_cut_off() -> None:
    def without(number: int) -> list[dict[str, Any]]:
        peers = [peer for peer in PEER_PORTS if f"a{number:02d}" not in peer]
        return tried(*((peer, "refused") for peer in peers))

    found = problems(reaching({1: without(1), 2: without(2), 3: without(3)}), "ports")

    assert {row["item"] for row in found} == set(PEER_PORTS)


def test_a_host_cannot_blame_ports_that_are_none_of_its_peers() -> None:
    made_up = [(f"other-{number}:22", "no answer") for number in range(900)]

    assert not problems(reaching({1: tried(*made_up, peers=1000), 2: tried(), 3: tried()}), "ports")


def test_ports_says_who_did_not_tell_and_is_skipped_where_nobody_has_peers() -> None:
    (row,) = problems(reaching({1: tried(), 2: tried()}, silent=(3,)), "ports")
    no_peers = [said("peer_ports", status="skipped")]

    assert row["status"] == "unknown" and "kafka-a03" in row["reason"]
    assert judged(view({1: no_peers, 2: no_peers}), "ports")["-"]["status"] == "skipped"


# --- shared fate


def rack(number: int) -> dict[str, Any]:
    return {"rack": f"r{(number - 1) // 4 + 1}", "power_feed": f"feed-{'AB'[number % 2]}"}


RACKS = {number: rack(number) for number in range(1, 13)}
WELL = [said("power", "PS1")]
LOST = [said("power", "PS1", "critical")]


def test_lost_power_in_one_rack_has_one_cause() -> None:
    seen = view({number: LOST if number <= 4 else WELL for number in range(1, 13)}, host_fields=RACKS)
    (row,) = problems(seen, "shared_fate")

    assert row["item"] == "rack r1" and row["status"] == "warning"
    assert row["reason"].startswith("4 hosts with power problems share rack r1 (4 of the 4 there")
    assert row["facts"]["affected"] == ["kafka-a01", "kafka-a02", "kafka-a03", "kafka-a04"]


def test_problems_spread_over_the_racks_have_no_common_cause() -> None:
    seen = view({number: LOST if number in (1, 6, 12) else WELL for number in range(1, 13)}, host_fields=RACKS)

    assert not problems(seen, "shared_fate")


def test_two_are_no_pattern() -> None:
    seen = view({number: LOST if number < 3 else WELL for number in range(1, 13)}, host_fields=RACKS)

    assert not problems(seen, "shared_fate")
    assert shared_fate.LIMITS["together_warning"] == 3


def test_a_problem_of_everyone_is_nobodys_rack() -> None:
    assert not problems(view(dict.fromkeys(range(1, 13), LOST), host_fields=RACKS), "shared_fate")


def test_a_feed_that_runs_through_the_racks_is_found() -> None:
    seen = view({number: LOST if number % 2 else WELL for number in range(1, 13)}, host_fields=RACKS)
    (row,) = problems(seen, "shared_fate")

    assert row["item"] == "power feed feed-B"


def test_hosts_of_one_rack_that_do_not_answer_are_told_together() -> None:
    seen = view(dict.fromkeys(range(5, 13), WELL), silent=[1, 2, 3, 4], host_fields=RACKS)
    rows = judged(seen, "shared_fate")

    assert rows["rack r1"]["status"] == "warning" and "without an answer" in rows["rack r1"]["reason"]
    assert rows["all"]["status"] == "unknown"


def drives(firmware: str, status: str, count: int = 6, slot: str = "") -> list[dict[str, Any]]:
    return [
        said(
            "smart", f"Z{firmware}{index}", status, model="ST8000", firmware=firmware, slot=slot, path=f"/dev/sd{index}"
        )
        for index in range(count)
    ]


def test_a_bad_batch_of_drives_is_named_by_model_and_firmware() -> None:
    seen = view(
        {1: [*drives("SN01", "warning", 3), *drives("SN02", "ok")], 2: drives("SN02", "ok"), 3: drives("SN02", "ok")}
    )
    rows = problems(seen, "shared_fate")

    assert [row["item"] for row in rows] == ["drives ST8000 firmware SN01"]
    assert "3 disks with problems" in rows[0]["reason"]


def test_drives_behind_one_controller_are_told_together() -> None:
    bad = drives("SN02", "critical", 4, "pci-0000:3b:00.0-scsi-0:0:4:0")
    seen = view(
        {
            1: [*bad, *drives("SN03", "ok", 6, "pci-0000:5e:00.0-ata-1")],
            2: drives("SN02", "ok"),
            3: drives("SN02", "ok", 12),
        }
    )
    rows = problems(seen, "shared_fate")

    assert "controller 0000:3b:00.0 of kafka-a01" in [row["item"] for row in rows]


@pytest.mark.parametrize(
    ("together", "here", "affected", "everywhere", "chance"),
    [(3, 4, 3, 12, 4 / 220), (4, 4, 4, 8, 1 / 70), (0, 4, 3, 12, 1.0), (1, 1, 1, 1, 1.0), (2, 2, 2, 4, 1 / 6)],
)
def test_chance_is_that_of_the_hypergeometric_distribution(
    together: int, here: int, affected: int, everywhere: int, chance: float
) -> None:
    assert statistics.by_chance(together, here, affected, everywhere) == pytest.approx(chance)


@pytest.mark.parametrize(
    ("values", "most"), [([], None), ([1], 1), ([1, 2], None), ([1, 1, 2], 1), ([1, 1, 2, 2], None)]
)
def test_a_majority_is_more_than_half(values: list[int], most: int | None) -> None:
    assert statistics.majority(values) == most
