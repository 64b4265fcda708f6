"""What needs root or a slow real part is skipped with its reason where it cannot run."""

from __future__ import annotations

import os
import signal

import hypothesis
import pytest

# How long one example takes says how busy the machine is, not whether the code is right. CI plays the same examples
# each time, so that a change is judged by itself; at a desk each run tries new ones.
hypothesis.settings.register_profile("desk", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "desk")


def pytest_configure() -> None:
    """A shell's background jobs ignore Ctrl-C, and so would all that the tests start, send it and wait for."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("root") and os.geteuid() != 0:
        pytest.skip("needs root: mounts and namespaces")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Real servers on a busy machine may be late once; a second try is told in the summary, a third there is not."""
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.flaky(reruns=1, reruns_delay=2))
