"""The columns of all tables: type, unit and meaning, and which columns name a row; for the reference pages."""

from __future__ import annotations

from typing import NamedTuple

from fleet import tables
from fleet.ingest import flat_tables


class Table(NamedTuple):
    """A table's question, the columns that name a row (within a date), and all columns in order: name -> SQL type.

    method: how it is computed, and its limits; empty where the question says it all.
    """

    name: str
    question: str
    key: tuple[str, ...]
    columns: dict[str, str]
    method: str = ""


# By name: a column means the same in every table.
MEANINGS = {
    "age_days": "age of the problem in days, from its first day or the agent's first sight of it",
    "agent": "version of the agent",
    "answered": "whether the host reported itself; false if only the controller reported findings of it",
    "await_ms": "time of an operation in the peers' busiest hour, ms",
    "bad_days": "days of the window on which it was a problem",
    "boot_id": "of the boot that the counters belong to",
    "busy_percent": "share of the time in which the disk was busy",
    "chance": "probability of so many failures at the rate of all others (0 to 1); null for a fleet of one model",
    "change": "new, worse, ongoing, resolved, or unseen (no result today)",
    "check_name": "the check, as in `smoke list`",
    "cluster": "the cluster, as the inventory names it",
    "cluster_criticals": "critical findings of the cluster as a whole",
    "cluster_unknowns": "unknown findings of the cluster as a whole",
    "cluster_warnings": "warnings of the cluster as a whole",
    "clusters": "clusters with findings of the check as a whole",
    "corrected": "corrected errors since the boot",
    "crc_errors": "errors between disk and controller (attribute 199): cable or backplane",
    "critical_hosts": "hosts whose worst finding is critical",
    "criticals": "critical findings",
    "crossing_day": "day on which the limit is crossed at this pace, days since 1970-01-01; null: there is no limit",
    "data": "whether the mount holds Kafka data",
    "date": "the day, UTC; from the folder's name",
    "day": "the day, UTC, as days since 1970-01-01",
    "days_left": "days until the limit is crossed, or the mount is full, at this pace; null: there is no limit",
    "detectable_percent": "rate in percent a year that would be noticed four nights in five; null where none would",
    "deviation_points": "standard deviation of the used space, percentage points",
    "disk": "the serial or worldwide name; cluster, host and kernel name where the disk has none",
    "disks": "disks of the model and firmware",
    "drawer": "the drawer or chassis",
    "drive_days": "days that these disks were watched, together",
    "earliest_day": "the earliest day that the bounds of the pace allow, days since 1970-01-01",
    "end_to_end_errors": "errors on the way through the disk's own memory (attribute 184)",
    "episodes": "times that it began",
    "failing": "whether the disk's SMART status is critical today",
    "failures": "disks that failed",
    "faults": "hosts, or disks of a batch, that have the fault",
    "firmware": "of the disk",
    "first_bad": "whether the first run of the day that saw the item saw it as faulty",
    "first_seen": "when the agent saw it first, seconds since 1970-01-01 UTC",
    "free_bytes": "free space, bytes",
    "full_day": "day on which the mount is full at this pace, days since 1970-01-01",
    "grown_defects": "grown defects (SAS)",
    "health": "critical, unknown, warning, ok; silent or maintenance when it did not report",
    "high_percent": "upper bound of the rate (95 %), percent a year",
    "host": "the host; empty for what is found of a whole cluster",
    "hosts": "hosts",
    "hour": "hour of the day, UTC",
    "item": "what was checked: a disk's serial, a mount, an interface; - for the host as a whole",
    "item_days": "days on which it was a problem, summed over items",
    "kernel": "version of the kernel",
    "kind": "drawer, rack, power feed, or batch (model and firmware of disks)",
    "last_bad": "whether it is a problem at the end of the day",
    "last_day": "last day of it, days since 1970-01-01",
    "last_severity": "at the end of the day: 3 warning, 4 unknown, 5 critical; null when it is none",
    "latest_day": "the latest day that the bounds of the pace allow, days since 1970-01-01; null: there is none",
    "layout": "jbod or raid10",
    "least_percent": "of the emptiest, percent used",
    "level": "host (over its disks) or cluster (over its brokers)",
    "limit_value": "the limit, in the metric's unit",
    "looked": "the checks that returned a result, between commas",
    "low_percent": "lower bound of the rate (95 %), percent a year",
    "maintenance_hosts": "hosts that are silent while the inventory says maintenance",
    "media_errors": "media errors (NVMe)",
    "median_ms": "median of the peers, ms",
    "metric": "which counter of the disk",
    "model": "of the disk",
    "month_per_day": "the pace of the month, in the metric's unit a day",
    "most_percent": "of the fullest, percent used",
    "name": "of the drawer, rack, power feed or batch",
    "offset_ms": "the clock against its time servers, ms",
    "ok_hosts": "hosts without a problem",
    "oks": "findings that are ok",
    "operation": "read or write",
    "others_percent": "rate of all other disks, percent a year",
    "parts": "disks, or brokers, that were compared",
    "peers": "disks compared with, itself included",
    "pending": "unreadable sectors that are waiting for a write",
    "per_day": "the pace, in the metric's unit a day",
    "playbook": "the playbook for it: `smoke playbook show NAME`",
    "points_per_day": "the pace, percentage points a day",
    "power_feed": "the power feed",
    "power_on_hours": "hours that the disk has run",
    "published_chance": "probability of so many failures at the published rate (0 to 1); null: no rate given",
    "published_percent": "rate that was given as published (`--published-rates`), percent a year",
    "rack": "the rack",
    "range_points": "between the fullest and the emptiest, percentage points",
    "rate_percent": "failures of a hundred disks in a year",
    "read_await_ms": "time of a read including queueing, ms",
    "reallocated": "sectors replaced by spare ones",
    "reason": "text of the finding; null if ok",
    "recent_per_day": "the pace of the last three days, in the metric's unit a day",
    "reported_uncorrectable": "uncorrectable errors reported to the host (attribute 187)",
    "rise": "growth of the counter over the window",
    "rising_days": "days of the last seven on which the counter grew",
    "role": "broker, zookeeper or controller",
    "rotational": "whether it is a rotating disk",
    "runs": "runs of the day that the host answered",
    "score": "distance from the peers' median, in robust standard deviations",
    "seen_severity": "of the last run of the day that saw the item: 2 ok, 3 warning, 5 critical; null when none did",
    "share": "of the group that has the fault, 0 to 1",
    "share_outside": "of all others that have the fault, 0 to 1",
    "silent_days": "days since the last report",
    "silent_hosts": "hosts that were expected and did not report",
    "size_bytes": "size, bytes",
    "skew_s": "clock against the median of the hosts of the same run, s",
    "skips": "findings that were skipped",
    "slot": "of the enclosure or controller",
    "slow_commands": "commands that took more than 7.5 s (attribute 188 of Seagate)",
    "source": "the report file, relative to the store",
    "spare_percent": "spare blocks that are left, percent",
    "spare_threshold_percent": "spare blocks at which the disk reports failure, percent",
    "spin_retries": "spin-up retries (attribute 10)",
    "status": "ok, warning, critical, unknown or skipped",
    "suspect": "whether the model fails too often, by the limits of the table",
    "uncorrectable": "sectors unreadable in an offline scan",
    "uncorrected": "uncorrected errors since the boot",
    "uncorrected_reads": "uncorrected read errors (SAS)",
    "uncorrected_verifies": "uncorrected verify errors (SAS)",
    "uncorrected_writes": "uncorrected write errors (SAS)",
    "uneven": "whether the range is beyond the limit",
    "units": "hosts, or disks, of the group",
    "unknown_hosts": "hosts whose worst finding is unknown",
    "unknowns": "findings with status unknown",
    "used_bytes": "used space, bytes",
    "used_percent": "used space, percent",
    "value": "today, in the metric's unit",
    "warning_hosts": "hosts whose worst finding is a warning",
    "warnings": "warnings",
    "wear_percent": "share of the rated life that is used up, percent",
    "week_before_rise": "corrected errors in the seven days before these",
    "week_rise": "corrected errors in the last seven days",
    "write_await_ms": "time of a write including queueing, ms",
}

# The tables of what was reported, one row as their SELECT in fleet/ingest/flat_tables.py makes it.
FLAT = {
    "host_days": ("What did each host, and each cluster as a whole (host ''), report on the day?", "cluster host"),
    "states": ("How was each item at the end of the day?", "cluster host check_name item"),
    "problem_days": ("What was a problem in any run of the day?", "cluster host check_name item"),
    "disks": ("What do the disks count?", "cluster host item"),
    "dimms": ("What do the DIMMs count?", "cluster host item"),
    "mounts": ("How full is each mount?", "cluster host item"),
    "latencies": ("How long do the disks take, run by run?", "cluster host item hour"),
}

COUNTS = "BIGINT"
HEALTHS = {f"{name}_hosts": COUNTS for name in ("critical", "unknown", "warning", "ok", "silent")}
OF_GROUP = {"hosts": COUNTS, **HEALTHS, "maintenance_hosts": COUNTS}
FINDINGS = {"criticals": COUNTS, "unknowns": COUNTS, "warnings": COUNTS}


def _text(names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), "VARCHAR")


def _numbers(names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), "DOUBLE")


def _counts(names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), COUNTS)


CHANGE = {**_text("check_name item status"), **_numbers("age_days"), **_text("reason playbook source")}
# The tables of a night: the columns that name a row, and all.
NIGHTLY: dict[str, tuple[str, dict[str, str]]] = {
    "changes": ("cluster host check_name item", {**_text("change cluster host rack"), **CHANGE}),
    "clocks": ("cluster host", {**_text("cluster host"), **_numbers("offset_ms skew_s")}),
    "cluster_changes": ("cluster check_name item", {**_text("change cluster"), **CHANGE}),
    "cluster_health": (
        "cluster",
        {
            **_text("cluster"),
            **OF_GROUP,
            **FINDINGS,
            **_counts("cluster_criticals cluster_unknowns cluster_warnings"),
        },
    ),
    "dimm_trends": (
        "cluster host item",
        {
            **_text("cluster host item"),
            **_numbers("corrected uncorrected rise week_rise week_before_rise"),
            **_counts("rising_days"),
        },
    ),
    "disk_trends": (
        "cluster host item metric",
        {
            **_text("cluster host item disk model firmware slot"),
            "failing": "BOOLEAN",
            **_text("metric"),
            **_numbers("value rise month_per_day recent_per_day per_day limit_value days_left crossing_day"),
            **_numbers("earliest_day latest_day"),
        },
    ),
    "failing_checks": (
        "check_name",
        {**_text("check_name"), **_counts("hosts clusters"), **FINDINGS, **_counts("item_days")},
    ),
    "failure_rates": (
        "model firmware",
        {
            **_text("model firmware"),
            **_counts("disks drive_days failures"),
            **_numbers(
                "rate_percent low_percent high_percent others_percent chance published_percent published_chance"
            ),
            **_numbers("detectable_percent"),
            "suspect": "BOOLEAN",
        },
    ),
    "flapping": (
        "cluster host check_name item",
        {**_text("cluster host check_name item"), **_counts("episodes bad_days last_day")},
    ),
    "health_days": ("day", {"day": COUNTS, **HEALTHS}),
    "host_health": (
        "cluster host",
        {
            **_text("cluster host role layout rack health"),
            **FINDINGS,
            **_counts("oks last_day"),
            **_text("source"),
        },
    ),
    "rack_health": ("cluster rack", {**_text("cluster rack"), **OF_GROUP, **FINDINGS}),
    "shared_fate": (
        "kind name check_name",
        {**_text("kind name check_name"), **_counts("faults units"), **_numbers("share share_outside")},
    ),
    "silent_hosts": (
        "cluster host",
        {**_text("cluster host rack"), **_counts("last_day silent_days"), **_text("reason")},
    ),
    "slow_disks": (
        "cluster host item operation",
        {
            **_text("cluster host item"),
            **_counts("hour"),
            **_text("operation"),
            **_numbers("await_ms median_ms"),
            **_counts("peers"),
            **_numbers("score"),
        },
    ),
    "usage_balance": (
        "level cluster host",
        {
            **_text("level cluster host"),
            **_counts("parts"),
            **_numbers("least_percent most_percent range_points deviation_points"),
            "uneven": "BOOLEAN",
        },
    ),
    "usage_forecast": (
        "cluster host item",
        {
            **_text("cluster host item"),
            **_numbers("used_bytes size_bytes used_percent points_per_day days_left full_day earliest_day latest_day"),
        },
    ),
}
SQL_TYPES = {"STRING": "VARCHAR", "INT": "INTEGER"}


def daily_tables() -> list[Table]:
    return [Table(name, question, tuple(key.split()), _of_ddl(name)) for name, (question, key) in FLAT.items()]


def night_tables() -> list[Table]:
    return [
        Table(name, _told(name)[0], tuple(key.split()), columns, _told(name)[1])
        for name, (key, columns) in sorted(NIGHTLY.items())
    ]


def every() -> list[Table]:
    return [*daily_tables(), *night_tables()]


def _of_ddl(name: str) -> dict[str, str]:
    pairs = (column.split(" ", 1) for column in flat_tables.COLUMNS[name].split(", "))
    return {column: SQL_TYPES.get(kind, kind) for column, kind in pairs}


def _told(name: str) -> tuple[str, str]:
    """The table's docstring: its question (up to the first question mark, on one line), and the rest as it stands."""
    question, mark, rest = (tables.load(name).__doc__ or "").partition("?")
    return " ".join(question.split()) + mark, rest.strip()
