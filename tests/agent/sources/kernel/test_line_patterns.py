"""The tables of kernel lines: each form knows the real lines that stand above it, and no line of a healthy machine."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sources.kernel import (
    controller_lines,
    disk_events,
    disk_lines,
    file_system_lines,
    memory_lines,
    nic_events,
    nic_lines,
    nic_vendor_lines,
    pcie_lines,
    stall_lines,
)
from agent.sources.kernel.line_patterns import LineTable
from agent.sources.kernel.log import Record
from tests.agent.sources.kernel.line_examples import documented
from tests.agent.sources.kernel.line_heads import heads

TABLES = [
    disk_lines,
    controller_lines,
    file_system_lines,
    memory_lines,
    nic_lines,
    nic_vendor_lines,
    pcie_lines,
    stall_lines,
]
LINES = [(module, text, form) for module in TABLES for text, form in documented(module)]

# Hand-made from the formats of real boots, and of daily life on machines that are well.
QUIET = r"""
Linux version 5.14.0-427.el9.x86_64 (mockbuild@x86-64-01) (gcc (GCC) 11.4.1) #1 SMP PREEMPT_DYNAMIC
scsi 2:0:0:0: Direct-Access     ATA      ST4000NM0035-1V4 TN04 PQ: 0 ANSI: 5
sd 2:0:0:0: [sdc] 7814037168 512-byte logical blocks: (4.00 TB/3.64 TiB)
sd 2:0:0:0: [sdc] Write Protect is off
sd 2:0:0:0: [sdc] Write cache: enabled, read cache: enabled, doesn't support DPO or FUA
sd 2:0:0:0: [sdc] Attached SCSI disk
sd 2:0:0:0: [sdc] Synchronizing SCSI cache
sd 0:0:0:0: [sda] tag#3 Sense Key : Illegal Request [current]
sd 0:0:0:0: [sda] tag#3 Sense Key : Recovered Error [current] [descriptor]
sd 0:0:0:0: [sda] tag#3 Add. Sense: ATA pass through information available
sd 0:0:0:0: [sda] tag#3 Add. Sense: Failure prediction threshold exceeded (false)
sd 0:0:0:0: [sda] tag#0 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_SENSE
sd 0:0:0:0: [sda] tag#0 CDB: ATA command pass through(16) 85 06 20 00 00 00
ata3: SATA link up 6.0 Gbps (SStatus 133 SControl 300)
ata4: SATA link down (SStatus 0 SControl 300)
ata3.00: configured for UDMA/133
ata3: EH complete
ata1: SATA max UDMA/133 abar m2048@0xdf04b000 port 0xdf04b100 irq 31
nvme nvme0: pci function 0000:04:00.0
nvme nvme0: Shutdown timeout set to 8 seconds
nvme nvme0: 16/0/0 default/read/poll queues
nvme nvme0: missing or invalid SUBNQN field.
nvme0: Identify(0x6), Invalid Field in Command (sct 0x0 / sc 0x2) DNR
mpt3sas_cm0: log_info(0x31110e03): originator(PL), code(0x11), sub_code(0x0e03)
mpt3sas_cm0: log_info(0x31080000): originator(PL), code(0x08), sub_code(0x0000)
mpt3sas_cm0: sending port enable !!
mpt3sas_cm0: port enable: SUCCESS
megaraid_sas 0000:03:00.0: FW provided supportMaxExtLDs: 1	max_lds: 64
megaraid_sas 0000:03:00.0: controller type	: MR(2048MB)
megaraid_sas 0000:03:00.0: 5213 (560871411s/0x0020/info) - Patrol Read started
hpsa 0000:03:00.0: scsi 0:1:0:1: added Direct-Access     HP       LOGICAL VOLUME   RAID-0 SSDSmartPathCap- En- Exp=1
smartpqi 0000:5c:00.0: Microchip Smart Family Controller found
md/raid10:md0: not clean -- starting background reconstruction
md: data-check of RAID array md0
md: md0: data-check done.
EXT4-fs (sdd1): mounted filesystem with ordered data mode. Opts: (null)
EXT4-fs (sdd1): mounted filesystem 0a1b2c3d-0000-4000-8000-000000000001 r/w with ordered data mode. Quota mode: none.
EXT4-fs (sdd1): re-mounted. Opts: errors=remount-ro
EXT4-fs (sda1): orphan cleanup on readonly fs
EXT4-fs (sda1): recovery complete
EXT4-fs (sdd1): error count since last fsck: 4
EXT4-fs (sdd1): initial error at time 1467189000: ext4_lookup:1594: inode 131143
EXT4-fs warning (device sdd1): ext4_dx_add_entry:2461: Directory (ino: 2) index full, reach max htree level :2
XFS (sdd1): Mounting V5 Filesystem 0a1b2c3d-0000-4000-8000-000000000001
XFS (sdd1): Ending clean mount
XFS (sdd1): Starting recovery (logdev: internal)
XFS (sdd1): Unmounting Filesystem
XFS (sdd1): Please unmount the filesystem and rectify the problem(s)
XFS: java(1234) possible memory allocation deadlock size 65552 in kmem_realloc (mode:0x250)
BTRFS info (device sda1): using free space tree
device-mapper: multipath: 253:2: Reinstating path 8:32.
pcieport 0000:00:1c.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)
nvme 0000:04:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)
ixgbe 0000:05:00.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Transmitter ID)
EDAC MC: Ver: 3.0.0
EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0: DEV 0000:3a:0a.0 (INTERRUPT)
EDAC MC0: Giving out device to 'sbridge_edac.c' 'Broadwell SrcID#0_Ha#0': DEV 0000:7f:12.0
EDAC PCI0: Giving out device to module 'sb_edac' controller 'EDAC PCI controller': DEV '0000:00:00.0' (POLLED)
EDAC sbridge:  Ver: 1.1.2
EDAC sbridge MC1: HANDLING MCE MEMORY ERROR
EDAC sbridge MC1: TSC 0
mce: CPU supports 22 MCE banks
MCE: In-kernel MCE decoding enabled.
mce: [Hardware Error]: TSC 0 ADDR 1f3a2c000 MISC 900040004001e8c
mce: [Hardware Error]: PROCESSOR 0:306e4 TIME 1519356496 SOCKET 1 APIC 20 microcode 42e
CPU4: Core temperature/speed normal
HEST: Table parsing has been initialized.
GHES: APEI firmware first mode is enabled by APEI bit and WHEA _OSC.
ERST: Error Record Serialization Table (ERST) support is initialized.
ixgbe 0000:05:00.0 eth0: NIC Link is Up 10 Gbps, Flow Control: RX/TX
ixgbe 0000:05:00.0: Multiqueue Enabled: Rx Queue count = 32, Tx Queue count = 32 XDP Queue count = 0
ixgbe 0000:05:00.0 ens1f0: renamed from eth0
igb: eno1 NIC Link is Up 1000 Mbps Full Duplex, Flow Control: RX
i40e 0000:18:00.0 ens1f0: NIC Link is Up, 25 Gbps Full Duplex, Requested FEC: None, Flow Control: None
ice 0000:3b:00.0 ens2f0: NIC Link is up 100 Gbps Full Duplex, Requested FEC: RS-FEC
bnxt_en 0000:3b:00.0 ens1f0np0: NIC Link is Up, 25000 Mbps full duplex, Flow control: none
tg3 0000:02:00.0 em1: Link is up at 1000 Mbps, full duplex
mlx5_core 0000:03:00.0 ens1f0: Link up
mlx5_core 0000:03:00.0: Port module event: module 0, Cable plugged
mlx5_core 0000:03:00.0: firmware version: 16.28.2006
r8169 0000:02:00.0 enp2s0: Link is Up - 1Gbps/Full - flow control rx/tx
bond0: (slave ens1f0): making interface the new active one
pcieport 0000:3a:00.0: pciehp: Slot(1): Link Down/Up ignored (recovered by DPC)
pcieport 0000:3a:00.0: pciehp: Slot(1): Link Up
sas: Enter sas_scsi_recover_host busy: 0 failed: 0
i801_smbus: probe of 0000:00:1f.4 failed with error -16
EXT4-fs (sda2): VFS: Can't find ext4 filesystem
lpfc 0000:05:00.0: 0:1305 Link Down Event x2 received Data: x2 x20 x0 x0 x0
IPv6: ADDRCONF(NETDEV_CHANGE): ens1f0: link becomes ready
audit: type=1400 audit(1700000000.1:2): apparmor="DENIED" comm="EXT4-fs error (device sda1)"
nf_conntrack: nf_conntrack: table full, dropping packet
java invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0
blk_update_request: 14 callbacks suppressed
clocksource: Switched to clocksource tsc
""".strip().splitlines()


def first_form(module: Any, text: str) -> Any:
    return next((form for form in module.FORMS if form.expression.match(text)), None)


@pytest.mark.parametrize(("module", "text", "form"), LINES)
def test_each_real_line_is_of_the_form_below_it(module: Any, text: str, form: Any) -> None:
    assert first_form(module, text) is form


@pytest.mark.parametrize("module", TABLES)
def test_each_form_is_tried_for_every_line_that_it_can_match(module: Any) -> None:
    for form in module.FORMS:
        derived = heads(form.expression.pattern)
        if form.heads.startswith("*"):
            assert derived is None and form.heads[1:] in form.expression.pattern
        else:
            assert {head.strip("-") for head in form.heads.split()} == derived, form


@pytest.mark.parametrize(("module", "text", "form"), LINES)
def test_the_table_finds_the_form_that_trying_them_all_finds(module: Any, text: str, form: Any) -> None:
    found, match = LineTable(module.FORMS).find(text)

    assert found is form and match


@pytest.mark.parametrize("text", QUIET)
def test_lines_of_a_healthy_machine_are_of_no_form(text: str) -> None:
    assert [form.kind for module in TABLES if (form := first_form(module, text))] == []


@pytest.mark.parametrize(("module", "text", "form"), LINES)
def test_a_line_that_only_quotes_another_is_of_no_form(module: Any, text: str, form: Any) -> None:
    assert first_form(module, f'audit: type=1400 comm="{text}') is None


def test_the_tables_do_not_claim_each_others_lines() -> None:
    claimed = [(text, other.__name__) for module, text, _ in LINES for other in TABLES
               if other is not module and first_form(other, text)]  # fmt: skip

    assert claimed == []


NO_DEVICES = disk_events.Devices({}, {}, [])
NO_CARDS = nic_events.Cards({}, {}, [])


def all_sightings(texts: list[str], uptime_s: float = 4000.0) -> list[Any]:
    records = [
        Record(number, 0, 6, uptime_s + number, text, "", uptime_s + number) for number, text in enumerate(texts)
    ]
    return [
        *disk_events.sightings(records, records, NO_DEVICES),
        *memory_lines.sightings(records, records),
        *nic_events.sightings(records, NO_CARDS),
    ]


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A real line with a part lost, doubled or replaced."""
    text = draw(st.sampled_from([text for _module, text, _form in LINES]))
    start, end = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
    return text[:start] + draw(st.one_of(st.text(max_size=9), st.just(text[start:end] * 2))) + text[end:]


@given(st.lists(damaged(), max_size=8))
def test_damaged_lines_never_fail_and_name_what_they_name(texts: list[str]) -> None:
    for seen in all_sightings(texts):
        assert seen.item and isinstance(seen.item, str)
        assert seen.kind and seen.times >= 0


def test_a_flood_is_read_in_good_time() -> None:
    """29 000 lines: half a second of a processor. To try each form on each line takes twenty."""
    texts = [text for _module, text, _form in LINES] * 60 + QUIET * 60
    started = time.process_time()

    assert len(all_sightings(texts)) > 5000
    assert time.process_time() - started < 5


def test_one_long_line_is_read_in_good_time() -> None:
    started = time.process_time()
    for _module, text, _form in LINES:
        head = text[: len(text) * 2 // 3]
        all_sightings([head + " (" * 700, head + "a" * 1900, (head + " ") * 20, head + ": " * 900])

    assert time.process_time() - started < 10
