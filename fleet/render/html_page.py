"""A digest and its charts -> one HTML page, for a mail (pictures by cid:) or a file (pictures inside). Pure."""

from __future__ import annotations

import base64
import functools
import os
from collections.abc import Callable
from typing import Any

from fleet.digest import page_paths
from fleet.digest.night_digest import HEALTHS, Digest
from fleet.render.charts import Chart

TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")


def html(said: Digest, charts: list[Chart], picture: Callable[[Chart], str], link: str = "") -> str:
    """`picture` gives an image's address. link: the address of the pages, or empty. All that hosts said is escaped."""
    return render("mail.html", said=said, charts=charts, picture=picture, link=link.rstrip("/"))


def render(template: str, **values: Any) -> str:
    return str(_environment().get_template(template).render(healths=[*HEALTHS, "ok"], addresses=page_paths, **values))


def inside(chart: Chart) -> str:
    """An address that is the picture itself."""
    return f"data:image/png;base64,{base64.b64encode(chart.png).decode()}"


def by_cid(chart: Chart) -> str:
    """An address of another part of the same mail."""
    return f"cid:{chart.name}@smoke"


@functools.lru_cache(1)
def _environment() -> Any:
    import jinja2

    return jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        loader=jinja2.FileSystemLoader(TEMPLATES), finalize=_plain,
    )  # fmt: skip


def _plain(value: Any) -> Any:
    """What is put into a page: of a host's words, nothing that cannot be seen. Macros' own output stays as it is."""
    if not isinstance(value, str) or hasattr(value, "__html__") or value.isprintable():
        return value
    return "".join(char if char.isprintable() else " " for char in value)
