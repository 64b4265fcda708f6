"""What a playbook refuses before anything is done: a disk without a log dir, a user who may only start the agent."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

from inventory.model import Host
from playbooks.facts import Choice
from playbooks.plan import refusals
from tests.playbooks.books.test_books_facts import WITH_ZOOKEEPER, jbod
from tests.playbooks.fake_machine import found
from tests.playbooks.playbook_fixtures import book, names
from tests.real.parts.people import let_all_in, people
from tests.real.parts.sshd import sshd

ONE_LOG_DIR = WITH_ZOOKEEPER.replace("/kafka/d1/logs,", "")
LEAST = Host("kafka-a03", sudo="agent")


@pytest.mark.parametrize(("mount", "refused"), [("/kafka/d1", True), ("/kafka/d2", False)])
def test_a_disk_that_holds_no_log_dir_is_not_replaced(mount: str, refused: bool) -> None:
    disk = found("jbod-disk", jbod(ONE_LOG_DIR, "kafka"), Choice(item=mount))
    sentences = list(refusals.empty(book("replace-jbod-disk"), {"disk": disk}))

    assert bool(sentences) == refused
    assert not refused or sentences == [
        "refused: disk: /kafka/d1 /dev/sdc: no known broker of this machine has a log dir on it, so there is "
        "nothing to restore"
    ]


def test_a_hung_disk_may_be_any_disk() -> None:
    disk = found("jbod-disk", jbod(ONE_LOG_DIR, "kafka"), Choice(item="/kafka/d1"))

    assert list(refusals.empty(book("hung-disk"), {"disk": disk})) == []


def test_where_the_user_may_only_start_the_agent_the_first_command_that_needs_more_is_named() -> None:
    said = refusals.rights(book("replace-jbod-disk"), LEAST)

    assert said.startswith("refused: on kafka-a03 sudo permits only the agent")
    assert "replace-jbod-disk runs systemctl, " in said
    assert "as root from step 4 (Stop the broker to release the disk)" in said
    assert "\n" not in said and said.count(". ") == 0


@pytest.mark.parametrize("name", names())
def test_a_playbook_that_runs_nothing_there_needs_no_right(name: str) -> None:
    runs = any(step.kind == "run" and step.on == "host" for step in book(name).steps)

    assert bool(refusals.rights(book(name), LEAST)) == runs
    assert refusals.rights(book(name), Host("kafka-a03", sudo="yes")) == ""


SITE = """title: Restart it
means: >-
  The broker is to be begun anew, as a test of what a user without rights is told.
risk: >-
  While the broker restarts, its partitions are led by others.
safe: false
steps:
  - name: Restart the broker
    run: [systemctl, restart, kafka]
    no_undo: it runs again
"""


@pytest.mark.root
@pytest.mark.slow
def test_with_a_real_sudo_that_allows_the_agent_alone_a_plan_and_a_run_say_which_command_needs_more(
    tmp_path: pathlib.Path,
) -> None:
    """Before, the plan was made and the run failed at its first step: systemctl asked for a password."""
    (tmp_path / "people").mkdir()
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "restart-it.yaml").write_text(SITE)
    with people(tmp_path / "people") as files:
        let_all_in(tmp_path)
        with sshd(tmp_path, binds=files) as server:
            (tmp_path / "fleet.yaml").write_text(
                f"clusters: {{prod-a: {{hosts: {{kafka-a03: {{address: 127.0.0.1, port: {server.port}, user: other, "
                f"sudo: agent, roles: [broker], python: {sys.executable}}}}}}}}}\n"
            )
            words = ["restart-it", "-i", tmp_path / "fleet.yaml", "--host", "kafka-a03", "--store", tmp_path,
                     "--playbooks", tmp_path / "books", "--known-hosts", server.known_hosts,
                     "--identity", server.key]  # fmt: skip
            for verb in ("plan", "run"):
                done = subprocess.run(
                    [sys.executable, "-m", "smoketests.cli", "playbook", verb, *map(str, words)],
                    capture_output=True, text=True, timeout=60, check=False,
                )  # fmt: skip
                assert done.returncode == 3, done
                assert "restart-it runs systemctl as root from step 1 (Restart the broker)" in done.stderr
                assert done.stdout == ""
