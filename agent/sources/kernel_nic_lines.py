"""Kernel lines of network cards: resets, hangs, faults, cables and lost links, and which interface each names.

Above each form stands a real line it was written for. Every form begins where the line begins. Link-up lines and the
register dumps after a hang are of no kind.
"""

from __future__ import annotations

import re
from typing import Sequence

from agent.patterns import pattern
from agent.sources.kernel_forms import LineForm

RESET = "reset"
FAULT = "fault"
CABLE = "cable"
LINK_DOWN = "link down"


def _head(drivers: str) -> str:
    """How a line of these drivers begins.

    `ixgbe 0000:05:00.0 eth0: `, `igb 0000:01:00.0: `, `e1000e: eth0 `, `tg3: eth0: `, `bnxt_en 0000:3b:00.0 (unnamed
    net_device) (uninitialized): `
    """
    return (
        rf"(?:{drivers})(?: (?P<bus>[\w:.-]+?)"
        r"(?: (?P<name>[^\s:]+|\(unnamed net_device\))(?: \([\w ]+\))?)?: |: (?P<alias>[^\s:]+):? )"
    )


def _form(kind: str, heads: str, expression: str, each: bool = True) -> LineForm:
    return LineForm(kind, pattern(expression, re.ASCII), each, heads)


ANY = r"[a-z][\w-]*"
INTEL = r"ixgbe|ixgbevf|igb|igbvf|igc|e1000|e1000e|i40e|iavf|i40evf|ice|fm10k"

FORMS: Sequence[LineForm] = (
    # --- any driver: the transmit watchdog ---
    # ixgbe 0000:05:00.0 eth0: NETDEV WATCHDOG: CPU: 3: transmit queue 5 timed out 5120 ms
    # mtk_soc_eth 1e100000.ethernet eth0: NETDEV WATCHDOG: CPU: 1: transmit queue 4 timed out 190940 ms
    # virtio_net virtio0 eth0: NETDEV WATCHDOG: CPU: 1: transmit queue 0 timed out 5012 ms
    _form(RESET, "*NETDEV WATCHDOG: ", _head(ANY) + r"NETDEV WATCHDOG: .*transmit queue \d+ timed out"),
    # NETDEV WATCHDOG: eth0 (ixgbe): transmit queue 3 timed out
    # NETDEV WATCHDOG: em1 (tg3): transmit queue 0 timed out 5440 ms
    # NETDEV WATCHDOG: eth2: transmit timed out
    _form(RESET, "NETDEV", r"NETDEV WATCHDOG: (?P<name>[^\s:]+)(?: \([\w-]+\))?: transmit (?:queue \d+ )?timed out"),
    # --- Intel ---
    # ixgbe 0000:05:00.0 eth0: tx hang 3 detected on queue 5, resetting adapter
    # ixgbe 0000:05:00.0 eth0: initiating reset due to tx timeout
    # ixgbe 0000:05:00.0 eth0: initiating reset to clear Tx work after link loss
    # ixgbe 0000:05:00.0: Received ECC Err, initiating reset
    # ixgbe 0000:05:00.0 eth0: Reset adapter
    # igb 0000:07:00.0 eno1: Reset adapter
    # e1000e 0000:00:19.0 eth0: Reset adapter unexpectedly
    # e1000: eth0: e1000_reset_task: Reset adapter
    _form(
        RESET,
        "e fm i iavf ice igb igbvf igc ixgbe ixgbevf",
        _head(INTEL) + r"(?:\w+: )?(?:.*tx hang \d+ detected on queue \d+, resetting adapter|initiating reset "
        r"|Received (?:unrecoverable )?ECC Err, initiating reset|[Rr]eset adapter)",
        each=False,
    ),
    # ixgbe 0000:05:00.0: Detected Tx Unit Hang\x0a  Tx Queue             <3>
    # ixgbe 0000:05:00.0 eth0: Detected Tx Unit Hang (XDP)
    # igb 0000:07:00.0: Detected Tx Unit Hang
    # e1000e 0000:00:19.0 eth0: Detected Hardware Unit Hang:\x0a  TDH                  <0>
    # e1000: eth0: e1000_clean_tx_irq: Detected Tx Unit Hang
    _form(
        RESET,
        "e fm i iavf ice igb igbvf igc ixgbe ixgbevf",
        _head(INTEL) + r"(?:\w+: )?Detected (?:Tx|Hardware) Unit Hang",
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
    _form(
        FAULT,
        "e fm i iavf ice igb igbvf igc ixgbe ixgbevf",
        _head(INTEL) + r"(?:tx_timeout recovery unsuccessful|PF reset failed|Entering recovery mode|reset \d+ failed"
        r"|Rebuild failed|Adapter removed|Fan has stopped|Network adapter has been stopped|.*PCIe link lost)",
        each=False,
    ),
    # i40e 0000:18:00.0 ens1f0: tx_timeout: VSI_seid: 390, Q 12, NTC: 0x1a4, HWB: 0x1a4, NTU: 0x1b0, TAIL: 0x1b0, INT: 0x1
    # ice 0000:3b:00.0 ens2f0: tx_timeout: VSI_num: 6, Q 3, NTC: 0x10, HW_HEAD: 0x12, NTU: 0x14, INT: 0x1
    _form(RESET, "e fm i iavf ice igb igbvf igc ixgbe ixgbevf", _head(INTEL) + r"tx_timeout: VSI_"),
    # i40e 0000:18:00.0 ens1f0: tx_timeout recovery level 1, txqueue 12
    # i40e 0000:18:00.0 p1p1: tx_timeout recovery level 1, hung_queue 7
    _form(RESET, "e fm i iavf ice igb igbvf igc ixgbe ixgbevf", _head(INTEL) + r"tx_timeout recovery level \d+"),
    # i40e 0000:18:00.0: Malicious Driver Detection event 0x00 on TX queue 68 pf number 0x00 vf number 0x00
    # i40e 0000:18:00.0: TX driver issue detected, PF reset issued
    # ice 0000:3b:00.0: Malicious Driver Detection event 4 on TX queue 12 PF# 0 VF# 0
    _form(
        RESET,
        "e fm i iavf ice igb igbvf igc ixgbe ixgbevf",
        _head(INTEL) + r"(?:Malicious Driver Detection event|.*driver issue detected, PF reset issued)",
        False,
    ),
    # --- Broadcom and QLogic ---
    # bnxt_en 0000:3b:00.0 ens1f0np0: TX timeout detected, starting reset task!
    # bnxt_en 0000:3b:00.0 ens1f0np0: Firmware non-fatal reset event, data1: 0x1, data2: 0x0, min wait 1000 ms, max wait 6000 ms
    # bnxt_en 0000:3b:00.0 eno1: Non-fatal firmware reset event, data1: 0x1
    _form(
        RESET,
        "bnxt_en",
        _head("bnxt_en")
        + r"(?:TX timeout detected, starting reset task|(?i:(?:firmware )?non-fatal (?:firmware )?reset))",
    ),
    # bnxt_en 0000:3b:00.0 ens1f0np0: Fatal firmware reset event, data1: 0x2
    # bnxt_en 0000:3b:00.0 ens1f0np0: Firmware fatal reset event, data1: 0x2, data2: 0x0, min wait 1000 ms, max wait 6000 ms
    # bnxt_en 0000:3b:00.0 ens1f0np0: Firmware not responding, status: 0xffffffff
    # bnx2x 0000:01:00.0 eno49: MC assert!
    # bnx2x: [bnx2x_attn_int_deasserted3:4400(eth0)]MC assert!
    # bnx2x 0000:01:00.0 eno49: Handling parity error recovery. Try again later
    # bnx2x 0000:01:00.0 eno49: MDC/MDIO access timeout
    # bnx2x: [bnx2x_parity_recover:10300(em2)]Recovery failed. Power cycle needed
    _form(
        FAULT,
        "bnx bnxt_en",
        r"(?:" + _head("bnxt_en|bnx2x?") + r"|bnx2x: \[\w+:\d+\((?P<at>[^)]+)\)\])"
        r"(?:(?i:(?:firmware )?fatal (?:firmware )?reset event)|Firmware not responding|MC assert"
        r"|Handling parity error recovery|MDC/MDIO access timeout|Recovery failed)",
        each=False,
    ),
    # tg3 0000:02:00.0 eth0: transmit timed out, resetting
    # tg3: eth0: transmit timed out, resetting
    # tg3 0000:02:00.0 em1: DMA Status error.  Resetting chip.
    # tg3 0000:02:00.0 em1: MSI Status error.  Resetting chip.
    _form(RESET, "tg", _head("tg3") + r"(?:transmit timed out, resetting|(?:DMA|MSI) Status error\.  Resetting chip)"),
    # [qede_tx_timeout:540(ens3f0)]TX timeout on queue 0!
    # [qede_recovery_handler:2511(ens3f0)]Starting a recovery process
    _form(
        RESET, "-", r"\[qede_\w+:\d+\((?P<name>[^)]+)\)\](?:.*TX timeout on queue|Starting a recovery process)", False
    ),
    # --- Mellanox ---
    # mlx5_core 0000:03:00.0 ens1f0: TX timeout detected
    # mlx4_en: eth0: TX timeout on queue: 5, QP: 0x240, CQ: 0x94, Cons: 0x2, Prod: 0x1f
    # mlx4_en: ens1: Transmit timeout detected
    _form(
        RESET, "mlx", _head("mlx5_core|mlx4_en") + r"(?:TX timeout (?:detected|on queue)|Transmit timeout)", each=False
    ),
    # mlx5_core 0000:03:00.0: poll_health:815:(pid 0): device's health compromised - reached miss count
    # mlx5_core 0000:03:00.0: poll_health:800:(pid 0): Fatal error 1 detected
    # mlx5_core 0000:03:00.0: print_health_info:424:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:
    # mlx5_core 0000:03:00.0: health recovery failed
    # mlx5_core 0000:03:00.0: mlx5_health_try_recover:330:(pid 12): health recovery flow aborted, PCI reads still not working
    # mlx4_core 0000:04:00.0: Internal error detected on the communication channel
    # mlx4_core 0000:04:00.0: Internal error detected:
    _form(
        FAULT,
        "mlx",
        _head("mlx5_core|mlx4_core")
        + r"(?:\w+:\d+:\(pid \d+\): )?(?:device's health compromised|Fatal error \d+ detected"
        r"|Health issue observed|health recovery (?:flow aborted|failed)|Internal error detected)",
        each=False,
    ),
    # mlx5_core 0000:03:00.0: mlx5_health_try_recover:323:(pid 1180): starting health recovery flow
    # mlx5_core 0000:03:00.0: starting health recovery flow
    _form(RESET, "mlx", _head("mlx5_core") + r"(?:\w+:\d+:\(pid \d+\): )?starting health recovery flow"),
    # mlx5_core 0000:03:00.0: Port module event[error]: module 0, Cable error, Bus stuck (I2C or data shorted)
    # mlx5_core 0000:03:00.0: port_module:252:(pid 0): Port module event[error]: module 1, Cable error, Unknown identifier
    _form(CABLE, "mlx", _head("mlx5_core") + r"(?:\w+:\d+:\(pid \d+\): )?Port module event\[error\]"),
    # mlx5_core 0000:03:00.0: temp_warn:180:(pid 0): High temperature on sensors with bit set 0x0 0x1
    _form(FAULT, "mlx", _head("mlx5_core") + r"(?:\w+:\d+:\(pid \d+\): )?High temperature on sensors", each=False),
    # --- others ---
    # vmxnet3 0000:0b:00.0 ens192: tx hang
    # virtio_net virtio0 eth0: TX timeout on queue: 0, sq: output.0, vq: 0x1, name: output.0, 5012000 usecs ago
    # ena 0000:00:05.0 eth0: Trigger reset is on
    # sfc 0000:81:00.0 p2p1: TX stuck with port_enabled=1: resetting channels
    # enic 0000:0a:00.0 enp10s0: tx timeout
    # hns3 0000:7d:00.0 eth0: tx_timeout count: 1, queue id: 3, SW_NTU: 0x10, SW_NTC: 0xf, napi state: 16
    _form(
        RESET,
        "ena enic hns sfc virtio_net vmxnet",
        _head("vmxnet3|virtio_net|ena|sfc|enic|hns3")
        + r"(?:tx hang|TX timeout on queue|Trigger reset is on|TX stuck with |tx timeout|tx_timeout count: )",
        each=False,
    ),
    # be2net 0000:04:00.0: Unrecoverable Error detected in the adapter
    # be2net 0000:04:00.0: Error detected in the adapter
    # cxgb4 0000:81:00.4: firmware reports adapter error: crash (0x80000000)
    _form(
        FAULT,
        "be cxgb",
        _head("be2net|cxgb4") + r"(?:(?:Unrecoverable )?Error detected in the adapter|firmware reports adapter error)",
        each=False,
    ),
    # ixgbe 0000:05:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)
    # mlx5_core 0000:03:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer, (Requester ID)
    _form(
        FAULT,
        "be bnx bnxt_en cxgb e enic fm hns i iavf ice igb igbvf igc ixgbe ixgbevf mlx qed qede sfc tg",
        _head(rf"{INTEL}|bnxt_en|bnx2x?|tg3|mlx[45]_core|be2net|sfc|cxgb4|qede?|qed|enic|hns3")
        + r"(?:AER: )?PCIe Bus Error: severity=Uncorrect",
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
    _form(
        LINK_DOWN,
        "*ink ",
        rf"(?:{ANY} [\w:.-]+ (?P<name>[^\s:]+)(?: \([\w ]+\))?: (?:igb: \S+ )?"
        r"|(?:e1000e?|igb|ixgbe|mlx4_en|tg3|bnx2x?): (?P<alias>[^\s:]+):? )"
        r"(?:NIC )?(?:Copper |Remote |SerDes )?[Ll]ink (?:is )?[Dd]own\b",
    ),
)
