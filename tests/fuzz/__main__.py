"""One family under atheris: python -m tests.fuzz FAMILY SECONDS CORPUS FINDINGS. See scripts/fuzz.

Inputs that reach something new are kept in CORPUS; an input that is a finding is written to FINDINGS, and ends the run
with another exit code than 0: an exception that no reader may raise, more than 10 s on one input, or more than 2 GB.
"""

from __future__ import annotations

import hashlib
import pathlib
import sys

import atheris

with atheris.instrument_imports(include=["agent", "fleet", "inventory", "smoketests"], enable_loader_override=False):
    from tests.fuzz.targets import FAMILIES

from tests.fuzz.seeds import LONGEST_BYTES


def main() -> None:
    name, seconds, corpus, findings = sys.argv[1:5]
    family = FAMILIES[name]
    for seed in family.seed_inputs():
        (pathlib.Path(corpus) / hashlib.sha1(seed, usedforsecurity=False).hexdigest()).write_bytes(seed)
    atheris.Setup(
        ["fuzz", corpus, f"-max_total_time={seconds}", f"-artifact_prefix={findings}/{name}-", "-timeout=10",
         "-rss_limit_mb=2048", f"-max_len={LONGEST_BYTES}", "-print_final_stats=1", "-verbosity=1"],
        family.read,
    )  # fmt: skip
    atheris.Fuzz()


main()
