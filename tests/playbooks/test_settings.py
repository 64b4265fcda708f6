"""The mode of transparent huge pages that tune-os writes: a good one stays, a site's own limit counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from playbooks.facts import Choice, find
from tests.playbooks.fake_machine import Told, look

FILES = {"/proc/sys/vm/swappiness": "60\n", "/proc/sys/vm/max_map_count": "65530\n", "/proc/self/mountinfo": "",
         "/proc/sys/kernel/random/boot_id": "0c9f1d6e-8f0a-4a53-9a4c-3f1f6d1f7a11\n", "/etc/fstab": ""}  # fmt: skip
ENABLED = "/sys/kernel/mm/transparent_hugepage/enabled"


@pytest.mark.parametrize(
    ("text", "good", "now", "wanted"),
    [
        ("[always] madvise never\n", "", "always", "madvise"),
        ("always [madvise] never\n", "", "madvise", "madvise"),
        ("always madvise [never]\n", "", "never", "never"),
        ("always [madvise] never\n", "never", "madvise", "never"),
        ("", "", "none", "madvise"),
    ],
)
def test_the_mode_now_and_the_mode_wanted(text: str, good: str, now: str, wanted: str) -> None:
    machine = Told(files={**FILES, **({ENABLED: text} if text else {})})
    if good:
        machine.host = replace(machine.host, limits={"transparent_hugepages": {"good_modes": good}})
    values = find("machine", "machine", look(machine), Choice()).values

    assert (values["huge_pages"], values["huge_pages_wanted"]) == (now, wanted)
