"""Static pages of a night, for a browser. `history` reads, `pages` makes, `folder` writes.

Reads a Night, and the archive's Parquet by DuckDB; writes the folder of --site. Imported by the jobs.
"""
