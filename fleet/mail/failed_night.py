"""The mail that says that a night failed: plain text, made without Spark and without the store."""

from __future__ import annotations

import datetime
import shutil
import socket
import subprocess
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid

from fleet.mail import delivery, message

LINES = 30
LONGEST = 4000
JOURNAL_S = 20


def letter(settings: message.Settings, unit: str) -> EmailMessage:
    """With the last lines that the unit logged, where the journal can be read."""
    machine = socket.gethostname()
    told = EmailMessage(policy=SMTP)
    told["Subject"] = f"[smoke] the nightly job failed on {machine}: no summary of the last day"
    told["From"] = settings.sender
    told["To"] = ", ".join(settings.to)
    told["Date"] = format_datetime(datetime.datetime.now(datetime.timezone.utc))
    told["Message-ID"] = make_msgid(domain=message._domain(settings.sender))
    told["Auto-Submitted"] = "auto-generated"
    told.set_content(
        f"{unit} on {machine} failed. It is not retried before the next night.\n\n"
        f"{last_lines(unit)}\n\n"
        f"Next step: check journalctl -u {unit}, fix the cause, then run systemctl start {unit}.\n"
        "No data is lost: the next run processes the reports that were not read.\n"
    )
    return told


def last_lines(unit: str) -> str:
    """What the unit said last, one line each, without control characters."""
    if not shutil.which("journalctl"):
        return "This machine has no journal."
    command = ["journalctl", "--no-pager", "--output=cat", f"--lines={LINES}", f"--unit={unit}"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=JOURNAL_S, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"The journal could not be read: {error}"
    said = "\n".join("".join(c if c.isprintable() else " " for c in line) for line in done.stdout.splitlines())
    return said[-LONGEST:].strip() or f"The journal has no lines of this unit: {done.stderr.strip()[:200]}"


def send(settings: message.Settings, unit: str) -> list[str]:
    """Gives the addresses that were refused. Raises delivery.NotSent, mail.BadSettings."""
    return delivery.send_now(letter(settings, unit), settings)
