"""Our playbooks carried out for real on this machine, in namespaces of their own.

What needs systemd, a reboot or a cluster is carried out in the virtual rack. Here the kernel's settings and /etc are
copies that are mounted over the real ones, since they are everybody's; commands, processes and file systems are real.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
import yaml

from tests.playbooks.prompt_fake import environment
from tests.real.parts import filesystems
from tests.real.parts.namespace import ROOT, Namespace, wait_for
from tests.real.parts.stand_in_broker import as_broker, free_port

pytestmark = [
    pytest.mark.slow, pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs root for namespaces"),
    pytest.mark.skipif(not shutil.which("nsenter"), reason="nsenter is missing (package util-linux)"),
]  # fmt: skip

# NOT Kafka: a process that looks like a broker from outside
STAND_IN = (
    "import socket, sys, time; listening = socket.create_server(('127.0.0.1', int(sys.argv[2]))); time.sleep(600)"
)
FOLDERS = ("/etc/sysctl.d", "/etc/udev/rules.d", "/etc/systemd/system", "/etc/tmpfiles.d")
HUGE_PAGES = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")


class Machine:
    """This machine as one that nobody else uses: own processes and mounts, own /etc and own kernel settings."""

    def __init__(self, inside: Namespace, folder: pathlib.Path) -> None:
        self.inside, self.folder = inside, folder
        self.settings = {name: folder / name for name in ("swappiness", "max_map_count")}
        for name, value in (("swappiness", "60"), ("max_map_count", "65530")):
            self.settings[name].write_text(f"{value}\n")
            inside.run("mount", "--bind", str(self.settings[name]), f"/proc/sys/vm/{name}")
        if HUGE_PAGES.exists():  # a file would not put brackets around what is written: the mode is good already
            (folder / "huge_pages").write_text("always [madvise] never\n")
            inside.run("mount", "--bind", str(folder / "huge_pages"), str(HUGE_PAGES))
        for path in FOLDERS:
            copy = folder / path.strip("/").replace("/", "-")
            copy.mkdir()
            inside.run("mount", "--bind", str(copy), path)

    def broker(self, *log_dirs: pathlib.Path, files: str = "1000:10000") -> subprocess.Popen[bytes]:
        config, port = self.folder / "server.properties", free_port()
        config.write_text(
            f"broker.id=1\nlisteners=PLAINTEXT://127.0.0.1:{port}\nlog.dirs={','.join(map(str, log_dirs))}\n"
        )
        (self.folder / "stand_in.py").write_text(STAND_IN)
        process = self.inside.start(
            "env", "-C", str(self.folder), "prlimit", f"--nofile={files}",
            *as_broker(self.folder, str(self.folder / "stand_in.py")), str(config), str(port),
        )  # fmt: skip
        wait_for(
            "the stand-in", lambda: self.findings("services").get("broker", {}).get("status") in ("ok", "warning"), 60
        )
        return process

    def findings(self, check: str) -> dict[str, dict[str, object]]:
        out = self._call(sys.executable, "-m", "agent", check, "--state", str(self.folder / "state")).stdout
        rows = [json.loads(line) for line in out.splitlines()[1:]]
        return {row["item"]: row for row in rows if row["check"] == check}

    def smoke(self, *words: str, answers: str = "") -> subprocess.CompletedProcess[str]:
        store = ["--store", str(self.folder / "store")]
        return self._call(sys.executable, "-m", "smoketests.cli", "playbook", *words, *store, answers=answers)

    @property
    def run_id(self) -> str:
        return sorted((self.folder / "store/playbooks").glob("*.jsonl"))[-1].stem

    def outcome(self, step: str) -> list[str]:
        """The events of the last run's step whose name begins so."""
        source = json.loads((self.folder / f"store/playbooks/{self.run_id}.plan.json").read_text())["source"]
        names = [one.get("name", one.get("wait", "")) for one in yaml.safe_load(source)["steps"]]
        number = next(str(at) for at, name in enumerate(names, 1) if name.startswith(step))
        rows = [
            json.loads(row) for row in (self.folder / f"store/playbooks/{self.run_id}.jsonl").read_text().splitlines()
        ]
        return [row["event"] for row in rows if str(row.get("step", "")).partition(".")[0] == number]

    def _call(self, *argv: str, answers: str = "") -> subprocess.CompletedProcess[str]:
        enter = ["nsenter", "-t", str(self.inside.pid), "-m", "-p"]
        return subprocess.run(
            [*enter, *argv], input="".join(f"{one}\n" for one in answers), capture_output=True, text=True, timeout=110,
            check=False, env={**environment(), "PYTHONPATH": str(ROOT)},
        )  # fmt: skip


@pytest.fixture
def machine(tmp_path: pathlib.Path) -> Iterator[Machine]:
    with Namespace("--mount", "--pid") as inside:
        yield Machine(inside, tmp_path)


def may_raise_limits() -> bool:
    """Root of a container may not."""
    return (
        subprocess.run(["prlimit", "--nofile=100001:100001", "true"], capture_output=True, check=False).returncode == 0
    )


def test_the_kernel_is_tuned_now_and_for_the_next_boot(machine: Machine, tmp_path: pathlib.Path) -> None:
    process = machine.broker(tmp_path / "d1")
    checks = ("swappiness", "memory_maps", *(["open_files"] if may_raise_limits() else []))
    before = {check: machine.findings(check) for check in checks}

    answer = machine.smoke("run", "tune-os", "--yes")
    after = {check: machine.findings(check) for check in checks}
    again = machine.smoke("run", "tune-os", "--yes")

    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert before["memory_maps"]["vm.max_map_count"]["status"] == "warning"
    assert {row["status"] for found in after.values() for row in found.values()} == {"ok"}
    written = (tmp_path / "etc-sysctl.d/99-zz-kafka.conf").read_text()
    assert "vm.swappiness = 1\nvm.max_map_count = 262144\n" in written
    assert machine.outcome("Raise the running broker's limit") == ["started", "ended"]
    assert not may_raise_limits() or "100000" in pathlib.Path(f"/proc/{process.pid}/limits").read_text()
    assert again.returncode == 0 and machine.outcome("Write the kernel settings") == ["already"]


def test_the_tuning_is_taken_back(machine: Machine, tmp_path: pathlib.Path) -> None:
    machine.broker(tmp_path / "d1")
    assert machine.smoke("run", "tune-os", "--yes").returncode == 0

    answer = machine.smoke("undo", machine.run_id, answers="y" * 20)

    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert [path.read_text().strip() for path in machine.settings.values()] == ["60", "65530"]
    assert not [*tmp_path.glob("etc-*/*.conf"), *tmp_path.glob("etc-*/*.rules")]


def test_a_plan_of_any_playbook_changes_nothing(machine: Machine, tmp_path: pathlib.Path) -> None:
    machine.broker(tmp_path / "d1")
    before = {path: path.read_bytes() for path in tmp_path.rglob("etc-*/**/*") if path.is_file()}

    for name in ("tune-os", "reboot-broker", "out-of-memory", "power-off-broker", "overheating"):
        answer = machine.smoke("plan", name)
        assert "Nothing was changed" in answer.stdout, answer.stderr

    assert before == {path: path.read_bytes() for path in tmp_path.rglob("etc-*/**/*") if path.is_file()}
    assert [path.read_text().strip() for path in machine.settings.values()] == ["60", "65530"]


def test_a_program_that_listens_to_kafkas_disk_is_stopped(machine: Machine, tmp_path: pathlib.Path) -> None:
    if not shutil.which("fatrace"):
        pytest.skip("needs fatrace (package fatrace)")
    data = tmp_path / "d1"
    data.mkdir()
    machine.inside.run("mount", "-t", "tmpfs", "-o", "size=1m", "smoke-data", str(data))
    machine.broker(data)
    listener = machine.inside.start("sh", "-c", f"cd {data} && exec fatrace -c")
    wait_for("the finding", lambda: machine.findings("antivirus").get("fatrace", {}).get("status") == "critical", 60)

    answer = machine.smoke("run", "antivirus", answers="yy")

    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert listener.wait(10) is not None
    assert machine.findings("antivirus")["antivirus"]["status"] == "ok"


def without_cluster(name: str, folder: pathlib.Path) -> None:
    """A copy of a playbook for a machine without cluster or systemd: gates, Kafka and units are left out of it."""
    said = yaml.safe_load((ROOT / f"playbooks/books/{name}.yaml").read_text())
    said["steps"] = [step for step in said["steps"] if not {"gate", "kafka"} & set(step)]
    for step in said["steps"]:
        step.pop("takes_away", None)  # it asks for the gate that was left out
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(said, sort_keys=False))


MAKE = {"ext4": ("mkfs.ext4", "-q", "-F"), "xfs": ("mkfs.xfs", "-q")}


def broken(machine: Machine, kind: str, device: str, path: pathlib.Path) -> None:
    """A file system with one file, in /etc/fstab and mounted, that stops taking writes."""
    path.mkdir()
    filesystems.command(*MAKE[kind], device)
    (machine.folder / "fstab").write_text(f"{device} {path} {kind} defaults,noatime 0 0\n")
    machine.inside.run("mount", "--bind", str(machine.folder / "fstab"), "/etc/fstab")
    machine.inside.run("mount", "-o", "noatime" + (",errors=remount-ro" if kind == "ext4" else ""), device, str(path))
    machine.inside.run("sh", "-c", f"echo data > {path}/kept; sync -f {path}/kept")
    if kind == "ext4":
        pathlib.Path(f"/sys/fs/ext4/{os.path.basename(device)}/trigger_fs_error").write_text("1")
    else:
        machine.inside.run("xfs_io", "-x", "-c", "shutdown", str(path))


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_a_hidden_read_only_file_system_is_repaired(machine: Machine, tmp_path: pathlib.Path, kind: str) -> None:
    filesystems.need("e2fsck:e2fsprogs", "xfs_repair:xfsprogs", "xfs_io:xfsprogs", "fuser:psmisc")
    without_cluster("hidden-readonly", tmp_path / "books")
    path = tmp_path / "d1"
    with filesystems.loop_device(tmp_path, "disk", 320) as device:
        broken(machine, kind, device, path)
        broker = machine.broker(path)
        before = machine.findings("mounts")[str(path)]
        words = ("hidden-readonly", "--playbooks", str(tmp_path / "books"), "--item", str(path))
        plan = machine.smoke("plan", *words)
        answer = machine.smoke("run", *words, answers="y" * 12)
        kept = machine.inside.run("cat", f"{path}/kept") if answer.returncode == 0 else ""
        after = machine.findings("mounts")[str(path)]
        broker.kill()
        machine.inside.run("umount", str(path))

    assert before["status"] == "critical" and before["playbook"] == "hidden-readonly"
    assert f"{'e2fsck' if kind == 'ext4' else 'xfs_repair'}" in plan.stdout
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert kept == "data\n"
    assert after["status"] in ("ok", "warning"), after["reason"]


def test_room_is_made_on_a_full_disk_and_the_wait_sees_it(machine: Machine, tmp_path: pathlib.Path) -> None:
    """Its wait looks every 2 s instead of every minute."""
    without_cluster("full-disk", tmp_path / "books")
    file = tmp_path / "books/full-disk.yaml"
    file.write_text(file.read_text().replace("every: 60s", "every: 2s"))
    path = tmp_path / "d1"
    path.mkdir()
    with filesystems.loop_device(tmp_path, "disk", 64) as device:
        filesystems.command("mkfs.ext4", "-q", "-F", "-m", "0", device)
        machine.inside.run("mount", device, str(path))
        broker = machine.broker(path)
        machine.inside.run("fallocate", "-l", "52M", f"{path}/segment")
        before = machine.findings("disk_usage")[str(path)]
        waiting = threading.Timer(12, machine.inside.run, ("rm", f"{path}/segment"))
        waiting.start()
        answer = machine.smoke(
            "run", "full-disk", "--playbooks", str(tmp_path / "books"), "--item", str(path), answers="yy"
        )
        waiting.join()
        broker.kill()
        machine.inside.run("umount", str(path))

    assert (before["status"], before["playbook"]) == ("critical", "full-disk")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "segment" not in answer.stderr and "not yet: disk_usage" in answer.stdout
