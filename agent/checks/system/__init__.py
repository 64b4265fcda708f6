"""Checks of the operating system: processors, memory, clock, kernel and antivirus."""
