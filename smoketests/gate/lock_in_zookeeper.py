"""The maintenance lock as a node of ZooKeeper: /fleet-smoke/locks/CLUSTER, with owner and expiry.

The node is not ephemeral: a controller that dies, or sleeps, has not ended the maintenance. Its expiry is what ends
it, by the clock of ZooKeeper's leader; once another server leads, by that one's. Two controllers never both take it: a
node is created once, and written only in the version that was read. The ensemble must let clients without a login read
and write below /fleet-smoke.
"""

from __future__ import annotations

import contextlib
import urllib.parse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from smoketests.gate.lock import CannotLock, Held, Lock, from_json, to_json

ROOT = "/fleet-smoke"
CONNECT_S = 10.0
TRIES = 5


class InZooKeeper:
    """servers: `zk1:2181/kafka`, the chroot behind any of them."""

    def __init__(self, cluster: str, servers: Sequence[str]) -> None:
        self._cluster = cluster
        chroot = next((server[server.index("/") :] for server in servers if "/" in server), "")
        self._servers = ",".join(server.partition("/")[0] for server in servers) + chroot.rstrip("/")
        self._path = f"{ROOT}/locks/{urllib.parse.quote(cluster, safe='')}"

    def take(self, wanted: Lock, minutes: float) -> Lock:
        from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError

        with self._client() as client:
            for _ in range(TRIES):
                now = _clock(client)
                ours = replace(wanted, since=now, until=now + minutes * 60)
                with contextlib.suppress(NodeExistsError):
                    client.create(self._path, _bytes(ours), makepath=True)
                    return ours
                with contextlib.suppress(NoNodeError, BadVersionError):  # released, or taken over, this very moment
                    data, stat = client.get(self._path)
                    before = self._parsed(data)
                    if before.id != wanted.id and not before.expired(now):
                        raise Held(before)
                    client.set(self._path, _bytes(ours), version=stat.version)
                    return ours
        raise CannotLock(f"{self._path} in ZooKeeper is taken and released by others repeatedly")

    def renew(self, ours: Lock, minutes: float) -> Lock:
        from kazoo.exceptions import BadVersionError, NoNodeError

        with self._client() as client:
            try:
                data, stat = client.get(self._path)
                there = self._parsed(data)
                if there.id != ours.id:
                    raise Held(there)
                longer = replace(there, until=max(there.until, _clock(client) + minutes * 60))
                client.set(self._path, _bytes(longer), version=stat.version)
            except NoNodeError:
                said = f"the lock {ours.id} of {ours.cluster} is gone from ZooKeeper: another user released it"
                raise CannotLock(said) from None
            except BadVersionError:
                raise CannotLock(
                    f"the lock {ours.id} of {ours.cluster} was changed by another user at this moment"
                ) from None
        return longer

    def release(self, ours: Lock) -> bool:
        from kazoo.exceptions import BadVersionError, NoNodeError

        with self._client() as client:
            try:
                data, stat = client.get(self._path)
                if self._parsed(data).id != ours.id:
                    return False
                client.delete(self._path, version=stat.version)
            except (NoNodeError, BadVersionError):
                return False
        return True

    def held(self) -> list[Lock]:
        from kazoo.exceptions import NoNodeError

        with self._client() as client:
            try:
                return [self._parsed(client.get(self._path)[0])]
            except NoNodeError:
                return []

    def _parsed(self, data: bytes) -> Lock:
        return from_json(data.decode("utf-8", "replace"), f"{self._path} in ZooKeeper")

    @contextlib.contextmanager
    def _client(self) -> Iterator[Any]:
        from kazoo.client import KazooClient
        from kazoo.exceptions import KazooException
        from kazoo.handlers.threading import KazooTimeoutError

        client = KazooClient(hosts=self._servers, timeout=CONNECT_S)
        try:
            client.start(timeout=CONNECT_S)
            yield client
        except (KazooException, KazooTimeoutError, OSError) as error:
            said = f"{type(error).__name__} {error}".strip()
            raise CannotLock(f"the lock of {self._cluster} in ZooKeeper ({self._servers}): {said}"[:300]) from error
        finally:
            client.stop()
            client.close()


def _clock(client: Any) -> float:
    """Seconds since the epoch, by the server that leads: when it says that a node was made."""
    client.ensure_path(f"{ROOT}/clock")
    path = client.create(f"{ROOT}/clock/now-", ephemeral=True, sequence=True)
    try:
        return float(client.get(path)[1].created)
    finally:
        client.delete(path)


def _bytes(one: Lock) -> bytes:
    return to_json(one).encode()
