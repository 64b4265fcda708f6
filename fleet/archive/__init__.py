"""Each day once as Parquet: compacted from the reports, valid by its manifest, deleted when it is too old.

Reads reports and writes STORE/_fleet by way of store. Imported by rollup, nights and the jobs.
"""
