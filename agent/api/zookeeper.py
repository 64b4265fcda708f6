"""Answers of ZooKeeper's four-letter words."""

from agent.sources.zookeeper import four_letter as four_letter
from agent.sources.zookeeper.four_letter import ANSWERED as ANSWERED
from agent.sources.zookeeper.four_letter import NOT_SERVING as NOT_SERVING
