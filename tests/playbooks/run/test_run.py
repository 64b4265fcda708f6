"""Runs on this machine: asked before each change, never repeated blindly, gone on with after every kind of end."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import stat
import subprocess

import pytest

from tests.playbooks.prompt_fake import Desk, kill, until

THREE = """
- name: Write the first file
  run: [tee, -a, FOLDER/one]
  input: "1"
  undo: [rm, FOLDER/one]
- name: Look at it
  run: [cat, FOLDER/one]
  changes: false
- name: Write the second file
  run: [tee, -a, FOLDER/two]
  input: "2"
  undo: [rm, FOLDER/two]
- name: Write the third file
  run: [tee, -a, FOLDER/three]
  input: "3"
  no_undo: it is meant to stay
"""


@pytest.fixture
def desk(tmp_path: pathlib.Path) -> Desk:
    return Desk(tmp_path)


def test_every_change_is_asked_and_what_only_looks_is_not(desk: Desk) -> None:
    desk.write(THREE)

    answer = desk.smoke("run", "book", answers="yyy")

    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert answer.stdout.count("Run it?") == 3
    assert "| 1" in answer.stdout, "what a look shows"
    assert [desk.file(name) for name in ("one", "two", "three")] == ["1", "2", "3"]


def test_a_person_stops_and_goes_on_later_where_it_was(desk: Desk) -> None:
    desk.write(THREE)

    stopped = desk.smoke("run", "book", answers="yq")
    resumed = desk.smoke("resume", desk.run_id, answers="yy")

    assert stopped.returncode == 1 and "you stopped it" in stopped.stderr
    assert f"smoke playbook resume {desk.run_id}" in stopped.stderr
    assert resumed.returncode == 0
    assert [desk.file(name) for name in ("one", "two", "three")] == ["1", "2", "3"], "nothing twice"
    assert "Write the first file" not in resumed.stdout


def test_a_person_who_goes_away_has_said_no(desk: Desk) -> None:
    desk.write(THREE)

    assert desk.smoke("run", "book").returncode == 1
    assert desk.file("one") == ""


def test_a_step_can_be_skipped(desk: Desk) -> None:
    desk.write(THREE)

    assert desk.smoke("run", "book", answers="yxsy").returncode == 0, "x is no answer, and is asked again"
    assert (desk.file("one"), desk.file("two"), desk.file("three")) == ("1", "", "3")


def test_a_failed_step_ends_the_run_and_is_tried_again(desk: Desk) -> None:
    desk.write("- {name: Copy it, run: [cp, FOLDER/from, FOLDER/to]}")

    failed = desk.smoke("run", "book", answers="y")
    (desk.folder / "from").write_text("now")
    again = desk.smoke("resume", desk.run_id, answers="y")

    assert failed.returncode == 2 and "No such file" in failed.stderr
    assert again.returncode == 0 and desk.file("to") == "now"
    assert desk.smoke("resume", desk.run_id).returncode == 3, "it is over"


def test_a_step_that_may_fail_and_other_exit_codes_lead_on(desk: Desk) -> None:
    desk.write("""
    - {name: It may fail, run: ["false"], may_fail: true}
    - {name: One is good too, run: ["false"], exits: [0, 1]}
    - {name: Write it, run: [touch, FOLDER/end]}
    """)

    answer = desk.smoke("run", "book", answers="yyy")

    assert answer.returncode == 0 and (desk.folder / "end").exists()
    assert answer.stdout.count("the step may fail, continuing") == 1


def test_a_command_that_takes_too_long_is_ended_and_told(desk: Desk) -> None:
    desk.write('- {name: Sleep, run: [sleep, "60"], seconds: 1}')

    answer = desk.smoke("run", "book", answers="y")

    assert answer.returncode == 2 and "timed out after 1 s" in answer.stderr


def test_what_is_done_already_is_not_done_again_nor_taken_back(desk: Desk) -> None:
    (desk.folder / "one").write_text("there before")
    desk.write("""
    - name: Write the first file
      run: [tee, FOLDER/one]
      input: "1"
      done: [test, -s, FOLDER/one]
      undo: [rm, FOLDER/one]
    """)

    answer = desk.smoke("run", "book")
    undone = desk.smoke("undo", desk.run_id)

    assert answer.returncode == 0 and "already done" in answer.stdout and "Run it?" not in answer.stdout
    assert undone.returncode == 0 and desk.file("one") == "there before"


def test_a_run_is_taken_back_the_last_step_first(desk: Desk) -> None:
    desk.write(THREE)
    desk.smoke("run", "book", answers="yyy")

    answer = desk.smoke("undo", desk.run_id, answers="yy")

    assert answer.returncode == 0
    assert desk.told("undo ended") == ["undo ended 3", "undo ended 1"]
    assert "cannot be undone: it is meant to stay" in answer.stdout
    assert (desk.file("one"), desk.file("two"), desk.file("three")) == ("", "", "3")
    assert desk.smoke("undo", desk.run_id).returncode == 3


def test_an_undo_that_was_stopped_goes_on(desk: Desk) -> None:
    desk.write(THREE)
    desk.smoke("run", "book", answers="yyy")

    assert desk.smoke("undo", desk.run_id, answers="yq").returncode == 1
    assert desk.smoke("resume", desk.run_id).returncode == 3, "it is being taken back"
    assert desk.smoke("undo", desk.run_id, answers="y").returncode == 0
    assert (desk.file("one"), desk.file("two")) == ("", "")


def test_yes_is_for_safe_playbooks_only(desk: Desk) -> None:
    desk.write(THREE, "careful")
    desk.write(THREE, "safe", head="safe: true\n")

    refused = desk.smoke("run", "careful", "--yes")

    assert refused.returncode == 3 and "nothing is at risk here" in refused.stderr and desk.file("one") == ""
    assert desk.smoke("run", "safe", "--yes").returncode == 0 and desk.file("three") == "3"


def test_a_person_confirms_what_no_command_can_see(desk: Desk) -> None:
    desk.write("""
    - confirm: The lamp of {host.name} is lit.
    - {name: Write it, run: [touch, FOLDER/end]}
    """)

    assert desk.smoke("run", "book", answers="q").returncode == 1
    assert not (desk.folder / "end").exists()
    assert desk.smoke("resume", desk.run_id, answers="yy").returncode == 0
    assert desk.told("confirmed", "ended") == ["confirmed 1", "ended 2"]


def test_a_wait_ends_when_it_is_so_and_fails_when_its_time_is_over(desk: Desk) -> None:
    desk.write("""
    - {wait: The file is there, run: [test, -e, FOLDER/go], every: 1, deadline: 2s}
    """)

    late = desk.smoke("run", "book")
    (desk.folder / "go").touch()

    assert late.returncode == 2 and "timed out after 2 s" in late.stderr
    assert desk.smoke("resume", desk.run_id).returncode == 0


def test_a_check_that_is_not_well_ends_the_run(desk: Desk) -> None:
    desk.write("- {check: swappiness, item: none such}")

    answer = desk.smoke("run", "book")

    assert answer.returncode == 2 and "swappiness" in answer.stderr


def test_a_condition_leaves_a_step_out(desk: Desk) -> None:
    desk.write("""
    - {name: For nobody, when: "{host.name} == nobody", run: [touch, FOLDER/no]}
    - {name: For all, when: "{host.name} != nobody", run: [touch, FOLDER/yes]}
    """)

    answer = desk.smoke("run", "book", answers="y")

    assert answer.returncode == 0 and "skipped: {host.name} == nobody" in answer.stdout
    assert (desk.folder / "yes").exists() and not (desk.folder / "no").exists()


# what a slow command is: python waits for the file `go`, then writes a line to `log`
WAITER = """
import os, sys, time
open(sys.argv[1] + "/begun", "a").write("x")
while not os.path.exists(sys.argv[1] + "/go"): time.sleep(0.05)
open(sys.argv[1] + "/log", "a").write("ended\\n")
"""


def slow(desk: Desk, more: str = "") -> None:
    (desk.folder / "waiter.py").write_text(WAITER)
    desk.write(f"""
    - name: Take long
      run: [python3, FOLDER/waiter.py, FOLDER]
      seconds: 60
      {more}
    - {{name: Write it, run: [touch, FOLDER/end]}}
    """)


def run_to_the_middle(desk: Desk) -> subprocess.Popen[str]:
    """A run in the middle of the step that takes long."""
    process = desk.begin("run", "book")
    desk.type_in(process, "y")
    until("the command begins", lambda: desk.file("begun"))
    return process


def test_after_kill_9_a_step_that_still_runs_is_waited_for_and_not_repeated(desk: Desk) -> None:
    slow(desk, "done: [test, -e, FOLDER/log]")
    process = run_to_the_middle(desk)
    kill(process)

    resumed = desk.begin("resume", desk.run_id)
    until("it is seen to run still", lambda: "still running there" in desk.printed)
    (desk.folder / "go").touch()
    code, out = desk.end(resumed, "y")

    assert code == 0, out
    assert desk.file("begun") == "x" and desk.file("log") == "ended\n"
    assert (desk.folder / "end").exists()


@pytest.mark.parametrize(("said", "times"), [("d", 1), ("a", 2), ("s", 1)])
def test_after_kill_9_only_a_person_can_tell_of_a_step_that_cannot_be_asked(desk: Desk, said: str, times: int) -> None:
    slow(desk)
    process = run_to_the_middle(desk)
    kill(process)
    (desk.folder / "go").touch()
    until("the command ends", lambda: desk.file("log"))

    nobody = desk.smoke("resume", desk.run_id)
    answer = desk.smoke("resume", desk.run_id, answers=said + "yy")

    assert nobody.returncode == 1, "without an answer nothing is done"
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "started earlier, outcome unknown" in answer.stdout
    assert desk.file("begun") == "x" * times


def test_ctrl_c_lets_a_command_end_and_stops_then(desk: Desk) -> None:
    slow(desk)
    process = run_to_the_middle(desk)
    process.send_signal(signal.SIGINT)
    (desk.folder / "go").touch()
    code, out = desk.end(process)

    assert code == 1 and "stopping after the current command" in out
    assert desk.told("started", "ended") == ["started 1", "ended 1"]
    assert desk.smoke("resume", desk.run_id, answers="y").returncode == 0
    assert desk.file("begun") == "x"


def test_ctrl_c_twice_leaves_the_command_behind_and_says_so(desk: Desk) -> None:
    slow(desk)
    process = run_to_the_middle(desk)
    process.send_signal(signal.SIGINT)
    until("the first is reported", lambda: "stopping after the current command" in desk.printed)
    process.send_signal(signal.SIGINT)
    code, _out = desk.end(process)
    (desk.folder / "go").touch()

    assert code == 1 and desk.told("started", "ended") == ["started 1"]
    assert "outcome unknown" in desk.smoke("log").stdout
    until("the command ends", lambda: desk.file("log"))


def test_two_operators_at_once_are_told_of_each_other(desk: Desk) -> None:
    slow(desk)
    desk.write("- {name: Write it, run: [touch, FOLDER/other]}", "other")
    first = run_to_the_middle(desk)

    second = desk.smoke("run", "other", answers="y")
    same = desk.smoke("resume", sorted(path.stem for path in (desk.store / "playbooks").glob("*.jsonl"))[0])
    (desk.folder / "go").touch()

    assert second.returncode == 2 and not (desk.folder / "other").exists()
    assert "another maintenance is in progress" in second.stderr and f"pid {first.pid}" in second.stderr
    assert "until" in second.stderr
    assert same.returncode == 2 and f"pid {first.pid}" in same.stderr
    assert desk.end(first, "y")[0] == 0
    assert desk.smoke("run", "other", answers="y").returncode == 0, "afterwards it is free"


def test_the_journal_is_for_the_group_and_tells_everything(desk: Desk) -> None:
    desk.write(THREE)
    desk.smoke("run", "book", answers="yyy")
    path = desk.store / "playbooks" / f"{desk.run_id}.jsonl"

    listed, told = desk.smoke("log").stdout, desk.smoke("log", desk.run_id).stdout

    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert desk.events()[0]["plan"]["playbook"] == "book"
    assert f"{desk.run_id}  book" in listed and "finished" in listed
    assert "step 1 started" in told and f"tee', '-a', '{desk.folder}/one" in told


def test_a_journal_whose_last_line_was_cut_short_is_gone_on_with(desk: Desk) -> None:
    desk.write(THREE)
    desk.smoke("run", "book", answers="yq")
    path = desk.store / "playbooks" / f"{desk.run_id}.jsonl"
    with path.open("a") as file:
        file.write('{"event":"started","step":"3","ar')

    assert desk.smoke("resume", desk.run_id, answers="yy").returncode == 0
    assert desk.file("two") == "2"


def test_a_run_goes_on_with_the_playbook_that_it_began_with(desk: Desk) -> None:
    desk.write(THREE)
    desk.smoke("run", "book", answers="yq")
    desk.write("- {name: Something else, run: [touch, FOLDER/else]}")

    assert desk.smoke("resume", desk.run_id, answers="yy").returncode == 0
    assert desk.file("three") == "3" and not (desk.folder / "else").exists()


def test_a_playbook_that_was_changed_since_the_plan_is_refused(desk: Desk) -> None:
    desk.write(THREE)
    assert desk.smoke("plan", "book").returncode == 0
    desk.write("- {name: Something else, run: [touch, FOLDER/else]}")

    answer = desk.smoke("run", "book", answers="y")

    assert answer.returncode == 3 and "the playbook book has changed" in answer.stderr
    assert not (desk.folder / "else").exists()
    assert desk.smoke("plan", "book").returncode == 0
    assert desk.smoke("run", "book", answers="y").returncode == 0, "planned again, it counts"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "none"), "no playbook named 'none'"),
        (("run", "book", "--choose", "\x1b[2J"), "--choose: expected NEED=NAME"),
        (("show", "no\x1b[31mne"), "no playbook named 'no"),
        (("run", "book", "--host", "kafka-a01"), "without an inventory (-i) a playbook applies to this machine"),
        (("run", "book", "-i", "none.yaml"), "--host is required"),
        (("run", "book", "-i", "none.yaml", "--host", "a"), "none.yaml: cannot be read"),
        (("run", "book", "--choose", "disk"), "--choose: expected NEED=NAME"),
        (("run", "book", "--accept", "power"), "--accept requires --because"),
        (("run", "book", "--plan", "20260101-000000-abcd"), "has no plan 20260101-000000-abcd"),
        (("resume", "20260101-000000-abcd"), "no run 20260101-000000-abcd"),
        (("resume", "../../etc/passwd"), "is not a valid id"),
        (("log", "20260101-000000-abcd"), "no run 20260101-000000-abcd in"),
    ],
)
def test_wrong_words_are_explained_and_nothing_is_done(desk: Desk, words: tuple[str, ...], said: str) -> None:
    desk.write(THREE)

    answer = desk.smoke(*words, answers="yyy")

    assert answer.returncode == 3 and said in answer.stderr, answer.stderr
    assert "\x1b" not in answer.stderr, "a terminal does not obey what was typed"
    assert desk.file("one") == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_that_cannot_be_written_lets_nothing_be_done(desk: Desk) -> None:
    desk.write(THREE)
    desk.store.mkdir(mode=0o500)

    assert desk.smoke("run", "book", answers="yyy").returncode == 3
    assert desk.file("one") == ""


def test_a_store_that_is_a_file_lets_nothing_be_done(desk: Desk) -> None:
    desk.write(THREE)
    desk.store.write_text("")

    answer = desk.smoke("run", "book", answers="yyy")

    assert answer.returncode == 3 and desk.file("one") == ""


def test_each_of_a_list_is_a_step_of_its_own(desk: Desk, tmp_path: pathlib.Path) -> None:
    desk.write(
        """
        - name: Name it
          each: machine.remounts
          run: [touch, "FOLDER/none"]
        """,
        head="needs: {machine: machine}\n",
    )

    answer = desk.smoke("run", "book", answers="y" * 9)

    assert answer.returncode == 0, answer.stderr
    assert json.loads(desk.smoke("plan", "book", "-f", "json").stdout)["facts"]["machine"]["kind"] == "machine"


def test_where_kafka_cannot_be_asked_a_person_goes_on_without_it_or_not(desk: Desk) -> None:
    desk.write("""
    - {name: Leaders go, kafka: move-leaders-away}
    - {name: Write it, run: [touch, FOLDER/end]}
    """)

    stopped = desk.smoke("run", "book", answers="q")
    skipped = desk.smoke("resume", desk.run_id, answers="sy")

    assert stopped.returncode == 3 and "names no Kafka servers" in stopped.stderr
    assert skipped.returncode == 0 and (desk.folder / "end").exists()


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    os.close(0), os.close(1), os.close(2)
    open(sys.argv[1] + "/daemon", "w").write(str(os.getpid()))
    time.sleep(300)
    os._exit(0)
while not os.path.exists(sys.argv[1] + "/daemon"): time.sleep(0.02)
"""


def test_a_daemon_that_a_step_started_is_not_the_step_that_still_runs(desk: Desk) -> None:
    (desk.folder / "daemon.py").write_text(DAEMON)
    desk.write("""
    - name: Start the daemon
      run: [python3, FOLDER/daemon.py, FOLDER]
      done: [test, -e, FOLDER/started]
      seconds: 5
    """)
    assert desk.smoke("run", "book", answers="y").returncode == 0
    pid = int(until("the daemon", lambda: desk.file("daemon")))
    try:
        path = desk.store / "playbooks" / f"{desk.run_id}.jsonl"
        rows = path.read_text().splitlines()
        path.write_text("".join(f"{row}\n" for row in rows if '"ended"' not in row and '"finished"' not in row))
        (desk.folder / "started").touch()
        answer = desk.smoke("resume", desk.run_id)
        inherited = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    finally:
        os.kill(pid, signal.SIGKILL)

    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "still running" not in answer.stdout and b"SMOKE_PLAYBOOK" not in inherited


def test_a_run_that_was_killed_before_it_wrote_down_its_lock_goes_on_with_it(desk: Desk) -> None:
    desk.write(THREE)
    desk.smoke("run", "book", answers="q")
    path = desk.store / "playbooks" / f"{desk.run_id}.jsonl"
    rows = path.read_text().splitlines()
    path.write_text("".join(f"{row}\n" for row in rows if '"locked"' not in row))

    answer = desk.smoke("resume", desk.run_id, answers="yyy")

    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert not list((desk.store / "gate/locks").glob("*.json")), "and it is given back"
