"""Files to the model: what may stand there, what wins, and what is said of mistakes."""

from __future__ import annotations

import io
import json
import os
import pathlib
import subprocess
import sys

import pytest

import inventory
from agent import expected
from inventory import InventoryError
from inventory.model import Bmc, Interface, Mount
from tests.inventory.files import load, one, problems, write

EXAMPLES = pathlib.Path(inventory.__file__).parent / "examples"
CLUSTER = """\
clusters:
  prod:
    hosts:
      kafka-a01:
"""


@pytest.mark.parametrize("name", ["prod.yaml", "ansible.yaml", "ansible-inventory.yaml"])
def test_the_agent_takes_what_every_example_expects_of_every_host(name: str) -> None:
    hosts = inventory.load([str(EXAMPLES / name)]).hosts

    assert hosts
    for host in hosts:
        told = expected.from_json(json.dumps(host.expected()))
        assert (told.host, told.roles, told.limits) == (host.name, host.roles, host.limits)
        assert told.mount_paths == tuple(mount.path for mount in host.mounts)


def test_a_host_has_every_setting_that_can_be_said(tmp_path: pathlib.Path) -> None:
    host = one(
        tmp_path,
        "address: 10.0.0.1, port: 2222, user: smoke, python: /opt/py/bin/python3, sudo: yes, roles: [broker],"
        "layout: jbod, rack: 012, drawer: 3, power_feed: A, mounts: {/d1: {serial: 12345678, fstype: xfs}, /d2: },"
        "disks: [1E5, X], interfaces: {eth0: 25000, eth1: {duplex: full}}, psus: 2, ports: [9092], firewall: active,"
        "zookeeper: ['zk[1-2]', 'zk3:2182', '[::1]:2181'], write_probe: false, broker_id: 7,"
        "bmc: {via: lan, address: '{host}-bmc', user: u, password_env: SMOKE_PW},"
        "limits: {smart: {forget_days: 3, items: {X: {forget_days: 4.5}}}}, skip: {power: no BMC here}",
    )

    assert (host.address, host.port, host.user, host.sudo, host.rack, host.drawer) == (
        "10.0.0.1", 2222, "smoke", "yes", "012", "3")  # fmt: skip
    assert host.mounts == (Mount("/d1", serial="12345678", fstype="xfs"), Mount("/d2"))
    assert host.disks == ("1E5", "X")
    assert host.interfaces == (Interface("eth0", 25000), Interface("eth1", duplex="full"))
    assert host.bmc == Bmc("lan", "h1-bmc", user="u", password_env="SMOKE_PW")
    assert host.zookeeper == ("zk1:2181", "zk2:2181", "zk3:2182", "[::1]:2181")
    assert host.limits == {"smart": {"forget_days": 3, "items": {"X": {"forget_days": 4.5}}}}
    assert (host.skip, host.write_probe, host.broker_id) == ({"power": "no BMC here"}, False, 7)


def test_what_is_not_said_is_not_told_to_the_agent(tmp_path: pathlib.Path) -> None:
    assert one(tmp_path, "").expected() == {"host": "h1", "cluster": "c", "write_probe": True}


LEVELS = """\
defaults:
  rack: default
  mounts: [/a, /b]
  limits: {clock: {offset_ms_warning: 1, offset_ms_critical: 1}}
clusters:
  prod:
    rack: cluster
    limits: {clock: {offset_ms_warning: 2}}
    groups:
      left:
        rack: group
        limits: {clock: {offset_ms_warning: 3}}
        hosts: [h1, h2]
      top: {rack: top, hosts: [h2]}
    hosts:
      h2:
        limits: {clock: {offset_ms_warning: 4, items: {x: {offset_ms_warning: 5}}}}
        mounts: {/b: false, /c: {fstype: xfs}}
      h3: {mounts: [/z]}
      h4: {rack: host}
"""


def test_the_most_specific_level_wins_key_by_key(tmp_path: pathlib.Path) -> None:
    hosts = {host.name: host for host in load(tmp_path, LEVELS).hosts}

    assert {name: host.rack for name, host in hosts.items()} == {
        "h1": "group", "h2": "top", "h3": "cluster", "h4": "host"}  # fmt: skip
    assert hosts["h2"].limits["clock"] == {
        "offset_ms_warning": 4, "offset_ms_critical": 1, "items": {"x": {"offset_ms_warning": 5}}}  # fmt: skip
    assert hosts["h1"].limits["clock"]["offset_ms_warning"] == 3
    assert hosts["h3"].limits["clock"]["offset_ms_warning"] == 2


def test_a_list_says_all_and_a_mapping_adds_and_takes_away(tmp_path: pathlib.Path) -> None:
    hosts = {host.name: [mount.path for mount in host.mounts] for host in load(tmp_path, LEVELS).hosts}

    assert hosts["h1"] == ["/a", "/b"]
    assert hosts["h2"] == ["/a", "/c"]
    assert hosts["h3"] == ["/z"]


def test_every_value_knows_where_it_was_said(tmp_path: pathlib.Path) -> None:
    origin = load(tmp_path, LEVELS).origin
    lines = {host: {name: place.line for name, place in said.items()} for host, said in origin.items()}

    assert lines["h2"]["rack"] == 14
    assert lines["h2"]["limits.clock.offset_ms_warning"] == 17
    assert lines["h2"]["limits.clock.offset_ms_critical"] == 4
    assert lines["h2"]["limits.clock.items.x.offset_ms_warning"] == 17
    assert (lines["h2"]["mounts./a"], lines["h2"]["mounts./c.fstype"]) == (3, 18)
    assert "mounts./b" not in lines["h2"]
    assert lines["cluster prod"]["limits.clock.offset_ms_warning"] == 8


def test_the_limits_of_a_cluster_are_those_of_all_its_hosts(tmp_path: pathlib.Path) -> None:
    (cluster,) = load(tmp_path, LEVELS).clusters

    assert cluster.limits == {"clock": {"offset_ms_warning": 2, "offset_ms_critical": 1}}


def test_ranges_expand_and_what_stands_beside_them_goes_along(tmp_path: pathlib.Path) -> None:
    loaded = load(tmp_path, """\
        clusters:
          prod:
            kafka: ["k[08-09]"]
            zookeeper: [zk1/kafka, "zk2:2182/kafka"]
            hosts:
              k[08-10]: {address: "10.0.0.[1-3]", broker_id: "[101-103]", rack: "r[1,1-2]", user: "x"}
        """.replace("[1,1-2]", "[1-3]"))  # fmt: skip
    (cluster,) = loaded.clusters

    assert [(host.name, host.address, host.broker_id, host.rack) for host in loaded.hosts] == [
        ("k08", "10.0.0.1", 101, "r1"), ("k09", "10.0.0.2", 102, "r2"), ("k10", "10.0.0.3", 103, "r3")]  # fmt: skip
    assert cluster.broker_ids == {"k08": 101, "k09": 102, "k10": 103}
    assert cluster.kafka == ("k08:9092", "k09:9092")
    assert cluster.zookeeper == loaded.hosts[0].zookeeper == ("zk1:2181/kafka", "zk2:2182/kafka")


def test_files_of_a_folder_add_up(tmp_path: pathlib.Path) -> None:
    write(tmp_path, "clusters: {a: {rack: r1, hosts: [h1]}}", "1.yaml")
    write(tmp_path, "clusters: {a: {hosts: [h2]}, b: {hosts: [h3]}}", "2.yml")
    write(tmp_path, '{"defaults": {"psus": 2}}', "3.json")
    write(tmp_path, "not an inventory", "notes.txt")
    write(tmp_path, "[", ".hidden.yaml")

    loaded = inventory.load([str(tmp_path), str(tmp_path / "1.yaml")])

    assert [(host.name, host.cluster, host.rack, host.psus) for host in loaded.hosts] == [
        ("h1", "a", "r1", 2), ("h2", "a", "r1", 2), ("h3", "b", "", 2)]  # fmt: skip


def test_standard_input_is_a_file_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"clusters: {a: {hosts: [h1]}}")))

    assert [host.name for host in inventory.load(["-"]).hosts] == ["h1"]


# the mistake below a cluster's only host -> where it is and how it is said
WRONG = {
    "layuot: jbod": "5:9: unknown key 'layuot'; did you mean 'layout'?",
    "layout: raid5": "5:17: layout: 'raid5' is not one of jbod, raid10; did you mean 'raid10'?",
    "roles: [brokre]": "5:17: roles: 'brokre' is not one of broker, zookeeper, controller; did you mean 'broker'?",
    "roles: broker": "5:16: roles: 'broker' is not a list (what runs there)",
    "psus: two": "5:15: psus: 'two' is not a whole number (how many power supplies should be fitted)",
    "psus: 99": "5:15: psus: 99 is more than 16",
    "port: 0": "5:15: port: 0 is less than 1",
    "write_probe: no": "5:22: write_probe: 'no' is not true or false; did you mean false? (whether one byte is written "
    "to prove a mount writable)",
    "rack: [1]": "5:15: rack: a list is not a text or a number (the rack it stands in)",
    "user: 'a b'": "5:15: user: 'a b' is not the user to log in as",
    "user: -l": "5:15: user: '-l' is not the user to log in as",
    "address: -oProxyCommand=x": "5:18: address: '-oProxyCommand=x' is not where ssh finds the host: a name or an IP "
    "address; {host} stands for the host's name",
    "mounts: [kafka]": "5:18: mounts: 'kafka' is not an absolute path, or a range such as /kafka/d[1-12]",
    "mounts: ['/d[1-2]', /d2]": "5:29: /d2 is listed twice",
    "mounts: {/d1: true}": "5:23: /d1: true is not what should stand behind a mount, or false where there is none",
    "mounts: {/d1: {serail: X}}": "5:24: unknown key 'serail'; did you mean 'serial'?",
    "interfaces: {eth0: fast}": "5:28: eth0: 'fast' is not the speed in Mbit/s, or speed_mbps and duplex, or false "
    "where there is none",
    "disks: [X, X]": "5:20: X is listed twice",
    "bmc: {password: hunter2}": "5:25: password: a password has no place in a file that is shared: name an environment "
    "variable (password_env) or a file (password_file)",
    "ansible_password: hunter2": "5:9: unknown key 'ansible_password'; an inventory contains no passwords",
    "bmc: {via: lan}": "5:15: kafka-a01: bmc.via is lan, but bmc.address is not set",
    "bmc: {via: none, address: x}": "5:15: kafka-a01: bmc.via is none, but it has a bmc.address",
    "skip: {power: true}": "5:23: power: true is not a reason, or false",
    "skip: {power: ''}": "5:23: power: '' is too short to be a reason, or false",
    "limits: {smart: 5}": "5:25: smart: 5 is not a mapping (key: value)",
    "limits: {smart: {x: [1]}}": "5:29: x: a list is not a number or a text (a limit's value: a number, or a text "
    "where the check's own is one)",
    "broker_id: '[1-2]'": "5:9: broker_id: 2 values, but the hosts' range has 1",
    "broker_id: -1": "5:20: broker_id: -1 is less than 0",
    "roles: [zookeeper]\n        broker_id: 1": "6:9: kafka-a01: a broker id, but its roles are zookeeper",
    "rack: 1\n        rack: 2": "6:9: 'rack' is listed twice, first in line 5",
    "groups: [x]": "5:18: the cluster has no group 'x'",
    "zookeeper: ['a b']": "5:21: zookeeper: 'a b' is not a host and port, such as zk-a01:2181 or, with a chroot, "
    "zk-a01:2181/kafka",
    "rack: !!python/object:os.system x": "5:15: the tag 'tag:yaml.org,2002:python/object:os.system' is not supported "
    "in an inventory",
    "rack: *x": "5:15: *x is undefined: no &x above",
    "\track: x": "5:9: not YAML: found character that cannot start any token (a text that starts with it needs quotes; "
    "YAML is indented with spaces, not tabs)",
    "rack: a: b": "5:16: not YAML: mapping values are not allowed in this context (a text with `: ` in it needs "
    "quotes, and keys of one level the same indent)",
}  # fmt: skip


@pytest.mark.parametrize("words", WRONG)
def test_a_mistake_is_told_with_line_column_and_what_was_meant(words: str, tmp_path: pathlib.Path) -> None:
    assert problems(tmp_path, f"{CLUSTER}        {words}\n") == [WRONG[words]]


def test_no_password_is_ever_repeated(tmp_path: pathlib.Path) -> None:
    for words in ("bmc: {password: hunter2}", "bmc: {password: [hunter2]}", "password: hunter2"):
        (told,) = problems(tmp_path, f"{CLUSTER}        {words}\n")
        assert "hunter2" not in told


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(tmp_path: pathlib.Path) -> None:
    told = problems(tmp_path, """\
        defaults: {layuot: x}
        clusters:
          a:
            hosts:
              h1: {psus: x, rack: r, rack: s}
              h2: {broker_id: 1}
              h3: {broker_id: 1}
        """)  # fmt: skip

    assert [words.split(":")[0] for words in told] == ["1", "5", "5", "7"]


def test_two_machines_cannot_share_what_only_one_can_have(tmp_path: pathlib.Path) -> None:
    told = problems(tmp_path, """\
        clusters:
          a:
            hosts:
              h1: {address: 10.0.0.1, broker_id: 1, disks: [S1], bmc: {address: b1}}
              h2: {address: 10.0.0.1, broker_id: 1, mounts: {/d1: {serial: S1}}, bmc: {address: B1}}
              h3: {address: H4}
              h4:
              h5: {address: 10.0.0.1, port: 2222}
          b: {hosts: {g1: {broker_id: 1}}}
        """)  # fmt: skip

    assert told == [
        "5:12: h2: address 10.0.0.1 belongs to h1 too (inv.yaml:4:12)",
        "5:31: h2: broker id 1 belongs to h1 too (inv.yaml:4:31)",
        "5:60: h2: disk S1 belongs to h1 too (inv.yaml:4:45)",
        "5:80: h2: BMC address b1:623 belongs to h1 too (inv.yaml:4:64)",
        "7:7: h4: address h4 belongs to h3 too (inv.yaml:6:12)",
    ]


def test_a_host_stands_once_in_one_cluster(tmp_path: pathlib.Path) -> None:
    told = problems(tmp_path, """\
        clusters:
          a: {hosts: {"k[1-3]": {}, k2: {}}}
          b: {hosts: [k3, k4, k4]}
        """)  # fmt: skip

    assert told == [
        "2:29: host 'k2' is also in inv.yaml:2:15",
        "3:15: host 'k3' is also in cluster a (inv.yaml:2:15)",
        "3:23: 'k4' is listed twice",
    ]


def test_a_host_may_stand_in_several_groups_of_its_cluster(tmp_path: pathlib.Path) -> None:
    loaded = load(
        tmp_path, "clusters: {a: {groups: {g: {rack: r, hosts: [h1]}, i: {psus: 2, hosts: [h1]}}, hosts: [h1]}}"
    )

    assert [(host.rack, host.psus) for host in loaded.hosts] == [("r", 2)]


def test_files_that_contradict_each_other_are_told(tmp_path: pathlib.Path) -> None:
    told = problems(
        tmp_path,
        "defaults: {psus: 1}\nclusters: {a: {rack: x, hosts: {h1: }}}",
        "defaults: {psus: 2}\nclusters: {a: {rack: y, hosts: {h1: }}}",
    )

    assert [words.split(": ", 1)[1] for words in told] == [
        "defaults: psus is also set in inv.yaml:1:12",
        "cluster a: rack is also set in inv.yaml:2:16",
        "cluster a, hosts: 'h1' is also in inv.yaml:2:33",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("- a\n", "1:1: an inventory is a mapping with `clusters`, not a list"),
        ("clusters: {}", "inventory: names no cluster"),
        ("clusters: {a: {}}", "1:15: cluster a has no hosts"),
        ("clusters:\n  a:\n    hosts: [k[1-3]]\n", "inside of [ ] a name with a range needs quotes"),
        ("clusters: {a: {hosts: ['k[3-1]']}}", "1:24: k[3-1]: 3 is more than 1; did you mean [1-3]?"),
        ("clusters: {a: {hosts: ['k[1-99999999]']}}", "more than 10000 names"),
        ("clusters: {a: {hosts: ['k[1-10000]x[1-10000]']}}", "more than 10000 names"),
        ("clusters: {a: {address: '10.0.0.[1-2]', hosts: ['k[1-2]']}}", "only beside the hosts' own range"),
        ("[brokers]\nkafka-a01 ansible_host=10.0.0.1\n", "`ansible-inventory --list`"),
        ("---\na: 1\n---\nb: 1\n", "a second document starts here"),
        ("a: \udcff", "2: not UTF-8"),
        ("a: \x01", "the character 0x1 is not allowed"),
    ],
)
def test_a_file_that_is_no_inventory_is_told_so(text: str, words: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "inv.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))

    with pytest.raises(InventoryError) as raised:
        inventory.load([str(tmp_path / "inv.yaml")])

    assert words.replace("2: not UTF-8", "1:4: not UTF-8") in str(raised.value)


def test_what_cannot_be_read_is_told(tmp_path: pathlib.Path) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(InventoryError) as raised:
        inventory.load([str(tmp_path / "none.yaml"), str(tmp_path / "empty")])

    assert "none.yaml: cannot be read: No such file or directory" in str(raised.value)
    assert "a folder without a file that ends in .yaml" in str(raised.value)


def test_aliases_and_merge_keys_are_understood(tmp_path: pathlib.Path) -> None:
    loaded = load(tmp_path, """\
        defaults: &base {rack: r1, psus: 2}
        clusters:
          a: {hosts: {h1: {<<: *base, rack: r2}}}
        """)  # fmt: skip

    assert (loaded.hosts[0].rack, loaded.hosts[0].psus) == ("r2", 2)


def test_aliases_that_unfold_without_end_are_refused(tmp_path: pathlib.Path) -> None:
    rows = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]" for before, name in zip("abcdefgh", "bcdefghi")]

    assert problems(tmp_path, "\n".join(rows)) == ["5:4: expands to more than 1000000 values"]


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: *a}", "[" * 5000, "{a: " * 5000, "- " * 5000])
def test_trees_without_end_are_refused(text: str, tmp_path: pathlib.Path) -> None:
    assert problems(tmp_path, text)


def test_a_password_file_that_others_can_read_is_refused(tmp_path: pathlib.Path) -> None:
    secret = tmp_path / "h1.pw"
    secret.write_text("hunter2\n")
    text = f"clusters: {{c: {{hosts: {{h1: {{bmc: {{password_file: '{tmp_path}/{{host}}.pw'}}}}}}}}}}"

    secret.chmod(0o640)
    (told,) = problems(tmp_path, text)
    secret.chmod(0o600)

    assert "can be read or changed by others (mode 0640); chmod 600 it" in told
    assert problems(tmp_path, text) == []


def test_importing_the_inventory_loads_nothing_heavy() -> None:
    code = "import sys, inventory; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=EXAMPLES.parent.parent
    ).stdout.split()

    assert not {"yaml", "jsonschema", "referencing", "paramiko", "click", "agent"} & set(loaded)


@pytest.mark.slow
def test_two_thousand_hosts_are_read_in_a_few_seconds(tmp_path: pathlib.Path) -> None:
    def mounts(number: int) -> str:
        return ", ".join(f"/d{disk}: {{serial: S{number}x{disk}}}" for disk in range(12))

    rows = [f"      k{number}: {{rack: r{number // 40}, broker_id: {number}, mounts: {{{mounts(number)}}}}}"
            for number in range(2000)]  # fmt: skip
    path = write(tmp_path, "clusters:\n  a:\n    hosts:\n" + "\n".join(rows))

    before = os.times()
    hosts = inventory.load([path]).hosts
    after = os.times()

    assert len(hosts) == 2000
    assert hosts[-1].mounts[11].serial == "S1999x11"
    assert after.user + after.system - before.user - before.system < 30
