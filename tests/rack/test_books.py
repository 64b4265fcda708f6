"""Our playbooks carried out over ssh on a booted host, as they are written: settings that outlive a reboot, a scanner,
a clock, the reboot of a broker.

The rack has no Kafka and no second broker, so the gate and the steps through Kafka are left out of the reboot; those
are shown with real clusters in tests/real.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest
import yaml

from tests.rack import image
from tests.rack.host import Host
from tests.rack.rack import ROOT, Rack, rack

HOUR_S = 3600
BROKER = "jbod-1"
LIMITS_OF_UNIT = "/etc/systemd/system/kafka.service.d/99-limits.conf"

pytestmark = [pytest.mark.slow, pytest.mark.rack, pytest.mark.timeout(HOUR_S)]


class Desk:
    """An SRE before the rack. folder: the results store, and playbooks of their own."""

    def __init__(self, up: Rack, folder: pathlib.Path) -> None:
        self.up, self.folder = up, folder

    def playbook(self, *words: str, answers: int = 0) -> subprocess.CompletedProcess[str]:
        """`smoke playbook WORDS` for the broker; each question is answered with yes."""
        given = {"-i": self.up.folder / "inventory.yaml", "--ssh-config": self.up.folder / "smoke_ssh_config",
                 "--store": self.folder / "store", "--host": BROKER, "--deadline": 300}  # fmt: skip
        options = [str(word) for pair in given.items() for word in pair]
        argv = [sys.executable, "-m", "smoketests.cli", "playbook", *words, *options]
        return subprocess.run(argv, input="y\n" * answers, capture_output=True, text=True, timeout=HOUR_S, cwd=ROOT,
                              check=False, env={**os.environ, "COLUMNS": "80"})  # fmt: skip

    def status(self, *checks: str) -> dict[str, str]:
        """`check item` -> status of every finding of these checks."""
        rows = self.up.smoke("check", *checks, "--limit", BROKER)["findings"]
        return {f"{row['check']} {row['item']}": row["status"] for row in rows if row["check"] in checks}


@pytest.fixture(scope="module")
def booted() -> Iterator[Rack]:
    try:
        image.build()
    except image.CannotBuild as error:
        pytest.skip(str(error))
    with rack(BROKER) as up:
        yield up


@pytest.fixture
def desk(booted: Rack, tmp_path: pathlib.Path) -> Desk:
    return Desk(booted, tmp_path)


@pytest.fixture
def host(booted: Rack) -> Host:
    return booted[BROKER]


TUNED = ("swappiness", "memory_maps", "open_files", "disk_scheduler")


def untune(host: Host) -> None:
    """As after a reinstall: nothing set, bfq at every boot, and a broker with few files."""
    host.sh(
        """
        rm -f /etc/sysctl.d/60-kafka.conf; sysctl -q -w vm.swappiness=60 vm.max_map_count=65530
        sed -i s/mq-deadline/bfq/ /etc/udev/rules.d/60-scheduler.rules; echo bfq > /etc/modules-load.d/bfq.conf
        modprobe bfq; udevadm control --reload
        udevadm trigger --type=devices --subsystem-match=block --action=change; udevadm settle
        mkdir -p /etc/systemd/system/kafka.service.d
        printf '[Service]\\nLimitNOFILE=8000\\n' > /etc/systemd/system/kafka.service.d/10-site.conf
        systemctl daemon-reload; systemctl restart kafka
        """
    )


def test_the_system_is_tuned_and_still_tuned_after_a_reboot(desk: Desk, host: Host) -> None:
    untune(host)
    before = desk.status(*TUNED)

    answer = desk.playbook("run", "tune-os", "--yes")
    tuned = desk.status(*TUNED)
    host.reboot()
    rebooted = desk.status(*TUNED)

    assert before["memory_maps vm.max_map_count"] == before["open_files broker"] == "warning"
    assert "warning" in [before[name] for name in before if name.startswith("disk_scheduler")]
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert set(tuned.values()) == {"ok"}, tuned
    assert set(rebooted.values()) == {"ok"}, rebooted
    assert "100000" in host.sh("cat /proc/$(systemctl show -P MainPID kafka)/limits")


LOOK = """
find /etc /usr/local -type f -newer /run/before
sysctl -n vm.swappiness vm.max_map_count
lsblk -o NAME,SIZE,FSTYPE,UUID,MOUNTPOINT; blkid -c /dev/null
find /etc/systemd -type l | sort; cat /sys/fs/cgroup/system.slice/kafka.service/cgroup.procs
for disk in /dev/sd?; do head -c 1M $disk | cksum; done
"""


def test_a_plan_leaves_the_host_as_it_was(desk: Desk, host: Host) -> None:
    """Its files, settings, units and block devices."""
    host.sh("touch /run/before; sync")
    before = host.sh(LOOK)

    answers = [desk.playbook("plan", name, *words) for name, words in (
        ("reboot-broker", ()), ("hidden-readonly", ("--item", "/kafka/d1")),
        ("replace-jbod-disk", ("--disk", "RKJ1SATA3")), ("hung-disk", ("--disk", "RKJ1SATA4")),
    )]  # fmt: skip

    assert [answer.returncode for answer in answers] == [0] * len(answers), [answer.stderr for answer in answers]
    assert "RKJ1SATA3" in answers[2].stdout and "/kafka/d3" in answers[2].stdout
    host.sh("sync")
    assert host.sh(LOOK) == before


def test_a_scanner_is_stopped_and_stays_stopped(desk: Desk, host: Host) -> None:
    host.sh(
        """
        printf '[Service]\\nWorkingDirectory=/kafka/d2\\nExecStart=/usr/sbin/fatrace -c\\nStandardOutput=null\\n' \
            > /usr/lib/systemd/system/scanner.service
        printf '[Install]\\nWantedBy=multi-user.target\\n' >> /usr/lib/systemd/system/scanner.service
        systemctl daemon-reload; systemctl -q enable --now scanner; sleep 3; systemctl is-active scanner
        """
    )
    before = desk.status("antivirus")

    answer = desk.playbook("run", "antivirus", answers=4)
    after = desk.status("antivirus")

    assert before["antivirus fatrace"] == "critical"
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert after == {"antivirus antivirus": "ok"}
    assert host.run("systemctl", "is-enabled", "scanner", check=False).stdout.strip() == "masked"


def test_a_clock_that_was_stepped_is_set_right(desk: Desk, host: Host) -> None:
    host.sh(
        """
        sed -i 's/^makestep/#makestep/' /etc/chrony/chrony.conf; systemctl restart chrony
        until chronyc -c tracking | grep -q Normal; do sleep 1; done
        date -s '7 seconds' > /dev/null; sleep 25
        """
    )
    before = desk.status("clock")

    answer = desk.playbook("run", "clock", answers=8)
    after = desk.status("clock")

    assert before == {"clock clock": "critical"}
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert after == {"clock clock": "ok"}


def without_cluster(name: str, folder: pathlib.Path) -> pathlib.Path:
    """A copy of a playbook without the gate and the steps through Kafka."""
    said = yaml.safe_load((ROOT / f"playbooks/books/{name}.yaml").read_text())
    said["steps"] = [step for step in said["steps"] if not {"gate", "kafka"} & set(step)]
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(said, sort_keys=False))
    return folder


def test_a_broker_is_rebooted_and_serves_again(desk: Desk, host: Host, tmp_path: pathlib.Path) -> None:
    own = without_cluster("reboot-broker", tmp_path / "books")
    boot = host.boot_id()

    answer = desk.playbook("run", "reboot-broker", "--playbooks", str(own), answers=6)

    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert host.boot_id() != boot
    assert set(desk.status("mounts").values()) == {"ok"}
    assert desk.status("services")["services broker"] == "ok"
    assert "finished" in next((tmp_path / "store/playbooks").glob("*.jsonl")).read_text()
