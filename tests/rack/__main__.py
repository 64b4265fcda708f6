"""scripts/rack: the virtual rack by hand."""

from __future__ import annotations

import argparse
import os
import sys

from tests.rack.host import RackError
from tests.rack.image import CannotBuild
from tests.rack.rack import Rack


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/rack", description=__doc__)
    orders = parser.add_subparsers(dest="order", required=True)
    orders.add_parser("up").add_argument("hosts", nargs="*")
    orders.add_parser("down")
    ssh = orders.add_parser("ssh")
    ssh.add_argument("host")
    ssh.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    rack = Rack()
    try:
        if given.order == "up":
            rack.up(given.hosts)
            print(f"up: {', '.join(rack.hosts)}")
        elif given.order == "down":
            print(f"ended: {', '.join(rack.down()) or 'nothing ran'}")
        elif given.order == "ssh":
            os.execvp("ssh", [*rack[given.host].ssh, *given.command])
    except (RackError, CannotBuild) as error:
        print(f"rack: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
