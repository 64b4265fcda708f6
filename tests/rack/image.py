"""The guests' system: Debian by debootstrap, built once and kept in the cache. Only Debian packages.

The cache's key is the content of this file: another list of packages is another image.
"""

from __future__ import annotations

import ast
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

PACKAGES = [
    "systemd-sysv",
    "dbus",
    "udev",
    "openssh-server",
    "python3",
    "smartmontools",
    "mdadm",
    "ethtool",
    "ipmitool",
    "chrony",
    "iproute2",
    "kmod",
    "linux-image-amd64",
    "initramfs-tools",
    "busybox",
    "zstd",
    "nvme-cli",
    "xfsprogs",
    "e2fsprogs",
    "dmsetup",
    "sdparm",
    "sg3-utils",
    "procps",
    "nftables",
    "fatrace",
    "ca-certificates",
    "libclamav12",
    "libbsd0",
    "netcat-openbsd",
]
# unpacked and not installed: ZooKeeper with its JVM would bring a whole desktop along
UNPACKED = (
    "openjdk-17-jre-headless",
    "libzookeeper-java",
    "libslf4j-java",
    "libdropwizard-metrics-java",
    "libsnappy-java",
)
# kept as packages, for the faults: a scanner and a second time daemon
ASIDE = ("clamav-daemon", "clamav-base", "ntpsec")
NOT_NEEDED = ["gpu", "media", "infiniband", "staging", "net/wireless", "isdn", "iio", "comedi"]
TOOLS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "debootstrap": "debootstrap",
    "ipmi_sim": "openipmi",
    "ipmitool": "ipmitool",
    "mkfs.ext4": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "ssh": "openssh-client",
    "setpriv": "util-linux",
}
SIZE = "3G"
BUILD_S = 1800

APART = ("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation",
         "private")  # fmt: skip

# what boots only needs a disk to boot from; the rest is loaded later, or by hand
INITRAMFS_MODULES = ("virtio_pci", "virtio_blk", "ext4")
COPY_IN = """#!/bin/sh
[ "$1" = prereqs ] && exit 0
# once: what changed there since must outlive a reboot
[ -d /rack ] && [ ! -e "$rootmnt/etc/rack" ] && cp -a /rack/. "$rootmnt/"
exit 0
"""
QUIET = [
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "man-db.timer",
    "systemd-pstore.service",
    "systemd-timesyncd.service",
    "getty@tty1.service",
    "nftables.service",
    "mdadm-shutdown.service",
    "smartmontools.service",
    "systemd-firstboot.service",
]


class CannotBuild(Exception):
    """The image cannot be made here; the message says what is missing."""


@dataclass(frozen=True)
class Image:
    """A finished image. key: the client's ssh key, host keys are beside it as `HOST_key`."""

    folder: pathlib.Path

    @property
    def disk(self) -> pathlib.Path:
        return self.folder / "root.qcow2"

    @property
    def kernel(self) -> pathlib.Path:
        return self.folder / "vmlinuz"

    @property
    def initrd(self) -> pathlib.Path:
        return self.folder / "initrd.img"


def cache() -> pathlib.Path:
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "fleet-smoke" / "rack"


def missing() -> list[str]:
    """What this machine lacks for the rack, as the packages to install."""
    path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    lacking = [package for tool, package in TOOLS.items() if not shutil.which(tool, path=path)]
    return list(dict.fromkeys(lacking)) + ([] if os.geteuid() == 0 else ["root's rights"])


def build() -> Image:
    """The image of this list of packages: from the cache, or made now (some minutes). CannotBuild."""
    if missing():
        raise CannotBuild(f"the rack needs {', '.join(missing())}")
    # the meaning of this file: another comment or line break is the same image
    recipe = ast.dump(ast.parse(pathlib.Path(__file__).read_text()))
    key = hashlib.sha256(recipe.encode()).hexdigest()[:16]
    folder = cache() / key
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            aside = cache() / f"{key}.part"
            if str(aside) in pathlib.Path("/proc/self/mounts").read_text():
                raise CannotBuild(f"something is mounted below {aside}: unmount it first")
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir()
            _make(aside)
            aside.rename(folder)
            _forget_others(folder)
    return Image(folder)


def _forget_others(kept: pathlib.Path) -> None:
    for other in cache().iterdir():
        if (other / "root.qcow2").exists() and other != kept:
            shutil.rmtree(other)


def _make(folder: pathlib.Path) -> None:
    root = folder / "rootfs"
    _run("debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", _suite(), root, _mirror(), into=folder)
    _put_aside(root)
    _configure(root)
    kernel = next((root / "boot").glob("vmlinuz-*"))
    version = kernel.name.partition("-")[2]
    for name in NOT_NEEDED:
        for place in (f"drivers/{name}", name):
            shutil.rmtree(root / "lib/modules" / version / "kernel" / place, ignore_errors=True)
    _run("chroot", root, "depmod", version)
    _run("chroot", root, "update-initramfs", "-u", "-k", version)
    shutil.copy(kernel, folder / "vmlinuz")
    shutil.copy(root / "boot" / f"initrd.img-{version}", folder / "initrd.img")
    for useless in ("usr/share/doc", "usr/share/locale", "usr/share/man", "var/cache/apt", "var/lib/apt/lists"):
        shutil.rmtree(root / useless, ignore_errors=True)
    raw = folder / "root.raw"
    _run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1", "-d", root, raw, SIZE)
    _run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, folder / "root.qcow2")
    raw.unlink()
    shutil.rmtree(root)


def _put_aside(root: pathlib.Path) -> None:
    aside = root / "opt/aside"
    aside.mkdir(parents=True)
    _run("chroot", root, "sh", "-c", 'cd /opt/aside && apt-get download "$@"', "sh", *UNPACKED, *ASIDE)
    for package in UNPACKED:
        (archive,) = aside.glob(f"{package}_*.deb")
        _run("dpkg-deb", "-x", archive, root)
        archive.unlink()


def _configure(root: pathlib.Path) -> None:
    """What is alike on all hosts and never changes; the rest comes in with the boot, see machines.py."""
    tools = root / "etc/initramfs-tools"
    (tools / "modules").write_text("\n".join(INITRAMFS_MODULES) + "\n")
    (tools / "conf.d/rack").write_text("MODULES=list\nCOMPRESS=zstd\nBUSYBOX=y\n")
    script = tools / "scripts/init-bottom/rack"
    script.write_text(COPY_IN)
    script.chmod(0o755)
    # mdadm's hook would take every array of this machine into the initrd
    (root / "usr/share/initramfs-tools/hooks/mdadm").unlink(missing_ok=True)
    _run("chroot", root, "systemctl", "mask", "--quiet", *QUIET)
    _run("chroot", root, "systemctl", "enable", "--quiet", "systemd-networkd", "ssh", "chrony")
    (root / "etc/fstab").write_text("/dev/vda / ext4 errors=remount-ro 0 1\n")
    (root / "etc/machine-id").write_text("")


def _run(*argv: str | pathlib.Path, into: pathlib.Path | None = None) -> None:
    """A step of the building; CannotBuild with its last words.

    In namespaces of its own, which end with us: debootstrap mounts /proc below its folder, and who tidies up after a
    build that was killed must not find it there.
    """
    words = [*APART, *(str(word) for word in argv)]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    environment["PATH"] = environment.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", env=environment, timeout=BUILD_S,
                          cwd=into, stdin=subprocess.DEVNULL, check=False)  # fmt: skip
    if done.returncode:
        said = f"{done.stdout[-800:]}{done.stderr[-800:]}"
        raise CannotBuild(f"{' '.join(str(word) for word in argv[:3])} …: exit code {done.returncode}: {said}")


def _apt_source(field: str, words: Sequence[str]) -> str:
    """Of this machine's own sources: the rack asks no other registry."""
    done = subprocess.run(["apt-get", "indextargets", "--format", f"$({field}) $(RELEASE) $(COMPONENT)", *words],
                          capture_output=True, text=True, check=False)  # fmt: skip
    return done.stdout


def _suite() -> str:
    rows = (row.partition("=") for row in pathlib.Path("/etc/os-release").read_text().splitlines())
    told = {name: value.strip('"') for name, _, value in rows}
    if told.get("ID") != "debian":
        raise CannotBuild("the rack's image is made from Debian's packages, and this machine runs something else")
    return told["VERSION_CODENAME"]


def _mirror() -> str:
    rows = [row.split() for row in _apt_source("REPO_URI", ["Created-By: Packages"]).splitlines()]
    for row in rows:
        if row[1:] == [_suite(), "main"]:
            return row[0]
    raise CannotBuild("apt knows no source of Debian's main component (apt-get update)")


if __name__ == "__main__":
    print(build().folder)
