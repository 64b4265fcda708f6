"""Each day once from report lines into Parquet, so that neither a crash nor a second run can lose or double a row.

Written into a folder of this run alone, read back and counted, synced; then the day's manifest is replaced in one
step. Readers use only the files that manifests name. Folders that no manifest names are left-overs, swept later.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fleet.archive import manifests
from fleet.archive.manifests import FLAT, Manifest, Part
from fleet.ingest import flat_tables, schema
from fleet.store import reports
from fleet.store.files import Files
from fleet.store.reports import Aside, Sources

STAGE = "stage"
# What is parsed at once. It also bounds the memory that a backlog takes.
BATCH_BYTES = 1 << 30
NAMED_ASIDE = 200
IN_FLIGHT = 3


class Incomplete(Exception):
    """What was written is not what was read back."""


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
        self._unread: dict[str, str] = {}

    def compact(self) -> list[Manifest]:
        names = f"{self._days[0].date} to {self._days[-1].date}" if len(self._days) > 1 else self._days[0].date
        self._tell(f"compacting {names}")
        self._stage()
        for row in self._spark.sql(flat_tables.BAD_LINE_COUNTS).collect():
            self._aside[row.date].append(Aside(row.source, row.problem, row.lines))
        if any(aside.lines for asides in self._aside.values() for aside in asides):
            self._spark.sql(flat_tables.BAD_LINES).write.json(self._files.url(f"{FLAT}/bad_lines/{self._run}"))
        with ThreadPoolExecutor(IN_FLIGHT) as several:
            counts = several.map(self._write, flat_tables.TABLES, flat_tables.TABLES.values())
            rows = dict(zip(flat_tables.TABLES, counts, strict=True))
        self._files.delete(f"{FLAT}/{STAGE}/{self._run}")
        self._tell(f"written {names}")
        done = [self._manifest(day, rows) for day in self._days]
        for made in done:
            manifests.keep(self._files, made)
            self._tell(f"manifest {made.date}")
        return done

    def _stage(self) -> None:
        """Parse once; every table then reads only the columns that it needs."""
        self._records(self._whole()).createOrReplaceTempView("records")
        staged = self._files.url(f"{FLAT}/{STAGE}/{self._run}")
        self._spark.sql(flat_tables.LINES).write.parquet(staged)
        self._spark.read.parquet(staged).createOrReplaceTempView("lines")
        self._spark.sql(flat_tables.FINDINGS).createOrReplaceTempView("findings")
        self._spark.sql(flat_tables.ASKS).createOrReplaceTempView("asks")

    def _whole(self) -> list[str]:
        """The files that can be read to their ends; the others are set aside, by name."""
        whole: list[str] = []
        for day in self._days:
            readable, self._aside[day.date] = reports.readable(self._files, day)
            self._unread.update({aside.source: aside.problem for aside in self._aside[day.date]})
            whole += readable
        return [self._files.url(path) for path in whole]

    def _records(self, urls: list[str]) -> Any:
        columns = schema.record_ddl()
        if not urls:
            return self._spark.sql(flat_tables.empty(f"{columns}, path STRING"))
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
            manifests.LAYOUT,
            {path: signature for path, signature in day.signatures.items() if path not in self._unread},
            {path: self._unread[path] for path in day.paths if path in self._unread},
            {table: self._parts(table, day.date) for table in rows},
            {table: by_date[day.date] for table, by_date in rows.items()},
            sorted(self._aside[day.date])[:NAMED_ASIDE],
        )

    def _parts(self, table: str, date: str) -> list[Part]:
        return [Part(path, self._files.stamp(path)) for path in self._paths(table, date)]
