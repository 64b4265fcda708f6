"""The broker of a rack host: tests/real/parts/stand_in_broker.py with its orders coming in over a socket in /run."""

import contextlib
import os
import pathlib
import socket
import sys
import threading

sys.path.insert(0, "/opt/rack")
import stand_in_broker  # type: ignore[import-not-found]  # beside it on the host

CONTROL = "/run/kafka/control"
LOGS = pathlib.Path("/var/log/kafka")


def relay(orders: socket.socket) -> None:
    """One order a connection, one answer: `echo files 1000 | nc -U /run/kafka/control`.

    `write FILE` is done here, in a thread of its own: it may hang, as a broker's thread does on a bad disk.
    """
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(CONTROL)
    listener.listen()
    orders.recv(100)  # the stand-in is ready
    while True:
        connection, _ = listener.accept()
        with connection:
            order = connection.recv(100)
            name, _, path = order.decode().strip().partition(" ")
            if name == "write":
                threading.Thread(target=pathlib.Path(path).write_text, args=("x",), daemon=True).start()
                connection.sendall(b"done\n")
                continue
            orders.sendall(order)
            connection.sendall(orders.recv(100))


def main() -> None:
    config = pathlib.Path(sys.argv[-1]).read_text()
    folders = next(row for row in config.splitlines() if row.startswith("log.dirs=")).partition("=")[2]
    LOGS.mkdir(parents=True, exist_ok=True)
    for folder in map(pathlib.Path, folders.split(",")):
        with contextlib.suppress(OSError):  # Kafka goes on without a log dir that it cannot use
            folder.mkdir(parents=True, exist_ok=True)
    for name in ("server.log", "kafka.err"):
        (LOGS / name).touch()
    pathlib.Path(CONTROL).unlink(missing_ok=True)
    ours, theirs = socket.socketpair()
    os.dup2(theirs.fileno(), 0)
    threading.Thread(target=relay, args=(ours,), daemon=True).start()
    given = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:] if "=" in word)
    stand_in_broker.serve(int(given["limit"]), int(given["port"]), "0.0.0.0")


if __name__ == "__main__":
    main()
