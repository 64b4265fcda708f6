"""Kernel lines of disks, RAID controllers and file systems: what each says happened, and to which device.

Above each form stands a real line it was written for. Every form begins where the line begins, so that a process or a
firewall rule that has such words in its name cannot make one up. Levels are not looked at: sense data is INFO.
"""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence

from agent.host import CannotTell, Host, shared
from agent.sources import block_devices
from agent.sources.kernel_log import LineForm, Record, Sighting

MEDIUM = "medium error"
IO = "I/O error"
TIMEOUT = "command timeout"
RESET = "reset"
LINK = "link error"
OFFLINE = "offline"
HARDWARE = "hardware error"
PREDICTED = "failure predicted"
CORRECTED = "read error corrected by md"
MEMBER_FAILED = "md member failed"
DEGRADED = "array degraded"
CONTROLLER = "controller fault"
CONTROLLER_EVENT = "controller event"
FS_ERROR = "file system error"
FS_SHUTDOWN = "file system shutdown"
FS_STOPPED = "file system shut down by an operator"
FS_MARKED = "file system marked as damaged"
READ_ONLY = "read-only remount"
JOURNAL = "journal abort"
HUNG_TASK = "hung task"

HUNG_TASKS_ITEM = "blocked tasks"
BOOT_S = 300.0
ATTACH_S = 120.0

SCSI = r"sd (?P<address>\d+:\d+:\d+:\d+): (?:\[(?P<device>\w+)\] ?)?(?:tag#\d+ ?)?\s*"
ATA = r"(?P<ata>ata\d+(?:\.\d+)?): "
# `nvme nvme0: …`; RHEL 7 names the PCI address: `nvme 0000:04:00.0: …`
NVME = r"nvme (?P<nvme>nvme\d+|[\da-f:.]+): "
MPT = r"(?P<device>mpt[23]sas(?:_cm)?\d+): "
PCI_CARD = r"(?P<device>(?:megaraid_sas|hpsa|smartpqi) [\da-f:.]+): "
EXT4 = r"EXT[234]-fs "
XFS = r"XFS \((?P<device>[^)\s]+)\): "


def _form(kind: str, expression: str, each: bool = True) -> LineForm:
    return LineForm(kind, re.compile(expression, re.ASCII), each)


# Optical drives and floppies (also the BMC's virtual ones) fail whenever they are empty.
REMOVABLE = re.compile(r"(?:sr|fd|scd|nbd|ram|zram)\d+$")
# A drive that does not know a discard says so; it loses nothing.
# critical target error, dev sda, sector 0 op 0x3:(DISCARD) flags 0x800 phys_seg 1 prio class 0
UNSUPPORTED = re.compile(r".* op 0x\w+:\((?:DISCARD|SECURE_ERASE|SECURE ERASE|WRITE_ZEROES|WRITE_SAME|WRITE SAME)\)")

BLOCK = r"(?:blk_update_request: |print_req_error: |end_request: )?"

FORMS: Sequence[LineForm] = (
    # --- block layer ---
    # critical medium error, dev sdd, sector 4656 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2
    # blk_update_request: critical medium error, dev sdc, sector 1953458176
    # print_req_error: critical medium error, dev sdb, sector 266736 flags 0
    # end_request: critical medium error, dev sdf, sector 2930277168
    _form(MEDIUM, BLOCK + r"critical medium error, dev (?P<device>[^,\s]+), sector \d+"),
    # I/O error, dev sdb, sector 2048 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 0
    # blk_update_request: I/O error, dev sdb, sector 0
    # blk_update_request: I/O error, dev nvme0n1, sector 1875384960 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 0
    # print_req_error: I/O error, dev sda, sector 488397160 flags 84700
    # end_request: I/O error, dev sdb, sector 1953525160
    # print_req_error: critical target error, dev sdb, sector 1234 flags 1001
    # blk_update_request: protection error, dev sdg, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0
    # recoverable transport error, dev sdh, sector 512 op 0x1:(WRITE) flags 0x4000 phys_seg 8 prio class 0
    # critical space allocation error, dev dm-4, sector 8192 op 0x1:(WRITE) flags 0x103000 phys_seg 2 prio class 0
    _form(
        IO,
        BLOCK + r"(?:I/O|critical target|protection|recoverable transport|critical space allocation|critical nexus)"
        r" error, dev (?P<device>[^,\s]+), sector \d+",
    ),
    # timeout error, dev sde, sector 7814036992 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0
    # blk_update_request: timeout error, dev sde, sector 976773160
    _form(TIMEOUT, BLOCK + r"timeout error, dev (?P<device>[^,\s]+), sector \d+"),
    # device offline error, dev sdc, sector 2056 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 0
    _form(OFFLINE, BLOCK + r"device offline error, dev (?P<device>[^,\s]+), sector \d+"),
    # Buffer I/O error on dev sdb1, logical block 0, lost sync page write
    # Buffer I/O error on device sdb, logical block 244190630
    # Buffer I/O error on dev dm-3, logical block 1310720, async page read
    _form(IO, r"Buffer I/O error on dev(?:ice)? (?P<device>[^,\s]+), logical block \d+"),
    # lost page write due to I/O error on sdb1
    _form(IO, r"lost page write due to I/O error on (?P<device>\S+)"),
    # dm-3: writeback error on inode 8590074231, offset 4096, sector 17180395136
    _form(IO, r"(?P<device>[a-z][\w-]{1,30}): writeback error on (?:inode|sector) \d+"),
    # --- SCSI ---
    # sd 2:0:0:0: [sdc] tag#12 Sense Key : Medium Error [current]
    # sd 0:0:3:0: [sdd] Sense Key : Medium Error [current] [descriptor]
    # sd 0:0:1:0: [sdb]  Sense Key : Medium Error [current]
    _form(MEDIUM, SCSI + r"Sense Key : (?:Medium Error|0x3) "),
    # sd 0:0:5:0: [sdf] tag#3 Sense Key : Hardware Error [current]
    _form(HARDWARE, SCSI + r"Sense Key : (?:Hardware Error|0x4) "),
    # sd 3:0:0:0: [sdc] tag#8 Sense Key : Aborted Command [current] [descriptor]
    _form(LINK, SCSI + r"Sense Key : (?:Aborted Command|0xb) "),
    # sd 0:0:4:0: [sde] tag#0 Add. Sense: Hardware impending failure general hard drive failure
    # sd 0:0:7:0: [sdh] Add. Sense: Failure prediction threshold exceeded
    _form(PREDICTED, SCSI + r"Add\. Sense: .*(?i:impending failure|failure prediction threshold exceeded(?! \(false))"),
    # sd 2:0:0:0: [sdc] tag#3 FAILED Result: hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK cmd_age=0s
    # sd 0:2:1:0: [sdb] tag#5 FAILED Result: hostbyte=DID_BAD_TARGET driverbyte=DRIVER_OK
    # sd 6:0:2:0: [sdg] Synchronize Cache(10) failed: Result: hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK
    # sd 1:0:0:0: [sdb]  Result: hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK
    _form(
        OFFLINE,
        SCSI + r"(?:FAILED |UNKNOWN(?:\(0x\w+\))? |[\w ]+(?:\(\d+\))? failed: )?Result: "
        r"hostbyte=DID_(?:NO_CONNECT|BAD_TARGET)\b",
    ),
    # sd 0:0:0:0: [sda] tag#0 FAILED Result: hostbyte=DID_TIME_OUT driverbyte=DRIVER_OK cmd_age=30s
    _form(TIMEOUT, SCSI + r"(?:FAILED |UNKNOWN(?:\(0x\w+\))? )?Result: hostbyte=DID_TIME_OUT\b"),
    # sd 2:0:0:0: Device offlined - not ready after error recovery
    # scsi 6:0:1:0: Device offlined - not ready after error recovery
    # sd 2:0:0:0: rejecting I/O to offline device
    # sd 4:0:3:0: rejecting I/O to dead device
    # sd 2:0:0:0: [sdc] killing request
    _form(
        OFFLINE,
        r"(?:sd|scsi) (?P<address>\d+:\d+:\d+:\d+): (?:\[(?P<device>\w+)\] )?"
        r"(?:Device offlined|rejecting I/O to (?:offline|dead) device|killing request)",
    ),
    # sd 0:0:3:0: [sdd] tag#2 timing out command, waited 180s
    # sd 0:0:3:0: attempting task abort!scmd(0x00000000e1f7b1a2), outstanding for 30560 ms & timeout 30000 ms
    # sd 0:0:3:0: attempting task abort! scmd(ffff88085ac2b480)
    # sd 0:2:0:0: [sda] tag#14 task abort called for scmd(0000000011223344)
    _form(TIMEOUT, SCSI + r"(?:timing out command|attempting task abort ?!|task abort called for)"),
    # sd 0:0:3:0: attempting device reset! scmd(ffff88085ac2b480)
    # sd 0:0:3:0: attempting target reset! scmd(0x00000000e1f7b1a2)
    # sd 0:0:3:0: attempting host reset! scmd(0x00000000e1f7b1a2)
    # sd 0:2:0:0: [sda] tag#14 target reset called for scmd(0000000011223344)
    _form(RESET, SCSI + r"(?:attempting (?:device|target|host) reset ?!|target reset called for)", each=False),
    # sd 0:0:3:0: Power-on or device reset occurred
    # sd 0:0:3:0: [sdd] tag#0 Power-on or device reset occurred
    _form(RESET, SCSI + r"Power-on or device reset occurred"),
    # --- SATA ---
    # ata3.00: error: { UNC }
    _form(MEDIUM, ATA + r"error: \{[A-Z ]*\bUNC\b"),
    # ata5.00: error: { ICRC ABRT }
    # ata4: SError: { UnrecovData 10B8B BadCRC }
    # ata4: limiting SATA link speed to 3.0 Gbps
    # ata4.00: limiting speed to UDMA/100:PIO4
    _form(LINK, ATA + r"(?:error: \{[A-Z ]*\bICRC\b|SError: \{.*\bBadCRC\b|limiting (?:SATA link )?speed to )", False),
    # ata3.00: error: { IDNF }
    _form(IO, ATA + r"error: \{[A-Z ]*\bIDNF\b"),
    # ata3.00: cmd 60/08:00:10:27:00/00:00:00:00:00/40 tag 0 ncq 4096 in\x0a         res 40/00:00:00:00:00/00:00:00:00:00/00 Emask 0x4 (timeout)
    # ata3.00: qc timeout (cmd 0xec)
    # ata7.00: qc timeout after 5000 msecs (cmd 0xa1)
    _form(TIMEOUT, ATA + r"(?:cmd [^\n]*\n\s*res [^\n]*\(timeout\)|qc timeout )"),
    # ata3: hard resetting link
    # ata6: soft resetting link
    # ata3: COMRESET failed (errno=-16)
    _form(RESET, ATA + r"(?:(?:hard|soft) resetting (?:link|port)|COMRESET failed|SRST failed)"),
    # ata3.00: disabled
    # ata3.00: disable device
    # ata3: reset failed, giving up
    # ata2.00: revalidation failed (errno=-19)
    _form(OFFLINE, ATA + r"(?:disabled?(?: device)?$|reset failed, giving up|revalidation failed \(errno=-19\))"),
    # --- NVMe ---
    # nvme nvme0: I/O 123 QID 4 timeout, aborting
    # nvme nvme0: I/O tag 384 (1180) opcode 0x2 (I/O Cmd) QID 3 timeout, aborting req_op:READ(0) size:32768
    # nvme nvme1: I/O 22 QID 5 timeout, reset controller
    # nvme nvme2: I/O 0 QID 1 timeout, completion polled
    # nvme 0000:04:00.0: I/O 10 QID 3 timeout, aborting
    # nvme nvme0: I/O 17 (Write) QID 3 timeout, aborting
    _form(TIMEOUT, NVME + r"I/O (?:tag )?\d+ .*\btimeout, "),
    # nvme nvme0: controller is down; will reset: CSTS=0x3, PCI_STATUS=0x10
    # nvme nvme0: Device not ready; aborting reset, CSTS=0x1
    # nvme nvme1: Device not ready; aborting initialisation, CSTS=0x0
    # nvme nvme0: resetting controller due to persistent internal error
    # nvme nvme0: IO queues lost
    # nvme nvme0: IO queues not created
    # nvme nvme3: frozen state error detected, reset controller
    # nvme 0000:04:00.0: Failed status: 3, reset controller
    _form(
        CONTROLLER,
        NVME
        + r"(?:controller is down; will reset|Device not ready; aborting|frozen state error detected|Failed status: "
        r"|resetting controller due to persistent internal error|IO queues (?:lost|not created))",
    ),
    # nvme nvme0: Disabling device after reset failure: -19
    # nvme nvme0: Removing after probe failure status: -19
    # nvme 0000:04:00.0: Removing after probe failure
    # nvme nvme5: failed to mark controller CONNECTING
    _form(OFFLINE, NVME + r"(?:Disabling device after|Removing after probe failure|failed to mark controller )"),
    # block nvme0n1: no available path - failing I/O
    _form(OFFLINE, r"block (?P<device>nvme\w+): no available path - failing I/O"),
    # nvme0n1: Read(0x2) @ LBA 3560448, 8 blocks, Unrecovered Read Error (sct 0x2 / sc 0x81) MORE DNR
    # nvme1n1: Write(0x1) @ LBA 81920, 256 blocks, Write Fault (sct 0x2 / sc 0x80) DNR
    _form(MEDIUM, r"(?P<device>nvme\d+\w*): .+ @ LBA \d+, \d+ blocks, .*\(sct 0x2 / sc 0x8[0-4]\)"),
    # --- RAID controllers and host adapters ---
    # megaraid_sas 0000:03:00.0: FW detected to be in faultstate, restarting it...
    # megaraid_sas 0000:01:00.0: FW in FAULT state Fault code:0xfff0000 subcode:0x0 func:megasas_wait_for_outstanding
    # megaraid_sas 0000:18:00.0: Found FW in FAULT state, will reset adapter scsi0.
    # megaraid_sas 0000:18:00.0: Encountered FW in crit error
    # megaraid_sas 0000:03:00.0: HBA is killed
    # megaraid_sas 0000:03:00.0: OCR failed and HBA is killed
    # megaraid_sas 0000:03:00.0: cannot recover from previous reset failures
    # hpsa 0000:03:00.0: Controller lockup detected: 0x00130000 after 30
    # smartpqi 0000:5c:00.0: controller offline: reason code 0x6100 (no heartbeat)
    # smartpqi 0000:03:00.0: controller is offline: status code 0x6100c
    # smartpqi 0000:5c:00.0: no heartbeat detected - last heartbeat count: 1234
    _form(
        CONTROLLER,
        PCI_CARD + r"(?:(?:Found |Encountered )?FW (?:detected to be )?in (?:fault ?state|FAULT state|crit error)"
        r"|(?:OCR failed and )?HBA is killed|[Cc]annot recover from previous reset failures"
        r"|Controller lockup detected|controller (?:is )?offline|no heartbeat detected)",
    ),
    # megaraid_sas 0000:02:00.0: 6779 (560871411s/0x0002/FATAL) - Unrecoverable medium error during recovery on PD 05(e0x20/s5) at 1c2d0a3
    _form(CONTROLLER, PCI_CARD + r"\d+ \([^)]*/0x\w+/(?:FATAL|DEAD)\) - "),
    # megaraid_sas 0000:02:00.0: 6801 (560871999s/0x0001/CRIT) - VD 00/0 is now DEGRADED
    # megaraid_sas 0000:02:00.0: 6802 (boot + 42s/0x0001/CRIT) - VD 01/1 is now OFFLINE
    _form(DEGRADED, PCI_CARD + r"\d+ \([^)]*/0x\w+/(?:WARN|CRIT)\) - VD .* is now .*(?:DEGRADED|OFFLINE|FAILED)"),
    # megaraid_sas 0000:02:00.0: 7001 (560872001s/0x0002/WARN) - Predictive failure: PD 05(e0x20/s5)
    _form(PREDICTED, PCI_CARD + r"\d+ \([^)]*/0x\w+/\w+\) - Predictive failure: "),
    # megaraid_sas 0000:02:00.0: 7100 (560873001s/0x0008/CRIT) - Battery has failed and cannot support data retention. Please replace the battery
    _form(CONTROLLER_EVENT, PCI_CARD + r"\d+ \([^)]*/0x\w+/CRIT\) - "),
    # mpt3sas_cm0: fault_state(0x5862)!
    # mpt2sas0: fault_state(0x0d04)!
    # mpt3sas_cm1: coredump_state(0x2667)!
    # mpt3sas_cm0: diag reset: FAILED
    # mpt3sas_cm0: SAS host is non-operational !!!!
    _form(
        CONTROLLER,
        MPT + r"(?:fault_state\(|coredump_state\(|diag reset: FAILED|SAS host is non-operational)",
        each=False,
    ),
    # mpt3sas_cm0: sending diag reset !!
    # smartpqi 0000:5c:00.0: resetting scsi 0:1:0:0
    # smartpqi 0000:5c:00.0: reset of scsi 0:1:0:0: FAILED
    # hpsa 0000:03:00.0: scsi 0:1:0:1: resetting logical  Direct-Access     HP       LOGICAL VOLUME   RAID-0 SSDSmartPathCap- En- Exp=1
    # megaraid_sas 0000:18:00.0: resetting fusion adapter scsi0.
    _form(
        RESET,
        r"(?:" + MPT + r"sending diag reset|(?P<card>(?:megaraid_sas|hpsa|smartpqi) [\da-f:.]+): "
        r"(?:resetting (?:fusion adapter )?scsi|reset of scsi [\d:]+: FAILED|scsi [\d:]+: resetting ))",
    ),
    # aacraid: Host adapter reset request. SCSI hang ?
    # aacraid 0000:03:00.0: Host bus reset request. SCSI hang ?
    _form(RESET, r"(?P<card>aacraid)(?: [\da-f:.]+)?: Host (?:adapter|bus) reset request", each=False),
    # 3w-9xxx: scsi0: AEN: ERROR (0x04:0x0009): Drive timeout detected:port=1.
    _form(CONTROLLER_EVENT, r"(?P<card>3w-\w+): scsi\d+: (?:AEN: )?ERROR"),
    # nvme 0000:04:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)
    # megaraid_sas 0000:18:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer, (Requester ID)
    _form(
        CONTROLLER_EVENT,
        r"(?:nvme (?P<nvme>[\da-f:.]+)|(?P<card>(?:megaraid_sas|mpt[23]sas|hpsa|smartpqi|ahci) [\da-f:.]+)): "
        r"(?:AER: )?PCIe Bus Error: severity=Uncorrect",
    ),
    # --- md and multipath ---
    # md/raid10:md0: Disk failure on sdc1, disabling device.
    # md/raid1:md127: Disk failure on sdb2, disabling device.\x0amd/raid1:md127: Operation continuing on 1 devices.
    # md/raid:md5: Disk failure on sdd1, disabling device.
    # md/raid0:md0: Disk failure on nvme1n1 detected, failing array.
    _form(MEMBER_FAILED, r"md/[\w-]+:(?P<array>\w+): Disk failure on (?P<device>\w[\w-]*)\b"),
    # md/raid:md5: Too many read errors, failing device sdd1.
    # md/raid10:md0: sdb1: Failing raid device
    _form(
        MEMBER_FAILED,
        r"md/[\w-]+:(?P<array>\w+): (?:Too many read errors, failing device (?P<device>[\w-]+)"
        r"|(?P<member>[\w-]+): Failing raid device)",
    ),
    # md/raid:md2: Cannot continue operation (2/4 failed).
    _form(MEMBER_FAILED, r"md/[\w-]+:(?P<array>\w+): Cannot continue operation"),
    # md: kicking non-fresh sdb1 from array!
    _form(MEMBER_FAILED, r"md: kicking non-fresh (?P<device>[\w-]+) from array"),
    # md/raid10:md0: active with 3 out of 4 devices
    # md/raid:md127: raid level 6 active with 7 out of 8 devices, algorithm 2
    # md/raid1:md1: active with 1 out of 2 mirrors
    _form(DEGRADED, r"md/[\w-]+:(?P<array>\w+): (?:raid level \d+ )?active with (?P<has>\d+) out of (?P<of>\d+) "),
    # md/raid10:md0: sdc1: unrecoverable I/O read error for block 1234
    # md/raid1:md0: dm-4: unrecoverable I/O read error for block 128
    # md/raid10:md0: unrecoverable I/O read error for block 20992
    _form(HARDWARE, r"md/[\w-]+:(?P<array>\w+): (?:(?P<device>[\w-]+): )?unrecoverable I/O read error for block"),
    # md/raid1:md0: read error corrected (8 sectors at 1234 on sdb1)
    # md/raid:md5: read error not correctable (sector 123 on sdd1).
    _form(CORRECTED, r"md/[\w-]+:\w+: read error (?:NOT |not )?correct(?:ed|able)!?!? \(.* on (?P<device>[\w-]+)\)"),
    # device-mapper: multipath: 253:2: Failing path 8:32.
    # device-mapper: multipath: Failing path 8:48.
    _form(OFFLINE, r"device-mapper: multipath: (?:\d+:\d+: )?Failing path (?P<number>\d+:\d+)"),
    # --- ext4 and its journal ---
    # EXT4-fs error (device sdd1): ext4_find_entry:1436: inode #2: comm java: reading directory lblock 0
    # EXT4-fs error (device dm-0) in ext4_reserve_inode_write:5772: Journal has aborted
    # EXT4-fs error (device sdb1): ext4_journal_check_start:61: Detected aborted journal
    _form(FS_ERROR, EXT4 + r"error \(device (?P<device>[^)\s]+)\)"),
    # EXT4-fs (sdd1): Delayed block allocation failed for inode 12 at logical offset 0 with max blocks 8 with error 5
    # EXT4-fs (sdd1): This should not happen!! Data will be lost
    # EXT4-fs (sdd1): failed to convert unwritten extents to written extents -- potential data loss!  (inode 13, error -30)
    _form(
        FS_ERROR,
        EXT4 + r"\((?P<device>[^)\s]+)\): (?:Delayed block allocation failed|This should not happen"
        r"|failed to convert unwritten extents)",
    ),
    # EXT4-fs (sdd1): Remounting filesystem read-only
    # EXT3-fs (sdd1): error: remounting filesystem read-only
    _form(READ_ONLY, EXT4 + r"\((?P<device>[^)\s]+)\): (?:error: )?[Rr]emounting filesystem read-only"),
    # EXT4-fs warning (device sdd1): ext4_end_bio:349: I/O error 10 writing to inode 131078 starting block 34048)
    # EXT4-fs warning (device dm-2): ext4_end_bio:332: I/O error -5 writing to inode 12 (offset 0 size 4096 starting block 9)
    _form(IO, EXT4 + r"warning \(device (?P<device>[^)\s]+)\): ext4_end_bio:\d+: I/O error"),
    # EXT4-fs (sdd1): I/O error while writing superblock
    # EXT4-fs (sdd1): previous I/O error to superblock detected
    _form(IO, EXT4 + r"\((?P<device>[^)\s]+)\): (?:I/O error while writing|previous I/O error to) superblock"),
    # EXT4-fs (sdb1): warning: mounting fs with errors, running e2fsck is recommended
    _form(FS_MARKED, EXT4 + r"\((?P<device>[^)\s]+)\): warning: mounting fs with errors"),
    # EXT4-fs (sdd1): shut down requested (1)
    _form(FS_STOPPED, EXT4 + r"\((?P<device>[^)\s]+)\): shut down requested"),
    # Aborting journal on device sdd1-8.
    # Aborting journal on device dm-0.
    # Aborting journal on device dm-0-8.
    _form(JOURNAL, r"Aborting journal on device (?P<journal>[^\s]+?)\.?$"),
    # JBD2: previous I/O error detected for journal superblock update for sdd1-8.
    # JBD2: Error -5 detected when updating journal superblock for dm-0-8.
    # JBD2: I/O error detected when updating journal superblock for sdd1-8.
    # JBD2: Detected IO errors while flushing file data on sdd1-8
    _form(
        IO,
        r"JBD2?: (?:previous I/O error detected for journal superblock update for"
        r"|(?:Error -\d+|I/O error) detected when updating journal superblock for"
        r"|Detected IO errors while flushing file data on) (?P<journal>\S+?)\.?$",
    ),
    # --- XFS ---
    # XFS (loop0): User initiated shutdown received.
    # XFS (sdc1): User initiated shutdown received. Shutting down filesystem
    _form(FS_STOPPED, XFS + r"User initiated shutdown received"),
    # XFS (sdd1): Log I/O Error (0x2) detected at xlog_ioend_work+0x6e/0x80 [xfs] (fs/xfs/xfs_log.c:1378).  Shutting down filesystem.
    # XFS (sdd1): Corruption of in-memory data (0x8) detected at xfs_defer_finish_noroll+0x2a1/0x4d0 [xfs] (fs/xfs/libxfs/xfs_defer.c:573).  Shutting down filesystem.
    # XFS (dm-3): Metadata I/O Error (0x1) detected at xfs_buf_ioend+0x1c/0x40 [xfs] (fs/xfs/xfs_buf.c:1200).  Shutting down filesystem.
    # XFS (sdd1): xfs_do_force_shutdown(0x2) called from line 1180 of file fs/xfs/xfs_log.c.  Return address = 0xffffffffa03d6b9b
    # XFS (sdd1): Log I/O Error Detected.  Shutting down filesystem
    # XFS (sde1): Corruption of in-memory data detected.  Shutting down filesystem
    # XFS (sdb1): Filesystem has been shut down due to log error (0x2).
    # XFS (sdb1): xfs_log_force: error 5 returned.
    _form(
        FS_SHUTDOWN,
        XFS + r"(?:[A-Z].* \((?P<flags>0x\w+)\) detected at .*Shutting down filesystem"
        r"|.*xfs_do_force_shutdown\((?P<flags_before>0x\w+)\) called|.*[Dd]etected\..*[Ss]hutting down filesystem"
        r"|Filesystem has been shut down|xfs_log_force: error -?\d+ returned)",
        each=False,
    ),
    # XFS (sdd1): Metadata corruption detected at xfs_agf_read_verify+0xde/0x100 [xfs], xfs_agf block 0x1
    # XFS (dm-0): Corruption detected. Unmount and run xfs_repair
    # XFS (sdb1): Internal error XFS_WANT_CORRUPTED_GOTO at line 1635 of file fs/xfs/libxfs/xfs_alloc.c.
    # XFS (sdb1): SB validate failed with error -117.
    # XFS (dm-2): Corruption warning: Metadata has LSN (1:8) ahead of current LSN (1:2). Please unmount and run xfs_repair
    _form(
        FS_ERROR,
        XFS + r"(?:Metadata (?:corruption|CRC error) detected|Corruption (?:detected|warning)|Internal error "
        r"|SB validate failed)",
        each=False,
    ),
    # XFS (sdd1): metadata I/O error in "xfs_trans_read_buf_map" at daddr 0x1 len 1 error 5
    # XFS (sdd1): metadata I/O error: block 0x1 ("xfs_trans_read_buf_map") error 5 numblks 1
    # XFS (sdd1): log I/O error -5
    # XFS (sdb1): writeback error on sector 1234
    # XFS (sdb1): Failing async write on buffer block 0x7470. Retrying async write.
    _form(IO, XFS + r"(?:metadata I/O error|log I/O error -?\d|writeback error|Failing async write)"),
    # --- btrfs ---
    # BTRFS error (device sda1): bdev /dev/sda1 errs: wr 0, rd 3, flush 0, corrupt 0, gen 0
    # BTRFS: error (device sdb) in btrfs_commit_transaction:2271: errno=-5 IO failure
    # BTRFS critical (device dm-1): corrupt leaf: root=1 block=57567265079296 slot=83, bad key order
    _form(FS_ERROR, r"BTRFS:? (?:error|critical) \(device (?P<device>[^):\s]+)[^)]*\)"),
    # BTRFS info (device sdb): forced readonly
    # BTRFS info (device sdb: state E): forced readonly
    _form(READ_ONLY, r"BTRFS:? info \(device (?P<device>[^):\s]+)[^)]*\): forced readonly"),
    # --- waiting for a disk ---
    # INFO: task java:1234 blocked for more than 120 seconds.
    # INFO: task jbd2/sdd1-8:611 blocked in I/O wait for more than 122 seconds.
    _form(HUNG_TASK, r"INFO: task .{1,32}:\d+ blocked (?:for more than|in I/O wait)"),
)

# sd 2:0:0:0: [sdc] Attached SCSI disk
ATTACHED = re.compile(r"sd (\d+:\d+:\d+:\d+): \[(\w+)\] (?:Attached SCSI|\d+ \d+-byte (?:logical|hardware))", re.ASCII)
# sd 2:0:0:0: [sdc] tag#12 Sense Key : Medium Error [current]
ADDRESSED = re.compile(r"sd (\d+:\d+:\d+:\d+): \[(\w+)\]", re.ASCII)
# XFS (loop0): Mounting V5 Filesystem 0f2a7c5e-2f0e-4b0e-9f0e-1c2d3e4f5a6b
XFS_MOUNTED = re.compile(r"XFS \(([^)\s]+)\): (?:Mounting V\d|Ending (?:clean mount|recovery))", re.ASCII)
OPERATOR_FLAG = 0x4


class Devices(NamedTuple):
    """Which disk stands behind what a line names. Each maps to a kernel name such as `sdd`.

    addresses: `2:0:0:0`, `ata3`, `nvme0`, `0000:04:00.0`; numbers: `8:32`; disks: the whole disks there are.
    """

    addresses: Mapping[str, str]
    numbers: Mapping[str, str]
    disks: Sequence[str]


# /sys/devices/pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0/block/sdc
# /sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/nvme/nvme0/nvme0n1
ADDRESS = re.compile(r"/(ata\d+|\d+:\d+:\d+:\d+|nvme\d+)(?=/)", re.ASCII)
NVME_CARD = re.compile(r"/([\da-f]{4}:[\da-f]{2}:[\da-f]{2}\.\d)/nvme/")


@shared
def devices(host: Host) -> Devices:
    """The disks of this machine and where they are attached; a disk that is gone keeps its address until a reboot."""
    addresses = dict(host.state.cursor("kernel_disk_lines/addresses") or {})
    try:
        disks = block_devices.disks(host)
    except CannotTell:
        disks = {}  # the lines are worth telling all the same
    for name in disks:
        try:
            path = host.link(f"/sys/block/{name}")
        except CannotTell:
            continue
        for address in ADDRESS.findall(path) + NVME_CARD.findall(path):
            addresses[address] = name
    host.state.set_cursor("kernel_disk_lines/addresses", addresses)
    return Devices(addresses, {disk.dev: name for name, disk in disks.items() if disk.dev}, sorted(disks))


def sightings(new: Sequence[Record], all_records: Sequence[Record], devices: Devices) -> Iterator[Sighting]:
    """What the new records say happened, to which item; all records tell what came before and after."""
    context = _Context(all_records, devices)
    for record in new:
        for form in FORMS:
            match = form.expression.match(record.text)
            if match:
                kind = context.kind(form, match, record)
                for item in context.items(kind, match) if kind else ():
                    yield Sighting(item, kind, record, form.expression, form.each)
                break


class _Context:
    """What other lines tell: SCSI addresses of disks that are gone, when a disk was attached, who shut XFS down."""

    def __init__(self, records: Sequence[Record], devices: Devices) -> None:
        self._names = dict(devices.addresses)
        self._numbers = devices.numbers
        self._disks = sorted(devices.disks, key=len, reverse=True)
        self._attached: Dict[str, List[float]] = {}
        self._stopped: Dict[str, List[int]] = {}
        for record in records:
            self._note(record)

    def _note(self, record: Record) -> None:
        named = ADDRESSED.match(record.text)
        if named:
            self._names[named.group(1)] = named.group(2)
            if ATTACHED.match(record.text):
                self._attached.setdefault(named.group(1), []).append(record.uptime_s)
        elif record.text.startswith("XFS "):
            mounted = XFS_MOUNTED.match(record.text)
            if mounted:
                self._stopped.setdefault(mounted.group(1), []).append(record.seq)
            elif "User initiated shutdown" in record.text:
                self._stopped.setdefault(record.text[5 : record.text.find(")")], []).append(-record.seq)

    def kind(self, form: LineForm, match: re.Match[str], record: Record) -> str:
        """The kind of what happened; empty if it is no news: a boot, a hot plug, an operator's own doing."""
        said = match.groupdict()
        text = record.text
        if form.kind == IO and UNSUPPORTED.match(text):
            return ""
        if "Power-on or device reset" in text and self._just_attached(said["address"], record.uptime_s):
            return ""
        if form.kind == RESET and "diag reset" in text and record.uptime_s < BOOT_S:
            return ""
        if said.get("of") and int(said["has"]) >= int(said["of"]):
            return ""
        if text.startswith("XFS ") and self._by_operator(said, record.seq):
            return FS_STOPPED
        return form.kind

    def _just_attached(self, address: str, uptime_s: float) -> bool:
        return uptime_s < BOOT_S or any(0 <= at - uptime_s <= ATTACH_S for at in self._attached.get(address, ()))

    def _by_operator(self, said: Mapping[str, Optional[str]], seq: int) -> bool:
        flags = said.get("flags") or said.get("flags_before") or "0x0"
        marks = [mark for mark in self._stopped.get(said["device"] or "", ()) if abs(mark) <= seq]
        return bool(int(flags, 16) & OPERATOR_FLAG) or (bool(marks) and marks[-1] < 0)

    def items(self, kind: str, match: re.Match[str]) -> List[str]:
        """The disks, arrays or devices that the line names."""
        if kind == HUNG_TASK:
            return [HUNG_TASKS_ITEM]
        said = {name: value for name, value in match.groupdict().items() if value}
        found = [said["array"]] if "array" in said else []
        for name in ("device", "member", "card"):
            if name in said:
                found.append(self.disk(said[name]))
                break
        else:
            found += self._indirect(said)
        return [item for item in dict.fromkeys(found) if not REMOVABLE.match(item)]

    def _indirect(self, said: Mapping[str, str]) -> List[str]:
        if "journal" in said:
            return [self.disk(journal_device(said["journal"]))]
        if "number" in said:
            return [self._numbers.get(said["number"], said["number"])]
        if "address" in said:
            return [self._names.get(said["address"], said["address"])]
        if "ata" in said:
            port = said["ata"].partition(".")[0]
            return [self._names.get(port, port)]
        return [self.disk(self._names.get(said["nvme"], said["nvme"]))] if "nvme" in said else []

    def disk(self, name: str) -> str:
        """The whole disk of a partition or an NVMe controller; anything else stands for itself."""
        if name in self._disks:
            return name
        return self._names.get(name) or whole_disk(name)


# sdd1, vdb12, xvda1, hda3
LETTERED_PARTITION = re.compile(r"((?:sd|vd|xvd|hd)[a-z]+)\d+$", re.ASCII)
# nvme0n1p2, nvme0c1n1, md0p1, mmcblk0p1, loop0p1
NUMBERED_PARTITION = re.compile(r"((?:nvme\d+n|md_?|mmcblk|loop|nbd)\d+)p\d+$", re.ASCII)
NVME_PATH = re.compile(r"(nvme\d+)c\d+(n\d+)", re.ASCII)


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
