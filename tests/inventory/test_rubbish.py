"""Whatever a file holds: an inventory, or problems that each have a place and words."""

from __future__ import annotations

import json
import pathlib
import tempfile
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import inventory
from agent import expected
from inventory import InventoryError
from inventory.model import Bmc, Host, Inventory

EXAMPLES = sorted((pathlib.Path(inventory.__file__).parent / "examples").iterdir())
TEXTS = [path.read_bytes() for path in EXAMPLES]
WORDS = [
    "a",
    "k1",
    "k[1-3]",
    "/d1",
    "x" * 300,
    "-x",
    "",
    " ",
    "\x07",
    "{host}",
    "10.0.0.[1-3]",
    "[1-3]",
    "é",
    "~",
    "<<",
    "0",
]
KEYS = ["clusters", "defaults", "ansible", "hosts", "groups", "limits", "items", "mounts", "interfaces", "bmc", "skip",
        "all", "children", "vars", "_meta", "hostvars", "roles", "kafka", "zookeeper", "rack", "address", "broker_id",
        "password", "smoke", "smoke_mounts", "ansible_host", "inventory", "variables", "layouts", *WORDS]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=25,
)


def outcome(data: bytes) -> Inventory | InventoryError:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "inv.yaml"
        path.write_bytes(data)
        try:
            return inventory.load([str(path)])
        except InventoryError as error:
            return error


def is_whole(result: Inventory | InventoryError) -> bool:
    """An inventory with hosts that the agent can be told of, or problems in words."""
    if isinstance(result, InventoryError):
        return bool(result.problems) and all(
            problem.words and problem.place.file and problem.words.isprintable() for problem in result.problems
        )
    told = [expected.from_json(json.dumps(host.expected())) for host in result.hosts]
    return bool(told) and all(isinstance(host, Host) and well_typed(host) for host in result.hosts)


def well_typed(host: Host) -> bool:
    texts = (host.name, host.address, host.user, host.rack, host.layout, host.python, host.firewall, *host.roles)
    numbers = [host.port, *host.ports, *(interface.speed_mbps for interface in host.interfaces)]
    optional = (host.psus, host.broker_id)
    return (
        all(isinstance(text, str) for text in texts)
        and all(type(number) is int for number in numbers)
        and all(number is None or type(number) is int for number in optional)
        and (host.bmc is None or isinstance(host.bmc, Bmc))
        and isinstance(host.write_probe, bool)
    )


@given(VALUES)
def test_any_tree_is_an_inventory_or_told_to_be_none(value: Any) -> None:
    assert is_whole(outcome(json.dumps(value).encode()))


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5))
@settings(max_examples=200)
def test_any_settings_of_a_host_are_taken_or_told(value: dict[str, Any]) -> None:
    for tree in ({"clusters": {"c": {"hosts": {"k[1-2]": value, "z": None}}}},
                 {"clusters": {"c": value}, "defaults": value},
                 {"_meta": {"hostvars": {"k1": value}}, "kafka": {"hosts": ["k1"], "vars": value}},
                 {"all": {"children": {"kafka": {"hosts": {"k1": value}, "vars": value}}}}):  # fmt: skip
        assert is_whole(outcome(json.dumps(tree).encode()))


TEXT_SETTINGS = ("address", "user", "python", "rack", "drawer", "power_feed", "layout", "mounts", "disks", "interfaces")


@given(
    st.sampled_from(TEXT_SETTINGS), st.text(max_size=8) | st.sampled_from(["a\n", "a\x9b", "\x1b[2J", "-o x", "a b"])
)
@settings(max_examples=300)
def test_no_text_of_a_host_holds_what_a_terminal_would_obey(name: str, text: str) -> None:
    value = [text] if name in ("mounts", "disks", "interfaces") else text
    result = outcome(json.dumps({"clusters": {"c": {"hosts": {"k1": {name: value}}}}}).encode())

    if isinstance(result, Inventory):
        told = json.dumps(vars(result.hosts[0]), default=vars, ensure_ascii=False)
        assert not set(told) & set(map(chr, [*range(32), *range(127, 160)]))
    else:
        assert is_whole(result)


@given(st.data())
@settings(max_examples=200)
def test_a_damaged_inventory_is_told_to_be_damaged_or_read(data: st.DataObject) -> None:
    text = bytearray(data.draw(st.sampled_from(TEXTS)))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text) - 1))
        end = min(start + data.draw(st.integers(0, 30)), len(text))
        text[start:end] = data.draw(
            st.sampled_from([b"", b"\x00", b"\xff", b": ", b"- ", b"[", b"}", b"\t", b"&a *a", b"'", b"\n"])
        )
        if not text:
            break

    assert is_whole(outcome(bytes(text)))


@given(st.binary(max_size=200))
def test_bytes_are_an_inventory_or_told_to_be_none(data: bytes) -> None:
    assert is_whole(outcome(data))
