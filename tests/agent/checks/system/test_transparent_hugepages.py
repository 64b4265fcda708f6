"""transparent_hugepages: `always` is what several distributions have; it is advice, for brokers and ZooKeeper only."""

from __future__ import annotations

from typing import Any, Mapping, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.system import transparent_hugepages
from agent.expected import Expected
from agent.host import NoPermission
from agent.status import Finding
from tests.machine import FakeHost, run_checks

ENABLED, DEFRAG = (f"{transparent_hugepages.FOLDER}/{name}" for name in ("enabled", "defrag"))
ALWAYS, MADVISE, NEVER = "[always] madvise never\n", "always [madvise] never\n", "always madvise [never]\n"
DEFAULT_DEFRAG = "always defer defer+madvise [madvise] never\n"
HEALTHY = transparent_hugepages.Facts(enabled="madvise", defrag="madvise")


def machine(
    enabled: Any, defrag: Any = DEFAULT_DEFRAG, roles: str = "broker", limits: Optional[Mapping[str, Any]] = None
) -> FakeHost:
    return FakeHost(
        files={path: text for path, text in ((ENABLED, enabled), (DEFRAG, defrag)) if text is not None},
        answers={"processes": []},
        expected=Expected(roles=tuple(roles.split()), limits={"transparent_hugepages": limits} if limits else {}),
    )


def look_at(host: FakeHost) -> Finding:
    (finding,) = run_checks(host, "transparent_hugepages")
    return finding


@pytest.mark.parametrize(("enabled", "status"), [("always", "warning"), ("madvise", "ok"), ("never", "ok")])
@pytest.mark.parametrize("defrag", transparent_hugepages.DEFRAG_MODES)
def test_always_is_a_warning_and_never_more_whatever_defrag_is(enabled: str, defrag: str, status: str) -> None:
    verdict = transparent_hugepages.judge(
        HEALTHY._replace(enabled=enabled, defrag=defrag), transparent_hugepages.LIMITS
    )

    assert verdict.status == status and f"defrag {defrag}" in verdict.reason


@pytest.mark.parametrize("roles", ["broker", "zookeeper"])
def test_the_default_of_a_fresh_rhel_is_a_warning_with_advice(roles: str) -> None:
    finding = look_at(machine(ALWAYS, roles=roles))

    assert (finding.item, finding.status, finding.verdict.playbook) == ("transparent huge pages", "warning", "tune-os")
    assert finding.verdict.reason == (
        "transparent huge pages: mode always, defrag madvise; should be madvise or never: "
        "longer pauses and more memory for the JVM"
    )
    assert finding.facts == {"enabled": "always", "defrag": "madvise"}


@pytest.mark.parametrize("enabled", [MADVISE, NEVER])
@pytest.mark.parametrize("defrag", [DEFAULT_DEFRAG, ALWAYS, "always defer defer+madvise madvise [never]"])
def test_a_healthy_machine_is_ok(enabled: str, defrag: str) -> None:
    assert look_at(machine(enabled, defrag)).status == "ok"


def test_an_inventory_may_require_never() -> None:
    finding = look_at(machine(MADVISE, limits={"good_modes": "never"}))

    assert finding.status == "warning" and "should be never:" in finding.verdict.reason


def test_a_machine_without_kafka_is_left_alone() -> None:
    assert look_at(machine(ALWAYS, roles="")).status == "skipped"


def test_a_kernel_or_container_without_the_setting_is_skipped_with_its_reason() -> None:
    finding = look_at(machine(None, None))

    assert (finding.status, finding.verdict.reason) == (
        "skipped", f"{ENABLED} does not exist: kernel without transparent huge pages",
    )  # fmt: skip


RUBBISH = ["", "always", "always madvise never", "[sometimes] never", "[always] [never]", "[]", "\x00", "1", "[always"]


@pytest.mark.parametrize("rubbish", [*RUBBISH, "[defer] always"])
def test_rubbish_in_the_mode_is_unknown(rubbish: str) -> None:
    finding = look_at(machine(rubbish))

    assert finding.status == "unknown" and f"{ENABLED} contains" in finding.verdict.reason


@pytest.mark.parametrize("rubbish", RUBBISH)
def test_rubbish_in_defrag_is_unknown(rubbish: str) -> None:
    assert look_at(machine(MADVISE, rubbish)).status == "unknown"


@pytest.mark.parametrize(
    ("enabled", "defrag"),
    [(NoPermission("needs root"), DEFAULT_DEFRAG), (ALWAYS, NoPermission("needs root")), (ALWAYS, None)],
)
def test_a_file_that_cannot_be_read_is_unknown(enabled: Any, defrag: Any) -> None:
    assert look_at(machine(enabled, defrag)).status == "unknown"


@given(st.text(max_size=200), st.one_of(st.just(DEFAULT_DEFRAG), st.text(max_size=200)))
def test_rubbish_never_fails(enabled: str, defrag: str) -> None:
    finding = look_at(machine(enabled, defrag))

    assert finding.status in ("ok", "warning", "unknown") and "check failed" not in finding.verdict.reason
    assert finding.status == "unknown" or f"[{finding.facts['enabled']}]" in enabled


@given(st.text(alphabet="[] alwysmdvienr", max_size=40))
def test_near_misses_never_fail(text: str) -> None:
    assert "check failed" not in look_at(machine(text)).verdict.reason
