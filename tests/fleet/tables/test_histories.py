"""Many random histories, each judged by Spark and by plain Python. A lane of its own: pytest -m stress."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

import pytest

from fleet import nightly
from fleet.store.files import LocalFiles
from tests.fleet.history import NIGHT
from tests.fleet.plain_reference import Oracle
from tests.fleet.tables import test_tables
from tests.fleet.tables.test_tables import DAY, Made

SEEDS = int(os.environ.get("SMOKE_HISTORIES", "200"))
FIRST_SEED = 1000

pytestmark = [pytest.mark.stress, pytest.mark.timeout(600)]


def tables() -> dict[str, Any]:
    """The tests of test_tables.py that compare one table."""
    functions = {name: check for name, check in vars(test_tables).items() if name.startswith("test_")}
    return {name: check for name, check in functions.items() if list(inspect.signature(check).parameters) == ["both"]}


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_every_table_of_a_random_history_is_what_plain_python_makes_of_it(
    seed: int, spark: Any, tmp_path: Path
) -> None:
    made = Made(seed, tmp_path)
    both = (nightly.judge(spark, LocalFiles(str(tmp_path)), NIGHT), Oracle(made.lines, DAY))
    wrong = {}
    for name, check in tables().items():
        try:
            check(both)
        except AssertionError as error:
            wrong[name] = str(error)[:2000]

    assert (len(tables()) >= 12, wrong) == (True, {})
