"""The tables once more, in plain Python over the parsed report lines: slow, obvious, and nothing shared with fleet/.

`lines` is a list of (day number, seconds of the run's start, run id, record).
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

BAD = ("warning", "unknown", "critical")
RANK = {"skipped": 1, "ok": 2, "warning": 3, "unknown": 4, "critical": 5}
CONTROLLER = ("reach", "partitions", "drift")

Record = dict[str, Any]


def who(record: Record) -> str:
    """A host by its cluster and name; of a cluster as a whole, `c0/`."""
    return f"{record['cluster']}/{record['host']}"


class Oracle:
    def __init__(self, lines: Iterable[tuple[int, int, str, Record]], night: int) -> None:
        self.night = night
        self.headers: dict[tuple[int, str], list[tuple[int, str, Record]]] = defaultdict(list)
        runs: dict[tuple[int, str, str], dict[tuple[int, str], list[Record]]] = defaultdict(lambda: defaultdict(list))
        for day, second, run_id, record in lines:
            if record.get("kind") == "header":
                self.headers[day, who(record)].append((second, run_id, record))
            else:
                runs[day, who(record), record["check"]][second, run_id].append(record)
        self.runs = {key: [by_run[run] for run in sorted(by_run)] for key, by_run in runs.items()}
        self.last = {key: {r["item"]: r for r in by_run[-1]} for key, by_run in self.runs.items()}
        self.hosts = sorted({host for _day, host, _check in self.runs} | {host for _day, host in self.headers})
        self.days = {host: self._days(host, own=False) for host in self.hosts}
        self.answers = {host: self._days(host, own=True) for host in self.hosts}

    def _days(self, host: str, own: bool) -> list[int]:
        asked = {day for day, name, check in self.runs if name == host and not (own and check in CONTROLLER)}
        return sorted(asked | {day for day, name in self.headers if name == host})

    def last_run(self, day: int, host: str, check: str) -> dict[str, Record]:
        return self.last.get((day, host, check), {})

    def sights(self, day: int, host: str, check: str, item: str) -> list[bool | None]:
        """Run by run: True when it saw the item as faulty, False when as well or as gone, None when it did not see."""
        found: list[bool | None] = []
        for records in self.runs.get((day, host, check), []):
            told = {record["item"]: record["status"] for record in records}
            if item in told:
                nothing = "unknown" if item != "-" else "skipped"
                known = {"ok": False, "skipped": False, "warning": True, "critical": True}
                found.append(None if told[item] in ("unknown", nothing) else known[told[item]])
            else:
                found.append(None if told.get("-") in ("unknown", "skipped") else False)
        return found

    def standing(self, day: int, host: str, check: str, item: str) -> Record | None:
        """As the last run says; else, as the last run of the day that saw it."""
        record = self.last_run(day, host, check).get(item)
        if record and record["status"] in BAD:
            return record
        runs = self.runs.get((day, host, check), [])
        seen = [run for run, sight in enumerate(self.sights(day, host, check, item)) if sight is not None]
        told = [r for r in runs[seen[-1]] if r["item"] == item] if seen else []
        return told[0] if told and told[0]["status"] in ("warning", "critical") else None

    def sight(self, day: int, host: str, check: str, item: str) -> str | None:
        """What was last seen on that day: `ok`, `warning`, `critical`, or None when nothing was."""
        for records, seen in zip(
            reversed(self.runs.get((day, host, check), [])), reversed(self.sights(day, host, check, item)), strict=True
        ):
            if seen is not None:
                return next((r["status"] for r in records if r["item"] == item and r["status"] in BAD), "ok")
        whole = f"{host.split('/')[0]}/"
        mentioned = (day, host, check) in self.runs and any(
            r["item"] == item and r["status"] in BAD for run in self.runs[day, host, check] for r in run
        )
        if check in CONTROLLER and day in self.answers[host] and whole != host and not mentioned:
            return "ok" if any(sight is False for sight in self.sights(day, whole, check, item)) else None
        return None

    def items(self) -> set[tuple[str, str, str]]:
        """Everything that was ever a problem."""
        return {
            (host, check, record["item"])
            for (_day, host, check), by_run in self.runs.items()
            for records in by_run
            for record in records
            if record["status"] in BAD
        }

    def window(self) -> range:
        return range(min((day for day, _h, _c in self.runs), default=self.night), self.night + 1)

    def episodes(self, host: str, check: str, item: str) -> int:
        """Rows of sights as faulty; what was not seen ends none."""
        course: list[bool] = []
        for day in self.window():
            sights = [sight for sight in self.sights(day, host, check, item) if sight is not None]
            course += sights or ([False] if self.sight(day, host, check, item) == "ok" else [])
        return sum(now and not before for before, now in zip([False, *course], course, strict=False))

    def flapping(self, least: int, recent: int) -> list[tuple[Any, ...]]:
        rows = []
        for host, check, item in self.items():
            days = {
                day
                for day in self.window()
                for records in self.runs.get((day, host, check), [])
                for record in records
                if record["item"] == item and record["status"] in BAD
            }
            count = self.episodes(host, check, item)
            if count >= least and max(days) > self.night - recent:
                rows.append((host, check, item, count, len(days), max(days)))
        return sorted(rows)

    def changes(self) -> list[tuple[Any, ...]]:
        rows = []
        for host, check, item in self.items():
            now = self.standing(self.night, host, check, item)
            if now:
                rows.append((self._change(host, check, item, now), host, check, item, now["status"]))
                continue
            for day in reversed(self.window()[:-1]):
                before = self.standing(day, host, check, item)
                if before:
                    seen = self.sight(self.night, host, check, item)
                    rows.append(("resolved" if seen else "unseen", host, check, item, before["status"]))
                if before or self.sight(day, host, check, item):
                    break
        return sorted(rows)

    def _change(self, host: str, check: str, item: str, now: Record) -> str:
        for day in reversed(self.window()[:-1]):
            seen, stood = self.sight(day, host, check, item), self.standing(day, host, check, item)
            if now["status"] == "unknown" and (seen or stood):
                return "ongoing" if stood else "new"
            if now["status"] != "unknown" and seen:
                worse = now["status"] == "critical" and seen == "warning"
                return "new" if seen == "ok" else "worse" if worse else "ongoing"
        return "new"

    def health(self) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        for host in self.hosts:
            if not self.answers[host]:
                continue
            if self.answers[host][-1] != self.night:
                rows.append((host, "silent", 0, 0, 0, 0))
                continue
            told = [
                r["status"]
                for (d, h, _c), last in self.last.items()
                if (d, h) == (self.night, host)
                for r in last.values()
            ]
            worst = next((status for status in (*reversed(BAD), "ok") if status in told), "unknown")
            rows.append((host, worst, *(told.count(status) for status in ("critical", "unknown", "warning", "ok"))))
        return rows

    def silent(self) -> list[tuple[str, int]]:
        return sorted((h, days[-1]) for h, days in self.answers.items() if days and days[-1] != self.night)

    def series(self, check: str) -> dict[tuple[str, str], list[tuple[int, Record]]]:
        """(host, item) -> (day, the record of that day's last run)."""
        found: dict[tuple[str, str], list[tuple[int, Record]]] = defaultdict(list)
        for day, host, name in sorted(self.last):
            if name == check:
                for item, record in self.last[day, host, name].items():
                    if item != "-":
                        found[host, item].append((day, record))
        return found

    def disks(self) -> dict[str, list[tuple[int, str, Record]]]:
        """serial -> (day, host, the record of that day's last run), wherever it was."""
        found: dict[str, list[tuple[int, str, Record]]] = defaultdict(list)
        for (host, item), told in self.series("smart").items():
            found[item] += [(day, host, record) for day, record in told]
        return {item: sorted(told, key=lambda one: one[:2]) for item, told in found.items()}

    def disk_trends(self, limits: dict[str, Any], facts: dict[str, str]) -> list[tuple[Any, ...]]:
        """host, item, metric, failing, value, rise, paces of the month and of three days, days left, earliest, latest.

        facts: metric -> the fact that it is."""
        rows: list[tuple[Any, ...]] = []
        for item, places in self.disks().items():
            last_day, host, last = places[-1]
            if last_day != self.night:
                continue
            failing, before = last["status"] == "critical", len(rows)
            for metric, fact in facts.items():
                points = [(day, r["facts"][fact]) for day, _host, r in places if r["facts"].get(fact) is not None]
                if len(points) >= limits["days_least"] and points[-1][0] == self.night:
                    limit = limits[f"{metric}_limit"]
                    if metric == "spare_percent":
                        limit = last["facts"].get("spare_threshold_percent") or limit
                    told = pace_and_crossing(points, limit, limits[f"{metric}_rise"], metric == "spare_percent")
                    if told and (told[-3] is None or told[-3] <= limits["horizon_days"]):
                        rows.append((host, item, metric, failing, *told))
            if failing and len(rows) == before:
                rows.append((host, item, "status", True, None, None, None, None, 0, None, None))
        return sorted(rows, key=lambda row: row[:3])

    def failure_rates(self) -> dict[tuple[str, str], tuple[int, int, int]]:
        """model and firmware -> disks, drive days, failures."""
        found: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
        for places in self.disks().values():
            told = [(day, record) for day, _host, record in places]
            failed = next((day for day, record in told if record["status"] == "critical"), None)
            named = [r["facts"] for _day, r in told if r["facts"].get("model")]
            if not named or failed == told[0][0]:
                continue
            count = found[named[-1]["model"], named[-1]["firmware"]]
            count[0] += 1
            count[1] += sum(1 for day, _record in told if failed is None or day <= failed)
            count[2] += failed is not None
        return {key: (disks, days, failures) for key, (disks, days, failures) in found.items()}

    def boot(self, day: int, host: str, run_id: str) -> str | None:
        return next((r.get("boot_id") for _second, run, r in self.headers.get((day, host), []) if run == run_id), None)

    def dimm_trends(self, week: int, days: int) -> list[tuple[Any, ...]]:
        rows = []
        for (host, item), told in self.series("memory_errors").items():
            counts = [(day, r["facts"]["corrected"], self.boot(day, host, r["run_id"])) for day, r in told]
            steps = zip(counts, counts[1:], strict=False)
            rises = [
                (day, count - old if count >= old and (boot == last or None in (boot, last)) else count)
                for (_d, old, last), (day, count, boot) in steps
            ]
            recent = [rise for day, rise in rises if day > self.night - 7]
            before = [rise for day, rise in rises if self.night - 14 < day <= self.night - 7]
            rising = sum(rise > 0 for rise in recent)
            if any(count for _day, count, _boot in counts) and (sum(recent) >= week or rising >= days):
                rows.append((host, item, sum(rise for _d, rise in rises), sum(recent), sum(before), rising))
        return sorted(rows)

    def balance(self) -> dict[str, tuple[float, float, float]]:
        """host -> least, most, standard deviation of the percent used on its data mounts tonight."""
        used: dict[str, list[float]] = defaultdict(list)
        for (host, _item), told in self.series("disk_usage").items():
            day, record = told[-1]
            if day == self.night and record["facts"]["data"]:
                used[host].append(percent(record["facts"]))
        return {h: (min(u), max(u), statistics.pstdev(u)) for h, u in used.items() if len(u) > 1}

    def forecast(self, limits: dict[str, Any]) -> list[tuple[Any, ...]]:
        """host, item, days left, the earliest and the latest of them."""
        rows = []
        for (host, item), told in self.series("disk_usage").items():
            points = [(day, r["facts"]["used_bytes"]) for day, r in told if day > self.night - limits["window_days"]]
            if len(points) < 2 or points[-1][0] != self.night:
                continue
            facts = told[-1][1]["facts"]
            left = days_to_full(points, facts["used_bytes"] + facts["free_bytes"], limits)
            if left and left[0] is not None and left[0] <= limits["horizon_days"]:
                rows.append((host, item, *left))
        return sorted(rows)

    def slow(self, limits: dict[str, Any]) -> list[tuple[Any, ...]]:
        tonight = [
            (run[0], host, record)
            for (day, host, check), by_run in self._timed("disk_latency").items()
            if day == self.night
            for run, records in by_run
            for record in records
        ]
        kin = defaultdict(list)
        for second, host, record in tonight:
            kin[record["cluster"], record["facts"]["rotational"]].append((second // 3600, host, record))
        rows = []
        for told in kin.values():
            busy = defaultdict(list)
            for hour, _host, record in told:
                busy[hour].append(record["facts"]["utilisation_percent"])
            peak = min(busy, key=lambda hour: (-statistics.fmean(busy[hour]), hour))
            for operation in ("read", "write"):
                rows += self._outliers([(h, r) for hour, h, r in told if hour == peak], operation, peak, limits)
        return sorted(rows)

    def _timed(self, check: str) -> dict[tuple[int, str, str], list[tuple[tuple[int, str], list[Record]]]]:
        return {
            key: [((records[0]["_second"], records[0]["run_id"]), records) for records in by_run]
            for key, by_run in self.runs.items()
            if key[2] == check
        }

    def _outliers(
        self, told: list[tuple[str, Record]], operation: str, peak: int, limits: dict[str, Any]
    ) -> list[tuple[Any, ...]]:
        disks: dict[tuple[str, str], float] = {}
        for host, record in told:
            key = (host, record["item"])
            disks[key] = max(disks.get(key, 0.0), record["facts"][f"{operation[0]}_await_ms"])
        middle = statistics.median(disks.values())
        mad = statistics.median(abs(value - middle) for value in disks.values())
        rows = []
        for (host, item), value in disks.items():
            score = 0.6745 * (value - middle) / max(mad, 0.05 * middle, 0.1)
            far = score >= limits["score_least"] and value >= limits["factor_least"] * middle
            if len(disks) >= limits["peers_least"] and far and value - middle >= limits["slower_ms_least"]:
                rows.append((host, item, peak, operation, round(value, 2)))
        return rows

    def clocks(self, limits: dict[str, Any]) -> list[str]:
        by_run: dict[str, dict[str, float]] = defaultdict(dict)
        latest: dict[str, str] = {}
        for (day, host), told in self.headers.items():
            for second, run_id, record in sorted(told, key=lambda one: one[:2]):
                if day == self.night:
                    by_run[run_id][host] = record["clock"] - (day * 86400 + second)
                    latest[host] = run_id
        rows = []
        for host, run_id in latest.items():
            peers = by_run[run_id]
            skew = peers[host] - statistics.median(peers.values()) if len(peers) >= 3 else 0.0
            offset = (
                self.last.get((self.night, host, "clock"), {}).get("time", {}).get("facts", {}).get("offset_ms", 0.0)
            )
            if abs(skew) >= limits["skew_s_least"] or abs(offset) >= limits["offset_ms_least"]:
                rows.append(host)
        return sorted(rows)

    def shared(self, limits: dict[str, Any], hardware: Iterable[str]) -> set[tuple[str, str, str, int]]:
        members: dict[tuple[str, str], set[str]] = defaultdict(set)
        faults: dict[str, set[str]] = defaultdict(set)
        fleet = [host for host in self.hosts if self.answers[host]]
        for host in fleet:
            day = self.answers[host][-1]
            record = self.headers[day, host][-1][2]
            members["drawer", f"{record['rack']} {record['drawer']}"].add(host)
            members["rack", record["rack"]].add(host)
            members["power feed", record["power_feed"]].add(host)
            if day != self.night:
                faults["silent"].add(host)
        for host, check, item in self.items():
            if check in hardware and self.standing(self.night, host, check, item):
                faults[check].add(host)
        return self._blame(members, faults, ("drawer", "rack", "power feed"), limits)

    def _blame(
        self, members: dict[tuple[str, str], set[str]], faults: dict[str, set[str]], kinds: Any, limits: dict[str, Any]
    ) -> set[tuple[str, str, str, int]]:
        blamed: dict[tuple[str, str, str], int] = defaultdict(int)
        for check, units in faults.items():
            suspects = []
            for (kind, name), group in members.items():
                everybody = set().union(*(g for (k, _n), g in members.items() if k == kind))
                inside, outside = len(units & group), len(units & everybody - group)
                if inside < limits["faults_least"] or everybody == group:
                    continue
                chance = (inside + outside) * len(group) / len(everybody)
                enough = chance + limits["deviations"] * math.sqrt(chance) + limits["margin"]
                share, elsewhere = inside / len(group), outside / (len(everybody) - len(group))
                whole = share >= limits["whole_share"] and elsewhere <= limits["whole_elsewhere"]
                many = inside >= enough or (whole and inside >= limits["whole_least"])
                if share >= limits["factor_least"] * elsewhere and many:
                    suspects.append((-share, -inside, kinds.index(kind), kind, name))
            for unit in units:
                mine = sorted(s for s in suspects if unit in members[s[3], s[4]])
                if mine:
                    blamed[mine[0][3], mine[0][4], check] += 1
        return {(*key, count) for key, count in blamed.items() if count >= limits["faults_least"]}


def percent(facts: Record) -> float:
    return float(100 * facts["used_bytes"] / (facts["used_bytes"] + facts["free_bytes"]))


def pace_and_crossing(points: list[tuple[int, float]], limit: float | None, least: float, falls: bool) -> Any:
    """value, rise, the month's pace, that of three days, days left, earliest, latest (days); None where it is still."""
    heights = {day: -value if falls else value for day, value in points}
    days = sorted(heights)
    night, value = days[-1], heights[days[-1]]
    rise = value - min(heights.values())
    if rise < least:
        return None
    pairs = [(a, b) for a in days for b in days if a < b]
    slopes = sorted((heights[b] - heights[a]) / (b - a) for a, b in pairs)
    n = len(days)
    kendall = 1.96 * (n * (n - 1) * (2 * n + 5) / 18) ** 0.5
    place = max(0, int((len(slopes) - kendall) // 2))
    month, low, high = statistics.median(slopes), slopes[place], slopes[-1 - place]
    step = {b: (heights[b] - heights[a]) / (b - a) for a, b in zip(days, days[1:], strict=False)}
    daily = {day: step[min(b for b in days if b >= day)] for day in range(days[0] + 1, night + 1)}
    late = [(weight, daily[night - back]) for back, weight in ((0, 3), (1, 2), (2, 1)) if night - back in daily]
    recent = sum(weight * pace for weight, pace in late) / sum(weight for weight, _pace in late)
    paces = [low, high]
    pace = month
    if sum(pace for _weight, pace in late) >= least:
        pace = max(month, recent)
        paces += [recent, *(one for _weight, one in late)]
    if pace <= 0:
        return None
    if limit is None:
        return abs(value), rise, month, recent, None, None, None
    room = (-limit if falls else limit) - value
    left = days_until(room, pace)
    beside = 1.96 * statistics.pstdev(step.values()) / max(left or 1, 1) ** 0.5
    bounds = days_until(room, max(paces) + beside), days_until(room, min(paces) - beside)
    return abs(value), rise, month, recent, 10**6 if left is None else left, *bounds


def days_until(room: float, pace: float) -> int | None:
    if room <= 0:
        return 0
    return None if pace <= 0 or room / pace > 3650 else math.ceil(round(room / pace, 6))


def days_to_full(points: list[tuple[int, float]], size: float, limits: dict[str, Any]) -> Any:
    """Days left, earliest, latest; None where it does not fill."""
    night, used = points[-1]
    point = size / 100 * limits["least_points"]
    growth = {
        day: (after - before) / (later - one)
        for (one, before), (later, after) in zip(points, points[1:], strict=False)
        for day in range(one + 1, later + 1)
    }
    latest = [growth[day] for day in growth if night - limits["recent_days"] < day <= night]
    if max([*latest, 0]) * limits["horizon_days"] < size - used:
        return None
    falls = [(a, b) for a, b in zip(points, points[1:], strict=False) if a[1] - b[1] > point]
    start, level = night, used
    if len(falls) > 1 and used <= max(a[1] for a, _b in falls) + point:
        tops = [a for a, _b in falls]
        steps = [(night - b[0], (b[1] - a[1]) / (b[0] - a[0])) for a, b in zip(tops, tops[1:], strict=False)]
        start, level = tops[-1]
    else:
        since = falls[-1][1][0] if len(falls) > 1 else points[0][0]
        fallen = {day for a, b in falls for day in range(a[0] + 1, b[0] + 1)}
        steps = [(night - day, grown) for day, grown in growth.items() if day > since and day not in fallen]
    if not steps:
        return None
    weight = {age: 0.5 ** (age / 3) for age, _grown in steps}
    whole = sum(weight[age] for age, _grown in steps)
    ordered = sorted(steps, key=lambda step: step[1])
    pace = ordered[0][1]
    if len(steps) > 2:
        below = [sum(weight[age] for age, _g in ordered[: place + 1]) for place in range(len(ordered))]
        pace = next(g for (_age, g), reached in zip(ordered, below, strict=True) if reached >= whole / 2 - 1e-12)
    if pace <= 0 or pace * (night - points[0][0]) < point:
        return None
    worth = whole**2 / sum(one**2 for one in (weight[age] for age, _grown in steps))
    scatter = sum(weight[age] * (grown - pace) ** 2 for age, grown in steps) / whole
    deviation = ((worth * scatter + 2 * (pace / 2) ** 2) / (worth + 1)) ** 0.5

    def left(rate: float) -> int | None:
        if rate <= 0 or (size - level) / rate > 3650:
            return None
        return math.floor(round((size - level) / rate, 6)) - (night - start)

    days = left(pace)
    if days is not None and days < 0:
        return None
    beside = students(worth + 1) * deviation * (1 / worth + 1 / max(days or 0, 1)) ** 0.5
    if len(steps) >= limits["sure_days"] - 1 and pace - beside <= 0:
        return None
    soonest = left(pace + beside)
    return days, None if soonest is None else max(0, soonest), left(pace - beside)


def students(degrees: float) -> float:
    """The 97.5 % point of Student's t, Abramowitz and Stegun 26.7.5, to the third power."""
    x = 1.96
    first = (x**3 + x) / 4
    second = (5 * x**5 + 16 * x**3 + 3 * x) / 96
    third = (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384
    return x + first / degrees + second / degrees**2 + third / degrees**3
