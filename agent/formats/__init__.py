"""Findings as the text that monitoring systems read from an agent. Compute nothing."""
