"""The shape of the tree: who may import whom, what the agent may load, and what every check must say."""

from __future__ import annotations

import ast
import functools
import pathlib
import subprocess
import sys
from collections.abc import Container, Iterator
from graphlib import CycleError, TopologicalSorter

import pytest

from agent import engine

ROOT = pathlib.Path(__file__).parent.parent

# Of each package: a layer may import itself and those before it, never those after it. The longest name that fits a
# module decides; `.` is all that no other name fits. What is imported inside a function, or for types only, counts too.
LAYERS: dict[str, list[tuple[str, ...]]] = {
    "agent": [
        ("__init__", "named_tuples", "atomic_file"),
        ("status", "state", "state_rows", "expected", "lazy_regex"),
        ("host",),
        ("sources",),
        ("checks", "autodetect"),
        ("machine", "engine", "report"),
        ("recording", "supervisor", "formats"),
        (".",),
        ("api",),
    ],
    "smoketests": [
        ("ssh",),
        ("remote",),
        ("readers",),
        ("cluster",),
        ("results.store",),
        ("gate",),
        ("results",),
        ("gate.__init__", "gate.evaluate"),
        ("show",),
        ("commands",),
        (".",),
    ],
    "playbooks": [
        (".",),
        ("facts",),
        ("plan",),
        ("run",),
        ("executors",),
        ("run.run",),
        ("commands",),
    ],
}
# What other packages may import of the agent; agent/api names what they may use of its checks and sources.
AGENT_FOR_OTHERS = {
    "api", "atomic_file", "engine", "expected", "formats", "host", "recording", "report", "state", "status",
}  # fmt: skip
OF_THE_AGENT_ITSELF = {"__version__"}
PACKAGES = {
    "agent": {"agent"},
    "inventory": {"inventory"},
    "smoketests": {"agent", "inventory", "smoketests"},
    "placement": {"agent", "inventory", "smoketests", "placement"},
    "playbooks": {"agent", "inventory", "smoketests", "placement", "playbooks"},
    "fleet": {"fleet"},
}
# smoketests hands over to Spark when asked to, inside a function
FLEET_FROM = {
    "smoketests/commands/nightly.py",
    "smoketests/commands/archive_report.py",
    "smoketests/commands/report.py",
}

AGENT_MAY_USE = {"pySMART"}
HEAVY = {"asyncio", "dataclasses", "concurrent.futures", "urllib.request", "importlib.metadata", "email", "logging",
         "pySMART", "chardet", "http", "ssl", "multiprocessing", "platform", "inspect"}  # fmt: skip


def modules(package: str) -> Iterator[pathlib.Path]:
    return (ROOT / package).rglob("*.py")


def imported(path: pathlib.Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def name_of(path: pathlib.Path) -> str:
    """`agent.sources.kafka.processes`, `smoketests.gate.__init__`"""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


@functools.cache
def graph() -> dict[str, set[str]]:
    """Each module of ours -> the modules of ours that it imports, wherever in it."""
    known = {name_of(path): path for package in PACKAGES for path in modules(package)}
    return {name: {_module(one, known) for one in imported(path)} & set(known) - {name} for name, path in known.items()}


def _module(name: str, known: Container[str]) -> str:
    """The module in which `smoketests.gate.decide` stands."""
    parent = name.rpartition(".")[0]
    return next((one for one in (name, f"{name}.__init__", parent, f"{parent}.__init__") if one in known), "")


def layer(module: str) -> int:
    package, _, part = module.partition(".")
    fits = [
        (len(prefix), number)
        for number, prefixes in enumerate(LAYERS[package])
        for prefix in prefixes
        if prefix == "." or f"{part}.".startswith(f"{prefix}.")
    ]
    return max(fits)[1]


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_one_way(package: str) -> None:
    for path in modules(package):
        ours = {name.split(".")[0] for name in imported(path)} & set(PACKAGES)
        allowed = PACKAGES[package] | ({"fleet"} if str(path.relative_to(ROOT)) in FLEET_FROM else set())
        assert ours <= allowed, f"{path} imports {ours - allowed}"


@pytest.mark.parametrize("package", LAYERS)
def test_the_layers_of_a_package_import_one_way(package: str) -> None:
    ours = {name: used for name, used in graph().items() if name.startswith(f"{package}.")}
    upward = [(name, one) for name, used in ours.items() for one in used & set(ours) if layer(one) > layer(name)]

    assert not upward


def test_no_modules_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize("package", ["docs", *(set(PACKAGES) - {"agent"})])
def test_other_packages_use_only_what_the_agent_offers(package: str) -> None:
    for path in modules(package):
        parts = {name.split(".")[1] for name in imported(path) if name.startswith("agent.")}
        assert parts <= AGENT_FOR_OTHERS | OF_THE_AGENT_ITSELF, f"{path} imports {parts - AGENT_FOR_OTHERS}"


def test_the_agent_does_not_depend_on_what_it_offers() -> None:
    for path in modules("agent"):
        assert not any(name.startswith("agent.api") for name in imported(path)), path


def test_the_agent_makes_its_named_tuples_quickly() -> None:
    """typing's take ten times as long, in every run on every host."""
    slow = [path for path in modules("agent") if "typing.NamedTuple" in imported(path)]

    assert [path.name for path in slow] == ["named_tuples.py"]


# what a check or a source may use of modules that could also reach the machine
PURE_PARTS = {"os": {"path"}, "time": {"gmtime", "strftime", "struct_time"}}
BEHIND_HOSTS_BACK = {
    "subprocess",
    "socket",
    "psutil",
    "pyudev",
    "ctypes",
    "shutil",
    "glob",
    "pathlib",
    "io",
    "tempfile",
}


def test_checks_do_not_import_each_other_or_reach_the_machine_behind_hosts_back() -> None:
    for path in [*modules("agent/checks"), *modules("agent/sources")]:
        tree = ast.parse(path.read_text())
        names = imported(path)
        calls = {
            node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        used = {
            (node.value.id, node.attr)
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in PURE_PARTS
        }
        impure = {f"{module}.{part}" for module, part in used if part not in PURE_PARTS[module]}

        assert not {name.split(".")[0] for name in names} & BEHIND_HOSTS_BACK, path
        assert not any(name.startswith("agent.checks") for name in names), path
        assert not impure and "open" not in calls, f"{path}: {impure}"


def test_the_agent_uses_only_the_packages_that_every_broker_gets() -> None:
    for path in modules("agent"):
        outside = {name.split(".")[0] for name in imported(path)} - set(sys.stdlib_module_names) - {"agent"}
        assert outside <= AGENT_MAY_USE, f"{path} imports {outside}"


def loaded_by(code: str) -> set[str]:
    program = f"import sys; before = set(sys.modules); {code}; print(*sorted(set(sys.modules) - before))"
    return set(
        subprocess.run([sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True).stdout.split()
    )


def test_starting_the_agent_loads_nothing_heavy() -> None:
    everything = "import agent.__main__, agent.engine; [agent.engine.load(name) for name in agent.engine.names()]"

    assert not HEAVY & loaded_by(everything)


@pytest.mark.parametrize("words", ["['--help']", "['list']"])
def test_smoke_help_loads_no_spark_no_fabric_no_charts(words: str) -> None:
    code = f"import smoketests.cli as c\ntry: c.smoke.main({words})\nexcept SystemExit: pass\n"
    program = code + "import sys; print('MODULES', *sorted(sys.modules))"
    shown = subprocess.run([sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True).stdout
    loaded = set(shown.rpartition("MODULES")[2].split())

    assert not {"pyspark", "fabric", "paramiko", "matplotlib", "rich", "yaml", "psutil", "duckdb", "jinja2"} & loaded


@pytest.mark.parametrize("name", engine.names())
def test_every_check_explains_itself(name: str) -> None:
    check = engine.load(name)
    question, _, rest = (check.__doc__ or "").partition("\n")

    assert question.endswith("?"), f"{name}: the docstring begins with a question"
    assert "Warning:" in rest or "Critical:" in rest, f"{name}: says when it alarms"
    assert "Ok again:" in rest, f"{name}: says how it becomes ok again"
    assert isinstance(check.LIMITS, dict)
    assert getattr(check, "PLAYBOOK", None), f"{name}: names its playbook"


MOST_FILES = 25


@pytest.mark.parametrize("package", PACKAGES)
def test_no_folder_is_a_drawer(package: str) -> None:
    """A folder is a part of the machine or a step of the work: one that grows beyond this is two."""
    folders = {path.parent for path in modules(package)}
    sizes = {folder: len(list(folder.glob("*.py"))) for folder in folders}

    assert not {str(folder.relative_to(ROOT)): size for folder, size in sizes.items() if size > MOST_FILES}


@pytest.mark.parametrize("registry", ["agent/checks", "smoketests/gate/rules"])
def test_a_name_stands_in_one_room_of_its_registry(registry: str) -> None:
    names = [path.stem for path in (ROOT / registry).glob("*/*.py") if path.stem != "__init__"]

    assert sorted(names) == sorted(set(names))
