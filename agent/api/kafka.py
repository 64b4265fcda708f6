"""Servers of Kafka: their processes, settings and logs."""

from agent.checks.kafka import memory_maps as memory_maps
from agent.checks.kafka import open_files as open_files
from agent.sources.kafka import processes as processes
from agent.sources.kafka.processes import Service as Service
