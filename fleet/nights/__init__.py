"""A night's tables as they are kept: their columns, their rows night by night, forecasts and their scores.

Reads STORE/_fleet/night and the archive; no Spark. Imported by digest and everything that shows a night.
"""
