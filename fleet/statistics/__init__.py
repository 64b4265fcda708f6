"""Bounds of rates, the pace of counters and mounts, and failure rates that others have published.

Pure Python over a few numbers; reads one YAML file. Imported by tables and nights.
"""
