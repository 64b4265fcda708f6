"""Playbooks on booted hosts, from the fault to the mended machine, as an SRE goes through them.

Disks are pulled and put in, an array is rebuilt, a file system is repaired, a network card is gone through; what needs
no such parts is in test_books.py. The rack has no Kafka: what the gate cannot tell of one is accepted, and steps
through Kafka are skipped. Both are shown with real brokers in tests/real/test_playbooks_kafka.py.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.playbooks.prompt_fake import Desk, until
from tests.rack import image
from tests.rack.host import Host
from tests.rack.machines import Disk
from tests.rack.rack import Rack, rack

HOUR_S = 3600
# an emulated host takes long for a look, and longer on a machine that is busy
MOVES_S = 900.0
pytestmark = [pytest.mark.slow, pytest.mark.rack, pytest.mark.timeout(HOUR_S)]
HOST = "jbod-1"
# QEMU's SCSI disks have no SMART, by which the gate knows a new disk; and kernel lines of the old disk go by the name
# that the new one has got
NOT_HERE = ("disks", "mirror_partner", "new_disk")
# rules of the gate that ask Kafka
OF_KAFKA = ("availability", "brokers", "controller", "disk_room", "kraft_quorum", "preferred_leaders", "leaders",
            "log_dirs",
            "nic_room", "min_isr", "offline", "reassignments", "unreplicated", "throttles", "unclean",
            "under_replicated")  # fmt: skip


@pytest.fixture(scope="module")
def booted() -> Iterator[Rack]:
    """One that is up already (scripts/rack up) is taken as it is."""
    if HOST in Rack().hosts:
        yield Rack()
        return
    try:
        image.build()
    except image.CannotBuild as error:
        pytest.skip(str(error))
    with rack(HOST) as up:
        yield up


class Operator:
    """Goes through a playbook at the terminal, and does what a person does at the rack."""

    def __init__(self, booted: Rack, desk: Desk) -> None:
        self.rack, self.desk, self.host = booted, desk, booted[HOST]

    def findings(self, *checks: str) -> list[dict[str, Any]]:
        """What is not well, of these checks."""
        document = self.rack.smoke("check", *checks)
        return [one for one in document["findings"] if one["status"] not in ("ok", "skipped")]

    def statuses(self, *checks: str) -> dict[tuple[str, str], str]:
        return {(one["check"], one["item"]): one["status"] for one in self.findings(*checks)}

    def plan(self, *words: str) -> str:
        """The plan, after which the host is as before."""
        answer = self.desk.smoke("plan", *words)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        return answer.stdout

    def inventory_names(self, old: str, new: str) -> None:
        """Write another serial number into the inventory."""
        path = self.rack.folder / "inventory.yaml"
        path.write_text(path.read_text().replace(old, new))

    def carry_out(self, *words: str, by_hand: Sequence[Callable[[], object]] = (), order: str = "run") -> str:
        """Answer every question: yes, skip what needs Kafka; by_hand: what is done at the confirmations, in turn.

        A disk that is to be overwritten is named by the serial number on its label, which is the one that was put in.
        """
        accepted = [word for rule in (*OF_KAFKA, *NOT_HERE) for word in ("--accept", rule)]
        process = self.desk.begin(order, *words, *accepted, "--because", "the rack has no Kafka")
        hands, seen = list(by_hand), 0
        try:
            while process.poll() is None:
                asked = self.desk.printed[seen:]
                answer = self._answer(asked, hands)
                if answer:
                    seen += len(asked)
                    self.desk.type_in(process, answer)
                else:
                    self._until_more(process, seen + len(asked))
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        assert process.returncode == 0, self.desk.printed[-3000:]
        return self.desk.printed

    def _answer(self, asked: str, hands: list[Callable[[], object]]) -> str:
        last = asked.rstrip(" ").rpartition("\n")[2]
        if "Continue without it?" in last:
            return "s"
        if last.endswith("]") and "Confirm?" in last:
            if hands:
                hands.pop(0)()
            return "y"
        if last.endswith("(q to stop):"):
            return self.new_serial
        return "y" if last.endswith("q stop here]") else ""

    def _until_more(self, process: subprocess.Popen[str], than: int) -> None:
        """Wait until more than so many letters are on the screen, or the run ended."""
        end = time.monotonic() + MOVES_S
        while len(self.desk.printed) <= than and process.poll() is None:
            assert time.monotonic() < end, "nothing moves"
            time.sleep(0.2)

    new_serial = ""


@pytest.fixture
def operator(booted: Rack, tmp_path: Any) -> Operator:
    folder = booted.folder
    access = ["-i", str(folder / "inventory.yaml"), "--ssh-config", str(folder / "smoke_ssh_config"),
              "--deadline", "300"]  # fmt: skip
    desk = Desk(tmp_path, access, HOST, patience_s=900)
    desk.books.rmdir()
    desk.books = tmp_path
    return Operator(booted, desk)


def etc_and_disks(host: Host) -> str:
    """What a plan must leave as it is."""
    return host.sh(
        "find /etc /opt /usr/local -xdev -printf '%p %s %T@ %m\\n' | sort; cut -d' ' -f 3- /proc/1/mountinfo; "
        "lsblk -no NAME,SERIAL,SIZE,FSTYPE,UUID; sysctl vm.swappiness; systemctl list-unit-files"
    )


def test_a_jbod_disk_is_replaced_from_its_failure_to_the_new_one(operator: Operator) -> None:
    host = operator.host
    device = host.kernel_names()["RKJ1SCSI1"]
    host.sh(f"echo offline > /sys/block/{device}/device/state; touch /kafka/d6/x || true; sync -f /kafka/d6 || true")
    assert ("mounts", "/kafka/d6") in operator.statuses("mounts")
    before = etc_and_disks(host)
    text = operator.plan("replace-jbod-disk", "--disk", "RKJ1SCSI1")
    assert etc_and_disks(host) == before, "a plan changes nothing"
    assert re.search(r"^umount /kafka/d6$", text, re.MULTILINE) and f"device /dev/{device}" in text

    def swap() -> None:
        host.hot_remove_disk("j1scsi1")
        host.hot_add_disk(Disk("j1scsi9", "scsi", 160))
        until("the kernel sees it", lambda: "RKJ1SCSI9" in host.kernel_names())

    operator.new_serial = "RKJ1SCSI9"
    by_hand = [lambda: None, swap, lambda: operator.inventory_names("RKJ1SCSI1", "RKJ1SCSI9")]
    said = operator.carry_out("replace-jbod-disk", "--disk", "RKJ1SCSI1", by_hand=by_hand)

    mounted = host.run("findmnt", "-no", "SOURCE,FSTYPE", "/kafka/d6").stdout.split()
    assert mounted == [f"/dev/{host.kernel_names()['RKJ1SCSI9']}", "ext4"]
    uuid = host.run("findmnt", "-no", "UUID", "/kafka/d6").stdout.strip()
    assert f"UUID={uuid} /kafka/d6 " in host.run("cat", "/etc/fstab").stdout
    assert "gate: GO" in said.rpartition("All replicas")[2], "the gate afterwards"
    assert host.run("systemctl", "is-active", "kafka").stdout.strip() == "active"


def test_a_raid10_disk_is_replaced_and_its_array_rebuilt(operator: Operator) -> None:
    host = operator.host
    disks = [Disk(f"md{number}", "scsi", 64) for number in range(1, 5)]
    for disk in disks:
        host.hot_add_disk(disk)
    until("the kernel sees them", lambda: {disk.serial for disk in disks} <= set(host.kernel_names()))
    names = [f"/dev/{host.kernel_names()[disk.serial]}" for disk in disks]
    host.run("mdadm", "--create", "/dev/md7", "--run", "--assume-clean", "--homehost=any", "--level=10",
             "--raid-devices=4", *names)  # fmt: skip
    host.sh("mkfs.ext4 -q -F /dev/md7; mkdir -p /srv/md7; mount /dev/md7 /srv/md7; echo precious > /srv/md7/data; sync")
    host.run("mdadm", "--manage", "/dev/md7", "--fail", names[1])
    assert operator.statuses("raid")[("raid", "md7")] == "critical"

    def swap() -> None:
        host.hot_remove_disk("md2")
        host.hot_add_disk(Disk("md9", "scsi", 80))
        until("the kernel sees it", lambda: "RKMD9" in host.kernel_names())

    operator.new_serial = "RKMD9"
    said = operator.carry_out("replace-raid10-disk", "--disk", "RKMD2", by_hand=[lambda: None, swap])

    detail = host.run("mdadm", "--detail", "/dev/md7").stdout
    assert re.search(r"State : (clean|active)\s*$", detail, re.MULTILINE), detail
    assert f"/dev/{host.kernel_names()['RKMD9']}" in detail
    assert host.run("cat", "/srv/md7/data").stdout == "precious\n"
    assert "is rebuilt" in said
    host.sh("umount /srv/md7; mdadm -q --stop /dev/md7")


def test_a_hidden_read_only_file_system_is_repaired(operator: Operator) -> None:
    host = operator.host
    host.sh("d=$(basename $(findmnt -no SOURCE /kafka/d1)); echo 1 > /sys/fs/ext4/$d/trigger_fs_error; sleep 1")
    assert operator.statuses("mounts")[("mounts", "/kafka/d1")] == "critical"

    operator.carry_out("hidden-readonly", "--item", "/kafka/d1")

    host.sh("touch /kafka/d1/again; rm /kafka/d1/again")
    assert operator.statuses("mounts").get(("mounts", "/kafka/d1"), "ok") in ("ok", "warning")
    assert host.run("systemctl", "is-active", "kafka").stdout.strip() == "active"


# bit 2 of a card's command register lets it reach the memory; $1: 0 or 4
BUS_MASTER = """
import sys
with open("/sys/class/net/lan1/device/config", "r+b", 0) as config:
    config.seek(4)
    command = int.from_bytes(config.read(2), "little")
    config.seek(4)
    config.write((command & ~4 | int(sys.argv[1])).to_bytes(2, "little"))
"""
SEND = """
import socket, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(10):
    try:
        sender.sendto(b"x" * 500, ("10.77.0.99", 9))
    except OSError:
        break  # the driver has reset the card
    time.sleep(1)
"""


def test_a_network_card_that_resets_is_counted_and_mended(operator: Operator) -> None:
    """The card may no longer reach the memory, so what it should send hangs, and the driver resets it in earnest."""
    host = operator.host
    host.run("python3", "-c", BUS_MASTER, "0")
    host.sh("ip neigh replace 10.77.0.99 lladdr 52:54:00:77:09:01 dev lan1")
    host.run("python3", "-c", SEND)
    until("the driver resets it", lambda: "Reset adapter" in host.run("dmesg").stdout)
    assert operator.statuses("nic_resets").get(("nic_resets", "lan1")) in ("warning", "critical")

    def mend() -> None:
        host.run("python3", "-c", BUS_MASTER, "4")
        host.sh("ip link set lan1 down; ip link set lan1 up; sleep 8")

    said = operator.carry_out("nic-resets", "--item", "lan1", by_hand=[mend])

    assert "nic-resets: done" in said
    host.reboot()
    assert operator.statuses("nic_resets") == {}, "a reboot clears the count"
