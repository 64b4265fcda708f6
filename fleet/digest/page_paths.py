"""Where the pages about a cluster, a host or a disk model stand, below the folder of the site. Pure.

Names come from hosts, so a path keeps letters and digits of them only, and a checksum that tells them apart.
"""

from __future__ import annotations

import hashlib
import re

FLEET = "index.html"
CLUSTERS = "clusters/index.html"
DISKS = "disks/index.html"
MODELS = "models/index.html"
FINDINGS = "findings/index.html"
SILENT = "findings/silent.html"
SUMMARIES = "summaries/index.html"


def cluster_page(cluster: str) -> str:
    return f"clusters/{_slug(cluster)}.html"


def host_page(cluster: str, host: str) -> str:
    return f"hosts/{_slug(cluster, host)}.html"


def model_page(model: str) -> str:
    return f"models/{_slug(model)}.html"


def cause_page(*cause: str) -> str:
    """Of findings that say the same of several hosts."""
    return f"findings/{_slug(*cause)}.html"


def summary_page(label: str) -> str:
    """Of a week or a month, by its label."""
    return f"summaries/{label}.html"


def further(page: str, number: int) -> str:
    """The address of a long list's second, third, … page."""
    return page if number == 1 else page.removesuffix(".html") + f".{number}.html"


def _slug(*names: str) -> str:
    plain = re.sub(r"[^a-zA-Z0-9]+", "-", "-".join(names)).strip("-")[:60]
    return f"{plain}-{hashlib.sha256(chr(0).join(names).encode()).hexdigest()[:8]}"
