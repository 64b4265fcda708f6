"""What each broker reports, side by side: one that is cut off from the controllers still answers, with stale metadata.

Every live broker is asked. A view does not count where the controllers say that it lags, or most of the others list its
broker as fenced or gone. Of what the rest report the worst counts: in sync is what all of them report in sync.
"""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from inventory.names import some
from smoketests.readers.kafka import quorum as kafka_quorum
from smoketests.readers.kafka.model import Dispute, Doubt, Quorum
from smoketests.readers.zookeeper.ensemble import Registered

# Brokers hear of a change one after the other: what they differ in is asked again, with these pauses.
PAUSES_S = (0.2, 0.5, 1.0, 1.5)
TOPICS_BY_NAME = 500
AT_ONCE = 16
NO_SUCH_TOPIC = 3
NO_ANSWER = "no reply"

Rows = Mapping[int, tuple[int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]]


@dataclass
class View:
    """cluster: a ClusterSaid of kafka_client. topics: name -> TopicSaid. silent: it answered once, and not again."""

    broker: int
    cluster: Any
    topics: dict[str, Any]
    silent: bool = False

    def lives(self, broker: int) -> bool:
        row = self.cluster.brokers.get(broker)
        return row is not None and not row.fenced


def ask(client: Any, seen: dict[str, Any], broker: int) -> View:
    """Who lives is asked before the partitions: an answer that came late must not stand beside partitions of a time
    when a broker that is gone was in sync. seen: topics that another broker told; what is equal is kept once, for a
    hundred brokers with 20,000 partitions are two million rows.
    """
    cluster, topics = client.cluster(broker), client.topics(broker)
    for name, said in topics.items():
        known = seen.setdefault(name, said)
        if known == said:
            topics[name] = known
    return View(broker, cluster, topics)


def settle(client: Any, views: Sequence[View], left_s: Callable[[], float]) -> None:
    """Ask again what they differ in or what has no leader now, until they agree or it stays so."""
    for pause in PAUSES_S:
        counted = believed(views)
        names, members = unsettled(counted), _living_differ(counted)
        if not (names or members) or left_s() < pause + 2:
            return
        time.sleep(pause)
        again = functools.partial(_again, client, names, members)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(again, [view for view in counted if not view.silent]))


def _again(client: Any, names: Collection[str], members: bool, view: View) -> None:
    """What it does not answer now stays as it was, and it is not asked a third time."""
    from kafka.errors import KafkaError

    try:
        if members:
            view.cluster = client.cluster(view.broker)
        asked = None if len(names) > TOPICS_BY_NAME else names
        if not names:
            return
        said = client.topics(view.broker, asked)
    except (KafkaError, OSError):
        view.silent = True
        return
    kept = {} if asked is None else {name: one for name, one in view.topics.items() if name not in names}
    view.topics = {**kept, **{name: one for name, one in said.items() if one.error != NO_SUCH_TOPIC}}


def unsettled(views: Sequence[View]) -> set[str]:
    """Topics of which they do not say the same, or that have a partition without a leader."""
    if not views:
        return set()
    first = views[0].topics
    names = {name for view in views for name in view.topics}
    differ = {name for name in names if any(view.topics.get(name) != first.get(name) for view in views[1:])}
    return differ | {name for name, said in first.items() if said.error == 0 and any(row[1] < 0 for row in said.rows)}


def _living_differ(views: Sequence[View]) -> bool:
    return len({frozenset(row.id for row in view.cluster.brokers.values() if not row.fenced) for view in views}) > 1


def believed(views: Sequence[View]) -> list[View]:
    """Without those whose broker most of the others list as fenced or gone.

    A broker that just started knows of no broker and no topic yet, not even of itself: it has no say.
    """
    return [view for view in views if view.lives(view.broker) and not _gone_by(view, views)]


def _gone_by(view: View, views: Sequence[View]) -> list[int]:
    others = [other for other in views if other.broker != view.broker and other.lives(other.broker)]
    against = [other.broker for other in others if not other.lives(view.broker)]
    return against if 2 * len(against) > len(others) else []


def doubts(views: Sequence[View], unheard: Iterable[int], quorum: Quorum | None, kraft: bool) -> list[Doubt]:
    """The brokers whose view does not count, each with the reason. unheard: those that gave none."""
    found = dict.fromkeys(unheard, NO_ANSWER)
    behind = kafka_quorum.late(quorum, [view.broker for view in views])
    for view in views:
        against = _gone_by(view, views)
        if view.broker in behind:
            found[view.broker] = behind[view.broker]
        elif view.silent:
            found[view.broker] = NO_ANSWER
        elif not view.lives(view.broker):
            found[view.broker] = "it has no metadata yet (just started)"
        elif against:
            who = some([str(broker) for broker in against])
            found[view.broker] = f"its metadata is stale: broker {who} lists it as fenced or gone"
    if not kraft:
        rest = [view for view in views if view.broker not in found]
        found.update(_other_controller(rest))
    return [Doubt(broker, why) for broker, why in sorted(found.items())]


def _other_controller(views: Sequence[View]) -> dict[int, str]:
    """In ZooKeeper mode all name one controller; who names another hears of an old one."""
    names = Counter(view.cluster.controller for view in views)
    if len(names) < 2:
        return {}
    usual = names.most_common(1)[0][0]
    return {
        view.broker: f"it names broker {view.cluster.controller} as the controller, others name broker {usual}"
        for view in views
        if view.cluster.controller != usual
    }


def members(views: Sequence[View]) -> tuple[Registered, ...]:
    """Every broker of which one of them tells; fenced where one of them does not list it as alive."""
    rows: dict[int, Registered] = {}
    for view in views:
        for row in view.cluster.brokers.values():
            if row.id not in rows or not row.fenced:
                rows[row.id] = row
    return tuple(
        row._replace(fenced=not all(view.lives(broker) for view in views)) for broker, row in sorted(rows.items())
    )


def controller(views: Sequence[View]) -> int | None:
    """Whom most of them name; None for none."""
    said = Counter(view.cluster.controller for view in views if view.cluster.controller >= 0).most_common(1)
    return said[0][0] if said else None


def merged(views: Sequence[View]) -> tuple[dict[str, Any], list[Dispute]]:
    """Topic -> what is to be taken as true of it, and what they do not agree on."""
    differ = unsettled(views)
    found = dict(views[0].topics) if views else {}
    disputes: list[Dispute] = []
    for name in sorted(differ):
        said = {view.broker: view.topics[name] for view in views if name in view.topics}
        clear = {broker: one for broker, one in said.items() if not one.error}
        if clear:
            found[name] = _worst(name, clear, disputes)
        else:
            found[name] = next(iter(said.values()))
    return found, disputes


def _worst(name: str, said: Mapping[int, Any], disputes: list[Dispute]) -> Any:
    tables: dict[int, Rows] = {broker: {row[0]: row for row in one.rows} for broker, one in said.items()}
    rows = []
    for number in sorted({number for table in tables.values() for number in table}):
        told = {broker: table[number] for broker, table in tables.items() if number in table}
        rows.append(_worst_row(list(told.values())))
        if len(set(told.values())) > 1:
            disputes.append(Dispute(name, number, _who_says_what(told)))
    return next(iter(said.values()))._replace(rows=tuple(rows))


def _worst_row(rows: Sequence[Any]) -> Any:
    number, leader, replicas, isr, offline = Counter(rows).most_common(1)[0][0]
    isr = tuple(one for one in isr if all(one in row[3] for row in rows))
    return number, leader, replicas, isr, tuple(sorted({one for row in rows for one in row[4]} | set(offline)))


def _who_says_what(told: Mapping[int, Any]) -> str:
    """broker 1: leader 1, in sync 1; brokers 2, 3: leader 2, in sync 1, 2"""
    sides: dict[tuple[Any, ...], list[str]] = {}
    for broker, (_number, leader, replicas, isr, _offline) in sorted(told.items()):
        sides.setdefault((leader, replicas, isr), []).append(str(broker))
    several = len({replicas for _leader, replicas, _isr in sides}) > 1
    words = []
    for (leader, replicas, isr), who in sides.items():
        on = f", replicas {some([*map(str, replicas)])}" if several else ""
        by = "brokers" if len(who) > 1 else "broker"
        words.append(f"{by} {some(who, 3)}: leader {leader}{on}, in sync {some([*map(str, isr)]) or 'none'}")
    return "; ".join(words[:4])
