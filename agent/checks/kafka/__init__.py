"""Checks of the Kafka and ZooKeeper servers on this machine: processes, settings, limits, logs."""
