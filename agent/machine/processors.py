"""On which processors the agent's own threads run: on one, while what they start may run on all.

The interpreter runs one thread at a time. On several processors its threads wake each other up only to wait for its
lock, which took a quarter of a run's processor time.
"""

from __future__ import annotations

import contextlib
import os
from typing import FrozenSet, Iterator

_ALL: FrozenSet[int] = frozenset()


def stay_on_one() -> None:
    """This thread, and those that it starts, from now on; nothing where that may not be."""
    global _ALL
    try:
        allowed = os.sched_getaffinity(0)
        with open("/proc/thread-self/stat", "rb") as file:
            now_on = int(file.read().rpartition(b")")[2].split()[36])
        os.sched_setaffinity(0, {now_on})
    except (OSError, ValueError, IndexError):
        return
    _ALL = frozenset(allowed)


def on_all() -> None:
    """This thread again on all processors: of a process that was started, or that is to start one."""
    if _ALL:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, _ALL)


@contextlib.contextmanager
def starting_others() -> Iterator[None]:
    """What this thread starts within may run on all processors."""
    if not _ALL:
        yield
        return
    own = os.sched_getaffinity(0)
    on_all()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, own)


def let_go(pid: int) -> None:
    """All threads of another process of ours on the processors that we may use: its own may be taken."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for task in tasks:
        with contextlib.suppress(OSError):  # a thread that has ended meanwhile
            os.sched_setaffinity(int(task), os.sched_getaffinity(0))
