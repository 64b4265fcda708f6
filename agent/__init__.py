"""The agent runs on one machine and tells the truth about that machine's hardware."""

__version__ = "0.1.0"
