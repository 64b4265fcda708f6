"""A host of the rack as a recording that tests replay: what `smoke record` writes on the machine itself."""

from __future__ import annotations

import json
import pathlib
import subprocess

from inventory import loader
from tests.rack.host import BESIDE_AGENT, Host, RackError

FOLDER, EXPECTED = "/run/recording", "/run/recording.json"
RECORD = f"""rm -rf /run/recording; {BESIDE_AGENT}
read -r IPMI_PASSWORD; export IPMI_PASSWORD
python3 -m agent --expected /run/recording.json --record /run/recording \
  --deadline 240 > /run/recording.jsonl || [ $? -le 3 ]"""


def record(host: Host, inventory: pathlib.Path, into: pathlib.Path) -> list[str]:
    """Write the host, as it is now, to the folder `into`; the findings that are not fine, as expected.txt has them.

    Needs an agent there: ask the host once by `smoke all` before. RackError.
    """
    host.write(EXPECTED, json.dumps(loader.load([str(inventory)]).host(host.name).expected()))
    host.run("sh", "-euc", RECORD, text=(inventory.parent / "bmc-password").read_text().strip() + "\n")
    packed = subprocess.run([*host.ssh, f"tar -C {FOLDER} -cf - ."], capture_output=True, check=False)
    if packed.returncode:
        raise RackError(f"{host.name}: {packed.stderr.decode(errors='replace')[-300:]}")
    into.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "--no-same-owner", "-C", str(into), "-xf", "-"], input=packed.stdout, check=True)
    rows = [json.loads(line) for line in host.run("cat", "/run/recording.jsonl").stdout.splitlines()]
    found = [row for row in rows if row.get("status") not in (None, "ok", "skipped")]
    return sorted(f"{row['status']} {row['check']} {row['item']} | {row['reason']}" for row in found)
