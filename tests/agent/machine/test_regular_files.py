"""regular_files: what a process names is opened only if it is a regular file, and with that process's rights."""

from __future__ import annotations

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import pytest

from agent.machine import fs_worker, regular_files
from agent.machine.live import LiveHost
from agent.sources.kafka import processes as kafka

NOBODY = 65534


@pytest.fixture(name="host")
def a_live_host() -> Iterator[LiveHost]:
    machine = LiveHost()
    yield machine
    machine.close()


@pytest.fixture(name="folder")
def a_folder_for_anyone() -> Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o777)
        yield pathlib.Path(name)


def odd_files(folder: pathlib.Path) -> list[str]:
    os.mkfifo(folder / "fifo")
    (folder / "link-to-fifo").symlink_to(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
    return [*(str(folder / name) for name in ("fifo", "link-to-fifo", "socket")), "/dev/null", "/dev/tty", str(folder)]


def test_what_is_no_regular_file_is_not_opened(host: LiveHost, folder: pathlib.Path) -> None:
    for path in odd_files(folder):
        for arguments in (("read",), ("tail", 0, 0, 100), ("search", 0, 0, 100, "x")):
            touched = host.touch(arguments[0], path, *arguments[1:])
            assert (touched.error, touched.facts["error"]) == ("EINVAL", "not a regular file"), (path, arguments)


@pytest.mark.root
def test_a_device_is_not_opened_even_for_a_moment(folder: pathlib.Path) -> None:
    """A loop device counts nothing, so ask the system calls: of /dev/watchdog one open would arm a reboot."""
    if not shutil.which("strace"):
        pytest.skip("needs strace (package strace)")
    program = f"from agent.machine import fs_worker; fs_worker.touch_read({str(folder / 'watchdog')!r})"
    os.mknod(folder / "watchdog", 0o600 | 0o020000, os.makedev(10, 130))
    traced = subprocess.run(
        ["strace", "-f", "-e", "trace=openat,open", sys.executable, "-c", program],
        capture_output=True, text=True, cwd=pathlib.Path(fs_worker.__file__).parents[2], check=False,
    ).stderr  # fmt: skip

    opens = [row for row in traced.splitlines() if "watchdog" in row and "open" in row]
    assert opens and all("O_PATH" in row for row in opens)


def as_nobody(*command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, user=NOBODY, group=NOBODY, extra_groups=[])


@pytest.mark.root
def test_root_reads_for_a_process_only_what_its_own_user_may_read(host: LiveHost, folder: pathlib.Path) -> None:
    secret, public = folder / "secret", folder / "public"
    secret.write_text("broker.id=1\n")
    secret.chmod(0o600)
    public.write_text("broker.id=2\n")
    (folder / "link").symlink_to(secret)
    with as_nobody("sleep", "60") as process:
        try:
            for path, config in ((secret, {}), (folder / "link", {}), (public, {"broker.id": "2"})):
                assert kafka.read_properties(host, str(path), process.pid) == config
            assert kafka.read_properties(host, str(secret), os.getpid()) == {"broker.id": "1"}
        finally:
            process.kill()


@pytest.mark.root
def test_root_that_may_not_change_its_user_goes_by_the_permission_bits(folder: pathlib.Path) -> None:
    """As in a systemd unit without CAP_SETUID."""
    for name, mode in (("secret", 0o600), ("public", 0o644)):
        (folder / name).write_text("broker.id=1\n")
        (folder / name).chmod(mode)
    (folder / "own").write_text("broker.id=1\n")
    (folder / "own").chmod(0o400)
    os.chown(folder / "own", NOBODY, NOBODY)
    program = """
import sys
from agent.machine import fs_worker
for name in ("secret", "public", "own"):
    try:
        print(name, bool(fs_worker.touch_named(f"{sys.argv[1]}/{name}", int(sys.argv[2]))["text"]))
    except PermissionError:
        print(name, False)
"""
    with as_nobody("sleep", "60") as process:
        try:
            told = subprocess.run(
                ["setpriv", "--bounding-set", "-setuid,-setgid", sys.executable, "-c", program, str(folder),
                 str(process.pid)],
                cwd=pathlib.Path(fs_worker.__file__).parents[2], capture_output=True, text=True, check=True,
            ).stdout  # fmt: skip
        finally:
            process.kill()
    assert told.split() == ["secret", "False", "public", "True", "own", "True"]


@pytest.mark.root
def test_who_reads_with_anothers_rights_cannot_be_stopped_by_them(folder: pathlib.Path) -> None:
    with as_nobody("sleep", "60") as process:
        child = os.fork()
        if child == 0:
            regular_files.take_rights_of(process.pid)
            (folder / "ready").touch()
            time.sleep(60)
            os._exit(0)
        try:
            while not (folder / "ready").exists():
                time.sleep(0.01)
            assert (folder / "ready").stat().st_uid == NOBODY
            with as_nobody("sh", "-c", f"kill -9 {child} 2>/dev/null") as killer:
                assert killer.wait() != 0
            assert os.waitpid(child, os.WNOHANG) == (0, 0)
        finally:
            os.kill(child, 9)
            os.waitpid(child, 0)
            process.kill()


def test_a_configuration_of_megabytes_is_none(host: LiveHost, folder: pathlib.Path) -> None:
    big = folder / "server.properties"
    big.write_text("a=b\n" * (fs_worker.MAX_NAMED_BYTES // 4 + 1))

    assert host.touch("read", str(big), named_by=os.getpid()).error == "EFBIG"
    assert kafka.read_properties(host, str(big), os.getpid()) == {}


@pytest.mark.root
def test_another_process_that_got_the_number_of_the_one_that_was_seen_lends_no_rights(
    host: LiveHost, folder: pathlib.Path
) -> None:
    (folder / "secret").write_text("broker.id=1\n")
    (folder / "secret").chmod(0o600)
    host.processes()
    time.sleep(0.05)  # the kernel counts hundredths of a second
    with subprocess.Popen(["sleep", "60"]) as later:
        try:
            touched = host.touch("read", str(folder / "secret"), named_by=later.pid)
            searched = host.touch("search", str(folder / "secret"), 0, 0, 100, "broker", named_by=later.pid)
            earlier = host.touch("read", str(folder / "secret"), named_by=os.getpid())
        finally:
            later.kill()

    assert (touched.error, touched.facts["error"]) == (
        "EACCES", "the process that names it ended, and its PID was reused",
    )  # fmt: skip
    assert searched.error == "EACCES"
    assert earlier.facts["text"] == "broker.id=1\n"
