"""What needs root or a slow real part is skipped with its reason where it cannot run."""

from __future__ import annotations

import os

import hypothesis
import pytest

# How long one example takes says how busy the machine is, not whether the code is right.
hypothesis.settings.register_profile("no deadline", deadline=None)
hypothesis.settings.load_profile("no deadline")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("root") and os.geteuid() != 0:
        pytest.skip("needs root: mounts and namespaces")
