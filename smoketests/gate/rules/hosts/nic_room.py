"""Can the network cards that stay carry the load of those that go?

With t bytes written per second for each broker, and r copies of each, a broker receives t*r and sends t*(r-1) plus what
consumers read; t grows as brokers go. Each card's present load is what the machine measured since its last run.
Checked for the brokers that share a partition with these; for a decommission, for all.

Failed: a card would carry more than 80 % of its speed.

Cannot tell: a machine reports no load (its first run since boot: run again), or no speed where others do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.host import NotApplicable
from agent.status import Verdict, critical, unknown
from inventory.names import some
from smoketests.cluster.view import Told, told
from smoketests.gate import formatting, locality
from smoketests.gate.context import BROKER_ROLE, GateContext
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import DECOMMISSION

if TYPE_CHECKING:
    from inventory.model import Host
    from smoketests.readers.kafka.cluster import Partition

LIMITS: Mapping[str, Any] = {"used_percent": 80}
WHEN = ("before",)
CHECKS = ("nic_link",)
BYTES_PER_MBIT = 125_000


class Card(NamedTuple):
    """What is read of nic_link."""

    interface: str
    carrier: bool | None
    is_member: bool
    speed_mbps: int
    expected_mbps: int
    rx_bytes_per_s: float | None
    tx_bytes_per_s: float | None


class Load(NamedTuple):
    """Of one broker, in the unit of the total; consumers come on top of what goes out."""

    taken_in: float
    given_out: float


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    rows = formatting.held(situation)
    ids = situation.living_ids
    left = len(ids - situation.leaving_ids)
    if not left:
        raise NotApplicable("no broker is left to carry the load")
    hosts = [host for host in _takers(situation) if "nic_link" not in host.skip]
    cards = [card for card in told(situation.view, "nic_link", Card, hosts) if _carries(card.facts)]
    if not any(_speed(card.facts) for card in cards):
        raise NotApplicable("neither the machines nor the inventory report the speed of network cards (virtual ones?)")
    copies = _copies(situation.partitions if rows else ())
    now, then = per_broker(1.0, copies, len(ids)), per_broker(1.0, copies, left)
    # what consumers read grows as t does, whatever becomes of the copies
    grows = Load(then.taken_in / now.taken_in, len(ids) / left)
    shares = {f"{card.host.name} {card.facts.interface}": _share(card.facts, grows) for card in cards}
    verdicts = _verdicts(shares, [host.name for host in hosts], cards, limits)
    known = {name: share for name, share in shares.items() if share is not None}
    evidence = {"copies": copies, "grows": grows._asdict(), "percent_then": known}
    top = max(known, key=lambda name: known[name], default="")
    healthy = f"the fullest card would be {top} with {known[top]:.0f} % of its speed" if top else ""
    return ruled(verdicts, healthy, **evidence)


def _takers(situation: GateContext) -> list[Host]:
    """The machines of the brokers that take over the load; those of unknown id may be."""
    ids = situation.living_ids if situation.purpose == DECOMMISSION else locality.neighbours(situation)
    known = situation.broker_names
    takers = {known[number] for number in ids if number in known}
    unsure = {host.name for host in situation.must_be_well if BROKER_ROLE in host.roles} - set(known.values())
    return [host for host in situation.must_be_well if host.name in takers | unsure]


def per_broker(total: float, copies: int, brokers: int) -> Load:
    """What one broker takes in and gives out when so much is written to the whole cluster."""
    share, held = total / brokers, min(copies, brokers)
    return Load(share * held, share * (held - 1))


def _copies(partitions: Iterable[Partition]) -> int:
    """The usual number of replicas."""
    counted = Counter(len(row.replicas) for row in partitions)
    return counted.most_common(1)[0][0] if counted else 1


def _carries(card: Card) -> bool:
    """A bond counts, its members do not."""
    return bool(card.carrier) and not card.is_member


def _speed(card: Card) -> int:
    return card.speed_mbps if card.speed_mbps > 0 else card.expected_mbps


def _share(card: Card, grows: Load) -> float | None:
    """Percent of the card's speed that it would carry; None where that is not known."""
    if card.rx_bytes_per_s is None or card.tx_bytes_per_s is None or not _speed(card):
        return None
    busiest = max(card.rx_bytes_per_s * grows.taken_in, card.tx_bytes_per_s * grows.given_out)
    return round(100 * busiest / (_speed(card) * BYTES_PER_MBIT), 1)


def _verdicts(
    shares: Mapping[str, float | None], hosts: Iterable[str], cards: Iterable[Told[Card]], limits: Mapping[str, Any]
) -> list[Verdict]:
    most = limits["used_percent"]
    full = [f"{name} {share:.0f} %" for name, share in shares.items() if share is not None and share > most]
    verdicts = []
    if full:
        verdicts.append(critical(f"of their speed would carry {some(full)}, limit {most} %"))
    silent = sorted(set(hosts) - {card.host.name for card in cards})
    untold = [name for name, share in shares.items() if share is None] + silent
    if untold:
        verdicts.append(unknown(f"no load or speed from {some(untold)}; run again after a first run"))
    return verdicts
