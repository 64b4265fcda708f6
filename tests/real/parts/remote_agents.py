"""Bundles with a stand-in for the agent, to be sent through the real boot program."""

from __future__ import annotations

import os

from agent.report import FIELDS
from smoketests.remote import bundle
from smoketests.remote.bundle import Bundle
from tests import records

MACHINE = os.uname().machine


def stand_in(source: str, *, machine: str = MACHINE) -> Bundle:
    """A bundle whose agent is this program."""
    files = {"all/agent/__init__.py": b"", "all/agent/__main__.py": source.encode(), f"{machine}/some.so": b""}
    return bundle.pack(files, "0")


def record(check: str = "mounts", **fields: object) -> dict[str, object]:
    """A finding as an agent on kafka-a01 would print it."""
    return records.finding(check=check, **{"host": "kafka-a01", **fields})  # type: ignore[arg-type]


def printing(*lines: str, then: str = "") -> Bundle:
    """An agent that prints these lines, then goes on with other statements."""
    return stand_in("".join(f"print({line!r}, flush=True)\n" for line in lines) + then)


LAST = {**{name: record()[name] for name in FIELDS}, "check": "agent", "item": "state", "status": "ok"}
