"""What a ZooKeeper ensemble reports: each member by four-letter words, its registry through kazoo."""

from __future__ import annotations

import json
import logging
import re
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from agent.api.properties import java_properties
from agent.api.zookeeper import four_letter as words
from agent.host import CannotTell
from smoketests.readers import CannotRead, address, within
from smoketests.readers.zookeeper import partitions as zookeeper_partitions
from smoketests.readers.zookeeper.partitions import InSync

WORD_S = 4.0
MEMBER_S = 12.0
SESSION_S = 8.0
REGISTRY_S = 18.0
MOST_BROKERS = 5000
LONGEST_ANSWER = 1 << 20
DEFAULT_PORT = 2181

# Zxid: 0x100000004
ZXID = re.compile(r"(?m)^Zxid: 0x([0-9a-fA-F]{1,16})[ \r]?$")
REFUSED, NO_ANSWER, HALF = "refused", "no answer", "incomplete reply"


class Member(NamedTuple):
    """One server. state: answered, refused, no answer, empty, not serving, not allowed, tls or incomplete reply.

    mode: leader, follower, observer, standalone, read-only; empty if it did not say. zxid: its last transaction, -1 if
    not told. voters: `server.N` lines of its configuration, as (number, host:port:port). The rest is None where the
    word is not in its whitelist.
    """

    server: str
    state: str
    why: str = ""
    mode: str = ""
    zxid: int = -1
    synced_followers: int | None = None
    quorum_size: int | None = None
    voters: tuple[tuple[str, str], ...] | None = None


class Registered(NamedTuple):
    """A broker as it stands in /brokers/ids. endpoints: host:port of each of its listeners."""

    id: int
    host: str
    port: int
    rack: str = ""
    endpoints: tuple[str, ...] = ()
    fenced: bool = False


class ZooKeeperFacts(NamedTuple):
    """brokers, controller: None where they could not be read; `untold` says why. in_sync: (topic, partition) -> its
    replicas in sync; None where that could not be read. closed: it serves, and its ACL wants a login.
    """

    members: tuple[Member, ...]
    brokers: tuple[Registered, ...] | None = None
    controller: int | None = None
    untold: str = ""
    in_sync: InSync | None = None
    closed: bool = False


def read(servers: Sequence[str]) -> ZooKeeperFacts:
    """Ask each server, and one of them for the brokers. servers: `zk1:2181`, the chroot behind any (`zk3:2181/kafka`).

    CannotRead if the addresses are none. Takes at most about MEMBER_S * 2 + REGISTRY_S.
    """
    chroot = next((server[server.index("/") :] for server in servers if "/" in server), "").rstrip("/")
    addresses = [address(server.partition("/")[0], DEFAULT_PORT) for server in servers]
    if not addresses:
        raise CannotRead("no ZooKeeper server configured")
    members = _members(addresses)
    if sum(member.mode == "leader" for member in members) > 1:  # an election between two answers looks like two leaders
        time.sleep(1.0)
        members = _members(addresses)
    if not any(member.state in (words.ANSWERED, words.NOT_ALLOWED, words.EMPTY, NO_ANSWER) for member in members):
        return ZooKeeperFacts(members, untold=f"no server is serving: {members[0].server}: {members[0].why}")
    try:
        voters, registry = within(REGISTRY_S, "ZooKeeper", lambda: _session(addresses, chroot))
    except CannotRead as error:
        return ZooKeeperFacts(members, untold=str(error))
    return registry._replace(members=tuple(_with_voters(member, voters) for member in members))


def _with_voters(member: Member, voters: tuple[tuple[str, str], ...]) -> Member:
    """A server that does not tell its configuration (`conf` is not in its whitelist) has that of /zookeeper/config."""
    told = member.voters is not None or not member.mode or member.mode == "standalone"
    return member if told or not voters else member._replace(voters=voters)


def _members(addresses: Sequence[tuple[str, int]]) -> tuple[Member, ...]:
    with ThreadPoolExecutor(min(len(addresses), 16)) as pool:
        return tuple(pool.map(lambda host_port: member(*host_port), addresses))


def member(host: str, port: int) -> Member:
    """One server, by its own words."""
    server = f"{host}:{port}"
    try:
        said = within(MEMBER_S, server, lambda: _said(host, port))
        return parse(server, said)
    except (CannotRead, TimeoutError):
        return Member(server, NO_ANSWER, f"no reply within {WORD_S:.0f} s")
    except ConnectionRefusedError:
        return Member(server, REFUSED, "connection refused")
    except (OSError, UnicodeError) as error:
        return Member(server, NO_ANSWER, str(getattr(error, "strerror", "") or error)[:120])


def _said(host: str, port: int) -> dict[str, str]:
    """The answers, as far as there are any; after one that is none, no more is asked."""
    answers: dict[str, str] = {}
    for word in ("srvr", "mntr", "conf"):
        answers[word] = _word(host, port, word)
        if words.classify(answers[word]) not in (words.ANSWERED, words.NOT_ALLOWED):
            break
    return answers


def _word(host: str, port: int, word: str) -> str:
    until = time.monotonic() + WORD_S
    with socket.create_connection((host, port), timeout=WORD_S) as connection:
        connection.sendall(word.encode())
        parts: list[bytes] = []
        try:
            while part := _part(connection, until):
                parts.append(part)
                if sum(map(len, parts)) > LONGEST_ANSWER:
                    break
        except ConnectionResetError:
            return ""  # closed as soon as it had let us in
        return b"".join(parts).decode("utf-8", "replace")


def _part(connection: socket.socket, until: float) -> bytes:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    connection.settimeout(left)
    return connection.recv(1 << 16)


WHYS: Mapping[str, str] = {
    words.EMPTY: "connection closed without a reply: maxClientCnxns reached, or TLS required",
    words.NOT_SERVING: "running but not serving: no quorum",
    words.TLS: "TLS required",
    words.NOT_ALLOWED: f"srvr is not whitelisted; zoo.cfg needs {words.WHITELIST}",
}


def parse(server: str, said: Mapping[str, str]) -> Member:
    """The words' answers as a Member; what is cut short or something else is `incomplete reply`."""
    state = words.classify(said["srvr"])
    if state != words.ANSWERED:
        return Member(server, state, WHYS[state])
    zxid = ZXID.search(said["srvr"])
    try:
        mode = words.parse_srvr(said["srvr"]).mode
        rows = _if_allowed(said.get("mntr", ""), words.parse_mntr, {})
    except CannotTell as error:
        return Member(server, HALF, str(error))
    if zxid is None:
        return Member(server, HALF, "no zxid in the reply to srvr")
    config = _if_allowed(said.get("conf", ""), java_properties.parse, {})
    voters = tuple(sorted((key[7:], _voter(value)) for key, value in config.items() if _is_voter(key, value)))
    return Member(
        server, state, "", mode, int(zxid[1], 16),
        words.count(rows, "zk_synced_followers"), words.count(rows, "zk_quorum_size"), voters or None,
    )  # fmt: skip


def _if_allowed(text: str, parser: Callable[[str], Any], otherwise: Any) -> Any:
    return parser(text) if words.classify(text) == words.ANSWERED else otherwise


def _is_voter(key: str, value: str) -> bool:
    return key.startswith("server.") and ":observer" not in value


def _voter(value: str) -> str:
    """server.1=zk1:2888:3888:participant;0.0.0.0:2181 -> zk1:2888:3888"""
    return value.partition(";")[0].removesuffix(":participant")


def _session(addresses: Sequence[tuple[str, int]], chroot: str) -> tuple[tuple[tuple[str, str], ...], ZooKeeperFacts]:
    """Who votes and who is registered, through one session that ends with it; the members are left out."""
    from kazoo.client import KazooClient
    from kazoo.exceptions import KazooException, NoAuthError, NoNodeError
    from kazoo.handlers.threading import KazooTimeoutError

    quiet = logging.getLogger("smoketests.kazoo")
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False
    hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in addresses)
    client = KazooClient(hosts=hosts, timeout=SESSION_S, read_only=True, logger=quiet)
    where = f"{chroot}/brokers/ids"
    try:
        client.start(timeout=SESSION_S)
        voters = _voters(client)
        try:
            facts = ZooKeeperFacts((), _brokers(client, where), _controller(client, f"{chroot}/controller"))
            facts = facts._replace(in_sync=zookeeper_partitions.read(client, chroot))
        except NoNodeError:
            facts = ZooKeeperFacts((), untold=f"ZooKeeper has no {where}: no Kafka cluster has registered below it")
        except NoAuthError:
            why = f"no permission to read {where} in ZooKeeper: its ACL requires authentication"
            facts = ZooKeeperFacts((), untold=why, closed=True)
        except CannotRead as error:
            facts = ZooKeeperFacts((), untold=str(error))
        return voters, facts
    except KazooTimeoutError:
        raise CannotRead(f"ZooKeeper: no session within {SESSION_S:.0f} s") from None
    except KazooException as error:
        raise CannotRead(f"ZooKeeper: {type(error).__name__} {error}"[:200]) from None
    finally:
        client.stop()
        client.close()


def _voters(client: Any) -> tuple[tuple[str, str], ...]:
    """Those of /zookeeper/config, which every client may read; none before ZooKeeper 3.5, or where it is closed."""
    from kazoo.exceptions import NoAuthError, NoNodeError

    try:
        data, _stat = client.get("/zookeeper/config")
    except (NoNodeError, NoAuthError):
        return ()
    return voters_of((data or b"").decode("utf-8", "replace"))


def voters_of(text: str) -> tuple[tuple[str, str], ...]:
    """The voters of a dynamic configuration, as (number, host:port:port).

    server.1=zk1:2888:3888:participant;0.0.0.0:2181
    """
    config = java_properties.parse(text[:LONGEST_ANSWER])
    return tuple(sorted((key[7:], _voter(value)) for key, value in config.items() if _is_voter(key, value)))


def _brokers(client: Any, where: str) -> tuple[Registered, ...]:
    from kazoo.exceptions import NoNodeError

    found = []
    for name in client.get_children(where)[:MOST_BROKERS]:
        try:
            data, _stat = client.get(f"{where}/{name}")
        except NoNodeError:
            continue  # it left while we read
        found.append(parse_broker(name, data))
    return tuple(sorted(found))


def _controller(client: Any, where: str) -> int | None:
    from kazoo.exceptions import NoNodeError

    try:
        data, _stat = client.get(where)
        said = json.loads(data)["brokerid"]
        return said if isinstance(said, int) else None
    except (NoNodeError, ValueError, TypeError, KeyError):
        return None


def parse_broker(name: str, data: bytes | None) -> Registered:
    """A node of /brokers/ids; CannotRead if it is none of Kafka's.

    {"listener_security_protocol_map":{"SASL":"SASL_SSL"},"endpoints":["SASL://k1:9093"],"rack":"r7","host":null,
    "port":-1,"version":5,…}
    """
    try:
        said = json.loads(data or b"")
        endpoints = tuple(str(endpoint).partition("://")[2][:200] for endpoint in said.get("endpoints") or ())
        host, port = said.get("host"), said.get("port")
        if not host and endpoints:
            host, port = address(endpoints[0], 9092)
        if not isinstance(host, str) or not isinstance(port, int):
            raise ValueError("no host and port")
        return Registered(int(name), host[:200], port, str(said.get("rack") or "")[:200], endpoints[:20])
    except (ValueError, TypeError, AttributeError, CannotRead) as error:
        raise CannotRead(f"/brokers/ids/{name[:40]} holds no broker: {error}"[:200]) from None
