"""kafka_log: what a broker's logs tell, once, with rates, and never from old news."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.kafka import kafka_log
from agent.expected import Expected
from agent.host import Answer, Stuck, Touched
from agent.sources.kafka import json_log
from agent.sources.kafka import log_events as lines
from agent.status import Finding
from tests.agent.servers import BROKER_CONFIG, answers, broker, machine
from tests.machine import NOW, FakeHost, by_item, next_run, run_checks

LOG, STATE = "/srv/kafka/logs/server.log", "/srv/kafka/logs/state-change.log"
HEALTHY = kafka_log.Facts("broker", (LOG,))


def facts(kind: str, times: int = 1, in_an_hour: int = 1, hours_ago: float = 0.0, last: str = "") -> kafka_log.Facts:
    return HEALTHY._replace(
        kinds=(kind,), about=("/kafka/d2",), times=(times,), most_in_an_hour=(in_an_hour,), hours_ago=(hours_ago,),
        last_at=("2026-11-18T03:12Z",), last=(last,),
    )  # fmt: skip


EDGES = [
    (lines.LOG_DIR, 1, 1, "critical"),
    (lines.UNCLEAN, 1, 1, "critical"),
    (lines.EXPIRED, 1, 1, "warning"),
    (lines.FENCED, 1, 1, "warning"),
    (lines.SHRINK, 9, 9, "ok"),
    (lines.SHRINK, 90, 9, "ok"),
    (lines.SHRINK, 10, 10, "warning"),
    (lines.TRUNCATED, 49, 49, "ok"),
    (lines.TRUNCATED, 50, 50, "warning"),
    (lines.EXPAND, 99999, 99999, "ok"),
    (lines.MOVED, 99999, 99999, "ok"),
]


@pytest.mark.parametrize(("kind", "times", "in_an_hour", "status"), EDGES)
def test_the_edges_of_each_limit(kind: str, times: int, in_an_hour: int, status: str) -> None:
    assert kafka_log.judge(facts(kind, times, in_an_hour, 23.99), kafka_log.LIMITS).status == status
    a_day_later = kafka_log.judge(facts(kind, times, in_an_hour, 24.0), kafka_log.LIMITS).status
    assert a_day_later == ("critical" if kind == lines.LOG_DIR else "ok"), "a log dir is out until a restart"


def test_silence_is_ok_only_where_something_was_read() -> None:
    assert kafka_log.judge(HEALTHY, kafka_log.LIMITS).status == "ok"
    assert kafka_log.judge(HEALTHY._replace(not_read=("server.log: no",)), kafka_log.LIMITS).status == "unknown"


@pytest.mark.parametrize(
    ("cause", "playbook"),
    [
        ("Input/output error", "replace-jbod-disk"),
        ("No space left on device", "full-disk"),
        ("Read-only file system", "hidden-readonly"),
        ("Structure needs cleaning", "hidden-readonly"),
        ("Too many open files", "tune-os"),
        ("Map failed", "tune-os"),
        ("", "replace-jbod-disk"),
    ],
)
def test_a_failed_log_dir_leads_to_what_mends_its_cause(cause: str, playbook: str) -> None:
    verdict = kafka_log.judge(facts(lines.LOG_DIR, last=f"Error while appending: {cause}"), kafka_log.LIMITS)

    assert verdict.playbook == playbook and "log dir /kafka/d2 failed at 2026-11-18T03:12Z" in verdict.reason


ABSENT = Touched("ENOENT", {"error": "No such file or directory"})


def found(text: str = "", inode: int = 7, skipped: int = 0) -> Touched:
    return Touched("", {"inode": inode, "end": 100, "skipped_bytes": skipped, "text": text})


def logs(log: Any = None, state: Any = None) -> dict[str, Any]:
    """What searching each place where a broker may write gives: server.log, state-change.log, no other."""
    names = ("server.log", "kafka.err", "kafkaServer.out", "kafka.log", "state-change.log", "controller.log")
    given = {
        f"touch search {folder}/{name}": ABSENT for folder in ("/srv/kafka/logs", "/var/log/kafka") for name in names
    }
    given.update({f"touch link /proc/4242/fd/{number}": Touched("", {"target": "/dev/null"}) for number in (1, 2)})
    return {**given, f"touch search {LOG}": log or found(), f"touch search {STATE}": state or found(inode=8)}


def kafka_machine(**given: Any) -> FakeHost:
    return machine(broker(), answers={**logs(), **given.pop("answers", {})}, **given)


def look_at(host: FakeHost, item: str = "broker") -> Finding:
    findings = by_item(run_checks(host, "kafka_log"))
    assert all("check failed" not in finding.verdict.reason for finding in findings.values()), findings
    return findings[item]


def after_one_quiet_run(log: str = "", state: str = "", **given: Any) -> FakeHost:
    first = kafka_machine()
    assert look_at(first).status == "ok"
    said = {**logs(found(log), found(state, inode=8)), **given.pop("answers", {})}
    return next_run(first, answers=said, **given)


FAILED = """\
[2026-11-18 11:10:44,536] ERROR Error while appending records to safe-5 in dir /kafka/d2 \
(org.apache.kafka.storage.internals.log.LogDirFailureChannel)
java.io.IOException: Input/output error
[2026-11-18 11:10:44,537] ERROR [ReplicaFetcher replicaId=2, leaderId=1, fetcherId=0] Error while processing data
org.apache.kafka.common.errors.KafkaStorageException: Error while appending records to safe-5 in dir /kafka/d2
Caused by: java.io.IOException: Input/output error
[2026-11-18 11:10:44,566] WARN Stopping serving logs in dir /kafka/d2 (kafka.log.LogManager)
"""


def test_a_failed_log_dir_is_critical_once_with_its_cause() -> None:
    finding = look_at(after_one_quiet_run(FAILED))

    assert (finding.status, finding.verdict.playbook) == ("critical", "replace-jbod-disk")
    assert finding.verdict.reason == (
        "log dir /kafka/d2 failed at 2026-11-18T11:10Z, the broker continues without it: "
        "Error while appending records to safe-5 in dir /kafka/d2: Input/output error"
    )
    assert (finding.facts["kinds"], finding.facts["about"]) == ((lines.LOG_DIR,), ("/kafka/d2",))
    assert finding.facts["log_dirs"] == ("/kafka/d1", "/kafka/d2")


def test_a_failed_log_dir_stands_until_the_broker_is_restarted() -> None:
    failed = after_one_quiet_run(FAILED)
    look_at(failed)
    later = next_run(failed, after_s=10 * 86400, answers=logs())
    assert "failed at 2026-11-18T11:10Z" in look_at(later).verdict.reason
    later = next_run(later, answers=logs())
    assert look_at(later).status == "critical"

    restarted = answers([broker(pid=5000, started_at=later.now() + 300)])
    links = {f"touch link /proc/5000/fd/{number}": Touched("", {"target": "/dev/null"}) for number in (1, 2)}
    well = next_run(later, answers={**restarted, **links})
    assert look_at(well).status == "ok"

    again = (
        "[2026-11-19 07:22:00,4] ERROR Failed to create or validate data directory /kafka/d2 (a.LogDirFailureChannel)\n"
    )
    assert look_at(next_run(well, answers=logs(found(again)))).status == "critical"


def test_the_end_of_an_old_stack_trace_is_no_news() -> None:
    text = (
        "\tat kafka.log.LogManager\nCaused by: org.apache.kafka.common.errors.KafkaStorageException: in dir /kafka/d2\n"
    )

    assert look_at(after_one_quiet_run(text)).status == "ok"
    assert look_at(after_one_quiet_run("[2026-11-18 11:10:44,1] ERROR x\n" + text)).status == "critical"


def test_a_file_on_a_log_dir_is_told_as_that_log_dir() -> None:
    file = "/kafka/d2/x/cleaner-offset-checkpoint"
    text = f"[2026-11-18 11:10:44,1] ERROR Error while writing to checkpoint file {file} (a.LogDirFailureChannel)\n"

    assert look_at(after_one_quiet_run(text)).facts["about"] == ("/kafka/d2",)


UNCLEAN = "[2026-11-18 11:12:12,2] INFO [Broker id=3] The topic partition {} was marked as RECOVERING. Marking …\n"


def test_an_unclean_election_is_critical_and_each_partition_counts_once() -> None:
    kraft = (
        "[2026-11-18 11:12:12,1] INFO [QuorumController id=1] UNCLEAN partition change for dirty-0 with topic ID x: "
        "isr: [2] -> [3], leader: -1 -> 3, leaderRecoveryState: RECOVERED -> RECOVERING\n"
    )
    finding = look_at(after_one_quiet_run(kraft, UNCLEAN.format("dirty-0") + UNCLEAN.format("dirty-1")))

    assert (finding.status, finding.facts["times"]) == ("critical", (2,))
    assert "unclean leader election 2 times, last of dirty-1 at 2026-11-18T11:12Z: records" in finding.verdict.reason


def shrinks(count: int, minute: int = 10) -> str:
    row = (
        "[2026-11-18 11:{:02}:31,337] INFO [Partition safe-{} broker=1] Shrinking ISR from 1,2,3 to 1,2. Leader: (high"
        "Watermark: 1, endOffset: 2). Out of sync replicas: (brokerId: 3, endOffset: 1). (kafka.cluster.Partition)\n"
        "[2026-11-18 11:{:02}:31,338] INFO [Partition safe-{} broker=1] ISR updated to 1,2  and version updated to 2\n"
    )
    return "".join(row.format(minute, number, minute, number) for number in range(count))


@pytest.mark.parametrize(("count", "status"), [(1, "ok"), (9, "ok"), (10, "warning"), (3000, "warning")])
def test_a_replica_that_falls_behind_often_within_an_hour_is_a_warning_that_names_its_broker(
    count: int, status: str
) -> None:
    finding = look_at(after_one_quiet_run(shrinks(count)))

    assert (finding.status, finding.facts["times"], finding.facts["about"]) == (status, (count,), ("broker 3",))
    assert (f"broker 3 fell out of the ISR {count} times" in finding.verdict.reason) == (status == "warning")


def test_a_few_in_each_run_of_an_hour_add_up() -> None:
    host = after_one_quiet_run(shrinks(6, minute=10))
    assert look_at(host).status == "ok"
    assert look_at(next_run(host, answers=logs(found(shrinks(6, minute=20))))).status == "warning"


def test_what_a_planned_restart_of_a_peer_brings_is_no_alarm() -> None:
    rows = [f"[2026-11-18 11:10:55,3] INFO [Partition safe-{number} broker=1] ISR updated to 1,3,2  and version …\n"
            for number in range(400)]  # fmt: skip
    state = (
        "[2026-11-18 11:10:54,1] INFO [Broker id=1] Stopped fetchers as part of become-follower for 200 partitions\n"
    )
    finding = look_at(after_one_quiet_run("".join(rows), state))

    assert finding.status == "ok" and "400 ISR expands" in finding.verdict.reason
    assert sorted(zip(finding.facts["kinds"], finding.facts["times"])) == [(lines.EXPAND, 400), (lines.MOVED, 200)]


EXPIRED = (
    "[2026-11-18 11:11:14,660] INFO [ZooKeeperClient Kafka server] Session expired. (kafka.zookeeper.ZooKeeperClient)\n"
)
FENCED = (
    "[2026-11-18 11:11:11,8] INFO [QuorumController id=1] Fencing broker 3 because its session has timed out. (o)\n"
)


def test_a_lost_session_is_a_warning_in_both_modes() -> None:
    assert "session expired once, last at 2026-11-18T11:11Z" in look_at(after_one_quiet_run(EXPIRED)).verdict.reason
    # as Kafka 4.1.1 has it
    newer = FENCED.replace("broker 3 because", "broker 3 at epoch 27 because")
    for text in (FENCED, newer):
        finding = look_at(after_one_quiet_run(text))
        assert finding.status == "warning" and "it fenced broker 3 once" in finding.verdict.reason


CUT = "[2026-11-18 11:11:43,3] INFO [UnifiedLog partition={}, dir=/kafka/d1] Truncating to offset 27 (kafka.log)\n"


def test_cut_off_logs_are_counted_and_those_of_the_raft_log_are_not() -> None:
    none = CUT.format("safe-0").replace(
        "Truncating to offset 27", "Truncating to 27 has no effect as the largest is 26"
    )
    text = CUT.format("dirty-0") + CUT.format("__cluster_metadata-0") + none
    finding = look_at(after_one_quiet_run(text))

    assert (finding.status, finding.facts["kinds"], finding.facts["times"]) == ("ok", (lines.TRUNCATED,), (1,))


def test_a_line_that_stands_in_two_logs_counts_once() -> None:
    assert look_at(after_one_quiet_run(EXPIRED, EXPIRED)).facts["times"] == (1,)


@pytest.mark.parametrize(
    ("stamp", "status"),
    [("2026-11-18 10:00:00,1", "critical"), ("2026-11-17 11:00:00,1", "ok"), ("2026-01-01 00:00:00,1", "ok")],
)
def test_of_a_log_seen_first_only_what_is_dated_within_a_day_is_news(stamp: str, status: str) -> None:
    text = UNCLEAN.format("dirty-0").replace("2026-11-18 11:12:12,2", stamp)

    assert look_at(kafka_machine(answers={**logs(found(text)), "uptime_s": 1e6})).status == status


def test_it_is_told_for_a_day_and_ends_with_a_reboot() -> None:
    host = after_one_quiet_run(EXPIRED)
    look_at(host)

    assert look_at(next_run(host, after_s=23 * 3600, answers=logs())).status == "warning"
    assert look_at(next_run(host, after_s=25 * 3600, answers=logs())).status == "ok"
    boot = "00000000-0000-4000-8000-000000000002"
    rebooted = next_run(host, after_s=900, boot_id=boot, answers={**logs(found(EXPIRED)), "uptime_s": 60})
    assert look_at(rebooted).status == "ok"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ABSENT, "no log of broker found"),
        (Touched("EACCES", {"error": "Permission denied"}), "Permission denied"),
        (Stuck(f"search of {LOG}", 5), "timed out after 5 s"),
    ],
)
def test_logs_that_cannot_be_read_are_unknown(answer: Any, words: str) -> None:
    finding = look_at(kafka_machine(answers=logs(answer, ABSENT)))

    assert finding.status == "unknown" and words in finding.verdict.reason


def test_more_than_can_be_searched_is_unknown_but_hides_nothing() -> None:
    first = kafka_machine()
    look_at(first)
    finding = look_at(next_run(first, answers=logs(found(EXPIRED, skipped=900 << 20))))

    assert finding.status == "unknown"
    assert f"900 MB of {LOG}" in finding.verdict.reason and "session expired" in finding.verdict.reason


JOURNAL = (
    f"journalctl --unit=kafka.service --grep={lines.NEEDLES} --no-pager --quiet --output=short-unix"
    " --lines=1000 --since=@{since}"
)


def test_a_broker_that_writes_to_the_journal_is_read_there() -> None:
    row = f"{NOW - 60:.6f} a03 java[4242]: {EXPIRED}"
    said = {**logs(), "touch link /proc/4242/fd/1": Touched("", {"target": "socket:[99]"})}
    given = {"/proc/4242/cgroup": "0::/system.slice/kafka.service\n"}
    command = {
        JOURNAL.format(since=int(NOW - 86400)): Answer(0, row, ""),
        "env -u TZ date +%z": Answer(0, "+0000\n", ""),
    }

    assert look_at(kafka_machine(files=given, answers=said, commands=command)).status == "warning"


def test_a_broker_that_does_not_run_is_still_told_from_its_old_logs() -> None:
    assert look_at(after_one_quiet_run(FAILED, answers={"processes": []})).status == "critical"


def test_a_kraft_controller_of_its_own_is_asked_too() -> None:
    config = Touched("", {"text": "process.roles=controller\nnode.id=11\nlog.dirs=/kafka/meta\n"})
    said = {
        **logs(found(FENCED.replace("11:11:11", "11:00:11"))),
        f"touch read {BROKER_CONFIG}": config,
        "uptime_s": 1e6,
    }
    host = machine(broker(), roles=("controller",), answers=said)

    assert look_at(host, "controller").facts["kinds"] == (lines.FENCED,)


def test_a_machine_without_a_broker_is_skipped() -> None:
    (finding,) = run_checks(machine(roles=("zookeeper",)), "kafka_log")
    assert finding.status == "skipped"
    (finding,) = run_checks(machine(expected=Expected(roles=("broker",)), answers=logs(ABSENT, ABSENT)), "kafka_log")
    assert finding.status == "unknown"


# Older versions, in their own words

LEADER_0_10 = "[2026-11-18 11:12:12,215] WARN [OfflinePartitionLeaderSelector]: No broker in ISR is alive for [dirty,0]. Elect leader 3 from live brokers 3. There's potential data loss. (kafka.controller.OfflinePartitionLeaderSelector)\n"  # noqa: E501
SHRINK_0_10 = "[2026-11-18 11:12:{:02d},1] INFO Partition [safe,{}] on broker 1: Shrinking ISR for partition [safe,{}] from 1,2,3 to 1,2 (kafka.cluster.Partition)\n"  # noqa: E501
SHRINK_0_11 = "[2026-11-18 11:12:{:02d},1] INFO Partition [safe,{}] on broker 1: Shrinking ISR from 1,2,3 to 1,2 (kafka.cluster.Partition)\n"  # noqa: E501
EXPIRED_0_10 = "[2026-11-18 11:11:12,215] INFO zookeeper state changed (Expired) (org.I0Itec.zkclient.ZkClient)\n"
CUT_0_10 = "[2026-11-18 11:12:{:02d},215] INFO Truncating log safe-{} to offset 27. (kafka.log.Log)\n"


def test_an_unclean_election_of_kafka_0_10_is_critical() -> None:
    finding = look_at(after_one_quiet_run(LEADER_0_10))

    assert finding.status == "critical" and "unclean leader election once, last of dirty-0" in finding.verdict.reason


@pytest.mark.parametrize("form", [SHRINK_0_10, SHRINK_0_11])
def test_isr_shrinks_of_older_versions_are_counted(form: str) -> None:
    finding = look_at(after_one_quiet_run("".join(form.format(number, number, number) for number in range(10))))

    assert (finding.status, finding.facts["about"], finding.facts["last"]) == ("warning", ("broker 3",), ("safe-9",))


def test_an_expired_session_of_kafka_0_10_is_a_warning() -> None:
    assert "session expired once" in look_at(after_one_quiet_run(EXPIRED_0_10)).verdict.reason


def test_truncations_of_kafka_0_10_are_counted() -> None:
    finding = look_at(after_one_quiet_run("".join(CUT_0_10.format(number, number) for number in range(50))))

    assert finding.status == "warning" and "50 times" in finding.verdict.reason


# 0.10 halts; it was told as "log dir /O failed"
HALTED = """\
[2026-11-18 11:10:44,536] FATAL [Replica Manager on Broker 1]: Halting due to unrecoverable I/O error while handling produce request: (kafka.server.ReplicaManager)
org.apache.kafka.common.errors.KafkaStorageException: I/O exception in append to log 'safe-5'
Caused by: java.io.IOException: Input/output error
"""  # noqa: E501


def test_a_slash_in_a_word_is_no_path() -> None:
    finding = look_at(after_one_quiet_run(HALTED))

    assert finding.facts["about"] == ("of safe-5",)
    assert "/O" not in finding.facts["about"] and "Input/output error" in finding.verdict.reason


@pytest.mark.parametrize(
    ("jar", "told"),
    [
        ("/opt/kafka_2.11-0.10.2.1/libs/kafka_2.11-0.10.2.1.jar", ""),
        ("/opt/kafka/bin/../libs/kafka_2.12-1.1.0.jar", "Kafka 1.1 does not log unclean leader elections"),
        ("/opt/kafka/libs/a.jar:/opt/kafka/libs/kafka_2.12-2.8.1.jar:/b.jar", "Kafka 2.8 does not log unclean leader"),
        ("/usr/share/java/kafka/kafka_2.13-7.1.1-ccs.jar", "Kafka 3.1 does not log unclean leader elections"),
        ("/usr/share/java/kafka/kafka_2.13-7.4.1-ccs.jar", ""),
        ("/opt/kafka/libs/kafka_2.13-3.9.1.jar", ""),
        ("/opt/kafka/libs/*", ""),
    ],
)
def test_what_a_version_does_not_log_is_said(jar: str, told: str) -> None:
    process = broker()
    process = process._replace(
        argv=("/usr/bin/java", "-Dkafka.logs.dir=/srv/kafka/logs", "-cp", jar, *process.argv[-2:])
    )
    finding = look_at(machine(process, answers=logs()))

    assert finding.status == "ok"
    assert told in finding.verdict.reason and bool(told) == ("does not log" in finding.verdict.reason)


CORRUPT = [
    """\
[2026-11-18 11:12:12,1] ERROR [ReplicaFetcher replicaId=2] Found invalid messages during fetch for partition safe-5
org.apache.kafka.common.errors.CorruptRecordException: Record is corrupt (stored crc = 1, computed crc = 2)
""",
    "[2026-11-18 11:12:12,1] WARN [UnifiedLog partition=safe-5, dir=/kafka/d1] Corruption found in segment 0, …\n",
]


@pytest.mark.parametrize("text", CORRUPT)
def test_corrupt_records_are_a_warning(text: str) -> None:
    finding = look_at(after_one_quiet_run(text))

    assert finding.status == "warning" and "found corrupt records once" in finding.verdict.reason


# JSON layouts

JSON_FORMS = [
    # log4j2's JsonLayout
    '{{"instant":{{"epochSecond":1795000332,"nanoOfSecond":566}},"thread":"main","level":"{level}","loggerName":"{logger}","message":"{message}","thrown":{{"name":"java.io.IOException","message":"Input/output error"}}}}',  # noqa: E501
    # logstash's encoder
    '{{"@timestamp":"2026-11-18T12:12:12.215+01:00","level":"{level}","logger_name":"{logger}","message":"{message}","stack_trace":"java.io.IOException: Input/output error\\n\\tat a.b"}}',  # noqa: E501
    # log4j2's JsonTemplateLayout with LogstashJsonEventLayoutV1.json
    '{{"@version":1,"@timestamp":"2026-11-18T11:12:12.215Z","level":"{level}","logger_name":"{logger}","message":"{message}","exception":{{"exception_class":"java.io.IOException","exception_message":"Input/output error","stacktrace":"java.io.IOException: Input/output error\\n\\tat a.b"}}}}',  # noqa: E501
    # Elastic Common Schema, flat and as objects
    '{{"@timestamp":"2026-11-18T11:12:12.215Z","log.level":"{level}","log.logger":"{logger}","message":"{message}","error.type":"java.io.IOException","error.stack_trace":"java.io.IOException: Input/output error\\n\\tat a.b"}}',  # noqa: E501
    '{{"@timestamp":"2026-11-18T11:12:12.215Z","log":{{"level":"{level}","logger":"{logger}"}},"message":"{message}","error":{{"type":"java.io.IOException","message":"Input/output error"}}}}',  # noqa: E501
    # Docker's json-file around Kafka's own layout
    '{{"log":"[2026-11-18 11:12:12,215] {level} {message} ({logger}) java.io.IOException: Input/output error\\n","stream":"stdout","time":"2026-11-18T11:12:12.3Z"}}',  # noqa: E501
]


@pytest.mark.parametrize("form", JSON_FORMS)
def test_a_failed_log_dir_is_told_from_json_as_from_plain_lines(form: str) -> None:
    row = form.format(level="ERROR", logger="org.apache.kafka.storage.internals.log.LogDirFailureChannel",
                      message="Error while appending records to safe-5 in dir /kafka/d2")  # fmt: skip
    finding = look_at(after_one_quiet_run(f"{row}\n"))

    assert (finding.status, finding.facts["about"]) == ("critical", ("/kafka/d2",)), finding.verdict
    assert "failed at 2026-11-18T11:12Z" in finding.verdict.reason and "Input/output error" in finding.verdict.reason


def test_a_failed_log_dir_is_told_from_graylogs_format() -> None:
    # log4j2's GelfLayout
    row = (
        '{"version":"1.1","host":"k1","timestamp":1795000332.215,"level":3,"_thread":"main",'
        '"_logger":"org.apache.kafka.storage.internals.log.LogDirFailureChannel",'
        '"short_message":"Error while appending records to safe-5 in dir /kafka/d2",'
        '"full_message":"java.io.IOException: Input/output error\\n\\tat a.b"}'
    )
    finding = look_at(after_one_quiet_run(f"{row}\n"))

    assert (finding.status, finding.facts["about"]) == ("critical", ("/kafka/d2",)), finding.verdict
    assert "Input/output error" in finding.verdict.reason


@pytest.mark.parametrize("form", JSON_FORMS)
def test_isr_shrinks_are_counted_in_json(form: str) -> None:
    rows = [form.format(level="INFO", logger="kafka.cluster.Partition",
                        message=f"[Partition safe-{number} broker=1] Shrinking ISR from 1,2,3 to 1,2. Leader: x")
            for number in range(10)]  # fmt: skip

    assert look_at(after_one_quiet_run("\n".join(rows) + "\n")).status == "warning"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from([*json_log.MESSAGE, *json_log.THROWN, *json_log.TIME, "name"]), inner, max_size=5
            )
        ),
    )
)
def test_rubbish_in_json_is_read_or_left_as_it_is(value: Any) -> None:
    row, at = json_log.plain(json.dumps(value))

    assert isinstance(row, str) and (at is None or 0 < at < 1e12)


def test_one_long_line_is_read_in_good_time() -> None:
    rows = ["ERROR " * 9000 + "LogDirFailureChannel)", "ERROR " + "/a " * 30000 + " (LogDirFailureChannel)"]
    rows += ["KafkaStorageException: " + "/" * 90000, "Shrinking ISR Partition " * 4000, "{" * 90000 + "}"]
    for row in rows:
        started = time.process_time()
        lines.events(row, "")
        assert time.process_time() - started < 5


WORDS = st.sampled_from([*lines.NEEDLES.split("|"), FAILED, EXPIRED, CUT, "broker=1] ", "1,2", " to ", "[", "\t", "\n"])


@given(st.lists(st.text() | WORDS, max_size=12).map("".join))
def test_odd_words_never_break_the_check(text: str) -> None:
    assert look_at(after_one_quiet_run(text)).status in ("ok", "warning", "critical")
