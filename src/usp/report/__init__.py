"""A website's sitemaps as one page to look at.

The page is a single file: it can be opened, mailed and kept without a network.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from usp.report.fetches import FetchLog
from usp.report.page import page
from usp.report.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from usp.events import Event
    from usp.objects.sitemap import AbstractSitemap

__all__ = ["FetchLog", "html", "summarise", "write_report"]


def html(
    tree: AbstractSitemap,
    events: FetchLog | Iterable[Event] | None = None,
    *,
    all_problems: bool = False,
) -> str:
    """Give the report of a tree as an HTML page; see :func:`summarise` for what can be told."""
    return page(summarise(tree, events, all_problems=all_problems))


def write_report(
    tree: AbstractSitemap,
    path: str | PathLike[str],
    events: FetchLog | Iterable[Event] | None = None,
    *,
    all_problems: bool = False,
) -> None:
    """Write the report of a tree to a file: all of it, or nothing if that fails."""
    write_whole(Path(path), html(tree, events, all_problems=all_problems))


def write_whole(path: Path, text: str) -> None:
    """Write a file under another name first, then rename it."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
