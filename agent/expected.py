"""What this machine should be: given by an inventory as JSON, or guessed from what runs on it."""

from __future__ import annotations

import json
from typing import Any, Mapping, Optional, Tuple

from agent.named_tuples import NamedTuple


class ExpectedMount(NamedTuple):
    """A data mount. An empty field is not compared."""

    path: str
    device: str = ""
    serial: str = ""
    uuid: str = ""
    fstype: str = ""


class ExpectedInterface(NamedTuple):
    """A network interface; speed in Mbit/s, 0 is not compared."""

    name: str
    speed_mbps: int = 0
    duplex: str = ""


class Bmc(NamedTuple):
    """Where the baseboard management controller answers.

    via: `inband` (/dev/ipmi0), `lan` (IPMI over LAN, RMCP+) or `none` (the machine has no BMC); empty: not said.
    The password is read from the environment variable `password_env`, never from an inventory.
    """

    via: str = ""
    address: str = ""
    port: int = 623
    user: str = ""
    password_env: str = "IPMI_PASSWORD"  # noqa: S105  a name, not a password


class Expected(NamedTuple):
    """Everything an inventory may say of one machine. An empty field means: not said.

    limits: check name -> limit name -> number; below the key `items`, item -> limit name -> number.
    skip: check name -> reason. peers: `host:port` of other machines that this one must reach.
    guessed: one sentence for each thing that was guessed and not said. unsure: why what this machine is could not be
    guessed; empty if it could, or need not be.
    """

    host: str = ""
    cluster: str = ""
    roles: Tuple[str, ...] = ()
    layout: str = ""
    rack: str = ""
    drawer: str = ""
    power_feed: str = ""
    mounts: Tuple[ExpectedMount, ...] = ()
    disks: Tuple[str, ...] = ()
    interfaces: Tuple[ExpectedInterface, ...] = ()
    psus: Optional[int] = None
    bmc: Bmc = Bmc()
    ports: Tuple[int, ...] = ()
    zookeeper: Tuple[str, ...] = ()
    firewall: str = ""
    peers: Tuple[str, ...] = ()
    write_probe: bool = True
    limits: Mapping[str, Mapping[str, Any]] = {}
    skip: Mapping[str, str] = {}
    guessed: Tuple[str, ...] = ()
    unsure: str = ""

    @property
    def mount_paths(self) -> Tuple[str, ...]:
        return tuple(mount.path for mount in self.mounts)


class BadExpectation(ValueError):
    """The JSON given is not a description of a machine."""


def from_json(text: str) -> Expected:
    """Read the description that an inventory sends along; BadExpectation names the field that is wrong."""
    try:
        given = json.loads(text)
    except ValueError as error:
        raise BadExpectation(f"not JSON: {error}") from error
    if not isinstance(given, dict):
        raise BadExpectation("expected an object with fields such as roles, mounts, limits")
    unknown_fields = sorted(set(given) - set(Expected._fields))
    if unknown_fields:
        raise BadExpectation(f"unknown field {unknown_fields[0]!r}; known: {', '.join(Expected._fields)}")
    return Expected(**{name: _field(name, value) for name, value in given.items() if value is not None})


def split_password(text: str) -> Tuple[str, str]:
    """What a controller tells of a machine, without the BMC's password that may stand beside it as `bmc_password`."""
    try:
        given = json.loads(text)
    except ValueError:
        return text, ""
    password = given.pop("bmc_password", "") if isinstance(given, dict) else ""
    if not isinstance(password, str) or "\0" in password:
        raise BadExpectation("bmc_password: not a password")
    return json.dumps(given), password


_ROWS = {"mounts": ExpectedMount, "interfaces": ExpectedInterface}
_SCALARS = {
    "host": str,
    "cluster": str,
    "layout": str,
    "rack": str,
    "drawer": str,
    "power_feed": str,
    "firewall": str,
    "unsure": str,
    "write_probe": bool,
    "psus": int,
}


def _field(name: str, value: Any) -> Any:
    try:
        if name in _ROWS:
            return tuple(_ROWS[name](**row) for row in value)
        if name == "bmc":
            return _bmc(Bmc(**value))
        if name in ("limits", "skip"):
            return dict(value)
        if name in _SCALARS:
            if not isinstance(value, _SCALARS[name]):
                raise TypeError(f"{value!r} is not a {_SCALARS[name].__name__}")
            return value
        kind = int if name == "ports" else str
        if isinstance(value, str) or not all(isinstance(part, kind) for part in value):
            raise TypeError(f"{value!r} is not a list of {kind.__name__}")
        return tuple(value)
    except (TypeError, ValueError) as error:
        raise BadExpectation(f"{name}: {error}") from error


def _bmc(given: Bmc) -> Bmc:
    """No other variable of the environment holds the password: neither is PATH overwritten, nor a secret sent on."""
    if not str(given.password_env).startswith(("SMOKE_", "IPMI_")):
        raise ValueError("password_env: the name of the variable must begin with SMOKE_ or IPMI_")
    return given
