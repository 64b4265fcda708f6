"""Kernel lines of the PCI Express bus: errors of a device and slots that lost theirs, by bus address.

Above each form stands a real line it was written for. Which disk or network card stands behind an address is looked up.
"""

from __future__ import annotations

from typing import Sequence

from agent.sources.kernel.line_patterns import LinePattern, form

PCIE_FATAL = "fatal PCIe error"
PCIE_ERROR = "uncorrected PCIe error"
PCIE_CORRECTED = "corrected PCIe error"
SLOT_EMPTY = "device gone from its slot"


FORMS: Sequence[LinePattern] = (
    # pcieport 0000:00:1c.0: AER: Uncorrectable (Fatal) error message received from 0000:01:00.0
    # pcieport 0000:00:01.0: AER: Multiple Uncorrected (Fatal) error received: 0000:01:00.0
    form(
        PCIE_FATAL,
        "pcieport",
        r"pcieport [\da-f:.]+: AER: (?:Multiple )?Uncorrect\w+ \(Fatal\) error (?:message )?received(?: from|:) "
        r"(?P<pci>[\da-f:.]+)",
    ),
    # pcieport 0000:00:1c.0: AER: Multiple Uncorrectable (Non-Fatal) error message received from 0000:73:00.1
    # pcieport 0000:00:01.0: AER: Uncorrected (Non-Fatal) error received: 0000:01:00.0
    form(
        PCIE_ERROR,
        "pcieport",
        r"pcieport [\da-f:.]+: AER: (?:Multiple )?Uncorrect\w+ \(Non-Fatal\) error (?:message )?received(?: from|:) "
        r"(?P<pci>[\da-f:.]+)",
    ),
    # pcieport 0000:3a:00.0: AER: Corrected error received: 0000:3b:00.0
    # pcieport 0000:00:1c.5: AER: Multiple Correctable error message received from 0000:00:1c.5
    form(
        PCIE_CORRECTED,
        "pcieport",
        r"pcieport [\da-f:.]+: AER: (?:Multiple )?Correct(?:ed|able) error (?:message )?received(?: from|:) "
        r"(?P<pci>[\da-f:.]+)",
    ),
    # pcieport 0000:89:02.0: pciehp: Slot(400): Link Down
    # pcieport 0000:89:02.0: pciehp: Slot(400): Card not present
    form(
        SLOT_EMPTY,
        "pcieport",
        r"pcieport (?P<pci>[\da-f:.]+): pciehp: Slot\([\w-]+\): (?:Link Down|Card not present)$",
        each=False,
    ),
)
