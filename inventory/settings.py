"""One host's settings from several levels: the most specific level wins, key by key.

A setting is a path, such as ("limits", "smart", "wear_warning"), and its values with their places. Mappings add up
over the levels; a list replaces all earlier values; `false` takes a mount, an interface or a skip away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from inventory import ranges
from inventory.model import Bmc, Host, Interface, Mount
from inventory.problems import Place, Problem
from inventory.tree import LIST, MAP, TEXT, Node

Path = tuple[str, ...]


class Said(NamedTuple):
    value: Any
    place: Place


Settings = dict[Path, Said]

TEXTS = ("address", "user", "python", "layout", "rack", "drawer", "power_feed", "maintenance", "firewall")
# one value for each host of a range; the host's name may stand in it
PER_HOST = (("address",), ("rack",), ("drawer",), ("power_feed",), ("broker_id",), ("bmc", "address"))
NAMED = (("address",), ("bmc", "address"), ("bmc", "password_file"))
HOST_MARK = "{host}"
ZOOKEEPER_PORT = 2181
KAFKA_PORT = 9092
MOST_PARTS = 512
# what is said of a part that should be there, and of one that should not
THERE, GONE = object(), object()
RESET = "="


class Reading:
    """One level of an inventory as settings, with the problems that the schema cannot see."""

    def __init__(self, problems: list[Problem]) -> None:
        self._problems = problems
        self._known: dict[int, tuple[Node, Settings]] = {}

    def of(self, node: Node | None) -> Settings:
        """The settings of a mapping; read once however many hosts share it."""
        if node is None or node.kind != MAP:
            return {}
        if id(node) not in self._known:
            # the node is kept, so that its id stays its own
            self._known[id(node)] = (node, self._read(node))
        return self._known[id(node)][1]

    def _read(self, node: Node) -> Settings:
        found: Settings = {}
        for key, place, value in node.pairs():
            reader = READERS.get(key)
            if reader:
                reader(self, key, place, value, found)
        return found

    def _text(self, key: str, place: Place, node: Node, found: Settings) -> None:
        if node.kind == TEXT:
            found[key,] = Said(node.value, place)

    def _plain(self, key: str, place: Place, node: Node, found: Settings) -> None:
        if node.kind == TEXT:
            found[key,] = Said(node.to_plain(), place)

    def _sudo(self, key: str, place: Place, node: Node, found: Settings) -> None:
        found[key,] = Said({True: "yes", False: "no"}.get(node.to_plain(), node.value), place)

    def _texts(self, key: str, place: Place, node: Node, found: Settings) -> None:
        found[key,] = Said(tuple(self._each_once(node, lambda one: [one.value])), place)

    def _numbers(self, key: str, place: Place, node: Node, found: Settings) -> None:
        found[key,] = Said(tuple(self._each_once(node, lambda one: [one.to_plain()])), place)

    def _endpoints(self, key: str, place: Place, node: Node, found: Settings) -> None:
        found[key,] = Said(self.endpoints(node, ZOOKEEPER_PORT), place)

    def _bmc(self, key: str, _place: Place, node: Node, found: Settings) -> None:
        for name, place, value in node.pairs():
            found[key, name] = Said(value.to_plain() if name == "port" else value.value, place)

    def _skip(self, key: str, _place: Place, node: Node, found: Settings) -> None:
        for name, place, value in node.pairs():
            said = value.to_plain()
            found[key, name] = Said(GONE if said is False else str(said), place)

    def _limits(self, key: str, _place: Place, node: Node, found: Settings) -> None:
        for check, _check_place, limits in node.pairs():
            for limit, place, value in limits.pairs():
                if limit != "items":
                    found[key, check, limit] = Said(value.to_plain(), place)
                    continue
                for item, _item_place, of_item in value.pairs():
                    for name, at, one in of_item.pairs():
                        found[key, check, "items", item, name] = Said(one.to_plain(), at)

    def _parts(self, key: str, place: Place, node: Node, found: Settings) -> None:
        """Mounts or interfaces: a list of names, or a mapping with what is known of each."""
        if node.kind == LIST:
            found[key, RESET] = Said(None, place)
            for name in self._each_once(node, lambda one: self.expand(one.value, one.place)):
                found[key, name] = Said(THERE, place)
            return
        for names, at, details in node.pairs():
            for name in self.expand(names, at):
                if (key, name) in found:
                    self.problem(at, f"{name} is listed twice")
                self._part(key, name, at, details, found)

    def _part(self, key: str, name: str, place: Place, details: Node, found: Settings) -> None:
        plain = details.to_plain() if details.kind == TEXT else None
        found[key, name] = Said(GONE if plain is False else THERE, place)
        if isinstance(plain, int) and not isinstance(plain, bool):
            found[key, name, "speed_mbps"] = Said(plain, place)
        for detail, at, value in details.pairs():
            found[key, name, detail] = Said(value.to_plain() if detail == "speed_mbps" else value.value, at)

    def _each_once(self, node: Node, read: Callable[[Node], Iterable[Any]]) -> list[Any]:
        found: dict[Any, None] = {}
        for one in node.value if node.kind == LIST else ():
            if one.kind != TEXT:
                continue  # the schema said what is wrong with it
            for value in read(one):
                if value in found:
                    self.problem(one.place, f"{value} is listed twice")
                found[value] = None
        if len(found) > MOST_PARTS:
            self.problem(node.place, f"expands to {len(found)} entries, more than {MOST_PARTS}")
        return list(found)[:MOST_PARTS]

    def expand(self, text: str, place: Place) -> list[str]:
        try:
            return ranges.expand(text)
        except ranges.BadRange as error:
            self.problem(place, str(error))
            return []

    def problem(self, place: Place, words: str) -> None:
        self._problems.append(Problem(place, words))

    def endpoints(self, node: Node | None, port: int) -> tuple[str, ...]:
        """`host:port` for each, ranges written out."""
        if node is None:
            return ()
        return tuple(self._each_once(node, lambda one: [_with_port(name, port) for name in self._of(one)]))

    def _of(self, one: Node) -> list[str]:
        return self.expand(one.value, one.place)


def _with_port(name: str, port: int) -> str:
    """zk1:2181 of `zk1`; the chroot of `zk1/kafka` stays behind the port."""
    server, slash, chroot = name.partition("/")
    return name if server.rpartition("]")[2].count(":") else f"{server}:{port}{slash}{chroot}"


READERS: Mapping[str, Callable[[Reading, str, Place, Node, Settings], None]] = {
    **dict.fromkeys(TEXTS, Reading._text),
    **dict.fromkeys(("port", "psus", "write_probe", "broker_id"), Reading._plain),
    **dict.fromkeys(("mounts", "interfaces"), Reading._parts),
    **dict.fromkeys(("roles", "disks"), Reading._texts),
    "sudo": Reading._sudo,
    "ports": Reading._numbers,
    "zookeeper": Reading._endpoints,
    "bmc": Reading._bmc,
    "limits": Reading._limits,
    "skip": Reading._skip,
}


def merged(levels: Iterable[Settings]) -> Settings:
    """The levels over each other, the most specific last."""
    found: Settings = {}
    for level in levels:
        for path, said in level.items():
            if path[-1] == RESET and len(path) == 2:
                _forget(found, path[:1])
            elif said.value is GONE:
                _forget(found, path)
            else:
                found[path] = said
    return found


def _forget(found: Settings, above: Path) -> None:
    for path in [path for path in found if path[: len(above)] == above]:
        del found[path]


def of_one(own: Settings, index: int, count: int, reading: Reading) -> Settings:
    """What was said beside a range of hosts, for one of them: its part of each range."""
    ranged = [path for path in PER_HOST if path in own and _is_range(own[path])]
    if not ranged:
        return own
    made = dict(own)
    for path in ranged:
        said = own[path]
        values = reading.expand(said.value, said.place)
        if values and len(values) != count:
            reading.problem(said.place, f"{path[-1]}: {len(values)} values, but the hosts' range has {count}")
        value = values[index] if index < len(values) else "0"
        made[path] = Said(int(value) if path[-1] == "broker_id" else value, said.place)
    return made


def for_host(settings: Settings, name: str, reading: Reading) -> Settings:
    """All levels together for one host: its name where {host} stands."""
    made = dict(settings)
    for path in PER_HOST:
        if path in made and _is_range(made[path]):
            said = made.pop(path)
            reading.problem(said.place, f"{path[-1]}: a range is allowed only beside the hosts' own range")
    for path in NAMED:
        said_of = made.get(path)
        if said_of and HOST_MARK in said_of.value:
            made[path] = Said(said_of.value.replace(HOST_MARK, name), said_of.place)
    return made


def _is_range(said: Said) -> bool:
    return isinstance(said.value, str) and ranges.is_range(said.value)


def host(name: str, cluster: str, settings: Settings) -> Host:
    """One machine of the model."""
    simple: dict[str, Any] = {path[0]: said.value for path, said in settings.items() if len(path) == 1}
    below = _nested(settings)
    if "bmc" in below:
        simple["bmc"] = Bmc(**below["bmc"])
    return Host(
        name=name,
        cluster=cluster,
        mounts=tuple(Mount(path, **details) for path, details in below.get("mounts", {}).items()),
        interfaces=tuple(Interface(which, **details) for which, details in below.get("interfaces", {}).items()),
        limits=below.get("limits", {}),
        skip=below.get("skip", {}),
        **simple,
    )


def _nested(settings: Settings) -> dict[str, dict[str, Any]]:
    """The paths of more than one part as dicts in dicts."""
    found: dict[str, dict[str, Any]] = {}
    for path, said in settings.items():
        if len(path) == 1:
            continue
        place: dict[str, Any] = found
        for part in path[:-1]:
            place = place.setdefault(part, {})
        if said.value is THERE:
            place.setdefault(path[-1], {})
        else:
            place[path[-1]] = said.value
    return found


def limits(settings: Settings) -> dict[str, Any]:
    return _nested({path: said for path, said in settings.items() if path[0] == "limits"}).get("limits", {})


def origin(settings: Settings, names: Sequence[str] = ()) -> dict[str, Place]:
    """Where each setting was said: `limits.smart.wear_warning` -> its place."""
    return {".".join(path): said.place for path, said in settings.items() if not names or path[0] in names}
