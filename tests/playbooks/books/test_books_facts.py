"""Facts that our playbooks lean on: what must not be guessed wrong before something is taken away or set."""

from __future__ import annotations

import pytest

from agent.expected import Expected
from inventory.model import Host
from playbooks.fact_schema import Fact
from playbooks.facts import Choice, Look, find
from playbooks.view import View
from tests.playbooks.fake_machine import Told, disk, found, lsblk, part
from tests.playbooks.test_facts import DETAIL, MDSTAT, raid

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
    assert found("broker", machine).words("open_files_wanted") == "1048576", "infinity is what the kernel allows"

    machine.files = {**machine.files, "/proc/sys/fs/nr_open": "10000000\n"}
    assert found("broker", machine).words("open_files_wanted") == "10000000"


def running(**files: str) -> Told:
    """A machine with a broker, pid 4711, that runs in a unit."""
    machine = jbod(WITH_ZOOKEEPER, "kafka")
    machine.commands = {**machine.commands, "ps ": "4711 kafka java java kafka.Kafka /etc/kafka/server.properties\n"}
    machine.files = {**machine.files, "/proc/4711/cgroup": "0::/system.slice/kafka.service\n", **files}
    return machine


@pytest.mark.parametrize(("score", "wanted"), [("0", "900"), ("-1000", "1000"), ("-950", "950"), ("500", "900")])
def test_a_broker_that_is_protected_better_from_the_oom_killer_stays_so(score: str, wanted: str) -> None:
    machine = running(**{"/proc/4711/oom_score_adj": f"{score}\n"})

    assert found("broker", machine).words("oom_protection_wanted") == wanted


@pytest.mark.parametrize(
    ("said", "at_boot"),
    [("enabled", "yes"), ("generated", "yes"), ("disabled", "no"), ("static", "no"), ("masked", "no"), ("", "no")],
)
def test_whether_a_unit_starts_at_boot_is_known(said: str, at_boot: str) -> None:
    machine = running()
    machine.commands = {**machine.commands, "systemctl is-enabled": f"{said}\n"}

    assert found("broker", machine).words("at_boot") == at_boot
    assert found("broker", machine).words("managed") == "systemd"


def test_a_broker_without_a_unit_is_told_as_such() -> None:
    assert found("broker", running(**{"/proc/4711/cgroup": "0::/\n"})).words("managed") == "otherwise"


@pytest.mark.parametrize(
    ("line", "now", "wanted"),
    [
        ("maxClientCnxns=60", "60", "300"), ("maxClientCnxns = 1000", "1000", "2000"), ("", "", "300"),
        ("maxClientCnxns=0", "", ""), ("maxClientCnxns=-1", "", ""), ("maxClientCnxns=300", "300", "600"),
        ("maxClientCnxns=many", "", ""),
    ],
)  # fmt: skip
def test_the_limit_of_zookeepers_connections_is_never_lowered(line: str, now: str, wanted: str) -> None:
    said = "ExecStart={ argv[]=/opt/x /etc/zookeeper/zoo.cfg ; }\nUser=zookeeper\n"
    machine = Told({"ps ": "1 root systemd /sbin/init\n", "id -u": "0",
                    "systemctl list-unit-files": "zookeeper.service enabled enabled\n", "systemctl show": said},
                   {"/etc/zookeeper/zoo.cfg": f"clientPort=2181\n{line}\n"})  # fmt: skip
    one = found("zookeeper", machine)

    assert (one.words("max_client_cnxns"), one.words("max_client_cnxns_wanted")) == (now, wanted)


@pytest.mark.parametrize(
    "source",
    ["/dev/disk/by-path/pci-0000:3b:00.0-sas-phy2-lun-0", "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4", "LABEL=kafka-d2",
     "PARTUUID=0a1b2c3d-01", "PARTLABEL=kafka", "/dev/sdd", 'UUID="11111111-2222-4333-8444-555555555555"',
     "ID=wwn-0x5000c500a1b2c3d4", "/dev/md/kafka-a01:0"],
)  # fmt: skip
@pytest.mark.parametrize("mounted", [True, False])
def test_every_way_in_which_fstab_names_a_disk_can_be_planned(source: str, mounted: bool) -> None:
    machine = jbod(WITH_ZOOKEEPER, "kafka")
    machine.files["/etc/fstab"] = f"{source} /kafka/d2 xfs noatime 0 2\n"
    kind, _, value = source.partition("=")
    names = {"LABEL": "label", "PARTUUID": "partuuid", "PARTLABEL": "partlabel", "UUID": "uuid", "ID": "id"}
    path = f"/dev/disk/by-{names[kind]}/{value.strip(chr(34))}" if value else source
    machine.links[path] = "/dev/sdd"
    if not mounted:
        machine.files["/proc/self/mountinfo"] = "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n"

    one = found("jbod-disk", machine, Choice(item="/kafka/d2"))

    assert (one.words("fstab"), one.words("mount"), one.words("device")) == (source, "/kafka/d2", "/dev/sdd")


def test_all_log_dirs_of_a_mount_are_known() -> None:
    config = WITH_ZOOKEEPER + "log.dirs=/kafka/d1/logs,/kafka/d2/logs,/kafka/d2/more\n"

    one = found("jbod-disk", jbod(config, "kafka"), Choice(item="/kafka/d2"))

    assert one.values["log_dirs"] == ("/kafka/d2/logs", "/kafka/d2/more")


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
