"""Which class a Java process runs as its main class, and whose process it is.

That is how a broker is told from a program that only names one: an editor, a `grep kafka.Kafka`, a launcher.
"""

from __future__ import annotations

import itertools
import os
import re
from typing import FrozenSet, List, Sequence, Tuple

from agent.host import CannotTell, Host, Process
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.disks import mount_table
from agent.sources.kafka import named_files

# /usr/lib/jvm/java-17-openjdk-amd64/bin/java; Apache Commons Daemon is jsvc, or jsvc.exec in CDH and HDP
JVMS = ("java", "jsvc")

# Options whose value is the next word: java.c of OpenJDK 8 to 24 (IsWhiteSpaceOption), and jsvc's own.
WITH_VALUE: FrozenSet[str] = frozenset((
    "-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules",
    "--limit-modules", "--enable-native-access", "--add-reads", "--add-exports", "--add-opens", "--patch-module",
    "--source", "-d", "--describe-module",
    "-home", "-java-home", "-jvm", "-user", "-pidfile", "-outfile", "-errfile", "-procname", "-wait", "-umask", "-cwd",
))  # fmt: skip
# Options whose value takes the place of the main class: java -jar some.jar, java -m module/class
MAIN_AS_VALUE = ("-jar", "-m", "--module")
# A server prints these and ends, wherever they stand: Kafka.getPropsFromArgs.
ENDS_AT_ONCE = frozenset(("--version", "--help"))
# java @/etc/kafka/all.args: words of the command line in a file (JDK 9 and later), until this option
NO_FILES = "--disable-@files"
# -cp "/opt/my kafka/libs/*" kafka.Kafka   # and a comment
FILE_WORD = pattern(r"""#[^\n]*|"([^"]*)"|'([^']*)'|([^\s#"']+)""")
MOST_FILE_WORDS = 2048
# org.tanukisoftware.wrapper.WrapperSimpleApp kafka.Kafka …: starts the class that its first argument names
WRAPPERS = "org.tanukisoftware.wrapper."

FIRST_LOGIN_USER = 1000
OF_PEOPLE = ("/cron.service", "/crond.service", "/atd.service", "/ssh.service", "/sshd.service")
# Uid:	1000	1000	1000	1000
USER = pattern(r"^Uid:\s(\d{1,10})\s", re.MULTILINE)


class Started(NamedTuple):
    """The main class and the words after it; both empty where the process runs no Java class that can be told."""

    main: str
    arguments: Tuple[str, ...]


NOTHING = Started("", ())


def of(host: Host, process: Process, known: Sequence[str]) -> Started:
    """Which of the `known` classes a process runs as its main class, if any, by its program and its command line."""
    words = "\0".join(("", *process.argv))  # one text: there are hundreds of processes with dozens of words
    if "\0@" not in words and not any(name in words for name in known):
        return NOTHING
    started = _started(host, process)
    if started.main in known and not ENDS_AT_ONCE.intersection(started.arguments):
        return started if _runs(host, process, *JVMS) else NOTHING
    # A native image of GraalVM, as apache/kafka-native has it: /opt/kafka/kafka.Kafka start --config FILE …
    program = os.path.basename(process.argv[0])
    native = program in known and process.argv[1:2] == ("start",) and _runs(host, process, program)
    return Started(program, process.argv[2:]) if native else NOTHING


def _started(host: Host, process: Process) -> Started:
    """What a process starts, by its command line, and by the files of arguments that stand before its main class."""
    given = process.argv[1:]
    started = of_java(given)
    options = given[: len(given) - len(started.arguments)]
    files = process.name.startswith(JVMS) and any(word.startswith("@") for word in options)
    if not files or NO_FILES in options:
        return started
    words: List[str] = []
    for word in options:
        named = word.startswith("@") and not word.startswith("@@")
        words += words_of_file(named_files.text(host, word[1:], process.pid)) if named else [word]
    return of_java([*words, *started.arguments])


def words_of_file(text: str) -> List[str]:
    """As the launcher of Java reads a file of its arguments; quotes hold spaces together.

    >>> words_of_file('-cp "/opt/my kafka/*" # jars\\nkafka.Kafka')
    ['-cp', '/opt/my kafka/*', 'kafka.Kafka']
    """
    found = itertools.islice(FILE_WORD.finditer(text), MOST_FILE_WORDS)
    return [next(filter(None, match.groups()), "") for match in found if not match.group().startswith("#")]


def of_java(words: Sequence[str]) -> Started:
    """What the words after `java` start, as its launcher reads them.

    >>> of_java(["-Xmx6g", "-cp", "/opt/kafka/libs/*", "kafka.Kafka", "/etc/kafka/server.properties"])
    Started(main='kafka.Kafka', arguments=('/etc/kafka/server.properties',))
    """
    at = 0
    while at < len(words):
        word = words[at]
        if word in MAIN_AS_VALUE:
            main = "" if word == "-jar" else "".join(words[at + 1 : at + 2]).rpartition("/")[2]
            return _wrapped(main, words[at + 2 :])
        if word and not word.startswith(("-", "@")):
            return _wrapped(word.replace("/", "."), words[at + 1 :])
        at += 2 if word in WITH_VALUE else 1
    return NOTHING


def _wrapped(main: str, arguments: Sequence[str]) -> Started:
    if main.startswith(WRAPPERS) and arguments:
        return Started(arguments[0], tuple(arguments[1:]))
    return Started(main, tuple(arguments))


def _runs(host: Host, process: Process, *programs: str) -> bool:
    """By the name of its thread group, or else by the file that it runs, which only root sees of every process."""
    return process.name.startswith(programs) or _program(host, process.pid).startswith(programs)


def _program(host: Host, pid: int) -> str:
    try:
        return os.path.basename(str(host.touch("link", f"/proc/{pid}/exe").facts.get("target", "")))
    except CannotTell:
        return ""


def person(host: Host, pid: int) -> str:
    """The number of the user whose own login this process belongs to; empty for a service, also one begun by sudo.

    0::/user.slice/user-1000.slice/session-3.scope    0::/system.slice/cron.service    1:name=systemd:/…
    """
    number = user(host, pid)
    try:
        slices = host.read(f"/proc/{pid}/cgroup") if number and int(number) >= FIRST_LOGIN_USER else ""
    except CannotTell:
        return ""
    return number if f"/user-{number}.slice/" in slices or any(unit in slices for unit in OF_PEOPLE) else ""


def user(host: Host, pid: int) -> str:
    """The number of a process's user; empty if it cannot be told."""
    try:
        match = USER.search(host.read(f"/proc/{pid}/status"))
    except CannotTell:
        return ""
    return match.group(1) if match else ""


def hidden(host: Host) -> bool:
    """Whether /proc shows each user their own processes alone."""
    try:
        mount = mount_table.mount_at(host, "/proc")
    except CannotTell:
        return False
    return bool(mount and any(option.startswith("hidepid=") and option != "hidepid=0" for option in mount.options))
