"""ZooKeeper: which servers concern this machine, and what they answer to four-letter words.

Reads zoo.cfg, the broker's zookeeper.connect and the client port.
Imported by the checks zookeeper and firewall.
"""
