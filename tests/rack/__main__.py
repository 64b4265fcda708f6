"""scripts/rack: the virtual rack by hand. One rack a machine (RACK_FOLDER=… for another); all of it is on loopback."""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import textwrap

from tests.rack import course, faults, recordings, results, steps
from tests.rack.children import ChildDied
from tests.rack.host import RackError
from tests.rack.image import CannotBuild
from tests.rack.qemu import QmpError
from tests.rack.rack import Rack

USAGE = 3


def main() -> int:
    given = _parser().parse_args()
    try:
        return ORDERS[given.order](Rack(), given)
    except (RackError, CannotBuild, ChildDied, QmpError, faults.BadTable, KeyError) as error:
        print(f"rack: {error.args[0]}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/rack", description=__doc__)
    orders = parser.add_subparsers(dest="order", required=True, metavar="ORDER")
    up = orders.add_parser("up", help="boot fresh hosts (the first time builds the image)")
    up.add_argument("hosts", nargs="*", metavar="HOST", help="only these: jbod-1, raid-1, zk-1")
    orders.add_parser("down", help="end all that an earlier `up` started")
    ssh = orders.add_parser("ssh", help="a shell on a host, or a command there")
    ssh.add_argument("host")
    ssh.add_argument("command", nargs=argparse.REMAINDER)
    for name, words in (("fault", "do a fault of the table"), ("heal", "undo it")):
        orders.add_parser(name, help=words).add_argument("fault")
    orders.add_parser("list", help="the table of faults, and which hosts are up")
    record = orders.add_parser("record", help="write a host to a folder that tests can replay, as smoke record does")
    record.add_argument("host")
    record.add_argument("folder")
    table = orders.add_parser("table", help="run the table on the hosts that are up, and write the results")
    table.add_argument("faults", nargs="*", metavar="FAULT", help="only these")
    table.add_argument("--host", action="append", default=[], help="only the faults of this host; may be given again")
    table.add_argument("--all", action="store_true", help="results also of what was done since the rack is up")
    table.add_argument("--left", action="store_true", help="only those that were not done yet since the rack is up")
    table.add_argument("--quick", action="store_true", help="ask only the checks that a fault is about, not all")
    table.add_argument("--short", action="store_true", help="only those that scripts/test runs")
    table.add_argument("--healthy", type=int, default=0, metavar="N", help="first so many runs that must be silent")
    table.add_argument("--write", metavar="FILE", help="the results as a table")
    return parser


def _up(rack: Rack, given: argparse.Namespace) -> int:
    rack.up(given.hosts)
    config, file = rack.folder / "smoke_ssh_config", rack.folder / "inventory.yaml"
    print(f"up: {', '.join(rack.hosts)}\nask them: scripts/smoke all --ssh-config {config} -i {file}")
    return 0


def _down(rack: Rack, _given: argparse.Namespace) -> int:
    print(f"ended: {', '.join(rack.down()) or 'nothing ran'}")
    return 0


def _ssh(rack: Rack, given: argparse.Namespace) -> int:
    argv = [*rack[given.host].ssh, *given.command]
    os.execvp(argv[0], argv)


def _fault(rack: Rack, given: argparse.Namespace) -> int:
    fault = faults.named(given.fault)
    steps.do(rack[fault.host], fault.inject if given.order == "fault" else fault.heal)
    seen = ", ".join(f"{check} {item}: {status}" for (check, item), status in fault.see.items()) or "nothing"
    done = f"done on {fault.host}: {fault.what}; expect {seen}"
    print(textwrap.fill(done if given.order == "fault" else f"healed on {fault.host}: {fault.name}", 79))
    return 0


def _list(rack: Rack, _given: argparse.Namespace) -> int:
    print(f"up: {', '.join(rack.hosts) or 'none (scripts/rack up)'}")
    for fault in faults.load():
        print(f"{fault.host:7} {fault.name:28} {fault.what}")
    return 0


def _table(rack: Rack, given: argparse.Namespace) -> int:
    hosts = given.host or list(rack.hosts)
    rows = [faults.named(name) for name in given.faults] or faults.chosen(faults.load(), given.short, hosts)
    if given.left:
        done_before = {one.fault.name for one in course.kept(rack)}
        rows = [row for row in rows if row.name not in done_before]
    rack.quick = given.quick
    healthy = course.healthy(rack, given.healthy) if given.healthy else course.Healthy()
    done = course.run_all(rack, rows, print)
    text = results.render(course.kept(rack), course.kept_healthy(rack)) if given.all else results.render(done, healthy)
    if given.write:
        results.write(given.write, text)
    else:
        print(text)
    return 0 if all(one.is_good for one in done) and not healthy.alarms else 2


def _record(rack: Rack, given: argparse.Namespace) -> int:
    for row in recordings.record(rack[given.host], rack.folder / "inventory.yaml", pathlib.Path(given.folder)):
        print(row)
    return 0


ORDERS = {
    "record": _record,
    "up": _up,
    "down": _down,
    "ssh": _ssh,
    "fault": _fault,
    "heal": _fault,
    "list": _list,
    "table": _table,
}

if __name__ == "__main__":
    sys.exit(main())
