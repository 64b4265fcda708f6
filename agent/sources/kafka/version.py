"""Which version of Kafka a server runs, by the name of its jar, and what that version does not log."""

from __future__ import annotations

from typing import Mapping, Optional, Sequence, Tuple

from agent.lazy_regex import pattern

# …:/opt/kafka/bin/../libs/kafka_2.12-2.8.1.jar:…    kafka_2.13-7.4.1-ccs.jar of Confluent Platform 7.4
JAR = pattern(
    r"/kafka_2\.\d{1,2}(?:\.\d{1,2})?-(\d{1,2})\.(\d{1,2})(?:\.\d{1,2}){0,2}(-c(?:cs|e))?[\w.-]{0,20}\.jar(?::|$)"
)
# Confluent Platform x.y -> the first version of Kafka of that series, to which y is added
CONFLUENT = {4: (1, 0), 5: (2, 0), 6: (2, 6), 7: (3, 0), 8: (4, 0)}
UNCLEAN_ELECTIONS = "unclean leader elections"

Version = Tuple[int, int]


def of(argv: Sequence[str]) -> Optional[Version]:
    """Major and minor version, from the class path on the command line; None where that does not tell."""
    match = next((found for found in map(JAR.search, argv) if found), None)
    if match is None:
        return None
    major, minor = int(match.group(1)), int(match.group(2))
    if match.group(3):
        first = CONFLUENT.get(major)
        return (first[0], first[1] + minor) if first else None
    return major, minor


def never_logged(version: Version, config: Mapping[str, str]) -> Tuple[str, ...]:
    """What this version has no words for. With KRaft the controller tells of unclean elections since 2.8."""
    silent = (1, 1) <= version < (3, 2) and not config.get("process.roles")
    return (UNCLEAN_ELECTIONS,) if silent else ()
