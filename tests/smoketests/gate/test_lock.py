"""One maintenance a cluster: taken by one of many processes at once, given back, expired and taken over."""

from __future__ import annotations

import json
import multiprocessing
import os
import pathlib
import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smoketests.gate import lock
from smoketests.gate.lock import CannotLock, Held

NOW = 1_795_144_320.0


def take(store: pathlib.Path, host: str = "kafka-a01", cluster: str = "prod-a", now: float = NOW, **more: Any) -> Any:
    given = {"owner": "ann@bastion (pid 1)", "purpose": "reboot", "minutes": 60, **more}
    return lock.take(str(store), [host], cluster, now=now, **given)


def test_who_comes_second_is_told_who_what_and_until_when(tmp_path: pathlib.Path) -> None:
    first = take(tmp_path)

    with pytest.raises(Held) as refused:
        take(tmp_path, "kafka-a02", owner="bob@bastion (pid 2)")
    words = "prod-a is locked: reboot of kafka-a01 by ann@bastion (pid 1), 2026-11-20T03:12Z until 2026-11-20T04:12Z"
    assert str(refused.value) == f"{words}, id {first.id}"
    assert refused.value.lock == first == lock.held(str(tmp_path))[0]


def test_another_cluster_is_not_held_up(tmp_path: pathlib.Path) -> None:
    take(tmp_path)
    take(tmp_path, cluster="../prod b")

    assert {one.cluster for one in lock.held(str(tmp_path))} == {"prod-a", "../prod b"}
    assert {path.parent for path in tmp_path.rglob("*.json")} == {tmp_path / "gate" / "locks"}


def test_given_back_it_can_be_taken_again(tmp_path: pathlib.Path) -> None:
    first = take(tmp_path)

    assert lock.release(first)
    assert lock.held(str(tmp_path)) == []
    assert not lock.release(first)
    assert take(tmp_path, "kafka-a02").hosts == ("kafka-a02",)


def test_expired_it_is_taken_over_and_the_old_owner_cannot_release_the_new_one(tmp_path: pathlib.Path) -> None:
    first = take(tmp_path)
    second = take(tmp_path, "kafka-a02", now=NOW + 3600)

    assert not lock.release(first)
    assert lock.held(str(tmp_path)) == [second]


def test_renewed_it_lasts_longer(tmp_path: pathlib.Path) -> None:
    longer = lock.renew(take(tmp_path), 600, now=NOW + 60)

    assert lock.held(str(tmp_path)) == [longer] and longer.until == NOW + 60 + 36_000
    lock.release(longer)
    with pytest.raises(CannotLock, match="gone"):
        lock.renew(longer, 10)


def test_what_was_taken_over_is_not_renewed(tmp_path: pathlib.Path) -> None:
    first = take(tmp_path)
    take(tmp_path, now=NOW + 3600)

    with pytest.raises(Held):
        lock.renew(first, 10)


def _race(store: str, start: Any, results: Any, number: int) -> None:
    start.wait()
    try:
        results.put(lock.take(store, [f"kafka-a{number:02d}"], "prod-a", f"sre{number}", "reboot", 60).hosts[0])
    except Held:
        results.put("")


@pytest.mark.parametrize("expired", [False, True])
def test_of_many_processes_at_once_one_gets_it(tmp_path: pathlib.Path, expired: bool) -> None:
    if expired:
        take(tmp_path, "kafka-a99", now=time.time() - 7200)
    context = multiprocessing.get_context("fork")
    start, results = context.Event(), context.Queue()
    racers = [context.Process(target=_race, args=(str(tmp_path), start, results, number)) for number in range(16)]
    for racer in racers:
        racer.start()
    start.set()
    got = [results.get(timeout=60) for _ in racers]
    for racer in racers:
        racer.join(60)

    (winner,) = filter(None, got)
    assert [one.hosts for one in lock.held(str(tmp_path))] == [(winner,)]
    assert sorted(path.name for path in (tmp_path / "gate" / "locks").iterdir()) == [".guard", "prod-a.json"]


def test_of_many_threads_at_once_one_gets_it_each_round(tmp_path: pathlib.Path) -> None:
    wins: list[str] = []

    def work(number: int) -> None:
        for _ in range(10):
            try:
                ours = take(tmp_path, f"kafka-a{number}", now=NOW)
            except Held:
                continue
            wins.append(ours.id)
            assert [one.id for one in lock.held(str(tmp_path))] == [ours.id]
            assert lock.release(ours)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wins and lock.held(str(tmp_path)) == []


def test_a_file_that_holds_no_lock_is_neither_believed_nor_deleted(tmp_path: pathlib.Path) -> None:
    take(tmp_path)
    path = tmp_path / "gate" / "locks" / "prod-a.json"
    path.write_text('{"id": ')

    for act in (lambda: lock.held(str(tmp_path)), lambda: take(tmp_path)):
        with pytest.raises(CannotLock, match=r"prod-a\.json holds no lock"):
            act()
    assert path.exists()


@given(st.one_of(st.binary(max_size=300), st.recursive(
    st.none() | st.integers() | st.floats() | st.text(max_size=5), lambda inner: st.dictionaries(
        st.sampled_from(["id", "cluster", "hosts", "purpose", "owner", "since", "until"]), inner), max_leaves=8,
).map(lambda value: json.dumps(value).encode())))  # fmt: skip
def test_rubbish_is_refused_in_words(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    folder = tmp_path_factory.mktemp("rubbish")
    (folder / "gate" / "locks").mkdir(parents=True)
    (folder / "gate" / "locks" / "prod-a.json").write_bytes(text)

    with pytest.raises(CannotLock):
        lock.held(str(folder))


def test_times_that_no_calendar_has_are_no_lock(tmp_path: pathlib.Path) -> None:
    take(tmp_path)
    path = tmp_path / "gate" / "locks" / "prod-a.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "until": 1e300}))

    with pytest.raises(CannotLock):
        lock.held(str(tmp_path))


@pytest.mark.root
def test_a_store_that_cannot_be_written_is_said(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(CannotLock, match="Not a directory"):
        take(tmp_path / "file")
    with pytest.raises(CannotLock, match="Not a directory"):
        lock.held(str(tmp_path / "file"))


def test_an_owners_control_characters_do_not_reach_the_terminal(tmp_path: pathlib.Path) -> None:
    ours = take(tmp_path, "kafka-\x1b[2Ja01", owner="ann\x07@\nbastion")

    assert ours.words.isprintable()


def test_behind_sudo_the_owner_is_who_called_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "ann")

    assert lock.owner().startswith("ann@") and lock.owner().endswith(f"(pid {os.getpid()})")
