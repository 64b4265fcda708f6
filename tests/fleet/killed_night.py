"""Runs a night in this process and kills it, and its JVM, with SIGKILL when the job says a certain word.

python -m tests.fleet.killed_night STORE DATE MAIL SETTINGS WORD
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from fleet import nightly
from fleet.spark import session


def main() -> None:
    store, date, mail, settings, word = sys.argv[1:]

    def tell(words: str) -> None:
        if words.startswith(word):
            die()
        if word == "half-written" and words.startswith("compacting"):
            threading.Thread(target=die_while_writing, args=(store,), daemon=True).start()

    nightly.run(nightly.Wanted(store, date, session.Wanted(settings=settings), mail), tell)


def die_while_writing(store: str) -> None:
    """As soon as a table has a file that is not committed."""
    while not any("_temporary" in folder for folder, _folders, names in os.walk(store) if names):
        time.sleep(0.005)
    die()


def die() -> None:
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    if process:
        os.kill(process.pid, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
