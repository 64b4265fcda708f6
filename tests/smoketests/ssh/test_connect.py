"""Host keys, ssh_config, keys and bastions, held against OpenSSH itself where it can say what is right."""

from __future__ import annotations

import os
import pathlib
import subprocess
import time
from collections.abc import Iterator

import paramiko
import pytest
from fabric import Config
from hypothesis import given
from hypothesis import strategies as st

from inventory.model import Host
from smoketests.ssh import connect as ssh
from smoketests.ssh import host_keys
from smoketests.ssh.config import SshConfig
from smoketests.ssh.failures import AccessError, Unreachable
from smoketests.ssh.host_keys import KnownHosts, fingerprint, parse_line
from tests.real.parts import bad_peers
from tests.real.parts.sshd import QUICK, Sshd, make_key, sshd


def keygen(*words: object) -> str:
    return subprocess.run(["ssh-keygen", *map(str, words)], check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A public key: ssh-ed25519 AAAA…"""
    path = make_key(tmp_path_factory.mktemp("key") / "some")
    return " ".join(path.with_name("some.pub").read_text().split()[:2])


NAMES = {
    "kafka-a01": "kafka-a01",
    "several names": "other,kafka-a01,10.0.0.1",
    "in capitals": "KAFKA-A01",
    "a star": "kafka-*",
    "a question mark": "kafka-a0?",
    "negated": "kafka-*,!kafka-a01",
    "negated for another": "kafka-*,!kafka-a02",
    "another": "kafka-a02",
    "a part": "kafka-a0",
    "with a port": "[kafka-a01]:2222",
    "any port": "[kafka-a01]:*",
}


@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("asked", ["kafka-a01", "[kafka-a01]:2222"])
def test_known_hosts_are_found_as_openssh_finds_them(
    names: str, asked: str, hashed: bool, key: str, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "known_hosts"
    path.write_text(f"# comment\n\n{names} {key} a remark\n")
    if hashed:
        keygen("-H", "-f", path)  # leaves patterns as they are
    theirs = subprocess.run(["ssh-keygen", "-F", asked, "-f", path], capture_output=True, check=False).returncode == 0
    known = KnownHosts([str(path)]).of(["kafka-a01"], 22 if asked == "kafka-a01" else 2222)

    assert bool(known.expected) == theirs


def test_a_key_under_the_bare_name_serves_another_port_but_does_not_contradict_it(
    key: str, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "known_hosts"
    path.write_text(f"kafka-a01 {key}\n")
    known = KnownHosts([str(path)]).of(["kafka-a01"], 2222)

    known.check(loaded(key))
    with pytest.raises(Unreachable) as refused:
        known.check(paramiko.ECDSAKey.generate())
    assert refused.value.kind == "key-unknown"


def loaded(key: str) -> paramiko.PKey:
    entry = parse_line(f"x {key}")
    assert entry
    return paramiko.PKey.from_type_string(entry.kind, entry.blob)


def test_a_revoked_key_is_never_trusted_even_if_it_is_listed(key: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "known_hosts"
    path.write_text(f"kafka-a01 {key}\n@revoked * {key}\n")

    with pytest.raises(Unreachable, match="@revoked") as refused:
        KnownHosts([str(path)]).of(["kafka-a01"]).check(loaded(key))
    assert refused.value.kind == "key-revoked"


def test_a_changed_key_is_told_with_both_fingerprints(key: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "known_hosts"
    path.write_text(f"kafka-a01 {key}\n")
    offered = paramiko.ECDSAKey.generate()

    with pytest.raises(Unreachable) as refused:
        KnownHosts([str(path)]).of(["kafka-a01"]).check(offered)
    known = keygen("-lf", path).split()[1]
    assert str(refused.value) == f"host key changed (known {known}, offered {fingerprint(offered.asbytes())})"


@given(st.text(max_size=300))
def test_any_line_of_known_hosts_is_an_entry_or_nothing(line: str) -> None:
    entry = parse_line(line)

    assert entry is None or entry.blob is not None


@given(st.binary(max_size=400))
def test_a_damaged_certificate_is_an_error_of_reading_or_not_trusted(blob: bytes) -> None:
    try:
        certificate = host_keys.parse_certificate(blob)
        certificate.check(["kafka-a01"], time.time())
    except (Unreachable, paramiko.SSHException, ValueError):
        return
    raise AssertionError("trusted")


def test_a_short_certificate_that_announces_endless_host_names_is_refused_at_once() -> None:
    """Found by scripts/fuzz: paramiko makes 256 KiB of zeros of it, 65,536 empty names, which took seconds to read."""
    blob = bytes(24) + b"?" + bytes(8) + b"\4" + bytes(6)

    with pytest.raises(ValueError, match="principals truncated, or more than 256"):
        host_keys.parse_certificate(blob)


CONFIGS = {
    "nothing": "",
    "by name": "Host kafka-a01\n  HostName 10.1.1.1\n  Port 2222\n  User kafka\n",
    "by pattern": "Host kafka-* !kafka-b*\n  User smoke\n  ProxyJump bastion\nHost *\n  User nobody\n",
    "alias": "Host *\n  HostKeyAlias fleet\n",
    "keys": "Host kafka-a01\n  IdentityFile ~/.ssh/fleet\n  IdentityFile /etc/fleet/%h\n  IdentitiesOnly yes\n",
    "a chain": "Host kafka-a01\n  ProxyJump ops@first:2200,second\n",
    "no jump": "Host kafka-a01\n  ProxyJump none\nHost *\n  ProxyJump bastion\n",
    "a command": "Host kafka-*\n  ProxyCommand nc -X connect %h %p\n  Port 2200\n",
}


@pytest.mark.parametrize("text", CONFIGS.values(), ids=CONFIGS)
def test_ssh_config_is_read_as_openssh_reads_it(text: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    said = subprocess.run(["ssh", "-G", "-F", path, "kafka-a01"], check=True, capture_output=True, text=True).stdout
    theirs: dict[str, list[str]] = {}
    for line in said.splitlines():
        word, _, value = line.partition(" ")
        theirs.setdefault(word, []).append(value)
    target = SshConfig(str(path)).target(Host("kafka-a01"))

    assert target.address == theirs["hostname"][0]
    assert str(target.port) == theirs["port"][0]
    assert target.user == theirs["user"][0]
    assert target.jump == theirs.get("proxyjump", [""])[0]
    assert target.names[0] == theirs.get("hostkeyalias", theirs["hostname"])[0]
    assert target.identities_only == (theirs["identitiesonly"] == ["yes"])
    if "IdentityFile" in text:
        expanded = [os.path.expanduser(name).replace("%h", "kafka-a01") for name in theirs["identityfile"]]
        assert list(target.identity_files) == expanded
    if "ProxyCommand" in text:
        assert target.proxy_command == "nc -X connect kafka-a01 2200"


def test_what_the_inventory_says_goes_before_ssh_config(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "config"
    path.write_text("Host kafka-*\n  User smoke\n  Port 2200\n  HostName elsewhere\n  ProxyCommand nc %h %p %r\n")
    target = SshConfig(str(path)).target(Host("kafka-a01", address="10.0.0.1", port=22, user="ops"))

    assert (target.address, target.port, target.user) == ("10.0.0.1", 22, "ops")
    assert target.proxy_command == "nc 10.0.0.1 22 ops"


def test_an_address_with_a_shells_words_is_not_given_to_a_proxy_command(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "config"
    path.write_text("Host *\n  ProxyCommand nc %h %p\n")

    with pytest.raises(AccessError, match="characters that a ProxyCommand must not contain"):
        SshConfig(str(path)).target(Host("kafka-a01", address="$(reboot)"))


def test_ssh_config_is_followed_through_its_includes(tmp_path: pathlib.Path) -> None:
    (tmp_path / "config").write_text(f"Include {tmp_path}/more/*.conf\nHost *\n  User last\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.conf").write_text("Host kafka-a01\n  User first\n")

    assert SshConfig(str(tmp_path / "config")).target(Host("kafka-a01")).user == "first"
    assert SshConfig(str(tmp_path / "config")).target(Host("kafka-a02")).user == "last"


def test_files_that_include_each_other_are_an_error_not_a_hang(tmp_path: pathlib.Path) -> None:
    (tmp_path / "config").write_text(f"Include {tmp_path}/config\n")

    with pytest.raises(AccessError, match="Include loop"):
        SshConfig(str(tmp_path / "config"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


def connect(access: ssh.Access, host: Host, within: float = 8) -> str:
    """What happens on the way: "let in", or the kind of failure."""
    try:
        connection = access.connect(host, time.monotonic() + within)
    except Unreachable as error:
        return error.kind
    connection.close()
    access.close()
    return "let in"


@pytest.mark.root
def test_a_host_whose_key_is_known_is_let_in(server: Sshd) -> None:
    assert connect(server.access(), server.host()) == "let in"


@pytest.mark.root
def test_a_host_known_by_its_name_in_the_inventory_is_let_in(server: Sshd, tmp_path: pathlib.Path) -> None:
    (tmp_path / "known").write_text(f"kafka-a01 {server.host_key}\n")
    access = server.access(known_hosts=(str(tmp_path / "known"),))

    assert connect(access, server.host("kafka-a01")) == "let in"
    assert connect(access, server.host("kafka-a02")) == "key-unknown"


@pytest.mark.root
def test_a_host_is_known_by_its_alias(server: Sshd, tmp_path: pathlib.Path) -> None:
    (tmp_path / "known").write_text(f"the-fleet {server.host_key}\n")
    (tmp_path / "config").write_text("Host *\n  HostKeyAlias the-fleet\n")
    known = {"known_hosts": (str(tmp_path / "known"),)}

    assert connect(server.access(ssh_config=str(tmp_path / "config"), **known), server.host()) == "let in"
    assert connect(server.access(**known), server.host()) == "key-unknown"


@pytest.mark.root
def test_a_host_that_has_a_better_key_than_the_known_one_is_asked_for_the_known_one(tmp_path: pathlib.Path) -> None:
    keygen("-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", tmp_path / "rsa")
    with sshd(tmp_path, f"HostKey={tmp_path}/rsa") as server:
        known = " ".join((tmp_path / "rsa.pub").read_text().split()[:2])
        (tmp_path / "known").write_text(f"[127.0.0.1]:{server.port} {known}\n")

        assert connect(server.access(known_hosts=(str(tmp_path / "known"),)), server.host()) == "let in"


def certified(folder: pathlib.Path, *options: str) -> None:
    """Make the host's key, and a certificate for it."""
    make_key(folder / "authority")
    make_key(folder / "host_key")
    keygen("-q", "-s", folder / "authority", "-I", "some host", *options, folder / "host_key.pub")


CERTIFICATES = {
    "good": (("-h", "-n", "127.0.0.1", "-V", "-1d:+1d"), "let in"),
    "for any name": (("-h",), "let in"),
    "for another host": (("-h", "-n", "kafka-b01"), "key-certificate"),
    "run out": (("-h", "-V", "-2d:-1d"), "key-certificate"),
    "for users": (("-n", "127.0.0.1"), "key-certificate"),
}


@pytest.mark.root
@pytest.mark.parametrize(("options", "outcome"), CERTIFICATES.values(), ids=CERTIFICATES)
def test_a_host_with_a_certificate_of_a_known_authority(
    options: tuple[str, ...], outcome: str, tmp_path: pathlib.Path
) -> None:
    certified(tmp_path, *options)
    with sshd(tmp_path, f"HostCertificate={tmp_path}/host_key-cert.pub") as server:
        (tmp_path / "known").write_text(f"@cert-authority * {(tmp_path / 'authority.pub').read_text()}")
        access = server.access(known_hosts=(str(tmp_path / "known"),))

        assert connect(access, server.host()) == outcome


@pytest.mark.root
def test_a_revoked_authority_is_not_believed(tmp_path: pathlib.Path) -> None:
    certified(tmp_path, "-h")
    authority = (tmp_path / "authority.pub").read_text()
    with sshd(tmp_path, f"HostCertificate={tmp_path}/host_key-cert.pub") as server:
        (tmp_path / "known").write_text(f"@cert-authority * {authority}@revoked * {authority}")

        assert connect(server.access(known_hosts=(str(tmp_path / "known"),)), server.host()) == "key-revoked"


@pytest.mark.root
def test_another_authoritys_certificate_is_not_believed(tmp_path: pathlib.Path) -> None:
    certified(tmp_path, "-h")
    make_key(tmp_path / "other")
    with sshd(tmp_path, f"HostCertificate={tmp_path}/host_key-cert.pub") as server:
        (tmp_path / "known").write_text(f"@cert-authority * {(tmp_path / 'other.pub').read_text()}")

        assert connect(server.access(known_hosts=(str(tmp_path / "known"),)), server.host()) == "key-unknown"


@pytest.mark.root
def test_a_wrong_key_is_refused_and_an_encrypted_one_is_named(server: Sshd, tmp_path: pathlib.Path) -> None:
    make_key(tmp_path / "wrong")
    make_key(tmp_path / "locked", "-N", "secret words")
    access = server.access(key_files=(str(tmp_path / "wrong"), str(tmp_path / "locked")))

    with pytest.raises(Unreachable) as refused:
        access.connect(server.host(user="root"), time.monotonic() + 5)
    assert refused.value.kind == "auth"
    assert str(refused.value) == (
        f"127.0.0.1:{server.port}: authentication failed for root ({tmp_path}/locked encrypted: ssh-add it)"
    )


@pytest.mark.root
def test_a_user_who_does_not_exist_is_refused(server: Sshd) -> None:
    assert connect(server.access(), server.host(user="nobody-of-that-name")) == "auth"


def test_a_file_that_is_no_key_is_an_error_before_anything_is_asked(tmp_path: pathlib.Path) -> None:
    (tmp_path / "key").write_text("not a key\n")

    with pytest.raises(AccessError, match="cannot be used as a private key"):
        ssh.Access(key_files=(str(tmp_path / "key"),), known_hosts=())


def test_connections_of_several_threads_are_not_mixed_up() -> None:
    """Fabric's own Connection writes its host's name to the Config that all share, and reads it back."""
    shared = Config(lazy=True, overrides={"load_ssh_configs": False})
    first = ssh.Verified("kafka-a01", user="root", config=shared)
    second = ssh.Verified("kafka-a02", user="root", config=shared)

    assert [one.ssh_config["hostname"] for one in (first, second)] == ["kafka-a01", "kafka-a02"]
    assert "ssh_config" not in shared


@pytest.fixture
def agent(server: Sshd, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pathlib.Path]:
    """A real ssh-agent that holds an encrypted key, which the server takes; the path of that key."""
    locked = make_key(tmp_path / "locked", "-N", "")
    with (server.folder / "authorized_keys").open("a") as file:
        file.write(locked.with_name("locked.pub").read_text())
    process = subprocess.Popen(["ssh-agent", "-D", "-a", tmp_path / "agent"], stdout=subprocess.DEVNULL)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
    deadline = time.monotonic() + 5
    while not (tmp_path / "agent").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    subprocess.run(["ssh-add", "-q", locked], check=True)
    keygen("-q", "-p", "-N", "secret words", "-P", "", "-f", locked)
    yield locked
    process.terminate()
    process.wait(timeout=5)


@pytest.mark.root
def test_an_encrypted_key_is_offered_by_the_agent(server: Sshd, agent: pathlib.Path) -> None:
    assert connect(server.access(key_files=(str(agent),), use_agent=True), server.host()) == "let in"
    assert connect(server.access(key_files=(str(agent),), use_agent=False), server.host()) == "auth"


@pytest.mark.root
def test_identities_only_keeps_the_agents_other_keys_back(
    server: Sshd, agent: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    make_key(tmp_path / "other")
    config = tmp_path / "config"

    for identity, outcome in ((agent, "let in"), (tmp_path / "other", "auth")):
        config.write_text(f"Host *\n  IdentitiesOnly yes\n  IdentityFile {identity}\n")
        access = server.access(ssh_config=str(config), use_agent=True, key_files=(str(tmp_path / "other"),))
        assert connect(access, server.host()) == outcome


@pytest.mark.root
def test_a_server_at_its_limit_of_startups_is_tried_again(server: Sshd, tmp_path: pathlib.Path) -> None:
    with bad_peers.listening(bad_peers.dropping(2, server.port)) as port:
        (tmp_path / "known").write_text(f"[127.0.0.1]:{port} {server.host_key}\n")
        access = server.access(known_hosts=(str(tmp_path / "known"),))

        assert connect(access, Host("kafka-a01", address="127.0.0.1", port=port)) == "let in"


# A host behind a bastion has a name that only the bastion knows: who reaches it went that way.
@pytest.fixture(scope="module")
def behind(server: Sshd, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sshd, pathlib.Path]]:
    """A bastion, and a folder with an ssh_config and known_hosts for kafka-a01 and a second bastion, both behind it."""
    folder = tmp_path_factory.mktemp("bastion")
    (folder / "hosts").write_text("127.0.0.1 localhost inner-name second-name\n")
    with sshd(folder, binds={folder / "hosts": "/etc/hosts"}) as bastion:
        (folder / "known").write_text(
            bastion.known_hosts.read_text()
            + f"[inner-name]:{server.port} {server.host_key}\n[second-name]:{bastion.port} {bastion.host_key}\n"
        )
        (folder / "config").write_text(
            f"Host bastion\n  HostName 127.0.0.1\n  Port {bastion.port}\n  IdentityFile {bastion.key}\n"
            f"Host second\n  HostName second-name\n  Port {bastion.port}\n  IdentityFile {bastion.key}\n"
            f"Host kafka-a01\n  HostName inner-name\n  ProxyJump bastion\n"
            f"Host kafka-a02\n  HostName inner-name\n  ProxyJump root@bastion,second\n"
            f"Host kafka-a03\n  HostName inner-name\n"
            f"  ProxyCommand ssh -F {folder}/config -o UserKnownHostsFile={folder}/known -W %h:%p bastion\n"
            f"Host kafka-a04\n  HostName nowhere-name\n  ProxyJump bastion\n"
            f"Host kafka-a05\n  HostName inner-name\n"
        )
        yield bastion, folder


@pytest.mark.root
@pytest.mark.parametrize(
    ("name", "outcome"),
    [("kafka-a01", "let in"), ("kafka-a02", "let in"), ("kafka-a03", "let in"), ("kafka-a04", "bastion"),
     ("kafka-a05", "name")],
    ids=["through a bastion", "through two", "through a ProxyCommand", "nowhere behind the bastion", "directly"],
)  # fmt: skip
def test_a_host_behind_a_bastion(server: Sshd, behind: tuple[Sshd, pathlib.Path], name: str, outcome: str) -> None:
    _, folder = behind
    access = server.access(known_hosts=(str(folder / "known"),), ssh_config=str(folder / "config"))

    assert connect(access, Host(name, port=server.port), within=15) == outcome


@pytest.mark.root
def test_all_hosts_behind_a_dead_bastion_learn_of_it_at_once(server: Sshd, tmp_path: pathlib.Path) -> None:
    with bad_peers.listening(bad_peers.silent) as port:
        (tmp_path / "config").write_text(f"Host kafka-*\n  ProxyJump 127.0.0.1:{port}\n")
        access = server.access(ssh_config=str(tmp_path / "config"))
        began = time.monotonic()
        kinds = {connect(access, Host(f"kafka-a{number:02}", port=server.port), within=20) for number in range(20)}

    assert kinds == {"bastion"}
    assert time.monotonic() - began < 2 * QUICK.connecting


@pytest.mark.root
@pytest.mark.parametrize(
    ("only", "said"),
    [("Ciphers=3des-cbc", "Ciphers +3des-cbc"), ("Ciphers=aes256-cbc", "Ciphers aes256-cbc"),
     ("MACs=hmac-md5", "MACs +hmac-md5"), ("MACs=hmac-sha1", "MACs ^hmac-sha1")],
)  # fmt: skip
def test_a_weak_cipher_or_mac_is_used_only_where_ssh_config_names_it(
    only: str, said: str, tmp_path: pathlib.Path
) -> None:
    # ciphers with a MAC of their own hide which MACs there are
    more = () if only.startswith("Ciphers") else ("Ciphers=aes128-ctr",)
    (tmp_path / "config").write_text(f"Host other\n  {said}\n")
    (tmp_path / "allows").write_text(f"Host kafka-*\n  {said}\n")
    with sshd(tmp_path, only, *more) as old:
        for silent in ("/dev/null", str(tmp_path / "config")):
            with pytest.raises(Unreachable) as refused:
                old.access(ssh_config=silent).connect(old.host(), time.monotonic() + 20)
            assert refused.value.kind == "incompatible"
        assert connect(old.access(ssh_config=str(tmp_path / "allows")), old.host()) == "let in"
