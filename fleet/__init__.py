"""The nights of a fleet: what the reports of many hosts say over days. Runs on Spark; imports no other package.

Rooms, each of which may import those before it: spark, store, ingest, archive, statistics, rollup, tables, nights,
digest, render, mail, analysis, site. The jobs in this folder (nightly, summary, demo) may import all of them.
"""
