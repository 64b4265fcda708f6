"""For analysts: the tables at stable paths, and SQL over them by DuckDB, read only.

Reads the manifests and writes STORE/tables. Imported by site, the jobs and `smoke report`.
"""
