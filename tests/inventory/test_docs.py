"""What docs/inventory.md and the schema say of each other."""

from __future__ import annotations

import json
import pathlib
import re

import pytest

import inventory
from tests.inventory.files import write

DOCS = (pathlib.Path(__file__).parents[2] / "docs" / "inventory.md").read_text()
SCHEMA = json.loads((pathlib.Path(inventory.__file__).parent / "schema.json").read_text())


def test_the_table_of_settings_has_every_setting_and_no_other() -> None:
    table = DOCS.partition("## Settings")[2].partition("* **Order**")[0]
    said = {name for row in re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}

    assert said == set(SCHEMA["$defs"]["host"]["properties"])


def test_the_first_example_is_an_inventory(tmp_path: pathlib.Path) -> None:
    text = re.findall(r"```yaml\n(.*?)```", DOCS, re.DOTALL)[0]

    assert len(inventory.load([write(tmp_path, text)]).hosts) == 17


def test_the_example_of_a_mapping_reads_an_ansible_list(tmp_path: pathlib.Path) -> None:
    text = re.findall(r"```yaml\n(.*?)```", DOCS, re.DOTALL)[1]
    groups = {"kafka_prod_a": {"children": ["brokers", "zk"]}, "brokers": {"hosts": ["k1"]}, "zk": {"hosts": ["z1"]}}
    hostvars = {"k1": {"rack_name": "r1", "kafka_broker_id": 1, "bmc_ip": "10.9.0.1"}}
    write(
        tmp_path,
        json.dumps({"_meta": {"hostvars": hostvars}, **groups, "jbod_machines": {"hosts": ["k1"]}}),
        "hosts.json",
    )

    host = inventory.load([write(tmp_path, text)]).host("k1")

    assert (host.layout, host.rack, host.broker_id, len(host.mounts)) == ("jbod", "r1", 1, 12)


@pytest.mark.parametrize("level", ["host", "group", "cluster"])
def test_the_schema_describes_every_setting(level: str) -> None:
    for name, setting in SCHEMA["$defs"][level]["properties"].items():
        target = SCHEMA["$defs"][setting["$ref"].rpartition("/")[2]] if "$ref" in setting else setting
        assert target.get("description") or name == "groups", name
