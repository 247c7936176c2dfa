"""What is compared, as callers name it: a tree, a URL, a snapshot or a file."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from usp._base.sitemap_urls import looks_like_sitemap
from usp._snapshot.warc import is_warc
from usp.objects.abstract_sitemap import AbstractSitemap
from usp.snapshot import load
from usp.tree import sitemap_from_file, sitemap_tree_for_homepage, sitemap_tree_for_sitemap

if TYPE_CHECKING:
    from usp.options import CrawlOptions
    from usp.web_client.abstract_client import AbstractWebClient

Source: TypeAlias = AbstractSitemap | str | PathLike[str]
"""A tree; the URL of a website or of a sitemap; the path of a snapshot or of a sitemap."""


def tree_of(
    given: Source, web_client: AbstractWebClient | None, options: CrawlOptions | None
) -> AbstractSitemap:
    """Return the tree of what a caller names."""
    if isinstance(given, AbstractSitemap):
        return given
    if isinstance(given, str) and "://" in given:
        if looks_like_sitemap(given):
            return sitemap_tree_for_sitemap(given, web_client, options=options)
        return sitemap_tree_for_homepage(given, web_client, options=options)
    limits = None if options is None else options.limits
    path = Path(given)
    if is_warc(path):
        return load(path, limits=limits)
    return sitemap_from_file(path, limits=limits)
