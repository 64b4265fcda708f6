"""What the baseboard management controller (BMC) says, in band or over LAN, asked through ipmitool.

BMCs are slow (15 s and more for a long event log), so each question is asked once per run for all checks, with a
deadline of its own; one that does not reply to the first command gets no other.
"""

from __future__ import annotations

import re
from typing import List, Mapping, Sequence, Tuple

from agent.expected import Bmc
from agent.host import Answer, CannotTell, Host, NotApplicable, Stuck, cached_per_run
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.bmc import sensors as ipmi_sensors
from agent.sources.bmc.sensors import Sensor

DEVICE = "/dev/ipmi0"

# The first question also opens the session. All of them together must fit in a run of 60 s.
FIRST_DEADLINE_S = 12.0
SENSORS_DEADLINE_S = 28.0
LOG_DEADLINE_S = 15.0
# What one item of a check may take: find asks for the sensors, look for the event log.
CHECK_DEADLINE_S = 45.0

# The strong suite first; a BMC that has only the old one says so at once.
CIPHER_SUITES = ("17", "3")
# Error in open session response message : invalid authentication algorithm
# Unsupported cipher suite ID : 17
OTHER_SUITE = pattern(r"cipher suite|invalid (?:authentication|integrity|confidentiality) algorithm", re.I)

# ipmitool's words for a refused session -> ours
REFUSALS = (
    # > RAKP 2 HMAC is invalid
    (pattern(r"HMAC is invalid"), "refused the password of user {user}"),
    # RAKP 2 message indicates an error : unauthorized name
    (pattern(r"unauthorized (?:name|role)|invalid role", re.I), "has no user {user}, or not at USER level"),
    # Error in open session response message : insufficient resources for session
    (pattern(r"insufficient resources", re.I), "has no free session"),
    # Address lookup for bmc-a01 failed
    (pattern(r"address lookup|could not resolve|getaddrinfo", re.I), "has an address that cannot be looked up"),
)
# noise that `-v` adds
CHATTER = pattern(r"IANA PEN|HPM\.x|VSO Capabilities|Discovered IPMB|Invalid completion code received")


class Listing(NamedTuple):
    """All sensors; complete: ipmitool itself had nothing to complain of."""

    sensors: Tuple[Sensor, ...]
    complete: bool


def name(bmc: Bmc) -> str:
    return f"the BMC at {bmc.address}" if is_lan(bmc) else "the BMC"


def is_lan(bmc: Bmc) -> bool:
    return bmc.via == "lan" or (not bmc.via and bool(bmc.address))


def need_bmc(host: Host) -> None:
    """NotApplicable where there is no BMC to ask; CannotTell where the inventory says one that cannot be asked."""
    bmc = host.expected.bmc
    if bmc.via == "none":
        raise NotApplicable("no BMC in this inventory")
    if bmc.via not in ("", "inband", "lan"):
        raise CannotTell(f"bmc.via in the inventory is {bmc.via[:20]!r}, expected inband, lan or none")
    if is_lan(bmc):
        if not bmc.address:
            raise CannotTell("bmc.via is lan, but the inventory has no bmc.address")
    elif not host.exists(DEVICE):
        if bmc.via == "inband":
            raise CannotTell(
                f"no BMC device {DEVICE}, although bmc.via is inband (load the kernel module ipmi_devintf)"
            )
        raise NotApplicable(f"no BMC device {DEVICE}")


@cached_per_run
def sensors(host: Host) -> Listing:
    """Every sensor with its state."""
    answer = ask(host, SENSORS_DEADLINE_S, "sdr", "elist")
    found = ipmi_sensors.parse(answer.out)
    if not found:
        raise CannotTell(f"{name(host.expected.bmc)} listed no sensors: {complaint(answer)}")
    return Listing(tuple(found), answer.code == 0)


@cached_per_run
def chassis(host: Host) -> Mapping[str, str]:
    """`chassis status` by its keys in lower case: `{"system power": "on", "drive fault": "false", …}`."""
    need_bmc(host)
    _suite, answer = _first(host)
    found = parse_chassis(answer.out)
    if "system power" not in found:
        raise CannotTell(f"{name(host.expected.bmc)} returned no chassis status: {complaint(answer)}")
    return found


def parse_chassis(text: str) -> Mapping[str, str]:
    """Main Power Fault     : false"""
    pairs = (row.partition(":") for row in text.splitlines()[:100])
    return {key.strip().lower()[:60]: value.strip()[:60] for key, colon, value in pairs if colon and key.strip()}


def ask(host: Host, deadline_s: float, *words: str) -> Answer:
    """One question to the BMC; CannotTell when it does not answer or lets nobody in."""
    need_bmc(host)
    suite, _answer = _first(host)
    return _run(host, suite, deadline_s, words)


@cached_per_run
def _first(host: Host) -> Tuple[str, Answer]:
    """The cipher suite that works, and the chassis status, which is the cheapest question."""
    bmc = host.expected.bmc
    if not is_lan(bmc):
        answer = _run(host, "", FIRST_DEADLINE_S, ("chassis", "status"))
        if answer.code and re.search("could not open device", answer.err, re.I):
            raise CannotTell(f"ipmitool cannot open {DEVICE}: {complaint(answer)}")
        return "", answer
    for suite in CIPHER_SUITES:
        # -v: the reason of a refusal is printed with it alone
        answer = _run(host, suite, FIRST_DEADLINE_S, ("-v", "chassis", "status"))
        if not (answer.code and OTHER_SUITE.search(answer.err)):
            break
    if answer.code and "session" in answer.err:
        raise CannotTell(_refusal(bmc, answer))
    return suite, answer


def _run(host: Host, suite: str, deadline_s: float, words: Sequence[str]) -> Answer:
    bmc = host.expected.bmc
    try:
        if not is_lan(bmc):
            return host.run("ipmitool", *words, deadline_s=deadline_s)
        return host.run(
            *("ipmitool", "-I", "lanplus", "-H", bmc.address, "-p", str(bmc.port), "-U", bmc.user),
            *("-E", "-L", "USER", "-C", suite, *words),
            deadline_s=deadline_s,
            secret_env="IPMI_PASSWORD",  # noqa: S106  the variable's name
            secret_from=bmc.password_env,
        )
    except Stuck:
        raise Stuck(f"{name(bmc)} ({words[-2]} {words[-1]})", deadline_s) from None


def _refusal(bmc: Bmc, answer: Answer) -> str:
    for words, ours in REFUSALS:
        if words.search(answer.err):
            return f"{name(bmc)} {ours.format(user=bmc.user or '(none)')}"
    return f"no IPMI session with {name(bmc)}, port {bmc.port}: {complaint(answer)}"


def complaint(answer: Answer) -> str:
    """The first line of a command's error output that says something, or its exit code."""
    said: List[str] = [row.strip(" >") for row in answer.err.splitlines() if row.strip() and not CHATTER.search(row)]
    return re.sub(r"[^ -~]", "", said[0])[:120] if said else f"ipmitool failed with exit code {answer.code}"
