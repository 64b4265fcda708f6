"""The quorum of a KRaft cluster as its active controller reports it: the leader, and who lags behind."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from smoketests.readers.kafka.model import NEVER, Quorum, Voter
from smoketests.readers.kafka.requests import Questions

WHAT = "quorum"
# every broker passes the question on; one that is cut off gives no answer
MOST_ASKED = 5
CATCH_UP_S = 1.0
# A broker fetches the controllers' log every 500 ms: who is later is looked at again a second later, and is late then
# if it has not fetched meanwhile.
SUSPECT_MS, MOST_BEHIND_MS = 700, 1500


def now(client: Any, questions: Questions, brokers: Sequence[int]) -> Quorum | None:
    """None, and a sentence in `questions`, if it cannot be read; None alone in a cluster with ZooKeeper.

    It is read again where a broker is late: one that collected garbage catches up.
    """
    quorum = _now(client, questions, brokers)
    if late(quorum, brokers, SUSPECT_MS):
        time.sleep(CATCH_UP_S)
        quorum = _now(client, questions, brokers)
    return quorum


def _now(client: Any, questions: Questions, brokers: Sequence[int]) -> Quorum | None:
    answer: Quorum | None = questions.begin_any(
        WHAT, brokers[:MOST_ASKED], lambda broker: parse(client.quorum(broker)), optional=True
    )()
    return answer


def late(quorum: Quorum | None, brokers: Iterable[int], most_ms: int = MOST_BEHIND_MS) -> dict[int, str]:
    """The brokers that lack what the controllers decided, each with how long; none where the version does not tell."""
    if quorum is None:
        return {}
    known = {one.id: one.behind_ms for one in (*quorum.observers, *quorum.voters)}
    if not quorum.observers and any(broker not in known for broker in brokers):
        return {}  # told of no observer at all: this version lists none
    found = {}
    for broker in brokers:
        behind = known.get(broker, -1)
        if behind is not None and behind < 0:
            found[broker] = "its metadata is stale: it fetches nothing from the controllers"
        elif behind is not None and behind >= most_ms:
            found[broker] = f"its metadata is stale: {behind / 1000:.1f} s behind the controllers"
    return found


def parse(said: Mapping[str, Any]) -> Quorum:
    """An answer to DescribeQuorum."""
    (partition,) = said["topics"][0]["partitions"]
    at = {int(node["node_id"]): _listening(node["listeners"]) for node in said.get("nodes") or ()}
    leader = int(partition["leader_id"])
    voters = _caught_up(partition["current_voters"])
    newest = voters.get(leader, -1)

    def replicas(times: Mapping[int, int]) -> tuple[Voter, ...]:
        return tuple(Voter(one, _behind(since, newest), at.get(one, ())) for one, since in sorted(times.items()))

    return Quorum(leader, replicas(voters), replicas(_caught_up(partition.get("observers") or ())))


def _caught_up(rows: Iterable[Mapping[str, Any]]) -> dict[int, int]:
    """Id -> when it last had all that the leader has, ms by the leader's clock; -1 where not told or never."""
    return {int(row["replica_id"]): int(row.get("last_caught_up_timestamp", -1)) for row in rows}


def _behind(since: int, newest: int) -> int | None:
    if newest <= 0:
        return None
    return max(newest - since, 0) if since > 0 else NEVER


def _listening(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(f"{row['host']}:{row['port']}"[:200] for row in rows[:20])
