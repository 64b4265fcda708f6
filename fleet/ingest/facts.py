"""The one place that says which fact of which check a table follows, and under which name.

A test loads the checks and holds the names equal: a fact that is renamed there must be renamed here.
"""

from __future__ import annotations

FOLLOWED: dict[str, dict[str, tuple[str, str]]] = {
    "smart": {
        "model": ("model", "STRING"),
        "firmware": ("firmware", "STRING"),
        "slot": ("slot", "STRING"),
        "size_bytes": ("size_bytes", "DOUBLE"),
        "power_on_hours": ("power_on_hours", "DOUBLE"),
        "reallocated_sectors": ("reallocated", "DOUBLE"),
        "pending_sectors": ("pending", "DOUBLE"),
        "offline_uncorrectable": ("uncorrectable", "DOUBLE"),
        "grown_defects": ("grown_defects", "DOUBLE"),
        "wear_percent": ("wear_percent", "DOUBLE"),
        "reported_uncorrectable": ("reported_uncorrectable", "DOUBLE"),
        "slow_commands": ("slow_commands", "DOUBLE"),
        "spin_retries": ("spin_retries", "DOUBLE"),
        "end_to_end_errors": ("end_to_end_errors", "DOUBLE"),
        "media_errors": ("media_errors", "DOUBLE"),
        "uncorrected_reads": ("uncorrected_reads", "DOUBLE"),
        "uncorrected_writes": ("uncorrected_writes", "DOUBLE"),
        "uncorrected_verifies": ("uncorrected_verifies", "DOUBLE"),
        "crc_errors": ("crc_errors", "DOUBLE"),
        "spare_percent": ("spare_percent", "DOUBLE"),
        "spare_threshold_percent": ("spare_threshold_percent", "DOUBLE"),
    },
    "memory_errors": {
        "corrected": ("corrected", "DOUBLE"),
        "uncorrected": ("uncorrected", "DOUBLE"),
    },
    "disk_usage": {
        "data": ("data", "BOOLEAN"),
        "used_bytes": ("used_bytes", "DOUBLE"),
        "free_bytes": ("free_bytes", "DOUBLE"),
    },
    "disk_latency": {
        "rotational": ("rotational", "BOOLEAN"),
        "r_await_ms": ("read_await_ms", "DOUBLE"),
        "w_await_ms": ("write_await_ms", "DOUBLE"),
        "utilisation_percent": ("busy_percent", "DOUBLE"),
    },
    "clock": {
        "offset_ms": ("offset_ms", "DOUBLE"),
    },
}
