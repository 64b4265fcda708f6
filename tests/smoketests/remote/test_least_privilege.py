"""A user who may start the agent as root and do nothing else: real sudo, sshd and NRPE, the packaged sudoers file."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from agent import launcher
from inventory.model import Bmc, Host
from smoketests.remote import fanout
from smoketests.remote.agent_output import Hearing, Options, far_command
from smoketests.remote.bundle import Bundle
from smoketests.remote.fanout import HostReport
from tests.inventory.files import one
from tests.real.parts.people import let_all_in, people
from tests.real.parts.sshd import Sshd, free_port, sshd

ROOT = pathlib.Path(__file__).parents[3]
SUDOERS = (ROOT / "packaging/fleet-smoke.sudoers").read_text()
NOTHING = Bundle(b"", "", "")
# the users of tests/real/parts/people.py: other has no rights of its own
USER = "other"


def sudoers_for(*names: tuple[str, str]) -> str:
    """The packaged file, for the Python of these tests and with other users."""
    text = SUDOERS.replace("/opt/fleet-smoke/bin/python", sys.executable)
    for ours, theirs in names:
        text = text.replace(f"\n{ours} ", f"\n{theirs} ")
    return text


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    folder = tmp_path_factory.mktemp("least")
    (folder / "people").mkdir()
    with people(folder / "people") as files:
        sudoers = folder / "people" / "sudoers"
        sudoers.chmod(0o640)
        sudoers.write_text(sudoers_for(("smoke", USER)))
        sudoers.chmod(0o440)
        let_all_in(folder)
        with sshd(folder, binds=files) as running:
            yield running


def ask(server: Sshd, options: Options, command: Any = far_command, **host: Any) -> HostReport:
    who = server.host(user=USER, sudo="agent", python=sys.executable, **host)
    (report,) = fanout.run([who], options, NOTHING, server.access(), "r1", command)
    return report


def tried(server: Sshd, *commands: str) -> str:
    """The last word of a script that tries these: the first that sudo did not refuse, or "none"."""
    tries = "; ".join(
        f"if {one} </dev/null >/dev/null 2>&1; then echo {shlex.quote(one)}; exit; fi" for one in commands
    )
    heard = ask(server, Options(run_s=60), lambda *_: f"sh -c {shlex.quote(f'{tries}; echo none')}")
    return heard.reach.reason.rpartition(": ")[2]


@pytest.mark.root
def test_the_fan_out_gets_a_whole_report_as_root_from_a_user_with_that_one_right(server: Sshd) -> None:
    heard = ask(server, Options(run_s=30, checks=("swappiness", "memory")), skip={"memory": "a reason of ours"})

    assert heard.kind == "answered", heard.reach
    assert heard.report.header["root"] is True
    assert {row["check"]: row["status"] for row in heard.report.findings}["memory"] == "skipped"
    assert "swappiness" in {row["check"] for row in heard.report.findings}


PYTHON = sys.executable
REFUSED = [
    "sudo -n id",
    "sudo -n -- sh -c id",
    f"sudo -n -- {PYTHON} -c 0",
    f"sudo -n -- {PYTHON} -m agent.launcher",
    f"sudo -n -- {PYTHON} -I -m agent.launcher --state /tmp/x",
    f"sudo -n -- {PYTHON} -I -m agent --expected -",
    f"sudo -n -- {PYTHON} -I -m agent --format nagios --output /etc/cron.d/x",
    f"sudo -n -- {PYTHON} -I -m timeit",
    f"sudo -n PYTHONPATH=/tmp -- {PYTHON} -I -m agent.launcher",
    f"sudo -n -E -- {PYTHON} -I -m agent.launcher",
    f"sudo -n -u other2 -- {PYTHON} -I -m agent.launcher",
]


@pytest.mark.root
def test_that_user_may_do_nothing_else(server: Sshd) -> None:
    assert tried(server, *REFUSED) == "none"
    # and the script does tell what is allowed
    assert tried(server, f"sudo -n -l {PYTHON} -I -m agent.launcher").startswith("sudo -n -l")


@pytest.mark.root
def test_the_installed_agent_ends_when_the_asker_goes(server: Sshd) -> None:
    """It is asked, and the connection is closed before it answers."""
    running = fanout.run(
        [server.host(user=USER, sudo="agent", python=sys.executable)], Options(run_s=60, overall_s=1.0), NOTHING,
        server.access(), "r1",
    )  # fmt: skip
    list(running)
    deadline = time.monotonic() + 20
    while server.running() and time.monotonic() < deadline:
        time.sleep(0.1)

    assert server.running() == []


def refused(monkeypatch: pytest.MonkeyPatch, line: bytes) -> str:
    """What the launcher says to a line that is no request."""
    out = io.StringIO()
    monkeypatch.setattr(sys, "argv", ["launcher"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line)))
    monkeypatch.setattr(sys, "stdout", out)

    class Ended(BaseException):
        pass

    def end(code: int) -> None:
        raise Ended(code)

    monkeypatch.setattr(os, "_exit", end)
    with contextlib.suppress(Ended):
        launcher.main()
        raise AssertionError("it was taken")
    return out.getvalue()


BAD = {
    "nothing": b"",
    "no JSON": b"{",
    "deep": b"[" * 100_000,
    "a list": b"[]",
    "more than it takes": b'{"expected":{},"checks":[],"deadline_s":9,"state":"/etc/shadow"}',
    "an option for a check": b'{"expected":{},"checks":["--state=/etc/x"],"deadline_s":9}',
    "a number for checks": b'{"expected":{},"checks":7,"deadline_s":9}',
    "for ever": b'{"expected":{},"checks":[],"deadline_s":1e9}',
    "no number of seconds": b'{"expected":{},"checks":[],"deadline_s":NaN}',
    "true seconds": b'{"expected":{},"checks":[],"deadline_s":true}',
    "no description": b'{"expected":"x","checks":[],"deadline_s":9}',
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
def test_what_is_no_request_is_refused_in_words(line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(monkeypatch, line).splitlines()[-1].startswith("SMOKE-BOOT cannot-start no request: ")


def test_the_setting_comes_from_the_inventory_and_the_password_stays_off_the_command(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPMI_PASSWORD", "hunter2")
    host = one(tmp_path, "sudo: agent, user: smoke, bmc: {via: lan, address: b1}")
    command = far_command(host, "smoke", Options(), NOTHING, "r1")
    told = json.loads(Hearing(None, Options(checks=("smart",), run_s=9), NOTHING, host)._expected)

    assert command == "sudo -n -- /opt/fleet-smoke/bin/python -I -m agent.launcher"
    assert launcher.arguments_of(told) == ["smart", "--expected", "-", "--deadline", "9.0"]
    assert told["expected"]["bmc_password"] == "hunter2"
    assert far_command(Host("h", sudo="no", bmc=Bmc()), "smoke", Options(), NOTHING, "r1").startswith("timeout ")


NRPE_CONFIG = """server_address=127.0.0.1
server_port={port}
nrpe_user={user}
nrpe_group=nogroup
allowed_hosts=127.0.0.1
dont_blame_nrpe=0
command_timeout=90
pid_file={folder}/pid
{command}
"""


@pytest.mark.root
@pytest.mark.slow
def test_the_recipe_for_nrpe_works_with_a_real_nrpe(tmp_path: pathlib.Path) -> None:
    check = pathlib.Path("/usr/lib/nagios/plugins/check_nrpe")
    if not shutil.which("nrpe") or not check.exists():
        pytest.skip("needs NRPE (packages nagios-nrpe-server, nagios-nrpe-plugin)")
    recipe = next(line for line in (ROOT / "packaging/README.md").read_text().splitlines() if line.startswith("NRPE "))
    command = recipe.removeprefix("NRPE").strip().replace("/opt/fleet-smoke/bin/python", sys.executable)
    port = free_port()
    config, sudoers = tmp_path / "nrpe.cfg", tmp_path / "sudoers"
    config.write_text(NRPE_CONFIG.format(port=port, user="nagios", folder=tmp_path, command=command))
    sudoers.write_text(SUDOERS.replace("/opt/fleet-smoke/bin/python", sys.executable))
    sudoers.chmod(0o440)
    let_all_in(tmp_path)
    inside = (
        f"mount --bind {sudoers} /etc/sudoers; mkdir -p /var/lib/fleet-smoke; mount -t tmpfs none /var/lib/fleet-smoke"
    )
    inside += f"; exec nrpe -c {config} -f"
    daemon = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", inside])
    try:
        answer = _asked([str(check), "-H", "127.0.0.1", "-p", str(port), "-t", "90", "-c", "smoke"])
    finally:
        daemon.kill()
        daemon.wait()

    assert answer.returncode in (0, 1, 2, 3)
    assert answer.stdout.startswith("SMOKE ") and "not root" not in answer.stdout.lower(), answer.stdout
    assert "a password is required" not in answer.stdout


def _asked(command: list[str]) -> subprocess.CompletedProcess[str]:
    deadline = time.monotonic() + 20
    while True:
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
        if "refused" not in answer.stdout + answer.stderr or time.monotonic() > deadline:
            return answer
        time.sleep(0.2)


@pytest.mark.root
def test_the_units_capabilities_let_smartctl_make_the_node_of_a_megaraid_card(tmp_path: pathlib.Path) -> None:
    """Without a card: the same mknod that smartctl does, of a null device, within the unit's bounding set."""
    unit = (ROOT / "packaging/fleet-smoke-agent.service").read_text()
    named = (
        next(line for line in unit.splitlines() if line.startswith("CapabilityBoundingSet=")).partition("=")[2].split()
    )
    made: list[bool] = []
    for capabilities in (named, [name for name in named if name != "CAP_MKNOD"]):
        bound = ",".join(["-all", *(f"+{name.removeprefix('CAP_').lower()}" for name in capabilities)])
        node = tmp_path / f"node{len(made)}"
        words = ["setpriv", "--bounding-set", bound, "mknod", str(node), "c", "1", "3"]
        made.append(subprocess.run(words, capture_output=True, check=False).returncode == 0)
    if made == [False, False]:
        pytest.skip("no device nodes can be made in this container")

    assert made == [True, False]


def test_the_unit_lets_the_agent_see_the_machine_as_it_is() -> None:
    """Read-only views of /home and /usr made log dirs there look read-only; without these rights none can be tried."""
    rows = (ROOT / "packaging/fleet-smoke-agent.service").read_text().splitlines()
    settings = dict(row.split("=", 1) for row in rows if "=" in row and not row.startswith("#"))

    assert not {"ProtectHome", "ProtectSystem", "PrivateTmp", "PrivateDevices"} & set(settings)
    assert not {"/usr", "/home", "/", "/var", "/opt", "/srv"} & set(
        settings["ReadOnlyPaths"].replace("-/", "/").split()
    )
    assert {"CAP_SETUID", "CAP_SETGID", "CAP_SYS_CHROOT", "CAP_SYS_PTRACE"} <= set(
        settings["CapabilityBoundingSet"].split()
    )
