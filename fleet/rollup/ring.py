"""A value a day, for the last so many days, in one row: the columns take turns, so that nothing is ever shifted.

The value of a day stands in the column whose number is the day modulo the number of columns.
"""

from __future__ import annotations


def names(name: str, size: int) -> tuple[str, ...]:
    return tuple(f"{name}{slot}" for slot in range(size))


def days(last: int, size: int) -> list[int]:
    """For each column, the day that it belongs to when `last` is the last one."""
    return [last - (last - slot) % size for slot in range(size)]


def fresh(value: str, name: str, size: int, night: int) -> str:
    """The columns of one day's row."""
    pairs = zip(names(name, size), days(night, size), strict=True)
    return ", ".join(f"CASE WHEN day = {day} THEN {value} END AS {column}" for column, day in pairs)


def kept(name: str, size: int, before: int, night: int) -> str:
    """The columns of an earlier row, up to the day `before`: those whose day is one of the last still."""
    pairs = zip(names(name, size), days(before, size), days(night, size), strict=True)
    return ", ".join(
        column if then == now else f"CAST(NULL AS DOUBLE) AS {column}" for column, then, now in pairs
    )  # fmt: skip


def merged(name: str, size: int) -> str:
    """The columns of rows that are grouped: a day has a value in one of them at most."""
    return ", ".join(f"max({column}) AS {column}" for column in names(name, size))


def back(name: str, size: int, made: int, night: int) -> str:
    """The columns by days before the night, `NAME_0` that of the night itself, of rows up to the day `made`."""
    return ", ".join(
        f"{name}{day % size} AS {name}_{night - day}"
        if made - size < day <= made
        else f"CAST(NULL AS DOUBLE) AS {name}_{night - day}"
        for day in range(night, night - size, -1)
    )
