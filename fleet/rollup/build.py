"""The roll-up of disks, mounts and DIMMs, night after night: last night's, and the days since, make tonight's.

A night thus reads one day of them, however long the history is. Each roll-up has a record of the days that it holds
and of its files. It is used only where those days are still what they were and its files are whole; else an earlier one
is, or all is rebuilt from the days' Parquet. A day that was compacted again, or came late, is thus healed together
with all that follows. Written aside, counted, and valid by the rename of its record, as the days are.

A day older than the window whose Parquet is damaged is left out and marked so in the record. Each night says so, and
the roll-up is rebuilt as soon as the Parquet is whole again or another one.
"""

from __future__ import annotations

import json
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from fleet.archive import manifests
from fleet.archive.compact import Incomplete
from fleet.archive.manifests import HOME, Manifest, Part
from fleet.ingest import flat_tables
from fleet.rollup import columns, dimms, mounts
from fleet.store import reports
from fleet.store.files import Files
from fleet.store.reports import Aside

RECORDS = f"{HOME}/rollup"
PARTS = f"{HOME}/rollup_parts"
# The flat tables of which a night reads the days since the last roll-up; what it keeps of them, besides disks.
ROLLED = ("disks", "mounts", "dimms")
# A late report makes the roll-ups of its day and of those after it void: the one before must be there still.
KEEP_DAYS = 40
# What is sorted at once, for a store without a roll-up.
AT_ONCE = 31
STEP_DAYS = 30
# Before the mark of a day whose Parquet was damaged when it was to be read: nothing of it is in the roll-up.
LEFT_OUT = "left out "


class Steps(NamedTuple):
    """A file of `disk_steps`, and the last day that it has."""

    last: int
    part: Part


class Record(NamedTuple):
    """What one roll-up holds. days: date -> what the day's Parquet was when it was read, or LEFT_OUT and that."""

    date: str
    layout: int
    days: dict[str, str]
    lives: list[Part]
    steps: list[Steps]
    mounts: list[Part]
    dimms: list[Part]

    @property
    def day(self) -> int:
        return reports.number_of(self.date)

    @property
    def files(self) -> list[Part]:
        return [*self.lives, *(one.part for one in self.steps), *self.mounts, *self.dimms]

    @property
    def left_out(self) -> list[str]:
        return sorted(day for day, mark in self.days.items() if mark.startswith(LEFT_OUT))

    def text(self) -> bytes:
        return json.dumps(self._asdict(), indent=1).encode()


def read(files: Files, date: str) -> Record | None:
    """None where there is none, or a damaged one, or one of another layout."""
    try:
        said = json.loads(files.read(f"{RECORDS}/{date}.json"))
        lives, on_mounts, on_dimms = (
            [Part(*map(str, part)) for part in said[name]] for name in ("lives", "mounts", "dimms")
        )
        steps = [Steps(int(last), Part(*map(str, part))) for last, part in said["steps"]]
        days = {str(day): str(what) for day, what in said["days"].items()}
        found = Record(str(said["date"]), int(said["layout"]), days, lives, steps, on_mounts, on_dimms)
    except (FileNotFoundError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return found if (found.date, found.layout) == (date, columns.LAYOUT) else None


def fingerprint(made: Manifest) -> str:
    """Of a day: another one whenever it is compacted again."""
    return f"{zlib.crc32(repr(made.files['disks']).encode()):08x}"


def history(files: Files, valid: Sequence[Manifest], date: str) -> dict[str, Manifest]:
    """The days that a roll-up of this night is about: those of the window as they are valid, and the older ones."""
    night = reports.number_of(date)
    first = min((reports.number_of(made.date) for made in valid), default=night)
    found = {made.date: made for made in valid}
    for day in manifests.dates(files):
        if night - columns.YEAR_DAYS < reports.number_of(day) < first:
            made = manifests.manifest(files, day)
            if made:
                found[day] = made
    return dict(sorted(found.items()))


def usable(files: Files, date: str, known: dict[str, Manifest]) -> Record | None:
    """The newest roll-up that holds these days as they are, up to its own one, and no other. A day that fell out at the
    old end may still be in it: its bits are not asked for."""
    oldest = min(known, default=date)
    for day in sorted(_dates(files), reverse=True):
        record = read(files, day) if day <= date else None
        if not record:
            continue
        held = {one: mark for one, mark in record.days.items() if one >= oldest}
        same_days = bool(held) and set(held) == {one for one in known if one <= day}
        same = same_days and all(_is_still(files, known[one], mark) for one, mark in held.items())
        if same and _is_whole(files, record):
            return record
    return None


def _is_still(files: Files, made: Manifest, mark: str) -> bool:
    """Whether the day's Parquet is what the record says of it: what was read, or damaged as it was then."""
    if mark == LEFT_OUT + fingerprint(made):
        return not _is_readable(files, made)
    return mark == fingerprint(made)


def _is_readable(files: Files, made: Manifest) -> bool:
    """Of what is read here, all files are whole."""
    return not manifests.damage(files, made._replace(files={table: made.files[table] for table in ROLLED}))


def _dates(files: Files) -> list[str]:
    names = (entry.name.removesuffix(".json") for entry in files.list(RECORDS) if entry.name.endswith(".json"))
    return [name for name in names if reports.is_date(name)]


def _is_whole(files: Files, record: Record) -> bool:
    try:
        return all(files.stamp(part.path) == part.stamp for part in record.files)
    except OSError:
        return False


def bring_up(
    spark: Any, files: Files, valid: Sequence[Manifest], date: str, tell: Callable[[str], None]
) -> list[Aside]:
    """Make what is missing up to this night, and its views: `disk_lives`, `disk_steps`, `mount_days`, `dimm_days`.
    Gives the days left out."""
    known = history(files, valid, date)
    record = usable(files, date, known)
    fresh = [made for day, made in known.items() if not record or day > record.date]
    for start in range(0, len(fresh), AT_ONCE):
        several = fresh[start : start + AT_ONCE]
        record = _Fold(spark, files, record, several).done({made.date for made in valid})
        tell(f"roll-up {record.date}")
    _views(spark, files, record, known, date)
    sweep(files, date)
    return [_aside(known[day]) for day in (record.left_out if record else []) if day in known]


def _aside(made: Manifest) -> Aside:
    path = next(iter(made.paths("disks")), f"date={made.date}")
    return Aside(path, f"the Parquet of {made.date} is damaged; its disks, mounts and DIMMs are not counted")


class _Fold:
    """One roll-up and some days -> the roll-up of the last of them."""

    def __init__(self, spark: Any, files: Files, before: Record | None, days: list[Manifest]) -> None:
        self._spark = spark
        self._files = files
        self._before = before
        self._days = days
        self._date = days[-1].date
        self._folder = f"{PARTS}/run={uuid.uuid4().hex}"

    def done(self, checked: Iterable[str]) -> Record:
        """Written, counted, and in its place. checked: days whose files were seen to be whole in this night."""
        checked = set(checked)
        whole = [made for made in self._days if made.date in checked or _is_readable(self._files, made)]
        wanted = sum(self._write(table, frame) for table, frame in self._frames(whole))
        self._files.settle(self._folder)
        written = [path for table in ROLLED for path in self._paths(f"{self._folder}/{table}")]
        found = sum(_rows(self._spark, self._files.url(path)) for path in written)
        if found != wanted:
            raise Incomplete(f"roll-up: {wanted} rows were written and {found} read back")
        record = self._record(written, {made.date for made in whole})
        self._files.replace(f"{RECORDS}/{self._date}.json", record.text())
        return record

    def _frames(self, whole: list[Manifest]) -> Iterator[tuple[str, Any]]:
        for table in ROLLED:
            fresh = [path for made in whole for path in made.paths(table)]
            _read(self._spark, self._files, fresh, flat_tables.COLUMNS[table]).createOrReplaceTempView(f"fresh_{table}")
            known = [part.path for part in held(self._before, table)]
            _read(self._spark, self._files, known, COLUMNS[table]).createOrReplaceTempView(f"known_{table}")
        night = reports.number_of(self._date)
        for table, query in folds(self._before.day if self._before else night, night).items():
            yield table, self._spark.sql(query)

    def _write(self, table: str, frame: Any) -> int:
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        seen = Observation()
        counted = frame.observe(seen, F.count(F.lit(1)).alias("rows"))
        if table == "disks":
            counted.write.partitionBy("is_last", "stepped").parquet(self._files.url(f"{self._folder}/{table}"))
        else:
            counted.coalesce(1).write.parquet(self._files.url(f"{self._folder}/{table}"))
        return int(seen.get["rows"])

    def _paths(self, folder: str) -> list[str]:
        """The files of a folder, and of those below it (is_last=…/stepped=…)."""
        found = []
        for entry in self._files.list(folder):
            path = f"{folder}/{entry.name}"
            found += self._paths(path) if entry.is_folder else [path] if entry.name.endswith(".parquet") else []
        return found

    def _record(self, written: list[str], whole: set[str]) -> Record:
        night = reports.number_of(self._date)
        parts = [Part(path, self._files.stamp(path)) for path in written]
        before = self._before or Record(self._date, columns.LAYOUT, {}, [], [], [], [])
        marks = {made.date: fingerprint(made) for made in self._days}
        old = [one for one in before.steps if one.last > night - STEP_DAYS]
        return Record(
            self._date,
            columns.LAYOUT,
            {**before.days, **{day: mark if day in whole else LEFT_OUT + mark for day, mark in marks.items()}},
            [part for part in parts if "/is_last=true/" in part.path],
            [*old, *(Steps(night, part) for part in parts if "/stepped=true/" in part.path)],
            [part for part in parts if part.path.startswith(f"{self._folder}/mounts/")],
            [part for part in parts if part.path.startswith(f"{self._folder}/dimms/")],
        )


COLUMNS = {"disks": columns.COLUMNS, "mounts": mounts.COLUMNS, "dimms": dimms.COLUMNS}


def held(record: Record | None, table: str) -> list[Part]:
    """The files of a roll-up that have one row a disk, mount or DIMM."""
    return {"disks": record.lives, "mounts": record.mounts, "dimms": record.dimms}[table] if record else []


def folds(before: int, night: int) -> dict[str, str]:
    """For each table, the SELECT over `known_…` (up to the day `before`) and `fresh_…` that makes its roll-up."""
    return {
        "disks": columns.fold(before, night),
        "mounts": mounts.fold(before, night),
        "dimms": dimms.fold(before, night),
    }


def _rows(spark: Any, url: str) -> int:
    """Of one Parquet file, by its footer."""
    jvm = spark.sparkContext._jvm
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    path = jvm.org.apache.hadoop.fs.Path(url)
    source = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, settings)
    reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(source)
    try:
        return int(reader.getRecordCount())
    finally:
        reader.close()


def _read(spark: Any, files: Files, paths: Sequence[str], ddl: str) -> Any:
    if not paths:
        return spark.sql(flat_tables.empty(ddl))
    return spark.read.schema(ddl).parquet(*map(files.url, paths))


def _views(spark: Any, files: Files, record: Record | None, known: dict[str, Manifest], date: str) -> None:
    night = reports.number_of(date)
    steps = [one.part.path for one in record.steps] if record else []
    _read(spark, files, steps, columns.COLUMNS).createOrReplaceTempView("rolled_steps")
    for table, view in VIEWS.items():
        paths = [part.path for part in held(record, table)]
        _read(spark, files, paths, COLUMNS[table]).createOrReplaceTempView(view)
    for name, query in queries(record.day if record else night, oldest(known, night), night).items():
        spark.sql(query).createOrReplaceTempView(name)


def oldest(known: Iterable[str], night: int) -> int:
    """The first day that counts: bits of days that are not kept any more do not."""
    return max(night - columns.YEAR_DAYS + 1, min(map(reports.number_of, known), default=night))


VIEWS = {"disks": "rolled_lives", "mounts": "rolled_mounts", "dimms": "rolled_dimms"}


def queries(made: int, first: int, night: int) -> dict[str, str]:
    """The views of a night over those of VIEWS and `rolled_steps`, which hold the days up to `made`."""
    return {
        "disk_lives": columns.lives(first, made, night),
        "disk_steps": columns.steps(max(first, night - STEP_DAYS + 1), night),
        "mount_days": mounts.latest(made, night),
        "dimm_days": dimms.latest(made, night),
    }


def sweep(files: Files, date: str) -> None:
    """Remove the records that nobody will ask for, damaged ones too, and the files that none names."""
    oldest_kept = reports.date_of(reports.number_of(date) - KEEP_DAYS)
    kept = []
    for day in _dates(files):
        record = read(files, day)
        if record and day > oldest_kept:
            kept.append(record)
        else:
            files.delete(f"{RECORDS}/{day}.json")
    named = {part.path.split("/run=")[1].split("/")[0] for record in kept for part in record.files}
    for run in files.list(PARTS):
        if run.name.removeprefix("run=") not in named:
            files.delete(f"{PARTS}/{run.name}")
