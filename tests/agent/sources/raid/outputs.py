"""Hand-made outputs of RAID tools, in the documented formats: one RAID10 of four disks, whole unless changed."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Sequence

SLOTS = ("252:0", "252:1", "252:2", "252:3")


def storcli(
    drives: Sequence[str] = ("Onln",) * 4,
    virtual: str = "Optl",
    extra: Optional[List[Dict[str, Any]]] = None,
    status: Optional[Dict[str, Any]] = None,
    battery: str = "Optimal",
    **response: Any,
) -> str:
    """`storcli /call show all J` of one controller; drives and virtual are states, extra are disks of no array."""
    topology: List[Dict[str, Any]] = [
        {"DG": 0, "Arr": "-", "Row": "-", "EID:Slot": "-", "DID": "-", "Type": "RAID10", "State": virtual}
    ]
    disks: List[Dict[str, Any]] = []
    for at, state in enumerate(drives):
        gone = state == "Msng"
        place = "-" if gone else SLOTS[at]
        row = {"DG": 0, "Arr": at // 2, "Row": at % 2, "EID:Slot": place, "DID": "-" if gone else 10 + at}
        topology.append({**row, "Type": "DRIVE", "State": state})
        if not gone:
            disks.append(disk(place, state, 0, 10 + at))
    answer = {
        "Basics": {"Controller": 0, "Model": "PERC H730P Mini", "Serial Number": "12345AB"},
        "Status": {"Controller Status": "Optimal", "Memory Uncorrectable Errors": 0, "BBU Status": 0, **(status or {})},
        "TOPOLOGY": topology,
        "Virtual Drives": 1,
        "VD LIST": [{"DG/VD": "0/0", "TYPE": "RAID10", "State": virtual, "Access": "RW", "Name": "data"}],
        "Physical Drives": len(disks),
        "PD LIST": disks + (extra or []),
        "BBU_Info": [{"Model": "BBU", "State": battery, "Temp": "28C"}],
        **response,
    }
    return whole(answer)


def disk(place: str, state: str, group: Any = "-", number: int = 40) -> Dict[str, Any]:
    return {"EID:Slt": place, "DID": number, "State": state, "DG": group, "Size": "1.818 TB", "Model": "ST2000NM0135"}


def whole(answer: Any, status: str = "Success") -> str:
    command = {"CLI Version": "007.1", "Controller": 0, "Status": status, "Description": "None"}
    return json.dumps({"Controllers": [{"Command Status": command, "Response Data": answer}]}, indent=1)


# the same controller in text: one drive of the second mirror is rebuilding
STORCLI_TEXT = """\
Generating detailed summary of the adapter, it may take a while to complete.

CLI Version = 007.1211.0000.0000 Nov 07, 2019
Operating system = Linux 5.10.0
Controller = 0
Status = Success
Description = None

Product Name = PERC H730P Mini
Serial Number = 12345AB
Drive Groups = 1

TOPOLOGY :
========

-----------------------------------------------------------------------------
DG Arr Row EID:Slot DID Type   State BT       Size PDC  PI SED DS3  FSpace TR
-----------------------------------------------------------------------------
 0 -   -   -        -   RAID10 Dgrd  N    3.637 TB dflt N  N   dflt N      N
 0 0   -   -        -   RAID1  Optl  N    1.818 TB dflt N  N   dflt N      N
 0 0   0   252:0    10  DRIVE  Onln  N    1.818 TB dflt N  N   dflt -      N
 0 0   1   252:1    11  DRIVE  Onln  N    1.818 TB dflt N  N   dflt -      N
 0 1   -   -        -   RAID1  Dgrd  N    1.818 TB dflt N  N   dflt N      N
 0 1   0   252:2    12  DRIVE  Rbld  Y    1.818 TB dflt N  N   dflt -      N
 0 1   1   252:3    13  DRIVE  Onln  N    1.818 TB dflt N  N   dflt -      N
-----------------------------------------------------------------------------

DG=Disk Group Index|Arr=Array Index|Row=Row Index|EID=Enclosure Device ID

Virtual Drives = 1

VD LIST :
=======

---------------------------------------------------------------
DG/VD TYPE   State Access Consist Cache Cac sCC     Size Name
---------------------------------------------------------------
0/0   RAID10 Dgrd  RW     Yes     RWBD  -   ON  3.637 TB my data
---------------------------------------------------------------

Physical Drives = 5

PD LIST :
=======

-------------------------------------------------------------------------------
EID:Slt DID State  DG     Size Intf Med SED PI SeSz Model            Sp Type
-------------------------------------------------------------------------------
252:0    10 Onln    0 1.818 TB SATA HDD N   N  512B ST2000NM0135     U  -
252:1    11 Onln    0 1.818 TB SATA HDD N   N  512B ST2000NM0135     U  -
252:2    12 Rbld    0 1.818 TB SATA HDD N   N  512B WD 2003 FYYS     U  -
252:3    13 Onln    0 1.818 TB SATA HDD N   N  4 KB ST2000NM0135     U  -
252:4    14 UBad    - 1.818 TB SATA HDD N   N  512B ST2000NM0135     U  -
-------------------------------------------------------------------------------

Cachevault_Info :
===============

------------------------------------
Model  State   Temp Mode MfgDate
------------------------------------
CVPM05 Failed  32C  -    2017/11/28
------------------------------------
"""

REBUILD = whole(
    [
        {"Drive-ID": "/c0/e252/s0", "Progress%": "-", "Status": "Not in progress", "Estimated Time Left": "-"},
        {
            "Drive-ID": "/c0/e252/s2",
            "Progress%": 23,
            "Status": "In progress",
            "Estimated Time Left": "3 Hours 5 Minutes",
        },
    ]
)


def drive_details(slot: str, **state: Any) -> str:
    """`storcli /call/eall/sall show all J` of one drive."""
    enclosure, _, number = slot.partition(":")
    name = f"Drive /c0/e{enclosure}/s{number}"
    healthy = {"Media Error Count": 0, "Predictive Failure Count": 0, "S.M.A.R.T alert flagged by drive": "No"}
    return whole({name: [], f"{name} - Detailed Information": {f"{name} State": {**healthy, **state}}})


def ssacli(
    drives: Sequence[str] = ("OK",) * 4,
    logical: str = "OK",
    controller: str = "OK",
    cache: str = "OK",
    battery: str = "OK",
    unassigned: str = "OK",
) -> str:
    """`ssacli ctrl all show config detail` of one controller with a RAID 1+0 and an unassigned drive."""
    mirrors = "".join(
        f"         Mirror Group {group + 1}:\n"
        + "".join(
            f"            physicaldrive 1I:1:{at + 1} (port 1I:box 1:bay {at + 1}, SAS HDD, 2 TB, {drives[at]})\n"
            for at in (group * 2, group * 2 + 1)
        )
        for group in (0, 1)
    )
    blocks = "".join(
        f"\n      physicaldrive 1I:1:{at + 1}\n         Port: 1I\n         Box: 1\n         Bay: {at + 1}\n"
        f"         Status: {status}\n         Drive Type: Data Drive\n         Serial Number: ZA{at}\n"
        for at, status in enumerate(drives)
    )
    return f"""
HPE Smart Array P440ar in Slot 0 (Embedded)
   Bus Interface: PCI
   Slot: 0
   Controller Status: {controller}
   Cache Status: {cache}
   Battery/Capacitor Count: 1
   Battery/Capacitor Status: {battery}

   Array: A
      Interface Type: SAS
      Status: OK

      Logical Drive: 1
         Size: 3.6 TB
         Fault Tolerance: 1+0
         Status: {logical}
         Caching:  Enabled
         Disk Name: /dev/sdb
{mirrors}         Drive Type: Data
{blocks}
   Unassigned

      physicaldrive 1I:1:9
         Status: {unassigned}
         Drive Type: Unassigned Drive
"""


SSACLI_SHORT = """
Smart Array P410i in Slot 0 (Embedded)    (sn: 5001438)

   array A (SAS, Unused Space: 0  MB)

      logicaldrive 1 (136.7 GB, RAID 1, OK)

      physicaldrive 1I:1:1 (port 1I:box 1:bay 1, SAS, 146 GB, OK)
      physicaldrive 1I:1:2 (port 1I:box 1:bay 2, SAS, 146 GB, Predictive Failure)
      physicaldrive 1I:1:3 (port 1I:box 1:bay 3, SAS, 146 GB, OK, spare)

   array B (SAS, Unused Space: 0  MB)

      logicaldrive 2 (1.8 TB, RAID 5, Recovering, 26% complete)

      physicaldrive 1I:1:4 (port 1I:box 1:bay 4, SAS, 900 GB, OK)
      physicaldrive 1I:1:5 (port 1I:box 1:bay 5, SAS, 900 GB, Rebuilding)
      physicaldrive 1I:1:6 (port 1I:box 1:bay 6, SAS, 900 GB, OK)
"""


def megacli(state: str = "Optimal", drives: Sequence[str] = ("Online, Spun Up",) * 2, predictive: str = "0") -> str:
    blocks = "".join(
        f"PD: {at} Information\nEnclosure Device ID: 32\nSlot Number: {at}\nDevice Id: {at}\n"
        f"Media Error Count: 0\nPredictive Failure Count: {predictive}\nFirmware state: {drive}\n"
        f"Drive has flagged a S.M.A.R.T alert : No\n\n"
        for at, drive in enumerate(drives)
    )
    return (
        "Adapter #0\n\nNumber of Virtual Disks: 1\nVirtual Drive: 0 (Target Id: 0)\nName                :\n"
        "RAID Level          : Primary-1, Secondary-0, RAID Level Qualifier-0\n"
        f"State               : {state}\nNumber Of Drives    : 2\nNumber of Spans: 1\n"
        f"Span: 0 - Number of PDs: 2\n\n{blocks}Exit Code: 0x00\n"
    )


MEGACLI_DISKS = """
Adapter #0

Enclosure Device ID: 32
Slot Number: 0
Media Error Count: 0
Predictive Failure Count: 0
Firmware state: Online, Spun Up
Foreign State: None
Drive has flagged a S.M.A.R.T alert : No

Enclosure Device ID: 32
Slot Number: 1
Media Error Count: 0
Predictive Failure Count: 0
Firmware state: Online, Spun Up
Foreign State: None
Drive has flagged a S.M.A.R.T alert : No

Enclosure Device ID: 32
Slot Number: 2
Media Error Count: 0
Predictive Failure Count: 0
Firmware state: Hotspare, Spun Up
Foreign State: None
Drive has flagged a S.M.A.R.T alert : No

Exit Code: 0x00
"""
MEGACLI_BATTERY = """
BBU status for Adapter: 0

BatteryType: iBBU
Voltage: 4023 mV
Battery State: Optimal
BBU Firmware Status:

  Charging Status              : None
  Battery Pack Missing                    : No
  Battery Replacement required            : No
  Remaining Capacity Low                  : No
  Pack is about to fail & should be replaced : No

Exit Code: 0x00
"""
MEGACLI_NO_BATTERY = """
Adapter 0: Get BBU Status Failed.
    The required hardware component is not present.

Exit Code: 0x22
"""


def arcconf(state: str = "Optimal", segments: Sequence[str] = ("Present",) * 4, controller: str = "Optimal") -> str:
    rows = "".join(
        f"   Group {at // 2}, Segment {at % 2}      : {said} (Controller:1,Connector:0,Device:{at}) 9XE{at}\n"
        for at, said in enumerate(segments)
    )
    return (
        "Controllers found: 1\n-----\nController information\n-----\n"
        f"   Controller Status                        : {controller}\n"
        "   Controller Model                         : Adaptec 6405\n"
        "   Controller Battery Information\n   Status                                   : Optimal\n"
        "Logical device information\n-----\nLogical device number 0\n"
        "   Logical device name                      : data\n   RAID level                               : 10\n"
        f"   Status of logical device                 : {state}\n"
        f"   Logical device segment information\n{rows}"
        "Physical Device information\n-----\n      Device #0\n         State                              : Online\n"
        "         S.M.A.R.T. warnings                : 0\nCommand completed successfully.\n"
    )
