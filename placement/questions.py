"""The plans: each function takes a snapshot and returns a plan, or raises the reason why there is none. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from placement import leaders as flow
from placement.board import Board
from placement.errors import Impossible, PlacementError
from placement.level import level as levelled
from placement.plan import ANY, Change, Plan
from placement.refill import refill
from placement.snapshot import Snapshot
from placement.targets import Band, bands, least_bytes


class Options(NamedTuple):
    """topics, not_topics: expressions on the whole name. avoid: brokers that neither receive nor give.

    accept: brokers that may receive in spite of their findings. guess: a missing size is the topic's median.
    """

    topics: str = ""
    not_topics: str = ""
    avoid: tuple[int, ...] = ()
    accept: tuple[int, ...] = ()
    same_rack: bool = False
    guess: bool = False
    band_percent: float = 1.0
    most_bytes: int | None = None


DEFAULTS = Options()


def replace(snapshot: Snapshot, leaver: int, successor: int, question: str, options: Options = DEFAULTS) -> Plan:
    """One broker's slots, all of them and in the same order, for another broker."""
    if leaver == successor:
        raise PlacementError(f"broker {leaver} cannot replace itself")
    snapshot.broker(leaver), snapshot.broker(successor)
    board = _board(snapshot, [successor], options)
    giver, receiver = board.number[leaver], board.number[successor]
    if not board.receives[receiver]:
        raise Impossible(f"broker {successor} cannot receive: {_why_not(snapshot, successor)}")
    _movable(board, giver)
    refill(board, board.targets(), _held(board, giver))
    return _plan(snapshot, board, question, notes=_left(board, giver))


def drain(snapshot: Snapshot, leavers: Sequence[int], question: str, options: Options = DEFAULTS) -> Plan:
    """All replicas of these brokers to the others; what is well elsewhere stays where it is."""
    for one in leavers:
        snapshot.broker(one)
    board = _board(snapshot, _receivers(snapshot, options, leavers), options)
    numbers = [board.number[one] for one in leavers]
    for giver in numbers:
        _movable(board, giver)
    refill(board, board.targets(), [hole for giver in numbers for hole in _held(board, giver)])
    return _plan(snapshot, board, question, notes=[note for giver in numbers for note in _left(board, giver)])


def disk(snapshot: Snapshot, broker: int, path: str, question: str, options: Options = DEFAULTS) -> Plan:
    """What lies in one log dir to the broker's other log dirs where it fits, else to other brokers.

    Of a dir that has failed all goes to other brokers: Kafka does not say what lay there, so all of the broker's
    replicas count that are in no log dir and out of sync.
    """
    row = snapshot.broker(broker)
    if path not in {one.path for one in row.log_dirs}:
        known = ", ".join(one.path for one in row.log_dirs)
        raise PlacementError(f"broker {broker} has no log dir {path} (it has {known})")
    board = _board(snapshot, _receivers(snapshot, options), options)
    giver = board.number[broker]
    failed = next(one.error for one in row.log_dirs if one.path == path)
    for at, volume in enumerate(board.volumes[giver]):
        if path in volume.paths:
            board.room[giver][at] = -1
    lost = _lay_in(board, broker, path, failed)
    if failed and not lost:
        raise PlacementError(f"{path} of broker {broker} has failed ({failed}), and no replica of it is out of sync")
    within = row.live and not failed  # Kafka cannot copy from a dir that failed: the others send
    leaving = []
    for partition in sorted(lost, key=lambda one: (-board.sizes[one], one)):
        if not within or board.sizes[partition] > board.largest_room(giver):
            leaving.append((partition, giver))
        else:
            board.take(partition, giver)
    refill(board, board.targets(), leaving)
    return _plan(snapshot, board, question, notes=_left(board, giver, path if not failed else ""))


def _lay_in(board: Board, broker: int, path: str, failed: str) -> list[int]:
    """Partitions of one log dir."""
    found = []
    for number, one in enumerate(board.partitions):
        if broker not in one.replicas or board.fixed[number]:
            continue
        now = one.log_dirs[one.replicas.index(broker)]
        if now == path or (failed and not now and broker not in one.in_sync):
            found.append(number)
    return found


def level(snapshot: Snapshot, question: str, options: Options = DEFAULTS) -> Plan:
    """Every broker within the band around its share, with as few bytes as can be. New brokers are filled by it too.

    Brokers that are not live or in `avoid` stay as they are; one with hardware findings gives, and does not receive.
    """
    receivers = _receivers(snapshot, options)
    apart = {row.id for row in snapshot.brokers if not row.live or not row.volumes or row.id in options.avoid}

    def made() -> Board:
        board = _board(snapshot, receivers, options)
        board.shares = [broker.id not in apart for broker in board.brokers]
        board.keeps_elsewhere = True
        return board

    start = made()
    wanted = start.targets()
    allowed = [
        band if shares else Band(0.0, 0.0, float("inf"))
        for band, shares in zip(bands(wanted, options.band_percent), start.shares, strict=True)
    ]
    board = levelled(made, wanted, allowed, options.most_bytes)
    outside = [
        broker.id for broker, band, held in zip(board.brokers, allowed, board.held, strict=True)
        if not band.low - 1 <= held <= band.high + 1
    ]  # fmt: skip
    notes = [f"brokers {_few(apart)} take no part: not live, or left out"] if apart else []
    if outside:
        notes.append(f"brokers {_few(outside)} stay outside the band: {_limit(options)}")
    return _plan(snapshot, board, question, least_bytes(start.held, allowed), notes, lead=True)


def _limit(options: Options) -> str:
    return "--most-bytes, or no legal move is left" if options.most_bytes else "no legal move is left"


def _few(ids: Iterable[int]) -> str:
    found = sorted(ids)
    return ", ".join(map(str, found[:10])) + (f" and {len(found) - 10} more" if len(found) > 10 else "")


def replicas(snapshot: Snapshot, factor: int, question: str, options: Options = DEFAULTS) -> Plan:
    """A topic's replication factor up or down. Down keeps the racks, the leader and who is in sync."""
    receivers = _receivers(snapshot, options)
    if factor < 1 or factor > len(receivers):
        raise Impossible(f"{factor} replicas on {len(receivers)} brokers that may receive")
    board = _board(snapshot, receivers, options)
    chosen = [at for at, row in enumerate(board.partitions) if _wanted(row.topic, options) and not board.fixed[at]]
    if not chosen:
        raise PlacementError(f"no topic matches {options.topics!r}")
    holes = []
    for partition in chosen:
        while len(board.replicas[partition]) > factor:
            board.remove(partition, _least_needed(board, partition))
        board.racks_needed[partition] = max(board.racks_needed[partition], min(factor, len(set(board.rack))))
        holes += [(partition, -1)] * (factor - len(board.replicas[partition]))
    refill(board, board.targets(), holes)
    return _plan(snapshot, board, question)


def leaders(snapshot: Snapshot, question: str, options: Options = DEFAULTS) -> Plan:
    """Even counts of leaders with the fewest changes; only the order of replicas changes."""
    board = _board(snapshot, _receivers(snapshot, options), options)
    _lead(board, [False] * len(board.partitions), most=None)
    return _plan(snapshot, board, question)


def _lead(board: Board, free: Sequence[bool], most: Sequence[int] | None) -> None:
    """Puts who is to lead first in the order of replicas."""
    choices = []
    for partition, found in enumerate(board.replicas):
        row = board.partitions[partition]
        in_sync = {board.number[one] for one in row.in_sync}
        able = [
            one for one in found if board.brokers[one].live and (one in in_sync or one not in board.original(partition))
        ]
        choices.append(able if not board.fixed[partition] and able else [found[0]])
    for partition, found in enumerate(choices):
        if board.replicas[partition][0] not in found:
            board.lead(partition, found[0])
    now = [found[0] for found in board.replicas]
    for partition, leader in enumerate(flow.even(now, choices, len(board.brokers), free, most)):
        board.lead(partition, leader)


def _least_needed(board: Board, partition: int) -> int:
    """The replica to remove: dead first, then out of sync, then one whose rack has another, then the fullest's."""
    found, row = board.replicas[partition], board.partitions[partition]
    in_sync = {board.number[one] for one in row.in_sync}
    racks = [board.rack[one] for one in found]
    leads_well = found[0] in in_sync and board.brokers[found[0]].live
    return max(
        found[1:] if leads_well and len(found) > 1 else found,
        key=lambda one: (
            not board.brokers[one].live,
            one not in in_sync,
            racks.count(board.rack[one]) > 1,
            board.held[one] / (board.capacity[one] or 1),
            -one,
        ),
    )


def _board(snapshot: Snapshot, receivers: Iterable[int], options: Options) -> Board:
    board = Board(snapshot, receivers, options.guess)
    for at, row in enumerate(board.partitions):
        board.fixed[at] |= not _wanted(row.topic, options)
    board.set_quota(board.targets())
    board.same_rack = options.same_rack
    return board


def _receivers(snapshot: Snapshot, options: Options, without: Sequence[int] = ()) -> list[int]:
    barred = {*without, *options.avoid}
    found = [
        row.id for row in snapshot.brokers
        if row.live and row.id not in barred and row.volumes and not row.trouble
        and (not row.unknown or row.id in options.accept)
    ]  # fmt: skip
    if not found:
        raise Impossible(
            "no broker may receive: " + "; ".join(_why_not(snapshot, row.id) for row in snapshot.brokers[:5])
        )
    return found


def _why_not(snapshot: Snapshot, broker: int) -> str:
    row = snapshot.broker(broker)
    reason = "left out" if row.volumes else "no log dir that works"
    if not row.live:
        reason = "not live"
    elif row.trouble or row.unknown:
        reason = row.trouble[0] if row.trouble else f"{row.unknown[0]} (--accept {broker})"
    return f"broker {broker} ({row.host}): {reason}"


def _wanted(topic: str, options: Options) -> bool:
    wanted = not options.topics or re.fullmatch(options.topics, topic) is not None
    return wanted and not (options.not_topics and re.fullmatch(options.not_topics, topic))


def _held(board: Board, giver: int) -> list[tuple[int, int]]:
    """What a broker gives away: of the chosen topics, and not what is being moved already."""
    return [(one, giver) for _size, one in board.sorted_on[giver] if not board.fixed[one]]


def _left(board: Board, giver: int, path: str = "") -> list[str]:
    """A note where something stays on a broker that was to give all away (or all of one log dir)."""
    broker = board.brokers[giver].id
    stays = [
        row for at, row in enumerate(board.partitions)
        if board.fixed[at] and giver in board.replicas[at] and path in ("", row.log_dirs[row.replicas.index(broker)])
    ]  # fmt: skip
    moving = sum(bool(row.adding) for row in stays)
    if not stays:
        return []
    why = f"{moving} being reassigned, {len(stays) - moving} not chosen by --topics"
    return [f"{len(stays)} partitions STAY on broker {broker}: {why}"]


def _movable(board: Board, giver: int) -> None:
    """Impossible where the broker that leaves holds the only replica that is in sync and cannot send it any more."""
    row = board.brokers[giver]
    if row.live:
        return
    last = [one.name for one in board.partitions if row.id in one.replicas and not set(one.in_sync) - {row.id}]
    if last:
        raise Impossible(
            f"{len(last)} partitions have no other in-sync replica than on broker {row.id}, which is not live: "
            f"{', '.join(last[:5])}: bring it back first, or their data is lost"
        )


def _plan(
    snapshot: Snapshot, board: Board, question: str, least: int = 0, notes: Sequence[str] = (), lead: bool = False
) -> Plan:
    touched = [board.replicas[at] != board.original(at) for at in range(len(board.partitions))]
    if lead and any(touched):
        before: list[int] = [0] * len(board.brokers)
        for at in range(len(board.partitions)):
            before[board.original(at)[0]] += 1
        mean = -(-len(board.partitions) // max(sum(board.receives), 1))
        most = [max(mean, *before)] * len(board.brokers)
        _lead(board, touched, most)
    changes = tuple(_change(board, at) for at in range(len(board.partitions)) if _differs(board, at))
    return Plan(
        question, snapshot.cluster, snapshot.cluster_id, snapshot.at, changes, least or _bytes(changes),
        (*snapshot.notes, *notes),
    )  # fmt: skip


def _bytes(changes: Sequence[Change]) -> int:
    return sum(change.moved_bytes for change in changes)


def _differs(board: Board, partition: int) -> bool:
    moved_within = any((partition, one) in board.arrived for one in board.replicas[partition])
    return board.replicas[partition] != board.original(partition) or moved_within


def _change(board: Board, partition: int) -> Change:
    row, found = board.partitions[partition], board.replicas[partition]
    paths = [
        board.volumes[one][board.arrived[partition, one]].paths[0]
        if (partition, one) in board.arrived and len(board.volumes[one]) > 1 else ANY
        for one in found
    ]  # fmt: skip
    after = tuple(board.brokers[one].id for one in found)
    return Change(row.topic, row.number, row.replicas, after, tuple(paths), board.sizes[partition], row.log_dirs)
