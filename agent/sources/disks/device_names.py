"""The kernel's names of disks, their partitions and their journals."""

from __future__ import annotations

import re

from agent.lazy_regex import pattern

# sdd1, vdb12, xvda1, hda3
LETTERED_PARTITION = pattern(r"((?:sd|vd|xvd|hd)[a-z]+)\d+$", re.ASCII)
# nvme0n1p2, nvme0c1n1, md0p1, mmcblk0p1, loop0p1
NUMBERED_PARTITION = pattern(r"((?:nvme\d+n|md_?|mmcblk|loop|nbd)\d+)p\d+$", re.ASCII)
NVME_PATH = pattern(r"(nvme\d+)c\d+(n\d+)", re.ASCII)


def whole_disk(name: str) -> str:
    """The disk that a partition of this name is on, by the kernel's own rules for names.

    >>> [whole_disk(name) for name in ("sdd1", "nvme0n1p2", "nvme0c1n1", "md0p1", "dm-3", "sdaa", "loop7", "nvme3")]
    ['sdd', 'nvme0n1', 'nvme0n1', 'md0', 'dm-3', 'sdaa', 'loop7', 'nvme3n1']
    """
    name = NVME_PATH.sub(r"\1\2", name)
    match = LETTERED_PARTITION.match(name) or NUMBERED_PARTITION.match(name)
    if match:
        return match.group(1)
    return f"{name}n1" if re.fullmatch(r"nvme\d+", name) else name


def journal_device(name: str) -> str:
    """The device of an internal journal, which is named with the journal's inode; an external one has none.

    >>> [journal_device(name) for name in ("sdd1-8", "dm-0-8", "dm-0", "md0-8")]
    ['sdd1', 'dm-0', 'dm-0', 'md0']
    """
    return name if re.fullmatch(r"dm-\d+", name) else re.sub(r"-\d+$", "", name)
