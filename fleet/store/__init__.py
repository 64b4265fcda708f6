"""The folder with the results: its files, on this machine or in HDFS, which reports are in it, and calendar periods.

Reads and writes bytes only; has no tables. Any room may import it.
"""
