"""The first program on a remote host: find a suitable Python, receive the agent, verify it, become it.

It is sent as text with the ssh command and must be understood by any Python from 2.7 on, far enough to say "too old".
What it says before the agent speaks stands on one line after the word SMOKE-BOOT.

argv: hash of the bundle, its size in bytes when packed, then the agent's own arguments. Standard input: one line of
JSON, what the machine should be; then, if asked for, the bundle packed. When standard input closes, the asker is gone,
and so are we.
"""

import sys

# Python puts the current folder, which may be anybody's, before its own modules: it goes before the first import.
sys.path[:] = [folder for folder in sys.path if folder not in ("", ".")]

import hashlib
import io
import os
import stat
import time
import zlib

OLDEST = (3, 9)
OTHER_PYTHONS = ["python3.%d" % minor for minor in range(19, 8, -1)] + ["python3", "/usr/libexec/platform-python"]
MARK = "SMOKE-BOOT"
FOLDER = "/var/lib/fleet-smoke"
BUNDLE_KEPT_S = 24 * 3600
# from the asker's going to our own end, for the agent to end its tools
ENDING_S = 5


def say(word, detail=""):
    sys.stdout.write("%s %s %s\n" % (MARK, word, detail))
    sys.stdout.flush()


def refuse(word, detail=""):
    say(word, detail)
    os._exit(3)


def find_python():
    """Go on under a newer Python, if this machine has one."""
    tried = os.environ.get("SMOKE_BOOT_TRIED", "")
    others = OTHER_PYTHONS[len(tried) :]
    with open("/proc/self/cmdline") as file:
        source = file.read().split("\0")[3]
    for name in others:
        tried += "x"
        os.environ["SMOKE_BOOT_TRIED"] = tried
        try:
            os.execvp(name, [name, "-Es", "-c", source] + sys.argv[1:])
        except OSError:
            continue
    refuse("old-python", "%d.%d.%d" % sys.version_info[:3])


def home():
    """A folder that only we can write: root's own, or the user's."""
    if os.geteuid() == 0:
        return FOLDER
    import pwd

    return os.path.join(pwd.getpwuid(os.geteuid()).pw_dir, ".cache", "fleet-smoke")


def check_folder(folder):
    """Refuse a folder that another user owns or could write, on the whole way down to it, links included."""
    for path in (folder, os.path.realpath(folder)):
        while path != "/":
            seen = os.lstat(path)
            others_write = seen.st_mode & 0o022 and not seen.st_mode & stat.S_ISVTX and not stat.S_ISLNK(seen.st_mode)
            if seen.st_uid not in (0, os.geteuid()) or others_write or not os.path.isdir(path):
                refuse("unsafe-folder", path)
            path = os.path.dirname(path)
    if os.lstat(folder).st_mode & 0o022:
        refuse("unsafe-folder", folder)
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:
        refuse("noexec", folder)


def read_own(path):
    """A plain file's bytes; None if there is none."""
    if not os.path.isfile(path) or os.path.islink(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def take_in(folder, digest, size, asker):
    """The bundle's bytes, checked by hash: from the folder, or from the asker."""
    path = os.path.join(folder, "agent-%s.zip" % digest)
    data = read_own(path)
    if data is None or hashlib.sha256(data).hexdigest() != digest:
        say("need")
        data = unpacked(asker.read(size))
        if hashlib.sha256(data).hexdigest() != digest:
            refuse("damaged", "the bundle was altered in transit")
        put(path, data)
    return data


def unpacked(data):
    """It comes packed; what does not come whole is no bundle."""
    try:
        return zlib.decompress(data)
    except zlib.error:
        return b""


def put(path, data):
    """Write aside, then rename; nothing half is ever found there."""
    aside = "%s.%d" % (path, os.getpid())
    if os.path.lexists(aside):
        os.unlink(aside)
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.rename(aside, path)
    except OSError:
        os.unlink(aside)
        raise


def unpack(folder, digest, data):
    """The bundle's files in a folder of their own: each the same as in the checked bundle, and no others."""
    import zipfile

    target = os.path.join(folder, "agent-%s" % digest)
    with zipfile.ZipFile(io.BytesIO(data)) as bundle:
        wanted = dict((os.path.join(target, name), name) for name in bundle.namelist())
        remove_strangers(target, wanted)
        for path in sorted(wanted):
            content = bundle.read(wanted[path])
            if read_own(path) != content:
                if not os.path.isdir(os.path.dirname(path)):
                    os.makedirs(os.path.dirname(path), 0o700)
                put(path, content)
    return target


def remove_strangers(target, wanted):
    """A file that is not of the bundle could be taken for a check; what Python compiled it makes again."""
    for folder, folders, files in os.walk(target):
        if "__pycache__" in folders:
            folders.remove("__pycache__")
        for name in files:
            path = os.path.join(folder, name)
            if path not in wanted:
                os.unlink(path)


def forget_old(folder, digest):
    """Bundles of versions that nobody has used for a day are of no use to anyone."""
    import shutil

    try:
        os.utime(os.path.join(folder, "agent-%s.zip" % digest), None)
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if not name.startswith("agent-") or digest in name or time.time() - os.stat(path).st_mtime < BUNDLE_KEPT_S:
                continue
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)
    except OSError:
        return  # read-only by now: the next run tries again


def end_with_the_asker():
    """Standard input closes when the asker goes; then end like on a signal, so that running tools are ended too."""
    import signal
    import threading

    def wait():
        while os.read(0, 4096):
            continue
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(ENDING_S)
        os._exit(143)

    watcher = threading.Thread(target=wait)
    watcher.daemon = True
    watcher.start()


def become_the_agent(target, expected, arguments):
    import runpy

    sys.path[:0] = [os.path.join(target, part) for part in ("all", os.uname()[4])]
    sys.argv = ["agent"] + arguments
    sys.stdin = io.StringIO(expected)
    runpy.run_module("agent", run_name="__main__", alter_sys=True)


def main():
    if sys.version_info < OLDEST:
        find_python()
    os.environ.pop("SMOKE_BOOT_TRIED", None)
    os.umask(0o077)
    say("hello")
    digest, size = sys.argv[1], int(sys.argv[2])
    asker = io.open(0, "rb", closefd=False)  # noqa: SIM115  standard input stays
    expected = asker.readline().decode("utf-8")
    if not expected:
        os._exit(3)
    folder = home()
    try:
        if not os.path.isdir(folder):
            os.makedirs(folder, 0o700)
        check_folder(folder)
        target = unpack(folder, digest, take_in(folder, digest, size, asker))
        forget_old(folder, digest)
    except OSError as error:
        refuse("no-room", "%s: %s" % (error.filename or folder, error.strerror))
    builds = [name for name in os.listdir(target) if name != "all"]
    if builds and os.uname()[4] not in builds:
        refuse("no-build", os.uname()[4])
    end_with_the_asker()
    try:
        become_the_agent(target, expected, sys.argv[3:])
    except ImportError as error:
        refuse("cannot-start", str(error))


if __name__ == "__main__":
    main()
