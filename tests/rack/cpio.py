"""A cpio archive (newc), as the kernel takes it behind its initrd: how a host gets its own files at the first boot."""

from __future__ import annotations

from collections.abc import Mapping

FOLDER, FILE, LINK = 0o040755, 0o100000, 0o120777


def archive(files: Mapping[str, tuple[bytes, int]], below: str) -> bytes:
    """files: path -> content and mode (LINK: the content is where it leads), below one folder. Owner is root."""
    folders = {below}
    for path in files:
        parts = f"{below}/{path}".split("/")[:-1]
        folders.update("/".join(parts[: count + 1]) for count in range(len(parts)))
    rows = [(name, b"", FOLDER) for name in sorted(folders)]
    rows += [
        (f"{below}/{path}", content, mode if mode == LINK else FILE | mode) for path, (content, mode) in files.items()
    ]
    made = [_record(number, *row) for number, row in enumerate([*rows, ("TRAILER!!!", b"", 0)], 1)]
    return b"".join(made)


def _record(number: int, name: str, content: bytes, mode: int) -> bytes:
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return padded(head) + padded(content)


def padded(part: bytes) -> bytes:
    """Filled up to a multiple of 4 bytes, where the kernel looks for the next archive."""
    return part + b"\0" * (-len(part) % 4)
