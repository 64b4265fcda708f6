"""The file-system worker: each touch returns what it saw or an errno name; one that hangs is named and ended."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host import CannotTell, Stuck, Touched
from agent.machine import fs_worker
from agent.machine.live import LiveHost
from agent.sources.disks import file_system
from tests.real.parts.filesystems import LOOKING, command, loop_ext4, silent_fuse


@pytest.fixture(name="host")
def a_live_host() -> Iterator[LiveHost]:
    machine = LiveHost()
    yield machine
    machine.close()


def alive(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


def wait_for_end(pid: int, seconds: float = 20.0) -> bool:
    until = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    return not alive(pid)


def tail(path: pathlib.Path, offset: int = 0, inode: int = 0, limit: int = 1 << 20) -> dict[str, Any]:
    return fs_worker.touch_tail(str(path), offset, inode, limit)


# stat, usage, read


def test_stat_tells_the_device_of_a_folder_and_of_a_file(host: LiveHost, tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("x")
    seen = os.stat(tmp_path)

    for path in (tmp_path, tmp_path / "file"):
        touched = host.touch("stat", str(path))
        assert touched.error == ""
        assert touched.facts["dev"] == f"{os.major(seen.st_dev)}:{os.minor(seen.st_dev)}"


def test_usage_tells_what_statvfs_tells(host: LiveHost, tmp_path: pathlib.Path) -> None:
    seen = os.statvfs(tmp_path)

    facts = host.touch("usage", str(tmp_path)).facts

    assert facts["total_bytes"] == seen.f_blocks * seen.f_frsize
    assert facts["used_bytes"] + facts["free_bytes"] <= facts["total_bytes"]
    assert facts["inodes"] == seen.f_files


def test_read_gives_text_whatever_the_bytes_are(host: LiveHost, tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_bytes(b"a\xff\nb")

    assert host.touch("read", str(tmp_path / "file")).facts["text"] == "a\ufffd\nb"


@pytest.mark.parametrize("kind", ["stat", "usage", "write", "read"])
def test_an_error_comes_back_as_its_name(host: LiveHost, tmp_path: pathlib.Path, kind: str) -> None:
    assert host.touch(kind, str(tmp_path / "nothing")).error == "ENOENT"


@pytest.mark.parametrize(("kind", "path"), [("no such touch", "/"), ("stat", "/\x00"), ("tail", "/")])
def test_a_question_that_cannot_be_asked_is_cannot_tell_and_the_fs_worker_lives(
    host: LiveHost, kind: str, path: str
) -> None:
    with pytest.raises(CannotTell):
        host.touch(kind, path)

    assert host.touch("stat", "/").error == ""


# write


def test_the_write_probe_leaves_no_trace(host: LiveHost, tmp_path: pathlib.Path) -> None:
    before = os.stat(tmp_path).st_mtime_ns

    assert host.touch("write", str(tmp_path)) == Touched("", {"written": True})

    assert os.listdir(tmp_path) == []
    assert os.stat(tmp_path).st_mtime_ns == before


# replace


def test_replace_makes_the_folder_and_keeps_the_file_private(host: LiveHost, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "new" / "state.json"

    assert host.touch("replace", str(path), "one").error == ""
    assert host.touch("replace", str(path), "two").error == ""

    assert path.read_text() == "two"
    assert os.listdir(path.parent) == ["state.json"]
    assert path.stat().st_mode & 0o077 == 0


def test_replace_follows_no_link_that_someone_laid_out(host: LiveHost, tmp_path: pathlib.Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "state").symlink_to(victim)

    host.touch("replace", str(tmp_path / "state"), "new")

    assert victim.read_text() == "mine"


@pytest.mark.root
def test_replace_on_a_read_only_disk_keeps_the_old_file(host: LiveHost, tmp_path: pathlib.Path) -> None:
    with loop_ext4(tmp_path) as disk:
        path = pathlib.Path(disk.path) / "state.json"
        path.write_text("old")
        command("mount", "-o", "remount,ro", disk.path)

        assert host.touch("replace", str(path), "new").error == "EROFS"
        assert host.touch("replace", f"{disk.path}/folder/state.json", "new").error == "EROFS"
        assert path.read_text() == "old"


@pytest.mark.root
def test_replace_on_a_full_disk_keeps_the_old_file_and_leaves_no_rest(host: LiveHost, tmp_path: pathlib.Path) -> None:
    with loop_ext4(tmp_path, size_mb=8) as disk:
        path = pathlib.Path(disk.path) / "state.json"
        path.write_text("old")

        assert host.touch("replace", str(path), "n" * (32 << 20)).error == "ENOSPC"
        assert path.read_text() == "old"
        assert sorted(os.listdir(disk.path)) == ["lost+found", "state.json"]


# tail


def test_tail_gives_what_was_appended_and_no_half_line(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"one\ntwo\nhal")
    first = tail(log)
    assert (first["text"], first["end"], first["skipped_bytes"]) == ("one\ntwo\n", 8, 0)

    log.write_bytes(b"one\ntwo\nhalf\n\xff\n")

    assert tail(log, first["end"], first["inode"])["text"] == "half\n\ufffd\n"


def test_tail_of_a_log_that_did_not_grow_gives_nothing_and_stays(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"one\n")
    first = tail(log)

    again = tail(log, first["end"], first["inode"])

    assert (again["text"], again["end"]) == ("", first["end"])


def test_tail_reads_a_rotated_log_from_its_start(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"one\ntwo\n")
    first = tail(log)
    log.rename(tmp_path / "log.1")
    log.write_bytes(b"three\nfour\nfive\n")

    assert tail(log, first["end"], first["inode"])["text"] == "three\nfour\nfive\n"


def test_tail_reads_a_log_that_was_cut_in_place_from_its_start(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"one\ntwo\n")
    first = tail(log)
    log.write_bytes(b"new\n")

    assert tail(log, first["end"], first["inode"])["text"] == "new\n"


def test_tail_of_a_huge_growth_gives_its_end_and_how_much_it_left_out(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"".join(b"%06d\n" % number for number in range(1000)))

    seen = tail(log, limit=70)

    assert (seen["text"][-7:], seen["end"], seen["skipped_bytes"]) == ("000999\n", 7000, 6930)


@given(st.lists(st.binary(min_size=1, max_size=30).map(lambda raw: raw.replace(b"\n", b"") + b"\n"), max_size=20))
def test_tail_tells_every_line_exactly_once_however_the_log_grows(lines: list[bytes]) -> None:
    path = pathlib.Path(f"/tmp/fleet-smoke-tail-{os.getpid()}")
    told, offset, inode = "", 0, 0
    try:
        with path.open("wb", buffering=0) as log:
            for line in lines:
                for half in (line[: len(line) // 2], line[len(line) // 2 :]):
                    log.write(half)
                    seen = tail(path, offset, inode)
                    told, offset, inode = told + seen["text"], seen["end"], seen["inode"]
    finally:
        path.unlink()

    assert told == b"".join(lines).decode("utf-8", "replace")


# What hangs


@pytest.mark.root
def test_a_touch_that_hangs_names_its_process_and_that_ends_itself(host: LiveHost, tmp_path: pathlib.Path) -> None:
    with (
        silent_fuse(tmp_path) as disk,
        pytest.raises(Stuck, match=r"stat of .*d1 timed out after 0 s \(process \d+ in state \w, ") as stuck,
    ):
        host.touch("stat", disk.path, deadline_s=0.3)

    assert stuck.value.pid > 0
    assert wait_for_end(stuck.value.pid)


@pytest.mark.root
def test_a_process_that_cannot_be_killed_is_left_behind_until_its_disk_lets_go(
    host: LiveHost, tmp_path: pathlib.Path
) -> None:
    with silent_fuse(tmp_path, answered=LOOKING) as disk:
        assert host.touch("stat", disk.path).error == ""
        with pytest.raises(Stuck) as stuck:
            host.touch("write", disk.path, deadline_s=0.5)
        time.sleep(fs_worker.LINGER_S + 1)  # its alarm went off, in vain
        assert file_system.process(host, stuck.value.pid)[0] == "D"
        assert host.touch("stat", "/").error == ""

    assert wait_for_end(stuck.value.pid)


def test_a_fs_worker_that_starts_nothing_says_nothing_of_the_disk(host: LiveHost) -> None:
    ours, theirs = socket.socketpair()  # nobody reads
    host._fs_worker, real = ours, host._fs_worker
    try:
        with pytest.raises(CannotTell, match="no process started") as told:
            host.touch("stat", "/", deadline_s=0.2)
    finally:
        host._fs_worker = real
        ours.close()
        theirs.close()
    assert not isinstance(told.value, Stuck)


def test_a_probe_that_dies_halfway_is_cannot_tell(host: LiveHost) -> None:
    reply = (311).to_bytes(fs_worker.PID_BYTES, "little") + json.dumps({"dev": "8:17", "ino": 2}).encode()
    ours, theirs = socket.socketpair()

    def half_answers() -> None:
        for cut in range(len(reply)):
            _message, handles, _flags, _address = socket.recv_fds(theirs, 1, 1)
            with socket.socket(fileno=handles[0]) as connection:
                fs_worker.receive(connection)
                connection.sendall(reply[:cut])

    thread = threading.Thread(target=half_answers)
    thread.start()
    host._fs_worker, real = ours, host._fs_worker
    for _cut in range(len(reply)):
        with pytest.raises(CannotTell, match="the probing process died"):
            host.touch("stat", "/")
    host._fs_worker = real
    thread.join()
    ours.close()
    theirs.close()


def test_an_answer_begins_with_the_number_of_its_process(tmp_path: pathlib.Path) -> None:
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        fs_worker._answer(theirs)
        os._exit(0)
    with ours:
        theirs.close()
        ours.sendall(json.dumps({"touch": "stat", "arguments": [str(tmp_path)], "deadline_s": 5}).encode())
        ours.shutdown(socket.SHUT_WR)
        answer = fs_worker.receive(ours)
    os.waitpid(pid, 0)

    assert int.from_bytes(answer[: fs_worker.PID_BYTES], "little") == pid
    assert json.loads(answer[fs_worker.PID_BYTES :])["ino"] == os.stat(tmp_path).st_ino


# As another user

NOBODY = 65534


def test_a_write_as_another_user_is_held_to_the_permissions_of_that_user(host: LiveHost) -> None:
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        denied = host.touch("write", name, NOBODY, NOBODY, [])
        os.chmod(name, 0o777)
        allowed = host.touch("write", name, NOBODY, NOBODY, [])

    if os.geteuid() == 0:
        assert (denied.error, allowed) == ("EACCES", Touched("", {"written": True, "as_user": True}))
    else:
        assert (denied.facts["may_write"], allowed.facts["may_write"]) == (False, True)


@pytest.mark.parametrize(
    ("mode", "uid", "groups", "may"),
    [(0o700, 5, [], False), (0o703, 5, [], True), (0o707, 5, [], True), (0o730, 5, ["own"], True),
     (0o702, 5, [], False), (0o707, 5, ["own"], False), (0o300, "own", [], True)],
)  # fmt: skip
def test_where_it_cannot_become_the_user_the_permission_bits_tell(
    monkeypatch: pytest.MonkeyPatch, mode: int, uid: Any, groups: list[Any], may: bool
) -> None:
    def refused(*_ids: Any) -> None:
        raise PermissionError("not root")

    monkeypatch.setattr(os, "setgroups", refused)
    with tempfile.TemporaryDirectory() as above:
        os.chmod(above, 0o755)
        folder = pathlib.Path(above) / "d1"
        folder.mkdir()
        seen = os.stat(folder)
        os.chmod(folder, mode)
        user = seen.st_uid if uid == "own" else uid + seen.st_uid
        ids = (user, seen.st_gid + 7, [seen.st_gid if group == "own" else group for group in groups])
        told = fs_worker._become(str(folder), *ids)
        os.chmod(above, 0o711)
        reached = fs_worker._become(str(folder), *ids)
        os.chmod(above, 0o700)
        shut = fs_worker._become(str(folder), *ids)
        os.chmod(folder, 0o700)

    assert told == reached == {"may_write": may}
    assert shut == {"may_write": may and uid == "own"}
