"""Commands of a playbook on this machine: what they print is heard, however busy the machine is."""

from __future__ import annotations

import selectors

import pytest

from inventory.model import Host
from playbooks.machine import Here
from tests.busy_machine import LateSelector


def test_a_command_that_prints_and_ends_while_we_wait_for_a_processor_is_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(selectors, "DefaultSelector", LateSelector)
    here = Here(Host("here", cluster="c"), "root")

    done = here.run(["sh", "-c", "sleep 0.8; echo words; exit 4"])

    assert (done.code, done.out) == (4, "words\n")
