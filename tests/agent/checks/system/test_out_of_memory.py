"""out_of_memory: Java's errors in the logs and the kernel's kills, each told once and for a day."""

from __future__ import annotations

from typing import Any, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.system import out_of_memory
from agent.expected import Expected
from agent.host import Answer, CannotTell, NoPermission, Stuck, Touched
from agent.status import Finding
from tests.agent.servers import answers, broker, machine
from tests.machine import NOW, FakeHost, by_item, next_run, run_checks

HEALTHY = out_of_memory.Facts("broker", (), (), (), (), (), ("/var/log/kafka/server.log",), ())
HEAP = "java.lang.OutOfMemoryError: Java heap space"
LOG = "/srv/kafka/logs/server.log"
ERR = "/var/log/kafka/kafka.err"


@pytest.mark.parametrize("item", ["broker", "kernel"])
@pytest.mark.parametrize(("hours", "of_server", "status"), [(0.0, True, "critical"), (23.99, True, "critical"),
    (24.0, True, "ok"), (0.0, False, "warning"), (23.99, False, "warning"), (24.0, False, "ok")])  # fmt: skip
def test_the_edges_of_the_time_for_which_it_is_told(item: str, hours: float, of_server: bool, status: str) -> None:
    facts = HEALTHY._replace(
        item=item, hours_ago=(hours,), at=("2026-11-18T03:12Z",), of_server=(of_server,), what=("java",), times=(1,)
    )

    assert out_of_memory.judge(facts, out_of_memory.LIMITS).status == status


def test_silence_is_ok_only_where_something_was_read() -> None:
    assert out_of_memory.judge(HEALTHY, out_of_memory.LIMITS).status == "ok"
    assert out_of_memory.judge(HEALTHY._replace(not_read=("kafka.err: no",)), out_of_memory.LIMITS).status == "unknown"


ABSENT = Touched("ENOENT", {"error": "No such file or directory"})


def found(text: str = "", end: int = 100, inode: int = 7, skipped: int = 0) -> Touched:
    return Touched("", {"inode": inode, "end": end, "skipped_bytes": skipped, "text": text})


def logs(**texts: Any) -> dict[str, Any]:
    """What searching each candidate gives: those named by `log`, `err` and `out`, else absent."""
    folders = ("/srv/kafka/logs", "/var/log/kafka")
    names = ("server.log", "kafka.err", "kafkaServer.out", "kafka.log")
    given = {f"touch search {folder}/{name}": ABSENT for folder in folders for name in names}
    given.update({"touch link /proc/4242/fd/1": Touched("", {"target": "/dev/null"})})
    given.update({"touch link /proc/4242/fd/2": Touched("", {"target": texts.pop("fd2", "pipe:[9]")})})
    paths = {"log": LOG, "err": ERR, "out": "/data/out.txt"}
    return {**given, **{f"touch search {paths[name]}": value for name, value in texts.items()}}


VMSTAT = {"/proc/vmstat": "nr_free_pages 5\noom_kill 0\n"}


def kafka_machine(**given: Any) -> FakeHost:
    said = {**logs(log=found()), **given.pop("answers", {})}
    return machine(broker(), files={**VMSTAT, **given.pop("files", {})}, answers=said, **given)


def look_at(host: FakeHost, item: str = "broker") -> Finding:
    findings = by_item(run_checks(host, "out_of_memory"))
    assert all("check failed" not in finding.verdict.reason for finding in findings.values()), findings
    return findings[item]


def test_a_quiet_machine_is_ok_and_says_what_was_read() -> None:
    host = kafka_machine()

    assert look_at(host).verdict.reason == f"none in {LOG}"
    assert look_at(host, "kernel").verdict.reason == "none in the kernel's log, the oom_kill counter"
    assert look_at(host, "kernel").status == look_at(host).status == "ok"


def test_an_error_since_the_last_run_is_critical_once_and_ok_after_a_day() -> None:
    first = kafka_machine()
    assert look_at(first).status == "ok"
    second = next_run(first, answers=logs(log=found(f"x\n{HEAP}\n{HEAP}\n")))

    finding = look_at(second)
    assert (finding.status, finding.verdict.playbook) == ("critical", "out-of-memory")
    assert finding.verdict.reason == f"broker: {HEAP} in {LOG}, 2 times, last at 2026-11-18T11:16Z"

    third = next_run(second, after_s=20 * 3600, answers=logs(log=found()))
    told = look_at(third)
    assert (told.status, told.facts["times"], told.first_seen) == ("critical", (2,), finding.first_seen)
    assert look_at(next_run(third, after_s=5 * 3600)).status == "ok"


def test_a_reboot_ends_it() -> None:
    first = kafka_machine()
    look_at(first)
    second = next_run(first, answers=logs(log=found(f"{HEAP}\n")))
    assert look_at(second).status == "critical"

    boot = "00000000-0000-4000-8000-000000000002"
    rebooted = next_run(
        second,
        after_s=900,
        boot_id=boot,
        answers={**logs(log=found(f"[2026-11-18 11:16:00,1]\n{HEAP}\n")), "uptime_s": 300},
    )
    assert look_at(rebooted).status == "ok"


@pytest.mark.parametrize(
    ("stamp", "zone", "status"),
    [
        ("[2026-11-18 10:00:00,123] ERROR", "+0000", "critical"),
        ("[2026-11-18 11:30:00,123] ERROR", "+0100", "critical"),
        ("[2026-11-17 11:30:00,123] ERROR", "+0000", "critical"),
        ("[2026-11-17 11:00:00,123] ERROR", "+0000", "ok"),
        ("[2026-01-01 11:00:00,123] ERROR", "+0000", "ok"),
        ("no date", "+0000", "ok"),
    ],
)
def test_of_a_log_seen_first_only_what_is_dated_within_a_day_is_news(stamp: str, zone: str, status: str) -> None:
    date = {"env -u TZ date +%z": Answer(0, f"{zone}\n", "")}
    said = {**logs(log=found(f"{stamp}\n{HEAP}\n")), "uptime_s": 1e6}

    assert look_at(kafka_machine(answers=said, commands=date)).status == status


def test_a_log_that_did_not_exist_before_is_new_as_a_whole() -> None:
    first = kafka_machine()
    look_at(first)

    second = next_run(first, answers=logs(log=found(), err=found(f"{HEAP}\n", inode=8)))
    assert look_at(second).status == "critical"


def test_the_time_of_an_error_lies_between_the_runs_whatever_its_date_says() -> None:
    first = kafka_machine()
    look_at(first)
    second = next_run(first, answers=logs(log=found(f"[2020-01-01 00:00:00,1]\n{HEAP}\n")))

    assert look_at(second).facts["hours_ago"] == (pytest.approx(600 / 3600, abs=0.01),)


def test_one_file_by_two_names_counts_once() -> None:
    first = kafka_machine(answers=logs(log=found(), err=found()))
    look_at(first)
    second = next_run(first, answers=logs(log=found(f"{HEAP}\n"), err=found(f"{HEAP}\n")))

    assert look_at(second).facts["times"] == (1,)


def test_the_file_behind_standard_error_is_searched() -> None:
    host = kafka_machine(answers=logs(log=found(), out=found(inode=8), fd2="/data/out.txt"))
    look_at(host)
    after = next_run(host, answers=logs(log=found(), out=found(f"{HEAP}\n", inode=8), fd2="/data/out.txt"))

    assert "/data/out.txt" in look_at(after).verdict.reason


def test_a_broker_that_died_of_it_is_still_told_from_its_old_logs() -> None:
    host = kafka_machine(answers=logs(log=found(), out=found(inode=8), fd2="/data/out.txt"))
    look_at(host)
    died = {**logs(log=found(), out=found(f"Terminating due to {HEAP}\n", inode=8)), "processes": []}

    finding = look_at(next_run(host, answers=died))
    assert finding.status == "critical" and "/data/out.txt" in finding.verdict.reason


@pytest.mark.parametrize("words", ["Map failed", "unable to create native thread"])
def test_an_error_that_a_kernel_setting_causes_leads_to_tuning(words: str) -> None:
    first = kafka_machine()
    look_at(first)
    second = next_run(first, answers=logs(log=found(f"java.lang.OutOfMemoryError: {words}\n")))

    assert look_at(second).verdict.playbook == "tune-os"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ABSENT, "no log of broker found"),
        (Touched("EACCES", {"error": "Permission denied"}), "Permission denied"),
        (Touched("EIO", {"error": "Input/output error"}), "Input/output error"),
        (Stuck(f"search of {LOG}", 5), "timed out after 5 s"),
    ],
)
def test_logs_that_cannot_be_read_are_unknown(answer: Any, words: str) -> None:
    finding = look_at(kafka_machine(answers=logs(log=answer)))

    assert finding.status == "unknown" and words in finding.verdict.reason


def test_more_than_can_be_searched_is_unknown_unless_it_was_the_first_look() -> None:
    first = kafka_machine(answers=logs(log=found(skipped=900 << 20)))
    assert look_at(first).status == "ok"

    finding = look_at(next_run(first))
    assert finding.status == "unknown" and f"900 MB of {LOG}" in finding.verdict.reason


JOURNAL = (
    "journalctl --unit=kafka.service --grep=java.lang.OutOfMemoryError --no-pager --quiet --output=short-unix"
    " --lines=1000 --since=@{since}"
)
IN_UNIT = {"/proc/4242/cgroup": "0::/system.slice/kafka.service\n"}


def journal_machine(since: float, answer: Any) -> FakeHost:
    return kafka_machine(
        files=IN_UNIT,
        answers=logs(log=found(), fd2="socket:[99]"),
        commands={JOURNAL.format(since=int(since)): answer, "env -u TZ date +%z": Answer(0, "+0000\n", "")},
    )


def test_a_broker_that_writes_to_the_journal_is_searched_there() -> None:
    host = journal_machine(NOW - 86400, Answer(1, "", ""))
    assert look_at(host).verdict.reason == f"none in {LOG}, the journal of kafka.service"

    rows = f"{NOW - 5:.6f} a03 java[4242]: {HEAP} old\n{NOW + 300:.6f} a03 java[4242]: {HEAP}\n"
    after = next_run(host, commands={JOURNAL.format(since=int(NOW)): Answer(0, rows, "")})
    finding = look_at(after)
    assert (finding.status, finding.facts["times"]) == ("critical", (1,))
    assert "in the journal of kafka.service at 2026-11-18T11:11Z" in finding.verdict.reason


@pytest.mark.parametrize(
    "answer", [Answer(1, "", "Compiled without pattern matching support\n"), Stuck("journalctl", 8), CannotTell("no")]
)
def test_a_journal_that_cannot_be_read_is_unknown(answer: Any) -> None:
    assert look_at(journal_machine(NOW - 86400, answer)).status == "unknown"


def kmsg(seq: int, text: str, at_s: float = 86_000) -> str:
    return f"3,{seq},{at_s * 1e6:.0f},-;{text}\n"


def killed(pid: int, name: str) -> str:
    return (
        f"Out of memory: Killed process {pid} ({name}) total-vm:33554432kB, anon-rss:31457280kB, file-rss:0kB,"
        " shmem-rss:0kB, UID:993 pgtables:62000kB oom_score_adj:0"
    )


def counted(kills: int) -> dict[str, str]:
    return {"/proc/vmstat": f"nr_free_pages 5\noom_kill {kills}\n"}


def test_a_broker_that_the_kernel_killed_is_critical_even_after_systemd_restarted_it() -> None:
    first = kafka_machine()
    look_at(first)
    again = {**answers([broker(pid=5000)]), "kernel_records": [kmsg(5, killed(4242, "java"))]}
    second = next_run(first, answers=again, files=counted(1))

    finding = look_at(second, "kernel")
    assert (finding.status, finding.verdict.playbook) == ("critical", "out-of-memory")
    assert finding.verdict.reason.startswith("the kernel killed broker, java (process 4242) for lack of memory at 2026")
    assert look_at(next_run(second), "kernel").facts["times"] == (1,)
    assert look_at(next_run(second, after_s=86400), "kernel").status == "ok"


@pytest.mark.parametrize(
    ("name", "roles", "status"),
    [("rsyslogd", ("broker",), "warning"), ("java", ("broker",), "critical"), ("java", (), "warning")],
)
def test_another_process_is_a_warning_and_an_unknown_java_beside_kafka_critical(
    name: str, roles: Sequence[str], status: str
) -> None:
    host = kafka_machine(
        answers={"kernel_records": [kmsg(5, killed(77, name))]}, files=counted(1), expected=Expected(roles=tuple(roles))
    )

    assert look_at(host, "kernel").status == status


def test_a_kill_in_the_first_run_is_told_if_it_is_recent() -> None:
    old, new = (
        kafka_machine(
            files=counted(1), answers={"uptime_s": 200_000, "kernel_records": [kmsg(5, killed(77, "x"), at_s)]}
        )
        for at_s in (100_000, 190_000)
    )

    assert look_at(old, "kernel").status == "ok"
    assert look_at(new, "kernel").status == "warning"


def test_a_kill_whose_line_is_lost_is_known_by_the_counter() -> None:
    first = kafka_machine(files=counted(2))
    assert look_at(first, "kernel").status == "ok"
    second = next_run(first, files=counted(5), answers={"kernel_records": [kmsg(9, killed(77, "x"))]})

    finding = look_at(second, "kernel")
    assert (finding.status, sum(finding.facts["times"])) == ("warning", 3)
    assert sum(look_at(next_run(second), "kernel").facts["times"]) == 3


NO_LOG = NoPermission("needs root: /dev/kmsg")


@pytest.mark.parametrize(
    ("vmstat", "status"),
    [(counted(0), "ok"), (counted(3), "unknown"), ({"/proc/vmstat": "nr_free_pages 5\n"}, "unknown")],
)
def test_without_the_kernels_log_the_counter_must_answer(vmstat: dict[str, str], status: str) -> None:
    host = kafka_machine(files=vmstat, answers={"kernel_records": NO_LOG})

    assert look_at(host, "kernel").status == status


def test_without_the_kernels_log_a_growing_counter_is_a_warning() -> None:
    first = kafka_machine(files=counted(0), answers={"kernel_records": NO_LOG})
    look_at(first, "kernel")

    assert look_at(next_run(first, files=counted(1)), "kernel").status == "warning"


def test_words_that_only_look_like_the_kernels_are_not_believed() -> None:
    forged = kmsg(5, killed(4242, "java")).replace("3,", "11,", 1)  # facility 1: a user's program

    assert look_at(kafka_machine(answers={"kernel_records": [forged]}), "kernel").status == "ok"


def test_without_a_role_only_the_kernel_is_asked() -> None:
    assert list(by_item(run_checks(machine(roles=(), files=VMSTAT), "out_of_memory"))) == ["kernel"]


@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_odd_words_never_break_the_check(text: str, vmstat: str, records: list[str]) -> None:
    first = kafka_machine()
    look_at(first)
    odd = next_run(first, answers={**logs(log=found(text)), "kernel_records": records}, files={"/proc/vmstat": vmstat})

    assert look_at(odd).status == "ok" or "java.lang.OutOfMemoryError" in text
    assert look_at(odd, "kernel").status in ("ok", "warning")
