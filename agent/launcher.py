"""python -I -m agent.launcher: the agent for a controller whose user may start this, as root, and nothing else.

No arguments: sudoers names the very command. Standard input: one line of JSON, `{"expected": …, "checks": […],
"deadline_s": 60}`; when it closes, the controller is gone, and the agent ends. The request is checked here, as it comes
from a user who is not root: no other state file, no other file, no longer deadline.
"""

import io
import json
import os
import re
import runpy
import signal
import sys
import threading
import time
from typing import Any, List, NoReturn

MARK = "SMOKE-BOOT"
LONGEST_BYTES = 1 << 20
LONGEST_DEADLINE_S = 600.0
# after the agent's own deadline: for its last words
GRACE_S = 20.0
# from the asker's going to our own end, for the agent to end its tools
ENDING_S = 5
# smart, disk_balance; never an option
CHECK = re.compile(r"[a-z][a-z0-9_]{0,59}")


def main() -> None:
    """Become the agent; exit 3 where what is said is no request."""
    if len(sys.argv) > 1:
        _refuse("takes no arguments")
    _say("hello")
    line = sys.stdin.buffer.readline(LONGEST_BYTES)
    try:
        request = json.loads(line)
        arguments = arguments_of(request)
        expected = json.dumps(request["expected"])
    except (ValueError, RecursionError, TypeError, KeyError) as error:
        _refuse(f"no request: {error}")
    _end_with_the_asker(float(arguments[arguments.index("--deadline") + 1]) + GRACE_S)
    os.umask(0o077)
    sys.argv, sys.stdin = ["agent", *arguments], io.StringIO(expected)
    runpy.run_module("agent", run_name="__main__", alter_sys=True)


def arguments_of(request: Any) -> List[str]:
    """The agent's arguments for a request. ValueError where it asks for more than a controller does.

    >>> arguments_of({"expected": {}, "checks": ["smart"], "deadline_s": 60})
    ['smart', '--expected', '-', '--deadline', '60.0']
    """
    if not isinstance(request, dict) or set(request) != {"expected", "checks", "deadline_s"}:
        raise ValueError("expected an object with expected, checks and deadline_s")
    checks, deadline_s = request["checks"], request["deadline_s"]
    if not isinstance(request["expected"], dict):
        raise ValueError("expected is not an object")
    if not isinstance(checks, list) or not all(isinstance(name, str) and CHECK.fullmatch(name) for name in checks):
        raise ValueError("checks must be names of checks")
    is_number = isinstance(deadline_s, (int, float)) and not isinstance(deadline_s, bool)
    if not is_number or not 0 < deadline_s <= LONGEST_DEADLINE_S:
        raise ValueError(f"deadline_s must be a number of seconds up to {LONGEST_DEADLINE_S:.0f}")
    return [*checks, "--expected", "-", "--deadline", str(float(deadline_s))]


def _refuse(why: str) -> NoReturn:
    _say(f"cannot-start {why[:300]}")
    os._exit(3)


def _say(words: str) -> None:
    """A line for the controller, before the agent speaks."""
    sys.stdout.write(f"{MARK} {words}\n")
    sys.stdout.flush()


def _end_with_the_asker(longest_s: float) -> None:
    """When standard input closes, or the time is over, end as on a signal, so that running tools are ended too."""

    def end() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(ENDING_S)
        os._exit(143)

    def wait() -> None:
        while os.read(0, 4096):
            continue
        end()

    def clock() -> None:
        time.sleep(longest_s)
        end()

    for watching in (wait, clock):
        threading.Thread(target=watching, daemon=True).start()


if __name__ == "__main__":
    main()
