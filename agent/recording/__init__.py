"""A machine recorded in a folder, and replayed from it.

Reads what a LiveHost answers; writes only what `allowed` lists, with names replaced by `redaction`.
Imported by agent.__main__, `smoke record` and tests.
"""
