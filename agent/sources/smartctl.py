"""smartctl: which disks it reaches, and what each says. One process for the list, one for each disk.

For other checks: `smart_facts_of(host, "sdc")` gives the disk's facts (shared with the smart check: nobody reads
a disk twice), and `disk_rules.trouble(facts)` says in words what is wrong with it.
"""

from __future__ import annotations

from typing import Optional

from agent.host import CannotTell, Host, NotApplicable, shared
from agent.sources.smart_report import Facts


@shared
def read(host: Host, path: str, kind: str = "") -> Facts:
    """The facts of the disk at `path` (/dev/sdb, or /dev/bus/0 with kind megaraid,3).

    CannotTell with the reason: no root, no smartctl, asleep, no answer. NotApplicable: a virtual disk.
    """
    raise CannotTell(f"SMART of {path} cannot be read yet")


def smart_facts_of(host: Host, kernel_name: str) -> Optional[Facts]:
    """The facts of a whole disk such as sdc or nvme0n1; None where they cannot be had."""
    try:
        return read(host, f"/dev/{kernel_name}")
    except (CannotTell, NotApplicable):
        return None
