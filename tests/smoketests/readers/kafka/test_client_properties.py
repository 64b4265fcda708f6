"""A client.properties: each of its words is used, or refused in one sentence without a secret."""

from __future__ import annotations

import pathlib
import re
import ssl
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smoketests.readers import CannotRead
from smoketests.readers.kafka import client_properties, jaas, key_stores
from smoketests.readers.kafka.key_stores import CannotOpen
from tests.real.parts.key_stores import KEY_PASSWORD, PASSWORD, TYPES, Stores

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
LOGIN = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
BLOCK = "-----BEGIN CERTIFICATE-----{}-----END CERTIFICATE-----"
INLINE = "security.protocol=SSL\nssl.truststore.certificates="
SECRETS = ("geheim", PASSWORD, KEY_PASSWORD)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    folder = tmp_path_factory.mktemp("stores")
    ours = Stores(folder, "client")
    ours.trusts(Stores(folder, "broker"))
    yield ours


def written(rows: dict[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in rows.items())


def refused(text: str) -> str:
    with pytest.raises(CannotRead) as caught:
        client_properties.parse(text, "client.properties")
    said = str(caught.value)
    assert said.startswith("client.properties: ") and "\n" not in said and len(said) <= 300
    assert not any(secret in said for secret in SECRETS), said
    return said


@pytest.mark.parametrize(
    ("options", "password"),
    [
        ('username="smoke" password="s-secret";', "s-secret"),
        ("username='smoke' password='s-secret';", "s-secret"),
        ("username=smoke password=s-secret;", "s-secret"),
        ("username=smoke password=1s.secret$ ;", "1s.secret$"),
        ('username = "smoke" \\\n    password = "a b;=c" ;', "a b;=c"),
        ('username="smoke" password="it\'s";', "it's"),
        # Java takes one backslash away with the line, and the module's own reader the other
        ('username="smoke" password="a\\\\"b";', 'a"b'),
        ('serviceName="kafka" username="smoke" password="geheim" user_other="x";', "geheim"),
    ],
)
def test_a_jaas_line_is_read_in_every_quoting_that_kafka_takes(options: str, password: str) -> None:
    settings = client_properties.parse(f"{LOGIN}sasl.jaas.config={PLAIN} {options}\n", "x")

    assert settings == {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN",
                        "sasl_plain_username": "smoke", "sasl_plain_password": password}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"{LOGIN}sasl.jaas.config={PLAIN} username=smoke password=geheim\n", "ending with a semicolon"),
        (f'{LOGIN}sasl.jaas.config={PLAIN} username="smoke password=geheim;\n', "unterminated quote"),
        (f"{LOGIN}sasl.jaas.config={PLAIN} username smoke password geheim;\n", "options must be name=value"),
        (f"{LOGIN}sasl.jaas.config=PlainLoginModule username=smoke password=geheim;\n", "the second word must be one"),
        (f"{LOGIN}sasl.jaas.config={PLAIN} user=smoke password=geheim;\n", "must set username for PLAIN"),
        (LOGIN, "sasl.jaas.config must set username and password for PLAIN"),
        ("security.protocol=SASL_TLS\n", "security.protocol must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ("secruity.protocol=SSL\n", "secruity.protocol is not a known setting; did you mean security.protocol?"),
        ("ssl.trustore.location=/x\n", "ssl.trustore.location is not a known setting; did you mean ssl.truststore"),
        ("sasl.login.callback.handler.class=x.Y\n", "sasl.login.callback.handler.class is not a known setting"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n", "sasl.mechanism must be one of PLAIN, SCRAM"),
        ("sasl.mechanism=PLAIN\n", "sasl.mechanism needs security.protocol=SASL_SSL or SASL_PLAINTEXT"),
        ("security.protocol=SSL\nssl.truststore.location=/nowhere.jks\n", "/nowhere.jks: No such file or directory"),
        ("security.protocol=SSL\nssl.truststore.certificates=abc\n", "no PEM block such as"),
        (f"{INLINE}{BLOCK.format('abc')}\n", "malformed certificate"),
        (f"{INLINE}{BLOCK.format('käse')}\n", "malformed certificate"),
        ("security.protocol=SSL\nssl.truststore.location=/a\\u0000b\n", "contains characters that are not allowed"),
        ("security.protocol=SSL\nssl.keystore.key=abc\n", "ssl.keystore.key and ssl.keystore.certificate.chain belong"),
        ("security.protocol=SSL\nssl.endpoint.identification.algorithm=LDAP\n", "must be https, or empty"),
        ("security.protocol=SSL\nssl.engine.factory.class=x\n", "ssl.engine.factory.class is not a known setting"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    assert sentence in refused(text)


def test_kerberos_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\n"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "needs the package gssapi: pip install 'fleet-smoke[kerberos]'" in refused(text)

    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.delenv("KRB5_CLIENT_KTNAME", raising=False)
    module = "sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required"
    assert "sasl.kerberos.service.name must name the brokers' service" in refused(text)
    assert "export KRB5_CLIENT_KTNAME=FILE" in refused(
        f'{text}{module} useKeyTab=true keyTab="/etc/k" serviceName=kafka;\n'
    )
    assert client_properties.parse(f"{text}{module} useTicketCache=true serviceName=kafka;\n", "x") == {
        "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "GSSAPI", "sasl_kerberos_service_name": "kafka",
    }  # fmt: skip


def test_what_is_for_javas_own_clients_is_passed_over() -> None:
    text = "client.id=smoke\nrequest.timeout.ms=30000\nacks=all\nssl.enabled.protocols=TLSv1.3\n"

    assert client_properties.parse(text, "x") == {}


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPES)
def test_the_stores_of_javas_keytool_are_read(kind: str, stores: Stores) -> None:
    settings = client_properties.parse(written({"security.protocol": "SSL", **stores.properties(kind)}), "x")
    context = settings["ssl_context"]

    assert context.cert_store_stats()["x509"] == 1
    assert context.check_hostname and context.verify_mode == ssl.CERT_REQUIRED
    assert settings == {"security_protocol": "SSL", "ssl_context": context, "ssl_check_hostname": True}


@pytest.mark.slow
def test_pem_may_stand_in_the_file_itself_with_its_line_breaks_lost(stores: Stores) -> None:
    trusted, chain, key = stores.trust["PEM"].read_text(), stores.certificate.read_text(), stores.key
    rows = {
        "security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.keystore.type": "PEM",
        "ssl.truststore.certificates": trusted.replace("\n", ""),
        "ssl.keystore.key": key.strip().replace("\n", " \\\n   "),
        "ssl.keystore.certificate.chain": chain.replace("\n", "\\n"), "ssl.key.password": KEY_PASSWORD,
        "ssl.endpoint.identification.algorithm": "",
    }  # fmt: skip
    context = client_properties.parse(written(rows), "x")["ssl_context"]

    assert context.cert_store_stats()["x509"] == 1 and not context.check_hostname


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_a_wrong_password_of_a_store_is_told_so(kind: str, stores: Stores) -> None:
    rows = {"security.protocol": "SSL", **stores.properties(kind)}

    assert "wrong password" in refused(written({**rows, "ssl.truststore.password": "other"}))
    if kind == "JKS":
        assert "wrong key password" in refused(written({**rows, "ssl.key.password": "other"}))


@pytest.mark.slow
def test_stores_that_hold_nothing_of_use_are_told_so(stores: Stores, tmp_path: pathlib.Path) -> None:
    (tmp_path / "rubbish").write_bytes(b"rubbish")
    (tmp_path / "jceks").write_bytes(key_stores.JCEKS_MAGIC + bytes(30))
    rows = {"security.protocol": "SSL", "ssl.keystore.password": PASSWORD}

    for name, sentence in (("rubbish", "not JKS, PKCS12 or PEM"), ("jceks", "JCEKS store")):
        assert sentence in refused(written({**rows, "ssl.truststore.location": str(tmp_path / name)}))
    only_trust = written({**rows, "ssl.keystore.location": str(stores.trust["JKS"])})
    assert "ssl.keystore.location: no private key" in refused(only_trust)


@pytest.mark.slow
def test_a_truststore_without_its_password_is_read_as_java_does(stores: Stores) -> None:
    assert len(key_stores.opened(stores.trust["JKS"].read_bytes(), "").certificates) == 1


@given(
    st.binary(max_size=200), st.sampled_from([b"", key_stores.JKS_MAGIC, b"\x30\x82", b"-----BEGIN CERTIFICATE-----"])
)
def test_a_store_of_rubbish_is_refused(rubbish: bytes, magic: bytes) -> None:
    with pytest.raises(CannotOpen):
        key_stores.opened(magic + rubbish, "")


@pytest.mark.slow
@given(st.integers(0, 5000), st.integers(1, 255))
def test_a_damaged_store_is_refused_or_read_but_never_a_traceback(at: int, flip: int) -> None:
    store = bytearray(_jks())
    store[at % len(store)] ^= flip
    for password in (PASSWORD, ""):
        try:
            key_stores.opened(bytes(store), password, KEY_PASSWORD)
        except CannotOpen:
            continue
        assert password == "", "the digest over all of it tells"


JKS: list[bytes] = []


def _jks() -> bytes:
    if not JKS:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            JKS.append(Stores(pathlib.Path(folder), "one").own["JKS"].read_bytes())
    return JKS[0]


@given(st.text(max_size=80))
def test_rubbish_for_a_jaas_line_is_refused_or_a_login(text: str) -> None:
    try:
        login = jaas.parse(text)
    except jaas.CannotParse:
        return
    assert re.search(";", text) and all(isinstance(value, str) for value in login.options.values())


KEY = "security.protocol=SSL\nssl.keystore.certificate.chain=a\nssl.keystore.key=-----BEGIN PRIVATE KEY-----"
BEFORE = ("", "security.protocol=SSL\n", LOGIN, INLINE, "security.protocol=SSL\nssl.truststore.location=", KEY)


@given(st.text(max_size=120), st.sampled_from(BEFORE))
def test_rubbish_for_a_clients_properties_is_refused_or_settings(text: str, before: str) -> None:
    try:
        client_properties.parse(before + text, "client.properties")
    except CannotRead as error:
        assert "\n" not in str(error)
