"""A digest and its charts -> one HTML page, for a mail (pictures by cid:) or a file (pictures inside). Pure."""

from __future__ import annotations

import base64
import functools
import os
from collections.abc import Callable
from typing import Any

from fleet.charts import COLOURS, Chart
from fleet.digest import HEALTHS, Digest

TEMPLATE = os.path.join(os.path.dirname(__file__), "page.html")


def html(said: Digest, charts: list[Chart], picture: Callable[[Chart], str], link: str = "") -> str:
    """`picture` gives an image's address. All that hosts said is escaped."""
    return str(
        _template().render(
            said=said, charts=charts, picture=picture, link=link.rstrip("/"), colours=COLOURS, healths=[*HEALTHS, "ok"]
        )
    )


def inside(chart: Chart) -> str:
    """An address that is the picture itself."""
    return f"data:image/png;base64,{base64.b64encode(chart.png).decode()}"


def by_cid(chart: Chart) -> str:
    """An address of another part of the same mail."""
    return f"cid:{chart.name}@smoke"


@functools.lru_cache(1)
def _template() -> Any:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    with open(TEMPLATE, encoding="utf-8") as file:
        return environment.from_string(file.read())
