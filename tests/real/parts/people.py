"""Users for a far host: with sudo by password, with sudo without one, and without sudo."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator

import pytest

PASSWORD = "s3cret"


@contextlib.contextmanager
def people(folder: pathlib.Path) -> Iterator[dict[pathlib.Path, str]]:
    """Files for a host: smoke has sudo with the password "s3cret", free without, other not at all."""
    home = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp"))
    home.chmod(0o755)
    if not shutil.which("sudo"):
        pytest.skip("needs sudo (package sudo)")
    password = subprocess.run(["openssl", "passwd", "-6", PASSWORD], check=True, capture_output=True, text=True).stdout
    users = {"smoke": 4242, "free": 4243, "other": 4244}
    passwd, shadow = pathlib.Path("/etc/passwd").read_text(), pathlib.Path("/etc/shadow").read_text()
    for name, number in users.items():
        passwd += f"{name}:x:{number}:{number}::{home / name}:/bin/sh\n"
        shadow += f"{name}:{password.strip()}:19000:0:99999:7:::\n"
        (home / name).mkdir(mode=0o700)
        shutil.chown(home / name, number, number)
    texts = {
        "passwd": passwd,
        "shadow": shadow,
        "sudoers": "Defaults secure_path=/usr/bin:/bin\nsmoke ALL=(ALL) ALL\nfree ALL=(ALL) NOPASSWD: ALL\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o440)
    (folder / "passwd").chmod(0o644)
    try:
        yield {folder / name: f"/etc/{name}" for name in texts}
    finally:
        shutil.rmtree(home)


def let_all_in(folder: pathlib.Path) -> None:
    """sshd reads a user's authorized keys as that user."""
    temporary = pathlib.Path(tempfile.gettempdir())
    for parent in (folder, *folder.parents):
        if temporary in parent.parents:
            parent.chmod(0o755)
