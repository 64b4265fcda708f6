"""ZooKeeper's four-letter words: what a server says of itself on its client port.

Each word is a connection of its own and counts against maxClientCnxns like any other.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Dict, Mapping, Optional, Tuple

from agent.host import CannotTell, Host
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.zookeeper.servers import Server, number

# What zoo.cfg must say so that the agent may ask.
WHITELIST = "4lw.commands.whitelist=srvr,mntr,cons,conf,isro,ruok"
WORD_DEADLINE_S = 4.0
TRIES = 3

# What became of a question.
ANSWERED, EMPTY, NOT_ALLOWED, NOT_SERVING, TLS = "answered", "empty", "not allowed", "not serving", "tls"
# mntr is not executed because it is not in the whitelist.
REFUSAL = "is not executed because it is not in the whitelist"
# This ZooKeeper instance is not currently serving requests
IDLE = "is not currently serving requests"
# A TLS alert or handshake record, decoded as text.
TLS_RECORD = pattern("[\x15\x16]\x03")

# Latency min/avg/max: 0/0.4/27      (3.4 and 3.5 print whole numbers)
LATENCY = pattern(r"(?m)^Latency min/avg/max: -?\d{1,18}/(-?\d{1,18}(?:\.\d{1,18})?)/(-?\d{1,18})[ \r]?$")
# Connections: 12   /   Outstanding: 0   /   Mode: follower   /   Node count: 5
FIELD = pattern(r"(?m)^(Connections|Outstanding|Mode|Node count): (\S{1,32})[ \r]?$")
#  /10.0.0.7:56880[1](queued=0,recved=1,sent=0,sid=0x1000…)
CONNECTION = pattern(r"(?m)^[ \t]{0,8}/(\S{1,80}):\d{1,5}\[\d{1,4}\]\(")
# zk_avg_latency<TAB>0.0
MONITOR = pattern(r"(?m)^(zk_\w{1,80})\t(.{0,200})$")


class Srvr(NamedTuple):
    """Latencies in milliseconds, since the server started. mode: leader, follower, observer, standalone, read-only."""

    mode: str
    connections: Optional[int]
    outstanding: Optional[int]
    znodes: Optional[int]
    latency_avg_ms: Optional[float]
    latency_max_ms: Optional[int]


def ask(host: Host, server: Server, word: str) -> Tuple[str, str]:
    """The state of the reply, and the reply. Refused where nothing listens."""
    text = host.exchange(server.address, server.port, word, deadline_s=WORD_DEADLINE_S)
    return classify(text), text


def ask_all(host: Host, server: Server) -> Dict[str, Tuple[str, str]]:
    """One word after the other, until one reply shows that the server answers none."""
    answers: Dict[str, Tuple[str, str]] = {}
    for word in ("srvr", "mntr", "cons", "conf"):
        answers[word] = _ask_again(host, server, word, answers) if answers else ask(host, server, word)
        if answers[word][0] not in (ANSWERED, NOT_ALLOWED):
            break
    return answers


def _ask_again(host: Host, server: Server, word: str, before: Mapping[str, Tuple[str, str]]) -> Tuple[str, str]:
    """The longest of up to three answers: a busy server may close before it has sent all of one, or any of it."""
    srvr = FIELD.findall(before["srvr"][1])
    connections = number(dict(srvr).get("Connections")) or 0
    best = (EMPTY, "")
    for _ in range(TRIES):
        state, text = ask(host, server, word)
        if len(text) > len(best[1]):
            best = (state, text)
        is_short = word == "cons" and 10 * len(CONNECTION.findall(text)) < 9 * connections
        if state == NOT_ALLOWED or (text and not is_short):
            break
    return best


def classify(text: str) -> str:
    if not text:
        return EMPTY
    if TLS_RECORD.match(text):
        return TLS
    return NOT_ALLOWED if REFUSAL in text[:200] else NOT_SERVING if IDLE in text[:200] else ANSWERED


def parse_srvr(text: str) -> Srvr:
    """CannotTell if it does not say in which mode the server is."""
    fields = dict(FIELD.findall(text))
    if "Mode" not in fields:
        raise CannotTell(f"no mode in the reply to srvr: {text[:40]!r}")
    latency = LATENCY.search(text)
    return Srvr(
        fields["Mode"],
        number(fields.get("Connections")),
        number(fields.get("Outstanding")),
        number(fields.get("Node count")),
        max(float(latency[1]), 0.0) if latency else None,
        max(int(latency[2]), 0) if latency else None,
    )


def parse_mntr(text: str) -> Dict[str, str]:
    """CannotTell if there is not one row of it."""
    rows = dict(MONITOR.findall(text))
    if not rows:
        raise CannotTell(f"unexpected reply to mntr: {text[:40]!r}")
    return rows


def count(rows: Mapping[str, str], *names: str) -> Optional[int]:
    """The first of these that is there, as a count; None where the server's version has none of them."""
    given = next((rows[name] for name in names if name in rows), "")
    try:
        number = float(given)
    except ValueError:
        return None
    return int(number) if math.isfinite(number) and number >= 0 else None


def followers(mntr: Mapping[str, str], config: Mapping[str, str]) -> Optional[int]:
    """How many followers a leader should have: the voters without itself."""
    voters = count(mntr, "zk_quorum_size")
    if voters is None:
        voters = sum(key.startswith("server.") and ":observer" not in value for key, value in config.items()) or None
    return None if voters is None else voters - 1


def parse_cons(text: str) -> Dict[str, int]:
    """Connections by source address. CannotTell if it is not such a list."""
    sources = Counter(CONNECTION.findall(text))
    if text.strip() and not sources:
        raise CannotTell(f"unexpected reply to cons: {text[:40]!r}")
    return dict(sources)
