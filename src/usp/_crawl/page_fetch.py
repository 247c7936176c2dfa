"""Fetches pages themselves, a few of them: one after another, or as many at once as a client allows."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from usp._crawl.driving import concurrency_of
from usp._crawl.fetch import fetch_document
from usp._crawl.orders import Fetch
from usp._crawl.stored_pages import StoredPages
from usp._crawl.thread_driver import client_for
from usp._formats.document import Role
from usp._formats.html import MAX_HEAD
from usp._store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from usp._crawl.orders import Failed, Received
    from usp.options import CrawlOptions
    from usp.web_client.abstract_client import AbstractWebClient

MOST_AT_ONCE = 4
_MAX_SECONDS = 60.0  # for one page


def fetch_pages(
    urls: Sequence[str],
    start_url: str,
    web_client: AbstractWebClient | None,
    options: CrawlOptions,
    pause: float = 0.0,
) -> Iterator[tuple[str, Received | Failed]]:
    """Yield the result of each page, in their order; only the beginning of a page is received.

    ``start_url`` is that of the website, which decides about network zones: what it lists must not.
    With a ``pause``, in seconds, they are requested one after another.
    """
    if not urls:
        return
    limits = options.effective_limits
    seconds = limits.document_seconds
    limits = replace(
        limits,
        document_bytes=MAX_HEAD,
        document_seconds=_MAX_SECONDS if seconds is None else min(seconds, _MAX_SECONDS),
    )
    options = replace(options, limits=limits)
    store = Store()
    with client_for(web_client, start_url, options) as client:

        def fetch(url: str) -> Received | Failed:
            return fetch_document(Fetch(url, Role.HOMEPAGE), client, store, limits=limits)

        if pause or concurrency_of(client) == 1:
            for number, url in enumerate(urls):
                if number:
                    time.sleep(pause)
                yield url, fetch(url)
            return
        pool = ThreadPoolExecutor(min(MOST_AT_ONCE, concurrency_of(client)), "usp-page")
        try:
            yield from zip(urls, pool.map(fetch, urls), strict=True)
        finally:
            pool.shutdown(cancel_futures=True)


def text_of(received: Received) -> str:
    """Return the text of a page, as far as it was received."""
    return StoredPages(received.document, None).text(MAX_HEAD)
