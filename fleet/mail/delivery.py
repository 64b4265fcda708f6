"""The night's mail on its way: handed over once to each recipient, tried again for those who are still waiting."""

from __future__ import annotations

import datetime
import email
import email.policy
import json
import smtplib
import ssl
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from email.message import EmailMessage
from typing import NamedTuple

from fleet.archive.manifests import HOME
from fleet.mail.message import PORTS, STARTTLS, TLS, BadSettings, Settings, password
from fleet.store import periods
from fleet.store.files import Files

DELIVERIES = f"{HOME}/mail"
STORE_ID = f"{HOME}/store-id"
RETRY_S = 20.0
# a mail is news for so many days
RETRY_DAYS = 7
SENT, WAITING, REFUSED = "sent", "waiting", "refused"
WRONG_SETTINGS = (smtplib.SMTPAuthenticationError, smtplib.SMTPNotSupportedError, ssl.SSLCertVerificationError)
Tell = Callable[[str], None]


class NotSent(Exception):
    """Nobody got the mail; the message says why."""


class Recipient(NamedTuple):
    """How far the mail is. state: `sent`, `waiting` or `refused` (for good). at: UTC. reason: the server's words."""

    state: str
    at: str
    reason: str = ""


Recipients = Mapping[str, Recipient]


def store_id(files: Files) -> str:
    """A name of this store that no other has, made on first use."""
    try:
        return files.read(STORE_ID).decode("ascii").strip()
    except FileNotFoundError:
        made = uuid.uuid4().hex[:12]
        files.replace(STORE_ID, made.encode())
        return made


def recipients(files: Files, date: str) -> Recipients:
    """What is known of the mail of a night, a week or a month, by address; empty when nothing was sent."""
    try:
        read = json.loads(files.read(f"{DELIVERIES}/{date}.json"))["recipients"]
        return {str(address): Recipient(**row) for address, row in read.items()}
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def send_once(
    files: Files, date: str, mail: EmailMessage, settings: Settings, tell: Tell, retry_s: float = RETRY_S
) -> str:
    """Send to everybody who has not got it; gives when it was sent, if nobody is left. Raises NotSent, BadSettings.

    A crash between the server's yes and our note of it is the one moment where a second mail goes out; it then has
    the same Message-ID.
    """
    periods.named(date)
    known = recipients(files, date)
    pending = [address for address in settings.to if address not in known or known[address].state == WAITING]
    if not pending:
        return max(known[address].at for address in settings.to)
    files.replace(f"{DELIVERIES}/{date}.eml", mail.as_bytes())
    tell("sending")
    after = _send(files, date, mail, settings, pending, retry_s)
    left = {address: after[address] for address in pending if after[address].state != SENT}
    if len(left) == len(pending):
        raise NotSent(_server(settings) + "; ".join(sorted({row.reason for row in left.values()}))[:400])
    tell("sent")
    for address, row in sorted(left.items()):
        tell(f"{settings.host} rejected the mail for {address}: {row.reason}")
    return ""


def retry_earlier(files: Files, date: str, settings: Settings, tell: Tell, retry_s: float = 0.0) -> list[str]:
    """Send the mails of the last nights to those still waiting; a sentence for each that is still undelivered."""
    undelivered = []
    for earlier in _earlier(files, date):
        left = {address: row for address, row in recipients(files, earlier).items() if row.state != SENT}
        waiting = [address for address, row in left.items() if row.state == WAITING and address in settings.to]
        if waiting:
            mail = _kept(files, earlier)
            after = _send(files, earlier, mail, settings._replace(tries=1), waiting, retry_s) if mail else left
            left = {address: after[address] for address in left if after[address].state != SENT}
            tell(f"mail of {earlier} sent again")
        undelivered += [f"{earlier}: not delivered to {address}: {row.reason}" for address, row in sorted(left.items())]
    return undelivered


def _earlier(files: Files, date: str) -> list[str]:
    """Nights, weeks and months that ended before this one, by their labels."""
    night = periods.named(date).last
    names = [entry.name.removesuffix(".json") for entry in files.list(DELIVERIES) if entry.name.endswith(".json")]
    known = [(periods.named(name), name) for name in names if periods.LABELS.fullmatch(name)]
    return [name for period, name in known if night - RETRY_DAYS <= period.last < night]


def _kept(files: Files, date: str) -> EmailMessage | None:
    try:
        raw = files.read(f"{DELIVERIES}/{date}.eml")
    except FileNotFoundError:
        return None
    mail = email.message_from_bytes(raw, policy=email.policy.SMTP)
    return mail if isinstance(mail, EmailMessage) else None


def _send(
    files: Files, date: str, mail: EmailMessage, settings: Settings, pending: Sequence[str], retry_s: float
) -> Recipients:
    """Hand it over and note what became of each; a server that is busy or away is asked again."""
    secret = password(settings) if settings.user else ""
    if settings.tries < 1:
        raise BadSettings("tries must be at least 1")
    waiting = list(pending)
    after = dict(recipients(files, date))
    for left in range(settings.tries - 1, -1, -1):
        tried, may_change = _try(mail, settings, secret, waiting)
        after.update(tried)
        _note(files, date, after)
        waiting = [address for address in waiting if tried[address].state == WAITING]
        if not waiting or not left or not may_change:
            break
        time.sleep(retry_s)
    return after


def send_now(mail: EmailMessage, settings: Settings, retry_s: float = RETRY_S) -> list[str]:
    """Send without a store, so without a note of it; gives who did not get it. Raises NotSent, BadSettings."""
    secret = password(settings) if settings.user else ""
    after: dict[str, Recipient] = {}
    waiting: Sequence[str] = settings.to
    for left in range(settings.tries - 1, -1, -1):
        tried, may_change = _try(mail, settings, secret, waiting)
        after.update(tried)
        waiting = [address for address in waiting if tried[address].state == WAITING]
        if not waiting or not left or not may_change:
            break
        time.sleep(retry_s)
    missed = sorted(address for address, row in after.items() if row.state != SENT)
    if len(missed) == len(settings.to):
        raise NotSent(_server(settings) + "; ".join(sorted({row.reason for row in after.values()}))[:400])
    return missed


def _try(mail: EmailMessage, settings: Settings, secret: str, to: Sequence[str]) -> tuple[dict[str, Recipient], bool]:
    """One attempt: the outcome for each address, and whether a second one a moment later may do better."""
    try:
        refused = _hand_over(mail, settings, secret, to)
    except smtplib.SMTPRecipientsRefused as error:
        refused = error.recipients
    except (OSError, smtplib.SMTPException) as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        state = REFUSED if _is_refusal(error) else WAITING
        return {address: Recipient(state, _now(), reason) for address in to}, not isinstance(error, WRONG_SETTINGS)
    return {address: _outcome(refused.get(address)) for address in to}, True


def _outcome(refusal: tuple[int, bytes] | None) -> Recipient:
    if refusal is None:
        return Recipient(SENT, _now())
    code, words = refusal
    text = " ".join(words.decode("utf-8", "replace").split())[:300]
    return Recipient(REFUSED if code >= 500 else WAITING, _now(), f"{code} {text}")


def _is_refusal(error: Exception) -> bool:
    """Of this mail, for good. Wrong settings can be mended until the next run."""
    if isinstance(error, WRONG_SETTINGS):
        return False
    return isinstance(error, smtplib.SMTPResponseException) and error.smtp_code >= 500


def _hand_over(mail: EmailMessage, settings: Settings, secret: str, to: Sequence[str]) -> dict[str, tuple[int, bytes]]:
    """The addresses that the server refused, with code and text."""
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
        return server.send_message(mail, settings.sender, to)


def _server(settings: Settings) -> str:
    return f"{settings.host}:{settings.port or PORTS[settings.security]}: "


def _note(files: Files, date: str, known: Recipients) -> None:
    """Kept until everybody has it: the mail itself too."""
    rows = {address: row._asdict() for address, row in known.items()}
    files.replace(f"{DELIVERIES}/{date}.json", json.dumps({"recipients": rows}, sort_keys=True).encode())
    if not any(row.state == WAITING for row in known.values()):
        files.delete(f"{DELIVERIES}/{date}.eml")


def _now() -> str:
    return f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
