"""Names as ranges, kafka-a[01-14], and the same finding of many hosts as one row. Pure.

Findings fold when status, check, playbook and sentence are identical, once each host's own name and each
finding's own item are taken out of it; and then only hosts of which the very same items are concerned share a row.
Checks of a cluster that are unknown for the same reason share a row as well. Findings that shared_fate
attributes to one cause follow its row, which names them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from agent.formats.text import printable
from agent.status import BY_SEVERITY, UNKNOWN
from inventory.names import groups, natural

# stand for the finding's own item and host; no printable text has them
ITEM, HOST = "\x00", "\x01"
NO_ITEM = "-"
CAUSES = "shared_fate"
# of one host: a machine that reports thousands of problems must not hide the others
MOST_ROWS_OF_A_HOST = 20
# of `/kafka/d[1-12],/mnt/x`: this many groups are named
MOST_GROUPS = 6

Finding = Mapping[str, Any]


class Row(NamedTuple):
    """One line of the table: each of `items` on each of `hosts`. since: when the oldest of them was first seen.

    What is about a cluster as a whole has the cluster's name in place of a host's. Where several checks share a row,
    they are its items.
    """

    status: str
    hosts: tuple[str, ...]
    check: str
    items: tuple[str, ...]
    sentence: str
    playbook: str = ""
    since: str = ""
    new: int = 0

    @property
    def findings(self) -> int:
        return len(self.hosts) * len(self.items)


def fold(findings: Iterable[Finding], previous_at: str = "") -> list[Row]:
    """Rows, worst first. previous_at: findings first seen after that moment count as new."""
    alike: dict[tuple[str, ...], dict[str, list[Finding]]] = {}
    for finding in _without_effects(list(findings)):
        alike.setdefault(_key(finding), {}).setdefault(_who(finding), []).append(finding)
    rows = [row for key, hosts in alike.items() for row in _rows(key, hosts, previous_at)]
    return _capped(sorted(rows, key=_order))


def _without_effects(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Without those that the row of their cause names; a cause hides nothing that is worse than itself."""
    causes = {
        (finding["host"], *map(str, pair)): BY_SEVERITY.index(finding["status"])
        for finding in findings
        if finding["check"] == CAUSES and finding["host"]
        for pair in _pairs(finding.get("facts"))
    }
    for finding in findings:
        who = finding["host"], finding["check"], finding["item"]
        if finding["check"] == CAUSES or causes.get(who, -1) < BY_SEVERITY.index(finding["status"]):
            yield finding


def _pairs(facts: Any) -> list[Sequence[Any]]:
    """facts.seen_by, the check and item of each effect; a host's words may have any shape."""
    given = facts.get("seen_by") if isinstance(facts, Mapping) else None
    return [pair for pair in given if isinstance(pair, list) and len(pair) == 2] if isinstance(given, list) else []


def _order(row: Row) -> tuple[Any, ...]:
    return (-BY_SEVERITY.index(row.status), not row.new, natural(row.hosts[0]), row.check, row.items)


def _who(finding: Finding) -> str:
    return printable(finding["host"] or finding["cluster"])


def _key(finding: Finding) -> tuple[str, ...]:
    """What must be the same; the sentence with marks for what may differ. No check where it may be any."""
    words = printable(finding["reason"])
    words = _marked(words, printable(finding["item"]), ITEM)
    words = _marked(words, _who(finding), HOST)
    any_check = finding["status"] == UNKNOWN and not finding["host"] and ITEM not in words
    return finding["status"], "" if any_check else finding["check"], finding["playbook"], words


def _marked(words: str, own: str, mark: str) -> str:
    """The text with `mark` in place of the name `own` where it stands as a word.

    A name without a letter is left: 2 may as well be a count.
    """
    if len(own) < 2 or own not in words or not any(letter.isalpha() for letter in own):
        return words
    return re.sub(rf"(?<![\w/.-]){re.escape(own)}(?![\w/-]|\.\w)", mark, words)


def _rows(key: Sequence[str], hosts: Mapping[str, Sequence[Finding]], previous_at: str) -> Iterator[Row]:
    """A row for all hosts of which the same items are concerned."""
    same: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for host, found in hosts.items():
        checks = tuple(sorted({printable(finding["check"]) for finding in found}))
        items = tuple(sorted({printable(finding["item"]) for finding in found}, key=natural))
        same.setdefault((checks, items), []).append(host)
    status, _check, playbook, words = key
    for (checks, items), names in same.items():
        of_row = [finding for name in names for finding in hosts[name]]
        seen = [finding["first_seen"] for finding in of_row]
        one = len(checks) == 1
        leads = one and items not in ((NO_ITEM,), checks, tuple(names))
        yield Row(
            status,
            tuple(sorted(names, key=natural)),
            checks[0] if one else f"{len(checks)} checks",
            items if one else checks,
            _sentence(words, items, names, leads) + ("" if one else f" ({', '.join(checks)})"),
            printable(playbook),
            min(seen) if min(seen) < max(finding["at"] for finding in of_row) else "",
            sum(moment > previous_at for moment in seen) if previous_at else 0,
        )


def _sentence(words: str, items: Sequence[str], names: Iterable[str], leads: bool) -> str:
    """The reason, led by the items where it does not name them and they say more than host and check do."""
    short = some(items)
    if leads and ITEM not in words and not (len(items) == 1 and short in words):
        words = f"{ITEM}: {words}"
    return words.replace(ITEM, short).replace(HOST, some(names))


def some(names: Iterable[str]) -> str:
    """Names in short, the first of them where they are many."""
    named = list(names)
    parts = groups(named)
    if len(parts) <= MOST_GROUPS:
        return ",".join(parts)
    return f"{','.join(parts[:MOST_GROUPS])},… ({len(named)} in all)"


def _capped(rows: Sequence[Row]) -> list[Row]:
    """Without what one host says beyond its share; a row at the end of its kind says how much that is."""
    kept: list[Row] = []
    said: dict[str, int] = {}
    more: dict[str, list[Row]] = {}
    for row in rows:
        host = row.hosts[0]
        said[host] = said.get(host, 0) + 1
        if len(row.hosts) == 1 and host and said[host] > MOST_ROWS_OF_A_HOST:
            more.setdefault(host, []).append(row)
        else:
            kept.append(row)
    kept += [_and_more(left) for left in more.values()]
    return sorted(kept, key=lambda row: -BY_SEVERITY.index(row.status)) if more else kept


def _and_more(left: Sequence[Row]) -> Row:
    """One row for all that a host says beyond its share."""
    first = left[0]
    count = sum(row.findings for row in left)
    return first._replace(
        check="…", items=(NO_ITEM,), sentence=f"and {count} more findings of {first.hosts[0]} alone", playbook="",
        since="", new=sum(row.new for row in left),
    )  # fmt: skip
