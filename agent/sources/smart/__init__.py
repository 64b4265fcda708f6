"""What a disk reports about itself: smartctl (JSON, or text through pySMART), its history and its rules.

Reads smartctl's output and the counters that earlier runs kept.
Imported by the checks smart and raid, and by the sources raid and kernel.
"""
