"""mounts: a data mount that is gone, swapped, hidden read-only, hung or full is told; a healthy one is not."""

from __future__ import annotations

import json
from typing import Any, Dict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.disks import mounts
from agent.expected import Expected, ExpectedMount
from agent.host import CannotTell, Missing, Process, Stuck, Touched
from agent.status import Finding
from tests.agent.jbod import EXPECTED, FSTAB, MOUNTINFO, TB, broker, disk, rows, usage
from tests.machine import NOW, FakeHost, by_item, next_run, run_checks

HEALTHY = mounts.Facts("/kafka/d1 on sdb", True, device="sdb1", fstype="ext4", probed="/kafka/d1")
LAST_ERROR = "/sys/fs/ext4/sdb1/last_error_time"
ERRORS = "/sys/fs/ext4/sdb1/errors_count"
DAY = 86400


def mounts_of(host: FakeHost) -> Dict[str, Finding]:
    return by_item(run_checks(host, "mounts"))


def d1(host: FakeHost) -> Finding:
    """The finding of /kafka/d1; /kafka/d2 must not be drawn into it."""
    found = mounts_of(host)
    assert found["/kafka/d2"].status == "ok", found["/kafka/d2"].verdict
    return found["/kafka/d1"]


def judged(**changes: Any) -> tuple[str, str, str]:
    return mounts.judge(HEALTHY._replace(**changes), mounts.LIMITS)


def test_a_healthy_broker_gives_no_alarm() -> None:
    found = mounts_of(broker())

    assert {item: finding.status for item, finding in found.items()} == {"/kafka/d1": "ok", "/kafka/d2": "ok"}
    assert "writable" in found["/kafka/d1"].verdict.reason


@pytest.mark.parametrize("error", ["EROFS", "EIO", "EUCLEAN", "ESHUTDOWN"])
def test_a_create_that_fails_behind_rw_is_critical(error: str) -> None:
    finding = d1(broker(answers={"touch write /kafka/d1": Touched(error, {})}))

    assert (finding.status, finding.verdict.playbook) == ("critical", "hidden-readonly")
    assert f"create fails with {error} though mounted rw" in finding.verdict.reason
    assert "/kafka/d1 on sdb (ST8000NM0055, serial ZA1BC1, slot s1)" in finding.verdict.reason


def test_a_stat_that_fails_is_critical_and_nothing_is_written() -> None:
    host = broker(answers={"touch stat /kafka/d1": Touched("EIO", {})})
    del host.answers["touch write /kafka/d1"]

    finding = d1(host)

    assert (finding.status, finding.facts["stat_error"], finding.facts["probed"]) == ("critical", "EIO", "")


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ("31 20 8:17 / /kafka/d1 ro,noatime - ext4 /dev/sdb1 ro", "ro"),
        ("31 20 8:17 / /kafka/d1 ro,noatime - ext4 /dev/sdb1 rw", "ro"),
        ("31 20 8:17 / /kafka/d1 rw,noatime - ext4 /dev/sdb1 ro", "ro"),
        ("31 20 8:17 / /kafka/d1 rw,noatime - ext4 /dev/sdb1 rw,emergency_ro", "emergency_ro"),
        ("31 20 8:17 / /kafka/d1 rw,noatime - ext4 /dev/sdb1 rw,shutdown", "shutdown"),
    ],
)
def test_an_option_that_says_read_only_is_believed_without_a_write(row: str, shown: str) -> None:
    host = broker({"/proc/self/mountinfo": rows(MOUNTINFO, d1=row)}, expected=EXPECTED._replace(write_probe=False))

    finding = d1(host)

    assert (finding.status, finding.verdict.playbook) == ("critical", "hidden-readonly")
    assert f"mounted with {shown}" in finding.verdict.reason


def test_without_the_write_probe_ok_says_that_it_is_not_proven() -> None:
    host = broker(expected=EXPECTED._replace(write_probe=False))
    del host.answers["touch write /kafka/d1"]

    assert "write not tested" in mounts_of(host)["/kafka/d1"].verdict.reason


@pytest.mark.parametrize("error", ["ENOSPC", "EDQUOT"])
def test_a_full_file_system_is_critical_as_full_and_not_as_read_only(error: str) -> None:
    answers = {"touch write /kafka/d1": Touched(error, {}), "touch usage /kafka/d1": usage(100)}

    finding = d1(broker(answers=answers))

    assert (finding.status, finding.verdict.playbook) == ("critical", "full-disk")
    assert "0 MB and 900 inodes free" in finding.verdict.reason


@pytest.mark.parametrize(
    ("error", "words"),
    [("EACCES", "needs root"), ("EPERM", "needs root"), ("ENOTSUP", "O_TMPFILE"), ("EMFILE", "EMFILE")],
)
def test_an_error_that_is_not_the_disks_is_unknown(error: str, words: str) -> None:
    finding = d1(broker(answers={"touch write /kafka/d1": Touched(error, {})}))

    assert finding.status == "unknown"
    assert words in finding.verdict.reason


def test_the_write_goes_to_the_log_dir_of_the_running_broker() -> None:
    argv = ("java", "kafka.Kafka", "/etc/kafka/server.properties")
    host = broker(
        answers={
            "processes": [Process(7, "java", argv, "kafka", 0.0)],
            "touch read /etc/kafka/server.properties": Touched("", {"text": "log.dirs=/kafka/d1/data,/kafka/d2"}),
            "touch write /kafka/d1/data": Touched("ENOENT", {}),
        }
    )

    finding = d1(host)

    assert (finding.status, finding.facts["probed"]) == ("critical", "/kafka/d1/data")
    assert "log dir /kafka/d1/data does not exist" in finding.verdict.reason


# What is mounted is no disk


@pytest.mark.parametrize(
    ("row", "words"),
    [
        # findings: a tmpfs mounted over a data mount was `unknown` ("tmpfs reports no serial number"): data go to RAM
        (
            "90 31 0:55 / /kafka/d1 rw,relatime - tmpfs tmpfs rw",
            "tmpfs, mounted over /dev/sdb1: in memory, lost after a reboot",
        ),
        (
            "90 31 0:55 / /kafka/d1 rw - overlay overlay rw,lowerdir=/a,upperdir=/b,workdir=/c",
            "overlay, mounted over /dev/sdb1: an overlay",
        ),
        (
            "90 31 0:55 / /kafka/d1 rw - nfs4 nas1:/kafka rw,vers=4.2",
            "nfs4, mounted over /dev/sdb1: a network file system",
        ),
        ("90 31 0:55 / /kafka/d1 rw - fuse.sshfs nas1:/kafka rw", "fuse.sshfs, mounted over /dev/sdb1: a network file"),
    ],
)
@pytest.mark.parametrize("named", [EXPECTED.mounts, (ExpectedMount("/kafka/d1"), ExpectedMount("/kafka/d2"))])
def test_memory_an_overlay_or_a_network_file_system_over_a_data_mount_is_critical(
    row: str, words: str, named: Any
) -> None:
    host = broker(
        {"/proc/self/mountinfo": rows(MOUNTINFO) + f"{row}\n"},
        expected=EXPECTED._replace(mounts=named),
    )

    finding = d1(host)

    assert (finding.status, finding.verdict.playbook) == ("critical", "replace-jbod-disk")
    assert words in finding.verdict.reason


def test_a_network_file_system_that_the_inventory_wants_is_its_own_affair() -> None:
    nfs = "31 20 0:55 / /kafka/d1 rw,noatime - nfs4 nas1:/kafka rw,vers=4.2"
    host = broker(
        {"/proc/self/mountinfo": rows(MOUNTINFO, d1=nfs), "/etc/fstab": "nas1:/kafka /kafka/d1 nfs4 noatime 0 0\n"},
        expected=EXPECTED._replace(mounts=(ExpectedMount("/kafka/d1", fstype="nfs4"),)),
    )

    (finding,) = run_checks(host, "mounts")
    assert finding.status == "ok", finding.verdict


def test_data_in_the_root_of_a_container_are_a_warning() -> None:
    overlay = "20 1 0:30 / / rw,relatime - overlay overlay rw,lowerdir=/a,upperdir=/b,workdir=/c"
    host = broker(
        {"/proc/self/mountinfo": f"{overlay}\n"},
        {"touch write /": Touched("", {"written": True})},
        expected=EXPECTED._replace(mounts=(ExpectedMount("/"),)),
    )

    (finding,) = run_checks(host, "mounts")
    assert finding.status == "warning" and "are lost with it" in finding.verdict.reason


# As the server's own user

KAFKA = Process(7, "java", ("java", "kafka.Kafka", "/etc/kafka/server.properties"), "kafka", 0.0)
# /proc/<pid>/status of a broker under Debian 12, the rows that matter
STATUS = "Name:\tjava\nUid:\t997\t997\t997\t997\nGid:\t998\t998\t998\t998\nGroups:\t998 \nCapEff:\t{}\n"


def owned(write: Touched, capable: str = "0000000000000000", **files: Any) -> FakeHost:
    """A broker of user kafka that keeps its partitions in /kafka/d1/data, owned by root."""
    return broker(
        {"/proc/7/status": STATUS.format(capable), **files},
        {
            "processes": [KAFKA],
            "touch read /etc/kafka/server.properties": Touched("", {"text": "log.dirs=/kafka/d1/data,/kafka/d2"}),
            "touch write /kafka/d1/data": write,
            "touch stat /kafka/d1/data": Touched("", {"uid": 0, "mode": 0o40755}),
        },
    )


@pytest.mark.parametrize(
    "write", [Touched("EACCES", {}), Touched("EPERM", {}), Touched("", {"written": True, "may_write": False})]
)
def test_a_log_dir_that_belongs_to_root_after_a_disk_change_is_critical(write: Touched) -> None:
    finding = d1(owned(write))

    assert (finding.status, finding.verdict.playbook) == ("critical", "replace-jbod-disk")
    assert "user kafka cannot write to /kafka/d1/data, owned by root (mode 755)" in finding.verdict.reason


def test_the_user_of_a_broker_that_cannot_start_is_known_from_the_run_before() -> None:
    before = owned(Touched("", {"written": True, "as_user": True}))
    assert "writable by kafka" in d1(before).verdict.reason

    after = next_run(before, answers={"processes": [], "touch write /kafka/d1/data": Touched("EACCES", {})})
    assert "user kafka cannot write" in d1(after).verdict.reason


def test_a_broker_that_overrides_permissions_is_looked_at_as_root() -> None:
    finding = d1(owned(Touched("", {"written": True}), capable="0000000000000002"))

    assert (finding.status, finding.facts["writer"]) == ("ok", "")


@pytest.mark.parametrize("status", ["", "Uid:\t997", "Uid:\t\nGid:\t1 2 3 4\n", "CapEff:\tffffffffffffffff\n", "\0"])
def test_a_process_that_does_not_tell_its_ids_is_looked_at_as_root(status: str) -> None:
    finding = d1(owned(Touched("", {"written": True}), **{"/proc/7/status": status}))

    assert (finding.status, finding.facts["writer"]) == ("ok", "")


# ZooKeeper's folders

ZOOKEEPER = Process(
    8, "java", ("java", "org.apache.zookeeper.server.quorum.QuorumPeerMain", "/z.cfg"), "zookeeper", 0.0
)
ZOO_CFG = "dataDir=/kafka/d1/zookeeper\ndataLogDir=/kafka/d2\nclientPort=2181\n"


def zookeeper(files: Dict[str, Any] | None = None, answers: Dict[str, Any] | None = None) -> FakeHost:
    own = {
        "processes": [ZOOKEEPER],
        "touch read /z.cfg": Touched("", {"text": ZOO_CFG}),
        "touch write /kafka/d1/zookeeper": Touched("", {"written": True}),
    }
    return broker(files, {**own, **(answers or {})}, expected=Expected(roles=("zookeeper",)))


def test_zookeepers_folders_are_data_mounts_without_being_named() -> None:
    assert {item: one.status for item, one in mounts_of(zookeeper()).items()} == {"/kafka/d1": "ok", "/kafka/d2": "ok"}


def test_a_data_disk_of_zookeeper_that_is_read_only_or_full_is_critical() -> None:
    read_only = d1(zookeeper(answers={"touch write /kafka/d1/zookeeper": Touched("EROFS", {})}))
    full = {"touch write /kafka/d1/zookeeper": Touched("ENOSPC", {}), "touch usage /kafka/d1": usage(100)}
    found = {(one.check, one.item): one for one in run_checks(zookeeper(answers=full), "mounts", "disk_usage")}

    assert (read_only.status, read_only.verdict.playbook) == ("critical", "hidden-readonly")
    assert found["mounts", "/kafka/d1"].verdict.playbook == "full-disk"
    assert found["disk_usage", "/kafka/d1"].status == "critical"


def test_the_lost_data_mount_of_a_zookeeper_that_died_of_it_is_still_expected() -> None:
    before = zookeeper()
    mounts_of(before)
    gone = {"/proc/self/mountinfo": rows(MOUNTINFO, d1="")}

    found = mounts_of(next_run(before, files=gone, answers={"processes": []}))

    assert "/kafka/d1: not mounted" in found["/kafka/d1"].verdict.reason
    assert found["/kafka/d2"].status == "ok"


def test_a_named_mount_does_not_hide_that_zookeeper_keeps_its_data_elsewhere() -> None:
    host = zookeeper()
    host.expected = Expected(roles=("zookeeper",), mounts=(ExpectedMount("/kafka/d2"),))

    assert sorted(mounts_of(host)) == ["/kafka/d1", "/kafka/d2"]


# Not mounted, or another disk


def test_an_unmounted_data_dir_is_critical_and_names_the_disk_that_fills_up() -> None:
    finding = d1(broker({"/proc/self/mountinfo": rows(MOUNTINFO, d1="")}))

    assert (finding.status, finding.verdict.playbook) == ("critical", "replace-jbod-disk")
    assert "writes go to / on sda (" in finding.verdict.reason
    assert "sdb (ST8000NM0055, serial ZA1BC1, slot s1) is present, not mounted" in finding.verdict.reason


def test_a_mount_whose_disk_vanished_says_so() -> None:
    host = broker(
        {"/proc/self/mountinfo": rows(MOUNTINFO, d1="")},
        {"disks": [disk("sda", "ZA1BC0", "8:0"), disk("sdc", "ZA1BC2", "8:32")]},
    )

    assert "no disk with serial ZA1BC1 on this machine" in d1(host).verdict.reason


def test_an_unmounted_dir_that_only_fstab_knows_tells_what_fstab_names() -> None:
    expected = EXPECTED._replace(mounts=(ExpectedMount("/kafka/d1"), ExpectedMount("/kafka/d2")))
    host = broker({"/proc/self/mountinfo": rows(MOUNTINFO, d1="")}, expected=expected)

    assert "sdb (ST8000NM0055, serial ZA1BC1, slot s1) is present, not mounted" in d1(host).verdict.reason

    del host.answers["link /dev/disk/by-uuid/uuid-d1"]
    assert "no device UUID=uuid-d1 on this machine" in d1(next_run(host)).verdict.reason


def test_two_swapped_mounts_each_name_the_disk_that_should_be_there() -> None:
    swapped = rows(
        MOUNTINFO,
        d1="31 20 8:33 / /kafka/d1 rw,noatime - xfs /dev/sdc1 rw",
        d2="32 20 8:17 / /kafka/d2 rw,noatime - ext4 /dev/sdb1 rw",
    )

    found = mounts_of(broker({"/proc/self/mountinfo": swapped}))

    reason = found["/kafka/d1"].verdict.reason
    assert (found["/kafka/d1"].status, found["/kafka/d2"].status) == ("critical", "critical")
    assert reason.startswith("/kafka/d1 on sdc (ST8000NM0055, serial ZA1BC2, slot s1): should be serial ZA1BC1")
    assert "the mounted one belongs to /kafka/d2" in reason
    assert "sdb (ST8000NM0055, serial ZA1BC1, slot s1) is mounted at /kafka/d2" in reason
    assert found["/kafka/d1"].verdict.playbook == "replace-jbod-disk"


@pytest.mark.parametrize(
    ("expected", "status"),
    [
        (ExpectedMount("/kafka/d1", serial="za1bc1 "), "ok"),
        (ExpectedMount("/kafka/d1", serial="naa.5000C500ZA1BC1"), "ok"),
        (ExpectedMount("/kafka/d1", serial="0x5000c500za1bc1"), "ok"),
        (ExpectedMount("/kafka/d1", serial="OTHER"), "critical"),
        (ExpectedMount("/kafka/d1", uuid="uuid-d1"), "ok"),
        (ExpectedMount("/kafka/d1", uuid="uuid-gone"), "critical"),
        (ExpectedMount("/kafka/d1", device="/dev/sdb1"), "ok"),
        (ExpectedMount("/kafka/d1", device="sdb1"), "ok"),
        (ExpectedMount("/kafka/d1", device="/dev/sdc1"), "critical"),
        (ExpectedMount("/kafka/d1", device="/dev/sdz1"), "critical"),
        (ExpectedMount("/kafka/d1", fstype="xfs"), "warning"),
        (ExpectedMount("/kafka/d1/"), "ok"),
    ],
)
def test_what_the_inventory_says_of_the_disk_is_compared(expected: ExpectedMount, status: str) -> None:
    (finding,) = run_checks(broker(expected=EXPECTED._replace(mounts=(expected,))), "mounts")

    assert finding.status == status, finding.verdict


def test_a_whole_disk_in_the_inventory_fits_its_partition() -> None:
    expected = EXPECTED._replace(mounts=(ExpectedMount("/kafka/d1", device="/dev/sdb"),))

    (finding,) = run_checks(broker(answers={"link /dev/sdb": "/dev/sdb"}, expected=expected), "mounts")

    assert finding.status == "ok"


def test_a_disk_that_tells_no_serial_is_unknown_not_wrong() -> None:
    host = broker(answers={"disks": [disk("sdb", "", "8:16")._replace(wwn="")]})

    finding = mounts_of(host)["/kafka/d1"]

    assert finding.status == "unknown"
    assert "cannot determine whether it is serial ZA1BC1: sdb reports no serial number" in finding.verdict.reason


def test_a_uuid_without_udev_is_unknown_not_wrong() -> None:
    host = broker()
    del host.files["/dev/disk/by-uuid/uuid-d1"]

    finding = mounts_of(host)["/kafka/d1"]

    assert finding.status == "unknown"
    assert "no /dev/disk/by-uuid" in finding.verdict.reason


# What a reboot would change


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("", "not in /etc/fstab: not mounted after a reboot"),
        ("UUID=gone /kafka/d1 ext4 noatime 0 2", "names UUID=gone, which does not exist"),
        ("/dev/sdc1 /kafka/d1 ext4 noatime 0 2", "names /dev/sdc1 (sdc1), but sdb1 is mounted"),
        ("LABEL=d2 /kafka/d1 ext4 noatime 0 2", "names LABEL=d2 (sdc1), but sdb1 is mounted"),
        ("UUID=uuid-d1 /kafka/d1 ext4 noatime,noauto 0 2", "noauto in /etc/fstab"),
        ("UUID=uuid-d1 /kafka/d1 ext4 defaults 0 2", "noatime is not in /etc/fstab: lost after a reboot"),
        ("UUID=uuid-d1 /kafka/d1 ext4 noatime,nodev 0 2", "nodev in /etc/fstab is not in effect"),
        ("UUID=uuid-d1 /kafka/d1 ext4 noatime,ro 0 2", "ro in /etc/fstab is not in effect"),
    ],
)
def test_a_mount_that_a_reboot_would_change_is_a_warning(entry: str, words: str) -> None:
    finding = d1(broker({"/etc/fstab": rows(FSTAB, d1=entry)}))

    assert finding.status == "warning"
    assert words in finding.verdict.reason


@pytest.mark.parametrize(
    "entry",
    [
        "/dev/sdb1 /kafka/d1 ext4 noatime 0 2",
        'UUID="uuid-d1" /kafka/d1/ ext4 rw,noatime,exec,nofail,errors=remount-ro 0 2',
        "UUID=uuid-d1 /kafka/d1 ext4 noatime,noauto,x-systemd.automount 0 2",
        "UUID=uuid-d1 /kafka/d1 ext4 ro,noatime,rw 0 2",
    ],
)
def test_an_entry_that_says_the_same_in_other_words_is_ok(entry: str) -> None:
    assert d1(broker({"/etc/fstab": rows(FSTAB, d1=entry)})).status == "ok"


def test_a_mount_unit_of_systemd_is_as_good_as_fstab() -> None:
    files = {"/etc/fstab": rows(FSTAB, d1=""), "/etc/systemd/system/kafka-d1.mount": "[Mount]\n"}

    assert d1(broker(files)).status == "ok"


def test_the_root_file_system_needs_no_entry() -> None:
    host = broker(
        {"/etc/fstab": ""},
        {"touch write /": Touched("", {})},
        expected=EXPECTED._replace(mounts=(ExpectedMount("/"),)),
    )

    assert mounts_of(host)["/"].status == "ok"


# ext4's own count of errors


@pytest.mark.parametrize(("days", "status"), [(0.1, "warning"), (29.9, "warning"), (30, "ok"), (400, "ok")])
def test_errors_of_ext4_that_do_not_grow_are_a_warning_until_they_are_old(days: float, status: str) -> None:
    host = broker({ERRORS: "2\n", LAST_ERROR: f"{int(NOW - days * DAY)}\n"})

    finding = d1(host)

    assert finding.status == status
    assert finding.facts["ext4_errors"] == 2
    assert "ext4 error" in finding.verdict.reason or "ext4 logged 2 errors" in finding.verdict.reason


def test_errors_that_grow_are_critical_for_a_day_and_then_a_warning() -> None:
    old = broker({ERRORS: "2\n", LAST_ERROR: f"{int(NOW - 100 * DAY)}\n"})
    assert d1(old).status == "ok"

    grown = next_run(old, 600, files={ERRORS: "5\n", LAST_ERROR: f"{int(NOW + 300)}\n"})
    finding = d1(grown)
    assert (finding.status, finding.facts["ext4_errors_in_a_day"]) == ("critical", 3)
    assert "ext4 logged 5 errors, last 2026-11-18T11:11Z, 3 of them new" in finding.verdict.reason

    later = next_run(grown, 2 * 3600)
    assert d1(later).first_seen == finding.first_seen
    assert d1(next_run(later, 26 * 3600)).status == "warning"


def test_errors_that_fsck_cleared_are_ok_again() -> None:
    sick = broker({ERRORS: "2\n", LAST_ERROR: f"{int(NOW - DAY)}\n"})
    assert d1(sick).status == "warning"

    assert d1(next_run(sick, 600, files={ERRORS: "0\n", LAST_ERROR: "0\n"})).status == "ok"


@pytest.mark.parametrize("rubbish", ["", "many", "-"])
def test_a_count_that_is_no_number_is_unknown_and_hides_nothing(rubbish: str) -> None:
    assert d1(broker({ERRORS: rubbish})).status == "unknown"
    failing = broker({ERRORS: rubbish}, {"touch write /kafka/d1": Touched("EROFS", {})})
    assert d1(failing).status == "critical"


@pytest.mark.parametrize("at", ["0", "rubbish", str(1 << 62), "-5"])
def test_errors_without_a_time_stay_a_warning(at: str) -> None:
    assert d1(broker({ERRORS: "1\n", LAST_ERROR: at})).status == "warning"


# Hung


def hanging(kind: str = "stat", pid: int = 311, state: str = "D", **answers: Any) -> FakeHost:
    """/kafka/d1 hangs, and leaves a process behind."""
    left = f"{pid} (python3) {state} 1 311 311 0 -1 4194624 1113 0 0 0 3 1 0 0 20 0 1 0 8841 0 0\n"
    answers[f"touch {kind} /kafka/d1"] = Stuck(f"{kind} of /kafka/d1", 4.0, "", pid)
    return broker({f"/proc/{pid}/stat": left}, answers)


@pytest.mark.parametrize("kind", ["stat", "write"])
def test_a_touch_without_an_answer_is_critical_and_names_the_disk(kind: str) -> None:
    finding = d1(hanging(kind))

    assert (finding.status, finding.verdict.playbook, finding.facts["hung"]) == ("critical", "hung-disk", kind)
    assert finding.verdict.reason.startswith("/kafka/d1 on sdb (ST8000NM0055, serial ZA1BC1, slot s1): hung: no reply")


def test_what_hung_in_the_run_before_is_not_touched_again_and_tells_since_when() -> None:
    host = hanging()
    d1(host)
    later = next_run(host, 2096)
    later.answers["touch stat /kafka/d1"] = AssertionError("touched again")

    finding = d1(later)

    assert "hung: no reply to stat for 35 min" in finding.verdict.reason
    assert d1(next_run(later, 600)).facts["hung_s"] == 2700.0


@pytest.mark.parametrize(
    "change",
    [
        {"files": {"/proc/311/stat": "311 (python3) D" + " 0" * 18 + " 9999 0\n"}},
        {"files": {"/proc/311/stat": Missing("gone")}},
        {"files": {"/proc/self/mountinfo": rows(MOUNTINFO).replace("31 20", "44 20")}},
        {"boot_id": "00000000-0000-4000-8000-000000000002"},
    ],
    ids=["another process of that number", "ended", "another mount there", "rebooted"],
)
def test_a_mount_that_answers_again_is_ok_again(change: Dict[str, Any]) -> None:
    host = hanging()
    assert d1(host).status == "critical"
    later = next_run(host, 600, **change)
    later.answers["touch stat /kafka/d1"] = Touched("", {})

    assert d1(later).status == "ok"


def test_since_when_it_hangs_is_kept_when_the_process_could_be_ended() -> None:
    host = hanging()
    d1(host)

    finding = d1(next_run(host, 596, files={"/proc/311/stat": Missing("gone")}))

    assert finding.facts["hung_s"] == 600.0


def test_a_probe_that_got_no_processor_time_says_nothing_of_the_disk() -> None:
    finding = d1(hanging(state="R"))

    assert finding.status == "unknown"
    assert "overloaded" in finding.verdict.reason


@pytest.mark.parametrize(
    ("completed", "hung_s", "status"),
    [
        (None, 4.0, "critical"),
        (0, 4.0, "critical"),
        (1, 4.0, "warning"),
        (500, 59.9, "warning"),
        (500, 60.0, "critical"),
        (None, 86400.0, "critical"),
    ],
)
def test_slow_is_not_hung_while_the_disk_finishes_other_requests(
    completed: int | None, hung_s: float, status: str
) -> None:
    assert judged(hung="write", hung_s=hung_s, completed_meanwhile=completed)[0] == status


def test_a_damaged_note_of_a_hang_is_no_note() -> None:
    for note in ([], ["soon", "", 0, 0, ""], "hung", {"since": 1}, [1, 2]):
        state = json.loads(broker().state.dump())
        state["notes"]["hung stat /kafka/d1"] = note
        assert d1(broker(state=json.dumps(state))).status == "ok"


# Items


def test_a_machine_without_data_mounts_is_left_alone_and_a_broker_is_not() -> None:
    (nothing,) = run_checks(broker(expected=Expected()), "mounts")
    (unnamed,) = run_checks(broker(expected=Expected(roles=("broker",))), "mounts")

    assert (nothing.status, unnamed.status) == ("skipped", "unknown")


def test_one_broken_part_never_hides_another() -> None:
    verdict = judged(write_error="EROFS", ext4_errors=2, ext4_last_error_days=0.1, fstab_problem="not in /etc/fstab")

    assert verdict[0] == "critical"
    assert verdict[1].index("EROFS") < verdict[1].index("ext4 logged") < verdict[1].index("/etc/fstab")


def test_an_array_below_the_mount_is_named_by_its_device_and_number_of_disks() -> None:
    mountinfo = "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n31 20 9:0 / /kafka rw - ext4 /dev/md0 rw\n"
    files = {
        "/proc/self/mountinfo": mountinfo,
        "/etc/fstab": "/dev/md0 /kafka ext4 defaults 0 0\n",
        "/sys/block/md0/slaves/sdb1": "",
        "/sys/block/md0/slaves/sdc1": "",
    }
    answers = {
        "link /sys/dev/block/9:0": "/sys/devices/virtual/block/md0",
        "touch stat /kafka": Touched("", {}),
        "touch write /kafka": Touched("EROFS", {}),
    }
    expected = Expected(roles=("broker",), layout="raid10", mounts=(ExpectedMount("/kafka", serial="ZA1BC2"),))

    (finding,) = run_checks(broker(files, answers, expected=expected), "mounts")

    assert finding.verdict.reason == "/kafka on md0 over 2 disks: create fails with EROFS though mounted rw"


texts = st.text(max_size=60) | st.sampled_from(["0", "-1", "9" * 30, "\x00", "31 20 8:17 / /kafka/d1 rw"])


@given(
    mountinfo=texts | st.sampled_from([row[:cut] for row in MOUNTINFO.values() for cut in range(0, 60, 3)]),
    fstab=texts | st.builds("UUID={} /kafka/d1 ext4 {} 0 2".format, st.text(max_size=9), st.text(max_size=9)),
    errors=texts,
    stat=texts,
    touched=st.sampled_from([Touched("EIO", {}), Touched("", {}), Stuck("x", 1.0), CannotTell("no")]),
)
def test_rubbish_gives_a_reason_and_never_a_failed_check(
    mountinfo: str, fstab: str, errors: str, stat: str, touched: Any
) -> None:
    files = {
        "/proc/self/mountinfo": mountinfo,
        "/etc/fstab": fstab,
        ERRORS: errors,
        LAST_ERROR: errors,
        "/sys/dev/block/8:17/stat": stat,
    }
    findings = run_checks(broker(files, {"touch stat /kafka/d1": touched}), "mounts", "disk_usage", "disk_balance")

    assert not [finding for finding in findings if "the check failed" in finding.verdict.reason]
    told = by_item([finding for finding in findings if finding.check == "mounts"])
    assert sorted(told) == ["/kafka/d1", "/kafka/d2"]
    if touched != Touched("", {}):
        assert told["/kafka/d1"].status in ("critical", "unknown")


def test_a_size_is_given_in_a_unit_a_person_reads() -> None:
    assert "7629394 MB" in judged(write_error="ENOSPC", free_bytes=8 * TB, inodes_free=0)[1]


# File systems that fstab does not know, or knows by another of their devices

BTRFS = "31 20 0:45 / /kafka/d1 rw,noatime - btrfs /dev/sdc rw,space_cache=v2"


def on_two_disks(expected: ExpectedMount, fstab: str) -> FakeHost:
    """A btrfs over sdb and sdc: the mount names sdc, and udev's link of its UUID points at sdb."""
    return broker(
        {
            "/proc/self/mountinfo": rows(MOUNTINFO, d1=BTRFS),
            "/etc/fstab": f"{fstab} /kafka/d1 btrfs noatime 0 0\n",
            "/sys/fs/btrfs/0a1b/devices/sdb": "",
            "/sys/fs/btrfs/0a1b/devices/sdc": "",
            "/dev/disk/by-uuid/0a1b": "",
        },
        {"link /dev/disk/by-uuid/0a1b": "/dev/sdb", "link /dev/sdb": "/dev/sdb", "link /dev/sdc": "/dev/sdc"},
        expected=EXPECTED._replace(mounts=(expected,)),
    )


@pytest.mark.parametrize("fstab", ["UUID=0a1b", "/dev/sdb", "/dev/sdc"])
@pytest.mark.parametrize("named", [{"uuid": "0a1b"}, {"device": "/dev/sdb"}, {"serial": "ZA1BC1"}, {}])
def test_a_btrfs_of_several_devices_is_known_by_each_of_them(named: Dict[str, str], fstab: str) -> None:
    finding = mounts_of(on_two_disks(ExpectedMount("/kafka/d1", **named), fstab))["/kafka/d1"]

    assert finding.status == "ok", finding.verdict


def test_another_btrfs_than_the_expected_one_is_critical() -> None:
    finding = mounts_of(on_two_disks(ExpectedMount("/kafka/d1", uuid="ffff"), "UUID=0a1b"))["/kafka/d1"]

    assert finding.status == "critical" and "should be UUID ffff" in finding.verdict.reason


ZFS = "31 20 0:51 / /kafka/d1 rw,noatime - zfs tank/kafka rw,xattr,noacl"
VOLUME = "31 20 8:17 / /var/lib/kubelet/pods/0a-1b/volumes/kubernetes.io~local-volume/d1 rw - xfs /dev/sdb1 rw"


def test_what_zfs_or_a_containers_runtime_mounts_need_not_be_in_fstab() -> None:
    zfs = broker({"/proc/self/mountinfo": rows(MOUNTINFO, d1=ZFS), "/etc/fstab": ""})
    path = VOLUME.split(" ")[4]
    volume = broker(
        {"/proc/self/mountinfo": rows(MOUNTINFO, d1=VOLUME), "/etc/fstab": ""},
        {f"touch stat {path}": Touched("", {}), f"touch write {path}": Touched("", {"written": True})},
        expected=EXPECTED._replace(mounts=(ExpectedMount(path),)),
    )

    assert "fstab" not in mounts_of(zfs)["/kafka/d1"].verdict.reason
    assert {item: one.status for item, one in mounts_of(volume).items()} == {path: "ok"}


def test_within_a_container_fstab_says_nothing() -> None:
    overlay = "20 1 0:30 / / rw,relatime - overlay overlay rw,lowerdir=/a,upperdir=/b,workdir=/c"
    inside = rows(MOUNTINFO).splitlines()
    table = "\n".join(overlay if row.split(" ")[4] == "/" else row for row in inside) + "\n"

    contained = broker({"/proc/self/mountinfo": table, "/etc/fstab": ""})
    assert mounts_of(contained)["/kafka/d1"].status == "ok"
    assert mounts_of(broker({"/etc/fstab": ""}))["/kafka/d1"].status == "warning"
