"""Which commands take something away from the cluster, so that GO must be fresh in front of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbooks.loader import PlaybookError, parse
from playbooks.run import leaving
from tests.playbooks.playbook_fixtures import book, commands, names

SERVERS = ["kafka.service", "zookeeper.service", "4711"]


@pytest.mark.parametrize(
    "words",
    ["systemctl stop kafka.service", "systemctl restart kafka", "systemctl --no-block restart zookeeper.service",
     "/usr/bin/systemctl kill -s TERM kafka.service", "systemctl disable --now kafka.service", "systemctl reboot",
     "shutdown -r +1 words", "shutdown -P now", "reboot", "/sbin/poweroff", "kill -9 4711",
     "ipmitool chassis power cycle", "systemctl isolate rescue.target"],
)  # fmt: skip
def test_what_stops_a_server_or_the_machine_takes_it_away(words: str) -> None:
    assert leaving.command_takes_away(words.split(), SERVERS)


@pytest.mark.parametrize(
    "words",
    ["systemctl start kafka.service", "systemctl stop shipper.service", "systemctl disable kafka.service",
     "systemctl is-active kafka.service", "systemctl daemon-reload", "shutdown -c", "kill 99",
     "ipmitool chassis power status", "ipmitool chassis identify 240", "touch kafka.service", "systemctl"],
)  # fmt: skip
def test_what_only_starts_or_looks_does_not(words: str) -> None:
    assert not leaving.command_takes_away(words.split(), SERVERS)


@given(st.lists(st.text(max_size=9), min_size=1, max_size=5), st.lists(st.text(max_size=9), max_size=3))
def test_any_command_can_be_asked(argv: list[str], servers: list[str]) -> None:
    assert leaving.command_takes_away(argv, servers) in (True, False)


@pytest.mark.parametrize("name", names())
def test_whatever_takes_something_away_stands_behind_a_question_to_the_gate(name: str) -> None:
    playbook = book(name)
    for kind, step, words in commands(playbook):
        servers = ["kafka.service"] if {"{broker.unit}", "{zookeeper.unit}"} & {*step.run} else []
        if kind == "run" and leaving.takes_away(step, words, servers):
            asked = leaving.gate_of(playbook, playbook.steps.index(step) + 1)
            assert asked and not asked.after, step.name


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("hung-disk", "Remove the disk from the kernel (SATA"),
        ("hung-disk", "Remove the disk from the kernel (NVMe"),
        ("replace-raid10-disk", "Mark the member as failed"),
        ("replace-raid10-disk", "Remove the member"),
        ("replace-raid10-disk", "Take the disk offline (storcli)"),
        ("replace-raid10-disk", "Take the disk offline (perccli)"),
        ("nic-resets", "Set the rings to their maximum size now"),
    ],
)
def test_a_disk_or_a_link_that_is_taken_away_needs_a_fresh_go_too(name: str, begins: str) -> None:
    (step,) = [one for one in book(name).steps if one.name.startswith(begins)]

    assert step.takes_away


def test_a_playbook_that_takes_something_away_and_never_asks_the_gate_is_refused() -> None:
    text = b"title: abc\nmeans: it means nothing\nrisk: nothing is lost\n"
    text += b"steps: [{confirm: It is pulled., takes_away: true}]"

    with pytest.raises(PlaybookError, match="requires a step with `gate`"):
        parse(text, "book.yaml")
