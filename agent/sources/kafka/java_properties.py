"""Java properties files, as Kafka and ZooKeeper use them."""

from __future__ import annotations

import re
from typing import Dict

from agent.lazy_regex import pattern

# log.dirs=/kafka/d1   log.dirs : /kafka/d1   log.dirs /kafka/d1
PROPERTY = pattern(r"([^\s=:#!][^\s=:]*)(?:\s*[=:]\s*|\s+|$)(.*)")


def parse(text: str) -> Dict[str, str]:
    """Each `key=value`, without comments, lines continued with a backslash.

    >>> parse("log.dirs=/kafka/d1,/kafka/d2\\n# note\\nbroker.id = 3")
    {'log.dirs': '/kafka/d1,/kafka/d2', 'broker.id': '3'}
    """
    matches = (PROPERTY.match(row.strip()) for row in re.sub(r"\\\r?\n\s*", "", text).splitlines())
    return {match.group(1): match.group(2).strip() for match in matches if match}
