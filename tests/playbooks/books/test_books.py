"""The playbooks that come with us: every finding leads to one, and none of them does anything careless."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest

from agent import engine
from agent.sources.smart import rules as smart_rules
from playbooks.loader import parse
from playbooks.model import Playbook, Step
from smoketests import cluster
from tests.playbooks.playbook_fixtures import book, commands, fill, names

ROOT = pathlib.Path(__file__).parents[3]
PROMISED = {
    "antivirus", "broker-down", "clock", "decommission-broker", "failed-motherboard", "firewall", "full-disk",
    "hidden-readonly", "hung-disk", "kernel-stalls", "lost-psu", "network-path",
    "nic-resets", "out-of-memory", "overheating", "power-off-broker",
    "reboot-broker", "replace-dimm", "replace-jbod-disk", "replace-raid10-disk", "rolling-restart", "tune-os",
    "zookeeper-connections",
}  # fmt: skip
VERDICTS = ("critical", "warning", "unknown", "_replace")
# what a verdict's second argument can be
NAMED = re.compile(r"[a-z]+(?:-[a-z0-9]+)*")
# programs that write over what is on a disk
OVERWRITE = {"mkfs.xfs", "mkfs.ext4", "mkfs", "dd", "wipefs", "sfdisk", "parted", "shred", "blkdiscard", "mkswap"}


def words_of(node: ast.AST, known: dict[str, list[str]]) -> list[str]:
    """The strings in an expression, and those behind the names in it."""
    texts = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    behind = [word for one in ast.walk(node) if isinstance(one, ast.Name) for word in known.get(one.id, ())]
    return texts + behind


def playbooks_named_in(path: pathlib.Path) -> set[str]:
    """What a check's source names as a playbook: in its verdicts, in functions and constants of that name."""
    tree = ast.parse(path.read_text())
    known: dict[str, list[str]] = {}
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known[node.targets[0].id] = words_of(node.value, {})
            found += known[node.targets[0].id] if "PLAYBOOK" in node.targets[0].id else []
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in VERDICTS:
            found += [word for argument in call.args[1:2] for word in words_of(argument, known)]
        if isinstance(call, ast.keyword) and call.arg == "playbook":
            found += words_of(call.value, known)
        if isinstance(call, ast.FunctionDef) and "playbook" in call.name:
            found += [word for one in ast.walk(call) if isinstance(one, ast.Return) and one.value
                      for word in words_of(one.value, known)]  # fmt: skip
    # words of a condition stand beside them: those have a blank, a dot or a capital, or are no playbook's kind of name
    return {word for word in found if NAMED.fullmatch(word) and (word in names() or "-" in word)}


def leads() -> list[tuple[str, str]]:
    """Each check with each playbook that it names."""
    of_hosts = {name: pathlib.Path(inspect.getfile(engine.load(name).judge)) for name in engine.names()}
    of_clusters = {name: pathlib.Path(inspect.getfile(cluster.load(name).judge)) for name in cluster.names()}
    rows = [(check, name) for check, path in {**of_hosts, **of_clusters}.items() for name in playbooks_named_in(path)]
    rules = [("smart", name) for name in (smart_rules.JBOD, smart_rules.RAID, smart_rules.HOT)]
    return sorted({*rows, *rules})


def test_all_playbooks_that_were_promised_are_there() -> None:
    assert set(names()) == PROMISED


@pytest.mark.parametrize("name", sorted(PROMISED))
def test_every_playbook_is_valid(name: str) -> None:
    assert book(name).steps


@pytest.mark.parametrize("check", sorted({*engine.names(), *cluster.names()}))
def test_every_check_names_only_playbooks_that_exist(check: str) -> None:
    module = engine.load(check) if check in engine.names() else cluster.load(check)
    named = {name for one, name in leads() if one == check} | {getattr(module, "PLAYBOOK", "") or "tune-os"}

    assert named <= set(names())


@pytest.mark.parametrize(("check", "name"), leads())
def test_a_playbook_lists_the_checks_that_lead_to_it(check: str, name: str) -> None:
    assert check in {finding.check for finding in book(name).findings}


@pytest.mark.parametrize("name", names())
def test_every_step_that_changes_something_can_be_undone_or_says_why_not(name: str) -> None:
    for step in book(name).steps:
        if step.kind == "run" and step.changes:
            assert step.undo or step.no_undo, step.name


def takes_away(step: Step) -> bool:
    """Whether a step takes the broker or ZooKeeper server away, if only for a moment."""
    server = step.run[-1:] and step.run[-1] in ("{broker.unit}", "{zookeeper.unit}")
    stops = step.run[:2] in (("systemctl", "stop"), ("systemctl", "restart")) and bool(server)
    return stops or step.run[:1] == ("shutdown",)


def gates(playbook: Playbook, after: bool) -> list[int]:
    return [
        at for at, step in enumerate(playbook.steps) if (step.kind == "gate" or step.purpose) and step.after == after
    ]


@pytest.mark.parametrize("name", names())
def test_what_takes_a_server_away_stands_between_the_gate_and_the_gate_after(name: str) -> None:
    playbook = book(name)
    away = [at for at, step in enumerate(playbook.steps) if takes_away(step)]
    changing = [
        at for at, step in enumerate(playbook.steps) if step.kind == "kafka" or takes_away(step) or step.destroys
    ]
    if away:
        assert min(gates(playbook, after=False)) < min(changing)
        assert max(gates(playbook, after=True)) > max(away)


def test_those_that_take_a_server_away_are_the_ones_one_thinks_of() -> None:
    found = {name for name in names() if any(map(takes_away, book(name).steps))}

    assert found == {
        "decommission-broker", "failed-motherboard", "hidden-readonly", "out-of-memory", "power-off-broker",
        "reboot-broker", "replace-dimm", "replace-jbod-disk", "rolling-restart", "zookeeper-connections",
    }  # fmt: skip


@pytest.mark.parametrize("server", ["broker", "zookeeper"])
@pytest.mark.parametrize(
    "name", [name for name in names() if any(step.run[:1] == ("shutdown",) for step in book(name).steps)]
)
def test_no_server_starts_at_boot_before_the_data_mounts_were_checked(name: str, server: str) -> None:
    rows = [(step.run or (step.kind, step.check)) for step in book(name).steps]
    unit = f"{{{server}.unit}}"
    down = next(at for at, words in enumerate(rows) if words[0] == "shutdown")
    mounts = rows.index(("check", "mounts"))

    assert rows.index(("systemctl", "disable", unit)) < down < mounts < rows.index(("systemctl", "enable", unit))
    assert rows.index(("systemctl", "enable", unit)) < rows.index(("systemctl", "start", unit))


def test_no_broker_starts_at_boot_while_its_data_mount_is_away_for_repair() -> None:
    rows = [step.run for step in book("hidden-readonly").steps]
    unmount = next(at for at, words in enumerate(rows) if words[:1] == ("umount",))
    mount = max(at for at, words in enumerate(rows) if words[:1] == ("mount",))

    assert rows.index(("systemctl", "disable", "{broker.unit}")) < unmount
    assert mount < rows.index(("systemctl", "enable", "{broker.unit}"))


@pytest.mark.parametrize("name", names())
def test_whoever_takes_a_machine_out_of_the_inventory_has_nothing_left_that_needs_it_there(name: str) -> None:
    steps = book(name).steps
    for at, step in enumerate(steps):
        if step.kind == "confirm" and "from the inventory" in step.words:
            assert at == len(steps) - 1


@pytest.mark.parametrize("name", names())
def test_a_server_without_a_unit_is_not_passed_over_in_silence(name: str) -> None:
    """Its steps are left out then: a person does what they would do, or the machine goes down under it."""
    steps = book(name).steps
    for server in ("broker", "zookeeper"):
        stops = [step for step in steps if step.run[:2] in (("systemctl", "stop"), ("systemctl", "restart"))
                 and step.run[-1] == f"{{{server}.unit}}" and step.when]  # fmt: skip
        goes = any(step.run[:1] == ("shutdown",) for step in steps) or name == "rolling-restart"
        asked = any(step.kind == "confirm" and f"{{{server}.managed}} == otherwise" == str(step.when) for step in steps)
        assert not (stops and goes) or asked, (name, server)


@pytest.mark.parametrize("name", names())
def test_a_safe_playbook_asks_no_person_stops_no_server_and_destroys_nothing(name: str) -> None:
    playbook = book(name)
    if playbook.safe:
        assert {step.kind for step in playbook.steps} <= {"run", "check", "wait"}
        assert not any(takes_away(step) or step.destroys for step in playbook.steps)


def overwrites(words: tuple[str, ...]) -> bool:
    """Whether a command writes over a disk: a new file system, partition table or member of an array."""
    added = words[:1] == ("mdadm",) and "--add" in words
    return words[0] in OVERWRITE or added or (words[0] == "sgdisk" and words[1].startswith("--replicate"))


@pytest.mark.parametrize("name", names())
def test_nothing_is_written_over_without_saying_so(name: str) -> None:
    for kind, step, words in commands(book(name)):
        if overwrites(words):
            assert kind == "run" and step.destroys, words
            assert book(name).needs[step.destroys].kind == "empty-disk", words


def repairs(step: Step) -> bool:
    return step.run[:1] in (("e2fsck",), ("xfs_repair",)) and "-n" not in step.run


@pytest.mark.parametrize("name", names())
def test_a_file_system_is_repaired_only_after_it_was_unmounted(name: str) -> None:
    steps = book(name).steps
    for at, step in enumerate(steps):
        if repairs(step):
            mounted = [one.run[0] for one in steps[:at] if one.run[:1] in (("mount",), ("umount",))]
            assert mounted and mounted[-1] == "umount", step.name
            assert "-L" not in step.run, "the log of XFS is not thrown away"


def test_both_kinds_of_file_system_are_repaired() -> None:
    assert {step.run[0] for step in book("hidden-readonly").steps if repairs(step)} == {"e2fsck", "xfs_repair"}


@pytest.mark.parametrize("name", names())
def test_every_wait_has_a_deadline_of_its_own(name: str) -> None:
    written = (ROOT / f"playbooks/books/{name}.yaml").read_text()

    assert written.count("  - wait:") == written.count("    deadline:")


@pytest.mark.parametrize("name", names())
def test_every_sentence_is_one(name: str) -> None:
    playbook = book(name)
    for words in (playbook.means, playbook.risk, *(step.words for step in playbook.steps if step.kind == "confirm")):
        assert words.rstrip()[-1] in ".)" or words.rstrip().split()[-1].startswith(("{", "--")), words[-60:]
    for step in playbook.steps:
        assert step.name[0].isupper() or step.name.split()[0] in engine.names(), step.name


@pytest.mark.parametrize("name", names())
def test_a_word_that_a_person_reads_fits_one_screen(name: str) -> None:
    playbook = book(name)

    assert len(playbook.title) <= 76
    assert len(playbook.means) <= 700 and len(playbook.risk) <= 900
    assert all(len(step.name) <= 80 for step in playbook.steps)


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is missing (package shellcheck)")
@pytest.mark.parametrize("name", names())
def test_every_command_parses_and_quotes_its_arguments(name: str, tmp_path: pathlib.Path) -> None:
    """As a person would paste it. SC2016: dollar signs in single quotes are meant so."""
    script = tmp_path / "plan.sh"
    script.write_text("#!/bin/sh\n" + "".join(f"{shlex.join(words)}\n" for _kind, _step, words in commands(book(name))))
    answer = subprocess.run(["shellcheck", "--exclude=SC2016", script], capture_output=True, text=True, check=False)

    assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize("name", names())
def test_a_comma_inside_of_an_argument_is_quoted(name: str) -> None:
    """YAML would make two arguments of it: [df, --output=source,size]"""
    text = re.sub(r'"[^"]*"', "", (ROOT / f"playbooks/books/{name}.yaml").read_text())
    lists = re.findall(r"(?:run|done|undo): \[([^]]*)", text)

    assert [words for words in lists if re.search(r",[^\s]", words)] == []


@pytest.mark.parametrize("name", names())
def test_no_two_steps_of_a_playbook_have_one_name(name: str) -> None:
    named = [step.name for step in book(name).steps if step.kind in ("run", "kafka", "wait")]

    assert len(named) == len(set(named))


@pytest.mark.parametrize("name", names())
def test_files_that_are_written_are_taken_away_by_the_undo(name: str) -> None:
    playbook = book(name)
    for step in playbook.steps:
        if step.run[:1] == ("tee",) and "-a" not in step.run and step.undo:
            assert step.undo == ("rm", "-f", step.run[-1])
            assert fill(playbook, step, step.input).startswith(("# written by fleet-smoke", "version=1"))


def test_the_modules_that_name_playbooks_are_really_read() -> None:
    found = set(leads())

    assert {("mounts", "hung-disk"), ("mounts", "full-disk"), ("raid", "failed-motherboard"), ("clock_skew", "clock"),
            ("disk_errors", "replace-raid10-disk"), ("partitions", "broker-down"), ("cpu", "hung-disk"),
            ("chassis", "lost-psu"), ("out_of_memory", "tune-os"), ("smart", "overheating")} <= found  # fmt: skip
    assert importlib.import_module("agent.checks.disks.mounts").PLAYBOOK == "hidden-readonly"


def test_the_page_names_every_key_of_a_step() -> None:
    page = (ROOT / "docs/playbooks.md").read_text().partition("## Your own")[2]
    keys = json.loads((ROOT / "playbooks/schema.json").read_text())["$defs"]["step"]["properties"]

    assert [key for key in keys if f"`{key}" not in page] == []


def test_the_example_of_the_page_is_a_valid_playbook() -> None:
    page = (ROOT / "docs/playbooks.md").read_text()
    text = page.partition("```yaml\n")[2].partition("```")[0]

    assert parse(text.encode(), "our-own.yaml").steps


@pytest.mark.parametrize("name", names())
def test_no_file_that_may_hold_a_password_is_shown(name: str) -> None:
    """What a step prints stands on the screen and, of a failed one, in the journal."""
    for kind, _step, words in commands(book(name)):
        if kind == "run" and words[0] in ("cat", "head", "tail"):
            assert words[1].startswith("/proc/"), words
        assert "--property=Environment" not in " ".join(words)
