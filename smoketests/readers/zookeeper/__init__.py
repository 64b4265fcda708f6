"""What a ZooKeeper ensemble reports: its members by four-letter words, its registry through kazoo.

Imported by smoketests.readers, the cluster checks and the gate.
"""
