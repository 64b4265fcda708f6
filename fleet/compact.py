"""Each day once from report lines into Parquet, so that neither a crash nor a second run can lose or double a row.

Written into a folder of this run alone, read back and counted, synced; then the day's manifest is replaced in one
step. Readers use only the files that manifests name. Folders that no manifest names are left-overs, swept later.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from fleet import flat, reports, schema
from fleet.files import Files
from fleet.reports import Aside, Sources

HOME = "_fleet"
MANIFESTS = f"{HOME}/manifest"
FLAT = f"{HOME}/flat"
STAGE = "stage"
# What is parsed at once. It also bounds the memory that a backlog takes.
BATCH_BYTES = 1 << 30
NAMED_ASIDE = 200
IN_FLIGHT = 3
VERSION = 3


class Incomplete(Exception):
    """What was written is not what was read back."""


class Manifest(NamedTuple):
    """What is valid for one day: the files of each table, relative to the store, and what they were made of."""

    date: str
    version: str
    sources: int
    files: dict[str, list[str]]
    rows: dict[str, int]
    aside: list[Aside]

    def text(self) -> bytes:
        return json.dumps(self._asdict(), indent=1).encode()


def manifest(files: Files, date: str) -> Manifest | None:
    """The day's manifest, or None when the day was not compacted, or by an older layout."""
    try:
        said = json.loads(files.read(f"{MANIFESTS}/{date}.json"))
        return Manifest(**{**said, "aside": [Aside(*row) for row in said["aside"]]})
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def outdated(files: Files, dates: Iterable[str]) -> list[Sources]:
    """The days whose reports are not, or not all, in a manifest: new days, and those with late reports."""
    found = (reports.sources(files, date) for date in dates)
    return [day for day in found if _version(day) != getattr(manifest(files, day.date), "version", None)]


def _version(day: Sources) -> str:
    return f"{VERSION}-{day.version}"


def compact(spark: Any, files: Files, days: list[Sources], tell: Callable[[str], None]) -> list[Manifest]:
    """Compact these days, as many at once as fit in a batch; gives their manifests, in place already."""
    done: list[Manifest] = []
    for batch in _batches(days):
        done += _Batch(spark, files, batch, tell).compact()
    return done


def _batches(days: list[Sources]) -> list[list[Sources]]:
    batches: list[list[Sources]] = []
    size = 0
    for day in days:
        if not batches or size + day.size > BATCH_BYTES:
            batches.append([])
            size = 0
        batches[-1].append(day)
        size += day.size
    return batches


class _Batch:
    """Some days that are parsed and written together."""

    def __init__(self, spark: Any, files: Files, days: list[Sources], tell: Callable[[str], None]) -> None:
        self._spark = spark
        self._files = files
        self._days = days
        self._tell = tell
        self._run = f"run={uuid.uuid4().hex}"
        self._aside: dict[str, list[Aside]] = {day.date: [] for day in days}

    def compact(self) -> list[Manifest]:
        names = f"{self._days[0].date} to {self._days[-1].date}" if len(self._days) > 1 else self._days[0].date
        self._tell(f"compacting {names}")
        self._stage()
        for row in self._spark.sql(flat.BAD_LINE_COUNTS).collect():
            self._aside[row.date].append(Aside(row.source, row.problem, row.lines))
        if any(aside.lines for asides in self._aside.values() for aside in asides):
            self._spark.sql(flat.BAD_LINES).write.json(self._files.url(f"{FLAT}/bad_lines/{self._run}"))
        with ThreadPoolExecutor(IN_FLIGHT) as several:
            counts = several.map(self._write, flat.TABLES, flat.TABLES.values())
            rows = dict(zip(flat.TABLES, counts, strict=True))
        self._files.delete(f"{FLAT}/{STAGE}/{self._run}")
        self._tell(f"written {names}")
        manifests = [self._manifest(day, rows) for day in self._days]
        for made in manifests:
            self._files.replace(f"{MANIFESTS}/{made.date}.json", made.text())
            self._tell(f"manifest {made.date}")
        return manifests

    def _stage(self) -> None:
        """Parse once; every table then reads only the columns that it needs."""
        self._records(self._whole()).createOrReplaceTempView("records")
        staged = self._files.url(f"{FLAT}/{STAGE}/{self._run}")
        self._spark.sql(flat.LINES).write.parquet(staged)
        self._spark.read.parquet(staged).createOrReplaceTempView("lines")
        self._spark.sql(flat.FINDINGS).createOrReplaceTempView("findings")

    def _whole(self) -> list[str]:
        """The files that can be read to their ends; the others are set aside, by name."""
        whole: list[str] = []
        for day in self._days:
            readable, self._aside[day.date] = reports.readable(self._files, day)
            whole += readable
        return [self._files.url(path) for path in whole]

    def _records(self, urls: list[str]) -> Any:
        columns = schema.record_ddl()
        if not urls:
            return self._spark.sql(flat.empty(f"{columns}, path STRING"))
        from pyspark.sql import functions as F

        reader = self._spark.read.schema(columns).option("columnNameOfCorruptRecord", schema.UNREADABLE)
        records = reader.option("allowNonNumericNumbers", "false").json(urls)
        return records.withColumn("path", F.col("_metadata.file_path"))

    def _write(self, table: str, query: str) -> dict[str, int]:
        """Write one table, one file a day; gives its rows by day. Raises Incomplete."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        seen = Observation()
        folder = f"{FLAT}/{table}/{self._run}"
        frame = self._spark.sql(query).repartition(len(self._days), "date")
        counted = frame.observe(seen, F.count(F.lit(1)).alias("rows"))
        counted.write.partitionBy("date").parquet(self._files.url(folder))
        self._files.settle(folder)
        return self._read_back(table, seen.get["rows"])

    def _read_back(self, table: str, written: int) -> dict[str, int]:
        rows = {day.date: 0 for day in self._days}
        paths = [path for date in rows for path in self._paths(table, date)]
        if paths:
            back = self._spark.read.parquet(*map(self._files.url, paths)).groupBy("day").count()
            rows.update({reports.date_of(row["day"]): row["count"] for row in back.collect()})
        if sum(rows.values()) != written:
            raise Incomplete(f"{table}: {written} rows were written and {sum(rows.values())} read back")
        return rows

    def _paths(self, table: str, date: str) -> list[str]:
        folder = f"{FLAT}/{table}/{self._run}/date={date}"
        return [f"{folder}/{entry.name}" for entry in self._files.list(folder) if entry.name.endswith(".parquet")]

    def _manifest(self, day: Sources, rows: dict[str, dict[str, int]]) -> Manifest:
        return Manifest(
            day.date,
            _version(day),
            len(day.paths),
            {table: self._paths(table, day.date) for table in rows},
            {table: by_date[day.date] for table, by_date in rows.items()},
            sorted(self._aside[day.date])[:NAMED_ASIDE],
        )


def sweep(files: Files, valid: Iterable[Manifest]) -> int:
    """Remove what no manifest names: left-overs of killed and repeated runs. Gives how many folders."""
    named = {path.rpartition("/")[0] for made in valid for paths in made.files.values() for path in paths}
    used = {part for folder in named for part in folder.split("/") if part.startswith("run=")}
    unused = []
    for table in files.list(FLAT):
        for run in files.list(f"{FLAT}/{table.name}"):
            path = f"{FLAT}/{table.name}/{run.name}"
            if run.name not in used:
                unused.append(path)
            elif table.name != "bad_lines":
                days = (f"{path}/{day.name}" for day in files.list(path) if day.is_folder)
                unused += [day for day in days if day not in named]
    for path in unused:
        files.delete(path)
    return len(unused)
