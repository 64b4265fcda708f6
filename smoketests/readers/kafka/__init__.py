"""What a Kafka cluster reports: brokers, topics, log dirs, quorum, each question under a deadline; and how to log in.

Reads over Kafka's own protocol and from client.properties.
Imported by smoketests.readers, the gate, placement and the playbooks.
"""
