"""The table of faults, and the rack's own parts, without booting anything."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import psutil
import pytest

from agent import engine
from inventory import loader
from smoketests import cluster
from tests.rack import children, course, cpio, faults, inventory, machines, results, steps
from tests.rack.course import Course, Healthy
from tests.rack.rack import Rack
from tests.real.parts.sshd import make_key

TABLE = faults.load()
LEAST, LEAST_SILENT, SHORT = 110, 5, 8


def test_the_table_is_long_and_its_short_set_is_short() -> None:
    assert len(TABLE) >= LEAST
    assert len([fault for fault in TABLE if not fault.see]) >= LEAST_SILENT
    assert len(faults.chosen(TABLE, short=True)) == SHORT
    assert {fault.host for fault in faults.chosen(TABLE, short=True)} == {host.name for host in machines.MACHINES}


def test_faults_are_done_together_only_where_none_is_anothers_sign() -> None:
    for name in {fault.host for fault in TABLE}:
        groups = faults.grouped([fault for fault in TABLE if fault.host == name])

        assert sorted(fault.name for group in groups for fault in group) == sorted(
            fault.name for fault in TABLE if fault.host == name
        )
        for group in groups:
            assert len(group) == 1 or not any(fault.alone for fault in group)
            assert len({bool(fault.see) for fault in group}) == 1, "what must not alarm stands with its like"
            for fault in group:
                others = [other for other in group if other is not fault]
                assert not {*fault.see} & {subject for other in others for subject in (*other.see, *other.may)}


def test_a_fault_done_again_by_hand_is_told_as_a_second_try(tmp_path: pathlib.Path) -> None:
    rack, name = Rack(tmp_path), TABLE[0].name
    bad, good = Course(TABLE[0], problem="not healed"), Course(TABLE[0], seen_in=1, healed_in=1)
    course.keep(rack, [bad, Course(TABLE[1], seen_in=1, healed_in=1)])
    assert next((one.fault.name, one.is_good, one.before) for one in course.kept(rack)) == (name, False, "")

    course.keep(rack, [good])
    course.keep(rack, [good])

    first, other = course.kept(rack)
    assert first.is_good and "not healed" in first.before and not other.before


@pytest.mark.parametrize("fault", TABLE, ids=lambda fault: fault.name)
def test_a_row_names_what_there_is(fault: faults.Fault) -> None:
    checks = {*engine.names(), *cluster.names(), "agent"}

    assert machines.machine(fault.host).name == fault.host
    assert {word for word, _ in (*fault.inject, *fault.heal)} <= set(steps.WORDS)
    assert {check for check, _item in (*fault.see, *fault.may)} <= checks
    assert fault.see or "must" in fault.what, "a row that expects nothing says so"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("[{name: x, host: zk-1, what: w}]", "missing ['inject']"),
        ("[{name: x, host: zk-1, what: w, inject: [], sea: {}}]", "unknown ['sea']"),
        ("[{name: x, host: zk-1, what: w, inject: [], see: {smart X: bad}}]", "not `check item: status`"),
        ("[{name: x, host: zk-1, what: w, inject: [[a, b]]}]", "a step is one word"),
    ],
)
def test_a_row_that_cannot_be_is_refused_by_name(row: str, words: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "faults.yaml").write_text(row)

    with pytest.raises(faults.BadTable, match=r"x: ") as raised:
        faults.load(tmp_path / "faults.yaml")
    assert words in str(raised.value)


def test_the_inventory_of_the_rack_is_one_that_smoke_takes(tmp_path: pathlib.Path) -> None:
    ports = {host.name: {"ssh": 1, "service": 2, "ipmi": 3, "bmc": 4, "console": 5} for host in machines.MACHINES}
    (tmp_path / "bmc-password").touch(0o600)
    (tmp_path / "bmc-password").write_text("secret")
    inventory.write(tmp_path / "inventory.yaml", machines.MACHINES, ports)

    read = loader.load([str(tmp_path / "inventory.yaml")])

    assert [host.name for host in read.hosts] == [host.name for host in machines.MACHINES]
    assert read.host("jbod-1").disks == tuple(disk.serial for disk in machines.machine("jbod-1").disks)


def test_a_hosts_own_files_stand_in_its_archive(tmp_path: pathlib.Path) -> None:
    for name in ("id", "raid-1"):
        make_key(tmp_path / name)

    made = cpio.archive(machines.files(machines.machine("raid-1"), tmp_path, 123), "rack")

    assert len(made) % 4 == 0 and made.startswith(b"070701")
    assert b"rack/etc/hostname\0" in made and b"raid-1\n" in made
    assert made.index(b"rack/etc\0") < made.index(b"rack/etc/hostname\0"), "a folder comes before what is in it"


def test_a_process_is_ended_by_its_pid_file_and_nothing_else_is(tmp_path: pathlib.Path) -> None:
    kept = children.Children(tmp_path, tied=False)
    pid = kept.start("sleeper", ["sleep", "100"], tmp_path)
    (tmp_path / "other.pid").write_text(f"{os.getpid()} 1.0")  # a pid that was given to another process since

    assert kept.pid("sleeper") == pid and kept.pid("other") == 0
    assert children.Children(tmp_path, tied=False).stop_all() == ["sleeper"]
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_tied_rack_dies_with_whoever_started_it(tmp_path: pathlib.Path) -> None:
    program = f"""
        import os, pathlib, signal
        from tests.rack.children import Children
        pid = Children(pathlib.Path({str(tmp_path)!r}), tied=True).start("s", ["sleep", "100"], pathlib.Path("/"))
        print(pid, flush=True)
        signal.pause()
    """
    argv = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout
        child = psutil.Process(int(starter.stdout.readline()))
        starter.send_signal(signal.SIGKILL)
        starter.wait()

    psutil.wait_procs([child], timeout=30)
    assert not child.is_running()


def test_results_tell_what_was_not_as_the_table_says() -> None:
    good = Course(TABLE[0], seen_in=1, healed_in=1, seconds=12.0, said="smart X: critical: failed", commit="5eed")
    bad = Course(TABLE[1], healed_in=2, other=["warning clock clock: off"], problem="")

    text = results.render([good, bad], Healthy(20, ["run 3: zk-1 warning cpu load: much"], 2))

    assert "of commit 5eed:" in text and "1 of 2 faults" in text and "1 false alarms in 20 runs" in text
    assert f"* {TABLE[1].name}: not seen" in text and "also said: warning clock clock: off" in text
    assert "a healthy host: run 3" in text
