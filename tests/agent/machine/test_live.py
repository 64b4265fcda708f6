"""The live machine: every answer in time, whatever the program or the file system does."""

from __future__ import annotations

import contextlib
import os
import pathlib
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host import CannotTell, Missing, NoPermission, Process, Refused, Stuck, ToolMissing, explain
from agent.machine import commands, kernel_counters, live
from agent.machine.live import LiveHost
from tests.busy_machine import LateSelector
from tests.real.parts.filesystems import silent_fuse


@pytest.fixture
def host() -> Iterator[LiveHost]:
    machine = LiveHost()
    yield machine
    machine.close()


def script(folder: pathlib.Path, text: str) -> str:
    path = folder / "tool"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_a_command_gives_its_exit_code_and_both_outputs(host: LiveHost, tmp_path: pathlib.Path) -> None:
    assert host.run(script(tmp_path, "echo out; echo err >&2; exit 4")) == (4, "out\n", "err\n")


def test_a_command_sees_no_secret_of_ours_but_the_one_it_needs(
    host: LiveHost, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPMI_PASSWORD", "s3cret")
    monkeypatch.setenv("AWS_SECRET", "other")

    assert "s3cret" not in host.run(script(tmp_path, "env")).out
    seen = host.run(script(tmp_path, "env"), secret_env="IPMI_PASSWORD").out
    assert "IPMI_PASSWORD=s3cret" in seen
    assert "AWS_SECRET" not in seen


def test_a_secret_may_come_from_a_variable_of_another_name_which_must_be_set(
    host: LiveHost, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BMC_OF_RACK_7", "s3cret")
    tool = script(tmp_path, "env")
    seen = host.run(tool, secret_env="IPMI_PASSWORD", secret_from="BMC_OF_RACK_7").out

    assert "IPMI_PASSWORD=s3cret" in seen and "BMC_OF_RACK_7" not in seen
    with pytest.raises(CannotTell, match="the environment variable BMC_OF_RACK_8 is not set"):
        host.run(tool, secret_env="IPMI_PASSWORD", secret_from="BMC_OF_RACK_8")


def test_tools_print_times_in_utc(host: LiveHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")

    assert host.run("date", "+%Z").out == "UTC\n"


def test_a_tool_that_is_not_there_names_its_package(host: LiveHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "search_path", lambda: "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(ToolMissing, match=r"smartctl is not installed \(package smartmontools\)"):
        host.run("smartctl", "--scan")


def test_a_command_that_never_ends_is_killed_with_its_children_and_named(
    host: LiveHost, tmp_path: pathlib.Path
) -> None:
    tool = script(tmp_path, f"sleep 60 & echo $! > {tmp_path}/child; wait")

    with pytest.raises(Stuck, match=r"timed out after 0 s \(process \d+ in state S"):
        host.run(tool, deadline_s=0.4)

    child = int((tmp_path / "child").read_text())
    for _ in range(50):
        if not os.path.exists(f"/proc/{child}") or "\nState:\tZ" in pathlib.Path(f"/proc/{child}/status").read_text():
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        pytest.fail("the child of a late command goes on running")


def test_a_child_that_keeps_the_output_open_does_not_hold_us_up(host: LiveHost, tmp_path: pathlib.Path) -> None:
    started = time.monotonic()

    assert host.run(script(tmp_path, "sleep 30 & echo all is well; exit 4"), deadline_s=25) == (4, "all is well\n", "")
    assert time.monotonic() - started < 20


def test_a_tool_that_prints_and_ends_while_we_wait_for_a_processor_is_heard(
    host: LiveHost, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "DefaultSelector", LateSelector)

    assert host.run(script(tmp_path, "sleep 0.8; echo words; exit 4"), deadline_s=60) == (4, "words\n", "")


def test_a_tool_that_is_silent_for_a_while_is_waited_for(host: LiveHost, tmp_path: pathlib.Path) -> None:
    silent = "echo a; sleep 1; echo b; exec >&- 2>&-; sleep 1; exit 3"

    assert host.run(script(tmp_path, silent), deadline_s=25) == (3, "a\nb\n", "")


def test_what_is_being_started_when_the_end_comes_is_ended_too(tmp_path: pathlib.Path) -> None:
    machine = LiveHost()
    tool = script(tmp_path, f"echo $$ >> {tmp_path}/started; exec sleep 60")

    def start() -> None:
        with contextlib.suppress(CannotTell):
            machine.run(tool, deadline_s=60)

    workers = [threading.Thread(target=start, daemon=True) for _ in range(20)]
    for worker in workers:
        worker.start()
    machine.close()
    for worker in workers:
        worker.join(timeout=10)

    assert not any(worker.is_alive() for worker in workers), "each tool was killed, or never started"


def test_endless_output_is_cut_off(host: LiveHost, tmp_path: pathlib.Path) -> None:
    with pytest.raises(CannotTell, match="printed more than 8 MB"):
        host.run(script(tmp_path, "yes"), deadline_s=20)


def test_bytes_that_are_no_text_are_replaced(host: LiveHost, tmp_path: pathlib.Path) -> None:
    assert host.run(script(tmp_path, r"printf 'a\377b'")).out == "a\ufffdb"


def test_missing_and_forbidden_files_are_told_apart(host: LiveHost, tmp_path: pathlib.Path) -> None:
    with pytest.raises(Missing):
        host.read(str(tmp_path / "nothing"))
    assert isinstance(explain(PermissionError(13, "Permission denied"), "/x"), NoPermission)


def test_reading_stops_at_the_limit(host: LiveHost) -> None:
    assert host.read("/proc/self/status", 5) == "Name:"


def test_a_dead_fs_worker_is_cannot_tell_not_a_crash() -> None:
    machine = LiveHost()
    os.kill(machine.fs_worker.pid, signal.SIGKILL)
    os.waitpid(machine.fs_worker.pid, 0)

    with pytest.raises(CannotTell):
        machine.touch("stat", "/", deadline_s=2)
    machine.close()


@pytest.mark.root
def test_a_touch_that_never_answers_is_left_behind(host: LiveHost, tmp_path: pathlib.Path) -> None:
    with silent_fuse(tmp_path) as disk:
        started = time.monotonic()
        with pytest.raises(Stuck, match=r"stat of .* timed out"):
            host.touch("stat", disk.path, deadline_s=0.3)

        assert time.monotonic() - started < 5


def test_the_fs_worker_ends_with_the_agent() -> None:
    machine = LiveHost()
    machine.touch("stat", "/")
    machine.close()

    assert os.waitpid(machine.fs_worker.pid, 0)[1] == 0


def test_a_refused_connection_is_a_sentence(host: LiveHost) -> None:
    with pytest.raises(Refused, match=r"127.0.0.1:1: Connection refused"):
        host.exchange("127.0.0.1", 1, "ruok")


def test_what_is_no_address_is_a_sentence_too(host: LiveHost) -> None:
    with pytest.raises(CannotTell, match="is not an address"):
        host.exchange("x" * 70 + ".example", 1, "ruok")


@pytest.mark.parametrize(("says", "reads"), [(b"", False), (b"", True), (b"imok", True)])
def test_a_server_that_closes_or_resets_has_said_what_it_said(host: LiveHost, says: bytes, reads: bool) -> None:
    """One that closes without having read our words makes the kernel send a reset."""

    def serve() -> None:
        connection, _address = listening.accept()
        if reads:
            connection.recv(4)
        else:
            time.sleep(0.1)
        connection.sendall(says)
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = threading.Thread(target=serve)
        server.start()
        assert host.exchange("127.0.0.1", listening.getsockname()[1], "ruok") == says.decode()
        server.join()


def test_descriptors_are_found_by_what_they_point_at(host: LiveHost) -> None:
    with select.epoll():
        seen, hidden = host.descriptors("anon_inode:[eventpoll]")

    assert os.getpid() in {pid for pid, _number in seen}
    assert os.getpid() not in hidden


@pytest.mark.root
def test_descriptors_of_others_are_hidden_from_a_user(tmp_path: pathlib.Path) -> None:
    code = "host = LiveHost(); os.setuid(65534); print(os.getppid() in host.descriptors('x').hidden)"
    root = pathlib.Path(live.__file__).parent.parent
    program = (
        f"import os, sys; sys.path[:0] = {[str(root), *sys.path]!r}; from agent.machine.live import LiveHost; {code}"
    )

    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert shown.stdout == "True\n"


def test_the_machine_tells_of_itself(host: LiveHost) -> None:
    assert host.memory().total_bytes > 0
    assert host.load().processors == os.cpu_count()
    assert any(process.pid == os.getpid() for process in host.processes())
    assert host.process_use(os.getpid()).maps > 10
    assert host.process_use(os.getpid()).open_files > 0
    assert {interface.name: interface.kind for interface in host.interfaces()}["lo"] == "virtual"
    assert all(disk.dev for disk in host.disks())
    assert host.cpu_times().total > 0
    assert host.kernel_clock().max_error_ms >= 0
    assert len(host.boot_id()) == 36
    if os.geteuid() == 0:
        assert any(";" in record for record in host.kernel_records())


def test_a_late_command_that_only_lacked_the_processor_is_not_told_like_one_that_hangs() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            until = time.monotonic() + 30
            while "processors are busy" not in (said := commands.whereabouts(busy.pid)) and time.monotonic() < until:
                time.sleep(0.05)
        finally:
            busy.kill()

    assert said == f" (process {busy.pid} was still running: the CPUs are busy)"


def listed_otherwise(ours: Mapping[int, Process]) -> list[object]:
    """Processes that psutil lists otherwise than we did; those that have ended by now do not count."""
    found: list[object] = []
    for other in psutil.process_iter():
        mine = ours.get(other.pid)
        with contextlib.suppress(psutil.Error):
            seen = (other.name(), tuple(other.cmdline()), other.create_time())
            if mine is None or not other.is_running():
                continue
            is_alike = (mine.name, mine.argv) == seen[:2] or not seen[1]  # a kernel worker is named by its work
            if not is_alike or mine.started_at != pytest.approx(seen[2], abs=0.02):
                found.append((mine, seen))
    return found


def test_processes_are_listed_as_psutil_lists_them() -> None:
    """Those that are there before and after; a kernel thread, a renamed program and an empty argument among them."""
    odd = subprocess.Popen(["sh", "-c", "exec sleep 60", "a b", "", "é\n)("])
    try:
        for _ in range(10):  # another program may take a process over between the two looks
            with contextlib.closing(LiveHost()) as machine:
                ours = {process.pid: process for process in machine.processes()}
            differing = listed_otherwise(ours)
            if not differing:
                break
            time.sleep(0.3)
        assert differing == []
        assert len(ours) > 3 and odd.pid in ours
    finally:
        odd.kill()
        odd.wait()


def test_who_a_process_belongs_to_is_not_asked_of_a_directory_service(
    host: LiveHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names may come from LDAP: a server that is slow, or gone with the network that is to be judged."""

    def asked(_number: int) -> None:
        raise AssertionError("a user name was looked up")

    monkeypatch.setattr("pwd.getpwuid", asked)
    users = {process.pid: process.user for process in host.processes()}
    assert users[os.getpid()] in ("root", str(os.getuid())) or os.getuid()


def test_memory_and_processor_time_are_those_of_psutil(host: LiveHost) -> None:
    before, seen, after = psutil.cpu_times(), host.cpu_times(), psutil.cpu_times()
    ram, swap, told = psutil.virtual_memory(), psutil.swap_memory(), host.memory()

    assert before.user + before.nice <= seen.user <= after.user + after.nice
    for name in ("system", "iowait", "softirq"):
        assert getattr(before, name) <= getattr(seen, name) <= getattr(after, name)
    assert sum(before[:8]) <= seen.total + 0.001 and seen.total <= sum(after[:8]) + 0.001
    assert (told.total_bytes, told.swap_total_bytes) == (ram.total, swap.total)
    assert abs(told.available_bytes - ram.available) < 512 << 20
    assert abs(told.swap_used_bytes - swap.used) < 512 << 20
    assert host.load().processors == psutil.cpu_count()


def test_a_process_uses_what_psutil_says(host: LiveHost) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            other = psutil.Process(child.pid)
            # fork and exec are two steps, and what is loaded comes after them
            while (
                other.name() != "sleep"
                or other.status() != psutil.STATUS_SLEEPING
                or "libc" not in str(other.memory_maps())
            ):
                time.sleep(0.01)
            seen = host.process_use(child.pid)
            assert (seen.open_files, seen.open_files_limit) == (other.num_fds(), other.rlimit(psutil.RLIMIT_NOFILE)[0])
            assert seen.maps >= len(other.memory_maps())
        finally:
            child.kill()
    with pytest.raises(Missing):
        host.process_use(child.pid)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("Limit  Soft\nMax open files            1024                 524288               files     \n", 1024),
        ("Max open files            unlimited            unlimited            files     \n", -1),
    ],
)
def test_the_limit_of_open_files_is_the_soft_one(text: str, limit: int) -> None:
    def read(path: str, most: int) -> str:
        return text if path.endswith("limits") else "a\nb\n"

    assert kernel_counters.process_use(os.getpid(), read)[1:] == (limit, 2)


@given(st.text(max_size=200))
def test_rubbish_of_the_kernel_is_told_and_no_crash(text: str) -> None:
    def read(path: str, most: int) -> str:
        return text

    for ask in (kernel_counters.memory, kernel_counters.cpu_times):
        with contextlib.suppress(CannotTell):
            ask(read)
    with contextlib.suppress(CannotTell):
        kernel_counters.process_use(os.getpid(), read)


def test_a_link_that_may_not_be_followed_needs_root(host: LiveHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """/proc/4242/ns/net of another user's process."""

    def readlink(path: str, **options: object) -> str:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "readlink", readlink)
    with pytest.raises(NoPermission, match="needs root: /proc/self/ns/net"):
        host.link("/proc/self/ns/net")
