"""The kernel's own idea of its clock: adjtimex(2)."""

from __future__ import annotations

import ctypes
import os

from agent.host import CannotTell, KernelClock


class Timex(ctypes.Structure):
    """struct timex of <sys/timex.h> on 64-bit Linux."""

    _fields_ = [
        (name, ctypes.c_long if kind == "l" else ctypes.c_int)
        for name, kind in (
            ("modes", "i"),
            ("offset", "l"),
            ("freq", "l"),
            ("maxerror", "l"),
            ("esterror", "l"),
            ("status", "i"),
            ("constant", "l"),
            ("precision", "l"),
            ("tolerance", "l"),
            ("time_sec", "l"),
            ("time_usec", "l"),
            ("tick", "l"),
            ("ppsfreq", "l"),
            ("jitter", "l"),
            ("shift", "i"),
            ("stabil", "l"),
            ("jitcnt", "l"),
            ("calcnt", "l"),
            ("errcnt", "l"),
            ("stbcnt", "l"),
            ("tai", "i"),
        )
    ] + [("padding", ctypes.c_int * 11)]


STA_UNSYNC = 0x40
STA_NANO = 0x2000
TIME_ERROR = 5


def ask() -> KernelClock:
    libc = ctypes.CDLL(None, use_errno=True)
    timex = Timex()  # modes 0: only asks
    code = libc.adjtimex(ctypes.byref(timex))
    if code < 0:
        raise CannotTell(f"adjtimex: {os.strerror(ctypes.get_errno())}")
    unit_ms = 1e-6 if timex.status & STA_NANO else 1e-3
    return KernelClock(
        code != TIME_ERROR and not timex.status & STA_UNSYNC, timex.offset * unit_ms, timex.maxerror * 1e-3
    )
