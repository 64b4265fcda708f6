"""How well the check `smart` foretells failures: its own rules and memory, replayed on recorded drive histories.

    bench/smart_histories.py FOLDER

FOLDER holds Parquet files of Backblaze's published drive statistics (date, model, capacity_bytes, failure and
smart_N_raw). Those whose drives have many days (a column `drive`) are replayed day by day, each day's state handed to
the next as between two runs of the agent; of others (`last-day-...`) each row is a drive seen for the first time.
`failure` is 1 on a drive's last day. Foretold is a drive that was warned of before that day (of last days: on it);
false is a drive that did not fail and was warned of on any day. Nothing is tuned here. The scatter is that of five
parts of the drives, split by a hash of their number: mean and standard deviation. The daily drives tell what a warning
is worth, which agent/sources/smart/prediction.py holds in MEASURED and `smoke explain smart` says; a difference is
printed.
"""

from __future__ import annotations

import argparse
import datetime
import math
import pathlib
import statistics
import sys
import types
import zlib
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import duckdb

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from agent.checks.disks import smart
from agent.sources.smart import history as smart_history
from agent.sources.smart import prediction as smart_prediction
from agent.sources.smart.attributes import Attribute, with_attributes
from agent.sources.smart.report import Facts
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
PARTS = 5


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
    print("| drives | failed | foretold % | of five parts | false % | of five parts | critical: foretold % | false % |")
    print("|---|---|---|---|---|---|---|---|")
    daily: List[Life] = []
    for path in files:
        lives = list(replayed(path))
        table(path.stem, lives)
        daily += lives if any(life.days for life in lives) else []
    if daily:
        worth(daily)


def table(name: str, lives: Sequence[Life]) -> None:
    parts = [[life for life in lives if zlib.crc32(str(life.drive).encode()) % PARTS == part] for part in range(PARTS)]
    warned, critical = rates(lives, "warned"), rates(lives, "critical")
    of_parts = [scatter([rates(part, "warned")[which] for part in parts]) for which in (0, 1)]
    cells = [
        f"{warned[0]:.1f}",
        of_parts[0],
        f"{warned[1]:.2f}",
        of_parts[1],
        f"{critical[0]:.1f}",
        f"{critical[1]:.2f}",
    ]
    print(f"| {name}: {len(lives)} | {sum(life.failed for life in lives)} | {' | '.join(cells)} |")


def rates(lives: Sequence[Life], level: str) -> Tuple[float, float]:
    """Of the drives that failed, those foretold, and of the others, those warned of; in percent, nan of none."""
    failed, well = [life for life in lives if life.failed], [life for life in lives if not life.failed]
    return (
        share(sum(foretold(life, day) for life, day in days(failed, level)), len(failed)),
        share(sum(day is not None for _, day in days(well, level)), len(well)),
    )


def scatter(values: Sequence[float]) -> str:
    return f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"


def days(lives: Sequence[Life], level: str) -> List[Tuple[Life, Optional[int]]]:
    return [(life, getattr(life, level)) for life in lives]


def foretold(life: Life, day: Optional[int]) -> bool:
    """Before the day of the failure; where only that day is recorded, on it."""
    return day is not None and (day < life.days or not life.days)


def share(part: int, whole: int) -> float:
    return 100 * part / whole if whole else math.nan


def worth(lives: Sequence[Life]) -> None:
    """What `smoke explain smart` says, as it is on these drives."""
    true, warned = true_of(lives, "warned")
    critical_true, critical = true_of(lives, "critical")
    found = [life for life in lives if life.failed and foretold(life, life.warned)]
    leads = [life.days - (life.warned or 0) for life in found]
    told, false = rates(lives, "warned")
    measured = smart_prediction.Worth(
        round(share(true, warned)),
        round(share(critical_true, critical)),
        round(false),
        round(told),
        round(statistics.median(leads)),
    )
    print(f"\n{true} of {warned} drives warned of and {critical_true} of {critical} called critical failed in 30 days.")
    print(measured)
    if measured != smart_prediction.MEASURED:
        print(f"Not what `smoke explain smart` says: {smart_prediction.WORTH}")


def true_of(lives: Sequence[Life], level: str) -> Tuple[int, int]:
    """Of the drives that were warned of, those that failed within 30 days of the first warning; and all of them."""
    first = [(life, day) for life, day in days(lives, level) if day is not None]
    return sum(life.failed and 0 < life.days - day <= WORTH_DAYS for life, day in first), len(first)


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
