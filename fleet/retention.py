"""What is older than a site wants to keep: reports, compacted days, tables, summaries."""

from __future__ import annotations

from fleet import compact, reports
from fleet.compact import HOME
from fleet.files import Files

# Folders of `date=…` and files named after a date. The manifests go first: what none names is no longer read.
BY_FILE = (compact.MANIFESTS, f"{HOME}/night", f"{HOME}/mail")
BY_FOLDER = (f"{HOME}/tables", f"{HOME}/summary", "")


def apply(files: Files, date: str, keep_days: int) -> list[str]:
    """Delete what belongs to days before the last `keep_days` ones up to `date`; gives the days deleted.

    Only names that are a date are touched, and links are not followed.
    """
    oldest = reports.number_of(date) - keep_days + 1
    gone: set[str] = set()
    for folder in BY_FILE:
        for entry in files.list(folder):
            gone |= _delete(files, folder, entry.name, entry.name.removesuffix(".json"), oldest)
    for folder in BY_FOLDER:
        for entry in files.list(folder):
            if entry.is_folder and entry.name.startswith("date="):
                gone |= _delete(files, folder, entry.name, entry.name.removeprefix("date="), oldest)
    if gone:
        left = (compact.manifest(files, entry.name.removesuffix(".json")) for entry in files.list(compact.MANIFESTS))
        compact.sweep(files, [made for made in left if made])
    return sorted(gone)


def _delete(files: Files, folder: str, name: str, date: str, oldest: int) -> set[str]:
    try:
        if reports.number_of(date) >= oldest:
            return set()
    except ValueError:
        return set()
    files.delete(f"{folder}/{name}" if folder else name)
    return {date}
