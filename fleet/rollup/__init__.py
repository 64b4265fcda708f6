"""What is known of each disk, mount and DIMM up to a night, one row each: a night reads one day and not a year.

Reads the archive's Parquet and writes STORE/_fleet/rollup. Imported by tables and the nightly job.
"""
