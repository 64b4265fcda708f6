"""zookeeper: silence of a server is not health, and each number has its edges."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.kafka import zookeeper
from agent.expected import Expected
from agent.host import CannotTell, Disk, Process, Refused, Stuck, Touched
from agent.sources.zookeeper import servers as zookeeper_servers
from agent.status import Finding
from tests.agent.sources.zookeeper.test_four_letter import CONS, MNTR, SRVR
from tests.machine import FakeHost, by_item, next_run, run_checks

CONF = "clientPort=2181\ndataDir=/zk/version-2\ndataLogDir=/zk/version-2\nmaxClientCnxns=60\n"
REFUSAL = "{} is not executed because it is not in the whitelist.\n"
WORDS = {"srvr": SRVR, "mntr": MNTR, "cons": CONS, "conf": CONF}
ITEM = "127.0.0.1:2181"


def answers(server: str = "127.0.0.1 2181", **words: Any) -> dict[str, Any]:
    return {f"exchange {server} {word}": text for word, text in {**WORDS, **words}.items()}


def machine(*roles: str, zoo_cfg: str = "", broker: str = "", **words: Any) -> FakeHost:
    said: dict[str, Any] = {"processes": [], **answers(**words)}
    for pid, main, path, text in (
        (5, "org.apache.zookeeper.server.quorum.QuorumPeerMain", "/etc/zoo.cfg", zoo_cfg),
        (6, "kafka.Kafka", "/etc/server.properties", broker),
    ):
        if text:
            said["processes"].append(Process(pid, "java", ("java", main, path), "kafka", 0.0))
            said[f"touch read {path}"] = Touched("", {"text": text})
    return FakeHost(answers=said, expected=Expected(roles=roles or ("zookeeper",)))


def only(host: FakeHost) -> Finding:
    (finding,) = run_checks(host, "zookeeper")
    return finding


def test_a_healthy_server_is_quiet() -> None:
    finding = only(machine())

    assert (finding.item, finding.status) == (ITEM, "ok")
    assert finding.verdict.reason == "ZooKeeper 127.0.0.1:2181 is leader, 3 connections"
    assert finding.facts["fullest_source"] == "10.0.0.7"


def test_without_kafka_or_zookeeper_there_is_no_question() -> None:
    assert only(FakeHost(answers={"processes": []})).status == "skipped"


def test_silence_is_critical_with_its_playbook_and_well_again_once_it_speaks() -> None:
    host = machine(srvr="", zoo_cfg="clientPort=2181\nmaxClientCnxns=40\n")
    finding = only(host)

    assert (finding.status, finding.verdict.playbook) == ("critical", "zookeeper-connections")
    assert "maxClientCnxns reached (40)" in finding.verdict.reason
    assert only(next_run(host, answers=answers())).status == "ok"


def test_silence_after_the_first_word_is_silence_too() -> None:
    assert only(machine(cons="")).status == "critical"


class OneAfterTheOther:
    """What the hand-made machine says at each time it is asked; the last of it from then on."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    def __str__(self) -> str:
        return self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]


FULL = "".join(f" /10.0.0.7:{port}[1](queued=0,recved=1,sent=1)\n" for port in range(40000, 40060))


@pytest.mark.parametrize("cut", ["", FULL[:300], FULL[: len(FULL) // 2]])
def test_an_answer_that_was_closed_before_its_end_is_asked_for_again(cut: str) -> None:
    srvr = SRVR.replace("Connections: 3", "Connections: 61")

    finding = only(machine(srvr=srvr, cons=OneAfterTheOther(cut, cut, FULL)))

    assert finding.status == "critical" and "60 of 60 connections from 10.0.0.7" in finding.verdict.reason


def test_an_answer_that_is_lost_once_is_no_silence() -> None:
    lost: dict[str, Any] = {word: OneAfterTheOther("", text) for word, text in WORDS.items() if word != "srvr"}

    assert only(machine(**lost)).status == "ok"


def test_refused_is_critical_here_and_a_warning_from_afar() -> None:
    here = only(machine(srvr=Refused("127.0.0.1:2181: connection refused")))
    host = machine("broker", broker="zookeeper.connect=zk1:2181/kafka\n")
    host.answers["exchange zk1 2181 srvr"] = Refused("zk1:2181: connection refused")
    afar = only(host)

    assert (here.status, afar.status, afar.item) == ("critical", "warning", "zk1:2181")
    assert "nothing listens" in here.verdict.reason


@pytest.mark.parametrize(
    ("word", "text", "status", "words"),
    [
        ("srvr", "This ZooKeeper instance is not currently serving requests\n", "critical", "no quorum"),
        ("srvr", SRVR.replace("leader", "read-only"), "critical", "read-only"),
        ("srvr", "\x15\x03\x03\x00\x02\x02P", "unknown", "TLS only"),
        ("srvr", "HTTP/1.1 400 Bad Request\r\n", "unknown", "no mode in the reply to srvr"),
        ("srvr", Stuck(ITEM, 4), "unknown", "timed out after 4 s"),
        ("srvr", CannotTell("127.0.0.1:2181: No route to host"), "unknown", "No route"),
        ("mntr", REFUSAL.format("mntr"), "unknown", "4lw.commands.whitelist=srvr,mntr,cons,conf,isro,ruok"),
        ("cons", REFUSAL.format("cons"), "unknown", "does not allow cons"),
        ("cons", "rubbish", "unknown", "unexpected reply to"),
    ],
)
def test_each_odd_answer_has_its_status(word: str, text: Any, status: str, words: str) -> None:
    finding = only(machine(**{word: text}))

    assert finding.status == status and words in finding.verdict.reason


def test_closed_words_do_not_hide_what_the_open_one_says() -> None:
    closed = {word: REFUSAL.format(word) for word in ("mntr", "cons", "conf")}
    finding = only(machine(srvr=SRVR.replace("Outstanding: 0", "Outstanding: 5000"), **closed))

    assert finding.status == "critical" and "5000 requests waiting" in finding.verdict.reason
    assert "whitelist" in finding.verdict.reason


def test_the_configuration_file_stands_in_for_conf() -> None:
    host = machine(zoo_cfg="clientPort=2181\nmaxClientCnxns=2\n", conf=REFUSAL.format("conf"))
    finding = only(host)

    assert finding.status == "critical" and "2 of 2 connections from 10.0.0.7" in finding.verdict.reason
    assert "conf" not in finding.facts["not_allowed"]


HEALTHY = zookeeper.Facts(ITEM, True, "answered", "follower", connections=10)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"fullest_source_connections": 44}, "ok"),
        ({"fullest_source_connections": 45}, "warning"),
        ({"fullest_source_connections": 53}, "warning"),
        ({"fullest_source_connections": 54}, "critical"),
        ({"fullest_source_connections": 500, "source_limit": 0}, "ok"),
        ({"connections": 74, "connections_limit": 100}, "ok"),
        ({"connections": 75, "connections_limit": 100}, "warning"),
        ({"connections": 90, "connections_limit": 100}, "critical"),
        ({"connections": 9000, "connections_limit": 0}, "ok"),
        ({"latency_avg_ms": 99.9}, "ok"),
        ({"latency_avg_ms": 100.0}, "warning"),
        ({"latency_avg_ms": 1000.0}, "critical"),
        ({"latency_max_ms": 90_000}, "ok"),
        ({"recent": (("slow", 0.5, 999),)}, "ok"),
        ({"recent": (("slow", 0.5, 1000),)}, "warning"),
        ({"recent": (("slow", 0.5, 6000),)}, "critical"),
        ({"recent": (("slow", 1.0, 6000),)}, "ok"),
        ({"outstanding": 9}, "ok"),
        ({"outstanding": 10}, "warning"),
        ({"outstanding": 1000}, "critical"),
        ({"open_files": 69, "open_files_limit": 100}, "ok"),
        ({"open_files": 70, "open_files_limit": 100}, "warning"),
        ({"open_files": 85, "open_files_limit": 100}, "critical"),
        ({"data_bytes": (1 << 30) - 1}, "ok"),
        ({"data_bytes": 1 << 30}, "warning"),
        ({"znodes": 1_000_000}, "warning"),
        ({"recent": (("expired", 0.1, 1), ("expired", 0.2, 1))}, "ok"),
        ({"recent": (("expired", 0.1, 1), ("expired", 0.2, 2))}, "warning"),
        ({"recent": (("rejected", 0.1, 1),)}, "warning"),
        ({"mode": "leader", "synced_followers": 2, "followers": 2}, "ok"),
        ({"mode": "leader", "synced_followers": 1, "followers": 2}, "warning"),
        ({"rotating_disk": "sda (/zk)"}, "warning"),
        ({"beside_broker": True}, "warning"),
    ],
)
def test_the_edges_of_the_limits(change: dict[str, Any], status: str) -> None:
    assert zookeeper.judge(HEALTHY._replace(**change), zookeeper.LIMITS).status == status


def mntr(expired: int, rejected: int = 0) -> str:
    return MNTR + f"zk_stale_sessions_expired\t{expired}\nzk_connection_rejected\t{rejected}\n"


def test_sessions_that_expired_long_ago_are_no_news_and_new_ones_are_told_for_an_hour() -> None:
    first = machine(mntr=mntr(500, 9))
    assert only(first).status == "ok"
    second = next_run(first, answers=answers(mntr=mntr(504, 9)))
    told = only(second)
    assert told.status == "warning" and "4 sessions expire" in told.verdict.reason
    third = next_run(second)
    assert "4 sessions expire" in only(third).verdict.reason
    assert only(next_run(third, after_s=3600)).status == "ok"


def test_an_old_record_of_slowness_is_no_news() -> None:
    old = SRVR.replace("/27", "/90000")
    first = machine(srvr=old)
    assert only(first).status == "ok"
    second = next_run(first)
    assert only(second).status == "ok"
    slower = next_run(second, answers=answers(srvr=SRVR.replace("/27", "/95000")))
    assert only(slower).status == "critical"


def test_a_broker_asks_those_that_its_configuration_names() -> None:
    host = machine("broker", broker="zookeeper.connect=zk1:2181,zk2:2182,[fd00::3]:2181/kafka\n")
    for server in ("zk1 2181", "zk2 2182", "fd00::3 2181"):
        host.answers.update(answers(server))

    findings = by_item(run_checks(host, "zookeeper"))

    assert {item: finding.status for item, finding in findings.items()} == {
        "zk1:2181": "ok",
        "zk2:2182": "ok",
        "[fd00::3]:2181": "ok",
    }


def test_the_inventory_comes_before_the_configuration() -> None:
    host = machine("broker", broker="zookeeper.connect=old:2181\n")
    host.expected = host.expected._replace(zookeeper=("zk9:2181",))
    host.answers.update(answers("zk9 2181"))

    assert only(host).item == "zk9:2181"


def test_a_server_that_shares_its_machine_with_the_broker_is_one_item_and_a_warning() -> None:
    host = machine("broker", "zookeeper", zoo_cfg="clientPort=2181\n", broker="zookeeper.connect=10.0.0.5:2181\n")
    host.files["/proc/sys/kernel/hostname"] = "kafka-a03\n"
    host.files["/proc/net/fib_trie"] = "Local:\n  |-- 10.0.0.5\n     /32 host LOCAL\n"
    finding = only(host)

    assert (finding.item, finding.status) == (ITEM, "warning")
    assert "shares this machine" in finding.verdict.reason


@pytest.mark.parametrize(
    ("broker", "status", "words"),
    [
        ("process.roles=broker\n", "skipped", "KRaft"),
        ("broker.id=1\n", "unknown", "/etc/server.properties names no ZooKeeper"),
        ("", "unknown", "no broker runs here"),
        ("zookeeper.connect=zk1:99999\n", "unknown", "is not an address"),
    ],
)
def test_a_broker_that_names_none_says_why(broker: str, status: str, words: str) -> None:
    finding = only(machine("broker", broker=broker))

    assert finding.status == status and words in finding.verdict.reason


def test_a_broker_whose_configuration_cannot_be_read_names_nobody_that_we_know_of() -> None:
    host = machine("broker", broker="unread")
    host.answers["touch read /etc/server.properties"] = Touched("EACCES", {"error": "Permission denied"})
    host.answers["is_root"] = False
    finding = only(host)

    assert finding.status == "unknown"
    assert finding.verdict.reason.startswith("needs root: /etc/server.properties cannot be read")


@pytest.mark.parametrize(
    ("zoo_cfg", "item"),
    [
        ("clientPort=2182\n", "127.0.0.1:2182"),
        ("clientPort=2181\nclientPortAddress=10.0.0.5\n", "10.0.0.5:2181"),
        ("clientPort=2181\nclientPortAddress=0.0.0.0\n", "127.0.0.1:2181"),
        ("server.1=zk1:2888:3888;2183\n", "127.0.0.1:2183"),
        ("server.1=zk1:2888:3888:participant;0.0.0.0:2184\n", "127.0.0.1:2184"),
        ("tickTime=2000\n", "127.0.0.1:2181"),
    ],
)
def test_the_local_server_is_found_by_its_configuration(zoo_cfg: str, item: str) -> None:
    host = machine(zoo_cfg=zoo_cfg)
    address, _, port = item.rpartition(":")
    host.answers.update(answers(f"{address} {port}"))

    assert (only(host).item, only(host).status) == (item, "ok")


def test_a_server_with_a_tls_port_alone_is_not_asked() -> None:
    finding = only(machine(zoo_cfg="secureClientPort=2281\n"))

    assert (finding.item, finding.status) == ("127.0.0.1:2281", "unknown")
    assert "TLS only" in finding.verdict.reason


def test_the_followers_of_an_old_version_are_counted_from_its_configuration() -> None:
    ensemble = CONF + "server.1=a:2888:3888\nserver.2=b:2888:3888\nserver.3=c:2888:3888\nserver.4=d:1:2:observer\n"
    finding = only(machine(conf=ensemble, mntr=MNTR + "zk_synced_followers\t1\n"))

    assert finding.status == "warning" and "1 of 2 followers in sync" in finding.verdict.reason


DISK = Disk("sda", "physical", "ST1000NM0008", "Z1", "", 1 << 40, True, "ata", "", "8:0")


@pytest.mark.parametrize(
    ("disk", "status"),
    [
        (DISK, "warning"),
        (DISK._replace(rotational=False), "ok"),
        (DISK._replace(model="PERC H730P Mini"), "ok"),
    ],
)
def test_a_rotating_disk_below_the_log_is_a_warning(disk: Disk, status: str) -> None:
    host = machine()
    host.files.update(
        {"/proc/self/mountinfo": "22 1 8:1 / /zk rw - ext4 /dev/sda1 rw\n", "/sys/block/sda/sda1/dev": "8:1"}
    )
    host.answers.update({"disks": [disk], "link /sys/dev/block/8:1": "/sys/devices/pci/sda/sda1"})
    finding = only(host)

    assert finding.status == status
    assert ("rotating disk sda (/zk/version-2)" in finding.verdict.reason) == (status == "warning")


@pytest.mark.parametrize("name", ["vda", "xvdb"])
def test_a_hypervisors_disk_says_nothing_of_what_is_below(name: str) -> None:
    assert not zookeeper_servers._says_true(DISK._replace(name=name))


@given(st.text(), st.text(), st.text(), st.text())
def test_rubbish_in_every_word_is_never_a_failed_check(srvr: str, monitor: str, cons: str, conf: str) -> None:
    finding = only(machine(srvr=srvr, mntr=monitor, cons=cons, conf=conf))

    assert finding.status in ("unknown", "critical")
    assert "the check failed" not in finding.verdict.reason


@given(st.text(), st.text(), st.text())
def test_rubbish_beside_a_good_first_word_is_never_a_failed_check(monitor: str, cons: str, conf: str) -> None:
    finding = only(machine(mntr=MNTR + monitor, cons=CONS + cons, conf=CONF + conf))

    assert "the check failed" not in finding.verdict.reason
