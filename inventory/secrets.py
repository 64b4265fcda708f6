"""Passwords, which are not in the inventory: from the environment, or from a file that only its owner can read."""

from __future__ import annotations

import os
import re
import stat

from inventory.errors import SmokeError
from inventory.model import Bmc

LONGEST_PASSWORD = 1024
# An inventory may be written by others than the one who runs us: it must not name their other secrets.
VARIABLE = re.compile(r"(?:SMOKE|IPMI)_\w+", re.ASCII)
# those of ours that hold something else than a BMC's password
OTHER_VARIABLES = ("SMOKE_MAIL", "SMOKE_KAFKA", "SMOKE_SPARK")
FOLDER = "/etc/fleet-smoke/bmc"
FOLDER_VARIABLE = "SMOKE_BMC_PASSWORDS"


class SecretError(SmokeError, ValueError):
    """A password that cannot be had, or that others could read; the message says which and why."""


def bmc_password(bmc: Bmc) -> str:
    """The password of a BMC, empty where it is not said on this machine; SecretError with the reason."""
    if not bmc.password_file:
        reason = variable_problem(bmc.password_env)
        if reason:
            raise SecretError(reason)
        return os.environ.get(bmc.password_env, "")
    path = os.path.expanduser(bmc.password_file)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        raise SecretError(f"password file {path}: {error.strerror}") from error
    with open(handle, encoding="utf-8", errors="surrogateescape") as file:
        reason = _exposed(os.fstat(file.fileno()))
        if reason:
            raise SecretError(f"password file {path} {reason}")
        return file.readline(LONGEST_PASSWORD).rstrip("\r\n")


def variable_problem(name: str) -> str:
    """Why a BMC's password is not read from a variable of this name; empty where it may be."""
    if VARIABLE.fullmatch(name) and not name.startswith(OTHER_VARIABLES):
        return ""
    return f"password_env {name[:80]!a}: a BMC's password is only read from variables SMOKE_… or IPMI_…"


def file_problem(path: str, inventory: str) -> str:
    """What is wrong with a password file that an inventory file names; empty where it is well, or not on this machine.

    It must be below the folder of that file, or below SMOKE_BMC_PASSWORDS (/etc/fleet-smoke/bmc if that is not set),
    not hidden, and reached by no link that leads out of there.
    """
    path = os.path.expanduser(path)
    own = os.path.dirname(os.path.abspath(inventory)) if os.path.isfile(inventory) else ""
    folders = [own, os.environ.get(FOLDER_VARIABLE) or FOLDER]
    if not any(_is_below(os.path.normpath(path), folder) for folder in folders if folder):
        places = " or ".join(folder for folder in folders if folder)
        return f"password file {path}: it must be below {places}, and no part of its name there may begin with a dot"
    try:
        reason = _exposed(os.lstat(path))
    except OSError:
        return ""
    return f"password file {path} {reason}" if reason else ""


def _is_below(path: str, folder: str) -> bool:
    """By its name, and by where its links lead."""
    ways = ((path, os.path.normpath(folder)), (os.path.realpath(path), os.path.realpath(folder)))
    return all(way.startswith(f"{top.rstrip('/')}/") and "/." not in way[len(top.rstrip("/")) :] for way, top in ways)


def _exposed(found: os.stat_result) -> str:
    if not stat.S_ISREG(found.st_mode):
        return "is not a file"
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return f"can be read or changed by others (mode {stat.S_IMODE(found.st_mode):04o}); chmod 600 it"
    if found.st_uid not in (0, os.geteuid()):
        return f"belongs to another user (uid {found.st_uid})"
    return ""
