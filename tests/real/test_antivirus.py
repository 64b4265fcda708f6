"""antivirus against real fanotify listeners, in a process and mount namespace of its own."""

import pathlib
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.real.parts.namespace import Namespace, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.root]


@pytest.fixture
def inside() -> Iterator[Namespace]:
    with Namespace("--pid", "--mount") as namespace:
        yield namespace


@pytest.fixture
def data(inside: Namespace, tmp_path: pathlib.Path) -> pathlib.Path:
    """A data mount that exists only inside."""
    mount = tmp_path / "kafka-d1"
    mount.mkdir()
    inside.run("mount", "-t", "tmpfs", "-o", "size=4m", "smoke-data", str(mount))
    return mount


def expected(data: pathlib.Path) -> dict[str, object]:
    return {"roles": ["broker"], "mounts": [{"path": str(data)}]}


def listening(inside: Namespace, mount: pathlib.Path) -> "subprocess.Popen[bytes]":
    """fatrace on the mount, started and seen at work."""
    if not shutil.which("fatrace"):
        pytest.skip("needs fatrace (package fatrace)")
    process = inside.start("sh", "-c", f"cd {mount} && exec fatrace -c")
    wait_for("a fanotify mark", lambda: "fanotify" in inside.run("sh", "-c", "cat /proc/[0-9]*/fdinfo/* 2>&1 || true"))
    return process


def test_a_real_listener_on_the_data_mount_is_critical_and_gone_when_it_ends(
    inside: Namespace, data: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    before = inside.findings("antivirus", expected(data), tmp_path / "state")
    process = listening(inside, data)
    during = inside.findings("antivirus", expected(data), tmp_path / "state")
    inside.run("sh", "-c", "kill $(pidof fatrace)")
    process.wait(10)
    after = inside.findings("antivirus", expected(data), tmp_path / "state")

    assert before["antivirus"]["status"] == "ok"
    assert during["fatrace"]["status"] == "critical"
    assert f"every file access on {data}" in during["fatrace"]["reason"]
    assert "fatrace (" in during["fatrace"]["reason"]
    assert after["antivirus"]["status"] == "ok"


def test_a_real_listener_elsewhere_is_a_warning(inside: Namespace, data: pathlib.Path, tmp_path: pathlib.Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    inside.run("mount", "-t", "tmpfs", "-o", "size=1m", "smoke-other", str(other))
    listening(inside, other)

    found = inside.findings("antivirus", expected(data), tmp_path / "state")

    assert found["fatrace"]["status"] == "warning"


def test_a_process_named_clamd_is_critical_until_it_ends(
    inside: Namespace, data: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    stand_in = tmp_path / "clamd"
    shutil.copy(shutil.which("sleep") or "", stand_in)
    process = inside.start(str(stand_in), "300")
    wait_for("the stand-in", lambda: "clamd" in inside.run("sh", "-c", "cat /proc/[0-9]*/comm"))

    running = inside.findings("antivirus", expected(data), tmp_path / "state")
    inside.run("sh", "-c", "kill $(pidof clamd)")
    process.wait(10)
    ended = inside.findings("antivirus", expected(data), tmp_path / "state")

    assert running["ClamAV"]["status"] == "critical" and "clamd (" in running["ClamAV"]["reason"]
    assert ended["antivirus"]["status"] == "ok"


# hand-made: the least that dpkg takes for an installed and for a removed package
STATUS = """Package: {name}
Status: {state}
Maintainer: nobody <nobody@example.org>
Architecture: all
Version: 1
Description: hand-made

"""


@pytest.mark.parametrize(("state", "item", "status"), [
    ("install ok installed", "ClamAV", "warning"),
    ("deinstall ok config-files", "antivirus", "ok"),
])  # fmt: skip
def test_a_package_of_a_real_dpkg_that_is_idle_is_a_warning(
    inside: Namespace, data: pathlib.Path, tmp_path: pathlib.Path, state: str, item: str, status: str
) -> None:
    if not shutil.which("dpkg-query"):
        pytest.skip("needs dpkg-query (package dpkg)")
    dpkg = tmp_path / "dpkg"
    (dpkg / "info").mkdir(parents=True)
    (dpkg / "info" / "clamav-daemon.list").write_text("/.\n/etc\n")
    (dpkg / "status").write_text(STATUS.format(name="clamav-daemon", state=state))
    inside.run("mount", "--bind", str(dpkg), "/var/lib/dpkg")

    found = inside.findings("antivirus", expected(data), tmp_path / "state")

    assert found[item]["status"] == status, found
