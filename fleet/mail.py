"""The night's mail: made of a digest, sent once. The settings come from a YAML file, its password never does."""

from __future__ import annotations

import json
import os
import smtplib
import ssl
import time
from collections.abc import Callable
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Any, NamedTuple

from fleet import digest as words
from fleet import page, reports
from fleet.charts import Chart
from fleet.compact import HOME
from fleet.digest import Digest
from fleet.files import Files

LETTERS = f"{HOME}/mail"
STARTTLS, TLS, NONE = "starttls", "tls", "none"
PORTS = {STARTTLS: 587, TLS: 465, NONE: 25}
RETRY_S = 20.0


class BadSettings(ValueError):
    """The mail settings cannot be used, and this is why."""


class NotSent(Exception):
    """No server took the mail, and this is why."""


class Settings(NamedTuple):
    """Whom to write to, and by which server.

    security: `starttls`, `tls`, or `none` (only for a server on this machine or without a password).
    password_env, password_file: where the password is. link: the address under which people open the store.
    """

    host: str
    to: tuple[str, ...]
    sender: str
    port: int = 0
    security: str = STARTTLS
    user: str = ""
    password_env: str = ""
    password_file: str = ""
    ca_file: str = ""
    timeout_s: float = 30.0
    tries: int = 3
    link: str = ""


def read_settings(path: str) -> Settings:
    """Read a YAML file with the fields of Settings; BadSettings names the field that is wrong."""
    import yaml

    try:
        with open(path, encoding="utf-8") as file:
            said = yaml.safe_load(file)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadSettings(f"{path}: {' '.join(str(error).split())}") from error
    if not isinstance(said, dict):
        raise BadSettings(f"{path}: expected fields such as host, to, sender")
    return _checked(path, said)


def _checked(path: str, said: dict[str, Any]) -> Settings:
    odd = sorted(set(map(str, said)) - set(Settings._fields))
    if odd:
        raise BadSettings(f"{path}: unknown field {odd[0]!r}; known: {', '.join(Settings._fields)}")
    missing = [name for name in ("host", "to", "sender") if not said.get(name)]
    if missing:
        raise BadSettings(f"{path}: {missing[0]} is missing")
    to = said["to"]
    given = {**said, "to": (to,) if isinstance(to, str) else tuple(to)}
    for name, value in given.items():
        wanted = type(Settings("", (), "")._asdict()[name])
        if not isinstance(value, (int, float) if wanted is float else wanted) or isinstance(value, bool):
            raise BadSettings(f"{path}: {name}: {value!r} is not a {wanted.__name__}")
    settings = Settings(**given)
    if settings.security not in PORTS:
        raise BadSettings(f"{path}: security: {settings.security!r} is none of {', '.join(PORTS)}")
    if any("\n" in text or "\r" in text for text in (settings.sender, *settings.to)):
        raise BadSettings(f"{path}: an address holds a line break")
    if settings.security == NONE and settings.user:
        raise BadSettings(f"{path}: a password is not sent in the clear: security starttls or tls")
    return settings


def password(settings: Settings) -> str:
    """From the environment or a file; BadSettings if the place named is empty."""
    if settings.password_env:
        if not os.environ.get(settings.password_env):
            raise BadSettings(f"the environment variable {settings.password_env} with the mail password is not set")
        return os.environ[settings.password_env]
    if not settings.password_file:
        raise BadSettings("a user needs password_env or password_file")
    try:
        with open(settings.password_file, encoding="utf-8") as file:
            return file.read().strip()
    except OSError as error:
        raise BadSettings(f"password_file {settings.password_file}: {error.strerror}") from error


def letter(said: Digest, charts: list[Chart], settings: Settings) -> EmailMessage:
    """Plain text that reads well alone, and HTML with its pictures. The same night gives the same Message-ID."""
    mail = EmailMessage(policy=SMTP)
    mail["Subject"] = said.subject
    mail["From"] = settings.sender
    mail["To"] = ", ".join(settings.to)
    mail["Date"] = format_datetime(_now())
    mail["Message-ID"] = f"<smoke-{said.date}@{_domain(settings.sender)}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(words.text(said, settings.link))
    mail.add_alternative(page.html(said, charts, page.by_cid, settings.link), subtype="html")
    html = mail.get_payload()[1]  # type: ignore[index]
    for chart in charts:
        cid = f"<{page.by_cid(chart).removeprefix('cid:')}>"
        html.add_related(  # type: ignore[union-attr]
            chart.png, "image", "png", cid=cid, filename=f"{chart.name}.png", disposition="inline"
        )
    return mail


def _now() -> Any:
    import datetime

    return datetime.datetime.now(datetime.timezone.utc)


def _domain(sender: str) -> str:
    return sender.rpartition("@")[2].strip(" >") or "localhost"


def send(mail: EmailMessage, settings: Settings, retry_s: float = RETRY_S) -> list[str]:
    """Hand it to the server; a server that is busy or away is asked again. Gives the addresses that it refused.

    Raises NotSent when nobody gets it, and BadSettings.
    """
    secret = password(settings) if settings.user else ""
    for left in range(settings.tries - 1, -1, -1):
        try:
            return _hand_over(mail, settings, secret)
        except (smtplib.SMTPAuthenticationError, smtplib.SMTPNotSupportedError, ssl.SSLCertVerificationError) as error:
            raise NotSent(_reason(settings, error)) from error
        except (OSError, smtplib.SMTPException) as error:
            if not left or _refused_for_good(error):
                raise NotSent(_reason(settings, error)) from error
            time.sleep(retry_s)
    raise BadSettings("tries must be at least 1")


def _hand_over(mail: EmailMessage, settings: Settings, secret: str) -> list[str]:
    port = settings.port or PORTS[settings.security]
    context = ssl.create_default_context(cafile=settings.ca_file or None)
    if settings.security == TLS:
        server: smtplib.SMTP = smtplib.SMTP_SSL(settings.host, port, timeout=settings.timeout_s, context=context)
    else:
        server = smtplib.SMTP(settings.host, port, timeout=settings.timeout_s)
    with server:
        if settings.security == STARTTLS:
            server.starttls(context=context)
        if settings.user:
            server.login(settings.user, secret)
        return sorted(server.send_message(mail, settings.sender, list(settings.to)))


def _refused_for_good(error: Exception) -> bool:
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return all(code >= 500 for code, _said in error.recipients.values())
    return isinstance(error, smtplib.SMTPResponseException) and error.smtp_code >= 500


def _reason(settings: Settings, error: Exception) -> str:
    port = settings.port or PORTS[settings.security]
    return f"{settings.host}:{port}: {' '.join(str(error).split()) or type(error).__name__}"[:400]


def was_sent(files: Files, date: str) -> str:
    """When the night's mail was sent; empty if it was not, or if nobody knows whether it was."""
    try:
        said = json.loads(files.read(f"{LETTERS}/{date}.json"))
        return str(said["at"]) if said["state"] == "sent" else ""
    except (FileNotFoundError, ValueError, KeyError):
        return ""


def send_once(
    files: Files,
    said: Digest,
    charts: list[Chart],
    settings: Settings,
    tell: Callable[[str], None],
    retry_s: float = RETRY_S,
) -> str:
    """Send unless it was sent; gives when that was, or nothing if it is sent now. Raises NotSent, BadSettings.

    A crash between the server's yes and our note of it is the one moment where a second mail goes out; it then has
    the same Message-ID.
    """
    reports.number_of(said.date)
    already = was_sent(files, said.date)
    if already:
        return already
    mail = letter(said, charts, settings)
    _note(files, said.date, "sending")
    tell("sending")
    refused = send(mail, settings, retry_s)
    _note(files, said.date, "sent")
    tell("sent")
    if refused:
        tell(f"{settings.host} did not take the mail for {', '.join(refused)}")
    return ""


def _note(files: Files, date: str, state: str) -> None:
    files.replace(f"{LETTERS}/{date}.json", json.dumps({"state": state, "at": f"{_now():%Y-%m-%dT%H:%M:%SZ}"}).encode())
