"""A plan is what a person pastes into a shell: every argument stays one argument, and prose stays prose."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from playbooks import fact_schema, loader
from playbooks.fact_schema import Fact
from playbooks.facts import Choice
from playbooks.model import Playbook
from playbooks.placeholders import Placeholder
from playbooks.plan import plan_text
from playbooks.plan.plan import Plan, changes, from_json, to_json
from playbooks.plan.template import always
from tests.playbooks.playbook_fixtures import book, names, value

FOLDER = pathlib.Path(__file__).parents[3] / "playbooks/books"
# values that decide which steps are for a machine
VARIANTS: Mapping[str, Sequence[str]] = {
    "disk.tool": ("mdadm", "storcli64", "perccli64", "ssacli"),
    "disk.fstype": ("xfs", "ext4"),
    "mount.fstype": ("xfs", "ext4"),
    "firewall.kind": ("nftables", "iptables", "firewalld", "ufw"),
    "time.daemon": ("chronyd", "ntpd", "systemd-timesyncd"),
    "antivirus.product": ("ClamAV", "Microsoft Defender", "Sophos"),
    "broker.mode": ("kraft", "zookeeper"),
    "disk.nvme": ("yes", "no"),
    "machine.family": ("debian", "redhat"),
    "machine.systemd": ("yes",),
    "machine.udev": ("yes",),
    "disk.partition_number": ("2", ""),
}


def facts(playbook: Playbook, variant: int) -> dict[str, Fact]:
    """Facts of an example machine; another variant of it goes through other steps."""
    found = {}
    for name, need in playbook.needs.items():
        if not need.late:
            given: dict[str, object] = {}
            for field, of in fact_schema.fields(need.kind).items():
                offered = VARIANTS.get(f"{name}.{field}")
                word = offered[variant % len(offered)] if offered else value(playbook, Placeholder(name, field))
                given[field] = [word] if of.startswith("[") else word
            found[name] = fact_schema.fact(need.kind, given)
    return found


def plan_of(playbook: Playbook, known: Mapping[str, Fact]) -> Plan:
    late = tuple(name for name, need in playbook.needs.items() if need.late)
    source = (FOLDER / f"{playbook.name}.yaml").read_text()
    return Plan(
        "20261121-210733-3f2a", playbook, source, "kafka-a03", "10.0.0.3", "prod-a", "2026-11-21T21:07:33Z", known,
        late, Choice("ZA1BC2DE"), ("ZA1BC2DE",), ("smart ZA1BC2DE critical: it dies",), (), ("prod.yaml",),
    )  # fmt: skip


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is missing (package shellcheck)")
@pytest.mark.parametrize("name", names())
def test_every_plan_is_a_script_that_shellcheck_has_nothing_against(name: str, tmp_path: pathlib.Path) -> None:
    scripts = []
    for variant in range(4):
        scripts.append(tmp_path / f"{variant}.sh")
        scripts[-1].write_text("#!/bin/sh\n" + plan_text.render(plan_of(book(name), facts(book(name), variant))) + "\n")
    # SC2016: dollar signs in single quotes are meant so
    answer = subprocess.run(["shellcheck", "--exclude=SC2016", *scripts], capture_output=True, text=True, check=False)

    assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize("name", names())
def test_prose_fits_eighty_columns_and_is_a_comment(name: str) -> None:
    rows = plan_text.render(plan_of(book(name), facts(book(name), 0))).splitlines()
    told = ("already done", "#    undo:", "# written by")
    prose = [row for row in rows if row.startswith("#") and not any(words in row for words in told)]

    assert max(map(len, prose)) <= 80
    assert any(row.startswith("# Finding: smart ZA1BC2DE critical") for row in rows)


@pytest.mark.parametrize("name", names())
def test_a_plan_that_was_kept_is_the_same_plan(name: str) -> None:
    plan = plan_of(book(name), facts(book(name), 1))
    kept = from_json(json.loads(json.dumps(to_json(plan))))

    assert changes(plan, kept) == []
    assert plan_text.render(kept) == plan_text.render(plan)


def test_what_is_found_later_stands_as_a_variable() -> None:
    text = plan_text.render(plan_of(book("replace-jbod-disk"), facts(book("replace-jbod-disk"), 0)))

    assert 'mkfs.xfs -m uuid=0c9f1d6e-8f0a-4a53-9a4c-3f1f6d1f7a11 "$NEW_DEVICE"' in text
    assert "# new: determined when" in text
    assert "determined when this step is reached: NEW_" in text


PLAYBOOK = """
title: A playbook of a test
means: it means nothing here
risk: nothing is at risk here
needs: {fw: firewall, new: empty-disk}
steps:
  - name: Say it
    run: [printf, "%s\\\\0", WORD, "{new.serial}"]
    input: INPUT
"""


def said(word: str, text: str) -> str:
    """A plan of one command with this argument and this input."""
    source = PLAYBOOK.replace("WORD", json.dumps(word)).replace("INPUT", json.dumps(text))
    playbook = loader.parse(source.replace("fw: firewall, ", "").encode(), "book.yaml")
    known = always("kafka-a03", "", "", "20261121-210733-3f2a")
    plan = plan_of(book("tune-os"), {})
    plan = Plan(**{**vars(plan), "playbook": playbook, "late": ("new",), "facts": known})
    return plan_text.render(plan)


TEXT = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_categories=("Cc", "Cs")) | st.just("\n"), max_size=30
).map(lambda text: text.replace("{", "{{").replace("}", "}}"))


@given(TEXT)
def test_a_shell_gives_every_argument_as_it_is(word: str) -> None:
    script = said(word, "")
    done = subprocess.run(
        ["sh", "-c", script], capture_output=True, check=True, env={"NEW_SERIAL": "a b; $(x)", "PATH": "/usr/bin:/bin"}
    )
    plain = word.replace("{{", "{").replace("}}", "}")

    assert done.stdout.decode().split("\0")[:-1] == [plain, "a b; $(x)"]


@example("E\xa0\nS\xa0", False)
@given(TEXT, st.booleans())
def test_a_shell_gives_a_command_its_input_as_it_is(text: str, late: bool) -> None:
    source = (
        PLAYBOOK.replace("fw: firewall, ", "").replace('"%s\\\\0", WORD, "{new.serial}"', '""').replace("printf", "cat")
    )
    source = source.replace('[cat, ""]', "[cat]" if late else '[cat, "-"]')
    body = text + ("{new.serial}" if late else "") + "\n"
    source = source.replace("INPUT", json.dumps(body)).replace(
        "{new: empty-disk}", "{new: empty-disk}" if late else "{}"
    )
    playbook = loader.parse(source.encode(), "book.yaml")
    plan = Plan(**{**vars(plan_of(book("tune-os"), {})), "playbook": playbook, "late": ("new",)})
    done = subprocess.run(
        ["sh", "-c", plan_text.render(plan)], capture_output=True, check=True,
        env={"NEW_SERIAL": "a$b", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip

    assert done.stdout.decode() == text.replace("{{", "{").replace("}}", "}") + ("a$b" if late else "") + "\n"


HOSTILE = (
    "; rm -rf /",
    "a\nb",
    "$(reboot)",
    "`reboot`",
    "--force",
    "/dev/../etc",
    "a'b",
    'a"b',
    "x" * 300,
    "a|b",
    "\x1b[2J",
)


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize(
    ("kind", "field"),
    [("jbod-disk", "serial"), ("jbod-disk", "device"), ("mount", "path"), ("broker", "unit"), ("broker", "log_dirs"),
     ("jbod-disk", "uuid"), ("jbod-disk", "fstab"), ("interface", "name"), ("firewall", "rich_rules")],
)  # fmt: skip
def test_what_a_machine_says_is_refused_unless_it_fits(kind: str, field: str, hostile: str) -> None:
    if (kind, hostile) == ("jbod-disk", "/dev/../etc") and field == "serial":
        pytest.skip("a serial number with strokes and dots is no path, only odd")
    with pytest.raises(fact_schema.BadFact) as caught:
        fact_schema.fact(kind, {field: hostile})

    assert str(caught.value).isprintable()


def test_an_odd_text_that_only_describes_is_left_out() -> None:
    assert fact_schema.fact("jbod-disk", {"model": "; rm -rf /", "serial": "ZA1"}).values == {"serial": "ZA1"}


def test_what_a_person_reads_cannot_leave_its_comment() -> None:
    plan = plan_of(book("tune-os"), facts(book("tune-os"), 0))
    plan = Plan(**{**vars(plan), "why": ("smart x critical: ok\nreboot\x1b[2J",)})

    rows = plan_text.render(plan).splitlines()

    assert "# Finding: smart x critical: ok reboot [2J" in rows
    assert "reboot" not in [row.split()[0] for row in rows if row]


def test_a_fact_that_is_not_told_and_that_a_command_needs_is_a_problem() -> None:
    known = {**facts(book("reboot-broker"), 0), "broker": Fact("broker", {}), "zookeeper": Fact("zookeeper", {})}
    assert plan_text.problems(plan_of(book("reboot-broker"), known)) == []

    known["machine"] = Fact("machine", {})
    assert any("{machine.boot_id}" in problem for problem in plan_text.problems(plan_of(book("reboot-broker"), known)))


def test_another_serial_number_is_a_change_that_is_named() -> None:
    playbook = book("replace-jbod-disk")
    plan = plan_of(playbook, facts(playbook, 0))
    disk = Fact("jbod-disk", {**plan.facts["disk"].values, "serial": "OTHER1"})

    assert changes(plan, Plan(**{**vars(plan), "facts": {**plan.facts, "disk": disk}})) == [
        "disk.serial was ZA1BC2DE, is now OTHER1"
    ]
