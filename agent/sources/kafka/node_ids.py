"""Which node of which cluster a server is, by its configuration and by the files in its data folders."""

from __future__ import annotations

import functools
import os
from typing import List, Optional

from agent.host import TOUCH_DEADLINE_S, CannotTell, Host, run_concurrently
from agent.named_tuples import NamedTuple
from agent.sources.kafka import java_properties
from agent.sources.kafka import processes as kafka
from agent.sources.kafka.processes import Service

MOST_FOLDERS = 64
LARGEST_ID = 2**31


class Node(NamedTuple):
    """What one data folder says. id: None where it tells none; cluster: empty where it tells none (ZooKeeper's)."""

    path: str
    id: Optional[int]
    cluster: str


def configured(service: Service) -> Optional[int]:
    """node.id, else broker.id; None where the configuration names none, or lets the broker make one up (-1)."""
    return number(service.config.get("node.id") or service.config.get("broker.id") or "")


def of(host: Host, service: Service) -> List[Node]:
    """One for each data folder of a server; none where its configuration is not known.

    A log dir on a dead disk tells nothing, and does not keep the others from telling.
    """
    config = service.config
    if not config:
        return []
    if service.role == "zookeeper":
        folder = config.get("dataDir", "")
        return [Node(folder, number(_text(host, os.path.join(folder, "myid"), service)), "")] if folder else []
    folders = kafka.log_dirs(config)
    metadata = config.get("metadata.log.dir", "").strip()
    paths = list(dict.fromkeys([*folders, *filter(None, [metadata])]))[:MOST_FOLDERS]
    asks = {path: functools.partial(_text, host, os.path.join(path, "meta.properties"), service) for path in paths}
    texts = run_concurrently(asks, dict.fromkeys(paths, TOUCH_DEADLINE_S + 1))
    return [_node(path, texts[path]) for path in paths]


def _node(folder: str, text: object) -> Node:
    """meta.properties: `node.id=3` (KRaft) or `broker.id=3`, `cluster.id=MkU3OEVBNTcwNTJENDM2Qg`."""
    if isinstance(text, Exception) and not isinstance(text, CannotTell):
        raise text
    said = java_properties.parse(text if isinstance(text, str) else "")
    return Node(folder, number(said.get("node.id") or said.get("broker.id") or ""), said.get("cluster.id", "")[:100])


def _text(host: Host, path: str, service: Service) -> str:
    if not os.path.isabs(path):
        return ""
    try:
        return str(host.touch("read", os.path.normpath(path), named_by=service.process.pid).facts.get("text", ""))
    except CannotTell:
        return ""


def number(text: str) -> Optional[int]:
    """A node's id: 0 or more; None for anything else."""
    word = text.strip()
    return int(word) if word.isascii() and word.isdigit() and len(word) < 11 and int(word) < LARGEST_ID else None
