"""usp and ultimate-sitemap-parser: the same import name, the same API, the same script."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from measure import measure

from usp.tree import sitemap_tree_for_homepage
from usp.web_client.requests_client import RequestsWebClient

if TYPE_CHECKING:
    from collections.abc import Iterator


def urls(pages: Iterator[Any]) -> dict[str, Any]:
    """Read the url of every page."""
    found = 0
    for page in pages:
        if page.url:
            found += 1
    return {"found": found}


def fields(pages: Iterator[Any]) -> dict[str, Any]:
    """Read the fields of the sitemap protocol."""
    found = 0
    for page in pages:
        if page.url and (page.last_modified, page.priority, page.change_frequency):
            found += 1
    return {"found": found}


def everything(pages: Iterator[Any]) -> dict[str, Any]:
    """Read every field of every page, the extensions' too."""
    found = 0
    for page in pages:
        if _everything(page):
            found += 1
    return {"found": found}


def dictionaries(pages: Iterator[Any]) -> dict[str, Any]:
    """Make a dictionary of every page."""
    found = 0
    for page in pages:
        if page.to_dict():
            found += 1
    return {"found": found}


def digest(pages: Iterator[Any]) -> dict[str, Any]:
    """Not for time: a digest over every field, to see that both read the same."""
    found, digest = 0, hashlib.md5(usedforsecurity=False)
    for page in pages:
        found += 1
        digest.update(repr(_everything(page)).encode())
    return {"found": found, "digest": digest.hexdigest()}


def _everything(page: Any) -> list[Any]:
    """Give the fields as plain values: classes and time zones may print in two ways."""
    frequency, modified = page.change_frequency, page.last_modified
    values = [
        page.url,
        page.priority,
        frequency and frequency.value,
        modified and modified.isoformat(),
    ]
    if news := page.news_story:
        values += [news.title, news.publish_date.isoformat(), news.publication_name]
        values += [news.publication_language, news.access]
        values += [news.genres, news.keywords, news.stock_tickers]
    for image in page.images or ():
        values += [image.loc, image.caption, image.geo_location, image.title, image.license]
    values += [tuple(alternate) for alternate in page.alternates or ()]
    return values


JOBS = {
    "urls": urls,
    "fields": fields,
    "everything": everything,
    "dictionaries": dictionaries,
    "digest": digest,
}


def work(options: dict[str, Any]) -> dict[str, Any]:
    """Build the tree of the homepage, then read its pages."""
    client = None
    if timeout := options.get("timeout"):
        client = RequestsWebClient()
        client.set_timeout((timeout, timeout))
    tree = sitemap_tree_for_homepage(options["homepage"], web_client=client)
    return JOBS[options["job"]](tree.all_pages())


measure(work)
