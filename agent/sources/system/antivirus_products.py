"""Antivirus products by their packages, units and processes, and what each says of its exclusions."""

from __future__ import annotations

import os
from typing import Dict, List, Sequence, Tuple

from agent.host import CannotTell, Host, Missing, Process, ToolMissing, cached_per_run
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple


class Product(NamedTuple):
    """processes: those that scan, or wait to; updaters and management agents are left out where they are apart.

    units: beginnings of unit names. scanners: programs that scan what their arguments name, and then end.
    """

    name: str
    packages: Tuple[str, ...]
    processes: Tuple[str, ...]
    units: Tuple[str, ...]
    scanners: Tuple[str, ...] = ()


PRODUCTS = (
    Product(
        "ClamAV",
        ("clamav", "clamav-daemon", "clamd", "clamav-scanner-systemd", "clamav-server"),
        ("clamd", "clamonacc"),
        ("clamav-daemon", "clamav-clamonacc", "clamonacc", "clamd"),
        ("clamscan", "clamdscan"),
    ),
    Product(
        "Sophos",
        ("sophos-spl", "savinst-sls"),
        ("savd", "savscand", "sophos_threat_detector", "sophos-spl", "sophos_managementagent", "soapd"),
        ("sophos-spl", "sav-protect", "savd"),
        ("savscan", "avscanner"),
    ),
    Product(
        "Trellix (McAfee)",
        ("McAfeeTP", "McAfeeESP", "mcafeetp", "mcafeeesp", "ISecTP", "isectp", "McAfeeVSEForLinux"),
        ("isectpd", "mfetpd", "isecespd", "mfeespd", "isecoasmgr", "mfeoasmgr", "nailsd"),
        ("mfetpd", "isectpd", "mfeespd", "isecespd", "nails"),
    ),
    Product(
        "Symantec",
        ("sav", "savap", "sep", "sepap", "sdcss", "SYMCsdcss"),
        ("rtvscand", "sisamdagent", "sisidsagent"),
        ("rtvscand", "sisamdagent", "sisidsagent", "autoprotect"),
    ),
    Product(
        "Trend Micro",
        ("ds-agent", "ds_agent", "tmxbc", "SProtectLinux"),
        ("ds_agent", "ds_am", "vsapiapp"),
        ("ds_agent", "ds_am", "splx"),
    ),
    Product(
        "CrowdStrike Falcon", ("falcon-sensor",), ("falcon-sensor", "falcond", "falcon-sensor-bpf"), ("falcon-sensor",)
    ),
    Product(
        "SentinelOne",
        ("SentinelAgent", "sentinelagent"),
        ("s1-agent", "s1-scanner", "sentineld"),
        ("sentinelone", "sentinelagent"),
    ),
    Product("Microsoft Defender", ("mdatp",), ("wdavdaemon", "mdatp"), ("mdatp",)),
    Product(
        "ESET",
        ("esets", "efs", "eea", "eset-server-security"),
        ("esets_daemon", "oaeventd", "eraagent", "ERAAgent"),
        ("esets", "efs.", "eea.", "eraagent"),
    ),
    Product(
        "Bitdefender",
        ("bitdefender-security-tools", "bitdefender-scanner"),
        ("bdsecd", "bdepsecd", "epagd", "epagngd"),
        ("bdsec", "bdepsec", "epag"),
        ("bdscan",),
    ),
    Product(
        "Kaspersky",
        ("kesl", "klnagent", "klnagent64", "kav4fs"),
        ("kesl", "klnagent", "kavscanner"),
        ("kesl", "klnagent", "kav4fs"),
    ),
    Product(
        "Carbon Black",
        ("cb-psc-sensor", "cbsensor", "cb-linux-sensor"),
        ("cbagentd", "cbdaemon"),
        ("cbagentd", "cbdaemon", "cb-psc-sensor"),
    ),
    Product("Cylance", ("CylancePROTECT", "cylance-protect"), ("cylancesvc",), ("cylancesvc",)),
    Product("Comodo", ("cav-linux",), ("cmdavd", "cmdagent"), ("cmdavd",)),
    Product(
        "F-Secure",
        ("f-secure-linuxsecurity", "withsecure-linuxsecurity", "fsav", "fsls"),
        ("fsavd", "fsaccd", "fsoasd", "fsicd"),
        ("f-secure", "withsecure", "fsma", "fsaua"),
        ("fsav", "fsanalyze"),
    ),
    Product("Cortex XDR", ("cortex-agent",), ("cortex-agent", "trapsd"), ("traps_pmd", "cortex-agent")),
    Product("Cisco Secure Endpoint", ("ciscoampconnector",), ("ampdaemon",), ("cisco-amp",)),
    Product("Elastic Endpoint", ("elastic-endpoint",), ("elastic-endpoint",), ("ElasticEndpoint", "elastic-endpoint")),
)

UNIT_FOLDERS = ("/etc/systemd/system", "/lib/systemd/system", "/usr/lib/systemd/system")
CRON_FOLDERS = ("/etc/cron.d", "/etc/cron.hourly", "/etc/cron.daily", "/etc/cron.weekly", "/etc/cron.monthly")
# Fetches signatures and scans nothing.
UPDATER = "freshclam"

CLAMD_CONFIGS = ("/etc/clamav/clamd.conf", "/etc/clamd.d/scan.conf", "/etc/clamd.conf", "/usr/local/etc/clamd.conf")
# ExcludePath ^/kafka/  and  OnAccessExcludePath /kafka/d1: a plain path, perhaps anchored; nothing cleverer is read
PLAIN_PATH = pattern(r"\^?(/[\w./-]*?)/?(?:\.\*)?\$?")
# Path: "/kafka/d1/"
MDATP_PATH = pattern(r'\s*Path: "(/[^"]{1,4096})"')
MDATP_DEADLINE_S = 4.0


class Traces(NamedTuple):
    """What speaks for a product on this machine. scheduled: timers and cron files."""

    packages: Tuple[str, ...]
    units: Tuple[str, ...]
    scheduled: Tuple[str, ...]
    processes: Tuple[Process, ...]
    scanners: Tuple[Process, ...]


@cached_per_run
def traces(host: Host) -> Dict[str, Traces]:
    """The traces of each product that has any; one that only scans on demand counts while it runs."""
    packages = _installed(host, [name for product in PRODUCTS for name in product.packages])
    units = [name for folder in UNIT_FOLDERS for name in _names(host, folder) if UPDATER not in name]
    cron = [f"{folder}/{name}" for folder in CRON_FOLDERS for name in _names(host, folder) if UPDATER not in name]
    processes = host.processes()
    found = {}
    for product in PRODUCTS:
        mine = sorted({name for name in units if name.startswith(product.units)})
        seen = Traces(
            tuple(name for name in product.packages if name in packages),
            tuple(name for name in mine if name.endswith((".service", ".socket"))),
            tuple(_scheduled(product, units, cron)),
            tuple(process for process in processes if _program(process, product.processes)),
            tuple(process for process in processes if _program(process, product.scanners)),
        )
        if any(seen):
            found[product.name] = seen
    return found


def _names(host: Host, folder: str) -> List[str]:
    try:
        return host.list_dir(folder)
    except Missing:
        return []


def _scheduled(product: Product, units: Sequence[str], cron: Sequence[str]) -> List[str]:
    """Timers and cron files that are named after the product."""
    words = product.units + product.scanners + product.packages
    timers = {name for name in units if name.endswith(".timer") and name.startswith(words)}
    return sorted(timers) + [path for path in cron if os.path.basename(path).startswith(words)]


def _program(process: Process, names: Sequence[str]) -> bool:
    """Whether this is one of the programs; a kernel thread, which has no arguments, never is."""
    return bool(process.argv) and (process.name in names or os.path.basename(process.argv[0]) in names)


def _installed(host: Host, names: Sequence[str]) -> List[str]:
    """Which of these packages are installed, on Debian's and on Red Hat's kind; nothing on other systems."""
    if host.exists("/var/lib/dpkg/info"):
        listed = [name for name in names if host.exists(f"/var/lib/dpkg/info/{name}.list")]
        return _dpkg(host, listed) if listed else []
    if host.exists("/var/lib/rpm") or host.exists("/usr/lib/sysimage/rpm"):
        return _rpm(host, names)
    return []


def _dpkg(host: Host, listed: Sequence[str]) -> List[str]:
    """A removed package keeps its list until it is purged: only dpkg knows which is which."""
    answer = host.run("dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *listed)
    rows = [row.split() for row in answer.out.splitlines()]
    if not rows:
        raise CannotTell(f"dpkg-query: {answer.err.strip()[:100] or 'printed nothing'}")
    return [row[0] for row in rows if len(row) == 2 and row[1] == "installed"]


def _rpm(host: Host, names: Sequence[str]) -> List[str]:
    try:
        answer = host.run("rpm", "-q", "--qf", "%{NAME}\n", *names)
    except ToolMissing:
        return []
    if not answer.out.strip():
        raise CannotTell(f"rpm -q: {answer.err.strip()[:100] or 'printed nothing'}")
    return [row.strip() for row in answer.out.splitlines() if row.strip() in names]


def excluded_paths(host: Host, product: str, programs: Sequence[str]) -> List[str]:
    """The paths that a product says it does not scan; empty where it says nothing, or nothing that we can read."""
    if product == "ClamAV":
        option = "OnAccessExcludePath" if "clamonacc" in programs else "ExcludePath"
        return [path for config in CLAMD_CONFIGS for path in parse_clamd_excludes(_text(host, config), option)]
    if product == "Microsoft Defender":
        try:
            return parse_mdatp_excludes(host.run("mdatp", "exclusion", "list", deadline_s=MDATP_DEADLINE_S).out)
        except CannotTell:
            return []
    return []


def _text(host: Host, path: str) -> str:
    try:
        return host.read(path)
    except CannotTell:
        return ""


def parse_clamd_excludes(text: str, option: str) -> List[str]:
    """The plain paths of one option of clamd.conf.

    >>> parse_clamd_excludes("ExcludePath ^/kafka/\\nExcludePath ^/(proc|sys)/", "ExcludePath")
    ['/kafka']
    """
    rows = (row.split(None, 1) for row in text.splitlines())
    matches = (PLAIN_PATH.fullmatch(row[1].strip()) for row in rows if len(row) == 2 and row[0] == option)
    return [match.group(1) or "/" for match in matches if match]


def parse_mdatp_excludes(text: str) -> List[str]:
    """The folders in the answer of `mdatp exclusion list`."""
    matches = (MDATP_PATH.match(row) for row in text.splitlines())
    return [match.group(1).rstrip("/") or "/" for match in matches if match]
