"""One Spark session for all tests that need one: it starts once, and every test has a store of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def need_spark() -> None:
    pytest.importorskip("pyspark", reason="needs the fleet extra: pip install 'fleet-smoke[fleet]'")
    if not shutil.which("java"):
        pytest.skip("needs Java: apt-get install openjdk-17-jre-headless")


# Tests ask many small questions: compiling each to Java takes longer than answering it. The runs in processes of
# their own (test_crash.py, test_cluster.py) use the settings as they are shipped.
QUICK = """
spark.sql.codegen.wholeStage       false
spark.sql.codegen.factoryMode      NO_CODEGEN
spark.sql.adaptive.enabled         false
"""


def quick_settings(folder: Path) -> str:
    """The settings as shipped, and QUICK; gives the file's path."""
    from fleet.spark import session

    quick = folder / "quick.conf"
    quick.write_text(Path(session.settings_path(session.Wanted())).read_text() + QUICK)
    return str(quick)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    need_spark()
    from fleet.spark import session

    with session.session(session.Wanted(settings=quick_settings(tmp_path_factory.mktemp("settings")))) as started:
        yield started
