"""Kernel lines of file systems, and of tasks that wait for a disk.

Above each form stands a real line it was written for.
"""

from __future__ import annotations

from typing import Sequence

from agent.sources.kernel.disk_event_kinds import (
    FS_ERROR,
    FS_MARKED,
    FS_SHUTDOWN,
    FS_STOPPED,
    HUNG_TASK,
    IO,
    JOURNAL,
    READ_ONLY,
)
from agent.sources.kernel.line_patterns import LinePattern, form

EXT4 = r"EXT[234]-fs "
XFS = r"XFS \((?P<device>[^)\s]+)\): "

FORMS: Sequence[LinePattern] = (
    # --- ext4 and its journal ---
    # EXT4-fs error (device sdd1): ext4_find_entry:1436: inode #2: comm java: reading directory lblock 0
    # EXT4-fs error (device dm-0) in ext4_reserve_inode_write:5772: Journal has aborted
    # EXT4-fs error (device sdb1): ext4_journal_check_start:61: Detected aborted journal
    form(FS_ERROR, "EXT", EXT4 + r"error \(device (?P<device>[^)\s]+)\)"),
    # EXT4-fs (sdd1): Delayed block allocation failed for inode 12 at logical offset 0 with max blocks 8 with error 5
    # EXT4-fs (sdd1): This should not happen!! Data will be lost
    # EXT4-fs (sdd1): failed to convert unwritten extents to written extents -- potential data loss!  (inode 13, error -30)
    form(
        FS_ERROR,
        "EXT",
        EXT4 + r"\((?P<device>[^)\s]+)\): (?:Delayed block allocation failed|This should not happen"
        r"|failed to convert unwritten extents)",
    ),
    # EXT4-fs (sdb1): ext4_check_descriptors: Block bitmap for group 0 not in group (block 0)!
    # EXT4-fs (sdb1): ext4_check_descriptors: Checksum for group 0 failed (32525!=0)
    # EXT4-fs (sdb1): group descriptors corrupted!
    # EXT4-fs (sdb1): error loading journal
    # EXT4-fs (sdb1): no journal found
    # EXT4-fs (sdb1): unable to read superblock
    form(
        FS_ERROR,
        "EXT",
        EXT4 + r"\((?P<device>[^)\s]+)\): (?:ext4_check_descriptors: |group descriptors corrupted|error loading journal"
        r"|no journal found|unable to read superblock)",
        each=False,
    ),
    # JBD2: recovery failed
    form(JOURNAL, "JBD", r"(?P<layer>JBD2?): recovery failed"),
    # EXT4-fs (sdd1): Remounting filesystem read-only
    # EXT3-fs (sdd1): error: remounting filesystem read-only
    form(READ_ONLY, "EXT", EXT4 + r"\((?P<device>[^)\s]+)\): (?:error: )?[Rr]emounting filesystem read-only"),
    # EXT4-fs warning (device sdd1): ext4_end_bio:349: I/O error 10 writing to inode 131078 starting block 34048)
    # EXT4-fs warning (device dm-2): ext4_end_bio:332: I/O error -5 writing to inode 12 (offset 0 size 4096 starting block 9)
    form(IO, "EXT", EXT4 + r"warning \(device (?P<device>[^)\s]+)\): ext4_end_bio:\d+: I/O error"),
    # EXT4-fs (sdd1): I/O error while writing superblock
    # EXT4-fs (sdd1): previous I/O error to superblock detected
    form(IO, "EXT", EXT4 + r"\((?P<device>[^)\s]+)\): (?:I/O error while writing|previous I/O error to) superblock"),
    # EXT4-fs (sdb1): warning: mounting fs with errors, running e2fsck is recommended
    form(FS_MARKED, "EXT", EXT4 + r"\((?P<device>[^)\s]+)\): warning: mounting fs with errors"),
    # EXT4-fs (sdd1): shut down requested (1)
    form(FS_STOPPED, "EXT", EXT4 + r"\((?P<device>[^)\s]+)\): shut down requested"),
    # Aborting journal on device sdd1-8.
    # Aborting journal on device dm-0.
    # Aborting journal on device dm-0-8.
    form(JOURNAL, "Aborting", r"Aborting journal on device (?P<journal>[^\s]+?)\.?$"),
    # JBD2: previous I/O error detected for journal superblock update for sdd1-8.
    # JBD2: Error -5 detected when updating journal superblock for dm-0-8.
    # JBD2: I/O error detected when updating journal superblock for sdd1-8.
    # JBD2: Detected IO errors while flushing file data on sdd1-8
    form(
        IO,
        "JBD",
        r"JBD2?: (?:previous I/O error detected for journal superblock update for"
        r"|(?:Error -\d+|I/O error) detected when updating journal superblock for"
        r"|Detected IO errors while flushing file data on) (?P<journal>\S+?)\.?$",
    ),
    # --- XFS ---
    # XFS (loop0): User initiated shutdown received.
    # XFS (sdc1): User initiated shutdown received. Shutting down filesystem
    form(FS_STOPPED, "XFS", XFS + r"User initiated shutdown received"),
    # XFS (sdd1): Log I/O Error (0x2) detected at xlog_ioend_work+0x6e/0x80 [xfs] (fs/xfs/xfs_log.c:1378).  Shutting down filesystem.
    # XFS (sdd1): Corruption of in-memory data (0x8) detected at xfs_defer_finish_noroll+0x2a1/0x4d0 [xfs] (fs/xfs/libxfs/xfs_defer.c:573).  Shutting down filesystem.
    # XFS (dm-3): Metadata I/O Error (0x1) detected at xfs_buf_ioend+0x1c/0x40 [xfs] (fs/xfs/xfs_buf.c:1200).  Shutting down filesystem.
    # XFS (sdd1): xfs_do_force_shutdown(0x2) called from line 1180 of file fs/xfs/xfs_log.c.  Return address = 0xffffffffa03d6b9b
    # XFS (sdd1): Log I/O Error Detected.  Shutting down filesystem
    # XFS (sde1): Corruption of in-memory data detected.  Shutting down filesystem
    # XFS (sdb1): Filesystem has been shut down due to log error (0x2).
    # XFS (sdb1): xfs_log_force: error 5 returned.
    form(
        FS_SHUTDOWN,
        "XFS",
        XFS + r"(?:[A-Z].* \((?P<flags>0x[\da-f]+)\) detected at .*Shutting down filesystem"
        r"|.*xfs_do_force_shutdown\((?P<flags_before>0x[\da-f]+)\) called|.*[Dd]etected\..*[Ss]hutting down filesystem"
        r"|Filesystem has been shut down|xfs_log_force: error -?\d+ returned)",
        each=False,
    ),
    # XFS (sdd1): Metadata corruption detected at xfs_agf_read_verify+0xde/0x100 [xfs], xfs_agf block 0x1
    # XFS (dm-0): Corruption detected. Unmount and run xfs_repair
    # XFS (sdb1): Internal error XFS_WANT_CORRUPTED_GOTO at line 1635 of file fs/xfs/libxfs/xfs_alloc.c.
    # XFS (sdb1): SB validate failed with error -117.
    # XFS (dm-2): Corruption warning: Metadata has LSN (1:8) ahead of current LSN (1:2). Please unmount and run xfs_repair
    form(
        FS_ERROR,
        "XFS",
        XFS + r"(?:Metadata (?:corruption|CRC error) detected|Corruption (?:detected|warning)|Internal error "
        r"|SB validate failed)",
        each=False,
    ),
    # XFS (sdb1): log mount failed
    # XFS (sdb1): log mount/recovery failed: error -5
    # XFS (sdb1): failed to locate log tail
    # XFS (dm-3): Failed to read root inode 0x80, error 117
    form(
        FS_ERROR,
        "XFS",
        XFS + r"(?:log mount(?:/recovery)? failed|failed to locate log tail|Failed to read root inode)",
        each=False,
    ),
    # XFS (sdd1): metadata I/O error in "xfs_trans_read_buf_map" at daddr 0x1 len 1 error 5
    # XFS (sdd1): metadata I/O error: block 0x1 ("xfs_trans_read_buf_map") error 5 numblks 1
    # XFS (sdd1): log I/O error -5
    # XFS (sdb1): writeback error on sector 1234
    # XFS (sdb1): Failing async write on buffer block 0x7470. Retrying async write.
    form(IO, "XFS", XFS + r"(?:metadata I/O error|log I/O error -?\d|writeback error|Failing async write)"),
    # --- btrfs ---
    # BTRFS error (device sda1): bdev /dev/sda1 errs: wr 0, rd 3, flush 0, corrupt 0, gen 0
    # BTRFS: error (device sdb) in btrfs_commit_transaction:2271: errno=-5 IO failure
    # BTRFS critical (device dm-1): corrupt leaf: root=1 block=57567265079296 slot=83, bad key order
    form(FS_ERROR, "BTRFS", r"BTRFS:? (?:error|critical) \(device (?P<device>[^):\s]+)[^)]*\)"),
    # BTRFS info (device sdb): forced readonly
    # BTRFS info (device sdb: state E): forced readonly
    form(READ_ONLY, "BTRFS", r"BTRFS:? info \(device (?P<device>[^):\s]+)[^)]*\): forced readonly"),
    # --- waiting for a disk ---
    # INFO: task java:1234 blocked for more than 120 seconds.
    # INFO: task jbd2/sdd1-8:611 blocked in I/O wait for more than 122 seconds.
    form(HUNG_TASK, "INFO", r"INFO: task .{1,32}:\d+ blocked (?:for more than|in I/O wait)"),
)
