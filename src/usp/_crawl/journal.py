"""What a crawl logs, by the loggers that programs silence or collect from.

``usp.helpers`` logs requests and ``usp.fetch_parse`` documents, in the words of
ultimate-sitemap-parser 1.8.1 where it has any; ``usp.objects.sitemap`` logs nodes without content, and
``usp.tree`` the start. No other logger logs above DEBUG. There is one INFO line for each sitemap; a
failure that is expected, or that is followed by a retry, is not a warning.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from usp._base.display import get_logger
from usp._crawl.orders import ClientRaised, FetchOrder, NoNetwork, Probe
from usp._crawl.stored_pages import StoredPages
from usp._formats.document import Role
from usp.helpers import gunzip_complaint
from usp.web_client.abstract_client import WebClientErrorResponse, status_of, words_of

if TYPE_CHECKING:
    from usp._store import Document

requests = get_logger("usp.helpers")
documents = get_logger("usp.fetch_parse")
nodes = get_logger("usp.objects.sitemap")

_NOT_FOUND = 404
_ELEMENT = re.compile(r"<([A-Za-z_][A-Za-z0-9_.-]{0,99}+)(?=[ \t\r\n/>])")  # without a prefix
_MOST_READ = 1 << 20  # bytes, decompressed, in which names are looked for


def fetching(url: str, level: int) -> None:
    """Log that a document is requested."""
    documents.debug("Fetching level %d sitemap from %s...", level, url)


def request_failed(
    order: FetchOrder, error: WebClientErrorResponse, retry_in: float | None, *, quiet: bool
) -> None:
    """Log a failed request: as a warning if it was expected to succeed, and is not repeated.

    A caller who wants 404 to be quiet still hears of it; nobody asked for a guess or a homepage.
    """
    missing, again = status_of(error) == _NOT_FOUND, retry_in is not None
    level = logging.INFO if again or (missing and order.quiet) else logging.WARNING
    not_declared = order.is_guess or order.role is Role.HOMEPAGE
    if quiet or (missing and not_declared) or isinstance(error, NoNetwork):
        level = logging.DEBUG
    trace = error.shown if isinstance(error, ClientRaised) else None
    requests.log(level, "Request for URL %s failed: %s", order.url, words_of(error), exc_info=trace)
    if again:
        requests.debug("Retrying URL %s in %.1f seconds...", order.url, retry_in)


def left_out(url: str, reason: str, *, quiet: bool) -> None:
    """Log what is not even an ``InvalidSitemap`` in the tree, in the words that such a node logs."""
    level = logging.DEBUG if quiet else logging.INFO
    nodes.log(level, "Invalid sitemap: %s, reason: %s", url, reason)


def not_closed(url: str, error: Exception) -> None:
    """Log that a response of a user's own could not be closed."""
    requests.warning("The response for URL %s could not be closed", url, exc_info=error)


def received(document: Document, probe: Probe, *, quiet: bool = False) -> None:
    """Log what a document is, or why it is not a sitemap, and what is wrong with it."""
    exchange = document.exchange
    url, loud = exchange.final_url, logging.DEBUG if quiet else logging.WARNING
    complaint = gunzip_complaint(url, exchange.content_type, probe.start, probe.problems)
    if complaint is not None:
        requests.log(
            loud,
            "Unable to gunzip response for %s, maybe it's a non-gzipped sitemap: %s",
            url,
            complaint,
        )
    if probe.kind is None:
        level = logging.DEBUG if quiet else logging.ERROR
        documents.log(level, "Parsing sitemap from URL %s failed: %s", url, probe.refusal)
        return
    documents.info(
        "Parsing sitemap from URL %s... %s, %d bytes", url, probe.kind.__name__, exchange.received
    )
    if probe.namespace is not None:
        documents.log(
            loud,
            "XML sitemap root tag %s detected without expected xmlns (value is %s), assuming is an "
            "XML sitemap.",
            probe.namespace[0],
            f'"{probe.namespace[1]}"',
        )
        if documents.isEnabledFor(logging.DEBUG):
            names = _ELEMENT.findall(StoredPages(document, None).text(_MOST_READ))
            for name in filter(probe.namespace[0].__ne__, dict.fromkeys(names)):
                documents.debug("Assuming %s should be in sitemap namespace", name)
    if probe.broken is None:  # else it was logged as a failed request
        for problem in probe.problems:
            if probe.unfinished is not None and problem.code is probe.unfinished.code:
                documents.error("Parsing sitemap from URL %s failed: %s", url, problem)
            else:
                documents.warning("Parsing sitemap from URL %s: %s", url, problem)
