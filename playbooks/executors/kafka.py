"""A step that acts through Kafka: shows what it would move, prompts, executes, and can be undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.formats.text import printable
from inventory.model import Cluster
from playbooks.executors import kafka_actions, kafka_throttle
from playbooks.executors.kafka_actions import ActFailed, CannotMove, CannotRead, KafkaPlan
from playbooks.plan.template import Action
from playbooks.run import changes
from playbooks.run.prompt import Stopped
from playbooks.run.session import Failed, NotKnown, Session
from smoketests.gate import playbook_runs, receivers
from smoketests.gate.playbook_runs import REPLICA_ORDER


def do(session: Session, action: Action) -> None:
    """Nothing to do is done. Where Kafka cannot be asked, a person may go on without it."""
    try:
        cluster = _cluster(session)
        wanted = _wanted(session, action, action.step.act, cluster)
    except NotKnown as error:
        _go_on_without(session, action, error)
        return
    for row in wanted.words:
        session.show("   " + printable(row))
    if wanted.empty:
        _unthrottle(session, action, cluster)
        session.note("already", action, **_put_back(session, action.step.act))
        return
    session.hold()
    if not session.yes and session.person.choose("   Run it?", {"y": "yes", "s": "skip it"}) == "s":
        session.note("skipped", action)
        return
    session.note("started", action, act=action.step.act, before=wanted.before, **_changed(wanted))
    _carry_out(session, action, wanted, cluster)
    _unthrottle(session, action, cluster)
    session.note("ended", action, **_put_back(session, action.step.act))


def _throttles(session: Session) -> list[str]:
    """What this run throttles now, by its journal."""
    return [one.item for one in playbook_runs.left(session.journal.events) if one.kind == playbook_runs.THROTTLE]


def _unthrottle(session: Session, action: Action, cluster: Cluster) -> None:
    """Nothing is copied any more: what this run set to hold it back is taken away. Failed, NotKnown."""
    items = _throttles(session)
    if not items:
        return
    try:
        kafka_actions.unthrottle(items, cluster)
    except (ActFailed, CannotRead) as error:
        session.note("failed", action, why=f"cannot remove the throttle: {printable(str(error))}")
        raise Failed(f"cannot remove the throttle: {printable(str(error))}") from error
    session.note("unthrottled", restores=[[playbook_runs.THROTTLE, item] for item in items])
    session.show("   throttle removed")


def _changed(wanted: KafkaPlan) -> dict[str, list[Any]]:
    """Of leaders that go away, the order of replicas that is to come back; of a drain, what holds it back."""
    if wanted.act == kafka_actions.AWAY:
        return changes.of_orders(wanted.before, {one.name: new for one, new in wanted.moves.items()})
    return {"changes": kafka_throttle.changes(wanted.throttle)} if wanted.throttle else {}


def _put_back(session: Session, act: str) -> dict[str, list[Any]]:
    """Whatever was moved elsewhere meanwhile is another's business now."""
    return {"restores": [[REPLICA_ORDER, name] for name in before(session)]} if act == kafka_actions.ELECT else {}


def _go_on_without(session: Session, action: Action, error: NotKnown) -> None:
    """NotKnown again unless the person skips the step."""
    session.show(f"   {error}")
    if session.yes:
        raise error
    try:
        session.person.choose("   Continue without it?", {"s": "skip it"})
    except Stopped:
        raise error from None
    session.note("skipped", action, why=printable(str(error)))


def undo(session: Session, action: Action) -> None:
    """Replicas and leaders as they were, where that moves no data; a drain is only called off."""
    act = kafka_actions.CANCEL if action.step.act == kafka_actions.DRAIN else kafka_actions.ELECT
    if action.step.act not in (kafka_actions.DRAIN, kafka_actions.AWAY):
        session.show("   nothing to undo: leaders stay where they are")
        return
    cluster = _cluster(session)
    wanted = _wanted(session, action, act, cluster)
    if act == kafka_actions.CANCEL:
        wanted = kafka_actions.cancel([one for one in wanted.cancelled if broker_id(session) in one.removing])
    for row in wanted.words:
        session.show("   " + printable(row))
    session.hold()
    if wanted.empty:
        _unthrottle(session, action, cluster)
        session.note("undo ended", action, **_put_back(session, act))
        return
    if not session.yes and session.person.choose("   Undo it?", {"y": "yes", "s": "leave as is"}) == "s":
        session.note("undo skipped", action)
        return
    session.note("undo started", action)
    _carry_out(session, action, wanted, cluster)
    _unthrottle(session, action, cluster)
    session.note("undo ended", action, **_put_back(session, act))


def _cluster(session: Session) -> Cluster:
    cluster = session.target.cluster
    if cluster is None or not cluster.kafka:
        raise NotKnown("the inventory names no Kafka servers (`kafka` of the cluster)")
    return cluster


def _wanted(session: Session, action: Action, act: str, cluster: Cluster) -> KafkaPlan:
    try:
        facts, most = kafka_actions.look(cluster), receivers.limit_of(cluster)
        return kafka_actions.plan(act, facts, broker_id(session), before(session), most, action.step.mb_per_second)
    except CannotRead as error:
        raise NotKnown(f"Kafka: {printable(str(error))}") from error
    except CannotMove as error:
        session.note("failed", action, why=printable(str(error)))
        raise Failed(printable(str(error))) from error


def _carry_out(session: Session, action: Action, wanted: KafkaPlan, cluster: Cluster) -> None:
    try:
        kafka_actions.carry_out(wanted, cluster, action.step.seconds, session.show)
    except ActFailed as error:
        session.note("failed", action, why=printable(str(error)))
        raise Failed(printable(f"{error}{_throttle_left(session, action, cluster)}")) from error
    except CannotRead as error:
        raise NotKnown(f"Kafka: {printable(str(error))}") from error


def _throttle_left(session: Session, action: Action, cluster: Cluster) -> str:
    """Behind a drain that failed: nothing is held back where nothing is copied; else a clause about what stays."""
    if not _throttles(session):
        return ""
    try:
        if not any(broker_id(session) in one.removing for one in kafka_actions.look(cluster).partitions or ()):
            _unthrottle(session, action, cluster)
            return ""
    except (CannotRead, Failed) as error:
        session.show(f"   {printable(str(error))}")
    return "; the throttle remains until the copy has finished or is cancelled: resume or undo the run"


def broker_id(session: Session) -> int | None:
    """The machine's broker, by its own facts or the inventory's."""
    said = next((fact.words("id") for fact in session.plan.facts.values() if fact.kind == "broker"), "")
    return int(said) if said else session.target.host.broker_id


def before(session: Session) -> Mapping[str, Sequence[int]]:
    """The order of replicas before this run changed it."""
    found: dict[str, Sequence[int]] = {}
    for event in session.journal.events:
        if event["event"] == "started" and event.get("act") == kafka_actions.AWAY:
            found = {**event.get("before", {}), **found}
    return found
