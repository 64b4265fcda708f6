"""Kernel lines of network cards: resets, hangs, faults, cables and lost links, and which interface each names.

Above each form stands a real line it was written for. Every form begins where the line begins. Link-up lines and the
register dumps after a hang are of no kind.
"""

from __future__ import annotations

from typing import Sequence

from agent.sources.kernel.line_patterns import LinePattern, form

RESET = "reset"
FAULT = "fault"
CABLE = "cable"
LINK_DOWN = "link down"


def head(drivers: str) -> str:
    """How a line of these drivers begins.

    `ixgbe 0000:05:00.0 eth0: `, `igb 0000:01:00.0: `, `e1000e: eth0 `, `tg3: eth0: `, `bnxt_en 0000:3b:00.0 (unnamed
    net_device) (uninitialized): `
    """
    return (
        rf"(?:{drivers})(?: (?P<bus>[\w:.-]+?)"
        r"(?: (?P<name>[^\s:]+|\(un\w+ net_device\))(?: \([\w ]+\))?)?: |: (?P<alias>[^\s:]+):? )"
    )


ANY = r"[a-z][\w-]*"
INTEL = r"ixgbe|ixgbevf|igb|igbvf|igc|e1000|e1000e|i40e|iavf|i40evf|ice|fm10k"
CARDS = rf"{INTEL}|bnxt_en|bnx2x?|tg3|mlx[45]_core|be2net|sfc|cxgb4|qede?|enic|hns3"

FORMS: Sequence[LinePattern] = (
    # --- any driver: the transmit watchdog ---
    # ixgbe 0000:05:00.0 eth0: NETDEV WATCHDOG: CPU: 3: transmit queue 5 timed out 5120 ms
    # mtk_soc_eth 1e100000.ethernet eth0: NETDEV WATCHDOG: CPU: 1: transmit queue 4 timed out 190940 ms
    # virtio_net virtio0 eth0: NETDEV WATCHDOG: CPU: 1: transmit queue 0 timed out 5012 ms
    form(RESET, "*NETDEV WATCHDOG: ", head(ANY) + r"NETDEV WATCHDOG: .*transmit queue \d+ timed out"),
    # NETDEV WATCHDOG: eth0 (ixgbe): transmit queue 3 timed out
    # NETDEV WATCHDOG: em1 (tg3): transmit queue 0 timed out 5440 ms
    # NETDEV WATCHDOG: eth2: transmit timed out
    form(RESET, "NETDEV", r"NETDEV WATCHDOG: (?P<name>[^\s:]+)(?: \([\w-]+\))?: transmit (?:queue \d+ )?timed out"),
    # --- Intel ---
    # ixgbe 0000:05:00.0 eth0: tx hang 3 detected on queue 5, resetting adapter
    # ixgbe 0000:05:00.0 eth0: initiating reset due to tx timeout
    # ixgbe 0000:05:00.0 eth0: initiating reset to clear Tx work after link loss
    # ixgbe 0000:05:00.0: Received ECC Err, initiating reset
    # ixgbe 0000:05:00.0 eth0: Reset adapter
    # igb 0000:07:00.0 eno1: Reset adapter
    # e1000e 0000:00:19.0 eth0: Reset adapter unexpectedly
    # e1000: eth0: e1000_reset_task: Reset adapter
    form(
        RESET,
        "e fm i iavf ice igb igbvf igc ixgbe ixgbevf",
        head(INTEL) + r"(?:\w+: )?(?:.*tx hang \d+ detected on queue \d+, resetting adapter|initiating reset "
        r"|Received (?:unrecoverable )?ECC Err, initiating reset|[Rr]eset adapter)",
        each=False,
    ),
    # ixgbe 0000:05:00.0: Detected Tx Unit Hang\x0a  Tx Queue             <3>
    # ixgbe 0000:05:00.0 eth0: Detected Tx Unit Hang (XDP)
    # igb 0000:07:00.0: Detected Tx Unit Hang
    # e1000e 0000:00:19.0 eth0: Detected Hardware Unit Hang:\x0a  TDH                  <0>
    # e1000: eth0: e1000_clean_tx_irq: Detected Tx Unit Hang
    form(
        RESET,
        "e fm i iavf ice igb igbvf igc ixgbe ixgbevf",
        head(INTEL) + r"(?:\w+: )?Detected (?:Tx|Hardware) Unit Hang",
        each=False,
    ),
    # i40e 0000:18:00.0 ens1f0: tx_timeout recovery unsuccessful, device is in non-recoverable state.
    # ice 0000:3b:00.0 ens2f0: tx_timeout recovery unsuccessful, device is in unrecoverable state.
    # i40e 0000:18:00.0: PF reset failed, -15
    # i40e 0000:18:00.0: Entering recovery mode due to repeated FW resets. This may take several minutes. Refer to the Intel(R) Ethernet Adapters and Devices User Guide.
    # ice 0000:3b:00.0: reset 2 failed
    # ice 0000:3b:00.0: Rebuild failed, unload and reload driver
    # ixgbe 0000:05:00.0: Adapter removed
    # ixgbe 0000:05:00.0 eth0: Fan has stopped, replace the adapter
    # ixgbe 0000:05:00.0: Network adapter has been stopped because it has over heated. Restart the computer. If the problem persists, power off the system and replace the adapter
    # igb 0000:01:00.0 eno1: PCIe link lost
    # igc 0000:09:00.0 (unregistered net_device) (uninitialized): PCIe link lost
    # igb 0000:04:00.0 (unnamed net_device) (uninitialized): PCIe link lost
    # ixgbe 0000:01:00.0: Warning firmware error detected FWSM: 0xFFFFFFFF
    # i40e 0000:18:00.0: Firmware recovery mode detected. Limiting functionality.
    # ixgbe 0000:01:00.0: Firmware recovery mode detected. Limiting functionality. Refer to the Intel(R) Ethernet Adapters and Devices User Guide for details on firmware recovery mode.
    form(
        FAULT,
        "e fm i iavf ice igb igbvf igc ixgbe ixgbevf",
        head(INTEL)
        + r"(?:tx_timeout recovery unsuccessful|PF reset failed|Entering recovery mode|Firmware recovery mode"
        r"|Warning firmware error detected|reset \d+ failed"
        r"|Rebuild failed|Adapter removed|Fan has stopped|Network adapter has been stopped|.*PCIe link lost)",
        each=False,
    ),
    # i40e 0000:18:00.0 ens1f0: tx_timeout: VSI_seid: 390, Q 12, NTC: 0x1a4, HWB: 0x1a4, NTU: 0x1b0, TAIL: 0x1b0, INT: 0x1
    # ice 0000:3b:00.0 ens2f0: tx_timeout: VSI_num: 6, Q 3, NTC: 0x10, HW_HEAD: 0x12, NTU: 0x14, INT: 0x1
    form(RESET, "e fm i iavf ice igb igbvf igc ixgbe ixgbevf", head(INTEL) + r"tx_timeout: VSI_"),
    # i40e 0000:18:00.0 ens1f0: tx_timeout recovery level 1, txqueue 12
    # i40e 0000:18:00.0 p1p1: tx_timeout recovery level 1, hung_queue 7
    form(RESET, "e fm i iavf ice igb igbvf igc ixgbe ixgbevf", head(INTEL) + r"tx_timeout recovery level \d+"),
    # i40e 0000:18:00.0: Malicious Driver Detection event 0x00 on TX queue 68 pf number 0x00 vf number 0x00
    # i40e 0000:18:00.0: TX driver issue detected, PF reset issued
    # ice 0000:3b:00.0: Malicious Driver Detection event 4 on TX queue 12 PF# 0 VF# 0
    form(
        RESET,
        "e fm i iavf ice igb igbvf igc ixgbe ixgbevf",
        head(INTEL) + r"(?:Malicious Driver Detection event|.*driver issue detected, PF reset issued)",
        False,
    ),
    # --- links ---
    # ixgbe 0000:05:00.0 eth0: NIC Link is Down
    # igb 0000:01:00.0 eno1: igb: eno1 NIC Link is Down
    # e1000e: eth0 NIC Link is Down
    # bnx2 0000:02:00.0 em1: NIC Copper Link is Down
    # tg3 0000:02:00.0 em1: Link is down
    # mlx5_core 0000:03:00.0 ens1f0: Link down
    # mlx4_en: ens1: Link Down
    # r8169 0000:02:00.0 enp2s0: Link is Down
    form(
        LINK_DOWN,
        "*ink ",
        rf"(?:{ANY} [\w:.-]+ (?P<name>[^\s:]+)(?: \([\w ]+\))?: (?:igb: \S+ )?"
        r"|(?:e1000e?|igb|ixgbe|mlx4_en|tg3|bnx2x?): (?P<alias>[^\s:]+):? )"
        r"(?:NIC )?(?:Copper |Remote |SerDes )?[Ll]ink (?:is )?[Dd]own\b",
    ),
)
