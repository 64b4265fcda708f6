"""smoke inventory: check, show, learn, keys; against real sshds where hosts are asked."""

from __future__ import annotations

import contextlib
import json
import pathlib
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

import inventory
from agent.report import Report
from agent.status import ok, unknown
from inventory import schema, tree
from inventory.model import Host
from smoketests import cli
from smoketests.commands import collect_keys, learn
from smoketests.commands import inventory as inventory_command
from smoketests.remote.bundle import BundleError, build
from smoketests.remote.fanout import HostReport
from smoketests.results import inventory_limits
from tests.inventory.files import write
from tests.real.parts.sshd import Sshd, make_key, sshd

EXAMPLES = pathlib.Path(inventory.__file__).parent / "examples"


def smoke_inventory(*words: object) -> Result:
    return CliRunner().invoke(cli.smoke, ["inventory", *map(str, words)], catch_exceptions=False)


# check


@pytest.mark.parametrize("name", ["prod.yaml", "ansible.yaml", "ansible-inventory.yaml"])
def test_no_mistake_is_found_in_the_examples(name: str) -> None:
    result = smoke_inventory("check", EXAMPLES / name)

    assert result.exit_code == 0, result.output
    assert "no mistakes" in result.output


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("limits: {swapiness: {swappiness_warning: 1}}", "no check 'swapiness'; did you mean 'swappiness'?"),
        ("limits: {swappiness: {swapiness_warning: 1}}", "did you mean 'swappiness_warning'?"),
        ("limits: {smart: {items: {X: {forget_day: 1}}}}", "no limit 'forget_day'; did you mean 'forget_days'?"),
        ("limits: {swappiness: {most: 1}}", "swappiness has no limit 'most'; its limits: swappiness_warning"),
        ("limits: {smart: {forget_day: 1}}", "Its limits: crc_growth_warning, "),
        ("limits: {swappiness: {swappiness_critical: 60}}",
         "no limit 'swappiness_critical' any more; set swappiness_warning: swappiness is advice and never critical"),
        ("limits: {swappiness: {swappiness_warning: high}}", "swappiness_warning is a number such as 1, not 'high'"),
        ("limits: {disk_scheduler: {good_schedulers: 5}}", "good_schedulers is a text"),
        ("skip: {powr: no BMC}", "skip: no check 'powr'; did you mean 'power'?"),
    ],
)  # fmt: skip
def test_checks_and_limits_that_do_not_exist_are_mistakes(settings: str, words: str, tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, f"clusters:\n  c:\n    {settings}\n    hosts: ['k[1-50]']\n")

    result = smoke_inventory("check", "-i", path)

    assert result.exit_code == 3
    assert words in result.output
    assert f"{path}:3:" in result.output
    assert result.output.endswith("\n1 mistake\n")


def test_hosts_are_not_asked_with_a_limit_that_does_not_exist(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, "clusters: {c: {limits: {smart: {forget_day: 1}}, hosts: [h]}}")

    result = CliRunner().invoke(cli.smoke, ["all", "-i", path])

    assert result.exit_code != 0
    assert "smart has no limit 'forget_day'; did you mean 'forget_days'?" in result.output


def test_mistakes_come_all_at_once_and_nothing_of_the_rest(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, "clusters: {c: {layuot: jbod, hosts: {h: {psus: x}}}}")

    result = smoke_inventory("check", path)

    assert result.exit_code == 3
    assert result.output.splitlines() == [
        f"{path}:1:16: unknown key 'layuot'; did you mean 'layout'?",
        f"{path}:1:48: psus: 'x' is not a whole number (how many power supplies should be fitted)",
        "2 mistakes",
    ]


def test_limits_of_cluster_checks_are_known_too(tmp_path: pathlib.Path) -> None:
    text = "clusters: {c: {limits: {clock_skew: {clock_skw: 1}}, skip: {reach: it is off}, hosts: [h]}}"

    result = smoke_inventory("check", write(tmp_path, text))

    assert "clock_skew has no limit 'clock_skw'" in result.output
    assert "reach" not in result.output


def test_every_limit_of_every_check_can_be_said(tmp_path: pathlib.Path) -> None:
    from agent import engine

    limits = {name: dict(engine.load(name).LIMITS) for name in engine.names()}
    path = write(tmp_path, json.dumps({"clusters": {"c": {"limits": limits, "hosts": ["h"]}}}))

    assert inventory_limits.load([path]).hosts[0].limits == {name: values for name, values in limits.items() if values}


# show


def test_show_says_where_each_value_came_from() -> None:
    path = EXAMPLES / "prod.yaml"
    result = smoke_inventory("show", "-i", path, "kafka-a07")
    rows = {words[0]: words for words in map(str.split, result.output.splitlines())}
    lines = path.read_text().splitlines()

    def said_in(setting: str) -> str:
        return lines[int(rows[setting][-1].split(":")[-2]) - 1].strip()

    assert rows["limits.disk_usage.data_percent_warning"][1] == "80"
    assert said_in("limits.disk_usage.data_percent_warning") == "data_percent_warning: 80"
    assert said_in("address") == "address: 10.0.1.[11-24]"
    assert said_in("psus") == "psus: 2"
    assert rows["write_probe"][1:] == ["yes", "default"]


def test_show_gives_what_the_agent_is_told() -> None:
    result = smoke_inventory("show", "--expected", "-i", EXAMPLES / "prod.yaml", "zk-a1")

    assert json.loads(result.output)["roles"] == ["zookeeper"]


def test_show_suggests_a_host() -> None:
    result = smoke_inventory("show", "-i", EXAMPLES / "prod.yaml", "kafka-a7")

    assert result.exit_code != 0
    assert "did you mean 'kafka-a07'?" in result.output


# learn


def finding(check: str, item: str, status: str = "ok", reason: str = "", **facts: Any) -> dict[str, Any]:
    return {"check": check, "item": item, "status": status, "reason": reason, "facts": facts}


def heard(name: str, *findings: dict[str, Any], role: str = "broker") -> HostReport:
    return HostReport(Host(name), Report({"role": role}, list(findings), []), [], ok("answered"), 1.0)


FOUND = (
    finding("mounts", "/kafka/d1", mounted=True, device="/dev/sdb1", fstype="xfs"),
    finding("mounts", "/kafka/d2", mounted=True, device="nvme0n1p1", fstype="ext4"),
    finding("mounts", "/kafka/d3", "critical", mounted=False),
    finding("smart", "ZA1", path="/dev/sdb", serial="ZA1"),
    finding("smart", "NV1", path="/dev/nvme0n1", serial="NV1"),
    finding("smart", "0123", path="/dev/sdc", serial="0123"),
    finding("nic_link", "eth0", interface="eth0", present=True, carrier=True, speed_mbps=25000),
    finding("nic_link", "eth1", interface="eth1", present=True, carrier=False, speed_mbps=0),
    finding("power", "PS1", part="PS1", present=True),
    finding("power", "PS2", part="PS2", present=True),
    finding("power", "redundancy", part="redundancy", present=True),
    finding("services", "broker", ports=[9092, 9093]),
    finding("firewall", "firewall", active=[], unseen=""),
    finding("raid", "-", "unknown", "needs root: storcli"),
)


def read_back(text: str, folder: pathlib.Path) -> inventory.Inventory:
    return inventory.load([write(folder, text, "learned.yaml")])


def test_what_is_learned_is_an_inventory_of_what_was_found(tmp_path: pathlib.Path) -> None:
    text = learn.learned([heard("k2", *FOUND[:1]), heard("k1", *FOUND)], "prod")
    loaded = read_back(text, tmp_path)
    k1 = loaded.host("k1")

    assert [host.name for host in loaded.hosts] == ["k1", "k2"]
    assert (k1.cluster, k1.roles, k1.layout, k1.psus, k1.ports) == ("prod", ("broker",), "jbod", 2, (9092, 9093))
    assert [(mount.path, mount.serial, mount.fstype) for mount in k1.mounts] == [
        ("/kafka/d1", "ZA1", "xfs"), ("/kafka/d2", "NV1", "ext4")]  # fmt: skip
    assert k1.disks == ("0123", "NV1", "ZA1")
    assert [(one.name, one.speed_mbps) for one in k1.interfaces] == [("eth0", 25000)]
    assert k1.firewall == "inactive"
    assert "# raid -: needs root: storcli" in text


def test_a_host_that_did_not_answer_is_a_remark(tmp_path: pathlib.Path) -> None:
    gone = HostReport(Host("k9"), Report({}, [], []), [], unknown("refused\x1b[2J\nclusters: {}"), 0.1)

    assert "# k9: refused [2J clusters: {}" in learn.learned([gone], "prod")
    assert [host.name for host in read_back(learn.learned([gone, heard("k1", *FOUND)], "p"), tmp_path).hosts] == ["k1"]


def test_serial_numbers_of_two_machines_are_no_identity(tmp_path: pathlib.Path) -> None:
    text = learn.learned([heard("k1", *FOUND[3:4]), heard("k2", *FOUND[3:5])], "prod")

    assert [host.disks for host in read_back(text, tmp_path).hosts] == [(), ()]
    assert "serial numbers that another machine has too" in text


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["/a", "sdb", "\x1b[2J"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
NAMES = ["mounted", "device", "fstype", "path", "serial", "interface", "present", "carrier", "speed_mbps", "part",
         "ports", "active", "unseen", "kind", "level"]  # fmt: skip


@given(
    st.lists(
        st.builds(
            finding,
            st.sampled_from(learn.CHECKS),
            st.text(max_size=9) | st.just("/a"),
            st.sampled_from(["ok", "unknown"]),
            st.text(max_size=20),
        ).flatmap(
            lambda one: st.dictionaries(st.sampled_from(NAMES), VALUES | st.just(True), max_size=8).map(
                lambda facts: {**one, "facts": facts}
            )
        ),
        min_size=1,
        max_size=6,
    )
)
def test_whatever_a_host_says_the_learned_text_is_yaml_with_its_name(findings: list[dict[str, Any]]) -> None:
    text = learn.learned([heard("k1", *findings, role="broker,\x1b[2J")], "prod")

    assert set(yaml.safe_load(text)["clusters"]["prod"]["hosts"]) == {"k1"}
    assert all(character.isprintable() or character == "\n" for character in text)
    root, problems = tree.parse(text, "learned")
    assert root is not None and not problems
    assert not schema.check(root)


@pytest.mark.root
@pytest.mark.slow
def test_a_real_host_is_learned(server: Sshd, tmp_path: pathlib.Path, config: pathlib.Path) -> None:
    try:
        build()
    except BundleError as error:
        pytest.skip(str(error))

    answer = CliRunner().invoke(
        inventory_command.inventory,
        [
            "learn",
            f"root@127.0.0.1:{server.port}",
            "--known-hosts",
            str(server.known_hosts),
            "--ssh-config",
            str(config),
        ],
    )

    assert answer.exit_code == 0, answer.output
    host = read_back(answer.stdout, tmp_path).host("127.0.0.1")
    assert (host.port, host.user, host.cluster) == (server.port, "root", "learned")


# keys


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture
def config(server: Sshd, tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "ssh_config"
    path.write_text(f"Host *\n  IdentityFile {server.key}\n  IdentitiesOnly yes\n")
    return path


@pytest.fixture
def inv(server: Sshd, tmp_path: pathlib.Path) -> str:
    return write(tmp_path, f"clusters: {{c: {{hosts: {{k1: {{address: 127.0.0.1, port: {server.port}}}}}}}}}")


def shown_by_ssh(server: Sshd) -> str:
    """The fingerprint as OpenSSH shows it."""
    told = subprocess.run(
        ["ssh-keygen", "-lf", server.folder / "host_key.pub"], check=True, capture_output=True, text=True
    )
    return told.stdout.split()[1]


def keys(inv: str, known_hosts: pathlib.Path, *more: str) -> Result:
    return smoke_inventory("keys", "-i", inv, "--known-hosts", known_hosts, "--ssh-config", "/dev/null", *more)


@pytest.mark.root
def test_an_unknown_key_is_shown_as_ssh_shows_it_and_not_written(
    server: Sshd, inv: str, tmp_path: pathlib.Path
) -> None:
    result = keys(inv, tmp_path / "known")

    assert result.exit_code == 1
    assert result.output == f"new        k1  ssh-ed25519 {shown_by_ssh(server)}\n"
    assert not (tmp_path / "known").exists()


@pytest.mark.root
def test_an_accepted_key_is_written_and_ssh_takes_it(server: Sshd, inv: str, tmp_path: pathlib.Path) -> None:
    known = tmp_path / "new folder" / "known"
    result = keys(inv, known, "--accept")

    assert result.exit_code == 0, result.output
    assert f"1 keys written to {known}" in result.output
    assert known.read_text().split()[0] == f"[127.0.0.1]:{server.port},[k1]:{server.port}"
    assert known.stat().st_mode & 0o077 == 0
    answer = subprocess.run(
        ["ssh", "-F", "/dev/null", "-o", f"UserKnownHostsFile={tmp_path}/again", "-o", "StrictHostKeyChecking=yes",
         "-o", "BatchMode=yes", "-i", server.key, "-p", str(server.port), "root@127.0.0.1", "true"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert answer.returncode != 0
    (tmp_path / "again").write_text(known.read_text())
    answer = subprocess.run([*answer.args], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert keys(inv, known).output.startswith("known      k1")
    assert keys(inv, known).exit_code == 0


@pytest.mark.root
def test_a_changed_key_is_not_overwritten_without_being_named(server: Sshd, inv: str, tmp_path: pathlib.Path) -> None:
    known = tmp_path / "known"
    other = make_key(tmp_path / "other").with_suffix(".pub").read_text().split()[:2]
    before = f"# mine\nk7,[127.0.0.1]:{server.port} {' '.join(other)} comment\n@revoked * {' '.join(other)[:-4]}AAAA\n"
    known.write_text(before)

    refused = keys(inv, known, "--accept")

    assert refused.exit_code == 2
    assert refused.output.startswith(f"CHANGED    k1  ssh-ed25519 {shown_by_ssh(server)}")
    assert "host key changed (known SHA256:" in refused.output
    assert known.read_text() == before

    replaced = keys(inv, known, "--accept", "--replace", "k1")

    assert replaced.exit_code == 0, replaced.output
    lines = known.read_text().splitlines()
    assert lines[:2] == ["# mine", f"k7 {' '.join(other)} comment"]
    assert lines[-1].endswith(server.host_key)
    assert (tmp_path / "known.old").read_text() == before
    assert keys(inv, known).exit_code == 0


@pytest.mark.root
def test_a_changed_key_under_a_hashed_name_is_replaced_too(server: Sshd, inv: str, tmp_path: pathlib.Path) -> None:
    known = tmp_path / "known"
    other = make_key(tmp_path / "other").with_suffix(".pub").read_text()
    known.write_text(f"[127.0.0.1]:{server.port} {other}")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", known], check=True, capture_output=True)

    assert keys(inv, known, "--accept").exit_code == 2
    assert keys(inv, known, "--accept", "--replace", "k1").exit_code == 0
    assert len(known.read_text().splitlines()) == 1


@pytest.mark.root
def test_a_host_that_is_silent_does_not_hold_up_the_others(
    server: Sshd, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inventory_command, "KEYS_S", 3.0)
    with silent_port() as silent:
        path = write(tmp_path, f"""\
            clusters:
              c:
                address: 127.0.0.1
                hosts: {{k1: {{port: {server.port}}}, k2: {{port: {silent}}}, k3: {{port: 1}}}}
            """)  # fmt: skip
        result = keys(path, tmp_path / "known", "--accept")

    rows = {row.split()[-1] if row.startswith("new") else row[11:13]: row for row in result.output.splitlines()}
    assert result.exit_code == 3
    assert f"new        k1  ssh-ed25519 {shown_by_ssh(server)}" in result.output.splitlines()
    assert "sends no SSH banner" in rows["k2"]
    assert "refuses connections" in rows["k3"]
    assert "1 keys written" in result.output


@contextlib.contextmanager
def silent_port() -> Iterator[int]:
    """A port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        taken: list[socket.socket] = []

        def take() -> None:
            with contextlib.suppress(OSError):
                while True:
                    taken.append(listening.accept()[0])

        threading.Thread(target=take, daemon=True).start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            for connection in taken:
                connection.close()


def test_to_replace_the_key_of_a_host_that_is_not_asked_is_an_error(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, "clusters: {c: {hosts: [kafka1]}}")

    result = keys(path, tmp_path / "known", "--replace", "kafak1")

    assert result.exit_code != 0
    assert "did you mean 'kafka1'?" in result.output


@pytest.mark.parametrize(
    ("words", "hosts"),
    [
        (["k1"], [("k1", "", 0)]),
        (["root@k[1-2]:2222"], [("k1", "root", 2222), ("k2", "root", 2222)]),
        (["10.0.0.1", "::1"], [("10.0.0.1", "", 0), ("::1", "", 0)]),
    ],
)
def test_hosts_can_be_named_without_an_inventory(words: Sequence[str], hosts: list[tuple[str, str, int]]) -> None:
    named = inventory_command._hosts((), words)

    assert [(host.name, host.user, host.port) for host in named] == hosts


@pytest.mark.parametrize("words", [[], ["-oProxyCommand=x"], ["k1", "k1"], ["k[3-1]"], ["root@"]])
def test_words_that_name_no_host_are_refused(words: Sequence[str]) -> None:
    with pytest.raises(click.UsageError):
        inventory_command._hosts((), words)


def test_a_file_of_known_hosts_keeps_every_line_that_it_had(tmp_path: pathlib.Path) -> None:
    known = tmp_path / "known"
    known.write_bytes(b"# \xff\nnot a line\nk1 ssh-ed25519 AAAA")
    offer = collect_keys.Offer("k2", "new", ("k2",), "ssh-ed25519", "SHA256:x", "k2 ssh-ed25519 BBBB")

    collect_keys.write(str(known), [offer])

    assert known.read_bytes() == b"# \xff\nnot a line\nk1 ssh-ed25519 AAAA\nk2 ssh-ed25519 BBBB\n"
