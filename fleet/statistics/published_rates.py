"""Failure rates of disk models as others have published them, from a YAML file. None are part of the product."""

from __future__ import annotations

# No disk model fails more often than once a year, disk by disk.
HIGHEST_PERCENT = 100.0


class BadRates(ValueError):
    """The file cannot be used, and this is why."""


def read(path: str) -> dict[str, float]:
    """model -> failures of a hundred disks in a year (percent). Raises BadRates."""
    import yaml

    try:
        with open(path, encoding="utf-8") as file:
            given = yaml.safe_load(file)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadRates(f"{path}: {' '.join(str(error).split())}") from error
    rates = given.get("rates") if isinstance(given, dict) else None
    if not isinstance(rates, dict) or set(given) - {"rates", "source"}:
        raise BadRates(f"{path}: expected `rates` (model: percent a year) and, optionally, `source`")
    for model, rate in rates.items():
        number = isinstance(rate, (int, float)) and not isinstance(rate, bool)
        if not isinstance(model, str) or not number or not 0 < rate <= HIGHEST_PERCENT:
            raise BadRates(f"{path}: {model!r}: {rate!r} is not a rate in percent a year (above 0, at most 100)")
    return {model: float(rate) for model, rate in rates.items()}
