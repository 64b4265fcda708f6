"""Rows of files and of the kernel's log in which secrets stand by no name: shares, command lines, audited commands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.recording.allowed import REMOVED, Keeper

SHARES = (
    "//nas/kafka /backup cifs username=ann,password=hunter2 0 0",
    "//nas/kafka /backup cifs ann%hunter2,vers=3.0 0 0",
    "ann:hunter2@nas:/kafka /backup nfs defaults 0 0",
    "https://ann:hunter2@dav.example.org/ /dav davfs _netdev 0 0",
    "curlftpfs#ann:hunter2@ftp.example.org /ftp fuse user 0 0",
    "sshfs#hunter2@host:/x /x fuse.sshfs defaults 0 0",
    "s3fs#bucket:hunter2 /s3 fuse _netdev 0 0",
    "/dev/sdb1 /kafka/d1 ext4 password=hunter2 0 2",
    "/dev/sdb1 /kafka/d1 ext4 defaults 0 2 hunter2",
    "/etc/../hunter2 /kafka/d1 ext4 defaults 0 2",
)
DISKS = (
    "UUID=0c9f1d6e-8f0a-4a53-9a4c-3f1f6d1f7a11 /kafka/d1 xfs defaults,noatime 0 2",
    'LABEL="kafka-d1" /kafka/d1 ext4 rw,errors=remount-ro,x-systemd.device-timeout=10s 0 2',
    "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4 /kafka/d1 xfs noatime,logbufs=8,allocsize=64m",
    "/dev/mapper/vg0-root / ext4 defaults 1 1",
    "tmpfs /tmp tmpfs size=4G,mode=1777 0 0",
    "/dev/md0 /kafka/with\\040space ext4 defaults 0 2",
)


@pytest.mark.parametrize("row", SHARES)
def test_no_secret_of_a_share_in_fstab_is_kept(row: str) -> None:
    keep = Keeper()

    assert "hunter2" not in keep.file("/etc/fstab", f"{DISKS[0]}\n{row}\n")
    assert keep.removed


@pytest.mark.parametrize("row", DISKS)
def test_a_disk_of_fstab_is_kept_as_it_is(row: str) -> None:
    assert Keeper().file("/etc/fstab", f"# by Anaconda\n{row}\n") == f"{row}\n"


SECRETS = st.from_regex(r"[A-Za-z0-9+/%!]{12,40}", fullmatch=True).map(lambda word: f"Zq7{word}")


@given(
    SECRETS,
    st.sampled_from(("{}:/x /m nfs", "//{}/x /m cifs", "u:{}@h:/ /m nfs", "//h/x /m cifs u={}", "x#{} /m fuse")),
)
def test_whatever_stands_in_the_row_of_a_share_is_removed(secret: str, row: str) -> None:
    assert secret not in Keeper().file("/etc/fstab", row.format(secret) + " 0 0\n")


def record(text: str, priority: int = 6) -> str:
    return f"{priority},339,0,-;{text}\n"


# of Linux 3.10 to 6.1, with parameters that a site made up
OF_OTHERS = (
    "Command line: BOOT_IMAGE=/vmlinuz-6.1.0-22 root=/dev/sda1 ro vault=hunter2",
    "Kernel command line: BOOT_IMAGE=/vmlinuz-6.1.0-22 root=/dev/sda1 ro vault=hunter2",
    'Unknown kernel command line parameters "BOOT_IMAGE=/vmlinuz vault=hunter2", will be passed to user space.',
    "Unknown command line parameters: splash vault=hunter2",
    "Unknown boot option `vault.unlock=hunter2': ignoring",
    "Booting kernel: `hunter2' invalid for parameter `vault'",
    "    vault=hunter2",
    "    hunter2",
    'audit: type=1400 audit(1763608320.101:12): apparmor="DENIED" comm="mysql" name="hunter2"',
    'type=1305 audit(1763608320.101:12): proctitle="hunter2"',
)
OWN = (
    "sd 0:0:0:0: [sda] Attached SCSI disk",
    "    /init",
    "    HOME=/",
    "    TERM=linux",
    "  with arguments:",
    " sda: sda1 sda2",
    "EXT4-fs error (device sdc): ext4_find_entry:1455: inode #2: comm java: reading directory lblock 0",
)


@pytest.mark.parametrize("text", OF_OTHERS)
def test_what_the_kernel_repeats_of_others_is_not_kept(text: str) -> None:
    keep = Keeper()

    assert keep.answer("kernel_records", (), [record(text)]) == [f"6,339,0,-;{REMOVED}\n"]
    assert sum(keep.removed.values()) == 1


@pytest.mark.parametrize("text", OWN)
def test_what_the_kernel_says_of_itself_is_kept(text: str) -> None:
    assert Keeper().answer("kernel_records", (), [record(text)]) == [record(text)]


@given(SECRETS, st.sampled_from(("https://ann:{}@host/x", "http://:{}@host", "x://a:b{}@h")))
def test_a_password_in_a_url_is_removed_with_the_slashes_that_people_leave_in_it(secret: str, url: str) -> None:
    assert secret not in Keeper().text("x", f"connect to {url.format(secret)} failed\n")
