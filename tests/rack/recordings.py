"""A host of the rack as a recording that tests replay: what `smoke record` writes on the machine itself."""

from __future__ import annotations

import json
import pathlib
import subprocess

from inventory import loader
from tests.rack.host import Host, RackError

FOLDER, EXPECTED, PASSWORD = "/run/recording", "/run/recording.json", "/run/bmc-password"
AGENT = """rm -rf /run/recording; cd $(ls -dt /var/lib/fleet-smoke/agent-*/all | head -n 1)
export IPMI_PASSWORD; IPMI_PASSWORD=$(cat /run/bmc-password)
PYTHONPATH=$PWD:$(dirname $PWD)/x86_64 python3 -m agent --expected /run/recording.json --record /run/recording \
  --deadline 240 > /run/recording.jsonl || [ $? -le 3 ]"""


def record(host: Host, inventory: pathlib.Path, into: pathlib.Path) -> list[str]:
    """Write the host, as it is now, to the folder `into`; the findings that are not fine, as expected.txt has them.

    Needs an agent there: ask the host once by `smoke all` before. RackError.
    """
    host.write(EXPECTED, json.dumps(loader.load([str(inventory)]).host(host.name).expected()))
    host.write(PASSWORD, (inventory.parent / "bmc-password").read_text())
    host.sh(AGENT)
    host.run("rm", PASSWORD)
    packed = subprocess.run([*host.ssh, f"tar -C {FOLDER} -cf - ."], capture_output=True, check=False)
    if packed.returncode:
        raise RackError(f"{host.name}: {packed.stderr.decode(errors='replace')[-300:]}")
    into.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "--no-same-owner", "-C", str(into), "-xf", "-"], input=packed.stdout, check=True)
    rows = [json.loads(line) for line in host.run("cat", "/run/recording.jsonl").stdout.splitlines()]
    found = [row for row in rows if row.get("status") not in (None, "ok", "skipped")]
    return sorted(f"{row['status']} {row['check']} {row['item']} | {row['reason']}" for row in found)
