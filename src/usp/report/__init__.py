"""A report about the sitemaps of a website, as one self-contained HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.export.files import replacing
from usp.report.fetches import FetchLog
from usp.report.page import page
from usp.report.summary import summarise

if TYPE_CHECKING:
    from os import PathLike

    from usp.objects.sitemap import AbstractSitemap

__all__ = ["FetchLog", "html", "summarise", "write_report"]


def html(
    tree: AbstractSitemap,
    events: object = None,
    *,
    all_problems: bool = False,
) -> str:
    """Return the report of a tree as an HTML page; see :func:`summarise` for the parameters."""
    return page(summarise(tree, events, all_problems=all_problems))


def write_report(
    tree: AbstractSitemap,
    path: str | PathLike[str],
    events: object = None,
    *,
    all_problems: bool = False,
) -> None:
    """Write the report of a tree to a file, atomically."""
    page = html(tree, events, all_problems=all_problems)
    with replacing(path) as file:
        file.write(page.encode())
