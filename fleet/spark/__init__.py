"""A Spark session that starts fast, its settings, and what its failures mean in plain words.

Reads settings/*.conf and Spark's own log. Imported by the jobs; knows nothing of reports.
"""
