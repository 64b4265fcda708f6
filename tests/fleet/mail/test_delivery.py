"""A real SMTP server, with STARTTLS and a password, gets one mail that reads well; what can go wrong is said."""

from __future__ import annotations

import datetime
import email
import email.policy
import socket
import ssl
import time
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fleet.digest import night_digest
from fleet.mail import delivery, message
from fleet.mail.message import Settings
from fleet.nights.night import Night
from fleet.render import charts
from fleet.store import reports
from fleet.store.files import LocalFiles
from tests.fleet.history import NIGHT

USER, PASSWORD = "smoke", "s3cret-of-mail"


class Server(NamedTuple):
    port: int
    ca_file: str
    mails: list[bytes]
    behave: dict[str, str]


def certificate(folder: Path) -> tuple[str, str]:
    x509 = pytest.importorskip("cryptography.x509", reason="needs cryptography: pip install cryptography")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - datetime.timedelta(days=1))
    builder = builder.not_valid_after(now + datetime.timedelta(days=9))
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    signed = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    (folder / "cert.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(private)
    return str(folder / "cert.pem"), str(folder / "key.pem")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    controller = pytest.importorskip("aiosmtpd.controller", reason="needs aiosmtpd: pip install aiosmtpd")
    from aiosmtpd.smtp import AuthResult

    cert, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    mails: list[bytes] = []
    behave: dict[str, str] = {}

    class Handler:
        async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
            if address in behave:
                return behave[address]
            envelope.rcpt_tos.append(address)
            return "250 OK"

        async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
            answer = behave.pop("DATA", "250 OK")
            if answer.startswith("250"):
                mails.append(envelope.content)
            return answer

    def authenticate(server: Any, session: Any, envelope: Any, mechanism: str, said: Any) -> Any:
        right = (said.login, said.password) == (USER.encode(), PASSWORD.encode())
        return AuthResult(success=right, handled=False)

    running = controller.Controller(
        Handler(),
        hostname="localhost",
        port=free_port(),
        tls_context=context,
        require_starttls=True,
        auth_required=True,
        authenticator=authenticate,
    )
    running.start()
    yield Server(running.port, cert, mails, behave)
    running.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def settings(server: Server, **changed: Any) -> Settings:
    given: dict[str, Any] = {"host": "localhost", "to": ("ops@example.org", "sre@example.org"), "port": server.port}
    given.update(sender="smoke@example.org", user=USER, password_env="SMOKE_TEST_PASSWORD", ca_file=server.ca_file)
    return Settings(**{**given, "timeout_s": 5.0, **changed})


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMOKE_TEST_PASSWORD", PASSWORD)


def night() -> Night:
    """A night with one new finding, made by hand."""
    day = reports.number_of(NIGHT)
    change = {
        "change": "new",
        "host": "kafka-a03",
        "cluster": "prod-a",
        "rack": "r1",
        "check_name": "mounts",
        "item": "/kafka/d3",
        "status": "critical",
        "age_days": 0,
        "reason": "create fails with EROFS <b>though</b> mounted rw",
        "playbook": "hidden-readonly",
        "source": f"date={NIGHT}/030000-r.jsonl",
    }
    health = {f"{name}_hosts": 0 for name in ("critical", "unknown", "warning", "ok", "silent")}
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in __import__("fleet.tables").tables.names()}
    tables["changes"] = [change]
    tables["host_health"] = [{"host": "kafka-a03"}, {"host": "kafka-a04"}]
    tables["cluster_health"] = [{**health, "cluster": "prod-a", "hosts": 2, "critical_hosts": 1, "ok_hosts": 1}]
    tables["health_days"] = [{**health, "day": day, "critical_hosts": 1, "ok_hosts": 1}]
    return Night(NIGHT, tables, [], [], 30, 3)


def send(server: Server, folder: Path, **changed: Any) -> tuple[str, list[str]]:
    told: list[str] = []
    judged = night()
    files = LocalFiles(str(folder))
    wanted = settings(server, **changed)
    letter = message.letter(night_digest.digest(judged), charts.charts(judged), wanted, delivery.store_id(files))
    return delivery.send_once(files, NIGHT, letter, wanted, told.append, retry_s=0.1), told


def parts(raw: bytes) -> dict[str, Any]:
    message = email.message_from_bytes(raw, policy=email.policy.SMTP)
    assert isinstance(message, EmailMessage)
    return {part.get_content_type(): part for part in message.walk()}


def test_one_mail_with_plain_text_html_and_its_picture(server: Server, tmp_path: Path) -> None:
    send(server, tmp_path)

    (raw,) = server.mails
    message = email.message_from_bytes(raw, policy=email.policy.SMTP)
    found = parts(raw)
    html = found["text/html"].get_content()
    assert message["Subject"] == f"[smoke] {NIGHT}: DATA AT RISK, 1 critical of 2 hosts"
    assert message["To"] == "ops@example.org, sre@example.org"
    store = delivery.store_id(LocalFiles(str(tmp_path)))
    assert message["Message-ID"] == f"<smoke-{NIGHT}-{store}@example.org>"
    assert message["List-Id"] == f"Fleet health <smoke-{store}.example.org>"
    assert "prod-a kafka-a03  mounts /kafka/d3" in found["text/plain"].get_content()
    assert found["image/png"]["Content-ID"] == "<health@smoke>"
    assert found["image/png"].get_content() == charts.charts(night())[0].png
    assert "cid:health@smoke" in html
    assert "<b>though</b>" not in html
    assert "EROFS &lt;b&gt;though" in html


def test_the_mail_of_a_night_is_sent_once(server: Server, tmp_path: Path) -> None:
    first, _told = send(server, tmp_path)
    second, _told = send(server, tmp_path)

    assert (first, len(server.mails)) == ("", 1)
    assert second.startswith("20")


def test_one_recipient_refused_does_not_cost_the_others(server: Server, tmp_path: Path) -> None:
    server.behave["sre@example.org"] = "550 no such user"

    before, told = send(server, tmp_path)

    assert (before, len(server.mails)) == ("", 1)
    assert told[-1] == "localhost rejected the mail for sre@example.org: 550 no such user"


def test_a_recipient_that_is_greylisted_gets_the_mail_on_the_next_run(server: Server, tmp_path: Path) -> None:
    server.behave["sre@example.org"] = "451 greylisted, come back later"
    send(server, tmp_path, tries=1)
    known = delivery.recipients(LocalFiles(str(tmp_path)), NIGHT)
    del server.behave["sre@example.org"]

    send(server, tmp_path)
    send(server, tmp_path)

    assert {name: row.state for name, row in known.items()} == {"ops@example.org": "sent", "sre@example.org": "waiting"}
    assert [received(raw) for raw in server.mails] == [received(server.mails[0])] * 2
    after = delivery.recipients(LocalFiles(str(tmp_path)), NIGHT)
    assert {row.state for row in after.values()} == {"sent"}
    assert not list(tmp_path.glob("_fleet/mail/*.eml"))


def received(raw: bytes) -> str:
    return str(email.message_from_bytes(raw, policy=email.policy.SMTP)["Message-ID"])


def test_a_mail_that_failed_all_day_is_sent_and_told_of_in_the_next_night(server: Server, tmp_path: Path) -> None:
    server.behave["sre@example.org"] = "451 greylisted, come back later"
    files, wanted = LocalFiles(str(tmp_path)), settings(server)
    send(server, tmp_path, tries=1)
    still_waiting = delivery.retry_earlier(files, "2026-11-20", wanted, lambda _words: None)
    del server.behave["sre@example.org"]

    delivered = delivery.retry_earlier(files, "2026-11-21", wanted, lambda _words: None)

    assert still_waiting == [f"{NIGHT}: not delivered to sre@example.org: 451 greylisted, come back later"]
    assert (delivered, len(server.mails)) == ([], 2)
    (section,) = night_digest.digest(night(), still_waiting).rest
    assert (section.name, section.lines[0].text) == ("undelivered", still_waiting[0])


def test_a_wrong_password_is_tried_once_and_a_later_run_may_succeed(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMOKE_TEST_PASSWORD", "wrong")
    with pytest.raises(delivery.NotSent):
        send(server, tmp_path)
    monkeypatch.setenv("SMOKE_TEST_PASSWORD", PASSWORD)

    send(server, tmp_path)

    assert len(server.mails) == 1


def test_two_stores_of_one_domain_have_mails_of_their_own(server: Server, tmp_path: Path) -> None:
    for name in ("east", "west"):
        (tmp_path / name).mkdir()
        send(server, tmp_path / name)

    assert len({received(raw) for raw in server.mails}) == 2


def test_a_server_that_is_busy_is_asked_again(server: Server, tmp_path: Path) -> None:
    server.behave["DATA"] = "451 come back later"

    send(server, tmp_path)

    assert len(server.mails) == 1


def test_a_server_that_says_no_for_good_is_not_asked_again(server: Server, tmp_path: Path) -> None:
    server.behave["DATA"] = "554 not from you"

    with pytest.raises(delivery.NotSent, match=r"554.*not from you"):
        send(server, tmp_path)

    assert server.mails == []
    assert {row.state for row in delivery.recipients(LocalFiles(str(tmp_path)), NIGHT).values()} == {"refused"}


def test_a_wrong_password_is_said(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMOKE_TEST_PASSWORD", "wrong")

    with pytest.raises(delivery.NotSent, match="535") as failed:
        send(server, tmp_path)

    assert "wrong" not in str(failed.value)


def test_a_certificate_that_nobody_trusts_is_refused(server: Server, tmp_path: Path) -> None:
    with pytest.raises(delivery.NotSent, match="CERTIFICATE_VERIFY_FAILED"):
        send(server, tmp_path, ca_file="")


def test_a_server_without_tls_gets_no_password(tmp_path: Path) -> None:
    controller = pytest.importorskip("aiosmtpd.controller", reason="needs aiosmtpd: pip install aiosmtpd")
    running = controller.Controller(controller.Controller, hostname="localhost", port=free_port())
    running.start()
    try:
        with pytest.raises(delivery.NotSent, match="STARTTLS"):
            send(Server(running.port, "", [], {}), tmp_path, ca_file="")
    finally:
        running.stop()


def test_a_server_that_never_speaks_costs_no_more_than_its_timeout(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        with pytest.raises(delivery.NotSent, match="timed out"):
            send(Server(silent.getsockname()[1], "", [], {}), tmp_path, ca_file="", timeout_s=0.5, tries=2)

    assert time.monotonic() - began < 20


def test_nobody_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(delivery.NotSent, match="refused"):
        send(Server(free_port(), "", [], {}), tmp_path, ca_file="", tries=1)


def test_the_password_may_stand_in_a_file(server: Server, tmp_path: Path) -> None:
    (tmp_path / "password").write_text(f"{PASSWORD}\n")

    send(server, tmp_path, password_env="", password_file=str(tmp_path / "password"))

    assert len(server.mails) == 1


GOOD = "host: mail.example.org\nto: [ops@example.org]\nsender: smoke@example.org\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected fields"),
        ("[", "while parsing"),
        ("host: h\nto: [a@b]\n", "sender is missing"),
        (GOOD + "colour: red\n", "unknown field 'colour'"),
        (GOOD + "port: many\n", "port: 'many' is not a int"),
        (GOOD + "security: maybe\n", "not one of starttls, tls, none"),
        (GOOD + "security: none\nuser: me\n", "a password requires security: starttls or tls"),
        ('host: h\nto: [a@b]\nsender: "x\\ny@example.org"\n', "line break"),
        ("host: h\nto: 3\nsender: s@example.org\n", "to: 3 is neither an address nor a list"),
        ("host: h\nto: [a@b, 3]\nsender: s@example.org\n", "neither an address nor a list"),
        (GOOD + "port: 70000\n", "port 0 to 65535"),
        (GOOD + "tries: 0\n", "tries 1 or more"),
        (GOOD + "timeout_s: .nan\n", "timeout_s above 0"),
    ],
)
def test_settings_that_cannot_work_say_which_field(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "mail.yaml"
    path.write_text(text)

    with pytest.raises(message.BadSettings, match=said):
        message.read_settings(str(path))


def test_settings_as_in_the_docs(tmp_path: Path) -> None:
    path = tmp_path / "mail.yaml"
    path.write_text(GOOD + "user: smoke\npassword_env: SMOKE_TEST_PASSWORD\ntimeout_s: 10\n")

    read = message.read_settings(str(path))

    assert (read.to, read.security, message.password(read)) == (("ops@example.org",), "starttls", PASSWORD)


def test_an_unset_password_names_its_variable(tmp_path: Path) -> None:
    with pytest.raises(message.BadSettings, match="SMOKE_UNSET"):
        message.password(Settings("h", ("a@b",), "c@d", user="u", password_env="SMOKE_UNSET"))
