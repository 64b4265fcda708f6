"""Ways to root's files and memory, and wrong verdicts, that an attack on the agent found."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

from agent.checks.system import kernel_health
from agent.machine import fs_worker, process_list, regular_files
from agent.sources.kafka import processes as kafka
from agent.sources.network import counters as tcp_counters

NOBODY = 65534
WITH_ROOTS_RIGHTS = f"import os, time; os.setresuid({NOBODY}, 0, 0); print(flush=True); time.sleep(60)"
OF_NOBODY = f"import os, time; os.setresuid({NOBODY}, {NOBODY}, {NOBODY}); print(flush=True); time.sleep(60)"


@contextlib.contextmanager
def process(program: str) -> Iterator[int]:
    """Its pid, once it has printed a line."""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        assert child.stdout
        child.stdout.readline()
        try:
            yield child.pid
        finally:
            child.kill()


@pytest.mark.root
def test_a_set_user_id_program_does_not_lend_its_rights_to_the_file_that_its_caller_names() -> None:
    with process(WITH_ROOTS_RIGHTS) as pid, pytest.raises(PermissionError, match="another user"):
        regular_files.take_rights_of(pid)


@pytest.mark.root
def test_a_log_that_a_users_process_names_is_searched_with_that_users_rights(tmp_path: pathlib.Path) -> None:
    secret = tmp_path / "private.log"
    secret.write_text("ERROR TOPSECRET\n")
    secret.chmod(0o600)
    (tmp_path / "server.log").symlink_to(secret)
    inside = f"""
import sys; sys.path.insert(0, {os.getcwd()!r})
from agent.machine import fs_worker
try:
    print(fs_worker.touch_search({str(tmp_path / "server.log")!r}, 0, 0, 1 << 20, "ERROR", int(sys.argv[1])))
except PermissionError as error:
    print("refused", error.strerror)
"""
    with process(OF_NOBODY) as pid:
        done = subprocess.run([sys.executable, "-c", inside, str(pid)], capture_output=True, text=True, check=True)

    assert done.stdout == "refused Permission denied\n"


def test_a_flood_of_one_log_is_kept_at_its_end_and_what_was_left_out_is_counted(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "server.log"
    line = b"ERROR " + b"x" * 990 + b"\n"
    log.write_bytes(line * 20_000)

    found = fs_worker.touch_search(str(log), 0, 0, 64 << 20, "ERROR")

    assert len(found["text"]) <= 8 << 20
    assert sum(len(value) for value in found.values() if isinstance(value, str)) < len(line) * 20_000


def test_a_long_command_line_is_cut_into_few_words() -> None:
    words = [sys.executable, "-c", "print(flush=True); import time; time.sleep(60)", *["ab"] * 40_000]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as child:
        assert child.stdout
        child.stdout.readline()
        try:
            (found,) = [one for one in process_list.processes() if one.pid == child.pid]
        finally:
            child.kill()

    assert found.argv[:2] == (sys.executable, "-c")
    assert len(found.argv) <= process_list.MOST_WORDS


def test_clouderas_broker_is_a_broker() -> None:
    assert "com.cloudera.kafka.wrap.Kafka" in kafka.BROKER_CLASSES


def test_a_configuration_of_nine_thousand_log_dirs_costs_no_more_than_a_large_brokers() -> None:
    dirs = kafka.log_dirs({"log.dirs": ",".join(f"/kafka/d{n}" for n in range(9000))})

    assert dirs == [f"/kafka/d{n}" for n in range(kafka.MOST_LOG_DIRS)]


# /proc/net/stat/nf_conntrack of Linux 6.1, one processor: two DNS queries raced, nothing was dropped for want of room
RACED = """entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop
00000384  00000000 00000000 00000000 00000003 00000000 00000000 00000001 00000000 00000003 00000003 00000000
"""


def test_packets_that_raced_for_one_entry_are_not_dropped_for_want_of_room() -> None:
    assert tcp_counters._dropped(RACED) == 0
    assert tcp_counters._dropped(RACED.replace("00000003 00000003 ", "00000003 00000008 ")) == 5


def test_a_hard_lockup_in_the_words_of_newer_kernels_is_one() -> None:
    form, match = kernel_health.TABLE.find("watchdog: CPU3: Watchdog detected hard LOCKUP on cpu 3")

    assert form and match
