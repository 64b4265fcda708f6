"""Outputs of newer RAID tools, written by hand and short, in the layouts that they print (sources beside each)."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Sequence

# Microchip arcconf 3 and later, SmartRAID (smartpqi): the rows that are read, in their order. What else it prints
# (hundreds of settings) has the same shape.
SMARTRAID = """\
Controllers found: 1
----------------------------------------------------------------------
Controller information
----------------------------------------------------------------------
   Controller Status                          : {controller}
   Controller Mode                            : Mixed
   Controller Model                           : SmartRAID 3154-8i
   PCI Address (Domain:Bus:Device:Function)   : 0:4b:0:0
   Defunct disk drive count                   : {defunct}
   NCQ status                                 : Enabled
   Driver Name                                : smartpqi
   -------------------------------------------------------------------
   Cache Properties
   -------------------------------------------------------------------
   Cache Status                               : {cache}
   Cache State Details                        : {why}
   -------------------------------------------------------------------
   Green Backup Information
   -------------------------------------------------------------------
   Backup Power Status                        : {battery}
   Hardware Error                             : No Error
   -------------------------------------------------------------------
   Physical Drive Write Cache Policy Information
   -------------------------------------------------------------------
   Configured Drives                          : Default
   -------------------------------------------------------------------
   RAID Properties
   -------------------------------------------------------------------
   Logical devices/Failed/Degraded            : {count}/0/0
   -------------------------------------------------------------------
   Connector information
   -------------------------------------------------------------------
   Connector #0
      Connector name                          : CN2

----------------------------------------------------------------------
Array Information
----------------------------------------------------------------------
Array Number 0
   Name                                       : A
   Status                                     : Ok
--------------------------------------------------------
   Array Logical Device Information
--------------------------------------------------------
   Logical ID                                 : Status (RAID, Interface, SizeMB) Name
--------------------------------------------------------
   Logical 0                                  : Optimal (1, Data, 572293 MB) Logical Drive 1
--------------------------------------------------------
   Array Physical Device Information
--------------------------------------------------------
   Device ID                                  : Availability (SizeMB, Protocol, Type, Location) Serial Number
--------------------------------------------------------
   Device 0                                   : Present (572325MB, SAS, HDD, Connector:CN2, Backplane:0, Slot:1) SER0
   Device 1                                   : Present (572325MB, SAS, HDD, Connector:CN2, Backplane:0, Slot:2) SER1

--------------------------------------------------------
Logical device information
--------------------------------------------------------
Logical Device number 0
   Logical Device name                        : Logical Drive 1
   Disk Name                                  : /dev/sdd (Disk0) (Bus: 1, Target: 0, Lun: 0)
   Array                                      : 0
   RAID level                                 : 1
   Status of Logical Device                   : {state}
   Caching                                    : Enabled
--------------------------------------------------------
   Consistency Check Information
--------------------------------------------------------
   Consistency Check Status                   : Not Applicable
--------------------------------------------------------
   Array Physical Device Information
--------------------------------------------------------
   Device ID                                  : Availability (SizeMB, Protocol, Type, Location) Serial Number
--------------------------------------------------------
   Device 0                                   : {first} (572325MB, SAS, HDD, Connector:CN2, Backplane:0, Slot:1) SER0
   Device 1                                   : Present (572325MB, SAS, HDD, Connector:CN2, Backplane:0, Slot:2) SER1

----------------------------------------------------------------------
Physical Device information
----------------------------------------------------------------------
   Channel #0:
      Device #0
         Device is a Hard drive
         State                                : {disk}
         Serial number                        : SER0
         S.M.A.R.T. warnings                  : 0
      ----------------------------------------------------------------
      Device Error Counters
      ----------------------------------------------------------------
         Predictive Failures                  : {predicted}
      Device #1
         Device is a Hard drive
         State                                : Online
         Serial number                        : SER1
         S.M.A.R.T. warnings                  : 0

Command completed successfully.
"""


def smartraid(**changes: str) -> str:
    well = {
        "controller": "Optimal",
        "defunct": "0",
        "cache": "Ok",
        "why": "Not Applicable",
        "battery": "Ready",
        "count": "1",
        "state": "Optimal",
        "first": "Present",
        "disk": "Online",
        "predicted": "0",
    }
    return SMARTRAID.format(**{**well, **changes})


# StorCLI2 8.5 on a MegaRAID 9660-16i, as github.com/scality/raidmgmt (Apache-2.0) recorded it: its keys, other disks
def storcli2(
    drives: Sequence[str] = ("Online",) * 4,
    virtual: str = "Optl",
    cache: str = "NR,WB",
    status: str = "Optimal",
    pack: str = "Optimal",
    extra: Sequence[Dict[str, Any]] = (),
) -> str:
    """`storcli2 /call show all J` of one controller with a RAID10 of four disks."""
    tree: List[Dict[str, Any]] = [
        {"DG": 0, "Span": "-", "Row": "-", "EID:Slot": "-", "PID": "-", "Type": "RAID10", "State": "-", "Status": "-"}
    ]
    disks: List[Dict[str, Any]] = []
    for at, fares in enumerate(drives):
        place = {"PID": 293 + at, "State": "Conf", "Status": fares}
        tree.append({"DG": 0, "Span": at // 2, "Row": at % 2, "EID:Slot": f"306:{at}", **place, "Type": "DRIVE"})
        disks.append({"EID:Slt": f"306:{at}", **place, "DG": 0, "Med": "HDD", "Model": "ST10000NM018B   "})
    answer = {
        "Basics": {"Product Name": "MegaRAID 9660-16i Tri-Mode Storage Adapter", "Serial Number": "SP0"},
        "Status": {"Controller Status": status, "Memory Uncorrectable Errors": 0, "Preserved Cache Present": "No"},
        "TOPOLOGY": tree,
        "Virtual Drives": 1,
        "VD LIST": [
            {"DG/VD": "0/1", "TYPE": "RAID10", "State": virtual, "CurrentCache": cache, "DefaultCache": "NR,WB"}
        ],
        "Physical Drives": len(disks) + len(extra),
        "PD LIST": disks + list(extra),
        "Energy Pack Info": [{"Type": "Supercap", "SubType": "FBU345", "Status": pack}],
    }
    return answered(answer)


def storcli2_drives(**counts: int) -> str:
    """`storcli2 /call/eall/sall show all J` with the counters of one disk."""
    counters = {"Media Error Count": 0, "Predictive Failure Count": 0, **counts}
    drive = {
        "Drive Information": {"EID:Slt": "306:1", "State": "Conf", "Status": "Online"},
        "Drive Detailed Information": {"Serial Number": "WP0", "LU/NS Properties": counters},
    }
    return answered({"Drives List": [drive]})


STORCLI2_REBUILD = json.dumps(
    {
        "Controllers": [
            {
                "Command Status": {"Controller": "0", "Status": "Success"},
                "Response Data": [
                    {
                        "EID:Slt": "306:1",
                        "PID": 294,
                        "Progress%": 2,
                        "Status": "In Progress",
                        "Estimated Time Left": "19 Minutes",
                    },
                    {
                        "EID:Slt": "306:2",
                        "PID": 295,
                        "Progress%": "-",
                        "Status": "Not in progress",
                        "Estimated Time Left": "-",
                    },
                ],
            }
        ]
    }
)


def answered(answer: Dict[str, Any]) -> str:
    status = {"CLI Version": "008.0005.0000.0010 Feb 22, 2023", "Controller": "0", "Status": "Success"}
    return json.dumps({"Controllers": [{"Command Status": status, "Response Data": answer}]})


# Marvell's mvcli, as its users print it
BOSS = """\
SG driver version 3.5.36.

Virtual Disk Information
-------------------------
id:                  0
name:                VD_R1_1
status:              {status}
Stripe size:         64
RAID mode:           RAID1
Cache mode:          Not Support
size:                457798 M
BGA status:          {work}
Block ids:           0 4
# of PDs:            2
PD RAID setup:       0 1
Running OS:          yes
{progress}VD status:           {verdict}

Total # of VD:       1
"""


def boss(status: str = "functional", verdict: str = "optimal", work: str = "not running", progress: str = "") -> str:
    return BOSS.format(status=status, verdict=verdict, work=work, progress=progress)


# zpool-status(8) of OpenZFS: -P prints whole paths
ZPOOL = """\
  pool: tank
 state: {state}
{note}  scan: {scan}
config:

\tNAME           STATE     READ WRITE CKSUM
\ttank           {state}     0     0     0
\t  mirror-0     {mirror}     0     0     0
\t    /dev/sdb1  {first}     0     0     {checksums}
\t    /dev/sdc1  ONLINE       0     0     0
\t  mirror-1     ONLINE       0     0     0
\t    /dev/sdd1  ONLINE       0     0     0
\t    /dev/sde1  ONLINE       0     0     0
\tlogs
\t  /dev/nvme0n1p1  ONLINE       0     0     0

errors: {errors}
"""


def zpool(**changes: str) -> str:
    well = {
        "state": "ONLINE",
        "note": "",
        "scan": "scrub repaired 0B in 00:00:01 with 0 errors on Sun Nov  1 00:24:03 2026",
        "mirror": "ONLINE",
        "first": "ONLINE",
        "checksums": "0",
        "errors": "No known data errors",
    }
    return ZPOOL.format(**{**well, **changes})


def zpool_json(
    state: str = "ONLINE", first: str = "ONLINE", checksums: str = "0", errors: str = "0", **scan: str
) -> str:
    """`zpool status -P -j` of OpenZFS 2.3: the same pool."""

    def disk(name: str, fares: str = "ONLINE", count: str = "0") -> Dict[str, Any]:
        counts = {"read_errors": "0", "write_errors": "0", "checksum_errors": count}
        return {f"/dev/{name}1": {"name": f"/dev/{name}1", "vdev_type": "disk", "state": fares, **counts}}

    def mirror(number: int, fares: str, **disks: Any) -> Dict[str, Any]:
        return {f"mirror-{number}": {"vdev_type": "mirror", "state": fares, "vdevs": disks}}

    mirrors = {
        **mirror(0, state, **disk("sdb", first, checksums), **disk("sdc")),
        **mirror(1, "ONLINE", **disk("sdd"), **disk("sde")),
    }
    root = {"tank": {"name": "tank", "vdev_type": "root", "state": state, "vdevs": mirrors}}
    pool = {"name": "tank", "state": state, "scan_stats": scan, "vdevs": root, "error_count": errors}
    return json.dumps({"output_version": {"command": "zpool status"}, "pools": {"tank": pool}})
