"""What is known of one cluster in one run, and how its judges read it. A host's words are data: typed, capped, no more.

A judge names the facts that it reads as a NamedTuple (field = fact); a test holds each equal to the agent's own.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from agent.status import OK, SKIPPED, Verdict, skipped, unknown
from inventory.model import Cluster, Host

if TYPE_CHECKING:
    from smoketests.fanout import HostReport
    from smoketests.readers.kafka import KafkaFacts
    from smoketests.readers.zookeeper import ZooKeeperFacts

NO_ITEM = "-"
LONGEST_TEXT = 200
LONGEST_LIST = 1000
LARGEST = 1e18


@dataclass(frozen=True)
class ClusterView:
    """Everything that one run knows of one cluster.

    reports: by host name. problems: "zookeeper" or "kafka" -> why the reader could not tell. left_out: hosts that the
    caller chose not to ask. windows: host -> the two moments of OUR clock between which it wrote its header.
    """

    cluster: Cluster
    reports: Mapping[str, HostReport]
    zookeeper: ZooKeeperFacts | None = None
    kafka: KafkaFacts | None = None
    problems: Mapping[str, str] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    windows: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def hosts(self) -> tuple[Host, ...]:
        """The hosts that were to be asked."""
        return tuple(host for host in self.cluster.hosts if host.name not in self.left_out)

    def with_role(self, *roles: str) -> tuple[Host, ...]:
        return tuple(host for host in self.hosts if set(roles) & set(host.roles))


class ClusterFinding(NamedTuple):
    """What a cluster check found. host: the one it is about, empty when it is about several."""

    item: str
    verdict: Verdict
    facts: Mapping[str, Any] = types.MappingProxyType({})
    host: str = ""


class NotAsked(Exception):
    """The question has no sense for this cluster; the reason is the finding's sentence and its status `skipped`."""


class CannotTell(Exception):
    """The question could not be answered; the reason is the finding's sentence and its status `unknown`."""


Facts = TypeVar("Facts")


@dataclass(frozen=True)
class Told(Generic[Facts]):
    """One finding of one host with the facts that were asked for, each of its type."""

    host: Host
    item: str
    status: str
    facts: Facts


def findings(
    view: ClusterView, check: str, hosts: Iterable[Host] | None = None
) -> Iterator[tuple[Host, Mapping[str, Any]]]:
    """The records of one agent check."""
    for host in view.hosts if hosts is None else hosts:
        report = view.reports.get(host.name)
        if report is not None:
            yield from ((host, row) for row in report.report.findings if row.get("check") == check)


def told(view: ClusterView, check: str, kind: type[Facts], hosts: Iterable[Host] | None = None) -> list[Told[Facts]]:
    """The facts of one agent check; a finding that lacks one of them, or has it of another type, is left out."""
    found = []
    for host, row in findings(view, check, hosts):
        facts = typed(row.get("facts"), kind)
        if facts is not None:
            found.append(Told(host, str(row.get("item", ""))[:LONGEST_TEXT], str(row.get("status", "")), facts))
    return found


def untold(view: ClusterView, check: str, hosts: Sequence[Host], told_by: Iterable[str]) -> list[Verdict]:
    """One unknown verdict that names the hosts which did not tell, and why; none when all did.

    NotAsked when the hosts that answered were not asked that check, or all of them skipped it.
    """
    silent = [host for host in hosts if host.name not in set(told_by)]
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for host, row in findings(view, check, hosts):
        rows.setdefault(host.name, []).append(row)
    missing = [host for host in silent if not _skips(rows.get(host.name, []))]
    if len(silent) == len(hosts) and rows and not missing:
        why = str(next(iter(rows.values()))[0].get("reason", ""))[:120]
        raise NotAsked(f"{check} was skipped on every host: {why}")
    answered = [host for host in hosts if host.name in view.reports and view.reports[host.name].report.findings]
    if answered and not rows:
        raise NotAsked(f"no host was asked {check}")
    if not missing:
        return []
    whys = {host.name: _why(view, host, rows.get(host.name, [])) for host in missing}
    one_reason = len(set(whys.values())) == 1
    said = f": {next(iter(whys.values()))}" if one_reason else f" ({whys[missing[0].name]}; …)"
    return [unknown(f"cannot tell for {some(list(whys))}{said}")]


def _skips(rows: Sequence[Mapping[str, Any]]) -> bool:
    return bool(rows) and all(row.get("status") == SKIPPED for row in rows)


def _why(view: ClusterView, host: Host, rows: Sequence[Mapping[str, Any]]) -> str:
    report = view.reports.get(host.name)
    if report is None:
        return "it was not asked"
    if rows:
        return str(rows[0].get("reason", ""))[:120] or "its finding has no facts"
    return report.reach.reason[:120] if report.reach.status != OK else "its report has no such finding"


def some(names: Sequence[str], most: int = 5) -> str:
    """Names for a sentence: a, b, c and 7 more."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def typed(facts: Any, kind: type[Facts]) -> Facts | None:
    """These facts as the NamedTuple `kind`; None if one is missing or of another type."""
    if not isinstance(facts, Mapping):
        return None
    values = {}
    for name, wanted in _hints(kind).items():
        if name not in facts:
            return None
        value = _value(facts[name], wanted)
        if value is _BAD:
            return None
        values[name] = value
    return kind(**values)


_BAD: Any = object()


_HINTS: dict[Any, dict[str, Any]] = {}


def _hints(kind: type[Any]) -> dict[str, Any]:
    if kind not in _HINTS:
        _HINTS[kind] = typing.get_type_hints(kind)
    return _HINTS[kind]


def _value(value: Any, wanted: Any) -> Any:
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (typing.Union, types.UnionType):
        return None if value is None else _value(value, arguments[0])
    if origin is tuple:
        return _row(value, arguments)
    return _PLAIN[wanted](value)


def _row(value: Any, arguments: tuple[Any, ...]) -> Any:
    """A tuple of one kind (`tuple[str, ...]`) or of these kinds (`tuple[str, float]`)."""
    if not isinstance(value, (list, tuple)) or len(value) > LONGEST_LIST:
        return _BAD
    kinds = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
    if len(kinds) != len(value):
        return _BAD
    parts = tuple(_value(part, kind) for part, kind in zip(value, kinds))
    return _BAD if any(part is _BAD for part in parts) else parts


def number(value: Any) -> Any:
    """A finite number of a size that can be, else a mark that it is none."""
    fits = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if fits and math.isfinite(value) and abs(value) <= LARGEST else _BAD


_PLAIN: Mapping[Any, Callable[[Any], Any]] = {
    bool: lambda value: value if isinstance(value, bool) else _BAD,
    int: lambda value: int(value) if number(value) is not _BAD else _BAD,
    float: lambda value: float(value) if number(value) is not _BAD else _BAD,
    str: lambda value: value[:LONGEST_TEXT] if isinstance(value, str) else _BAD,
}


def verdict_of(problem: Exception) -> Verdict:
    """The verdict of a judge that could not judge."""
    return skipped(str(problem)) if isinstance(problem, NotAsked) else unknown(str(problem))
