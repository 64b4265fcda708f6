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
from smoketests.bundle import Bundle
from smoketests.hearing import Hearing, Options, far_command
from tests.inventory.files import load

BUNDLE = Bundle(b"", "", "")


def told(bmc: Bmc) -> dict[str, Any]:
    """What the agent reads on its standard input."""
    told: dict[str, Any] = json.loads(Hearing(None, Options(), BUNDLE, Host("k1", bmc=bmc))._expected)
    return told


def test_the_password_of_our_environment_reaches_the_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW", "hunter2")
    text = json.dumps(told(Bmc("lan", "bmc-k1", password_env="PW")))
    monkeypatch.delenv("PW")
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))

    expected = agent._expected(agent._parser().parse_args(["--expected", "-"]))

    assert os.environ["PW"] == "hunter2"
    assert "hunter2" not in repr(expected)
    assert expected == from_json(split_password(text)[0])


def test_a_password_of_a_file_reaches_the_agent(tmp_path: pathlib.Path) -> None:
    secret = tmp_path / "pw"
    secret.write_text("hunter2\n")
    secret.chmod(0o600)

    assert told(Bmc("lan", "bmc-k1", password_file=str(secret)))["bmc_password"] == "hunter2"


def test_it_never_stands_in_the_command_or_in_what_the_inventory_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPMI_PASSWORD", "hunter2")
    host = Host("k1", bmc=Bmc("lan", "bmc-k1"))

    assert "hunter2" not in far_command(host, "root", Options(), BUNDLE, "r1")
    assert "hunter2" not in json.dumps(host.expected())


@pytest.mark.parametrize("bmc", [Bmc("inband"), Bmc("none"), Bmc()])
def test_a_bmc_that_is_not_asked_over_lan_gets_no_password(bmc: Bmc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPMI_PASSWORD", "hunter2")

    assert "bmc_password" not in told(bmc)


@pytest.mark.parametrize(("mode", "words"), [(0o644, "can be read or changed by others"), (None, "No such file")])
def test_a_password_file_that_is_open_or_gone_is_not_used(mode: int | None, words: str, tmp_path: pathlib.Path) -> None:
    secret = tmp_path / "pw"
    if mode is not None:
        secret.write_text("hunter2\n")
        secret.chmod(mode)
    bmc = Bmc("lan", "bmc-k1", password_file=str(secret))

    with pytest.raises(SecretError, match=words):
        bmc_password(bmc)
    assert "bmc_password" not in told(bmc)


def test_a_password_file_that_is_gone_is_said_when_the_inventory_is_read(tmp_path: pathlib.Path) -> None:
    text = "clusters: {c: {bmc: {via: lan, address: '{host}-bmc', password_file: /nowhere/pw}, hosts: ['k[1-3]']}}"

    (note,) = load(tmp_path, text).notes

    assert note.endswith("inv.yaml:1:55: no password file /nowhere/pw here")


@pytest.mark.parametrize("password", [1, ["x"], "a\0b", None])
def test_a_password_that_is_none_is_refused(password: object) -> None:
    with pytest.raises(BadExpectation, match="bmc_password"):
        split_password(json.dumps({"bmc_password": password}))


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"host": "k1"}'])
def test_without_a_password_the_text_means_what_it_meant(text: str) -> None:
    rest, password = split_password(text)

    assert password == ""
    assert rest == text
