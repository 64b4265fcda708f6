"""Which ports a broker is told to try."""

from __future__ import annotations

from inventory.model import Host
from inventory.peers import MOST_BROKERS, with_peers


def broker(name: str, *ports: int, address: str = "") -> Host:
    return Host(name, address=address, roles=("broker",), ports=ports)


def test_the_peers_of_a_broker_are_the_other_brokers_and_the_ensemble() -> None:
    hosts = (broker("k1", 9092), broker("k2", 9092, 9093, address="10.0.0.2"), Host("zk1", roles=("zookeeper",)))
    told = {host.name: host.peers for host in with_peers(hosts, ("zk1:2181/kafka", "10.0.0.2:2181"))}

    assert told == {
        "k1": ("10.0.0.2:9092", "10.0.0.2:9093", "zk1:2181", "10.0.0.2:2181"),
        "k2": ("k1:9092", "zk1:2181"),
        "zk1": (),
    }


def test_a_broker_of_no_known_port_is_nobodys_peer_and_has_peers_all_the_same() -> None:
    first, second = with_peers((broker("k1"), broker("k2", 9092)), ())

    assert (first.peers, second.peers) == (("k2:9092",), ())


def test_an_ipv6_address_keeps_its_brackets() -> None:
    first, _second = with_peers(
        (broker("k1", 9092), broker("k2", 9092, address="2001:db8::2")), ("[2001:db8::9]:2181",)
    )

    assert first.peers == ("[2001:db8::2]:9092", "[2001:db8::9]:2181")


def test_in_a_large_cluster_every_port_still_has_its_witnesses() -> None:
    hosts = with_peers([broker(f"k{number}", 9092) for number in range(200)], ())
    tried = [peer for host in hosts for peer in host.peers]

    assert {len(host.peers) for host in hosts} == {MOST_BROKERS}
    assert {tried.count(f"k{number}:9092") for number in range(200)} == {MOST_BROKERS}


def test_the_agent_is_told() -> None:
    first, _second = with_peers((broker("k1", 9092), broker("k2", 9092)), ())

    assert first.expected()["peers"] == ["k2:9092"]
