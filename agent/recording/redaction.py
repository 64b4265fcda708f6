"""What names a machine, replaced throughout its recording by stand-ins that stay plausible."""

from __future__ import annotations

import os
import re
from typing import Dict, Iterable, Mapping

from agent.lazy_regex import pattern

# "serial_number": "WD-WCC4N0AAAAAA",  /  Serial number:        ZA1AAAAA
SERIAL = pattern(r'(?i)"?serial[ _]?(?:number|no\.?)"?\s*:\s*"?([\w-]{5,})')
# "serial": "ZA1AAAAA" in machine.json; "wwn": "nvme.144d-5334…", "eui.0025388…"
UDEV_SERIAL = pattern(r'"(?:serial|wwn)": "((?!0x)[^"]{5,})"')
# A World Wide Name is vendor and number: 0x5000c500a1b2c3d4 (udev), 5 000c50 0a1b2c3d4 (smartctl), or two JSON numbers.
WWN = (pattern(r"0x[0-9a-f]{7}([0-9a-f]{9})\b"), pattern(r"\b[0-9a-f] [0-9a-f]{6} ([0-9a-f]{9})\b"))
# "oui": 3152, "id": 2712847316
WWN_JSON = pattern(r'"oui":\s*\d+,\s*"id":\s*(\d+)')
MAC = pattern(r"\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b")
IPV4 = pattern(r"(?<![\d.])(?!127\.|0\.0\.0\.0|255\.)(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
# /home/ann/kafka/config/server.properties
HOME = pattern(r"/home/[\w][\w.-]{0,60}")
# a number below this is no name of anything, and replacing it would change other numbers
SMALLEST_WWN_NUMBER = 1 << 24
SHORTEST_HOST_NAME = 4


class Redaction:
    """Replaces serial numbers, World Wide Names, MAC and IP addresses, home folders and the host's name, each by
    one stand-in.

    A stand-in keeps the first two letters and the length of a serial, and the vendor's part of a World Wide Name.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        everything = "\n".join(texts.values())
        self._stand_ins: Dict[str, str] = {}
        self._add_wwns(everything)
        for number, serial in _numbered([*SERIAL.findall(everything), *UDEV_SERIAL.findall(everything)]):
            filler = "0" if serial.isdigit() else "X"
            self._stand_ins[serial] = serial[:2] + f"{number:04d}".rjust(max(len(serial) - 2, 4), filler)
        for number, mac in _numbered(MAC.findall(everything)):
            self._stand_ins[mac] = f"02:00:00:00:{number >> 8 & 255:02x}:{number & 255:02x}"
        for number, address in _numbered(IPV4.findall(everything)):
            self._stand_ins[address] = f"192.0.2.{number % 256}"
        for number, home in _numbered(HOME.findall(everything)):
            self._stand_ins[home] = f"/home/user{number}"
        name = os.uname().nodename
        if len(name) >= SHORTEST_HOST_NAME:
            self._stand_ins[name] = "recorded-host"
        longest_first = sorted(self._stand_ins, key=len, reverse=True)
        self._pattern = pattern("|".join(map(re.escape, longest_first))) if longest_first else None

    def _add_wwns(self, everything: str) -> None:
        """One number for the three ways in which a World Wide Name is written."""
        found = {int(text, 16) for form in WWN for text in form.findall(everything)}
        found.update(int(text) for text in WWN_JSON.findall(everything))
        for number, wwn in _numbered(f"{wwn:09x}" for wwn in found if wwn >= SMALLEST_WWN_NUMBER):
            self._stand_ins[wwn] = f"{number + 1:09x}"
            self._stand_ins[str(int(wwn, 16))] = str(number + 1)

    def __call__(self, text: str) -> str:
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._stand_ins[match.group()], text)


def _numbered(names: Iterable[str]) -> Iterable[tuple[int, str]]:
    """Each name once, with a number that depends on nothing but the names."""
    return enumerate(sorted(set(names)))
