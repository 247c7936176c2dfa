"""What is compared, as callers name it: a tree, a URL, a snapshot or a file."""

from __future__ import annotations

import asyncio
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from usp import aio
from usp._base.sitemap_urls import looks_like_sitemap
from usp._snapshot.warc import is_warc
from usp.changes.folder import tree_of_folder
from usp.objects.abstract_sitemap import AbstractSitemap
from usp.snapshot import load
from usp.tree import sitemap_from_file, sitemap_tree_for_homepage, sitemap_tree_for_sitemap

if TYPE_CHECKING:
    from usp.options import CrawlOptions
    from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient

Source: TypeAlias = AbstractSitemap | str | PathLike[str]
"""A tree; the URL of a website or of a sitemap; the path of a snapshot, a sitemap or a folder."""


def tree_of(
    given: Source, web_client: AbstractWebClient | None, options: CrawlOptions | None
) -> AbstractSitemap:
    """Return the tree of what a caller names."""
    if isinstance(given, AbstractSitemap):
        return given
    if is_url(given):
        if looks_like_sitemap(given):
            return sitemap_tree_for_sitemap(given, web_client, options=options)
        return sitemap_tree_for_homepage(given, web_client, options=options)
    return _read(given, options)


async def tree_of_async(
    given: Source,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None,
    options: CrawlOptions | None,
) -> AbstractSitemap:
    """Return the same on asyncio."""
    if isinstance(given, AbstractSitemap):
        return given
    if is_url(given):
        if looks_like_sitemap(given):
            return await aio.sitemap_tree_for_sitemap(given, web_client, options=options)
        return await aio.sitemap_tree_for_homepage(given, web_client, options=options)
    return await asyncio.to_thread(_read, given, options)


def is_url(given: object) -> TypeGuard[str]:
    """Return whether a source is a URL."""
    return isinstance(given, str) and "://" in given


def _read(given: str | PathLike[str], options: CrawlOptions | None) -> AbstractSitemap:
    limits = None if options is None else options.limits
    path = Path(given)
    if path.is_dir():
        return tree_of_folder(path, limits)
    if is_warc(path):
        return load(path, limits=limits)
    return sitemap_from_file(path, limits=limits)
