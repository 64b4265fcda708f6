"""Facts that our playbooks lean on: what must not be guessed wrong before something is taken away or set."""

from __future__ import annotations

import pytest

from agent.expected import Expected
from inventory.model import Host
from playbooks.facts import Choice, Look, find
from playbooks.kinds import Fact
from playbooks.view import View
from tests.playbooks.test_facts import DETAIL, MDSTAT, raid
from tests.playbooks.told_machine import Told, disk, found, lsblk, part

UUID = "0c9f1d6e-8f0a-4a53-9a4c-3f1f6d1f7a11"
KRAFT = "process.roles=broker\nnode.id=7\nlog.dirs=/kafka/d1/logs,/kafka/d2/logs\nlisteners=PLAINTEXT://:9092\n"
WITH_ZOOKEEPER = "broker.id=7\nlog.dirs=/kafka/d1/logs,/kafka/d2/logs\nlisteners=PLAINTEXT://:9092\n"


def without_sdc() -> Told:
    """The same array when md no longer lists the member that failed."""
    machine = raid()
    machine.files["/proc/mdstat"] = MDSTAT.replace(" sdc2[2](F)", "")
    rows = DETAIL.splitlines(keepends=True)
    machine.commands["mdadm --detail --export /dev/md0"] = "".join(row for row in rows if "sdc2" not in row)
    return machine


def test_a_member_that_md_no_longer_lists_is_the_one_that_is_meant() -> None:
    finding = {"check": "raid", "item": "md0", "status": "critical", "facts": {}}
    vanished = {"check": "smart", "item": "SER-C", "status": "critical", "facts": {"vanished": "sdc is gone"}}

    gone = found("raid10-disk", without_sdc(), findings=[finding, vanished])

    assert (gone.words("serial"), gone.words("member"), gone.words("device")) == ("SER-C", "", "")
    assert (gone.words("partner_serial"), gone.words("role")) == ("SER-D", "2")
    assert (gone.words("array"), gone.words("raid_item"), gone.words("array_sysfs")) == (
        "/dev/md0", "md0", "/sys/block/md0/md")  # fmt: skip
    assert gone.words("partition_number") == "2", "the new disk gets the partner's partitions"


def test_a_whole_array_has_no_member_that_is_gone() -> None:
    machine = without_sdc()
    machine.files["/proc/mdstat"] = MDSTAT.replace("sdc2[2](F)", "sdc2[2]")
    machine.commands["mdadm --detail --export /dev/md0"] = DETAIL.replace("sdc2_ROLE=spare", "sdc2_ROLE=2")

    assert found("raid10-disk", machine, Choice(disk="SER-C")).words("partner_serial") == "SER-D"


def jbod(config: str, user: str) -> Told:
    """A broker with two disks, that is stopped."""
    disks = [disk(f"sd{name}", f"SER-{name}", fstype="xfs", uuid=UUID.replace("0c9f", f"{number}c9f"))
             for number, name in enumerate("cd", 1)]  # fmt: skip
    mounted = "".join(f"{30 + number} 1 9:sd{name} / /kafka/d{number} rw - xfs /dev/sd{name} rw\n"
                      for number, name in enumerate("cd", 1))  # fmt: skip
    return Told(
        {"lsblk": lsblk(disk("sda", "SYS", part("sda1", mountpoint="/")), *disks), "ps ": "1 root systemd /sbin/init\n",
         "id -u": "0", "systemctl list-unit-files": "kafka.service enabled enabled\n",
         "systemctl show": f"ExecStart={{ argv[]=/opt/x /etc/kafka/server.properties ; }}\nUser={user}\n"},
        {"/proc/self/mountinfo": mounted, "/etc/fstab": "", "/etc/kafka/server.properties": config},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("config", "user", "others", "why"),
    [
        (WITH_ZOOKEEPER, "kafka", "yes", "it has another log dir"),
        (KRAFT + "metadata.log.dir=/kafka/d1/logs\n", "kafka", "yes", "its metadata lie elsewhere"),
        (KRAFT + "metadata.log.dir=/kafka/d2/logs\n", "kafka", "no", "its metadata lie here"),
        (KRAFT.replace("/kafka/d1/logs,", ""), "kafka", "no", "it has no other log dir"),
        (KRAFT + "metadata.log.dir=/kafka/d1/logs\n", "root", "no", "root finds an empty folder where it is closed"),
    ],
)
def test_whether_a_broker_runs_without_a_disk(config: str, user: str, others: str, why: str) -> None:
    assert found("jbod-disk", jbod(config, user), Choice(disk="SER-d")).words("others") == others, why


def test_a_limit_is_never_lowered() -> None:
    machine = jbod(WITH_ZOOKEEPER, "kafka")
    assert found("broker", machine).words("open_files_wanted") == "100000"

    machine.commands = {"systemctl show --property=LimitNOFILE": "524288\n", **machine.commands}
    assert found("broker", machine).words("open_files_wanted") == "524288"

    machine.commands = {**machine.commands, "systemctl show --property=LimitNOFILE": "infinity\n"}
    assert found("broker", machine).words("open_files_wanted") == "100000", "the check's, where no number is told"


def firewalled(**limits: str) -> Fact:
    machine = Told({"ps ": "1 root systemd /sbin/init\n", "id -u": "0", "systemctl list-unit-files": "",
                    "iptables -S": "-P INPUT DROP\n"})  # fmt: skip
    host = Host("kafka-a01", roles=("broker",), ports=(9092, 9093), limits={"firewall": limits})
    view = View(machine, Expected(roles=("broker",), ports=(9092, 9093)))
    return find("it", "firewall", Look(host, view), Choice())


def test_a_firewall_is_opened_for_the_peers_of_the_inventory_alone() -> None:
    fact = firewalled(peers="10.0.0.0/8, fd00::/8")

    assert (fact.words("peers"), fact.words("peers6")) == ("10.0.0.0/8", "fd00::/8")
    rules = fact.values["rich_rules"]
    assert isinstance(rules, tuple) and len(rules) == 4, "two networks, two ports"
    assert 'rule family="ipv6" source address="fd00::/8" port port="9092" protocol="tcp" accept' in rules


def test_without_peers_everybody_is_let_in_and_that_is_said() -> None:
    fact = firewalled()

    assert (fact.words("peers"), fact.words("peers6")) == ("0.0.0.0/0", "::/0")


def scanner(finding: dict[str, object], units: str, cgroup: str = "") -> Fact:
    machine = Told({"systemctl list-unit-files": units}, {"/proc/4711/cgroup": cgroup})
    return found("antivirus", machine, findings=[{"check": "antivirus", "status": "critical", **finding}])


@pytest.mark.parametrize(("cgroup", "unit", "how"), [
    ("0::/system.slice/scanner.service\n", "scanner.service", "stop"),
    ("0::/user.slice/user-0.slice/session-3.scope\n", "", "kill"),
])  # fmt: skip
def test_a_program_of_no_known_product_is_stopped_by_its_unit_if_it_has_one(cgroup: str, unit: str, how: str) -> None:
    facts = {"known": False, "running": ["fatrace (4711)"]}

    fact = scanner({"item": "fatrace", "facts": facts}, "", cgroup)

    assert (fact.words("product"), fact.words("unit"), fact.words("how"), fact.words("pid")) == (
        "fatrace", unit, how, "4711")  # fmt: skip


def test_clamav_is_its_daemon_and_not_what_fetches_its_signatures() -> None:
    units = "clamav-clamonacc.service disabled enabled\nclamav-daemon.service enabled enabled\n" \
        "clamav-freshclam.service enabled enabled\n"  # fmt: skip

    fact = scanner({"item": "ClamAV", "facts": {"known": True, "running": ["clamd (4711)"]}}, units)

    assert (fact.words("unit"), fact.words("how")) == ("clamav-daemon.service", "clamav")
