"""How well the check `smart` foretells failures: its own rules and memory, replayed on recorded drive histories.

    bench/smart_histories.py FOLDER

FOLDER holds Parquet files of Backblaze's published drive statistics (date, model, capacity_bytes, failure and
smart_N_raw). Those whose drives have many days (a column `drive`) are replayed day by day, each day's state handed to
the next as between two runs of the agent; of others (`last-day-...`) each row is a drive seen for the first time.
`failure` is 1 on a drive's last day. Foretold is a drive that was warned of before that day (of last days: on it);
false is a drive that did not fail and was warned of on any day. Nothing is tuned here; drives are also split in two by
their number, to show the scatter.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import statistics
import sys
import types
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import duckdb

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from agent.checks import smart
from agent.sources import smart_history
from agent.sources.smart_attributes import Attribute, with_attributes
from agent.sources.smart_report import Facts
from agent.state import DAY_S, State

NAMES = {
    5: "Reallocated_Sector_Ct",
    10: "Spin_Retry_Count",
    184: "End-to-End_Error",
    187: "Reported_Uncorrect",
    188: "Command_Timeout",
    197: "Current_Pending_Sector",
    198: "Offline_Uncorrectable",
}
WORTH_DAYS = 30


class Life(NamedTuple):
    """One drive. days: from its first to its last; warned, critical: the first day of each, None if never."""

    drive: int
    failed: bool
    days: int
    warned: Optional[int]
    critical: Optional[int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    files = sorted(folder.glob("*.parquet"))
    if not files:
        parser.error(f"{folder} holds no Parquet files")
    print("| drives | failed | foretold % | false % | critical: foretold % | false % | lead, days |")
    print("|---|---|---|---|---|---|---|")
    for path in files:
        lives = list(replayed(path))
        table(path.stem, lives)
        for half in (0, 1):
            table(f"{path.stem}, half {half + 1}", [life for life in lives if life.drive % 2 == half])
        if any(life.days for life in lives):
            worth(lives)


def table(name: str, lives: Sequence[Life]) -> None:
    failed, well = [life for life in lives if life.failed], [life for life in lives if not life.failed]
    leads = [life.days - life.warned for life in failed if foretold(life, life.warned) and life.warned is not None]
    shares = [
        share(sum(foretold(life, day) for life, day in days(failed, level)), len(failed))
        + " | "
        + share(sum(day is not None for _, day in days(well, level)), len(well))
        for level in ("warned", "critical")
    ]
    lead = f"{statistics.median(leads):g}" if leads and max(leads) else ""
    print(f"| {name}: {len(lives)} | {len(failed)} | {shares[0]} | {shares[1]} | {lead} |")


def days(lives: Sequence[Life], level: str) -> List[Tuple[Life, Optional[int]]]:
    return [(life, getattr(life, level)) for life in lives]


def foretold(life: Life, day: Optional[int]) -> bool:
    """Before the day of the failure; where only that day is recorded, on it."""
    return day is not None and (day < life.days or not life.days)


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}" if whole else "-"


def worth(lives: Sequence[Life]) -> None:
    """Of the drives that were warned of, those that failed within 30 days: what `smoke explain smart` says."""
    for level in ("warned", "critical"):
        first = [(life, day) for life, day in days(lives, level) if day is not None]
        came_true = sum(life.failed and 0 < life.days - day <= WORTH_DAYS for life, day in first)
        print(f"\nOf {len(first)} drives that were {level}, {came_true} failed within {WORTH_DAYS} days:", end=" ")
        print(f"{100 * came_true / max(len(first), 1):.0f} of 100\n")


def replayed(path: pathlib.Path) -> Iterator[Life]:
    """The drives of one file, each through all its days."""
    connection = duckdb.connect()
    duckdb.read_parquet(str(path), connection=connection).create_view("t")
    columns = [name for name, *_ in connection.execute("DESCRIBE t").fetchall()]
    numbers = [number for number in NAMES if f"smart_{number}_raw" in columns]
    counts = ", ".join(f"try_cast(try_cast(smart_{number}_raw AS DOUBLE) AS BIGINT)" for number in numbers)
    drive = "drive" if "drive" in columns else "row_number() OVER ()"
    rows = connection.execute(
        f"SELECT {drive} AS drive, date::DATE AS day, model, try_cast(capacity_bytes AS BIGINT), "
        f"try_cast(failure AS INTEGER), {counts} FROM t ORDER BY drive, day",
    )
    mine: List[Any] = []
    while batch := rows.fetchmany(50_000):
        for row in batch:
            if mine and mine[-1][0] != row[0]:
                yield life_of(mine, numbers)
                mine = []
            mine.append(row)
    if mine:
        yield life_of(mine, numbers)


def life_of(rows: Sequence[Any], numbers: Sequence[int]) -> Life:
    first, state = rows[0][1], ""
    seen: Dict[str, int] = {}
    for row in rows:
        day = (row[1] - first).days
        status, state = judged(row, numbers, state)
        if status in ("warning", "critical"):
            seen.setdefault("warned", day)
        if status == "critical":
            seen.setdefault("critical", day)
    return Life(rows[0][0], rows[-1][4] == 1, (rows[-1][1] - first).days, seen.get("warned"), seen.get("critical"))


def judged(row: Any, numbers: Sequence[int], before: str) -> Tuple[str, str]:
    """The status of one drive on one day, and the agent's state after it."""
    at = datetime.datetime.combine(row[1], datetime.time(), datetime.timezone.utc).timestamp()
    state = State("boot", at + DAY_S / 2, before)
    given = Facts(path="/dev/sdb", kind="ata", model=row[2], serial=str(row[0]), passed=True, size_bytes=row[3])
    table = [
        Attribute(number, NAMES[number], 100, 0, "", False, str(count))
        for number, count in zip(numbers, row[5:])
        if count is not None
    ]
    host: Any = types.SimpleNamespace(state=state, now=lambda: at)
    facts = smart_history.with_growth(host, with_attributes(given, table))
    return smart.judge(facts, smart.LIMITS).status, state.dump()


if __name__ == "__main__":
    main()
