"""The maintenance lock of two controllers with stores of their own, in a real ZooKeeper and in a real Kafka."""

from __future__ import annotations

import contextlib
import pathlib
import threading
from collections.abc import Iterator

import pytest

from inventory.model import Cluster
from smoketests.gate import shared_lock
from smoketests.gate.lock import CannotLock, Held, Lock
from tests.real.parts.kafka_servers import with_kraft
from tests.real.parts.namespace import wait_for
from tests.real.parts.zookeeper import ZooKeeper

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module", params=["zookeeper", "kafka"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "zookeeper":
        with ZooKeeper(folder, "*") as server:
            yield Cluster("prod a", zookeeper=(f"127.0.0.1:{server.port}/kafka",), maintenance_lock="zookeeper")
    else:
        with with_kraft(folder) as broker:
            yield Cluster("prod a", kafka=(broker.address,), maintenance_lock="kafka")


def take(cluster: Cluster, store: pathlib.Path, who: str, minutes: float = 60) -> Lock:
    return shared_lock.take(str(store), ["kafka-a01"], cluster.name, who, "reboot", minutes, cluster)


def _taken(cluster: Cluster, store: pathlib.Path) -> Lock | None:
    with contextlib.suppress(Held):
        return take(cluster, store, "bob@jump")
    return None


def held(cluster: Cluster, store: pathlib.Path) -> list[str]:
    return [one.owner for one in shared_lock.held(str(store), cluster)]


def test_a_controller_sees_what_another_one_with_another_store_holds(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    assert held(cluster, there) == []

    ours = take(cluster, here, "ann@bastion")
    with pytest.raises(Held, match="ann@bastion"):
        take(cluster, there, "bob@jump")
    seen = held(cluster, there)
    longer = shared_lock.renew(ours, 120, cluster)
    released = shared_lock.release(ours, cluster)
    second = take(cluster, there, "bob@jump")

    assert seen == ["ann@bastion"] and longer.until > ours.until + 3000 and released
    assert held(cluster, here) == ["bob@jump"]
    with pytest.raises((CannotLock, Held)):
        shared_lock.renew(ours, 60, cluster)
    assert not shared_lock.release(ours, cluster) and shared_lock.release(second, cluster)
    assert held(cluster, here) == held(cluster, there) == []


def test_a_lock_that_a_dead_controller_left_is_told_and_taken_over(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    take(cluster, tmp_path / "dead", "ann@gone", minutes=0.001)

    found = shared_lock.held(str(tmp_path / "here"), cluster)
    ours = wait_for("its end", lambda: _taken(cluster, tmp_path / "here"))

    assert [one.owner for one in found] == ["ann@gone"] and found[0].until < ours.until
    assert held(cluster, tmp_path / "dead")[-1:] == ["bob@jump"]
    assert shared_lock.release(ours, cluster)


def test_of_eight_controllers_at_the_same_moment_one_gets_it(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    got: list[Lock] = []
    lost: list[str] = []

    def begin(number: int) -> None:
        try:
            got.append(take(cluster, tmp_path / str(number), f"user{number}"))
        except Held as error:
            lost.append(str(error))

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(got), len(lost)) == (1, 7)
    assert shared_lock.release(got[0], cluster)
