"""A cpio archive (newc), as the kernel takes it behind its initrd: how a host gets its own files at the first boot."""

from __future__ import annotations

from collections.abc import Mapping

FOLDER, FILE = 0o040755, 0o100000


def archive(files: Mapping[str, tuple[bytes, int]], below: str) -> bytes:
    """files: path -> content and mode, all put below one folder. Owner is root, the time is 0."""
    folders = {below}
    for path in files:
        parts = f"{below}/{path}".split("/")[:-1]
        folders.update("/".join(parts[: count + 1]) for count in range(len(parts)))
    rows = [(name, b"", FOLDER) for name in sorted(folders)]
    rows += [(f"{below}/{path}", content, FILE | mode) for path, (content, mode) in files.items()]
    made = [_record(number, *row) for number, row in enumerate([*rows, ("TRAILER!!!", b"", 0)], 1)]
    return b"".join(made)


def _record(number: int, name: str, content: bytes, mode: int) -> bytes:
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return _padded(head) + _padded(content)


def _padded(part: bytes) -> bytes:
    return part + b"\0" * (-len(part) % 4)
