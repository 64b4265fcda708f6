"""Passwords, which stand in no inventory: from the environment, or from a file that only its owner can read."""

from __future__ import annotations

import os
import stat

from inventory.model import Bmc

LONGEST_PASSWORD = 1024


class SecretError(ValueError):
    """A password that cannot be had, or that others could read; the message says which and why."""


def bmc_password(bmc: Bmc) -> str:
    """The password of a BMC, empty where it is not said on this machine; SecretError with the reason."""
    if not bmc.password_file:
        return os.environ.get(bmc.password_env, "")
    path = os.path.expanduser(bmc.password_file)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise SecretError(f"password file {path}: {error.strerror}") from error
    with open(handle, encoding="utf-8", errors="surrogateescape") as file:
        reason = _exposed(os.fstat(file.fileno()))
        if reason:
            raise SecretError(f"password file {path} {reason}")
        return file.readline(LONGEST_PASSWORD).rstrip("\r\n")


def file_problem(path: str) -> str:
    """What is wrong with a password file that is there; empty where it is well, or not on this machine."""
    path = os.path.expanduser(path)
    try:
        reason = _exposed(os.stat(path))
    except OSError:
        return ""
    return f"password file {path} {reason}" if reason else ""


def _exposed(found: os.stat_result) -> str:
    if not stat.S_ISREG(found.st_mode):
        return "is not a file"
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return f"can be read or changed by others (mode {stat.S_IMODE(found.st_mode):04o}); chmod 600 it"
    if found.st_uid not in (0, os.geteuid()):
        return f"belongs to another user (uid {found.st_uid})"
    return ""
