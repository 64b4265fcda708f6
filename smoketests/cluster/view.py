"""The data of one cluster in one run, and how its checks read it. A host's output is data: typed and bounded.

A check names the facts that it reads as a NamedTuple (field = fact); a test holds each equal to the agent's own.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from agent.host import CannotTell, NotApplicable
from agent.status import OK, SKIPPED, Verdict, skipped, unknown
from inventory.model import Cluster, Host
from inventory.names import some

if TYPE_CHECKING:
    from smoketests.readers.kafka.model import KafkaFacts, Partition
    from smoketests.readers.zookeeper.ensemble import ZooKeeperFacts
    from smoketests.remote.fanout import HostReport

NO_ITEM = "-"
NO_REPORT = "no report, see reach"
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

    @functools.cached_property
    def hosts(self) -> tuple[Host, ...]:
        """The hosts that were to be asked."""
        return tuple(host for host in self.cluster.hosts if host.name not in self.left_out)

    @functools.cached_property
    def rows(self) -> Mapping[str, Sequence[tuple[Host, Mapping[str, Any]]]]:
        """The records of the hosts that were to be asked, by check."""
        found: dict[str, list[tuple[Host, Mapping[str, Any]]]] = {}
        for host in self.hosts:
            report = self.reports.get(host.name)
            for row in report.report.findings if report else ():
                found.setdefault(str(row.get("check", "")), []).append((host, row))
        return found

    def with_role(self, *roles: str) -> tuple[Host, ...]:
        return tuple(host for host in self.hosts if set(roles) & set(host.roles))


class ClusterFinding(NamedTuple):
    """What a cluster check found. host: the one it is about, empty when it is about several."""

    item: str
    verdict: Verdict
    facts: Mapping[str, Any] = types.MappingProxyType({})
    host: str = ""


def kafka_of(view: ClusterView) -> KafkaFacts:
    """What Kafka reported of the cluster; CannotTell or NotApplicable without it."""
    if view.kafka is not None:
        return view.kafka
    if "kafka" in view.problems:
        raise CannotTell(view.problems["kafka"])
    raise NotApplicable("the inventory names no Kafka servers of this cluster")


def partitions_of(view: ClusterView) -> Sequence[Partition]:
    """The partitions that the cluster's Kafka told; CannotTell or NotApplicable as `kafka_of`."""
    kafka = kafka_of(view)
    if kafka.partitions is None:
        raise CannotTell("; ".join(kafka.untold) or "no partition data from Kafka")
    return kafka.partitions


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
    rows = view.rows.get(check, ())
    if hosts is None or hosts is view.hosts:
        yield from rows
    else:
        wanted = {host.name for host in hosts}
        yield from (pair for pair in rows if pair[0].name in wanted)


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

    NotApplicable when the hosts that answered were not asked that check, or all of them skipped it.
    """
    heard = set(told_by)
    silent = [host for host in hosts if host.name not in heard]
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for host, row in findings(view, check, hosts):
        rows.setdefault(host.name, []).append(row)
    missing = [host for host in silent if not _skips(rows.get(host.name, []))]
    if len(silent) == len(hosts) and rows and not missing:
        why = str(next(iter(rows.values()))[0].get("reason", ""))[:120]
        raise NotApplicable(f"{check} was skipped on every host: {why}")
    answered = [host for host in hosts if host.name in view.reports and view.reports[host.name].report.findings]
    if answered and not rows:
        raise NotApplicable(f"{check} ran on no host")
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
        return "the check did not run"
    if rows:
        return str(rows[0].get("reason", ""))[:120] or "finding without facts"
    return NO_REPORT if report.reach.status != OK else "not in its report"


def typed(facts: Any, kind: type[Facts]) -> Facts | None:
    """These facts as the NamedTuple `kind`; None if one is missing or of another type."""
    if not isinstance(facts, Mapping):
        return None
    values = []
    for name, convert in _readers(kind):
        value = convert(facts[name]) if name in facts else _BAD
        if value is _BAD:
            return None
        values.append(value)
    return kind(*values)


_BAD: Any = object()
Convert = Callable[[Any], Any]
_READERS: dict[Any, tuple[tuple[str, Convert], ...]] = {}


def _readers(kind: type[Any]) -> tuple[tuple[str, Convert], ...]:
    """How each field is read; they are made once for a kind."""
    if kind not in _READERS:
        _READERS[kind] = tuple((name, _convert(wanted)) for name, wanted in typing.get_type_hints(kind).items())
    return _READERS[kind]


def _convert(wanted: Any) -> Convert:
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (typing.Union, types.UnionType):
        some_value = _convert(arguments[0])
        return lambda value: None if value is None else some_value(value)
    if origin is tuple:
        endless = arguments[-1] is Ellipsis
        kinds = tuple(_convert(argument) for argument in arguments[: 1 if endless else None])
        return lambda value: _row(value, kinds, endless)
    return _PLAIN[wanted]


def _row(value: Any, kinds: tuple[Convert, ...], endless: bool) -> Any:
    """A tuple of one kind (`tuple[str, ...]`) or of these kinds (`tuple[str, float]`)."""
    if not isinstance(value, (list, tuple)) or len(value) > LONGEST_LIST:
        return _BAD
    each = kinds * len(value) if endless else kinds
    if len(each) != len(value):
        return _BAD
    parts = tuple(convert(part) for convert, part in zip(each, value))
    return _BAD if any(part is _BAD for part in parts) else parts


def number(value: Any) -> Any:
    """A finite number of a size that can be, else a mark that it is none."""
    fits = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if fits and -LARGEST <= value <= LARGEST else _BAD


def _whole(value: Any) -> Any:
    return _BAD if number(value) is _BAD else int(value)


def _real(value: Any) -> Any:
    return _BAD if number(value) is _BAD else float(value)


_PLAIN: Mapping[Any, Convert] = {
    bool: lambda value: value if isinstance(value, bool) else _BAD,
    int: _whole,
    float: _real,
    str: lambda value: value[:LONGEST_TEXT] if isinstance(value, str) else _BAD,
}


def verdict_of(problem: Exception) -> Verdict:
    """The verdict of a judge that could not judge."""
    return skipped(str(problem)) if isinstance(problem, NotApplicable) else unknown(str(problem))
