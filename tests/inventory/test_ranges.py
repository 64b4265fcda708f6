"""Names in short, and the choice of hosts by them."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory import Inventory, NoSuchHost, ranges
from tests.inventory.files import load


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("zk1", ["zk1"]),
        ("k[08-10]", ["k08", "k09", "k10"]),
        ("k[8-10]", ["k8", "k9", "k10"]),
        ("k[098-101]", ["k098", "k099", "k100", "k101"]),
        ("k[1-3,7]x", ["k1x", "k2x", "k3x", "k7x"]),
        ("k[0-10/5]", ["k0", "k5", "k10"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("[::1]:2181", ["[::1]:2181"]),
        ("k[a-c]", ["k[a-c]"]),
    ],
)
def test_a_range_stands_for_its_names(text: str, names: list[str]) -> None:
    assert ranges.expand(text) == names


@pytest.mark.parametrize("text", ["k[08-10]", "k[1-3,7]x", "k[0-10/5]", "r[1-2]n[1-2]", "k[098-101]"])
def test_clustershell_understands_the_same(text: str) -> None:
    if not shutil.which("nodeset"):
        pytest.skip("needs nodeset (package clustershell)")
    told = subprocess.run(["nodeset", "-e", text], check=True, capture_output=True, text=True).stdout.split()

    assert sorted(told) == sorted(ranges.expand(text))


@pytest.mark.parametrize(
    "text",
    ["k[3-1]", "k[1-010]", "k[01-1]", "k[1,1]", "k[1-3/0]", "k[1-10001]", "k[1-5000]x[1-5000]", "k" * 1001,
     "k[1-9999999999999]"],
)  # fmt: skip
def test_a_range_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(ranges.BadRange):
        ranges.expand(text)


@given(st.text(alphabet="k[]0123456789,-/!*?", max_size=40))
def test_any_text_gives_distinct_names_or_a_reason(text: str) -> None:
    try:
        names = ranges.expand(text)
    except ranges.BadRange as error:
        assert str(error)
    else:
        assert 1 <= len(names) <= ranges.MOST_NAMES


@pytest.fixture
def fleet(tmp_path: pathlib.Path) -> Inventory:
    return load(tmp_path, """\
        clusters:
          a: {hosts: {"ka[01-03]": {roles: [broker], layout: jbod}, za1: {roles: [zookeeper]}}}
          b: {hosts: {"kb[1-2]": {roles: [broker, controller], layout: raid10}}}
        """)  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({}, ["ka01", "ka02", "ka03", "za1", "kb1", "kb2"]),
        ({"limit": "ka0*"}, ["ka01", "ka02", "ka03"]),
        ({"limit": "kb1,ka[01-02]"}, ["ka01", "ka02", "kb1"]),
        ({"limit": "k[a-b]*1"}, ["ka01", "kb1"]),
        ({"limit": "!k*"}, ["za1"]),
        ({"limit": "ka*, !ka02"}, ["ka01", "ka03"]),
        ({"cluster": "b"}, ["kb1", "kb2"]),
        ({"cluster": "a,b", "role": "zookeeper,controller"}, ["za1", "kb1", "kb2"]),
        ({"layout": "raid10", "limit": "*1"}, ["kb1"]),
    ],
)
def test_hosts_are_chosen_in_the_order_of_the_inventory(
    fleet: Inventory, asked: dict[str, str], names: list[str]
) -> None:
    assert [host.name for host in fleet.select(**asked)] == names


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"limit": "kaO1"}, "no host matches 'kaO1'; did you mean 'ka01'?"),
        ({"limit": "ka[03-04]"}, "no host matches 'ka04'; did you mean 'ka03'?"),
        ({"limit": "!x*"}, "no host matches 'x*'"),
        ({"limit": "ka[3-1]"}, "3 is more than 1"),
        ({"cluster": "prod"}, "no host has the cluster 'prod'; known: a, b"),
        ({"role": "brokers"}, "no host has the role 'brokers'; did you mean 'broker'?"),
        ({"cluster": "a", "layout": "raid10"}, "no host matches cluster 'a', layout 'raid10' together"),
    ],
)
def test_what_fits_no_host_is_told(fleet: Inventory, asked: dict[str, str], words: str) -> None:
    with pytest.raises(NoSuchHost) as raised:
        fleet.select(**asked)

    assert words in str(raised.value)
