"""Files of a store, on this machine or wherever Hadoop reaches (hdfs://): the few verbs that the job needs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import re
import shutil
import time
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

# Small: a chunk may grow a thousandfold.
CHUNK = 1 << 16
BLOCK = 1 << 20
GZIP = 31
LOCK_HOURS = 6


class Entry(NamedTuple):
    """One name in a folder. `version` changes whenever the content does (size and time of change)."""

    name: str
    is_folder: bool
    size: int
    version: str


class Busy(Exception):
    """Somebody else is at work on this store."""


class Files(Protocol):
    """Paths are relative to the root of the store. What is not there raises FileNotFoundError, or lists as empty."""

    def url(self, path: str) -> str: ...
    def list(self, path: str) -> list[Entry]: ...
    def read(self, path: str) -> bytes: ...
    def replace(self, path: str, content: bytes) -> None: ...
    def delete(self, path: str) -> None: ...
    def settle(self, path: str) -> None: ...
    def read_problem(self, path: str) -> str: ...
    def gzip_problem(self, path: str) -> str: ...
    def stamp(self, path: str) -> str: ...
    def lock(self, path: str) -> contextlib.AbstractContextManager[None]: ...


OBJECT_STORES = ("s3:", "s3a:", "s3n:", "gs:", "abfs:", "abfss:", "wasb:", "wasbs:", "oss:", "cosn:")


def is_object_store(root: str) -> bool:
    """Where a file that is there already can be created again, no lock keeps two jobs apart."""
    return root.lower().startswith(OBJECT_STORES)


def is_local(root: str) -> bool:
    return not re.match(r"[a-z][a-z0-9+.-]*://", root)


class LocalFiles:
    """A folder of this machine."""

    def __init__(self, root: str) -> None:
        self._root = os.path.abspath(root)

    def url(self, path: str) -> str:
        return os.path.join(self._root, path)

    def list(self, path: str) -> list[Entry]:
        try:
            with os.scandir(self.url(path)) as found:
                return sorted(_entry(entry) for entry in found if not entry.is_symlink())
        except FileNotFoundError:
            return []

    def read(self, path: str) -> bytes:
        with open(self.url(path), "rb") as file:
            return file.read()

    def replace(self, path: str, content: bytes) -> None:
        """All of the new content or all of the old one, also after a power cut."""
        target = self.url(path)
        folder = os.path.dirname(target)
        os.makedirs(folder, exist_ok=True)
        aside = os.path.join(folder, f".{os.path.basename(target)}.{os.getpid()}")
        with open(aside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, target)
        _sync(folder)

    def delete(self, path: str) -> None:
        target = self.url(path)
        if os.path.isdir(target) and not os.path.islink(target):
            shutil.rmtree(target)
        elif os.path.lexists(target):
            os.unlink(target)

    def settle(self, path: str) -> None:
        """On the disk for good: every file and folder below."""
        for folder, _folders, names in os.walk(self.url(path)):
            for name in names:
                _sync(os.path.join(folder, name))
            _sync(folder)
        _sync(os.path.dirname(self.url(path)))

    def read_problem(self, path: str) -> str:
        """Why a file cannot be read to its end, or nothing."""
        try:
            with open(self.url(path), "rb") as file:
                while file.read(BLOCK):
                    pass
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def stamp(self, path: str) -> str:
        """Size and checksum: what a file that was cut or overwritten does not have any more."""
        checksum = size = 0
        with open(self.url(path), "rb") as file:
            for block in iter(lambda: file.read(BLOCK), b""):
                checksum, size = zlib.crc32(block, checksum), size + len(block)
        return f"{size} {checksum:08x}"

    def gzip_problem(self, path: str) -> str:
        """What is wrong with a gzip file, or nothing: one that was cut short must not be read as if it were whole."""
        try:
            with open(self.url(path), "rb") as file:
                return _gzip_problem(iter(lambda: file.read(CHUNK), b""))
        except OSError as error:
            return error.strerror or str(error)

    @contextlib.contextmanager
    def lock(self, path: str) -> Iterator[None]:
        """Held by this process alone, and gone with it, however it ends."""
        target = self.url(path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Busy(f"another nightly job is at work on {self._root}") from None
            yield


def _entry(entry: os.DirEntry[str]) -> Entry:
    status = entry.stat(follow_symlinks=False)
    return Entry(entry.name, entry.is_dir(follow_symlinks=False), status.st_size, f"{status.st_mtime_ns:x}")


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _gzip_problem(chunks: Iterator[bytes]) -> str:
    """One or more whole gzip members, and nothing behind them."""
    member = zlib.decompressobj(wbits=GZIP)
    begun = False
    try:
        for chunk in chunks:
            while chunk:
                begun = True
                member.decompress(chunk)
                chunk = member.unused_data
                if member.eof:
                    begun, member = False, zlib.decompressobj(wbits=GZIP)
    except zlib.error as error:
        return f"not whole gzip: {error}"
    return "gzip that was cut short" if begun else ""


class HadoopFiles:
    """A folder behind a Hadoop file system, through Spark's own JVM."""

    def __init__(self, root: str, spark: Any) -> None:
        self._root = root.rstrip("/")
        self._jvm = spark.sparkContext._jvm
        path = self._jvm.org.apache.hadoop.fs.Path(self._root)
        self._fs = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())

    def url(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.url(path))

    def list(self, path: str) -> list[Entry]:
        if not self._fs.exists(self._path(path)):
            return []
        found = (
            Entry(
                status.getPath().getName(),
                status.isDirectory(),
                status.getLen(),
                f"{status.getModificationTime():x}",
            )
            for status in self._fs.listStatus(self._path(path))
        )
        return sorted(found)

    def read(self, path: str) -> bytes:
        if not self._fs.exists(self._path(path)):
            raise FileNotFoundError(self.url(path))
        stream = self._fs.open(self._path(path))
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def replace(self, path: str, content: bytes) -> None:
        """Written aside and renamed in one step."""
        aside = f"{path}.aside"
        stream = self._fs.create(self._path(aside), True)
        try:
            stream.write(bytearray(content))
            if self._root.startswith("hdfs:"):
                stream.hsync()
        finally:
            stream.close()
        context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(
            self._path(path).toUri(), self._fs.getConf()
        )
        options = self._jvm.java.lang.reflect.Array.newInstance(
            self._jvm.java.lang.Class.forName("org.apache.hadoop.fs.Options$Rename"), 1
        )
        overwrite = getattr(self._jvm, "org.apache.hadoop.fs.Options$Rename").OVERWRITE
        self._jvm.java.lang.reflect.Array.set(options, 0, overwrite)
        context.rename(self._path(aside), self._path(path), options)

    def delete(self, path: str) -> None:
        self._fs.delete(self._path(path), True)

    def settle(self, path: str) -> None:
        """Hadoop's file systems keep what was closed."""

    def read_problem(self, path: str) -> str:
        """As LocalFiles' one."""
        try:
            self._fs.open(self._path(path)).close()
        except Exception as error:
            return _java_words(error)
        return ""

    def stamp(self, path: str) -> str:
        """The size alone: these file systems have checksums of their own."""
        if not self._fs.exists(self._path(path)):
            raise FileNotFoundError(self.url(path))
        return f"{self._fs.getFileStatus(self._path(path)).getLen()}"

    def gzip_problem(self, path: str) -> str:
        """As LocalFiles' one; the bytes stay in the JVM."""
        raw = self._fs.open(self._path(path))
        try:
            whole = self._jvm.java.util.zip.GZIPInputStream(raw)
            sink = self._jvm.java.io.OutputStream.nullOutputStream()
            self._jvm.org.apache.commons.io.IOUtils.copyLarge(whole, sink)
        except Exception as error:
            return f"not whole gzip: {_java_words(error)}"
        finally:
            raw.close()
        return ""

    @contextlib.contextmanager
    def lock(self, path: str) -> Iterator[None]:
        """A file that only one can create. One left behind by a killed job is taken over when its process is gone,
        or, where that was another machine's, after LOCK_HOURS."""
        mine = f"{platform.node()} {os.getpid()} {time.time():.0f}"
        if self._left_behind(path):
            self.delete(path)
        try:
            stream = self._fs.create(self._path(path), False)
        except Exception:
            held = f"another nightly job is at work ({self.url(path)})"
            raise Busy(held) from None
        stream.write(bytearray(mine.encode()))
        stream.close()
        try:
            yield
        finally:
            self.delete(path)

    def _left_behind(self, path: str) -> bool:
        try:
            node, pid, at = self.read(path).decode().split()
        except (FileNotFoundError, ValueError):
            return False
        if time.time() - float(at) > LOCK_HOURS * 3600:
            return True
        return node == platform.node() and not os.path.exists(f"/proc/{pid}")


def _java_words(error: Exception) -> str:
    return str(getattr(error, "java_exception", error)).splitlines()[0][:300]
