"""Kafka and other JVM servers of this machine: processes, configuration files, data folders, logs.

Reads /proc, server.properties, meta.properties and the servers' log files.
Imported by most checks, and by the sources disks, network and zookeeper.
"""
