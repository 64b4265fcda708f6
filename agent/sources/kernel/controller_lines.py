"""Kernel lines of RAID controllers, host adapters, md arrays and multipath.

Above each form stands a real line it was written for.
"""

from __future__ import annotations

from typing import Sequence

from agent.sources.kernel.disk_event_kinds import (
    ARRAY_NOT_STARTED,
    CONTROLLER,
    CONTROLLER_EVENT,
    CORRECTED,
    DEGRADED,
    HARDWARE,
    MEMBER_FAILED,
    NOT_STARTED,
    OFFLINE,
    PREDICTED,
    RESET,
    TIMEOUT,
)
from agent.sources.kernel.line_patterns import LinePattern, form

MPT = r"(?P<device>mpt[23]sas(?:_cm)?\d+): "
PCI_CARD = r"(?P<device>(?:megaraid_sas|hpsa|smartpqi) [\da-f:.]+): "

FORMS: Sequence[LinePattern] = (
    # --- RAID controllers and host adapters ---
    # megaraid_sas 0000:03:00.0: FW detected to be in faultstate, restarting it...
    # megaraid_sas 0000:01:00.0: FW in FAULT state Fault code:0xfff0000 subcode:0x0 func:megasas_wait_for_outstanding
    # megaraid_sas 0000:18:00.0: Found FW in FAULT state, will reset adapter scsi0.
    # megaraid_sas 0000:18:00.0: Encountered FW in crit error
    # megaraid_sas 0000:03:00.0: HBA is killed
    # megaraid_sas 0000:03:00.0: OCR failed and HBA is killed
    # megaraid_sas 0000:03:00.0: cannot recover from previous reset failures
    # hpsa 0000:03:00.0: Controller lockup detected: 0x00130000 after 30
    # hpsa 0000:03:00.0: controller lockup detected: LUN:0000004000000000 CDB:01030000000000000000000000000000
    # smartpqi 0000:5c:00.0: controller offline: reason code 0x6100 (no heartbeat)
    # smartpqi 0000:03:00.0: controller is offline: status code 0x6100c
    # smartpqi 0000:5c:00.0: no heartbeat detected - last heartbeat count: 1234
    form(
        CONTROLLER,
        "hpsa megaraid_sas smartpqi",
        PCI_CARD + r"(?:(?:Found |Encountered )?FW (?:detected to be )?in (?:fault ?state|FAULT state|crit error)"
        r"|(?:OCR failed and )?HBA is killed|[Cc]annot recover from previous reset failures"
        r"|[Cc]ontroller lockup detected|controller (?:is )?offline|no heartbeat detected)",
    ),
    # megaraid_sas 0000:02:00.0: 6779 (560871411s/0x0002/FATAL) - Unrecoverable medium error during recovery on PD 05(e0x20/s5) at 1c2d0a3
    form(CONTROLLER, "hpsa megaraid_sas smartpqi", PCI_CARD + r"\d+ \([^)]*/0x\w+/(?:FATAL|DEAD)\) - "),
    # megaraid_sas 0000:02:00.0: 6801 (560871999s/0x0001/CRIT) - VD 00/0 is now DEGRADED
    # megaraid_sas 0000:02:00.0: 6802 (boot + 42s/0x0001/CRIT) - VD 01/1 is now OFFLINE
    form(
        DEGRADED,
        "hpsa megaraid_sas smartpqi",
        PCI_CARD + r"\d+ \([^)]*/0x\w+/(?:WARN|CRIT)\) - VD .* is now .*(?:DEGRADED|OFFLINE|FAILED)",
    ),
    # megaraid_sas 0000:02:00.0: 7001 (560872001s/0x0002/WARN) - Predictive failure: PD 05(e0x20/s5)
    form(PREDICTED, "hpsa megaraid_sas smartpqi", PCI_CARD + r"\d+ \([^)]*/0x\w+/\w+\) - Predictive failure: "),
    # megaraid_sas 0000:02:00.0: 7100 (560873001s/0x0008/CRIT) - Battery has failed and cannot support data retention. Please replace the battery
    form(CONTROLLER_EVENT, "hpsa megaraid_sas smartpqi", PCI_CARD + r"\d+ \([^)]*/0x\w+/CRIT\) - "),
    # mpt3sas_cm0: fault_state(0x5862)!
    # mpt2sas0: fault_state(0x0d04)!
    # mpt3sas_cm1: coredump_state(0x2667)!
    # mpt3sas_cm0: diag reset: FAILED
    # mpt3sas_cm0: SAS host is non-operational !!!!
    form(
        CONTROLLER,
        "mpt",
        MPT + r"(?:fault_state\(|coredump_state\(|diag reset: FAILED|SAS host is non-operational)",
        each=False,
    ),
    # mpt3sas_cm0: sending diag reset !!
    # smartpqi 0000:5c:00.0: resetting scsi 0:1:0:0
    # smartpqi 0000:5c:00.0: reset of scsi 0:1:0:0: FAILED
    # hpsa 0000:03:00.0: scsi 0:1:0:1: resetting logical  Direct-Access     HP       LOGICAL VOLUME   RAID-0 SSDSmartPathCap- En- Exp=1
    # megaraid_sas 0000:18:00.0: resetting fusion adapter scsi0.
    # megaraid_sas 0000:18:00.0: IO/DCMD timeout is detected, forcibly FAULT Firmware
    form(
        RESET,
        "hpsa megaraid_sas mpt smartpqi",
        r"(?:" + MPT + r"sending diag reset|(?P<card>(?:megaraid_sas|hpsa|smartpqi) [\da-f:.]+): "
        r"(?:resetting (?:fusion adapter )?scsi|IO(?:/DCMD)? timeout is detected|reset of scsi [\d:]+: FAILED|scsi [\d:]+: resetting ))",
    ),
    # aacraid: Host adapter reset request. SCSI hang ?
    # aacraid 0000:03:00.0: Host bus reset request. SCSI hang ?
    form(RESET, "aacraid", r"(?P<card>aacraid)(?: [\da-f:.]+)?: Host (?:adapter|bus) reset request", each=False),
    # 3w-9xxx: scsi0: AEN: ERROR (0x04:0x0009): Drive timeout detected:port=1.
    form(CONTROLLER_EVENT, "-", r"(?P<card>3w-\w+): scsi\d+: (?:AEN: )?ERROR"),
    # nvme 0000:04:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)
    # megaraid_sas 0000:18:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer, (Requester ID)
    form(
        CONTROLLER_EVENT,
        "ahci hpsa megaraid_sas mpt nvme smartpqi",
        r"(?:nvme (?P<nvme>[\da-f:.]+)|(?P<card>(?:megaraid_sas|mpt[23]sas|hpsa|smartpqi|ahci) [\da-f:.]+)): "
        r"(?:AER: )?PCIe Bus Error: severity=Uncorrect",
    ),
    # --- controllers that failed, or did not come up at boot ---
    # megaraid_sas 0000:03:00.0: Init cmd return status FAILED for SCSI host 0
    # megaraid_sas 0000:03:00.0: Failed from megasas_init_fw 6406
    # megaraid_sas 0000:03:00.0: Reset failed, killing adapter scsi0.
    form(
        CONTROLLER,
        "megaraid_sas",
        r"(?P<device>megaraid_sas [\da-f:.]+): (?:Init cmd return status FAILED|Failed from megasas_init_fw"
        r"|Reset failed, killing adapter)",
        each=False,
    ),
    # mpt3sas_cm0: failure at drivers/scsi/mpt3sas/mpt3sas_scsih.c:12350/_scsih_probe()!
    # mpt2sas0: failure at drivers/scsi/mpt3sas/mpt3sas_scsih.c:8593/_scsih_probe()!
    form(CONTROLLER, "mpt", MPT + r"failure at [\w./]+:\d+/_scsih_probe\(\)", each=False),
    # mpi3mr0: fault code(0x0000F003): Additional code: (0x00000000:0x00000000:0x00000000)
    # mpi3mr0: controller reset is failed
    # mpi3mr1: Factory Reset fault occurred marking controller as unrecoverable
    # mpi3mr0: controller is not present
    form(
        CONTROLLER,
        "mpi",
        r"(?P<device>mpi3mr\d+): (?:fault code ?\(|controller reset is failed|controller is not present"
        r"|.*marking controller as unrecoverable)",
        each=False,
    ),
    # aacraid 0000:03:00.0: Adapter health - -3
    # aacraid 0000:03:00.0: adapter kernel panic'd fffffffd.
    # aacraid0: adapter kernel panic'd.
    # aacraid: Host adapter BLINK LED 0xef
    form(
        CONTROLLER,
        "aacraid",
        r"(?P<device>aacraid\d*(?: [\da-f:.]+)?): (?i:adapter health - -?[1-9]|adapter kernel panic'd"
        r"|host adapter blink led)",
        each=False,
    ),
    # nvme: probe of 0000:04:00.0 failed with error -12
    # megaraid_sas: probe of 0000:03:00.0 failed with error -5
    # virtio_blk: probe of virtio3 failed with error -22
    form(
        NOT_STARTED,
        "aacraid ahci arcmsr hpsa isci lpfc megaraid_sas mpi mpt nvme pm qla smartpqi virtio_blk virtio_scsi",
        r"(?:aacraid|ahci|arcmsr|hpsa|isci|lpfc|megaraid_sas|mpi3mr|mpt[23]sas|nvme|pm80xx|qla2xxx|smartpqi|virtio_blk"
        r"|virtio_scsi): probe of (?P<probed>[\w:.]+) failed with error -?\d+",
    ),
    # nvme 0000:04:00.0: probe with driver nvme failed with error -19
    # megaraid_sas 0000:03:00.0: probe with driver megaraid_sas failed with error -5
    form(
        NOT_STARTED,
        "aacraid ahci arcmsr hpsa isci lpfc megaraid_sas mpi mpt nvme pm qla smartpqi virtio_blk virtio_scsi",
        r"(?:aacraid|ahci|arcmsr|hpsa|isci|lpfc|megaraid_sas|mpi3mr|mpt[23]sas|nvme|pm80xx|qla2xxx|smartpqi|virtio_blk"
        r"|virtio_scsi) (?P<probed>[\w:.]+): probe with driver \w+ failed with error -?\d+",
    ),
    # sas: Enter sas_scsi_recover_host busy: 4 failed: 4
    form(TIMEOUT, "sas", r"(?P<library>sas): Enter sas_scsi_recover_host busy: \d+ failed: [1-9]\d*"),
    # --- md and multipath ---
    # md: pers->run() failed ...
    # md/raid10:md0: not enough operational mirrors.
    # md/raid1:md127: not enough operational mirrors.
    # md/raid:md5: not enough operational devices (2/4 failed)
    # md/raid:md5: failed to run raid set.
    form(
        ARRAY_NOT_STARTED,
        "md",
        r"(?:(?P<md>md): pers->run\(\) failed|md/[\w-]+:(?P<array>\w+): (?:not enough operational (?:mirrors|devices)"
        r"|failed to run raid set))",
        each=False,
    ),
    # md/raid10:md0: Disk failure on sdc1, disabling device.
    # md/raid1:md127: Disk failure on sdb2, disabling device.\x0amd/raid1:md127: Operation continuing on 1 devices.
    # md/raid:md5: Disk failure on sdd1, disabling device.
    # md/raid0:md0: Disk failure on nvme1n1 detected, failing array.
    form(MEMBER_FAILED, "md", r"md/[\w-]+:(?P<array>\w+): Disk failure on (?P<device>\w[\w-]*)\b"),
    # md/raid:md5: Too many read errors, failing device sdd1.
    # md/raid10:md0: sdb1: Failing raid device
    form(
        MEMBER_FAILED,
        "md",
        r"md/[\w-]+:(?P<array>\w+): (?:Too many read errors, failing device (?P<device>[\w-]+)"
        r"|(?P<member>[\w-]+): Failing raid device)",
    ),
    # md/raid:md2: Cannot continue operation (2/4 failed).
    form(MEMBER_FAILED, "md", r"md/[\w-]+:(?P<array>\w+): Cannot continue operation"),
    # md: kicking non-fresh sdb1 from array!
    form(MEMBER_FAILED, "md", r"md: kicking non-fresh (?P<device>[\w-]+) from array"),
    # md/raid10:md0: active with 3 out of 4 devices
    # md/raid:md127: raid level 6 active with 7 out of 8 devices, algorithm 2
    # md/raid1:md1: active with 1 out of 2 mirrors
    form(DEGRADED, "md", r"md/[\w-]+:(?P<array>\w+): (?:raid level \d+ )?active with (?P<has>\d+) out of (?P<of>\d+) "),
    # md/raid10:md0: sdc1: unrecoverable I/O read error for block 1234
    # md/raid1:md0: dm-4: unrecoverable I/O read error for block 128
    # md/raid10:md0: unrecoverable I/O read error for block 20992
    form(HARDWARE, "md", r"md/[\w-]+:(?P<array>\w+): (?:(?P<device>[\w-]+): )?unrecoverable I/O read error for block"),
    # md/raid1:md0: read error corrected (8 sectors at 1234 on sdb1)
    # md/raid:md5: read error not correctable (sector 123 on sdd1).
    form(
        CORRECTED, "md", r"md/[\w-]+:\w+: read error (?:NOT |not )?correct(?:ed|able)!?!? \(.* on (?P<device>[\w-]+)\)"
    ),
    # device-mapper: multipath: 253:2: Failing path 8:32.
    # device-mapper: multipath: Failing path 8:48.
    form(OFFLINE, "device", r"device-mapper: multipath: (?:\d+:\d+: )?Failing path (?P<number>\d+:\d+)"),
)
