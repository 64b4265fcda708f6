"""What is known of every disk up to a night, in one row a disk, so that a night reads one day and not a year.

Reads the archive's Parquet and writes STORE/_fleet/rollup. Imported by tables and the nightly job.
"""
