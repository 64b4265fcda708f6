"""Ansible's inventories as the source of hosts. The JSON is hand-made in the form of `ansible-inventory --list`."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

import inventory
from inventory import Inventory
from tests.inventory.files import load, problems, write

VARS: dict[str, dict[str, Any]] = {
    "k1": {"ansible_host": "10.0.0.1", "ansible_port": "2222", "ansible_user": "deploy", "ansible_become": True,
           "ansible_python_interpreter": "/opt/py/bin/python3", "ansible_password": "hunter2", "kid": "7", "rk": "012"},
    "k2": {"ansible_python_interpreter": "auto_silent", "ansible_become": "no"},
    "z1": {"smoke_rack": "r9", "smoke_psus": 1, "smoke": {"drawer": "d"}},
    "web": {"ansible_host": "{{ unknown }}"},
}  # fmt: skip
LIST = {
    "_meta": {"hostvars": VARS},
    "all": {"children": ["ungrouped", "prod_a", "web"]},
    "prod_a": {"children": ["brokers", "zk"]},
    "brokers": {"hosts": ["k1", "k2"]},
    "zk": {"hosts": ["z1"]},
    "web": {"hosts": ["web"]},
}


def by_name(loaded: Inventory) -> dict[str, inventory.Host]:
    return {host.name: host for host in loaded.hosts}


def test_a_list_without_any_word_of_ours_gives_hosts_by_the_usual_group_names(tmp_path: pathlib.Path) -> None:
    loaded = load(tmp_path, json.dumps(LIST))
    hosts = by_name(loaded)

    assert [(host.name, host.cluster, host.roles) for host in loaded.hosts] == [
        ("k1", "kafka", ("broker",)), ("k2", "kafka", ("broker",)), ("z1", "kafka", ("zookeeper",))]  # fmt: skip
    k1 = hosts["k1"]
    assert (k1.address, k1.port, k1.user, k1.sudo, k1.python) == (
        "10.0.0.1", 2222, "deploy", "yes", "/opt/py/bin/python3")  # fmt: skip
    assert (hosts["k2"].python, hosts["k2"].sudo) == ("", "no")
    assert (hosts["z1"].rack, hosts["z1"].psus, hosts["z1"].drawer) == ("r9", 1, "d")
    assert loaded.notes == ("1 of Ansible's hosts left out, in no cluster or role: web",)


MAPPED = """\
ansible:
  inventory: list.json
  clusters: {prod_a: prod-a}
  roles: {brokers: [broker, controller]}
  layouts: {brokers: jbod}
  variables: {kid: broker_id, rk: rack}
clusters:
  prod-a:
    psus: 2
    groups: {brokers: {mounts: [/d1], drawer: x}}
    hosts: {k2: {rack: mine}}
"""


def test_our_file_maps_groups_and_variables_and_says_more(tmp_path: pathlib.Path) -> None:
    write(tmp_path, json.dumps(LIST), "list.json")
    loaded = load(tmp_path, MAPPED)
    hosts = by_name(loaded)

    assert (hosts["k1"].cluster, hosts["k1"].roles, hosts["k1"].layout) == ("prod-a", ("broker", "controller"), "jbod")
    assert (hosts["k1"].broker_id, hosts["k1"].rack, hosts["k2"].rack) == (7, "012", "mine")
    assert [mount.path for mount in hosts["k2"].mounts] == ["/d1"]
    assert (hosts["z1"].roles, hosts["z1"].psus, hosts["z1"].mounts) == ((), 1, ())
    assert str(loaded.origin["k1"]["address"]).startswith(f"{tmp_path}/list.json:1:")


def test_yaml_of_ansible_has_ranges_and_variables_that_inherit(tmp_path: pathlib.Path) -> None:
    loaded = load(tmp_path, """\
        all:
          vars: {smoke_rack: all, smoke_cluster: lab, ansible_user: deploy}
          children:
            kafka:
              vars: {smoke_rack: kafka}
              hosts: {"k[01:03]": , "x[a:b]": }
              children: {special: {vars: {smoke_rack: special}, hosts: {k02: , k03: {smoke_rack: own}}}}
            zookeeper: {hosts: {z1: !unsafe }}
        """)  # fmt: skip

    assert {host.name: host.rack for host in loaded.hosts} == {
        "k01": "kafka", "k02": "special", "k03": "own", "xa": "kafka", "xb": "kafka", "z1": "all"}  # fmt: skip
    assert {host.user for host in loaded.hosts} == {"deploy"}
    assert {host.cluster for host in loaded.hosts} == {"lab"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"clusters": {"prod_b": "b"}}, "Ansible has no group 'prod_b'; did you mean 'prod_a'?"),
        ({"clusters": {"brokers": "a", "prod_a": "b"}}, "host 'k1' is in two clusters: a, b"),
        ({"layouts": {"brokers": "jbod", "prod_a": "raid10"}}, "host 'k1' has two layouts: jbod, raid10"),
        (
            {"roles": {"brokers": "brokre"}},
            "'brokre' is not one of broker, zookeeper, controller; did you mean 'broker'?",
        ),
        ({"variables": {"rk": "rak"}}, "rk: 'rak' is not one of"),
        ({"clusters": {"ungrouped": "x"}}, "none of Ansible's groups stands for a role or a cluster"),
        ({"variabels": {}}, "unknown key 'variabels'; did you mean 'variables'?"),
    ],
)
def test_a_wrong_mapping_is_told(change: dict[str, Any], words: str, tmp_path: pathlib.Path) -> None:
    write(tmp_path, json.dumps({**LIST, "ungrouped": {}}), "list.json")

    assert words in "\n".join(problems(tmp_path, json.dumps({"ansible": {"inventory": "list.json", **change}})))


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"ansible_host": "{{ groups }}"}, "ansible_host: an Ansible template; write its result"),
        ({"smoke_rck": "x"}, "unknown variable 'smoke_rck'; did you mean 'smoke_rack'?"),
        ({"ansible_port": "ssh"}, "port: 'ssh' is not a whole number"),
        ({"smoke": {"layout": "raid5"}}, "layout: 'raid5' is not one of"),
        ({"smoke_bmc": {"password": "hunter2"}}, "a password has no place in a file"),
    ],
)
def test_a_wrong_variable_is_told_where_it_stands(
    variables: dict[str, Any], words: str, tmp_path: pathlib.Path
) -> None:
    told = problems(tmp_path, json.dumps({"_meta": {"hostvars": {"k1": variables}}, "kafka": {"hosts": ["k1"]}}))

    assert len(told) == 1
    assert words in told[0]
    assert told[0].startswith("1:")
    assert "hunter2" not in told[0]


def test_a_group_that_is_its_own_child_does_not_hang(tmp_path: pathlib.Path) -> None:
    groups = {"kafka": {"hosts": ["k1"], "children": ["b"]}, "b": {"children": ["kafka"]}}

    assert [host.name for host in load(tmp_path, json.dumps({"_meta": {"hostvars": {}}, **groups})).hosts] == ["k1"]


def test_json_is_read_though_it_is_not_quite_yaml(tmp_path: pathlib.Path) -> None:
    text = '{\n\t"_meta": {"hostvars": {"k1": {"smoke_rack": "\\ud83d\\ude00\\/\\\\ud83d"}}},"kafka":{"hosts":["k1"]}}'

    assert load(tmp_path, text).hosts[0].rack == json.loads('"\\ud83d\\ude00\\/\\\\ud83d"')
