"""Report lines -> flat tables: the record as Spark types, one SELECT a table, and the views that tables start from.

Text and types only, no I/O. Imported by archive, rollup, nights and the jobs.
"""
