"""Commands of a playbook on a machine: their words are heard whole, however busy it is, or are said to be cut."""

from __future__ import annotations

import selectors
import threading

import pytest

from inventory.model import Host
from playbooks.machine import BEGAN, MOST_OUTPUT, Here, Lost, _FarCommand, _Talk
from tests.busy_machine import LateSelector


def test_a_command_that_prints_and_ends_while_we_wait_for_a_processor_is_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(selectors, "DefaultSelector", LateSelector)
    here = Here(Host("here", cluster="c"), "root")

    done = here.run(["sh", "-c", "sleep 0.8; echo words; exit 4"])

    assert (done.code, done.out) == (4, "words\n")


class LateWords:
    """Stands in for paramiko's channel, since no real one can be made to do it each time: the last words and the end
    come in the moment after we looked for words and found none.
    """

    def __init__(self, last: bytes) -> None:
        self._out, self._errors, self._last = b"", BEGAN.encode() + b"\n", last
        self.status_event = threading.Event()
        self.closed = self.eof_received = False
        self.exit_status = -1

    def recv_ready(self) -> bool:
        ready = bool(self._out)
        if not ready and not self._errors:
            self._out, self._last = self._last, b""
            self.exit_status, self.eof_received = 0, True
            self.status_event.set()
        return ready

    def recv(self, most: int) -> bytes:
        part, self._out = self._out[:most], self._out[most:]
        return part

    def recv_stderr_ready(self) -> bool:
        return bool(self._errors)

    def recv_stderr(self, most: int) -> bytes:
        part, self._errors = self._errors[:most], self._errors[most:]
        return part

    def exit_status_ready(self) -> bool:
        return self.exit_status >= 0

    def sendall(self, data: bytes) -> None:
        assert not self.closed

    def shutdown_write(self) -> None:
        assert not self.closed

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("size", [6, 200_000])
def test_what_a_far_command_prints_last_is_heard_when_its_end_comes_with_it(size: int) -> None:
    talk = _Talk(_FarCommand(LateWords(b"w" * size)), "", "")

    assert talk.to_the_end(1e12) == (0, "w" * size, "")


@pytest.mark.parametrize("where", ["", " >&2"])
def test_an_answer_that_was_cut_is_not_taken_for_whole(where: str) -> None:
    here = Here(Host("here", cluster="c"), "root")
    much = f"head -c 10485760 /dev/zero{where}; exit 3"

    with pytest.raises(Lost, match=f"exceeds {MOST_OUTPUT >> 20} MB and was discarded; exit code 3"):
        here.run(["sh", "-c", much])
    assert here.run(["sh", "-c", f"head -c {MOST_OUTPUT // 2} /dev/zero{where}"]).code == 0
