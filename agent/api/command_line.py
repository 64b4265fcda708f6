"""The command line of `python -m agent`, for its manual page."""

from agent.__main__ import argument_parser as argument_parser
