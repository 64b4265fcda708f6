"""Kernel settings that the next boot brings: sysctl.d(5) and sysctl.conf(5), in the order in which they are applied."""

from __future__ import annotations

import fnmatch
from typing import Dict, Iterator, Optional, Tuple

from agent.host import Host, Missing, cached_per_run
from agent.named_tuples import NamedTuple

# A file hides those of the same name in the folders after it.
FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d")
# Applied last by procps' `sysctl --system`; systemd reads it only where a link in FOLDERS leads to it.
LAST = "/etc/sysctl.conf"
SYSTEMD = "/run/systemd/system"


class Setting(NamedTuple):
    value: str
    path: str


def at_boot(host: Host, name: str) -> Optional[Setting]:
    """What the files set `vm.swappiness` to at the next boot, and which of them; None where none of them does.

    CannotTell if one of the files cannot be read.
    """
    found: Optional[Setting] = None
    by_pattern: Optional[Setting] = None
    for path, key, value in _assignments(host):
        if key == name:
            found = Setting(value, path)
        elif fnmatch.fnmatchcase(name, key):  # vm.* = … holds where no file names the setting itself
            by_pattern = Setting(value, path)
    return found or by_pattern


def _assignments(host: Host) -> Iterator[Tuple[str, str, str]]:
    for path, text in _texts(host).items():
        for row in text.splitlines():
            key, separator, value = row.strip().partition("=")
            if separator and not key.startswith(("#", ";")):
                # `-key=…`: a failure to set it is no error; `vm/swappiness` is the same as `vm.swappiness`
                yield path, _dotted(key.strip().lstrip("-").strip()), value.strip()


def _dotted(key: str) -> str:
    """The first of the two separators is the separator.

    >>> _dotted("net/ipv4/conf/eth0.1/forwarding"), _dotted("vm.swappiness")
    ('net.ipv4.conf.eth0/1.forwarding', 'vm.swappiness')
    """
    return key.translate(str.maketrans("./", "/.")) if "/" in key.partition(".")[0] else key


@cached_per_run
def _texts(host: Host) -> Dict[str, str]:
    """The files in the order in which they are applied: by their names, whatever folder they are in."""
    paths: Dict[str, str] = {}
    for folder in reversed(FOLDERS):
        try:
            paths.update((name, f"{folder}/{name}") for name in host.list_dir(folder) if name.endswith(".conf"))
        except Missing:
            continue
    ordered = [paths[name] for name in sorted(paths)] + ([] if host.exists(SYSTEMD) else [LAST])
    found = {}
    for path in ordered:
        try:
            found[path] = host.read(path)
        except Missing:  # also a link that leads nowhere
            continue
    return found
