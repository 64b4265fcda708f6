"""What kinds of file systems there are, and what a dead, damaged or full one answers with."""

from __future__ import annotations

READ_ONLY_OPTIONS = ("ro", "emergency_ro", "shutdown")
# What a dead or damaged file system answers with, and the playbook; any other error is not its own.
SICK = {
    **dict.fromkeys(("EROFS", "EIO", "EUCLEAN", "EBADMSG", "ESHUTDOWN"), "hidden-readonly"),
    **dict.fromkeys(("ENXIO", "ENODEV", "ENOMEDIUM", "EREMOTEIO", "ETIMEDOUT"), "replace-jbod-disk"),
    **dict.fromkeys(("ENOTCONN", "ECONNABORTED", "ESTALE"), "hung-disk"),
}
FULL = ("ENOSPC", "EDQUOT")

MEMORY = "in memory, lost after a reboot"
OVERLAY = "an overlay, not the file system of a data disk"
NETWORK = "a network file system, not a disk of this machine"
NO_DISK = {
    **dict.fromkeys(("tmpfs", "ramfs", "devtmpfs"), MEMORY),
    **dict.fromkeys(("overlay", "aufs", "squashfs"), OVERLAY),
    **dict.fromkeys(
        ("nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "glusterfs", "lustre", "beegfs", "9p", "afs"), NETWORK
    ),
    **dict.fromkeys(("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone"), NETWORK),
}


def no_disk(fstype: str) -> str:
    """What a file system of this type stands on, in words, if that is no disk of this machine; else empty."""
    return NO_DISK.get(fstype, "")
