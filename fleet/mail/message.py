"""The night's mail, made of a digest, and its settings from a YAML file, which never hold the password."""

from __future__ import annotations

import datetime
import os
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Any, NamedTuple

from fleet.digest.night_digest import Digest
from fleet.render import html_page, plain_text
from fleet.render.charts import Chart

STARTTLS, TLS, NONE = "starttls", "tls", "none"
PORTS = {STARTTLS: 587, TLS: 465, NONE: 25}
# nobody waits longer for one mail server
LONGEST_S = 600.0


class BadSettings(ValueError):
    """The mail settings cannot be used, and this is why."""


class Settings(NamedTuple):
    """Whom to write to, and by which server.

    security: `starttls`, `tls`, or `none` (only for a server on this machine or without a password).
    password_env, password_file: where the password is. link: the address of the pages (`--site`).
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
    addresses = [to] if isinstance(to, str) else to
    if not isinstance(addresses, list) or not all(isinstance(one, str) and one for one in addresses):
        raise BadSettings(f"{path}: to: {to!r} is neither an address nor a list of addresses")
    given = {**said, "to": tuple(addresses)}
    for name, value in given.items():
        wanted = type(Settings("", (), "")._asdict()[name])
        if not isinstance(value, (int, float) if wanted is float else wanted) or isinstance(value, bool):
            raise BadSettings(f"{path}: {name}: {value!r} is not a {wanted.__name__}")
    settings = Settings(**given)
    if settings.security not in PORTS:
        raise BadSettings(f"{path}: security: {settings.security!r} is not one of {', '.join(PORTS)}")
    if not (0 <= settings.port <= 65535 and settings.tries >= 1 and 0 < settings.timeout_s <= LONGEST_S):
        limits = f"port 0 to 65535, tries 1 or more, timeout_s above 0 and at most {LONGEST_S:.0f}"
        raise BadSettings(f"{path}: out of range; expected {limits}")
    if any("\n" in text or "\r" in text for text in (settings.sender, *settings.to)):
        raise BadSettings(f"{path}: an address contains a line break")
    if settings.security == NONE and settings.user:
        raise BadSettings(f"{path}: a password requires security: starttls or tls")
    return settings


def password(settings: Settings) -> str:
    """From the environment or a file; BadSettings if the place named is empty."""
    if settings.password_env:
        if not os.environ.get(settings.password_env):
            raise BadSettings(f"the environment variable {settings.password_env} with the mail password is not set")
        return os.environ[settings.password_env]
    if not settings.password_file:
        raise BadSettings("user requires password_env or password_file")
    try:
        with open(settings.password_file, encoding="utf-8") as file:
            return file.read().strip()
    except OSError as error:
        raise BadSettings(f"password_file {settings.password_file}: {error.strerror}") from error


def letter(said: Digest, charts: list[Chart], settings: Settings, store_id: str) -> EmailMessage:
    """The mail. A second one of the same night and store has the same Message-ID, so that it shows once."""
    domain = _domain(settings.sender)
    mail = EmailMessage(policy=SMTP)
    mail["Subject"] = said.subject
    mail["From"] = settings.sender
    mail["To"] = ", ".join(settings.to)
    mail["Date"] = format_datetime(datetime.datetime.now(datetime.timezone.utc))
    mail["Message-ID"] = f"<smoke-{said.date}-{store_id}@{domain}>"
    mail["List-Id"] = f"Fleet health <smoke-{store_id}.{domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(plain_text.text(said, settings.link))
    mail.add_alternative(html_page.html(said, charts, html_page.by_cid, settings.link), subtype="html")
    html = mail.get_payload()[1]  # type: ignore[index]
    for chart in charts:
        cid = f"<{html_page.by_cid(chart).removeprefix('cid:')}>"
        html.add_related(  # type: ignore[union-attr]
            chart.png, "image", "png", cid=cid, filename=f"{chart.name}.png", disposition="inline"
        )
    return mail


def _domain(sender: str) -> str:
    return sender.rpartition("@")[2].strip(" >") or "localhost"
