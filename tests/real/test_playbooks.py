"""Playbooks on a real far host with real block devices: nothing is touched that should not be, and nothing twice."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import signal
import subprocess
from collections.abc import Iterator

import psutil
import pytest

from playbooks.machine import Far, NotRun
from tests.playbooks.prompt_fake import Desk, until
from tests.real.parts.disk_host import DiskHost, at_rest, data_disk, disk_host, empty_disk
from tests.real.parts.filesystems import command
from tests.real.parts.people import let_all_in, people
from tests.real.parts.sshd import Sshd, sshd

pytestmark = [pytest.mark.slow, pytest.mark.root]
BOOK = pathlib.Path(__file__).parents[1] / "playbooks/folder/swap-disk.yaml"
OLD, NEW = "OLD-1", "NEW-2"


class Swap:
    """A host with one data disk, and a new one that can be put in its place."""

    def __init__(self, host: DiskHost, old: str, new: str, mount: pathlib.Path) -> None:
        self.host, self.old, self.new, self.mount = host, old, new, mount
        host.put({old: OLD})
        self.desk = Desk(host.folder, host.access(), "kafka-a01")
        shutil.copy(BOOK, self.desk.books)

    def to_the_question(self) -> subprocess.Popen[str]:
        """A run up to where the new disk is in and its serial number is asked for."""
        process = self.desk.begin("run", "swap-disk")
        self.desk.type_in(process, "y")
        until("the old disk is out of use", lambda: self.desk.told("ended"))
        self.host.put({self.new: NEW})
        self.desk.type_in(process, "y")
        until("the question", lambda: "Type its serial number" in self.desk.printed)
        return process


@pytest.fixture
def swap(tmp_path: pathlib.Path) -> Iterator[Swap]:
    mount = tmp_path / "kafka" / "d1"
    with (
        disk_host(tmp_path) as host,
        data_disk(host, "old", mount) as old,
        empty_disk(tmp_path, "new", 40) as new,
    ):
        yield Swap(host, old, new, mount)


def test_a_plan_names_the_real_facts_and_changes_nothing(swap: Swap) -> None:
    swap.host.put({swap.old: OLD, swap.new: NEW})
    before = at_rest(swap.host)

    answer = swap.desk.smoke("plan", "swap-disk", "--disk", OLD)

    assert answer.returncode == 0, answer.stderr
    assert f"umount {swap.mount}" in answer.stdout.splitlines()
    assert f"disk: serial {OLD}, device {swap.old}, " in " ".join(answer.stdout.split()).replace(" # ", " ")
    assert '"$NEW_DEVICE"' in answer.stdout
    assert swap.host.state() == before


def test_a_disk_is_replaced_from_the_first_question_to_the_mounted_new_one(swap: Swap) -> None:
    process = swap.to_the_question()
    code, out = swap.desk.end(process, NEW, "y", "y")

    assert code == 0, out
    uuid = swap.desk.events()[0]["plan"]["facts"]["fs"]["values"]["uuid"]
    assert command("blkid", "-p", "-o", "value", "-s", "UUID", swap.new) == uuid
    assert f"UUID={uuid} {swap.mount}/new ext4" in swap.host.fstab
    assert f"{swap.new} {swap.mount} ext4" in swap.host.run("cat", "/proc/1/mounts")


def test_whoever_types_another_serial_number_is_asked_again_and_can_stop(swap: Swap) -> None:
    process = swap.to_the_question()
    code, out = swap.desk.end(process, OLD, "y", "q")

    assert code == 1 and out.count("Type its serial number") == 3
    assert not command_fails("blkid", "-p", swap.old), "the old disk still has its file system"
    assert command_fails("blkid", "-p", swap.new), "the new one has none"


def command_fails(*words: str) -> bool:
    return subprocess.run(words, capture_output=True, timeout=60, check=False).returncode != 0


@pytest.mark.parametrize("how", ["another serial", "gone", "mounted", "written to", "smaller"])
def test_a_disk_that_is_not_as_it_was_is_refused_at_the_last_moment(swap: Swap, how: str) -> None:
    process = swap.to_the_question()
    if how == "another serial":
        swap.host.put({swap.new: "STRANGER"})
    elif how == "gone":
        swap.host.put({})
    elif how == "mounted":
        command("mkfs.ext4", "-q", "-F", swap.new)
        (swap.host.folder / "elsewhere").mkdir()
        swap.host.run("mount", swap.new, str(swap.host.folder / "elsewhere"))
    elif how == "written to":
        command("mkfs.ext4", "-q", "-F", "-L", "precious", swap.new)
    else:
        command("losetup", "-d", swap.new)
        with (swap.host.folder / "new.img").open("wb") as file:
            file.truncate(8 << 20)
        command("losetup", swap.new, str(swap.host.folder / "new.img"))
    before = pathlib.Path(swap.new).read_bytes()
    code, out = swap.desk.end(process, NEW, "y", "y")

    said = {"another serial": "has serial STRANGER", "gone": "no longer exists", "mounted": "is mounted at",
            "written to": "is no longer empty: ext4", "smaller": "the disk to be replaced has"}  # fmt: skip
    assert code == 2, out
    assert "refused" in out and said[how] in out
    assert pathlib.Path(swap.new).read_bytes() == before
    assert not [one for one in swap.desk.events() if one["event"] == "started" and one.get("destroys")]


def test_a_serial_number_that_changed_since_the_plan_is_refused(swap: Swap) -> None:
    assert swap.desk.smoke("plan", "swap-disk").returncode == 0
    swap.host.put({swap.old: "OTHER-9"})

    answer = swap.desk.smoke("run", "swap-disk", answers="yyy")

    assert answer.returncode == 3
    assert f"disk.serial was {OLD}, is now OTHER-9" in answer.stderr
    assert str(swap.mount) in swap.host.run("cat", "/proc/1/mounts"), "still mounted"


def test_a_disk_with_something_on_it_is_no_new_disk(swap: Swap) -> None:
    command("mkfs.ext4", "-q", "-F", swap.new)
    swap.desk.smoke("run", "swap-disk", answers="y")
    swap.host.put({swap.new: NEW})

    answer = swap.desk.smoke("resume", swap.desk.run_id, answers="y")

    assert answer.returncode == 3 and "no empty-disk found for new" in answer.stderr
    swap_out = swap.desk.smoke("undo", swap.desk.run_id, answers="y")
    assert swap_out.returncode == 0, swap_out.stderr


def test_a_wrong_disk_or_none_is_named_with_those_that_there_are(swap: Swap) -> None:
    answer = swap.desk.smoke("plan", "swap-disk", "--disk", "NONE-7")

    assert answer.returncode == 3
    assert "no jbod-disk named 'NONE-7'" in answer.stderr and f"serial {OLD}" in answer.stderr


@pytest.mark.parametrize("serial", ["X; rm -rf /", "X\nY", "$(reboot)", "'"])
def test_a_disk_with_a_hostile_serial_number_is_refused_in_words(swap: Swap, serial: str) -> None:
    swap.host.put({swap.old: serial})

    answer = swap.desk.smoke("plan", "swap-disk", "--item", str(swap.mount))

    assert answer.returncode == 3
    assert "is not a serial number" in answer.stderr and "\n  Y" not in answer.stderr


WAITER = (
    "import os,sys,time\nopen(sys.argv[1]+'/begun','a').write('x')\n"
    "while not os.path.exists(sys.argv[1]+'/go'): time.sleep(0.05)\nopen(sys.argv[1]+'/log','a').write('x')\n"
)


def slow(desk: Desk, seconds: int) -> None:
    (desk.folder / "waiter.py").write_text(WAITER)
    desk.write(f"""
    - name: Take long
      run: [python3, FOLDER/waiter.py, FOLDER]
      done: [test, -e, FOLDER/log]
      seconds: {seconds}
    - {{name: Write it, run: [touch, FOLDER/end]}}
    """)


def in_the_middle(desk: Desk) -> subprocess.Popen[str]:
    process = desk.begin("run", "book")
    desk.type_in(process, "y")
    until("the command begins", lambda: desk.file("begun"))
    return process


def cut(server: Sshd) -> None:
    """End the connections, not what was begun over them."""
    for process in psutil.Process(server.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            words = " ".join(process.cmdline())
            if words.startswith("sshd:") and "@" in words:
                process.kill()


@pytest.fixture
def far(tmp_path: pathlib.Path) -> Iterator[tuple[Desk, DiskHost]]:
    with disk_host(tmp_path) as host:
        yield Desk(tmp_path, host.access(), "kafka-a01"), host


def test_a_connection_that_is_cut_while_a_command_runs_is_made_again(far: tuple[Desk, DiskHost]) -> None:
    desk, host = far
    slow(desk, 60)
    process = in_the_middle(desk)
    cut(host.server)
    until("it is noticed", lambda: [one for one in desk.events() if one["event"] == "lost"])
    (desk.folder / "go").touch()
    code, out = desk.end(process, "y")

    assert code == 0, out
    assert (desk.file("begun"), desk.file("log")) == ("x", "x"), "it ran once"
    assert (desk.folder / "end").exists()


def test_a_host_that_is_away_leaves_a_step_of_which_nobody_knows_and_resume_finds_out(
    far: tuple[Desk, DiskHost],
) -> None:
    desk, host = far
    slow(desk, 5)
    process = in_the_middle(desk)
    host.server.stop_answering()
    cut(host.server)
    code, out = desk.end(process)
    status = desk.smoke("log").stdout

    assert code == 3 and "outcome unknown" in out
    assert "outcome unknown" in status
    for one in psutil.Process(host.server.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # a session that was cut has just gone
            one.resume()
    (desk.folder / "go").touch()
    resumed = desk.smoke("resume", desk.run_id, answers="yy")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert (desk.folder / "end").exists()


def test_a_host_that_cannot_be_reached_is_told_and_nothing_is_begun(far: tuple[Desk, DiskHost]) -> None:
    desk, host = far
    desk.write("- {name: Write it, run: [touch, FOLDER/end]}")
    psutil.Process(host.server.pid).kill()

    answer = desk.smoke("run", "book", answers="y")

    assert answer.returncode == 3 and "refuses connections" in answer.stderr
    assert not (desk.folder / "end").exists()


def test_what_a_far_host_prints_cannot_steer_the_terminal(far: tuple[Desk, DiskHost]) -> None:
    desk, _host = far
    desk.write("""
    - name: Say it
      run: [printf, '\\033[2J\\033]0;owned\\007ok\\n']
      changes: false
    """)

    answer = desk.smoke("run", "book")

    assert answer.returncode == 0 and "\x1b" not in answer.stdout and "\x07" not in answer.stdout


SUDO = {
    "without a password": ("free", "auto", "", "0"),
    "with one though none is needed": ("free", "auto", "s3cret", "0"),
    "with the right one": ("smoke", "auto", "s3cret", "0"),
    "not wanted": ("other", "no", "", "4244"),
    "not needed": ("root", "auto", "s3cret", "0"),
}
NO_SUDO = {
    "with a wrong one": ("smoke", "auto", "wrong", "sudo rejected the password"),
    "with none though one is needed": ("smoke", "auto", "", "password is required"),
    "not allowed": ("other", "yes", "s3cret", "not in the sudoers"),
}


@pytest.fixture(scope="module")
def with_people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    folder = tmp_path_factory.mktemp("sshd")
    let_all_in(folder)
    with people(tmp_path_factory.mktemp("people")) as binds, sshd(folder, binds=binds) as running:
        yield running


def far_as(server: Sshd, user: str, sudo: str, password: str) -> Far:
    return Far(server.host(user=user, sudo=sudo), user, password, server.access())


@pytest.mark.parametrize(("user", "sudo", "password", "number"), SUDO.values(), ids=SUDO)
def test_a_command_runs_as_root_through_sudo_and_gets_its_input(
    user: str, sudo: str, password: str, number: str, with_people: Sshd
) -> None:
    let_all_in(with_people.folder)
    machine = far_as(with_people, user, sudo, password)

    told = machine.run(["sh", "-c", "id -u; cat; ps axeww"], given="what it reads\n")
    machine.close()

    assert told.out.splitlines()[:2] == [number, "what it reads"]
    assert "s3cret" not in told.out + told.err


@pytest.mark.parametrize(("user", "sudo", "password", "why"), NO_SUDO.values(), ids=NO_SUDO)
def test_without_sudo_nothing_is_begun(user: str, sudo: str, password: str, why: str, with_people: Sshd) -> None:
    let_all_in(with_people.folder)
    machine = far_as(with_people, user, sudo, password)

    with pytest.raises(NotRun, match=why):
        machine.run(["id"], given="s3cret input\n")
    machine.close()


def test_ctrl_c_while_the_agent_is_asked_stops_the_run(far: tuple[Desk, DiskHost]) -> None:
    desk, host = far
    desk.write("- {wait: It never is, check: swappiness, item: none such, every: 1, deadline: 10m}")
    process = desk.begin("run", "book")
    until("it waits", lambda: "not yet" in desk.printed)
    host.server.stop_answering()
    until("it is asked again and hangs", lambda: [one for one in psutil.net_connections() if one.pid == process.pid])
    process.send_signal(signal.SIGINT)
    code, out = desk.end(process)

    assert code == 1, out
