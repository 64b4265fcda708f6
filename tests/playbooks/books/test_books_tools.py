"""The steps of our playbooks as the real tools take them: files are parsed by what will read them, and have effect."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
from collections.abc import Mapping, Sequence

import pytest

from agent.sources.system import antivirus_products
from playbooks import placeholders
from tests.playbooks.playbook_fixtures import book, commands, fill, names, step
from tests.real.parts.namespace import Namespace

ROOT_NEEDED = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
# those that only look, need no fact of a kind that this machine lacks, and exit with 0 everywhere
LOOKS = ("ps", "free", "df", "date", "sysctl", "cat", "ss", "lsblk")
CLAMAV_STEPS = ("Exclude a data directory from ClamAV scans", "Exclude a data directory from ClamAV on-access scanning")
FSTAB = """# /etc/fstab
UUID=0a0a0a0a-2222-4333-8444-555555555555 / ext4 defaults 0 1
UUID=11111111-2222-4333-8444-555555555555\t/kafka/d3 xfs noatime 0 0
UUID=22222222-2222-4333-8444-555555555555 /kafka/d4 xfs noatime 0 0
"""


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [name for name in programs if not shutil.which(name)]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is missing")


def filled(name: str, begins: str, facts: Mapping[str, str], part: str = "run") -> list[str]:
    """The command of a step, with these facts ("disk.mount": …) in it."""
    words: Sequence[str] = getattr(step(name, begins), part)
    return [placeholders.fill(word, lambda one: facts[str(one).strip("{}")]) for word in words]


def text_of(name: str, begins: str) -> str:
    """What a step writes into its file, with example facts."""
    return fill(book(name), step(name, begins), step(name, begins).input)


def code(command: Sequence[str], text: str = "") -> int:
    return subprocess.run(command, input=text, text=True, capture_output=True, timeout=30, check=False).returncode


@pytest.mark.parametrize("name", names())
def test_what_only_looks_works_here(name: str) -> None:
    for kind, one, words in commands(book(name)):
        if kind == "run" and not one.changes and words[0] in LOOKS and not one.uses() and shutil.which(words[0]):
            answer = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
            assert (answer.returncode, answer.stderr) == (0, ""), words


@needs("sysctl")
def test_the_kernel_settings_are_read_by_sysctl(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "99-zz-kafka.conf"
    file.write_text(text_of("tune-os", "Write the kernel settings"))
    answer = subprocess.run(["sysctl", "--dry-run", "-p", file], capture_output=True, text=True, check=False)

    assert answer.stdout.splitlines() == ["vm.swappiness = 1", "vm.max_map_count = 262144"], answer.stderr


@needs("systemd-analyze")
@pytest.mark.parametrize(
    ("name", "begins", "key"),
    [
        ("tune-os", "Write the broker's limits", "LimitNOFILE"),
        ("tune-os", "Write ZooKeeper's limits", "TasksMax"),
        ("out-of-memory", "Make the kernel kill the broker last", "OOMScoreAdjust"),
    ],
)
def test_systemd_takes_the_settings_of_the_unit(tmp_path: pathlib.Path, name: str, begins: str, key: str) -> None:
    (tmp_path / "kafka.service.d").mkdir()
    (tmp_path / "kafka.service").write_text("[Service]\nExecStart=/bin/true\n")
    (tmp_path / "kafka.service.d/99-limits.conf").write_text(text_of(name, begins))
    answer = subprocess.run(
        ["systemd-analyze", "verify", "kafka.service"], capture_output=True, text=True, check=False,
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
    )  # fmt: skip

    assert key in text_of(name, begins)
    assert answer.returncode == 0 and "99-limits.conf" not in answer.stderr, answer.stderr


def test_the_disk_leaves_fstab_and_the_new_one_takes_its_line(tmp_path: pathlib.Path) -> None:
    fstab = tmp_path / "fstab"
    fstab.write_text(FSTAB)
    facts = {
        "disk.fstab": "UUID=11111111-2222-4333-8444-555555555555",
        "fs.uuid": "99999999-2222-4333-8444-555555555555",
    }

    def edit(begins: str, part: str = "run") -> int:
        return code(
            [word.replace("/etc/fstab", str(fstab)) for word in filled("replace-jbod-disk", begins, facts, part)]
        )

    assert edit("Remove the old disk from") == 0
    assert fstab.read_text() == FSTAB.replace("UUID=11111111", "#UUID=11111111")
    assert edit("Remove the old disk from", "undo") == 0
    assert fstab.read_text() == FSTAB
    edit("Remove the old disk from")
    edit("Remove the old disk from")  # once more changes nothing
    assert edit("Replace the entry in /etc/fstab", "done") == 1
    assert edit("Replace the entry in /etc/fstab") == 0
    assert fstab.read_text() == FSTAB.replace("UUID=11111111", "UUID=99999999")
    assert edit("Replace the entry in /etc/fstab", "done") == 0
    assert edit("Replace the entry in /etc/fstab", "undo") == 0
    assert fstab.read_text() == FSTAB.replace("UUID=11111111", "#UUID=11111111")


@needs("findmnt")
def test_a_disk_that_was_not_in_fstab_is_added_as_findmnt_reads_it(tmp_path: pathlib.Path) -> None:
    facts = {"fs.uuid": "99999999-2222-4333-8444-555555555555", "disk.mount": "/kafka/d3", "disk.fstype": "xfs"}
    fstab = tmp_path / "fstab"
    fstab.write_text(placeholders.fill(step("replace-jbod-disk", "Add the new disk to").input,
                                       lambda one: facts[str(one).strip("{}")]))  # fmt: skip
    columns = "SOURCE,TARGET,FSTYPE,OPTIONS"
    asked = ["findmnt", "--tab-file", str(fstab), "--noheadings", "--raw", "--output", columns, "/kafka/d3"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)

    assert answer.stdout.split() == [f"UUID={facts['fs.uuid']}", "/kafka/d3", "xfs", "defaults,noatime,nofail"]


def test_whether_something_is_still_mounted_is_asked_of_the_kernel() -> None:
    assert code(filled("replace-jbod-disk", "Unmount the old disk", {"disk.mount": "/proc"}, "done")) == 1
    assert code(filled("replace-jbod-disk", "Unmount the old disk", {"disk.mount": "/kafka/none"}, "done")) == 0


@pytest.mark.parametrize(
    "line",
    ["/dev/disk/by-path/pci-0000:3b:00.0-sas-phy2-lun-0 /kafka/d3 xfs noatime 0 2",
     "  LABEL=kafka-d3\t/kafka/d3 xfs noatime 0 2",
     'UUID="11111111-2222-4333-8444-555555555555" /kafka/d3 xfs noatime 0 2'],
)  # fmt: skip
def test_a_disk_that_fstab_names_in_another_way_leaves_it_too(tmp_path: pathlib.Path, line: str) -> None:
    fstab = tmp_path / "fstab"
    fstab.write_text(f"{line}\nLABEL=other /x ext4 defaults 0 2\n")
    facts = {"disk.fstab": line.split()[0], "fs.uuid": "99999999-2222-4333-8444-555555555555"}
    for begins, part in (("Remove the old disk from", "run"), ("Remove the old disk from", "undo"),
                         ("Remove the old disk from", "run"), ("Replace the entry in /etc/fstab", "run")):  # fmt: skip
        words = filled("replace-jbod-disk", begins, facts, part)
        assert code([word.replace("/etc/fstab", str(fstab)) for word in words]) == 0
        if part == "undo":
            assert fstab.read_text() == f"{line}\nLABEL=other /x ext4 defaults 0 2\n"

    rest = line.lstrip()[len(facts["disk.fstab"]) :]
    assert fstab.read_text() == f"UUID={facts['fs.uuid']}{rest}\nLABEL=other /x ext4 defaults 0 2\n"


def test_a_reboot_is_known_by_its_boot_id() -> None:
    now = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    for name in ("reboot-broker", "power-off-broker", "replace-dimm", "failed-motherboard"):
        assert code(filled(name, "The machine has rebooted", {"machine.boot_id": now})) == 1
        assert code(filled(name, "The machine has rebooted", {"machine.boot_id": now[::-1]})) == 0


def test_the_paths_left_out_of_clamav_are_those_that_the_check_reads() -> None:
    lines = [placeholders.fill(step("antivirus", begins).input, lambda one: "/kafka/d1") for begins in CLAMAV_STEPS]

    assert antivirus_products.parse_clamd_excludes(lines[0], "ExcludePath") == ["/kafka/d1"]
    assert antivirus_products.parse_clamd_excludes(lines[1], "OnAccessExcludePath") == ["/kafka/d1"]


def test_clamavs_lines_are_added_once_and_taken_away_again(tmp_path: pathlib.Path) -> None:
    config = tmp_path / "clamd.conf"
    config.write_text("User clamav\n")
    for begins in CLAMAV_STEPS:
        facts = {"each.": "/kafka/d1", "each": "/kafka/d1", "antivirus.config": str(config)}
        text = placeholders.fill(step("antivirus", begins).input, lambda one: "/kafka/d1")
        assert code(filled("antivirus", begins, facts, "done")) == 1
        assert code(filled("antivirus", begins, facts), text) == 0
        assert code(filled("antivirus", begins, facts, "done")) == 0
        assert code(filled("antivirus", begins, facts, "undo")) == 0
        assert config.read_text() == "User clamav\n"


@pytest.mark.parametrize(
    ("before", "name"),
    [
        ("tickTime=2000\nmaxClientCnxns = 60\n", "Allow more connections from one address"),
        ("tickTime=2000", "Allow more connections from one address (not set before)"),
    ],
)
def test_zookeepers_limit_is_raised_and_taken_back(tmp_path: pathlib.Path, before: str, name: str) -> None:
    config = tmp_path / "zoo.cfg"
    config.write_text(before)
    facts = {"zookeeper.config": str(config), "zookeeper.max_client_cnxns": "60",
             "zookeeper.max_client_cnxns_wanted": "300"}  # fmt: skip
    one = next(one for one in book("zookeeper-connections").steps if one.name == name)

    def do(words: Sequence[str]) -> int:
        *argv, given = (placeholders.fill(word, lambda found: facts[str(found).strip("{}")])
                        for word in (*words, one.input))  # fmt: skip
        return code(argv, given)

    assert do(one.done) == 1 and do(one.run) == 0 and do(one.done) == 0
    assert "maxClientCnxns=300" in config.read_text().splitlines()
    assert do(one.undo) == 0
    assert "300" not in config.read_text() and config.read_text().startswith("tickTime=2000")


BLOCKING = """add table inet filter
add chain inet filter input { type filter hook input priority 0; policy drop; }
add rule inet filter input tcp dport 22 accept
"""
NFT_FACTS = {"firewall.family": "inet", "firewall.table": "filter", "firewall.chain": "input",
             "firewall.ports": "9092,9093", "firewall.peers": "10.0.0.0/8,192.168.0.0/16"}  # fmt: skip


def status(inside: Namespace, state: pathlib.Path) -> str:
    """How the firewall looks to the check: ok, warning or critical."""
    expected = {"roles": ["broker"], "ports": [9092, 9093], "firewall": "active",
                "limits": {"firewall": {"peers": "10.0.0.0/8, 192.168.0.0/16"}}}  # fmt: skip
    row = inside.findings("firewall", expected, state)["firewall"]
    return str(row["status"])


@pytest.mark.slow
@pytest.mark.root
@ROOT_NEEDED
@needs("nft", "unshare", "nsenter", "ip")
def test_nftables_lets_the_peers_in_and_back(tmp_path: pathlib.Path) -> None:
    with Namespace("--net") as inside:
        inside.run("ip", "link", "set", "lo", "up")
        inside.run("nft", "-f", "-", text=BLOCKING)
        assert status(inside, tmp_path / "state") == "critical"
        for begins in ("Check the nftables rules", "Allow the peers through nftables"):
            one = step("firewall", begins)
            text = placeholders.fill(one.input, lambda name: NFT_FACTS[str(name).strip("{}")])
            inside.run(*one.run, text=text)
        assert status(inside, tmp_path / "state") == "ok"
        inside.run(*filled("firewall", "Allow the peers through nftables", NFT_FACTS, "undo"))
        assert status(inside, tmp_path / "state") == "critical"


@pytest.mark.slow
@pytest.mark.root
@ROOT_NEEDED
@needs("iptables", "unshare", "nsenter", "ip")
def test_iptables_lets_the_peers_in_once_and_back(tmp_path: pathlib.Path) -> None:
    begins = "Allow the peers through iptables"
    with Namespace("--net") as inside:
        inside.run("ip", "link", "set", "lo", "up")
        inside.run("iptables", "-P", "INPUT", "DROP")
        assert status(inside, tmp_path / "state") == "critical"
        for network in ("10.0.0.0/8", "192.168.0.0/16"):
            facts = {"each.": network, "each": network, "firewall.ports": "9092,9093"}
            with pytest.raises(AssertionError):
                inside.run(*filled("firewall", begins, facts, "done"))
            inside.run(*filled("firewall", begins, facts))
            inside.run(*filled("firewall", begins, facts, "done"))
        assert status(inside, tmp_path / "state") == "ok"
        for network in ("10.0.0.0/8", "192.168.0.0/16"):
            inside.run(*filled("firewall", begins, {**facts, "each.": network, "each": network}, "undo"))
        assert status(inside, tmp_path / "state") == "critical"
