"""What a crawl logs, by the loggers that programs silence or collect from.

``usp.helpers`` logs requests and ``usp.fetch_parse`` documents, in the words of
ultimate-sitemap-parser 1.8.1 where it has any; ``usp.objects.sitemap`` logs nodes without content, and
``usp.tree`` the start. No other logger logs above DEBUG. There is one INFO line for each sitemap; a
failure that is expected, or that is followed by a retry, is not a warning.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from usp._base.safe_text import get_logger
from usp._crawl.orders import ClientMistake
from usp._formats.unpack import gunzip_complaint
from usp.web_client.abstract_client import WebClientErrorResponse, status_of

if TYPE_CHECKING:
    from usp._crawl.orders import Look
    from usp.objects.exchange import Exchange

requests = get_logger("usp.helpers")
documents = get_logger("usp.fetch_parse")
nodes = get_logger("usp.objects.sitemap")

_NOT_FOUND = 404


def fetching(url: str, level: int) -> None:
    """Log that a document is requested."""
    documents.debug("Fetching level %d sitemap from %s...", level, url)


def request_failed(
    url: str,
    error: WebClientErrorResponse,
    *,
    retry_in: float | None,
    quiet_404: bool,
    quiet: bool = False,
) -> None:
    """Log a failed request: as a warning if it was expected to succeed, and is not repeated."""
    expected = quiet or (quiet_404 and status_of(error) == _NOT_FOUND)
    again = retry_in is not None
    level = logging.DEBUG if expected else logging.INFO if again else logging.WARNING
    trace = error.shown if isinstance(error, ClientMistake) else None
    requests.log(level, "Request for URL %s failed: %s", url, error.message(), exc_info=trace)
    if again:
        requests.debug("Retrying URL %s in %.1f seconds...", url, retry_in)


def left_out(url: str, reason: str, *, quiet: bool) -> None:
    """Log what is not even an ``InvalidSitemap`` in the tree, in the words that such a node logs."""
    level = logging.DEBUG if quiet else logging.INFO
    nodes.log(level, "Invalid sitemap: %s, reason: %s", url, reason)


def not_closed(url: str, error: Exception) -> None:
    """Log that a response of a user's own could not be closed."""
    requests.warning("The response for URL %s could not be closed", url, exc_info=error)


def received(exchange: Exchange, look: Look, *, quiet: bool = False) -> None:
    """Log what a document is, or why it is not a sitemap, and what is wrong with it."""
    url, loud = exchange.final_url, logging.DEBUG if quiet else logging.WARNING
    complaint = gunzip_complaint(url, exchange.content_type, look.start, look.problems)
    if complaint is not None:
        requests.log(
            loud,
            "Unable to gunzip response for %s, maybe it's a non-gzipped sitemap: %s",
            url,
            complaint,
        )
    if look.kind is None:
        level = logging.DEBUG if quiet else logging.ERROR
        documents.log(level, "Parsing sitemap from URL %s failed: %s", url, look.refusal)
        return
    documents.info(
        "Parsing sitemap from URL %s... %s, %d bytes", url, look.kind.__name__, exchange.received
    )
    if look.namespace is not None:
        documents.log(
            loud,
            "XML sitemap root tag %s detected without expected xmlns (value is %s), assuming is an "
            "XML sitemap.",
            look.namespace[0],
            f'"{look.namespace[1]}"',
        )
    if look.broken is None:  # else it has been told as a failed request
        for problem in look.problems:
            if look.unfinished is not None and problem.code is look.unfinished.code:
                documents.error("Parsing sitemap from URL %s failed: %s", url, problem)
            else:
                documents.warning("Parsing sitemap from URL %s: %s", url, problem)
