#!/usr/bin/python3
"""A stand-in for storcli64, which Debian does not have: NOT Broadcom's tool. One RAID 10 of the card's four disks.

What it says is made up but for the words in /run/storcli, `SLOT STATE` a line: those a fault of the rack writes.
"""

import json
import pathlib
import sys

DIDS = (0, 256, 512, 768)
FAULTS = pathlib.Path("/run/storcli")


def answer(response: "dict[str, object]") -> str:
    status = {"CLI Version": "007.1", "Controller": 0, "Status": "Success", "Description": "None"}
    return json.dumps({"Controllers": [{"Command Status": status, "Response Data": response}]}, indent=1)


def everything(states: "list[str]") -> "dict[str, object]":
    array = "Optl" if all(state == "Onln" for state in states) else "Dgrd"
    whole = {"DG": 0, "Arr": "-", "Row": "-", "EID:Slot": "-", "DID": "-", "Type": "RAID10", "State": array}
    drives, listed = [], []
    for slot, (did, state) in enumerate(zip(DIDS, states)):
        place = {"DG": 0, "Arr": slot // 2, "Row": slot % 2, "EID:Slot": f"252:{slot}"}
        drives.append({**place, "DID": did, "Type": "DRIVE", "State": state})
        listed.append({"EID:Slt": f"252:{slot}", "DID": did, "State": state, "DG": 0, "Size": "16 MB"})
    return {
        "Basics": {"Controller": 0, "Model": "MegaRAID (QEMU)", "Serial Number": "RACK1"},
        "Status": {"Controller Status": "Optimal", "Memory Uncorrectable Errors": 0, "BBU Status": 0},
        "TOPOLOGY": [whole, *drives],
        "Virtual Drives": 1,
        "VD LIST": [{"DG/VD": "0/0", "TYPE": "RAID10", "State": array, "Access": "RW", "Name": "spare"}],
        "Physical Drives": len(listed),
        "PD LIST": listed,
    }


def main() -> None:
    told = dict(row.split() for row in FAULTS.read_text().splitlines()) if FAULTS.exists() else {}
    states = [told.get(str(slot), "Onln") for slot in range(len(DIDS))]
    if "rebuild" in sys.argv:
        progress = {"Progress%": "12", "Status": "In progress", "Estimated Time Left": "3 Hours 5 Minutes"}
        rows = [{"Drive-ID": f"/c0/e252/s{slot}", **progress} for slot, state in enumerate(states) if state == "Rbld"]
        print(answer({"rows": rows}))
    elif "/call" in sys.argv:
        print(answer(everything(states)))
    else:
        print(answer({}))


if __name__ == "__main__":
    main()
