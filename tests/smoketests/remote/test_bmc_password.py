"""The BMC's password on its way from this machine to the agent: never in a command line, a record or an error."""

from __future__ import annotations

import io
import json
import os
import pathlib
import sys
from typing import Any

import pytest

from agent import __main__ as agent
from agent.expected import BadExpectation, from_json, split_password
from inventory.model import Bmc, Host
from inventory.secrets import SecretError, bmc_password
from smoketests.remote.agent_output import Hearing, Options, far_command
from smoketests.remote.bundle import Bundle
from tests.inventory.files import load, problems

BUNDLE = Bundle(b"", "", "")


def told_of(bmc: Bmc) -> dict[str, Any]:
    """What the agent reads on its standard input."""
    told: dict[str, Any] = json.loads(Hearing(None, Options(), BUNDLE, Host("k1", bmc=bmc))._expected)
    return told


def test_the_password_of_our_environment_reaches_the_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMOKE_PW", "hunter2")
    text = json.dumps(told_of(Bmc("lan", "bmc-k1", password_env="SMOKE_PW")))
    monkeypatch.delenv("SMOKE_PW")
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))

    expected = agent._expected(agent.argument_parser().parse_args(["--expected", "-"]))

    assert os.environ["SMOKE_PW"] == "hunter2"
    assert "hunter2" not in repr(expected)
    assert expected == from_json(split_password(text)[0])


def test_a_password_of_a_file_reaches_the_agent(tmp_path: pathlib.Path) -> None:
    secret = tmp_path / "pw"
    secret.write_text("hunter2\n")
    secret.chmod(0o600)

    assert told_of(Bmc("lan", "bmc-k1", password_file=str(secret)))["bmc_password"] == "hunter2"


def test_it_never_stands_in_the_command_or_in_what_the_inventory_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPMI_PASSWORD", "hunter2")
    host = Host("k1", bmc=Bmc("lan", "bmc-k1"))

    assert "hunter2" not in far_command(host, "root", Options(), BUNDLE, "r1")
    assert "hunter2" not in json.dumps(host.expected())


@pytest.mark.parametrize("bmc", [Bmc("inband"), Bmc("none"), Bmc()])
def test_a_bmc_that_is_not_asked_over_lan_gets_no_password(bmc: Bmc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPMI_PASSWORD", "hunter2")

    assert "bmc_password" not in told_of(bmc)


@pytest.mark.parametrize(("mode", "words"), [(0o644, "can be read or changed by others"), (None, "No such file")])
def test_a_password_file_that_is_open_or_gone_is_not_used(mode: int | None, words: str, tmp_path: pathlib.Path) -> None:
    secret = tmp_path / "pw"
    if mode is not None:
        secret.write_text("hunter2\n")
        secret.chmod(mode)
    bmc = Bmc("lan", "bmc-k1", password_file=str(secret))

    with pytest.raises(SecretError, match=words):
        bmc_password(bmc)
    assert "bmc_password" not in told_of(bmc)


def test_a_password_file_that_is_gone_is_said_when_the_inventory_is_read(tmp_path: pathlib.Path) -> None:
    text = f"clusters: {{c: {{bmc: {{via: inband, password_file: {tmp_path}/pw}}, hosts: ['k[1-3]']}}}}"

    (note,) = load(tmp_path, text).notes

    assert note.endswith(f"inv.yaml:1:35: no password file {tmp_path}/pw here")


THEIRS = ("AWS_SECRET_ACCESS_KEY", "PATH", "LD_PRELOAD", "smoke_x", "SMOKE", "SMOKE_MAIL_PASSWORD",
          "SMOKE_SPARK_SECRET", "SMOKE_KAFKA_CLIENT", "XSMOKE_A")  # fmt: skip


@pytest.mark.parametrize("name", THEIRS)
def test_an_inventory_takes_no_other_secret_of_the_environment(
    name: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "of the one who runs us")
    bmc = f"{{via: lan, address: evil, password_env: {name}}}"
    ansible = f"all: {{children: {{kafka: {{hosts: {{k1: {{smoke_bmc: {bmc}}}}}}}}}}}"

    for text in (f"clusters: {{c: {{hosts: {{k1: {{bmc: {bmc}}}}}}}}}", ansible):
        (told,) = problems(tmp_path, text)
        assert f"password_env '{name}': a BMC's password is only read from variables SMOKE_… or IPMI_…" in told
    with pytest.raises(SecretError):
        bmc_password(Bmc("lan", "evil", password_env=name))
    assert "bmc_password" not in told_of(Bmc("lan", "evil", password_env=name))


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "", 7, None])
def test_the_agent_puts_the_password_into_no_other_variable(name: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"bmc": {"via": "lan", "address": "b", "password_env": name}, "bmc_password": "evil"}
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(said)))
    before = dict(os.environ)

    with pytest.raises(BadExpectation, match="must begin with SMOKE_ or IPMI_"):
        agent._expected(agent.argument_parser().parse_args(["--expected", "-"]))
    assert dict(os.environ) == before


OUTSIDE = {
    "elsewhere": "{home}/vault-token",
    "up and out": "{inventory}/../vault-token",
    "a folder whose name begins alike": "{home}/inventory-2/pw",
    "through a link": "{inventory}/link",
    "through a linked folder": "{inventory}/folder/vault-token",
    "a hidden file": "{inventory}/.vault-token",
    "in a hidden folder": "{inventory}/.ssh/id",
    "the folder itself": "{inventory}",
    "of the system": "/proc/self/environ",
}


@pytest.mark.parametrize("path", OUTSIDE.values(), ids=OUTSIDE)
def test_an_inventory_names_no_other_file_of_ours(path: str, tmp_path: pathlib.Path) -> None:
    inventory = tmp_path / "inventory"
    for folder in (inventory / ".ssh", tmp_path / "inventory-2"):
        folder.mkdir(parents=True)
    for file in ("vault-token", "inventory-2/pw", "inventory/.vault-token", "inventory/.ssh/id"):
        (tmp_path / file).write_text("hvs.secret\n")
        (tmp_path / file).chmod(0o600)
    (inventory / "link").symlink_to(tmp_path / "vault-token")
    (inventory / "folder").symlink_to(tmp_path)
    bmc = f"{{via: lan, address: evil, password_file: '{path.format(home=tmp_path, inventory=inventory)}'}}"
    ansible = f"all: {{children: {{kafka: {{hosts: {{k1: {{smoke_bmc: {bmc}}}}}}}}}}}"

    for text in (f"clusters: {{c: {{hosts: {{k1: {{bmc: {bmc}}}}}}}}}", ansible):
        (told,) = problems(inventory, text)
        assert "it must be below" in told and "hvs" not in told


def test_password_files_may_have_a_folder_of_their_own(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "k1").write_text("hunter2\n")
    (secrets / "k1").chmod(0o600)
    (tmp_path / "inventory").mkdir()
    text = f"clusters: {{c: {{hosts: {{k1: {{bmc: {{via: inband, password_file: '{secrets}/{{host}}'}}}}}}}}}}"

    assert "it must be below" in problems(tmp_path / "inventory", text)[0]
    monkeypatch.setenv("SMOKE_BMC_PASSWORDS", str(secrets))
    assert problems(tmp_path / "inventory", text) == []


def test_a_link_put_in_the_place_of_a_password_file_is_not_followed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "token").write_text("hvs.secret\n")
    (tmp_path / "token").chmod(0o600)
    (tmp_path / "pw").symlink_to(tmp_path / "token")

    with pytest.raises(SecretError, match="symbolic link"):
        bmc_password(Bmc("lan", "b", password_file=str(tmp_path / "pw")))


@pytest.mark.parametrize("password", [1, ["x"], "a\0b", None])
def test_a_password_that_is_none_is_refused(password: object) -> None:
    with pytest.raises(BadExpectation, match="bmc_password"):
        split_password(json.dumps({"bmc_password": password}))


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"host": "k1"}'])
def test_without_a_password_the_text_means_what_it_meant(text: str) -> None:
    rest, password = split_password(text)

    assert password == ""
    assert rest == text
