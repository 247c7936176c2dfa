"""What is known of a site that was crawled before, for a visit that asks for what may have changed.

Only what is due is requested, robots.txt and indexes too, and with the validators of the last time.
What they said then is in their rows; of a page sitemap, only its kind matters: its pages are there.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from usp._base.reason import Reason
from usp._base.urls import BadUrl, read_url
from usp._crawl.orders import Failed, FetchOrder, HasEarlierResults, NotRequested, Probe, Received
from usp._crawl.receiver import read_document
from usp._crawl.website import KNOWN_SITEMAP_PATHS, in_order
from usp._formats.document import Role
from usp._http.flow import Conditions, conditions_of
from usp._store import Document
from usp._store import Store as Documents
from usp.export.sitemaps import places_in
from usp.fleet.tables import GONE, Row
from usp.objects.exchange import Exchange
from usp.objects.failure_codes import BY_VALUE, FailureCode
from usp.objects.sitemap import KINDS, AbstractPagesSitemap, AbstractSitemap, IndexWebsiteSitemap

if TYPE_CHECKING:
    from usp.fleet.options import FleetRun
    from usp.fleet.site_list import WaitingSite

_CUT = ("limit-", "internal-error")
"""How codes begin with which the pages that were found may not be all that there are."""

_NOT_MODIFIED = 304
_NO_PAGES = b"<urlset/>"
_KINDS = {kind.name: node for node, kind in KINDS.items() if issubclass(node, AbstractPagesSitemap)}
VALIDATORS = {"etag": "ETag", "last_modified": "Last-Modified"}
_MOST_DOCUMENT = 1 << 20  # bytes of robots.txt or an index that are kept
_SOON = 0.1  # of its interval: a sitemap that is due so soon is requested with the others
_PATHS_AGAIN = timedelta(days=30)
"""After this time, known paths at which nothing was found are tried again."""


def packed_document(document: Document) -> bytes:
    """Return what robots.txt or an index says as it is kept; nothing if it is too large."""
    if document.size > _MOST_DOCUMENT:
        return b""
    return zlib.compress(b"".join(document.chunks()), 6)


class PreviousVisit(HasEarlierResults):
    """What is known of a site, for its next visit; and what of it that one has found to be the same.

    ``same`` has the rows of sitemaps that were requested and have not changed, or need not be as their
    index says; ``recalled`` those that were not due.
    """

    def __init__(self, how: FleetRun, site: WaitingSite) -> None:
        self.row, rows = site.rows()
        self.rows = {row["sitemap"]: row for row in rows}
        self._asked = {row["declared"] or url: row for url, row in self.rows.items()}
        self.there = {url: row for url, row in self.rows.items() if row["type"] != GONE}
        self.count = sum(row["pages"] or 0 for row in self.there.values())
        self.same: dict[str, Row] = {}
        self.recalled: dict[str, Row] = {}
        self._now = datetime.now(UTC)
        self._all_due = not how.is_due
        self._room = math.inf if site.room is None else site.room
        self._options = options = how.options
        self.is_comparable = self.row["options"] == options.digest
        self._usable: dict[str, Row] = {}
        is_cut = (self.row["code"] or "").startswith(_CUT)
        self._may_keep = self.is_comparable and options.keeps_unchanged
        for url, row in self.there.items() if self._may_keep and not is_cut else ():
            is_whole = row["code"] is None or not row["good"]
            if is_whole and row["digest"] and (row["type"] in _KINDS or row["document"]):
                self._usable[_text(row["declared"] or url)] = row

    @cached_property
    def known_paths(self) -> tuple[str, ...] | None:
        """The known paths that are to be tried, None if all are."""
        at = self.row["absent_at"]
        if at is None or self._now - at > _PATHS_AGAIN:
            return None
        usual = KNOWN_SITEMAP_PATHS if self._options.use_known_paths else ()
        paths = in_order(usual, self._options.extra_known_paths or ())
        absent, home = set(self.row["absent"] or ()), self.row["site"]
        return tuple(path for path in paths if path not in absent or self.had(f"{home}{path}"))

    def had(self, url: str) -> bool:
        """Return whether there was a sitemap at a URL, and not only long ago."""
        row = self._asked.get(url)
        if row is None or row["type"] != GONE:
            return row is not None
        return row["changed_at"] is None or self._now - row["changed_at"] < _PATHS_AGAIN

    def keeps(self, url: str) -> bool:
        """Return whether a sitemap was found to be the same, or was not due."""
        return url in self.same or url in self.recalled

    def has(self, url: str, digest: str) -> bool:
        """Return whether a sitemap had a document with this digest, and its rows can be kept."""
        return self._may_keep and self.there.get(url, {}).get("digest") == digest

    def conditions(self) -> Conditions:
        """Return the headers that ask for robots.txt and sitemaps only if they have changed."""
        return conditions_of(
            (url, row["sitemap"], {name: row[key] for key, name in VALIDATORS.items()}.get)
            for url, row in self._usable.items()
        )

    def recall(self, order: FetchOrder) -> Received | Failed | None:
        """Return what need not be requested: it is not due, or has not changed, says its index."""
        row = self._usable.get(order.url)
        if order.attempt > 1 or order.role is Role.HOMEPAGE:
            return None
        if row is None:
            return self._failure(order)
        is_dated = bool(order.lastmod) and row["good"]
        if is_dated and order.lastmod == row["index_lastmod"] and self._options.trust_lastmod:
            self.same[row["sitemap"]] = row
        elif (is_dated and order.lastmod != row["index_lastmod"]) or (
            self._is_due(row) and self._room > 0
        ):
            self._room -= 1
            return None
        else:
            self.recalled[row["sitemap"]] = row
        exchange = Exchange(order.url, row["sitemap"], status=row["status"], attempts=0)
        return self._document(row, order, exchange)

    def _is_due(self, row: Row) -> bool:
        soon = timedelta(seconds=_SOON * (row["interval"] or 0.0))
        return self._all_due or row["due"] is None or row["due"] - soon <= self._now

    def _failure(self, order: FetchOrder) -> Failed | None:
        """Return why a sitemap was missing the last time, if it is not due again."""
        row = self.there.get(order.url)
        is_known = row is not None and row["code"] in BY_VALUE and not row["digest"]
        if row is None or not is_known or not self.is_comparable or self._is_due(row):
            return None
        self.recalled[order.url] = row
        reason = Reason(FailureCode(row["code"]), row["failure"] or row["code"])
        exchange = Exchange(order.url, order.url, status=row["status"], attempts=0)
        return Failed(NotRequested(reason, retryable=False), exchange)

    def unchanged(self, order: FetchOrder, exchange: Exchange) -> Received | None:
        """Return what a document said before if a response says that it is the same."""
        row = self._usable.get(order.url) if exchange.status == _NOT_MODIFIED else None
        if row is None:
            return None
        newer = {key: exchange.header(name) for key, name in VALIDATORS.items()}
        self.same[row["sitemap"]] = row | {key: value for key, value in newer.items() if value}
        return self._document(row, order, replace(exchange, final_url=row["sitemap"]))

    def _document(self, row: Row, order: FetchOrder, exchange: Exchange) -> Received:
        """Return what a document said: robots.txt or an index as it was, else nothing of its pages."""
        if row["type"] in _KINDS:
            document = Document(Documents(), exchange, len(_NO_PAGES), _NO_PAGES)
            return Received(document, Probe(_KINDS[row["type"]]))
        chunks = [zlib.decompress(row["document"])]
        url = row["sitemap"]
        received = read_document(chunks, url, order.url, role=order.role)
        return replace(received, document=replace(received.document, exchange=exchange))

    def lost(self, tree: AbstractSitemap) -> set[str]:
        """Return the sitemaps that may be there, though the tree of a new visit does not have them.

        Something that failed would declare them.
        """
        above = {node.url: parent for node, parent, _ in places_in(tree)}
        failed: set[str | None] = {
            node.url for node in tree.all_sitemaps() if node.failure is not None
        }
        for failure in tree.not_found if isinstance(tree, IndexWebsiteSitemap) else ():
            failed.add(failure.url)
            if failure.url.endswith("/robots.txt"):  # which had another URL if it was redirected
                failed.add(None)
        parents = {url: row["parent"] for url, row in self.there.items()}
        # The same of a sitemap that was redirected: its parent is one that it had.
        failed |= {above[url] for url in failed if url in above and url not in parents}

        def is_lost(start: str) -> bool:
            url: str | None = start
            for _ in range(len(parents) + 1):  # not for ever, whatever the rows say
                if url is None or url in above or url in failed:
                    break
                url = parents.get(url)
            return url in failed

        return {url for url in self.there if url not in above and is_lost(url)}


def _text(url: str) -> str:
    try:
        return read_url(url).text()
    except BadUrl:
        return ""
