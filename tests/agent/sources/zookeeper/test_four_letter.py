"""ZooKeeper's words: real answers of 3.8.0 (recorded here, cut down), older forms, and rubbish."""

from typing import Any, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host import CannotTell
from agent.sources.zookeeper import four_letter
from agent.sources.zookeeper import servers as zookeeper_servers

SRVR = """Zookeeper version: 3.8.0-${mvngit.commit.id}, built on 2024-12-29 17:54 UTC
Latency min/avg/max: 0/0.4615/27
Received: 14
Sent: 13
Connections: 3
Outstanding: 0
Zxid: 0x100000002
Mode: leader
Node count: 5
Proposal sizes last/min/max: 48/48/48
"""
# hand-made from ZooKeeper 3.4's documentation: whole numbers
SRVR_34 = "Zookeeper version: 3.4.14-4c25d480, built on 03/06/2019 16:18 GMT\nLatency min/avg/max: 0/2/27\nReceived: 1\nSent: 0\nConnections: 1\nOutstanding: 7\nZxid: 0x0\nMode: standalone\nNode count: 4\n"  # noqa: E501
MNTR = "zk_version\t3.8.0-${mvngit.commit.id}, built on 2024\nzk_server_state\tstandalone\nzk_avg_latency\t0.4615\nzk_open_file_descriptor_count\t39\nzk_max_file_descriptor_count\t20000\nzk_approximate_data_size\t44\nzk_max_client_response_size\t-1\n"  # noqa: E501
CONS = " /10.0.0.7:56880[1](queued=0,recved=9,sent=9,sid=0x10000)\n /10.0.0.7:56881[1](queued=0,recved=1,sent=0)\n /0:0:0:0:0:0:0:1:41234[0](queued=0,recved=1,sent=0)\n\n"  # noqa: E501


def test_srvr_of_both_ages_is_read() -> None:
    assert four_letter.parse_srvr(SRVR) == four_letter.Srvr("leader", 3, 0, 5, 0.4615, 27)
    assert four_letter.parse_srvr(SRVR_34) == four_letter.Srvr("standalone", 1, 7, 4, 2.0, 27)


def test_connections_are_counted_by_source() -> None:
    assert four_letter.parse_cons(CONS) == {"10.0.0.7": 2, "0:0:0:0:0:0:0:1": 1}


def test_counts_of_mntr_are_there_or_none() -> None:
    rows = four_letter.parse_mntr(MNTR)

    assert four_letter.count(rows, "zk_open_file_descriptor_count") == 39
    assert four_letter.count(rows, "zk_gone", "zk_approximate_data_size") == 44
    assert four_letter.count(rows, "zk_max_client_response_size") is None
    assert four_letter.count(rows, "zk_server_state") is None
    assert four_letter.count({"a": "nan", "b": "1e400"}, "a") is None
    assert four_letter.count({"a": "nan", "b": "1e400"}, "b") is None


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("", "empty"),
        ("mntr is not executed because it is not in the whitelist.\n", "not allowed"),
        ("This ZooKeeper instance is not currently serving requests\n", "not serving"),
        ("\x15\x03\x03\x00\x02\x02P", "tls"),
        (SRVR, "answered"),
    ],
)
def test_what_became_of_a_question(text: str, state: str) -> None:
    assert four_letter.classify(text) == state


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("zk1:2181", ("zk1", 2181)),
        ("zk1", ("zk1", 2181)),
        ("zk1:2182/kafka", ("zk1", 2182)),
        ("[fd00::1]:2183", ("fd00::1", 2183)),
        ("fd00::1", ("fd00::1", 2181)),
    ],
)
def test_addresses_in_their_forms(text: str, address: tuple[str, int]) -> None:
    assert zookeeper_servers.parse_address(text) == address


@pytest.mark.parametrize("text", ["zk1:0", "zk1:65536", "zk1:many", ":2181", ""])
def test_what_is_no_address_is_not_guessed(text: str) -> None:
    with pytest.raises(CannotTell):
        zookeeper_servers.parse_address(text)


RUBBISH = st.one_of(
    st.text(),
    st.builds(lambda text, cut, junk: text[:cut] + junk + text[cut:], st.sampled_from([SRVR, MNTR, CONS]),
              st.integers(0, 300), st.text(max_size=20)),
)  # fmt: skip


@pytest.mark.parametrize("parse", [four_letter.parse_srvr, four_letter.parse_mntr, four_letter.parse_cons])
@given(text=RUBBISH)
def test_rubbish_gives_typed_values_or_nothing(parse: Callable[[str], Any], text: str) -> None:
    try:
        value = parse(text)
    except CannotTell:
        return
    if isinstance(value, four_letter.Srvr):
        assert value.mode and all(part is None or part >= 0 for part in value[1:])
    else:
        assert all(isinstance(name, str) for name in value)


@given(st.text())
def test_rubbish_is_no_address_or_a_whole_one(text: str) -> None:
    try:
        address, port = zookeeper_servers.parse_address(text)
    except CannotTell:
        return
    assert 0 < port < 65536 and isinstance(address, str)
