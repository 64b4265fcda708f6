"""The agent on this machine, in a process of its own, so that a hanging agent does not block the controller."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from agent.status import EXIT_CODES
from inventory.errors import SmokeError

# What the agent needs beyond its own deadline to start, to save its memory and to print.
GRACE_S = 10.0
# from the end of its output to its own
LAST_S = 5.0


class AgentFailed(SmokeError):
    """The agent gave no report, or not the whole of it; the message says why."""


def lines(arguments: Sequence[str], deadline_s: float) -> Iterator[str]:
    """Run `python -m agent` and give its lines as they come."""
    process = subprocess.Popen(
        # isolated: a folder named `agent` where the user happens to stand must not be run
        [sys.executable, "-I", "-m", "agent", "--deadline", str(deadline_s), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield from _lines(process, time.monotonic() + deadline_s + GRACE_S)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            # never waited for: it may be in uninterruptible sleep
            process.returncode = -signal.SIGKILL


def _lines(process: subprocess.Popen[bytes], until: float) -> Iterator[str]:
    assert process.stdout and process.stderr
    rest, errors, seen = b"", b"", 0
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(until - time.monotonic(), 0))
            if not ready:
                raise AgentFailed("the agent timed out in an uninterruptible wait")
            for key, _events in ready:
                part = os.read(key.fd, 1 << 16)
                if not part:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stderr:
                    errors = (errors + part)[-4000:]
                else:
                    *whole, rest = (rest + part).split(b"\n")
                    seen += len(whole)
                    yield from (line.decode("utf-8", "replace") for line in whole)
    words = errors.decode("utf-8", "replace").strip().splitlines()
    if words or not seen:
        raise AgentFailed(words[-1] if words else "the agent printed nothing")
    code = process.wait(LAST_S)
    if rest or code not in EXIT_CODES.values():
        how = f"killed by signal {-code}" if code < 0 else f"exit {code}"
        raise AgentFailed(f"the agent's report was truncated ({how})")
