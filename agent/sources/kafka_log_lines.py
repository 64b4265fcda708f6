"""How a Kafka broker or controller words that a log dir failed, an ISR shrank, a leader was lost or data was cut off.

The lines are those of Kafka 3.9.1 with its own log4j.properties, in ZooKeeper mode and in KRaft mode.
"""

from __future__ import annotations

from typing import Callable, Dict, List, Match, NamedTuple, Optional, Pattern, Tuple

from agent.patterns import pattern
from agent.sources import oom_lines

LOG_DIR = "log dir failure"
UNCLEAN = "unclean leader election"
EXPIRED = "ZooKeeper session expiry"
FENCED = "fenced broker"
SHRINK = "ISR shrink"
EXPAND = "ISR expand"
TRUNCATED = "log truncation"
MOVED = "leader change"

# what to search for, `this|that`; every pattern below begins with one of them
NEEDLES = "|".join((
    "LogDirFailureChannel", "Stopping serving logs in dir", "KafkaStorageException: ", "was marked as RECOVERING",
    "UNCLEAN partition change", "leaderRecoveryState=RECOVERING", "] Session expired.", "its session has timed out",
    "Shrinking ISR from", "ISR updated to", "Truncating to offset", "as part of become-follower",
    "Input/output error", "Read-only file system", "No space left on device", "Structure needs cleaning",
))  # fmt: skip

# [2026-11-21 20:55:44,536] ERROR Error while appending records to safe-5 in dir /kafka/d2
#   (org.apache.kafka.storage.internals.log.LogDirFailureChannel)
DIR_ERROR = pattern(r"(?:ERROR|FATAL) (.{1,500}) \([\w.]{0,80}LogDirFailureChannel\)")
# [2026-11-21 20:55:44,566] WARN Stopping serving logs in dir /kafka/d2 (kafka.log.LogManager)
DIR_STOPPED = pattern(r"(Stopping serving logs in dir /[^\s,]{1,300})")
# org.apache.kafka.common.errors.KafkaStorageException: Error while appending records to safe-5 in dir /kafka/d2
DIR_EXCEPTION = pattern(r"KafkaStorageException: (.{1,500})")
# dir /kafka/d2
FOLDER = pattern(r"/[^\s,]{1,300}")
# java.io.IOException: Input/output error    java.nio.file.FileSystemException: /kafka/d2/…: Read-only file system
CAUSE = pattern(r"Input/output error|Read-only file system|No space left on device|Structure needs cleaning")
# [2026-11-21 21:00:12,215] INFO [Broker id=3] The topic partition dirty-1 was marked as RECOVERING. Marking the topic
#   partition as RECOVERED. (state.change.logger)
ELECTED = pattern(r"The topic partition (\S{1,260}) was marked as RECOVERING")
# [2026-11-21 21:00:12,177] INFO [QuorumController id=1] UNCLEAN partition change for dirty-0 with topic ID
#   4OgV0-SUQhGYD7aDSs50Nw: isr: [2] -> [3], leader: -1 -> 3, …
KRAFT_ELECTS = pattern(r"UNCLEAN partition change for (\S{1,260}) .{0,80}leader: -?\d+ -> ")
# [2026-11-21 20:51:29,968] INFO [Controller id=3 epoch=2] Changed partition dirty-0 from OfflinePartition to
#   OnlinePartition with state LeaderAndIsr(leader=2, …, leaderRecoveryState=RECOVERING, partitionEpoch=5)
#   (state.change.logger)
CONTROLLER_ELECTS = pattern(
    r"Changed partition (\S{1,260}) from \w+ to OnlinePartition .*leaderRecoveryState=RECOVERING"
)
# [2026-11-21 20:50:14,660] INFO [ZooKeeperClient Kafka server] Session expired. (kafka.zookeeper.ZooKeeperClient)
SESSION_EXPIRED = pattern(r"\[ZooKeeperClient[^]]{0,80}\] Session expired\.")
# [2026-11-21 20:55:11,887] INFO [QuorumController id=1] Fencing broker 3 because its session has timed out.
#   (org.apache.kafka.controller.ReplicationControlManager)
BROKER_FENCED = pattern(r"Fencing (broker \d{1,10}) because its session has timed out")
# [2026-11-21 20:54:31,337] INFO [Partition safe-5 broker=1] Shrinking ISR from 1,2,3 to 1,2. Leader: (highWatermark: 1,
#   endOffset: 2). Out of sync replicas: (brokerId: 3, endOffset: 1, lastCaughtUpTimeMs: 1795294465685).
#   (kafka.cluster.Partition)
ISR_SHRINKS = pattern(r"\[Partition (\S{1,260}) broker=\d+\] Shrinking ISR from ([\d,]{1,200}) to ([\d,]{1,200})\.?")
# [2026-11-21 20:54:35,984] INFO [Partition safe-1 broker=2] ISR updated to 2,1,3  and version updated to 3
#   (kafka.cluster.Partition)
ISR_UPDATED = pattern(r"\[Partition (\S{1,260}) broker=\d+\] ISR updated to ([\d,]{1,200})")
# [2026-11-21 20:51:43,353] INFO [UnifiedLog partition=dirty-0, dir=/kafka/d1] Truncating to offset 27
#   (kafka.log.UnifiedLog)
CUT_OFF = pattern(r"Log partition=(?!__cluster_metadata)(\S{1,260}), dir=[^]]{1,300}\] Truncating to offset \d+")
# [2026-11-21 20:55:20,197] INFO [Broker id=3] Stopped fetchers as part of become-follower for 3 partitions
#   (state.change.logger)
# [2026-11-21 20:50:14,690] INFO [Broker id=3] Stopped fetchers as part of become-follower request from controller 1
#   epoch 1 with correlation id 1 for 5 partitions (state.change.logger)
FOLLOWS = pattern(r"Stopped fetchers as part of become-follower .{0,90}?for (\d{1,7}) partitions")


class Event(NamedTuple):
    """Something that happened. about: a path on the log dir, or the broker that was left out; empty if no such thing.

    at: seconds since the epoch, None if the line and those before it bear no date. text: for a person.
    """

    kind: str
    about: str
    at: Optional[float]
    times: int
    text: str


def events(text: str, zone: str) -> List[Event]:
    """What some lines of one log tell, in their order."""
    found: List[Event] = []
    shrunk: Dict[str, str] = {}
    at: Optional[float] = None
    for row in text.splitlines():
        at = oom_lines.stamp(row, zone) or at
        _note_cause(row, found)
        rules = RULES if at else [rule for rule in RULES if rule[0] is not DIR_EXCEPTION]  # the end of an old trace
        seen = next((rule(match, shrunk) for words, rule in rules for match in (words.search(row),) if match), None)
        if seen:
            found.append(Event(*seen[:2], at, *seen[2:]))
    return found


Told = Optional[Tuple[str, str, int, str]]


def _note_cause(row: str, found: List[Event]) -> None:
    """Java tells in the lines below an error what the file system said."""
    cause = CAUSE.search(row)
    if cause and found and found[-1].kind == LOG_DIR and cause.group() not in found[-1].text:
        found[-1] = found[-1]._replace(text=f"{found[-1].text}: {cause.group()}")


def _log_dir(match: Match[str], _shrunk: Dict[str, str]) -> Told:
    folder = FOLDER.search(match.group(1))
    return (LOG_DIR, folder.group().rstrip(".:"), 1, match.group(1)[:120]) if folder else None


def _unclean(match: Match[str], _shrunk: Dict[str, str]) -> Told:
    return UNCLEAN, "", 1, match.group(1)


def _shrinks(match: Match[str], shrunk: Dict[str, str]) -> Told:
    partition, before, after = match.groups()
    shrunk[partition] = after
    missing = [broker for broker in before.split(",") if broker not in after.split(",")]
    return SHRINK, f"broker {', '.join(missing[:3])}", 1, partition


def _expands(match: Match[str], shrunk: Dict[str, str]) -> Told:
    """A shrink is followed by a line that it was done; any other update brings a replica back."""
    if shrunk.pop(match.group(1), "") == match.group(2):
        return None
    return EXPAND, "", 1, match.group(1)


def _moved(match: Match[str], _shrunk: Dict[str, str]) -> Told:
    return MOVED, "", int(match.group(1)), match.string[:26]


def _named(kind: str) -> Callable[[Match[str], Dict[str, str]], Told]:
    return lambda match, _shrunk: (kind, match.group(1), 1, "")


RULES: Tuple[Tuple[Pattern[str], Callable[[Match[str], Dict[str, str]], Told]], ...] = (
    (DIR_ERROR, _log_dir),
    (DIR_STOPPED, _log_dir),
    (DIR_EXCEPTION, _log_dir),
    (ELECTED, _unclean),
    (KRAFT_ELECTS, _unclean),
    (CONTROLLER_ELECTS, _unclean),
    (SESSION_EXPIRED, lambda _match, _shrunk: (EXPIRED, "", 1, "")),
    (BROKER_FENCED, _named(FENCED)),
    (ISR_SHRINKS, _shrinks),
    (ISR_UPDATED, _expands),
    (CUT_OFF, lambda match, _shrunk: (TRUNCATED, "", 1, match.group(1))),
    (FOLLOWS, _moved),
)
