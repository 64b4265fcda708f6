"""Write the hand-made stories anew: `python -m tests.machines.make`. Each is a change to the healthy broker of base.py.

A story is the second run of its machine: an hour before, an earlier run saw it well (or less ill), so that growth and
news can be told. What the checks ask for is kept, redacted as a real recording is, and nothing else; STORY.md and
expected.txt are left as they are.
"""

from __future__ import annotations

import json
import pathlib
import shutil
from typing import Any, Callable, Dict, List, Mapping, Sequence

from agent.expected import ExpectedMount
from agent.host import Answer, CpuTimes, Disk, Touched
from agent.recording.recorded_host import RecordingHost
from tests.agent.checks.disks.test_raid import md
from tests.agent.jbod import TB, usage
from tests.agent.sources.raid import outputs
from tests.agent.sources.smart import made_reports
from tests.machine import STORIES, FakeHost, next_run, run_checks
from tests.machines import base

KEPT = ("STORY.md", "expected.txt")
Changes = Mapping[str, Dict[str, Any]]
FSTAB = f"/dev/nvme0n1p1 / ext4 errors=remount-ro 0 1\nUUID={base.UUIDS[0]} /kafka/data ext4 noatime 0 2\n"


def kernel_lines(*lines: str, hours_ago: float = 0.5, apart_s: float = 1.0, first: int = 2) -> List[str]:
    """Kernel records a little apart, the last of them `hours_ago` before the story."""
    end = base.UPTIME_S - hours_ago * 3600
    times = (end - (len(lines) - 1 - number) * apart_s for number in range(len(lines)))
    return [f"4,{first + number},{int(at * 1e6)},-;{line}" for number, (at, line) in enumerate(zip(times, lines))]


def an_hour_later(changes: Changes, first: Changes) -> FakeHost:
    """The machine of the story, with the memory of a run an hour before it; `first` is what was so then already."""
    before = base.healthy()
    _change(before, first)
    before.answers["uptime_s"] = base.UPTIME_S - 3600
    run_checks(before)
    story = next_run(before, 3600.0)
    busy = CpuTimes(912223.0, 203511.0, 40120.0, 9122.0, 7776000.0 * 32 + 115200)
    records = base.answers()["kernel_records"] + changes.get("answers", {}).get("kernel_records", [])
    _change(story, {"answers": {"uptime_s": base.UPTIME_S, "cpu_times": busy}})
    if "/proc/diskstats" not in first.get("files", {}):
        story.files["/proc/diskstats"] = base.diskstats(60)
    _change(story, changes)
    story.answers["kernel_records"] = records
    return story


def _change(host: FakeHost, changes: Changes) -> None:
    """Change files, commands, answers and fields of what is expected; None takes one away."""
    host.expected = host.expected._replace(**changes.get("expected", {}))
    for name in ("files", "commands", "answers"):
        table = getattr(host, name)
        table.update(changes.get(name, {}))
        for key in [key for key, value in table.items() if value is None]:
            del table[key]


def write(name: str, changes: Changes, first: Changes) -> None:
    folder = STORIES / name
    folder.mkdir(exist_ok=True)
    recorder = RecordingHost(an_hour_later(changes, first))
    run_checks(recorder)
    renew(folder, recorder)


def renew(folder: pathlib.Path, recorder: RecordingHost) -> None:
    """Replace a recorded machine, but not what is said of it."""
    for path in folder.iterdir():
        if path.name not in KEPT:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    recorder.write(str(folder))
    (folder / "removed.txt").unlink()  # for the person who records a machine of their own; stories have none
    memory = folder / "state.txt"
    if memory.read_text():  # the same each time, whichever check was first and however long it took
        kept = json.loads(memory.read_text())
        kept["notes"].pop("took_ms", None)
        memory.write_text(json.dumps(kept, sort_keys=True) + "\n")


def smart(name: str, report: Mapping[str, Any]) -> Dict[str, Any]:
    return {"commands": {made_reports.asked(f"/dev/{name}"): made_reports.printed(report)}}


def worn_nvme() -> tuple[Changes, Changes]:
    report = made_reports.nvme(base.NVME_SERIAL, percentage_used=97, available_spare=100)
    return smart(base.NVME, report), smart(base.NVME, report)


def sas_grown_defects() -> tuple[Changes, Changes]:
    """sdc is a SAS disk."""
    disks = base.disks()
    serial, slot = "Z1Z0AAAA0000C5004D5C", "pci-0000:02:00.0-sas-phy2-lun-0"
    disks[3] = Disk("sdc", "physical", "ST4000NM0023", serial, "0x5000c5004d5c7f5b", 4 * TB, True, "scsi", slot, "8:32")
    serials = (*base.SERIALS[:2], serial, base.SERIALS[3])
    mounts = tuple(mount._replace(serial=serial) for mount, serial in zip(base.EXPECTED.mounts, serials))

    def having(defects: int, uncorrected: int) -> Changes:
        errors = {"read": {"total_uncorrected_errors": uncorrected}, "write": {"total_uncorrected_errors": 0}}
        report = made_reports.sas(serial, scsi_grown_defect_list=defects, scsi_error_counter_log=errors)
        return {
            **smart("sdc", report),
            "answers": {"disks": disks},
            "expected": {"disks": serials, "mounts": mounts},
        }

    return having(19, 2), having(12, 0)


def megaraid_predictive_failure() -> tuple[Changes, Changes]:
    """A RAID10 of four SAS disks behind a PERC H730P; the disk in slot 1 calls for its replacement."""
    serials = [f"Z1Z0BBB{number}" for number in range(4)]
    volume = Disk("sda", "physical", "PERC H730P Mini", "6d0946606a1b2c00", "0x6d0946606a1b2c00", 8 * TB, True, "scsi",
                  "pci-0000:02:00.0-scsi-0:2:0:0", "8:0")  # fmt: skip
    place = "/sys/devices/pci0000:00/0000:02:00.0/host0/target0:2:0/0:2:0:0"
    tool = "perccli64 /call"
    card = {
        "/sys/bus/pci/drivers/megaraid_sas/0000:02:00.0": "",
        "/sys/bus/pci/devices/0000:02:00.0/subsystem_vendor": "0x1028\n",
        "/sys/class/scsi_host/host0/proc_name": "megaraid_sas\n",
        "/proc/self/mountinfo": base.mountinfo([("/kafka/data", "8:1", "/dev/sda1")]),
        "/etc/fstab": FSTAB,
        **{f"/sys/block/{name}/{name}1/partition": None for name in base.DISKS[1:]},
        **{f"/sys/block/{name}/queue/scheduler": None for name in base.DISKS[1:]},
    }
    answers = {
        "disks": [base.disks()[0], volume],
        "link /sys/block/sda": f"{place}/block/sda",
        "link /sys/block/sda/device": place,
        "link /sys/dev/block/8:1": f"{place}/block/sda/sda1",
        "touch read /etc/kafka/server.properties": _config("/kafka/data"),
        "touch stat /kafka/data": Touched("", {}),
        "touch write /kafka/data": Touched("", {"written": True}),
        "touch usage /kafka/data": usage(48, 8 * TB),
    }
    members = [f"/dev/bus/0 megaraid,{number}" for number in range(10, 14)]
    said = {
        "smartctl --json --scan": made_reports.scan("/dev/sda scsi", *members)["smartctl --json --scan"],
        **{
            made_reports.asked("/dev/bus/0", f"megaraid,{number}"): made_reports.printed(_sas(serial))
            for number, serial in enumerate(serials, 10)
        },
        f"{tool} show all J": Answer(0, outputs.storcli(), ""),
        f"{tool}/eall/sall show all J": Answer(0, _drives(0), ""),
    }
    mount = ExpectedMount("/kafka/data", uuid=base.UUIDS[0], fstype="ext4")
    expected = {"layout": "raid10", "disks": tuple(serials), "mounts": (mount,)}
    first: Changes = {"files": card, "answers": answers, "commands": said, "expected": expected}
    words = "FAILURE PREDICTION THRESHOLD EXCEEDED [asc=5d, ascq=0]"
    failing = _sas(serials[1], passed=False, smart_status={"passed": False, "scsi": {"asc": 93, "ie_string": words}})
    line = "megaraid_sas 0000:02:00.0: 7001 (816692061s/0x0002/WARN) - Predictive failure: PD 0b(e0xfc/s1)"
    story: Changes = {
        "commands": {
            made_reports.asked("/dev/bus/0", "megaraid,11"): made_reports.printed(failing),
            f"{tool}/eall/sall show all J": Answer(0, _drives(3), ""),
        },
        "answers": {"kernel_records": kernel_lines(line, hours_ago=0.4)},
    }
    return story, first


def _sas(serial: str, **changes: Any) -> Dict[str, Any]:
    return made_reports.sas(serial, logical_unit_id=f"0x5000c5004d5c7f{serial[-1]}0", **changes)


def _config(log_dirs: str) -> Touched:
    return Touched("", {"text": base.CONFIG.replace("/kafka/d1,/kafka/d2,/kafka/d3,/kafka/d4", log_dirs)})


def _drives(predictive: int) -> str:
    """`perccli64 /call/eall/sall show all J`; of slot 1 so many predictive failures."""
    states = {
        f"Drive /c0/e252/s{slot} State": {
            "Media Error Count": 0,
            "Other Error Count": 0,
            "Predictive Failure Count": predictive if slot == 1 else 0,
            "S.M.A.R.T alert flagged by drive": "Yes" if slot == 1 and predictive else "No",
        }
        for slot in range(4)
    }
    return outputs.whole(states)


def degraded_md_raid10() -> tuple[Changes, Changes]:
    """md0 of sda1 to sdd1, near-2: sdc1 has failed, and its mirror sdd1 has pending sectors."""
    array = Disk("md0", "md", "", "", "", 16 * TB, True, "", "", "9:0")
    files = {
        **md(sync_speed="none"),
        "/sys/block/md0/queue/scheduler": "none\n",
        "/proc/mdstat": _mdstat("sdd1[3] sdc1[2] sdb1[1] sda1[0]", "[4/4] [UUUU]"),
        "/proc/self/mountinfo": base.mountinfo([("/kafka/data", "9:0", "/dev/md0")]),
        "/etc/fstab": FSTAB,
        "/sys/fs/ext4/md0/errors_count": "0\n",
        "/sys/fs/ext4/md0/last_error_time": "0\n",
    }
    answers = {
        "disks": [array, *base.disks()],
        "link /sys/block/md0": "/sys/devices/virtual/block/md0",
        "link /sys/dev/block/9:0": "/sys/devices/virtual/block/md0",
        "link /dev/md0": "/dev/md0",
        f"link /dev/disk/by-uuid/{base.UUIDS[0]}": "/dev/md0",
        "touch read /etc/kafka/server.properties": _config("/kafka/data"),
        "touch stat /kafka/data": Touched("", {}),
        "touch write /kafka/data": Touched("", {"written": True}),
        "touch usage /kafka/data": usage(48, 16 * TB),
    }
    mount = ExpectedMount("/kafka/data", uuid=base.UUIDS[0], fstype="ext4")
    ailing = made_reports.ata(base.SERIALS[2], exit_status=64, a187="104", a197="228", a5="1260")
    first: Changes = {
        **smart("sdc", ailing),
        "files": files,
        "answers": answers,
        "expected": {"layout": "raid10", "mounts": (mount,)},
    }
    failed = md(degraded="1", sdc1_state="faulty", sdc1_slot="none", sdc1_errors="20")
    sick = made_reports.ata(base.SERIALS[2], exit_status=64, a187="112", a197="240", a5="1288")
    pending = made_reports.ata(base.SERIALS[3], a197="24")
    lines = [
        line
        for sector in (512, 1024, 2048)
        for line in (
            "sd 3:0:0:0: [sdc] tag#12 Sense Key : Medium Error [current]",
            "sd 3:0:0:0: [sdc] tag#12 Add. Sense: Unrecovered read error - auto reallocate failed",
            f"critical medium error, dev sdc, sector {sector} op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",
        )
    ]
    lines += [
        "md/raid10:md0: Disk failure on sdc1, disabling device.",
        "md/raid10:md0: Operation continuing on 3 devices.",
    ]
    story: Changes = {
        "files": {**failed, "/proc/mdstat": _mdstat("sdd1[3] sdc1[2](F) sdb1[1] sda1[0]", "[4/3] [UU_U]")},
        "commands": {**smart("sdc", sick)["commands"], **smart("sdd", pending)["commands"]},
        "answers": {"kernel_records": kernel_lines(*lines, hours_ago=0.7)},
    }
    return story, first


def _mdstat(members: str, counts: str) -> str:
    return (
        f"Personalities : [raid10]\nmd0 : active raid10 {members}\n"
        f"      15627544576 blocks super 1.2 512K chunks 2 near-copies {counts}\n\nunused devices: <none>\n"
    )


def edac_ce_storm() -> tuple[Changes, Changes]:
    """One DIMM corrects hundreds of errors in a quarter of an hour."""
    place = "(channel:1 slot:0 page:0x2b67afa offset:0xb40 grain:32 syndrome:0x0 -  area:DRAM err_code:0001:0091)"
    lines = [f"EDAC MC1: 64 CE memory read error on {base.DIMMS[5]} {place}" for _minute in range(7)]
    return {
        "files": base.edac(5, corrected=451),
        "answers": {"kernel_records": kernel_lines(*lines, hours_ago=0.2, apart_s=110)},
    }, {"files": base.edac(5, corrected=3)}


def edac_ue() -> tuple[Changes, Changes]:
    """A DIMM gave wrong data once; the kernel could take the page out of use."""
    place = "(channel:2 slot:0 page:0x1c0a2 offset:0x0 grain:32 - err_code:0x00a0:0x0092)"
    lines = [
        "mce: [Hardware Error]: Machine check events logged",
        f"EDAC MC0: 1 UE memory scrubbing error on {base.DIMMS[2]} {place}",
        "Memory failure: 0x1c0a2: recovery action for clean LRU page: Recovered",
    ]
    return {
        "files": base.edac(2, uncorrected=1),
        "answers": {"kernel_records": kernel_lines(*lines, hours_ago=0.3)},
    }, {}


def nic_reset_under_load() -> tuple[Changes, Changes]:
    """enp5s0f0 hangs and is reset four times in 40 minutes; each time its link is lost for seconds."""
    lines = []
    for number in range(4):
        name = "ixgbe 0000:05:00.0 enp5s0f0"
        lines += kernel_lines(
            f"NETDEV WATCHDOG: enp5s0f0 (ixgbe): transmit queue {number} timed out",
            f"{name}: initiating reset due to tx timeout",
            f"{name}: Reset adapter",
            f"{name}: NIC Link is Down",
            "bond0: (slave enp5s0f0): link status definitely down, disabling slave",
            f"{name}: NIC Link is Up 10 Gbps, Flow Control: None",
            hours_ago=0.9 - 0.2 * number,
            first=2 + 6 * number,
        )
    base_ = "/sys/class/net/enp5s0f0"
    return {
        "files": {
            f"{base_}/queues/tx-0/tx_timeout": "4\n",
            f"{base_}/carrier_changes": "10\n",
            f"{base_}/carrier_up_count": "5\n",
            f"{base_}/carrier_down_count": "5\n",
            "/proc/net/bonding/bond0": base.BONDING.replace("Failure Count: 0", "Failure Count: 4", 1),
        },
        "commands": {"ethtool -S enp5s0f0": Answer(0, base.counters(resets=4), "")},
        "answers": {"kernel_records": lines},
    }, {}


def failed_log_dir() -> tuple[Changes, Changes]:
    """The journal of /kafka/d2 aborts; the broker's next write there fails, and it goes on without the log dir."""
    before = "[2026-11-18 10:41:02,117] INFO [Partition pay-7 broker=3] ISR updated to 3,1  and version updated to 9"
    rows = (
        f"{before} (kafka.cluster.Partition)",
        "[2026-11-18 10:48:44,536] ERROR Error while appending records to pay-7 in dir /kafka/d2"
        " (org.apache.kafka.storage.internals.log.LogDirFailureChannel)",
        "java.io.IOException: Read-only file system",
        "org.apache.kafka.common.errors.KafkaStorageException: Error while appending records to pay-7 in dir /kafka/d2",
        "[2026-11-18 10:48:44,566] WARN Stopping serving logs in dir /kafka/d2 (kafka.log.LogManager)",
    )
    text = "".join(f"{row}\n" for row in rows)
    log = Touched("", {"inode": 77, "end": 9216, "skipped_bytes": 0, "text": text})
    lines = kernel_lines(
        "Aborting journal on device sdb1-8.",
        "EXT4-fs error (device sdb1): ext4_journal_check_start:83: comm data-plane-kafk: Detected aborted journal",
        "EXT4-fs (sdb1): Remounting filesystem read-only",
        hours_ago=0.3,
    )
    answers = {
        "touch write /kafka/d2": Touched("EROFS", {"errno": "EROFS", "error": "Read-only file system"}),
        "touch search /srv/kafka/logs/server.log": log,
        "kernel_records": lines,
    }
    return {"answers": answers}, {}


def healthy_jbod_broker() -> tuple[Changes, Changes]:
    return {}, {}


HANDMADE: Sequence[Callable[[], tuple[Changes, Changes]]] = (
    healthy_jbod_broker,
    worn_nvme,
    sas_grown_defects,
    megaraid_predictive_failure,
    degraded_md_raid10,
    edac_ce_storm,
    edac_ue,
    nic_reset_under_load,
    failed_log_dir,
)


if __name__ == "__main__":
    for made in HANDMADE:
        write(made.__name__, *made())
