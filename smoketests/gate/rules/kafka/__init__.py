"""Rules about the cluster: partitions, brokers, leaders, quorums."""
