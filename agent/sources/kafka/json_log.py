"""A line of a log that is written in JSON, as the plain line that it would otherwise be.

{"@timestamp":"2026-11-18T11:10:44.566Z","level":"WARN","logger_name":"kafka.log.LogManager","message":"Stopping …"}
{"instant":{"epochSecond":1795000244,"nanoOfSecond":566},"level":"WARN","loggerName":"kafka.log.LogManager","message":"…"}
{"@timestamp":"2026-11-18T11:10:44.566Z","log":{"level":"WARN","logger":"kafka.log.LogManager"},"message":"Stopping …"}
{"version":"1.1","timestamp":1795000244.566,"level":4,"_logger":"kafka.log.LogManager","short_message":"Stopping …"}
{"log":"[2026-11-18 11:10:44,566] WARN Stopping serving logs in dir /kafka/d2\\n","time":"2026-11-18T11:10:44.566Z"}
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from agent.lazy_regex import pattern

# log4j2's JsonLayout, JsonTemplateLayout and GelfLayout, logstash, Elastic Common Schema, Docker, and others
MESSAGE = ("message", "msg", "short_message", "log", "@message")
LEVEL = ("level", "log.level", "severity", "loglevel")
LOGGER = ("loggerName", "logger_name", "logger", "log.logger", "class", "_logger")
THROWN = ("thrown", "stack_trace", "exception", "throwable", "error.stack_trace", "stackTrace", "error", "full_message")
# GELF has the severities of syslog
SEVERITIES = {0: "FATAL", 1: "FATAL", 2: "FATAL", 3: "ERROR", 4: "WARN", 5: "INFO", 6: "INFO", 7: "DEBUG"}
TIME = ("@timestamp", "timestamp", "time", "ts", "instant", "timeMillis", "asctime")
CLASS = ("name", "class", "type", "exception_class")
MOST_BYTES = 1 << 18
THROWN_LENGTH = 1500
# 2026-11-18T11:10:44.566Z    2026-11-18 11:10:44,566+0100    2026-11-18T11:10:44.566+01:00
ISO = pattern(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,]\d{1,9})?(Z|[+-]\d\d:?\d\d)$")


def plain(row: str) -> Tuple[str, Optional[float]]:
    """The row as `LEVEL message (logger) exception`, and when it was written (epoch seconds); a plain row as it is."""
    text = row.strip()
    if not (text.startswith("{") and text.endswith("}")) or len(text) > MOST_BYTES:
        return row, None
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return row, None
    message = _first(given, MESSAGE)
    if not isinstance(message, str):
        return row, None
    message = " ".join(message.splitlines())
    level, logger = _first(given, LEVEL), _first(given, LOGGER)
    if isinstance(level, int):
        level = SEVERITIES.get(level)
    named = f" ({logger})" if isinstance(logger, str) and logger else ""
    head = f"{level} " if isinstance(level, str) and level else ""
    return f"{head}{message}{named}{_thrown(_first(given, THROWN))}", _time(_first(given, TIME))


def _first(given: Mapping[str, Any], names: Sequence[str]) -> Any:
    """The value of the first of these names; `log.level` may stand in an object `log`."""
    for name in names:
        outer, _, inner = name.partition(".")
        if name in given:
            return given[name]
        within = given.get(outer)
        if inner and isinstance(within, dict) and inner in within:
            return within[inner]
    return None


def _thrown(value: Any) -> str:
    """What was thrown, with its causes, on the same line."""
    if isinstance(value, dict):
        value = _chain(value)
    return f" {' '.join(value[:THROWN_LENGTH].split())}" if isinstance(value, str) else ""


def _chain(value: Dict[str, Any]) -> str:
    """java.io.IOException: Input/output error, and so on down the causes."""
    words: List[str] = []
    at: Any = value
    while isinstance(at, dict) and len(words) < 8:
        of_class, message = _first(at, CLASS), _first(at, ("message", "exception_message"))
        words.append(f"{of_class or ''}: {message or ''}"[:300])
        at = at.get("cause")
    return " ".join(words)


def _time(value: Any) -> Optional[float]:
    if isinstance(value, dict):
        value = value.get("epochSecond")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        seconds = value / 1000 if value > 1e11 else float(value)
        return seconds if 0 < seconds < 1e11 else None
    match = ISO.match(value) if isinstance(value, str) else None
    if match is None:
        return None
    import calendar  # seldom needed, slow to load

    *parts, zone = match.groups()
    year, month, day, hour, minute, second = (int(part) for part in parts)
    if not (1970 <= year <= 9000 and 1 <= month <= 12 and 1 <= day <= 31):
        return None
    digits = zone.replace(":", "")
    shift = 0 if zone == "Z" else (int(digits[1:3]) * 3600 + int(digits[3:5]) * 60) * (-1 if digits[0] == "-" else 1)
    return float(calendar.timegm((year, month, day, hour, minute, second)) - shift)
