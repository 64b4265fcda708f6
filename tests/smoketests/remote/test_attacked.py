"""Ways of a hostile host to others, and to the controller's secret, that an attack found."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

import pytest

from inventory.model import Host
from smoketests.remote import local
from smoketests.remote.agent_output import by_sudo


@pytest.mark.parametrize(
    ("sudo", "user", "asks"),
    [("no", "ann", False), ("auto", "root", False), ("auto", "ann", True), ("yes", "root", True)],
)
def test_only_where_sudo_was_started_may_anything_ask_for_its_password(sudo: str, user: str, asks: bool) -> None:
    assert by_sudo(Host("kafka-a01", sudo=sudo), user) == asks


def test_the_report_of_an_agent_that_was_killed_half_way_is_not_taken_for_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = subprocess.Popen
    half = "import os, signal; print('{}', flush=True); os.kill(os.getpid(), signal.SIGKILL)"

    def begin(_argv: Any, **options: Any) -> Any:
        return start([sys.executable, "-c", half], **options)

    monkeypatch.setattr(subprocess, "Popen", begin)
    with pytest.raises(local.AgentFailed, match=f"truncated .killed by signal {signal.SIGKILL:d}."):
        list(local.lines([], 20.0))
