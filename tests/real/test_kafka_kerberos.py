"""A real broker that wants Kerberos, and a real KDC on loopback: with scripts/test --kafka, fleet-smoke[kerberos]."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from smoketests.readers import CannotRead
from smoketests.readers.kafka import client_properties
from smoketests.readers.kafka import cluster as kafka
from smoketests.readers.kafka.cluster import KafkaFacts
from tests.real.parts import kafka_servers
from tests.real.parts.namespace import kill, wait_for
from tests.real.parts.zookeeper import free_port

pytestmark = [pytest.mark.slow, pytest.mark.kafka, pytest.mark.timeout(300)]
REALM = "SMOKE.TEST"
BROKER, US = "kafka/127.0.0.1", "smoke"
CONF = """[libdefaults]
 default_realm = {realm}
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
[realms]
 {realm} = {{
  kdc = 127.0.0.1:{port}
 }}
"""
KDC = """[kdcdefaults]
 kdc_listen = 127.0.0.1:{port}
 kdc_tcp_listen = 127.0.0.1:{port}
[realms]
 {realm} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
  acl_file = {folder}/acl
 }}
"""
LOGIN = "com.sun.security.auth.module.Krb5LoginModule required"
CLIENT = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\nsasl.kerberos.service.name=kafka\n"


@pytest.fixture
def realm(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pathlib.Path]:
    """Keytabs of the broker and of us in this folder; our KRB5_CONFIG leads to it."""
    if not shutil.which("krb5kdc") or importlib.util.find_spec("gssapi") is None:
        pytest.skip("needs krb5-kdc, krb5-admin-server and the extra fleet-smoke[kerberos]")
    port = free_port()
    (tmp_path / "krb5.conf").write_text(CONF.format(realm=REALM, port=port))
    (tmp_path / "kdc.conf").write_text(KDC.format(realm=REALM, port=port, folder=tmp_path))
    monkeypatch.setenv("KRB5_CONFIG", str(tmp_path / "krb5.conf"))
    monkeypatch.setenv("KRB5_KDC_PROFILE", str(tmp_path / "kdc.conf"))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/tickets")
    monkeypatch.setenv("JDK_JAVA_OPTIONS", f"-Djava.security.krb5.conf={tmp_path}/krb5.conf")
    monkeypatch.delenv("KRB5_CLIENT_KTNAME", raising=False)
    run("kdb5_util", "-r", REALM, "create", "-s", "-P", "master")
    for name, file in ((BROKER, "broker.keytab"), (US, "us.keytab")):
        run("kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {name}")
        run("kadmin.local", "-r", REALM, "-q", f"ktadd -k {tmp_path}/{file} {name}")
    process = subprocess.Popen(["krb5kdc", "-n", "-r", REALM], env=dict(os.environ))
    yield tmp_path
    kill(process)


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_ticket_or_a_keytab_lets_us_ask_and_without_one_it_is_said(
    realm: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = f'{LOGIN} useKeyTab=true storeKey=true keyTab="{realm}/broker.keytab" principal="{BROKER}@{REALM}";'
    server = kafka_servers.with_kraft(realm / "broker", "SASL_PLAINTEXT", **{
        "sasl.enabled.mechanisms": "GSSAPI", "sasl.mechanism.inter.broker.protocol": "GSSAPI",
        "sasl.kerberos.service.name": "kafka", "listener.name.clients.gssapi.sasl.jaas.config": login,
    })  # fmt: skip
    with server:
        with pytest.raises(CannotRead, match="is there a valid Kerberos ticket"):
            read(server.address)
        run("kinit", "-k", "-t", f"{realm}/us.keytab", US)
        with_ticket = wait_for("a login", lambda: logged_in(server.address), 60)
        run("kdestroy")
        monkeypatch.setenv("KRB5_CLIENT_KTNAME", f"FILE:{realm}/us.keytab")
        with_keytab = read(server.address)

    assert [row.id for row in with_ticket.brokers] == [row.id for row in with_keytab.brokers] == [1]
    assert with_keytab.untold == ()


def read(address: str) -> KafkaFacts:
    return kafka.read([address], client_properties.parse(CLIENT, "client.properties"))


def logged_in(address: str) -> KafkaFacts | None:
    try:
        return read(address)
    except CannotRead:
        return None
