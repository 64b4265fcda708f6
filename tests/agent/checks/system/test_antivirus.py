"""antivirus: a scanner between Kafka and its disks is found by package, unit, process, and by the kernel's own list."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.system import antivirus
from agent.expected import Expected, ExpectedMount
from agent.host import Answer, Descriptors, Process, Stuck
from agent.sources.system import antivirus_products
from agent.status import Finding
from tests.machine import FakeHost, by_item, next_run, run_checks

GROUPS = "descriptors anon_inode:[fanotify]"
MOUNTS = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n27 22 8:17 / /kafka/d1 rw - xfs /dev/sdb1 rw\n"
DPKG = {"/var/lib/dpkg/info/bash.list": ""}
EXPECTED = Expected(roles=("broker",), mounts=(ExpectedMount("/kafka/d1"),))


def process(pid: int, *argv: str) -> Process:
    return Process(pid, argv[0].rpartition("/")[2], argv, "root", 0.0)


def machine(
    *processes: Process, files: Any = None, commands: Any = None, groups: Any = None, **answers: Any
) -> FakeHost:
    return FakeHost(
        files={"/proc/self/mountinfo": MOUNTS, **DPKG, **(files or {})},
        commands=commands,
        answers={"processes": list(processes), GROUPS: groups or Descriptors((), ()), **answers},
        expected=EXPECTED,
    )


def only(host: FakeHost) -> Finding:
    (finding,) = run_checks(host, "antivirus")
    return finding


def test_a_machine_without_any_is_one_quiet_item() -> None:
    finding = only(machine(process(1, "/sbin/init")))

    assert (finding.item, finding.status) == ("antivirus", "ok")


def test_a_machine_without_kafka_is_left_alone() -> None:
    assert only(FakeHost(expected=Expected())).status == "skipped"


def test_an_installed_package_is_a_warning() -> None:
    files = {"/var/lib/dpkg/info/clamav-daemon.list": ""}
    commands = {
        "dpkg-query -W -f ${Package} ${db:Status-Status}\n clamav-daemon": Answer(0, "clamav-daemon installed", "")
    }
    finding = only(machine(files=files, commands=commands))

    assert (finding.item, finding.status, finding.verdict.playbook) == ("ClamAV", "warning", "antivirus")
    assert "installed (clamav-daemon)" in finding.verdict.reason


def test_a_removed_package_that_left_its_list_is_not_installed() -> None:
    files = {"/var/lib/dpkg/info/mdatp.list": ""}
    commands = {"dpkg-query -W -f ${Package} ${db:Status-Status}\n mdatp": Answer(0, "mdatp config-files\n", "")}

    assert only(machine(files=files, commands=commands)).status == "ok"


def rpm_machine(answer: Answer) -> FakeHost:
    names = [name for product in antivirus_products.PRODUCTS for name in product.packages]
    host = machine(
        files={"/var/lib/rpm/rpmdb.sqlite": ""}, commands={" ".join(["rpm -q --qf %{NAME}\n", *names]): answer}
    )
    del host.files["/var/lib/dpkg/info/bash.list"]
    return host


def test_red_hats_packages_are_asked_of_rpm() -> None:
    finding = only(rpm_machine(Answer(30, "package clamav is not installed\nfalcon-sensor\n", "")))

    assert (finding.item, finding.status) == ("CrowdStrike Falcon", "warning")


def test_a_broken_package_database_is_unknown_and_not_ok() -> None:
    finding = only(rpm_machine(Answer(1, "", "error: rpmdb: BDB0113 Thread/process failed\n")))

    assert finding.status == "unknown" and "BDB0113" in finding.verdict.reason


def test_a_unit_or_a_timer_alone_is_a_warning() -> None:
    files = {"/etc/systemd/system/sophos-spl.service": "", "/lib/systemd/system/clamscan-weekly.timer": ""}
    findings = by_item(run_checks(machine(files=files), "antivirus"))

    assert {item: finding.status for item, finding in findings.items()} == {"ClamAV": "warning", "Sophos": "warning"}
    assert "scheduled by clamscan-weekly.timer" in findings["ClamAV"].verdict.reason


def test_the_fetcher_of_signatures_is_no_scanner() -> None:
    files = {"/lib/systemd/system/clamav-freshclam-once.timer": "", "/etc/cron.d/clamav-freshclam": ""}

    assert only(machine(process(9, "/usr/bin/freshclam", "-d"), files=files)).status == "ok"


@pytest.mark.parametrize(
    ("argv", "product"),
    [
        (("/usr/sbin/clamd", "--foreground"), "ClamAV"),
        (("/opt/CrowdStrike/falcon-sensor",), "CrowdStrike Falcon"),
        (("/opt/microsoft/mdatp/sbin/wdavdaemon",), "Microsoft Defender"),
        (("/opt/sentinelone/bin/s1-agent",), "SentinelOne"),
        (("/opt/ds_agent/ds_agent", "-w", "/var/opt/ds_agent"), "Trend Micro"),
        (("/opt/McAfee/ens/tp/bin/mfetpd",), "Trellix (McAfee)"),
        (("/opt/kaspersky/kesl/libexec/kesl",), "Kaspersky"),
    ],
)
def test_a_product_that_runs_is_critical(argv: tuple[str, ...], product: str) -> None:
    finding = only(machine(process(311, *argv)))

    assert (finding.item, finding.status) == (product, "critical")
    assert f"{process(1, *argv).name} (311)" in finding.verdict.reason


def test_a_product_that_the_site_must_run_is_a_warning() -> None:
    host = machine(process(311, "/opt/CrowdStrike/falcon-sensor"))
    host.expected = EXPECTED._replace(limits={"antivirus": {"accepted": "Sophos, CrowdStrike Falcon"}})

    assert only(host).status == "warning"


def listener(pid: int, mark: str) -> dict[str, Any]:
    return {
        "groups": Descriptors(((pid, 3),), ()),
        "files": {f"/proc/{pid}/fdinfo/3": f"fanotify flags:0 event-flags:0\n{mark}\n"},
    }


@pytest.mark.parametrize(
    ("mark", "status", "words"),
    [
        (
            "fanotify sdev:800011 mflags:0 mask:20 ignored_mask:0",
            "critical",
            "watches every file access on /kafka/d1",
        ),
        (
            "fanotify mnt_id:1b mflags:0 mask:10000 ignored_mask:0",
            "critical",
            "blocks every file access on /kafka/d1",
        ),
        ("fanotify ino:80 sdev:800011 mflags:0 mask:8 ignored_mask:0", "critical", "/kafka/d1"),
        ("fanotify sdev:800001 mflags:0 mask:20 ignored_mask:0", "warning", "none on a data mount"),
        ("fanotify sdev:800011 mflags:0 mask:8000 ignored_mask:0", "ok", "no program watches"),
        ("fanotify sdev:800011 mflags:0 mask:0 ignored_mask:20", "ok", "no program watches"),
    ],
)
def test_a_program_that_nobody_knows_is_found_by_its_marks(mark: str, status: str, words: str) -> None:
    finding = only(machine(process(77, "/opt/guard/guardd"), **listener(77, mark)))

    assert finding.status == status and words in finding.verdict.reason
    assert finding.item == ("antivirus" if status == "ok" else "guardd")


def test_it_is_ok_again_when_the_program_has_ended() -> None:
    host = machine(process(77, "guardd"), **listener(77, "fanotify sdev:800011 mflags:0 mask:20 ignored_mask:0"))
    assert only(host).status == "critical"

    later = next_run(host, answers={"processes": [], GROUPS: Descriptors((), ())})

    assert (only(later).item, later.expected) == ("antivirus", EXPECTED)


CLAMD = process(311, "/usr/sbin/clamd")
CLAMONACC = process(312, "/usr/sbin/clamonacc")


@pytest.mark.parametrize(
    ("config", "status"),
    [
        ("ExcludePath ^/kafka/\n", "warning"),
        ("ExcludePath ^/kafka/d1$\n", "warning"),
        ("ExcludePath ^/kafka/d2\n", "critical"),
        ("ExcludePath ^/(proc|kafka)/\n", "critical"),
        ("#ExcludePath ^/kafka/\n", "critical"),
        ("ExcludePath\n", "critical"),
        ("OnAccessExcludePath /kafka\n", "critical"),
    ],
)
def test_clamd_with_the_data_directories_excluded_is_a_warning(config: str, status: str) -> None:
    assert only(machine(CLAMD, files={"/etc/clamav/clamd.conf": config})).status == status


def test_on_access_scanning_has_its_own_exclusion() -> None:
    excluded = {"/etc/clamav/clamd.conf": "OnAccessExcludePath /kafka/\n"}
    scanned_only = {"/etc/clamav/clamd.conf": "ExcludePath ^/kafka/\n"}

    assert only(machine(CLAMD, CLAMONACC, files=excluded)).status == "warning"
    assert only(machine(CLAMD, CLAMONACC, files=scanned_only)).status == "critical"


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (Answer(0, '=====\nExcluded folder\nPath: "/kafka/"\n---\n', ""), "warning"),
        (Answer(0, '=====\nExcluded folder\nPath: "/var/"\n---\n', ""), "critical"),
        (Answer(0, "No exclusions\n", ""), "critical"),
        (Stuck("mdatp exclusion list", 4), "critical"),
    ],
)
def test_defenders_exclusions_are_asked_of_it(answer: Any, status: str) -> None:
    wdav = process(311, "/opt/microsoft/mdatp/sbin/wdavdaemon")

    assert only(machine(wdav, commands={"mdatp exclusion list": answer})).status == status


def test_a_scan_that_runs_over_the_data_now_is_critical_and_elsewhere_is_nothing() -> None:
    over_all = only(machine(process(400, "/usr/bin/clamscan", "-r", "/")))
    elsewhere = only(machine(process(400, "/usr/bin/clamscan", "-r", "/home")))

    assert over_all.status == "critical" and "scanning /kafka/d1 now" in over_all.verdict.reason
    assert elsewhere.status == "ok"


def test_without_root_nothing_is_called_free_of_listeners() -> None:
    finding = only(machine(groups=Descriptors((), (1, 2)), is_root=False))

    assert finding.status == "unknown" and "needs root" in finding.verdict.reason


def test_a_process_that_even_root_may_not_look_into_is_unknown_beside_what_was_found() -> None:
    findings = by_item(run_checks(machine(CLAMD, groups=Descriptors((), (1,))), "antivirus"))

    assert findings["ClamAV"].status == "critical"
    assert findings["antivirus"].status == "unknown"
    assert "fanotify watches unknown, not readable even as root: process 1" in findings["antivirus"].verdict.reason


def test_judge_names_each_state() -> None:
    nothing = antivirus.Facts("X", True, (), (), (), (), (), False, False, (), False, (), True)
    states = {
        "ok": nothing,
        "warning": nothing._replace(units=("x.service",)),
        "critical": nothing._replace(running=("x (1)",)),
        "unknown": nothing._replace(hidden=("init (1)",), as_root=False),
    }
    assert {state: antivirus.judge(facts, antivirus.LIMITS).status for state, facts in states.items()} == {
        state: state for state in states
    }


@given(st.text(), st.text(), st.text())
def test_rubbish_from_every_source_never_breaks_the_check(marks: str, config: str, exclusions: str) -> None:
    host = machine(
        CLAMD,
        process(9, "wdavdaemon"),
        process(77, "guardd"),
        files={"/proc/77/fdinfo/3": marks, "/etc/clamd.conf": config},
        commands={"mdatp exclusion list": Answer(1, exclusions, "")},
        groups=Descriptors(((77, 3),), ()),
    )
    for finding in run_checks(host, "antivirus"):
        assert "the check failed" not in finding.verdict.reason
        assert finding.status in ("critical", "warning")
