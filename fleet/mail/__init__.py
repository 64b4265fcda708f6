"""The mail: its settings, the message, its delivery to each recipient, and the mail about a night that failed.

Reads a YAML file and STORE/_fleet/mail. Imported by the jobs; loads no Spark.
"""
