"""The first program on a far host: find a fit Python, take the agent in, check it, become it.

It is sent as text with the ssh command and must be understood by any Python from 2.7 on, far enough to say "too old".
What it says before the agent speaks stands on one line after the word SMOKE-BOOT.

argv: hash of the bundle, its size in bytes, then the agent's own arguments. Standard input: one line of JSON, what the
machine should be; then, if asked for, the bundle. When standard input closes, the asker is gone, and so are we.
"""

import hashlib
import io
import os
import sys

OLDEST = (3, 9)
OTHER_PYTHONS = ["python3.%d" % minor for minor in range(14, 8, -1)] + ["/usr/libexec/platform-python"]
MARK = "SMOKE-BOOT"


def say(word, detail=""):
    sys.stdout.write("%s %s %s\n" % (MARK, word, detail))
    sys.stdout.flush()


def refuse(word, detail=""):
    say(word, detail)
    os._exit(3)


def find_python():
    """Go on under a newer Python, if this machine has one."""
    with open("/proc/self/cmdline") as file:
        source = file.read().split("\0")[3]
    for name in OTHER_PYTHONS:
        try:
            os.execvp(name, [name, "-I", "-c", source] + sys.argv[1:])
        except OSError:
            continue
    refuse("old-python", "%d.%d.%d" % sys.version_info[:3])


def home():
    """A folder that only we can write: root's own, or the user's."""
    if os.geteuid() == 0:
        return "/var/lib/fleet-smoke"
    import pwd

    return os.path.join(pwd.getpwuid(os.geteuid()).pw_dir, ".cache", "fleet-smoke")


def check_folder(folder):
    """Refuse a folder that another user owns or could write, on the whole way down to it."""
    path = folder
    while path != "/":
        seen = os.lstat(path)
        sticky = seen.st_mode & 0o1000
        if seen.st_uid not in (0, os.geteuid()) or (seen.st_mode & 0o022 and not sticky) or not os.path.isdir(path):
            refuse("unsafe-folder", path)
        path = os.path.dirname(path)


def read_exactly(size):
    parts = []
    while size > 0:
        part = os.read(0, min(size, 1 << 16))
        if not part:
            os._exit(3)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_line():
    letters = []  # type: list[bytes]
    while True:
        letter = os.read(0, 1)
        if not letter:
            os._exit(3)
        if letter == b"\n":
            return b"".join(letters).decode("utf-8")
        letters.append(letter)


def take_in(folder, digest, size):
    """The bundle's bytes, checked by hash: from the folder, or from the asker."""
    path = os.path.join(folder, "agent-%s.zip" % digest)
    if os.path.isfile(path) and not os.path.islink(path):
        with open(path, "rb") as file:
            data = file.read()
        if hashlib.sha256(data).hexdigest() == digest:
            return data
    say("need")
    data = read_exactly(size)
    if hashlib.sha256(data).hexdigest() != digest:
        refuse("damaged", "the bundle changed on its way")
    put(path, data)
    return data


def put(path, data):
    """Write aside, sync, rename; nothing half is ever found there."""
    aside = "%s.%d" % (path, os.getpid())
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(aside, path)
    except OSError:
        os.unlink(aside)
        raise


def unpack(folder, digest, data):
    """The bundle's files in a folder of their own, each the same as in the checked bundle."""
    import zipfile

    target = os.path.join(folder, "agent-%s" % digest)
    with zipfile.ZipFile(io.BytesIO(data)) as bundle:
        for name in bundle.namelist():
            path = os.path.join(target, name)
            content = bundle.read(name)
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as file:
                    if file.read() == content:
                        continue
            if not os.path.isdir(os.path.dirname(path)):
                os.makedirs(os.path.dirname(path), 0o700)
            put(path, content)
    return target


def forget_old(folder, digest):
    """Bundles of earlier versions are of no use to anyone."""
    import shutil

    for name in os.listdir(folder):
        if name.startswith("agent-") and digest not in name:
            path = os.path.join(folder, name)
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)


def end_with_the_asker():
    """Standard input closes when the asker goes; then end like on a signal, so that running tools are ended too."""
    import signal
    import threading

    def wait():
        while os.read(0, 4096):
            continue
        os.kill(os.getpid(), signal.SIGTERM)

    watcher = threading.Thread(target=wait)
    watcher.daemon = True
    watcher.start()


def become_the_agent(target, expected, arguments):
    import platform
    import runpy

    sys.path[:0] = [os.path.join(target, part) for part in ("all", platform.machine())]
    sys.argv = ["agent"] + arguments
    sys.stdin = io.StringIO(expected)
    runpy.run_module("agent", run_name="__main__", alter_sys=True)


def main():
    if sys.version_info < OLDEST:
        find_python()
    os.umask(0o077)
    say("hello")
    digest, size = sys.argv[1], int(sys.argv[2])
    expected = read_line()
    folder = home()
    try:
        if not os.path.isdir(folder):
            os.makedirs(folder, 0o700)
        check_folder(folder)
        data = take_in(folder, digest, size)
        target = unpack(folder, digest, data)
        forget_old(folder, digest)
    except OSError as error:
        refuse("no-room", "%s: %s" % (error.filename or folder, error.strerror))
    end_with_the_asker()
    try:
        become_the_agent(target, expected, sys.argv[3:])
    except ImportError as error:
        refuse("cannot-start", str(error))


if __name__ == "__main__":
    main()
