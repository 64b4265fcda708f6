"""Does the kernel leave it to the JVM where it uses transparent huge pages?

Warning: mode `always`; the kernel then merges pages of every process: longer pauses and more memory for the JVM.
Never critical: `always` is the default of several distributions, and a broker runs with it.
Ok again: as soon as the mode is `madvise` or `never`; set it at every boot too (systemd-tmpfiles, a tuned profile or
`transparent_hugepage=madvise` on the kernel command line).
Limits of the check: it does not read what the next boot sets.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from agent.host import CannotTell, Host, Missing, NotApplicable
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.kafka import processes as kafka
from agent.status import Verdict, ok, warning

LIMITS = {"good_modes": "madvise never"}
PLAYBOOK = "tune-os"
FOLDER = "/sys/kernel/mm/transparent_hugepage"
ITEM = "transparent huge pages"
MODES = ("always", "madvise", "never")
# defer and defer+madvise exist from Linux 4.6 and 4.11
DEFRAG_MODES = ("always", "defer", "defer+madvise", "madvise", "never")

# always [madvise] never
CHOSEN = pattern(r"(?:[a-z+]{1,20} ){0,7}\[([a-z+]{1,20})\](?: [a-z+]{1,20}){0,7}")


class Facts(NamedTuple):
    """enabled, defrag: the modes in effect."""

    enabled: str
    defrag: str


def find(host: Host) -> Sequence[str]:
    kafka.need_role(host)
    return [ITEM]


def look(host: Host, item: str) -> Facts:
    try:
        enabled = mode(host, "enabled", MODES)
    except Missing:
        raise NotApplicable(f"{FOLDER}/enabled does not exist: kernel without transparent huge pages") from None
    return Facts(enabled, mode(host, "defrag", DEFRAG_MODES))


def mode(host: Host, name: str, known: Sequence[str]) -> str:
    """The mode in effect of the file `name`; Missing where the kernel has no such file."""
    path = f"{FOLDER}/{name}"
    text = host.read(path, 4096)
    match = CHOSEN.fullmatch(text.strip())
    if not match or match.group(1) not in known:
        raise CannotTell(f"{path} contains {text[:40]!r}, expected one of {', '.join(known)} in brackets")
    return match.group(1)


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    good = str(limits["good_modes"]).split()
    modes = f"mode {facts.enabled}, defrag {facts.defrag}"
    if facts.enabled in good:
        return ok(f"{ITEM}: {modes}")
    wanted = " or ".join(good)
    return warning(f"{ITEM}: {modes}; should be {wanted}: longer pauses and more memory for the JVM", PLAYBOOK)
