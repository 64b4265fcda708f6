"""What one run hands to the next: counters, log positions, incidents, and since when a finding stands."""

from __future__ import annotations

import json
import os
import threading
from typing import Any, Dict, List, Mapping, Optional

from agent import state_rows
from agent.named_tuples import NamedTuple

SCHEMA = 1
INCIDENT_DAYS = 7
INCIDENTS_PER_ITEM = 200
HISTORY_DAYS = 31
HISTORY_STEP_S = 12 * 3600
HISTORY_ROWS = 64
DAY_S = 86400
# The note of when this memory was last mended.
HEALED = "state.healed_at"
# Notes whose shape their readers check.
CHECKED = ("kafka.known_servers", "kafka.newcomers", "guess.mounts", "data_mounts")


def default_state_path() -> str:
    """Root keeps its memory in /var/lib; anyone else in their own state folder."""
    if os.geteuid() == 0:
        return "/var/lib/fleet-smoke/state.json"
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(home, "fleet-smoke", "state.json")


class Incident(NamedTuple):
    """Something that happened at one moment: a kernel line, or a counter that grew by `times`."""

    kind: str
    at: float
    times: int = 1
    text: str = ""


class Delta(NamedTuple):
    """How far a counter moved since the run before, and how long ago that was."""

    change: int
    seconds: float


class Stretch(NamedTuple):
    """A slow number that runs saw unchanged from one moment to another (seconds since the epoch)."""

    since: float
    until: float
    value: int


class State:
    """One machine's memory between runs. All methods may be called from several threads.

    Counters and incidents belong to one boot: after a reboot they start anew. History (for growth over
    days) and `first_seen` outlive a reboot.
    """

    def __init__(self, boot_id: str, now: float, text: str = "") -> None:
        """`text` is what `dump` gave in an earlier run; empty on the first. Raises ValueError if it is damaged."""
        self._lock = threading.Lock()
        self._boot_id = boot_id
        self._now = now
        self._judged: Dict[str, List[str]] = {}
        self.given = text
        self._before = _checked(state_rows.parsed(text)) if text else _empty()
        self._distrusted = False
        self._after = json.loads(json.dumps(self._before))
        self._after.update(boot_id=boot_id, at=now)
        if not self.same_boot:
            self._after.update(counters={}, cursors={}, incidents={}, stuck={})
        for rows in (rows for items in self._after["incidents"].values() for rows in items.values()):
            for row in rows:
                row[1] = min(row[1], now)  # the clock was set back since: else it would be news until then

    @property
    def now(self) -> float:
        """When this run began."""
        return self._now

    @property
    def previous_at(self) -> Optional[float]:
        """When the last run was, or None on the first."""
        return self._before["at"] or None

    @property
    def same_boot(self) -> bool:
        return bool(self._before["boot_id"] == self._boot_id)

    def delta(self, key: str, value: int) -> Optional[Delta]:
        """Growth of a counter since the last run of this boot, and remember it.

        None on the first sight. A counter that fell was reset: it then counts from zero, unless the next run sees it
        where it was: then it was misread.
        """
        before = self._before["counters"].get(key) if self.same_boot else None
        fallen_from = [before[1]] if before is not None and value < before[1] else []
        with self._lock:
            self._after["counters"][key] = [self._now, value, *fallen_from]
        if before is None:
            return None
        at, old = before[:2]
        if len(before) == 3 and value >= before[2] > old:
            old = before[2]
        return Delta(value - old if value >= old else value, max(self._now - at, 0.0))

    def history(self, key: str, value: int) -> List[Stretch]:
        """Remember a slow number, and give its earlier values, oldest first, 31 days back.

        A value that stands still costs one row, however many runs saw it. Of one that changes with every run a value
        is kept each 12 hours, and at most 64 in all.
        """
        earlier = self._stretches(key)
        kept = list(earlier)
        if kept and kept[-1].value == value:
            kept[-1] = kept[-1]._replace(until=self._now)
        else:
            if len(kept) > 1 and kept[-1].since - kept[-2].since < HISTORY_STEP_S:
                kept.pop()
            kept.append(Stretch(self._now, self._now, value))
        with self._lock:
            self._after["history"][key] = [
                [int(since), int(until), number] for since, until, number in kept[-HISTORY_ROWS:]
            ]
        return earlier

    def _stretches(self, key: str) -> List[Stretch]:
        """What is remembered under this key. A row of an older agent is (time, value); a damaged one is left out."""
        rows = self._before["history"].get(key)
        found = [_stretch(row) for row in rows] if isinstance(rows, list) else []
        oldest = self._now - HISTORY_DAYS * DAY_S
        return [row for row in found if row and row.since <= row.until and oldest <= row.until <= self._now]

    def _is_fresh(self, key: str) -> bool:
        """Whether a run of the last 31 days saw this number; that of a disk which was replaced is forgotten then."""
        rows = self._after["history"][key]
        newest = _stretch(rows[-1]) if isinstance(rows, list) and rows else None
        return newest is not None and self._now - newest.until < HISTORY_DAYS * DAY_S

    def growth(self, key: str, value: int, days: float) -> Optional[int]:
        """How far a slow number grew over the last `days`, from what earlier runs saw; None on the first sight."""
        return self.growths(key, value, days)[0]

    def growths(self, key: str, value: int, *days: float) -> List[Optional[int]]:
        """The same over several spans of time, of a number that is remembered once.

        A number that one run saw fall, and that is again what it was or more, was misread by that run.
        """
        earlier = _as_read(self.history(key, value), value)
        seen = [[row.value for row in earlier if row.until >= self._now - span * DAY_S] for span in days]
        return [value - min(values) if values else None for values in seen]

    def known_days(self, key: str) -> float:
        """For how long earlier runs have known this slow number; 0 on the first sight."""
        return max((self._now - row.since for row in self._stretches(key)), default=0.0) / DAY_S

    def cursor(self, key: str) -> Any:
        """Where the last run of this boot stopped reading, or None."""
        return self._before["cursors"].get(key) if self.same_boot else None

    def set_cursor(self, key: str, position: Any) -> None:
        with self._lock:
            self._after["cursors"][key] = position

    def remembered(self, key: str) -> Any:
        """What an earlier run noted under this key, through reboots; None if nothing."""
        return self._before["notes"].get(key)

    def remember(self, key: str, value: Any) -> None:
        """Note a JSON value for the next runs; None forgets it."""
        with self._lock:
            if value is None:
                self._after["notes"].pop(key, None)
            else:
                self._after["notes"][key] = value

    def add_incidents(self, subject: str, item: str, incidents: List[Incident]) -> None:
        """Note what is new, for 7 days or until a reboot. The caller says each thing once (cursor, delta)."""
        with self._lock:
            kept = self._after["incidents"].setdefault(subject, {}).setdefault(item, [])
            kept.extend(list(incident) for incident in incidents)
            oldest = self._now - INCIDENT_DAYS * DAY_S
            recent = sorted((row for row in kept if row[1] >= oldest), key=lambda row: float(row[1]))
            kept[:] = _newest_of_each_kind(recent)

    def incidents(self, subject: str, item: str) -> List[Incident]:
        """All that is remembered of this boot, new ones included, oldest first."""
        with self._lock:
            rows = self._after["incidents"].get(subject, {}).get(item, [])
            return [Incident(*row) for row in rows if row[1] >= self._now - INCIDENT_DAYS * DAY_S]

    def incident_items(self, subject: str) -> List[str]:
        """The items of which incidents are remembered."""
        with self._lock:
            return [item for item, rows in self._after["incidents"].get(subject, {}).items() if rows]

    def first_seen(self, check: str, item: str, in_trouble: bool) -> float:
        """Since when this item is in trouble (or well); a change from one to the other starts anew."""
        key = f"{check}\t{item}"
        before = self._before["findings"].get(key)
        since = float(before[1]) if before and bool(before[0]) == in_trouble else self._now
        with self._lock:
            self._after["findings"][key] = [in_trouble, since]
            self._judged.setdefault(check, []).append(key)
        return since

    def stuck_before(self, check: str, item: str) -> Optional[float]:
        """Since when this item does not answer, if it was stuck in the last run of this boot."""
        since = self._before["stuck"].get(f"{check}\t{item}") if self.same_boot else None
        return None if since is None else float(since)

    def set_stuck(self, check: str, item: str, stuck: bool) -> float:
        """Note whether the item answered; gives since when it is stuck."""
        key = f"{check}\t{item}"
        since = self._before["stuck"].get(key, self._now) if self.same_boot else self._now
        with self._lock:
            if stuck:
                self._after["stuck"][key] = since
            else:
                self._after["stuck"].pop(key, None)
        return float(since)

    def distrust(self) -> None:
        """A check failed in a way that nobody foresaw. What it was told by this memory may be why."""
        self._distrusted = True

    def _heal(self) -> None:
        """Forget notes and positions, once a day at most: no content of the file may make a check fail for ever, and no
        failing check may cost the memory in every run. What this machine is stays known.
        """
        before = self._before["notes"].get(HEALED)
        if not self._distrusted or (state_rows.is_time(before) and 0 <= self._now - before < DAY_S):
            return
        notes = self._after["notes"]
        self._after["notes"] = {key: notes[key] for key in notes if key.startswith(CHECKED)}
        self._after["notes"][HEALED] = self._now
        self._after["cursors"] = {}

    def dump(self) -> str:
        """The text to give to the next run. Items that a check no longer finds are forgotten."""
        with self._lock:
            self._heal()
            for key in list(self._after["findings"]):
                check = key.partition("\t")[0]
                if check in self._judged and key not in self._judged[check]:
                    del self._after["findings"][key]
            for key in [key for key in self._after["history"] if not self._is_fresh(key)]:
                del self._after["history"][key]
            return json.dumps(self._after, separators=(",", ":"))


def _stretch(row: Any) -> Optional[Stretch]:
    if not isinstance(row, list) or len(row) not in (2, 3):
        return None
    if any(isinstance(part, bool) or not isinstance(part, (int, float)) for part in row):
        return None
    return Stretch(float(row[0]), float(row[-2]), int(row[-1])) if all(0 <= part < 2**63 for part in row) else None


def _as_read(rows: List[Stretch], value: int) -> List[Stretch]:
    """Without what one run alone saw below the value before and the value after it, the last of which is `value`."""
    after = [row.value for row in rows[1:]] + [value]
    before = [None, *(row.value for row in rows)]
    return [
        row
        for row, last, following in zip(rows, before, after)
        if last is None or row.since != row.until or not row.value < last <= following
    ]


def _newest_of_each_kind(rows: List[List[Any]]) -> List[List[Any]]:
    """At most so many of each kind, in their order: a flood of one kind must not push out the other."""
    left: Dict[str, int] = {}
    kept = []
    for row in reversed(rows):
        left[row[0]] = left.get(row[0], INCIDENTS_PER_ITEM) - 1
        if left[row[0]] >= 0:
            kept.append(row)
    return kept[::-1]


def _empty() -> Dict[str, Any]:
    sections: Dict[str, Any] = {
        name: {} for name in ("counters", "history", "cursors", "notes", "incidents", "findings", "stuck")
    }
    return dict(sections, schema=SCHEMA, boot_id="", at=0.0)


def _checked(given: Any) -> Mapping[str, Any]:
    """The given state, if it has the shape of ours."""
    if not isinstance(given, dict) or given.get("schema") != SCHEMA:
        raise ValueError(f"not a state of schema {SCHEMA}")
    for name, default in _empty().items():
        kind = (int, float) if isinstance(default, float) else type(default)
        if not isinstance(given.get(name), kind):
            raise ValueError(f"state has no valid {name!r}")
    return state_rows.sound(given)
