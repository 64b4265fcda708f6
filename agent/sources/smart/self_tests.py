"""Which self-tests of a disk failed, by its log, and by the status of the last one where there is no log."""

from __future__ import annotations

import re
from typing import List, Optional, Sequence

from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.smart import quirks
from agent.sources.smart.report import Facts, number, text


class SelfTest(NamedTuple):
    kind: str
    outcome: str
    hours: Optional[int]


# What failed tests are called: "Completed: read failure", "Fatal or unknown error", "Completed, segment failed",
# "Failed in first segment", "Unknown error, incomplete", "Completed: handling damage??"
FAILED_TEST = pattern(r"fail|fatal|damage|unknown error", re.IGNORECASE)

# "# 1  Vendor (0xea)       Completed: electrical failure 40%     65280         65535": nobody's test, but rubbish
NO_TEST = pattern(r"(Vendor|Reserved|Unknown) *\(?0x", re.IGNORECASE)
CLOCK_SLACK_HOURS = 24

# The upper half of the status byte: the last test failed, in which part is in these numbers (ATA ACS-3, 7.52.5.3).
FAILED_STATUS = range(3, 9)


def with_self_tests(facts: Facts, tests: Sequence[SelfTest]) -> Facts:
    """Self-tests, newest first: those that failed since the last extended one that went well."""
    failed: List[SelfTest] = []
    for test in tests:
        if not _believable(test, facts):
            continue
        if FAILED_TEST.search(test.outcome) and not test.outcome.startswith("Abort"):
            failed.append(test)
        elif re.match("Completed", test.outcome) and re.search("extended|long", test.kind, re.IGNORECASE):
            break
    if not failed:
        return facts._replace(self_tests_failed=0)
    newest = failed[0]
    at = "" if newest.hours is None else f" at {newest.hours} h"
    return facts._replace(self_tests_failed=len(failed), self_test_failure=f"{newest.kind}: {newest.outcome}{at}")


def _believable(test: SelfTest, facts: Facts) -> bool:
    """Whether this is a test of a known kind, at an hour that the disk has lived to see."""
    if NO_TEST.match(test.kind) or quirks.SELF_TESTS in quirks.untrue(facts.model):
        return False
    known = test.hours is not None and facts.power_on_hours is not None
    return not known or (test.hours or 0) <= (facts.power_on_hours or 0) + CLOCK_SLACK_HOURS


def with_last_status(facts: Facts, status: Optional[int], passed: Optional[bool], words: str) -> Facts:
    """What an ATA disk says of its last self-test, for one that keeps no log of them."""
    failed = passed is False or (status is not None and status >> 4 in FAILED_STATUS)
    if facts.self_tests_failed or not failed:
        return facts
    return facts._replace(self_tests_failed=1, self_test_failure=f"the last one: {words or f'status {status}'}")


# "Self-test execution status:      ( 121)	The previous self-test completed having"
# "					the read element of the test failed."
LAST_TEST = pattern(r"^Self-test execution status:\s+\(\s*(\d{1,3})\)\s*(.*)")


def with_last_status_line(facts: Facts, lines: Sequence[str]) -> Facts:
    """The same from smartctl's text."""
    said = next(((match, at) for at, match in enumerate(map(LAST_TEST.match, lines)) if match), None)
    if said is None:
        return facts
    words = f"{said[0].group(2)} {' '.join(lines[said[1] + 1 : said[1] + 2])}"
    return with_last_status(facts, number(said[0].group(1)), None, text(words))
