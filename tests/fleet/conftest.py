"""One Spark session for all tests that need one: it starts once, and every test has a store of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest


def need_spark() -> None:
    pytest.importorskip("pyspark", reason="needs the fleet extra: pip install 'fleet-smoke[fleet]'")
    if not shutil.which("java"):
        pytest.skip("needs Java: apt-get install openjdk-17-jre-headless")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    need_spark()
    from fleet import session

    with session.session(session.Wanted()) as started:
        yield started
