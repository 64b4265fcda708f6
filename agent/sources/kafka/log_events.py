"""How a Kafka broker or controller words that a log dir failed, an ISR shrank, a leader was lost or data was cut off.

The lines are those of Kafka 3.9.1 with its own log4j.properties, in ZooKeeper mode and in KRaft mode, and where it says
so of older versions. A line in JSON is read as the plain one (json_rows.py).
"""

from __future__ import annotations

from typing import Callable, Dict, List, Match, Optional, Pattern, Tuple

from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.kafka import json_log
from agent.sources.kernel import oom_lines

LOG_DIR = "log dir failure"
UNCLEAN = "unclean leader election"
EXPIRED = "ZooKeeper session expiry"
FENCED = "fenced broker"
SHRINK = "ISR shrink"
EXPAND = "ISR expand"
TRUNCATED = "log truncation"
MOVED = "leader change"
CORRUPT = "corrupt record"

# A longer line is told by its beginning: it may hold anything, and patterns take their time over it.
ROW_LENGTH = 4000

# what to search for, `this|that`, which is a regular expression too (journalctl --grep)
NEEDLES = "|".join((
    "LogDirFailureChannel", "Stopping serving logs in dir", "KafkaStorageException: ", "was marked as RECOVERING",
    "UNCLEAN partition change", "leaderRecoveryState=RECOVERING", "] Session expired.", "its session has timed out",
    "Shrinking ISR from", "ISR updated to", "Truncating to offset", "as part of become-follower",
    "Input/output error", "Read-only file system", "No space left on device", "Structure needs cleaning",
    "Too many open files", "Map failed", "Cannot allocate memory",
    "No broker in ISR is alive for", "zookeeper state changed", "Shrinking ISR for partition",
    "Truncating log ", "CorruptRecordException", "Corruption found in segment",
))  # fmt: skip

# [2026-11-21 20:55:44,536] ERROR Error while appending records to safe-5 in dir /kafka/d2
#   (org.apache.kafka.storage.internals.log.LogDirFailureChannel)
DIR_ERROR = "LogDirFailureChannel)"
# [2026-11-21 20:55:44,566] WARN Stopping serving logs in dir /kafka/d2 (kafka.log.LogManager)
DIR_STOPPED = "Stopping serving logs in dir "
# org.apache.kafka.common.errors.KafkaStorageException: Error while appending records to safe-5 in dir /kafka/d2
# 0.10, where the broker halts:
# org.apache.kafka.common.errors.KafkaStorageException: I/O exception in append to log 'safe-5'
DIR_EXCEPTION = "KafkaStorageException: "
PATH = pattern(r"(?:^|[\s'\"=(\[])(/[^\s,'\")\]]{1,300})")
OF_LOG = pattern(r"append to log '([^'\s]{1,260})'")
# java.io.IOException: Input/output error    java.nio.file.FileSystemException: /kafka/d2/…: Read-only file system
# java.nio.file.FileSystemException: /kafka/d2/safe-5/00000000000000000027.log: Too many open files
# java.io.IOException: Map failed
CAUSE = pattern(
    r"Input/output error|Read-only file system|No space left on device|Structure needs cleaning|Too many open files"
    r"|Map failed|Cannot allocate memory"
)
# [2026-11-21 21:00:12,215] INFO [Broker id=3] The topic partition dirty-1 was marked as RECOVERING. Marking the topic
#   partition as RECOVERED. (state.change.logger)
ELECTED = pattern(r"The topic partition (\S{1,260}) was marked as RECOVERING")
# [2026-11-21 21:00:12,177] INFO [QuorumController id=1] UNCLEAN partition change for dirty-0 with topic ID
#   4OgV0-SUQhGYD7aDSs50Nw: isr: [2] -> [3], leader: -1 -> 3, …
KRAFT_ELECTS = pattern(r"UNCLEAN partition change for (\S{1,260}) .{0,200}leader: -?\d+ -> ")
# [2026-11-21 20:51:29,968] INFO [Controller id=3 epoch=2] Changed partition dirty-0 from OfflinePartition to
#   OnlinePartition with state LeaderAndIsr(leader=2, …, leaderRecoveryState=RECOVERING, partitionEpoch=5)
#   (state.change.logger)
CONTROLLER_ELECTS = pattern(
    r"Changed partition (\S{1,260}) from \w+ to OnlinePartition .*leaderRecoveryState=RECOVERING"
)
# 0.10 to 1.0 (from 1.1 to 3.1 a controller with ZooKeeper has no words for it):
# [2018-03-02 11:12:12,215] WARN [OfflinePartitionLeaderSelector]: No broker in ISR is alive for [dirty,0]. Elect
#   leader 3 from live brokers 3. There's potential data loss. (kafka.controller.OfflinePartitionLeaderSelector)
OLD_ELECTS = pattern(r"No broker in ISR is alive for (\S{1,260})\. Elect leader")
# [2026-11-21 20:50:14,660] INFO [ZooKeeperClient Kafka server] Session expired. (kafka.zookeeper.ZooKeeperClient)
SESSION_EXPIRED = pattern(r"\[ZooKeeperClient[^]]{0,80}\] Session expired\.")
# 0.10 to 1.0: [2018-03-02 11:12:12,215] INFO zookeeper state changed (Expired) (org.I0Itec.zkclient.ZkClient)
OLD_SESSION_EXPIRED = pattern(r"zookeeper state changed \(Expired\)")
# [2026-11-21 20:55:11,887] INFO [QuorumController id=1] Fencing broker 3 because its session has timed out.
#   (org.apache.kafka.controller.ReplicationControlManager)
# 4.0 and later: … Fencing broker 3 at epoch 27 because its session has timed out.
BROKER_FENCED = pattern(r"Fencing (broker \d{1,10})(?: at epoch -?\d{1,20})? because its session has timed out")
# [2026-11-21 20:54:31,337] INFO [Partition safe-5 broker=1] Shrinking ISR from 1,2,3 to 1,2. Leader: (highWatermark: 1,
#   endOffset: 2). Out of sync replicas: (brokerId: 3, endOffset: 1, lastCaughtUpTimeMs: 1795294465685).
#   (kafka.cluster.Partition)
# 0.10: [2018-03-02 11:12:12,215] INFO Partition [safe,5] on broker 1: Shrinking ISR for partition [safe,5] from 1,2,3
#   to 1,2 (kafka.cluster.Partition); 0.11: Partition [safe,5] on broker 1: Shrinking ISR from 1,2,3 to 1,2
ISR_SHRINKS = pattern(
    r"Partition (\S{1,260}) (?:broker=\d+\]|on broker \d+:) Shrinking ISR (?:for partition \S{1,260} )?"
    r"from ([\d,]{1,200}) to ([\d,]{1,200})"
)
# [2026-11-21 20:54:35,984] INFO [Partition safe-1 broker=2] ISR updated to 2,1,3  and version updated to 3
#   (kafka.cluster.Partition)
# 2.4 to 3.0: ISR updated to [2,1,3] and zkVersion updated to [3]
ISR_UPDATED = pattern(r"\[Partition (\S{1,260}) broker=\d+\] ISR updated to \[?([\d,]{1,200})")
# [2026-11-21 20:51:43,353] INFO [UnifiedLog partition=dirty-0, dir=/kafka/d1] Truncating to offset 27
#   (kafka.log.UnifiedLog)
CUT_OFF = pattern(r"Log partition=(?!__cluster_metadata)(\S{1,260}), dir=[^]]{1,300}\] Truncating to offset \d+")
# 0.10 to 1.0: [2018-03-02 11:12:12,215] INFO Truncating log safe-5 to offset 27. (kafka.log.Log)
OLD_CUT_OFF = pattern(r"Truncating log (\S{1,260}) to offset \d+")
# [2026-11-21 20:51:43,353] ERROR [ReplicaFetcher replicaId=2, leaderId=1, fetcherId=0] Found invalid messages during
#   fetch for partition safe-5 offset 27 (kafka.server.ReplicaFetcherThread)
# org.apache.kafka.common.errors.CorruptRecordException: Found record size 0 smaller than minimum record overhead (14)
#   in file /kafka/d1/safe-5/00000000000000000000.log.
# org.apache.kafka.common.errors.CorruptRecordException: Record is corrupt (stored crc = 1, computed crc = 2)
CORRUPT_RECORD = pattern(r"CorruptRecordException: (.{1,160})")
# [2026-11-21 20:51:43,353] WARN [UnifiedLog partition=safe-5, dir=/kafka/d1] Corruption found in segment 0, truncating
#   to offset 27 (kafka.log.LogLoader)
CORRUPT_SEGMENT = pattern(r"partition=(\S{1,260}), .{0,300}(Corruption found in segment \d+)")
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
    for raw in text.splitlines():
        row, dated = json_log.plain(raw)
        row = row[:ROW_LENGTH]
        at = dated or oom_lines.stamp(row, zone) or at
        _note_cause(row, found)
        for words, rule in RULES:
            # without a date yet it is the end of an old stack trace
            seen = rule(row, shrunk) if words in row and (at or words != DIR_EXCEPTION) else None
            if seen:
                found.append(Event(*seen[:2], at, *seen[2:]))
                _note_cause(row, found)
                break
    return found


Told = Optional[Tuple[str, str, int, str]]


def _note_cause(row: str, found: List[Event]) -> None:
    """Java tells in the lines below an error what the file system said."""
    cause = CAUSE.search(row) if found and found[-1].kind == LOG_DIR else None
    if cause and cause.group() not in found[-1].text:
        found[-1] = found[-1]._replace(text=f"{found[-1].text}: {cause.group()}")


def _dir_error(row: str, _shrunk: Dict[str, str]) -> Told:
    """What stands between the level and the class that said it."""
    levels = [at + len(level) for level in ("ERROR ", "FATAL ") for at in (row.find(level),) if at >= 0]
    message = row[min(levels) : row.rfind(DIR_ERROR)] if levels else ""
    return _of_dir(message.rpartition(" (")[0])


def _dir_stopped(row: str, _shrunk: Dict[str, str]) -> Told:
    return _of_dir(row[row.find(DIR_STOPPED) :].partition(" (")[0])


def _dir_exception(row: str, _shrunk: Dict[str, str]) -> Told:
    message = row.partition(DIR_EXCEPTION)[2]
    of_log = OF_LOG.search(message)
    return (LOG_DIR, f"of {of_log.group(1)}", 1, message[:120]) if of_log else _of_dir(message)


def _of_dir(message: str) -> Told:
    path = PATH.search(message)
    return (LOG_DIR, path.group(1).rstrip(".:"), 1, message[:120]) if path else None


def _shrinks(match: Match[str], shrunk: Dict[str, str]) -> Told:
    partition, before, after = match.groups()
    shrunk[partition] = after
    missing = [broker for broker in before.split(",") if broker not in after.split(",")]
    return SHRINK, f"broker {', '.join(missing[:3])}", 1, old_name(partition)


def old_name(partition: str) -> str:
    """How versions before 1.0 write a partition.

    >>> old_name("[safe,5]"), old_name("safe-5")
    ('safe-5', 'safe-5')
    """
    topic, comma, number = partition.strip("[]").rpartition(",")
    return f"{topic}-{number}" if comma and number.isdecimal() else partition


def _expands(match: Match[str], shrunk: Dict[str, str]) -> Told:
    """A shrink is followed by a line that it was done; any other update brings a replica back."""
    if shrunk.pop(match.group(1), "") == match.group(2):
        return None
    return EXPAND, "", 1, match.group(1)


def _by(expression: Pattern[str], told: Callable[[Match[str], Dict[str, str]], Told]) -> Rule:
    def rule(row: str, shrunk: Dict[str, str]) -> Told:
        match = expression.search(row)
        return told(match, shrunk) if match else None

    return rule


def _of_partition(kind: str) -> Callable[[Match[str], Dict[str, str]], Told]:
    return lambda match, _shrunk: (kind, "", 1, old_name(match.group(1)))


def _corrupt(match: Match[str], _shrunk: Dict[str, str]) -> Told:
    return CORRUPT, "", 1, " ".join(match.groups())


def _moved(match: Match[str], _shrunk: Dict[str, str]) -> Told:
    return MOVED, "", int(match.group(1)), match.string[:26]


def _expired(_match: Match[str], _shrunk: Dict[str, str]) -> Told:
    return EXPIRED, "", 1, ""


Rule = Callable[[str, Dict[str, str]], Told]
# words that a line must hold -> what it tells, if it has the whole form
RULES: Tuple[Tuple[str, Rule], ...] = (
    (DIR_ERROR, _dir_error),
    (DIR_STOPPED, _dir_stopped),
    (DIR_EXCEPTION, _dir_exception),
    ("was marked as RECOVERING", _by(ELECTED, _of_partition(UNCLEAN))),
    ("UNCLEAN partition change", _by(KRAFT_ELECTS, _of_partition(UNCLEAN))),
    ("leaderRecoveryState=RECOVERING", _by(CONTROLLER_ELECTS, _of_partition(UNCLEAN))),
    ("No broker in ISR is alive for", _by(OLD_ELECTS, _of_partition(UNCLEAN))),
    ("] Session expired.", _by(SESSION_EXPIRED, _expired)),
    ("zookeeper state changed (Expired)", _by(OLD_SESSION_EXPIRED, _expired)),
    ("its session has timed out", _by(BROKER_FENCED, lambda match, _shrunk: (FENCED, match.group(1), 1, ""))),
    ("Shrinking ISR ", _by(ISR_SHRINKS, _shrinks)),
    ("ISR updated to", _by(ISR_UPDATED, _expands)),
    ("Truncating to offset", _by(CUT_OFF, _of_partition(TRUNCATED))),
    ("Truncating log ", _by(OLD_CUT_OFF, _of_partition(TRUNCATED))),
    ("CorruptRecordException: ", _by(CORRUPT_RECORD, _corrupt)),
    ("Corruption found in segment", _by(CORRUPT_SEGMENT, _corrupt)),
    ("as part of become-follower", _by(FOLLOWS, _moved)),
)
