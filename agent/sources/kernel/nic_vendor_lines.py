"""Kernel lines of network cards that are not Intel's: resets, hangs, faults and cables.

Above each form stands a real line it was written for.
"""

from __future__ import annotations

from typing import Sequence

from agent.sources.kernel.line_patterns import LinePattern, form
from agent.sources.kernel.nic_lines import CABLE, CARDS, FAULT, RESET, head

FORMS: Sequence[LinePattern] = (
    # --- Broadcom and QLogic ---
    # bnxt_en 0000:3b:00.0 ens1f0np0: TX timeout detected, starting reset task!
    # bnxt_en 0000:3b:00.0 ens1f0np0: Firmware non-fatal reset event, data1: 0x1, data2: 0x0, min wait 1000 ms, max wait 6000 ms
    # bnxt_en 0000:3b:00.0 eno1: Non-fatal firmware reset event, data1: 0x1
    form(
        RESET,
        "bnxt_en",
        head("bnxt_en")
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
    # bnx2x: [bnx2x_fw_command:3048(eno1)]FW failed to respond!
    # bnxt_en 0000:af:00.0 ens2f0np0: Error (timeout: 500015) msg {0x0 0x0} len:0
    # bnxt_en 0000:3b:00.0: Firmware reset aborted, first func down or unresponsive
    form(
        FAULT,
        "bnx bnxt_en",
        r"(?:" + head("bnxt_en|bnx2x?") + r"|bnx2x: \[\w+:\d+\((?P<at>[^)]+)\)\])"
        r"(?:(?i:(?:firmware )?fatal (?:firmware )?reset event)|Firmware not responding|MC assert"
        r"|Handling parity error recovery|MDC/MDIO access timeout|Recovery failed|FW failed to respond"
        r"|Error \(timeout: \d+\) msg|Firmware reset aborted)",
        each=False,
    ),
    # tg3 0000:02:00.0 eth0: transmit timed out, resetting
    # tg3: eth0: transmit timed out, resetting
    # tg3 0000:02:00.0 em1: DMA Status error.  Resetting chip.
    # tg3 0000:02:00.0 em1: MSI Status error.  Resetting chip.
    form(RESET, "tg", head("tg3") + r"(?:transmit timed out, resetting|(?:DMA|MSI) Status error\.  Resetting chip)"),
    # [qede_tx_timeout:540(ens3f0)]TX timeout on queue 0!
    # [qede_recovery_handler:2511(ens3f0)]Starting a recovery process
    form(
        RESET, "-", r"\[qede_\w+:\d+\((?P<name>[^)]+)\)\](?:.*TX timeout on queue|Starting a recovery process)", False
    ),
    # --- Mellanox ---
    # mlx5_core 0000:03:00.0 ens1f0: TX timeout detected
    # mlx4_en: eth0: TX timeout on queue: 5, QP: 0x240, CQ: 0x94, Cons: 0x2, Prod: 0x1f
    # mlx4_en: ens1: Transmit timeout detected
    form(
        RESET, "mlx", head("mlx5_core|mlx4_en") + r"(?:TX timeout (?:detected|on queue)|Transmit timeout)", each=False
    ),
    # mlx5_core 0000:03:00.0: poll_health:815:(pid 0): device's health compromised - reached miss count
    # mlx5_core 0000:03:00.0: poll_health:800:(pid 0): Fatal error 1 detected
    # mlx5_core 0000:03:00.0: print_health_info:424:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:
    # mlx5_core 0000:03:00.0: health recovery failed
    # mlx5_core 0000:03:00.0: mlx5_health_try_recover:330:(pid 12): health recovery flow aborted, PCI reads still not working
    # mlx4_core 0000:04:00.0: Internal error detected on the communication channel
    # mlx4_core 0000:04:00.0: Internal error detected:
    form(
        FAULT,
        "mlx",
        head("mlx5_core|mlx4_core")
        + r"(?:\w+:\d+:\(pid \d+\): )?(?:device's health compromised|Fatal error \d+ detected"
        r"|Health issue observed|health recovery (?:flow aborted|failed)|Internal error detected)",
        each=False,
    ),
    # mlx5_core 0000:01:00.0: wait_func:1140:(pid 342): DESTROY_EQ(0x302) timeout. Will cause a leak of a command resource
    # mlx5_core 0000:01:00.0: cb_timeout_handler:877:(pid 7): cmd[3]: ACCESS_REG(0x805) Async, timeout. Will cause a leak of a command resource
    # mlx4_core 0000:04:00.0: command 0x5a timed out (go bit not cleared)
    # mlx4_core 0000:04:00.0: device is going to be reset
    # mlx4_core 0000:04:00.0: Fail to reset HCA
    # mlx4_core 0000:04:00.0: Temperature Threshold was reached! Threshold: 105 celsius degrees; Current Temperature: 107
    form(
        FAULT,
        "mlx",
        head("mlx5_core|mlx4_core")
        + r"(?:(?:\w+:\d+:\(pid \d+\): )?.*timeout\. Will cause a leak of a command resource"
        r"|command 0x[\da-f]+ timed out|device is going to be reset|Fail to reset HCA|Temperature Threshold was reached)",
        each=False,
    ),
    # mlx5_core 0000:03:00.0: mlx5_health_try_recover:323:(pid 1180): starting health recovery flow
    # mlx5_core 0000:03:00.0: starting health recovery flow
    form(RESET, "mlx", head("mlx5_core") + r"(?:\w+:\d+:\(pid \d+\): )?starting health recovery flow"),
    # mlx5_core 0000:03:00.0: Port module event[error]: module 0, Cable error, Bus stuck (I2C or data shorted)
    # mlx5_core 0000:03:00.0: port_module:252:(pid 0): Port module event[error]: module 1, Cable error, Unknown identifier
    form(CABLE, "mlx", head("mlx5_core") + r"(?:\w+:\d+:\(pid \d+\): )?Port module event\[error\]"),
    # mlx5_core 0000:03:00.0: temp_warn:180:(pid 0): High temperature on sensors with bit set 0x0 0x1
    form(FAULT, "mlx", head("mlx5_core") + r"(?:\w+:\d+:\(pid \d+\): )?High temperature on sensors", each=False),
    # --- others ---
    # vmxnet3 0000:0b:00.0 ens192: tx hang
    # virtio_net virtio0 eth0: TX timeout on queue: 0, sq: output.0, vq: 0x1, name: output.0, 5012000 usecs ago
    # ena 0000:00:05.0 eth0: Trigger reset is on
    # ena 0000:00:05.0 ens5: Keep alive watchdog timeout.
    # ionic 0000:b5:00.0: FW Down: Stopping LIFs
    # sfc 0000:81:00.0 p2p1: TX stuck with port_enabled=1: resetting channels
    # enic 0000:0a:00.0 enp10s0: tx timeout
    # hns3 0000:7d:00.0 eth0: tx_timeout count: 1, queue id: 3, SW_NTU: 0x10, SW_NTC: 0xf, napi state: 16
    form(
        RESET,
        "ena enic hns ionic sfc virtio_net vmxnet",
        head("vmxnet3|virtio_net|ena|sfc|enic|hns3|ionic")
        + r"(?:tx hang|TX timeout on queue|Trigger reset is on|Keep alive watchdog timeout|FW Down: Stopping LIFs|TX stuck with |tx timeout|tx_timeout count: )",
        each=False,
    ),
    # [qed_mcp_cmd_and_union:516(ens1f0)]The MFW failed to respond to command 0x05000000 [param 0x00000000].
    # [qed_hw_err_notify:2870(ens1f0)]HW error occurred [Fan Failure]
    # [qed_dmae_operation_wait:529(ens1f0)]Timed-out waiting for operation to complete. Completion word is 0x00000000 expected 0x00000001.
    form(
        FAULT,
        "-",
        r"\[qede?_\w+:\d+\((?P<name>[^)]+)\)\]"
        r"(?:The MFW failed to respond|HW error occurred|Timed-out waiting for operation to complete)",
        each=False,
    ),
    # qlcnic 0000:08:00.0 eth4: Tx timeout, reset the adapter.
    # qlcnic 0000:02:00.0 eth2: Transmit timeout, reset the adapter.
    form(RESET, "qlcnic", head("qlcnic") + r"(?:Tx|Transmit) timeout, reset", each=False),
    # qlcnic 0000:02:00.0: Firmware hang detected. Severity code=0 Peg number=2 Error code=0 Return address=0
    # qlcnic 0000:02:00.0 eth2: firmware hang detected
    # qlcnic 0000:02:00.0 eth2: Device temperature 105 degrees C exceeds maximum allowed. Hardware has been shut down.
    form(
        FAULT,
        "qlcnic",
        head("qlcnic") + r"(?:(?i:firmware hang detected)|Device temperature \d+ degrees C exceeds maximum allowed)",
        each=False,
    ),
    # sfc 0000:81:00.0 p2p1: MC command 0x4b inlen 8 mode 2 timed out
    # sfc 0000:81:00.0 eth2: SYSTEM ERROR memory parity error
    # sfc 0000:81:00.0 eth2: has been disabled
    form(
        FAULT,
        "sfc",
        head("sfc") + r"(?:MC command 0x[\da-f]+ .*timed out|SYSTEM ERROR|has been disabled$)",
        each=False,
    ),
    # ixgbe: probe of 0000:05:00.0 failed with error -5
    # mlx5_core 0000:03:00.0: probe with driver mlx5_core failed with error -110
    form(
        FAULT,
        "be bnx bnxt_en cxgb e enic fm hns i iavf ice igb igbvf igc ixgbe ixgbevf mlx qed qede sfc tg",
        rf"(?:{CARDS}):? (?:probe of )?(?P<bus>[\w:.]+?):? (?:probe with driver \w+ )?failed with error -?\d+",
    ),
    # be2net 0000:04:00.0: Unrecoverable Error detected in the adapter
    # be2net 0000:04:00.0: Error detected in the adapter
    # be2net 0000:04:00.0: FW not responding
    # cxgb4 0000:81:00.4: firmware reports adapter error: crash (0x80000000)
    # cxgb4 0000:81:00.4: encountered fatal error, adapter stopped
    form(
        FAULT,
        "be cxgb",
        head("be2net|cxgb4")
        + r"(?:(?:Unrecoverable )?Error detected in the adapter|FW not responding|firmware reports adapter error"
        r"|encountered fatal error)",
        each=False,
    ),
    # ixgbe 0000:05:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)
    # mlx5_core 0000:03:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer, (Requester ID)
    form(
        FAULT,
        "be bnx bnxt_en cxgb e enic fm hns i iavf ice igb igbvf igc ixgbe ixgbevf mlx qed qede sfc tg",
        head(CARDS) + r"(?:AER: )?PCIe Bus Error: severity=Uncorrect",
    ),
)
