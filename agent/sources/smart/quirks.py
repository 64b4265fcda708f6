"""Models whose SMART data mean something else than the names say: one row each, with its source.

What holds for a whole kind of disk (no rated writes of hard disks, no sector limits for SSDs) is no quirk and stands in
smart_attributes.py.
"""

from __future__ import annotations

from typing import FrozenSet, Tuple

from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple

SELF_TESTS, WEAR_STATISTIC = "self-test log", "wear statistic"


class Quirk(NamedTuple):
    """models: a regular expression on the model's name, from its beginning. untrue: what of it is not to be believed:
    numbers of attributes, SELF_TESTS or WEAR_STATISTIC. source: who says so.
    """

    models: str
    untrue: Tuple[object, ...]
    source: str


QUIRKS = (
    Quirk(
        r"(INTEL )?SSDSA2CW",
        (SELF_TESTS,),
        "linuxhw/EnterpriseDrive: 13 drives of the series 320 log tests of reserved types at hours they never reached",
    ),
    Quirk(
        r"(INTEL )?SSDSC2(BW|CT|CW)\w*|KINGSTON (SV300|SH103|SKC300)|(Corsair Force|OCZ-(AGILITY|VERTEX)3)",
        (WEAR_STATISTIC,),
        "linuxhw/EnterpriseDrive: SandForce Driven SSDs (drivedb.h) print 255 with 73 to 100 % of life left",
    ),
    Quirk(
        r"(Crucial_)?CT\d+MX500",
        (197,),
        "smartmontools drivedb.h names it Bogus_Current_Pend_Sect: it goes to 1 and back by itself",
    ),
    Quirk(
        r"TOSHIBA MG03ACA",
        (WEAR_STATISTIC,),
        "linuxhw/EnterpriseDrive: Percentage Used of this hard disk follows its power-on hours",
    ),
)


def untrue(model: str) -> FrozenSet[object]:
    """What is not to be believed of this model."""
    return frozenset(word for quirk in QUIRKS if pattern(quirk.models).match(model) for word in quirk.untrue)
