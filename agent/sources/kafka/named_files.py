"""Files that a process names, read with the rights of its user."""

from __future__ import annotations

import os

from agent.host import CannotTell, Host


def text(host: Host, path: str, pid: int) -> str:
    """Below the working directory of the process if relative; empty if unreadable."""
    try:
        if not os.path.isabs(path):
            folder = str(host.touch("link", f"/proc/{pid}/cwd").facts.get("target", ""))
            path = os.path.join(folder, path) if folder else ""
        touched = host.touch("read", os.path.normpath(path), named_by=pid) if path else None
    except CannotTell:
        return ""
    return str(touched.facts.get("text", "")) if touched else ""
