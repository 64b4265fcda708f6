"""python -m tests.rack.time_source FILE: a time server for the guests, on loopback; writes its port to FILE."""

from __future__ import annotations

import pathlib
import signal
import sys

from tests.real.parts.time_server import TimeServer

if __name__ == "__main__":
    served = TimeServer(0.0)
    file = pathlib.Path(sys.argv[1])
    aside = file.with_suffix(".part")
    aside.write_text(str(served.port))
    aside.rename(file)
    signal.pause()
