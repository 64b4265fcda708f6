"""Did no other maintenance of this cluster get GO within the hour, and are no findings still accepted?

A gate without --hold takes no lock: that another maintenance started minutes ago is known from the store alone.

Warned: another maintenance of the cluster got GO within the last hour, and none after it since; findings of this
cluster are accepted until a later day.

Cannot tell: never; a store without decisions has nothing to report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agent.formats.text import printable
from agent.status import warning
from inventory.names import some
from smoketests.gate.context import GateContext
from smoketests.gate.decision import GO, RuleResult, ruled

LIMITS: Mapping[str, Any] = {"named": 3}


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    others = [] if situation.after else list(_others(situation))
    accepted = [one.words for one in situation.accepted]
    verdicts = []
    if others:
        verdicts.append(warning(f"within the last hour, {some(others, limits['named'])}: is that over?"))
    if accepted:
        verdicts.append(warning(f"accepted earlier: {some(accepted, limits['named'])}"))
    return ruled(
        verdicts, "no other maintenance got GO within the last hour", others=others[:50], standing=accepted[:50]
    )


def _others(situation: GateContext) -> Iterator[str]:
    """GO for other hosts, or for these by somebody else, each once; what was done since is left out. Newest first."""
    done: set[frozenset[str]] = set()
    me = situation.who.partition(" (pid")[0]
    for record in situation.recent:
        asked, who = record["maintenance"], str(record.get("who", ""))[:200].partition(" (pid")[0]
        hosts = frozenset(map(str, asked.get("hosts") or ()))
        if record.get("answer") != GO or hosts in done:
            continue
        done.add(hosts)
        if asked.get("after") or (hosts == situation.names and who == me):
            continue
        purpose = str(asked.get("purpose", ""))[:40]
        yield printable(f"{purpose} of {some(sorted(hosts), 3)} got GO at {str(record.get('at', ''))[:20]} ({who})")
