"""The boot program on a real far host: every Python, every state of its folder, each refusal in words."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from smoketests.remote import agent_output, bundle, fanout
from smoketests.remote.bundle import Bundle, BundleError
from smoketests.remote.fanout import HostReport, Options
from tests.real.parts.people import let_all_in, people
from tests.real.parts.remote_agents import stand_in
from tests.real.parts.sshd import FOLDER, Sshd, sshd

pytestmark = pytest.mark.root

PYENV = pathlib.Path("~/.pyenv/versions").expanduser()
ONE_CHECK = Options(run_s=20, checks=("swappiness",))


@pytest.fixture(scope="module")
def real() -> Bundle:
    try:
        return bundle.build()
    except BundleError as error:
        pytest.skip(str(error))


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Iterator[Sshd]:
    with sshd(tmp_path) as running:
        yield running


def ask(server: Sshd, made: Bundle, options: Options = ONE_CHECK, **host: Any) -> HostReport:
    (report,) = fanout.run([server.host(**host)], options, made, server.access(), "r1")
    return report


def python(version: str) -> str:
    """The path of this Python, as a far host would have it: without any of our packages."""
    found = sorted(PYENV.glob(f"{version}.*/bin/python{version}"))
    path = str(found[-1]) if found else shutil.which(f"python{version}", path="/usr/bin:/usr/local/bin")
    if not path:
        pytest.skip(f"needs Python {version}")
    return path


def tools(folder: pathlib.Path, **links: str) -> str:
    """A PATH with a shell, `timeout`, and these links."""
    folder.mkdir()
    for name in ("sh", "timeout", "id"):
        (folder / name).symlink_to(shutil.which(name) or "")
    for name, target in links.items():
        (folder / name).symlink_to(target)
    return str(folder)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.9", "3.10", "3.11", "3.12", "3.13"])
def test_the_real_agent_answers_under_every_python_without_any_package_there(
    version: str, real: Bundle, tmp_path: pathlib.Path
) -> None:
    with sshd(tmp_path, path=tools(tmp_path / "bin", python3=python(version))) as server:
        heard = ask(server, real, Options(run_s=20, checks=("swappiness", "memory")))

    assert heard.kind == "answered", heard.reach
    assert str(heard.report.header["python"]).startswith(version)
    assert {finding["check"] for finding in heard.report.findings} >= {"swappiness", "agent"}
    assert not [finding for finding in heard.report.findings if "failed" in finding["reason"]]


@pytest.mark.parametrize(
    ("name", "version"), [("python3", "3.6"), ("python3", "3.7"), ("python3", "3.8"), ("python", "2.7")]
)
def test_an_old_python_is_named(name: str, version: str, tmp_path: pathlib.Path) -> None:
    with sshd(tmp_path, path=tools(tmp_path / "bin", **{name: python(version)})) as server:
        heard = ask(server, stand_in(""))

    assert heard.kind == "old-python"
    assert heard.reach.reason.startswith(f"only Python {version}.")
    assert heard.reach.status == "unknown"


@pytest.mark.parametrize(("old", "version"), [("python3", "3.6"), ("python", "2.7")])
def test_a_newer_python_beside_an_old_one_is_found(old: str, version: str, tmp_path: pathlib.Path) -> None:
    path = tools(tmp_path / "bin", **{old: python(version), "python3.11": python("3.11")})
    with sshd(tmp_path, path=path) as server:
        heard = ask(server, stand_in("import sys; print(sys.version_info[:2])"))

    assert "(3, 11)" in heard.reach.reason


def test_the_python_that_the_inventory_names_is_used(tmp_path: pathlib.Path) -> None:
    with sshd(tmp_path, path=tools(tmp_path / "bin", python3=python("3.6"))) as server:
        heard = ask(server, stand_in("import sys; print(sys.version_info[:2])"), python=python("3.12"))

    assert "(3, 12)" in heard.reach.reason


def test_no_python_is_said(tmp_path: pathlib.Path) -> None:
    with sshd(tmp_path, path=tools(tmp_path / "bin")) as server:
        heard = ask(server, stand_in(""))

    assert (heard.kind, heard.reach.reason) == (
        "no-python",
        "no Python found; the agent requires 3.9 or later",
    )


def test_modules_in_the_users_home_are_not_imported(server: Sshd, tmp_path: pathlib.Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "zipfile.py").write_text("print('from the home')\n")
    (home / "agent.py").write_text("print('from the home')\n")
    there = f"cd {home}; "

    def command(*arguments: object) -> str:
        return there + agent_output.far_command(*arguments)  # type: ignore[arg-type]

    (heard,) = fanout.run([server.host()], ONE_CHECK, stand_in("print('ours')"), server.access(), "r1", command)

    assert "ours" in heard.reach.reason


REFUSALS = {
    "no room": ("mode=0755,size=8k", "no-room", f"cannot store the agent: {FOLDER}: No space left on device"),
    "read-only": ("mode=0755,ro", "no-room", "Read-only file system"),
    "noexec": ("mode=0755,noexec", "noexec", f"{FOLDER} is mounted noexec"),
    "writable by all": ("mode=0777", "unsafe-folder", f"{FOLDER} is writable by another user"),
    "writable by a group": ("mode=0775", "unsafe-folder", f"{FOLDER} is writable by another user"),
    "writable by all, sticky": ("mode=1777", "unsafe-folder", f"{FOLDER} is writable by another user"),
    "owned by another": ("mode=0755,uid=1234", "unsafe-folder", f"{FOLDER} is writable by another user"),
}


@pytest.mark.parametrize(("tmpfs", "kind", "reason"), REFUSALS.values(), ids=REFUSALS)
def test_a_folder_that_cannot_serve_is_refused(tmpfs: str, kind: str, reason: str, tmp_path: pathlib.Path) -> None:
    big = stand_in("#" + hashlib.sha512(b"").hexdigest() * 500)
    with sshd(tmp_path, tmpfs=tmpfs) as server:
        heard = ask(server, big)

    assert heard.kind == kind
    assert reason in heard.reach.reason


def test_another_kind_of_processor_is_named(server: Sshd) -> None:
    heard = ask(server, stand_in("", machine="s390x"))

    assert heard.kind == "no-build"
    assert "CPU architecture" in heard.reach.reason


def test_a_bundle_without_compiled_packages_runs_on_any_processor(server: Sshd) -> None:
    files = {"all/agent/__init__.py": b"", "all/agent/__main__.py": b"import os; print('runs on', os.uname()[4])"}
    heard = ask(server, bundle.pack(files, "0"))

    assert f"runs on {os.uname()[4]}" in heard.reach.reason


def test_an_agent_that_cannot_start_says_why(server: Sshd) -> None:
    heard = ask(server, stand_in("import no_such_module"))

    assert heard.kind == "cannot-start"
    assert heard.reach.reason == "the agent cannot start: No module named 'no_such_module'"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of all that is sent to hosts."""
    sizes: list[int] = []
    real_send = agent_output.Hearing._send

    def send(self: agent_output.Hearing, data: bytes) -> None:
        sizes.append(len(data))
        real_send(self, data)

    monkeypatch.setattr(agent_output.Hearing, "_send", send)
    return sizes


def test_the_bundle_is_sent_once_per_host_and_version(server: Sshd, sent: list[int]) -> None:
    first, second = stand_in("print(1)"), stand_in("print(22222)")

    for made in (first, first, second, first, second):
        ask(server, made)
    assert [size for size in sent if size > 100] == [len(first.packed), len(second.packed)]


def test_a_damaged_bundle_on_the_host_is_replaced(server: Sshd, sent: list[int]) -> None:
    made = stand_in("print('ours')")
    path = f"{FOLDER}/agent-{made.sha256}.zip"
    ask(server, made)
    server.in_its_files("sh", "-c", f"printf x >> {path}")

    assert "ours" in ask(server, made).reach.reason
    assert sent.count(len(made.packed)) == 2
    assert server.in_its_files("sha256sum", path).split()[0] == made.sha256


def test_a_changed_or_added_unpacked_file_is_put_right(server: Sshd) -> None:
    made = stand_in("import agent, os; print(sorted(os.listdir(os.path.dirname(agent.__file__))))")
    folder = f"{FOLDER}/agent-{made.sha256}/all/agent"
    ask(server, made)
    server.in_its_files("sh", "-c", f"echo 'print(666)' > {folder}/__main__.py; echo > {folder}/more.py")

    assert "['__init__.py', '__main__.py'" in ask(server, made).reach.reason


def test_a_link_in_place_of_a_file_is_not_followed(server: Sshd) -> None:
    made = stand_in("print('ours')")
    ask(server, made)
    server.in_its_files(
        "sh",
        "-c",
        f"cd {FOLDER}; echo 'print(666)' > /run/other; ln -sf /run/other agent-{made.sha256}/all/agent/__main__.py",
    )
    try:
        assert "ours" in ask(server, made).reach.reason
        assert pathlib.Path("/run/other").read_text() == "print(666)\n"
    finally:
        pathlib.Path("/run/other").unlink(missing_ok=True)


def test_bundles_that_nobody_used_for_a_day_are_forgotten(server: Sshd) -> None:
    old, new = stand_in("print(1)"), stand_in("print(2)")
    ask(server, old)
    server.in_its_files("sh", "-c", f"touch -d '2 days ago' {FOLDER}/agent-{old.sha256}*; touch {FOLDER}/state.json")
    ask(server, new)

    assert server.in_its_files("ls", FOLDER).split() == sorted(
        [f"agent-{new.sha256}", f"agent-{new.sha256}.zip", "state.json"]
    )


@pytest.fixture(scope="module", name="people")
def the_people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[pathlib.Path, str]]:
    with people(tmp_path_factory.mktemp("people")) as files:
        yield files


@pytest.fixture(scope="module")
def with_people(people: dict[pathlib.Path, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    folder = tmp_path_factory.mktemp("sshd")
    let_all_in(folder)
    with sshd(folder, binds=people) as running:
        yield running


WHO = "import os; print('I am', os.geteuid())"
SUDO = {
    "without a password": ("free", "auto", "", "no-report", "I am 0"),
    "with one though none is needed": ("free", "auto", "s3cret", "no-report", "I am 0"),
    "with the right one": ("smoke", "auto", "s3cret", "no-report", "I am 0"),
    "with a wrong one": ("smoke", "auto", "wrong", "sudo", "sudo rejected the password"),
    "with none though one is needed": ("smoke", "auto", "", "sudo-password", "sudo requires a password"),
    "not allowed": ("other", "yes", "s3cret", "sudo", "no root access"),
    "not wanted": ("other", "no", "", "no-report", "I am 4244"),
    "not needed": ("root", "auto", "s3cret", "no-report", "I am 0"),
}


@pytest.mark.parametrize(("user", "sudo", "password", "kind", "reason"), SUDO.values(), ids=SUDO)
def test_root_through_sudo(user: str, sudo: str, password: str, kind: str, reason: str, with_people: Sshd) -> None:
    heard = ask(with_people, stand_in(WHO), Options(run_s=10, sudo_password=password), user=user, sudo=sudo)

    assert (heard.kind, reason in heard.reach.reason) == (kind, True), heard.reach


def test_a_host_without_sudo_says_so(people: dict[pathlib.Path, str], tmp_path: pathlib.Path) -> None:
    let_all_in(tmp_path)
    with sshd(tmp_path, path=tools(tmp_path / "bin"), binds=people) as server:
        heard = ask(server, stand_in(WHO), user="free")

    assert (heard.kind, heard.reach.reason) == (
        "sudo", "no root access: sudo is not installed and the user is not root",
    )  # fmt: skip


def test_the_password_is_on_no_command_line(with_people: Sshd) -> None:
    look = (
        "import subprocess; print('s3cret' in subprocess.run(['ps', 'axeww'], capture_output=True, text=True).stdout)"
    )
    heard = ask(with_people, stand_in(look), Options(run_s=10, sudo_password="s3cret"), user="smoke")

    assert "False" in heard.reach.reason
    assert "s3cret" not in repr(Options(sudo_password="s3cret"))
