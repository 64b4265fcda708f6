"""The connection to a cluster: its servers are probed first, because kafka-python only reports a timeout."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from smoketests.readers import CannotRead, NotYet, address, begin
from smoketests.readers.kafka.handshake import CONNECT_S, greet, reason

BOOTSTRAP_S = 8.0
REQUEST_S = 10.0
DEFAULT_PORT = 9092
MOST_SERVERS = 10
AVOID_DEAD_MS = 60_000


def connect(servers: Sequence[str], settings: Mapping[str, Any]) -> Any:
    """A kafka_client.Client of this cluster, for its caller to close. CannotRead with the reason.

    Every request of it ends after REQUEST_S. kafka-python's own errors come from what is asked of it later.
    """
    addresses = [address(server, DEFAULT_PORT) for server in servers]
    if not addresses:
        raise CannotRead("no Kafka server configured")
    whys = _greeted(addresses[:MOST_SERVERS], settings)
    told = [f"{server}: {why}" for server, why in whys.items() if why]
    if len(told) == len(whys):
        raise CannotRead("; ".join(told[:3]))
    return admin([server for server, why in whys.items() if not why], settings)


def _greeted(addresses: Sequence[tuple[str, int]], settings: Mapping[str, Any]) -> dict[str, str]:
    """Server -> why it cannot be asked, empty if it can; all greeted at the same time."""
    waits = {f"{host}:{port}": begin(functools.partial(greet, host, port, settings)) for host, port in addresses}
    whys = dict.fromkeys(waits, f"no reply within {2 * CONNECT_S:.0f} s")
    for server, wait in waits.items():
        with contextlib.suppress(NotYet):  # a name server that is silent
            whys[server] = wait(2 * CONNECT_S)
    return whys


def admin(servers: Sequence[str], settings: Mapping[str, Any]) -> Any:
    """A client of these servers, which have been greeted. CannotRead with the reason."""
    from kafka.errors import KafkaError

    from smoketests.readers.kafka.client import Client

    logging.getLogger("kafka").addHandler(logging.NullHandler())
    try:
        return Client(
            bootstrap_servers=list(servers), client_id="fleet-smoke", request_timeout_ms=int(REQUEST_S * 1000),
            bootstrap_timeout_ms=int(BOOTSTRAP_S * 1000), reconnect_backoff_ms=AVOID_DEAD_MS,
            reconnect_backoff_max_ms=AVOID_DEAD_MS, **settings,
        )  # fmt: skip
    except (KafkaError, OSError, AssertionError, ValueError, TypeError) as error:
        raise CannotRead(f"{servers[0]}: {reason(error, settings)}") from None
