"""Kernel lines of disks: the block layer, SCSI, SATA and NVMe.

Above each form stands a real line it was written for. Every form begins where the line begins, so that a process or a
firewall rule that has such words in its name cannot make one up. Levels are not looked at: sense data is INFO.
"""

from __future__ import annotations

from typing import Sequence

from agent.sources.kernel.disk_event_kinds import (
    CONTROLLER,
    HARDWARE,
    IO,
    LINK,
    MEDIUM,
    OFFLINE,
    PREDICTED,
    RESET,
    TIMEOUT,
)
from agent.sources.kernel.line_patterns import LinePattern, form

BLOCK = r"(?:blk_update_request: |print_req_error: |end_request: )?"
SCSI = r"sd (?P<address>\d+:\d+:\d+:\d+): (?:\[(?P<device>\w+)\] ?)?(?:tag#\d+ ?)?\s*"
ATA = r"(?P<ata>ata\d+(?:\.\d+)?): "
# `nvme nvme0: …`; RHEL 7 names the PCI address: `nvme 0000:04:00.0: …`
NVME = r"nvme (?P<nvme>nvme\d+|[\da-f:.]+): "

FORMS: Sequence[LinePattern] = (
    # --- block layer ---
    # critical medium error, dev sdd, sector 4656 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2
    # blk_update_request: critical medium error, dev sdc, sector 1953458176
    # print_req_error: critical medium error, dev sdb, sector 266736 flags 0
    # end_request: critical medium error, dev sdf, sector 2930277168
    form(
        MEDIUM,
        "blk_update_request critical end_request print_req_error",
        BLOCK + r"critical medium error, dev (?P<device>[^,\s]+), sector \d+",
    ),
    # I/O error, dev sdb, sector 2048 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 0
    # blk_update_request: I/O error, dev sdb, sector 0
    # blk_update_request: I/O error, dev nvme0n1, sector 1875384960 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 0
    # print_req_error: I/O error, dev sda, sector 488397160 flags 84700
    # end_request: I/O error, dev sdb, sector 1953525160
    # print_req_error: critical target error, dev sdb, sector 1234 flags 1001
    # blk_update_request: protection error, dev sdg, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0
    # recoverable transport error, dev sdh, sector 512 op 0x1:(WRITE) flags 0x4000 phys_seg 8 prio class 0
    # critical space allocation error, dev dm-4, sector 8192 op 0x1:(WRITE) flags 0x103000 phys_seg 2 prio class 0
    form(
        IO,
        "I blk_update_request critical end_request print_req_error protection recoverable",
        BLOCK + r"(?:I/O|critical target|protection|recoverable transport|critical space allocation|critical nexus)"
        r" error, dev (?P<device>[^,\s]+), sector \d+",
    ),
    # timeout error, dev sde, sector 7814036992 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0
    # blk_update_request: timeout error, dev sde, sector 976773160
    form(
        TIMEOUT,
        "blk_update_request end_request print_req_error timeout",
        BLOCK + r"timeout error, dev (?P<device>[^,\s]+), sector \d+",
    ),
    # device offline error, dev sdc, sector 2056 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 0
    form(
        OFFLINE,
        "blk_update_request device end_request print_req_error",
        BLOCK + r"device offline error, dev (?P<device>[^,\s]+), sector \d+",
    ),
    # Buffer I/O error on dev sdb1, logical block 0, lost sync page write
    # Buffer I/O error on device sdb, logical block 244190630
    # Buffer I/O error on dev dm-3, logical block 1310720, async page read
    form(IO, "Buffer", r"Buffer I/O error on dev(?:ice)? (?P<device>[^,\s]+), logical block \d+"),
    # lost page write due to I/O error on sdb1
    form(IO, "lost", r"lost page write due to I/O error on (?P<device>\S+)"),
    # dm-3: writeback error on inode 8590074231, offset 4096, sector 17180395136
    form(IO, "*writeback error", r"(?P<device>[a-z][\w-]{1,30}): writeback error on (?:inode|sector) \d+"),
    # --- SCSI ---
    # sd 2:0:0:0: [sdc] tag#12 Sense Key : Medium Error [current]
    # sd 0:0:3:0: [sdd] Sense Key : Medium Error [current] [descriptor]
    # sd 0:0:1:0: [sdb]  Sense Key : Medium Error [current]
    form(MEDIUM, "sd", SCSI + r"Sense Key : (?:Medium Error|0x3) "),
    # sd 0:0:5:0: [sdf] tag#3 Sense Key : Hardware Error [current]
    form(HARDWARE, "sd", SCSI + r"Sense Key : (?:Hardware Error|0x4) "),
    # sd 3:0:0:0: [sdc] tag#8 Sense Key : Aborted Command [current] [descriptor]
    form(LINK, "sd", SCSI + r"Sense Key : (?:Aborted Command|0xb) "),
    # sd 0:0:4:0: [sde] tag#0 Add. Sense: Hardware impending failure general hard drive failure
    # sd 0:0:7:0: [sdh] Add. Sense: Failure prediction threshold exceeded
    form(
        PREDICTED,
        "sd",
        SCSI + r"Add\. Sense: .*(?i:impending failure|failure prediction threshold exceeded(?! \(false))",
    ),
    # sd 2:0:0:0: [sdc] tag#3 FAILED Result: hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK cmd_age=0s
    # sd 0:2:1:0: [sdb] tag#5 FAILED Result: hostbyte=DID_BAD_TARGET driverbyte=DRIVER_OK
    # sd 6:0:2:0: [sdg] Synchronize Cache(10) failed: Result: hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK
    # sd 1:0:0:0: [sdb]  Result: hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK
    form(
        OFFLINE,
        "sd",
        SCSI + r"(?:FAILED |UNKNOWN(?:\(0x\w+\))? |[\w ]+(?:\(\d+\))? failed: )?Result: "
        r"hostbyte=DID_(?:NO_CONNECT|BAD_TARGET)\b",
    ),
    # sd 0:0:0:0: [sda] tag#0 FAILED Result: hostbyte=DID_TIME_OUT driverbyte=DRIVER_OK cmd_age=30s
    form(TIMEOUT, "sd", SCSI + r"(?:FAILED |UNKNOWN(?:\(0x\w+\))? )?Result: hostbyte=DID_TIME_OUT\b"),
    # sd 2:0:0:0: Device offlined - not ready after error recovery
    # scsi 6:0:1:0: Device offlined - not ready after error recovery
    # sd 2:0:0:0: rejecting I/O to offline device
    # sd 4:0:3:0: rejecting I/O to dead device
    # sd 2:0:0:0: [sdc] killing request
    form(
        OFFLINE,
        "scsi sd",
        r"(?:sd|scsi) (?P<address>\d+:\d+:\d+:\d+): (?:\[(?P<device>\w+)\] )?"
        r"(?:Device offlined|rejecting I/O to (?:offline|dead) device|killing request)",
    ),
    # sd 0:0:3:0: [sdd] tag#2 timing out command, waited 180s
    # sd 0:0:3:0: attempting task abort!scmd(0x00000000e1f7b1a2), outstanding for 30560 ms & timeout 30000 ms
    # sd 0:0:3:0: attempting task abort! scmd(ffff88085ac2b480)
    # sd 0:2:0:0: [sda] tag#14 task abort called for scmd(0000000011223344)
    form(TIMEOUT, "sd", SCSI + r"(?:timing out command|attempting task abort ?!|task abort called for)"),
    # sd 0:0:3:0: attempting device reset! scmd(ffff88085ac2b480)
    # sd 0:0:3:0: attempting target reset! scmd(0x00000000e1f7b1a2)
    # sd 0:0:3:0: attempting host reset! scmd(0x00000000e1f7b1a2)
    # sd 0:2:0:0: [sda] tag#14 target reset called for scmd(0000000011223344)
    form(RESET, "sd", SCSI + r"(?:attempting (?:device|target|host) reset ?!|target reset called for)", each=False),
    # sd 0:0:3:0: Power-on or device reset occurred
    # sd 0:0:3:0: [sdd] tag#0 Power-on or device reset occurred
    form(RESET, "sd", SCSI + r"Power-on or device reset occurred"),
    # --- SATA ---
    # ata3.00: error: { UNC }
    form(MEDIUM, "ata", ATA + r"error: \{[A-Z ]*\bUNC\b"),
    # ata5.00: error: { ICRC ABRT }
    # ata4: SError: { UnrecovData 10B8B BadCRC }
    # ata4: limiting SATA link speed to 3.0 Gbps
    # ata4.00: limiting speed to UDMA/100:PIO4
    form(
        LINK,
        "ata",
        ATA + r"(?:error: \{[A-Z ]*\bICRC\b|SError: \{.*\bBadCRC\b|limiting (?:SATA link )?speed to )",
        False,
    ),
    # ata3.00: error: { IDNF }
    form(IO, "ata", ATA + r"error: \{[A-Z ]*\bIDNF\b"),
    # ata3.00: cmd 60/08:00:10:27:00/00:00:00:00:00/40 tag 0 ncq 4096 in\x0a         res 40/00:00:00:00:00/00:00:00:00:00/00 Emask 0x4 (timeout)
    # ata3.00: qc timeout (cmd 0xec)
    # ata7.00: qc timeout after 5000 msecs (cmd 0xa1)
    form(TIMEOUT, "ata", ATA + r"(?:cmd [^\n]*\n\s*res [^\n]*\(timeout\)|qc timeout )"),
    # ata3: hard resetting link
    # ata6: soft resetting link
    # ata3: COMRESET failed (errno=-16)
    form(RESET, "ata", ATA + r"(?:(?:hard|soft) resetting (?:link|port)|COMRESET failed|SRST failed)"),
    # ata3.00: disabled
    # ata3.00: disable device
    # ata3: reset failed, giving up
    # ata2.00: revalidation failed (errno=-19)
    form(OFFLINE, "ata", ATA + r"(?:disabled?(?: device)?$|reset failed, giving up|revalidation failed \(errno=-19\))"),
    # --- NVMe ---
    # nvme nvme0: I/O 123 QID 4 timeout, aborting
    # nvme nvme0: I/O tag 384 (1180) opcode 0x2 (I/O Cmd) QID 3 timeout, aborting req_op:READ(0) size:32768
    # nvme nvme1: I/O 22 QID 5 timeout, reset controller
    # nvme nvme2: I/O 0 QID 1 timeout, completion polled
    # nvme 0000:04:00.0: I/O 10 QID 3 timeout, aborting
    # nvme nvme0: I/O 17 (Write) QID 3 timeout, aborting
    form(TIMEOUT, "nvme", NVME + r"I/O (?:tag )?\d+ .*\btimeout, "),
    # nvme nvme0: controller is down; will reset: CSTS=0x3, PCI_STATUS=0x10
    # nvme nvme0: Device not ready; aborting reset, CSTS=0x1
    # nvme nvme1: Device not ready; aborting initialisation, CSTS=0x0
    # nvme nvme0: resetting controller due to persistent internal error
    # nvme nvme0: IO queues lost
    # nvme nvme0: IO queues not created
    # nvme nvme3: frozen state error detected, reset controller
    # nvme 0000:04:00.0: Failed status: 3, reset controller
    form(
        CONTROLLER,
        "nvme",
        NVME
        + r"(?:controller is down; will reset|Device not ready; aborting|frozen state error detected|Failed status: "
        r"|resetting controller due to persistent internal error|IO queues (?:lost|not created))",
    ),
    # nvme nvme0: Disabling device after reset failure: -19
    # nvme nvme0: Removing after probe failure status: -19
    # nvme 0000:04:00.0: Removing after probe failure
    # nvme nvme5: failed to mark controller CONNECTING
    form(OFFLINE, "nvme", NVME + r"(?:Disabling device after|Removing after probe failure|failed to mark controller )"),
    # block nvme0n1: no available path - failing I/O
    form(OFFLINE, "block", r"block (?P<device>nvme\w+): no available path - failing I/O"),
    # nvme0n1: Read(0x2) @ LBA 3560448, 8 blocks, Unrecovered Read Error (sct 0x2 / sc 0x81) MORE DNR
    # nvme1n1: Write(0x1) @ LBA 81920, 256 blocks, Write Fault (sct 0x2 / sc 0x80) DNR
    form(MEDIUM, "nvme", r"(?P<device>nvme\d+\w*): .+ @ LBA \d+, \d+ blocks, .*\(sct 0x2 / sc 0x8[0-4]\)"),
)
