"""Watches a website: what is new and changed, round after round, once each.

The state is a snapshot. A round writes the next one beside it, compares both, hands out the changes,
and puts the next one in place when the caller comes back for more. So nothing is lost: if the process
ends before that, the changes of that round come again.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from usp import aio
from usp._base.sitemap_urls import looks_like_sitemap
from usp._base.urls import without_login
from usp._snapshot.snapshot import open_snapshot
from usp.changes import Diff
from usp.changes.values import ChangeKind, PageChange
from usp.exceptions import SitemapException, SnapshotError
from usp.helpers import strip_url_to_homepage
from usp.objects.sitemap import AbstractPagesSitemap, IndexWebsiteSitemap
from usp.options import WebsiteKeywords, combined, shows
from usp.snapshot import UpdatePlan, load
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterator
    from os import PathLike
    from typing import Unpack

    from usp.objects.problem import Failure
    from usp.objects.sitemap import AbstractSitemap
    from usp.options import CrawlOptions
    from usp.snapshot import Update
    from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient

__all__ = ["Round", "watch", "watch_async"]

_SHIFT = 0.1  # of a pause, by which it is longer or shorter
_NEXT = ".next"


@dataclass(slots=True)
class Round:
    """One look at a website; iterating over it gives the pages that are new or changed since the last.

    ``first`` is True for the round that records the website, in which nothing is new. ``failures`` are
    the sitemaps that are missing in this round: what their last good versions list is neither new nor
    gone. ``error`` is why there was no round at all, if it failed; the next one tries again. ``diff``
    has all changes, removed pages and sitemaps included; it is None if nothing changed.
    """

    number: int
    started: datetime
    first: bool = False
    failures: tuple[Failure, ...] = ()
    error: Exception | None = None
    diff: Diff | None = None
    update: Update | None = field(default=None, repr=False)
    existing: bool = field(default=False, repr=False)
    _is_done: bool = field(default=True, repr=False)

    def __iter__(self) -> Iterator[PageChange]:
        """Yield the pages that are new or changed, in the order of the tree."""
        kinds = {ChangeKind.ADDED, ChangeKind.CHANGED}
        if self.existing:  # also those that nobody could know of
            kinds.add(ChangeKind.UNKNOWN)
        for change in self.diff or ():
            if isinstance(change, PageChange) and change.kind in kinds and change.after:
                yield change

    def removed(self) -> Iterator[PageChange]:
        """Yield the pages that are gone, for certain: a sitemap that fails removes nothing."""
        for change in self.diff or ():
            if isinstance(change, PageChange) and change.kind is ChangeKind.REMOVED:
                yield change

    def retry(self) -> None:
        """Let the next round give these changes again: something went wrong with them."""
        self._is_done = False

    @property
    def is_done(self) -> bool:
        """Whether the changes need not come again."""
        return self._is_done and self.error is None


class _Watch:
    """The rounds of a watch, but for the requests."""

    def __init__(
        self, url: str, path: str | PathLike[str], every: float, *, existing: bool
    ) -> None:
        if isinstance(every, bool) or not isinstance(every, int | float) or not every > 0:
            raise ValueError(f"every must be a positive number of seconds, not {every!r}")
        self.path = Path(path)
        self.next = self.path.with_name(f".{self.path.name}{_NEXT}")
        self._every = every
        self._existing = existing
        self._number = 0
        self._begun = 0.0
        known = _start_of(self.path) if self.path.exists() else None
        if known is not None and not _is_same(known, without_login(url.strip())):
            raise SnapshotError(
                f"{self.path} is a snapshot of {known}, not of {without_login(url)}"
            )

    def begin(self) -> tuple[int, datetime]:
        """Begin a round; return its number and the time."""
        self._number += 1
        self._begun = time.monotonic()  # which no change of the clock moves
        return self._number, datetime.now(UTC)

    def plan(self, url: str, options: CrawlOptions, *, trusts: bool) -> UpdatePlan:
        """Return how a later round is fetched: with the login of the URL, as the first one."""
        plan = UpdatePlan.of(self.path, self.next, trusts, options, {})
        plan.log_in(url)
        return plan

    def recorded(self, tree: AbstractSitemap, number: int, started: datetime) -> Round:
        """Return the first round: the website as it is."""
        failures = tuple(tree.failures())
        has_pages = any(isinstance(node, AbstractPagesSitemap) for node in tree.all_sitemaps())
        if failures and not has_pages and not isinstance(tree, AbstractPagesSitemap):
            why = failures[0].brief  # a snapshot of nothing would make everything new, or nothing
            return Round(number, started, True, failures, SitemapException(why))
        diff = None
        if self._existing:
            diff = Diff(IndexWebsiteSitemap(tree.url, []), load(self.next))
        return Round(number, started, True, failures, None, diff, existing=self._existing)

    def updated(self, done: Update, number: int, started: datetime) -> Round:
        """Return a later round: what changed."""
        diff = None
        if done.changed or done.added or done.removed:
            diff = Diff(load(self.path, last_good=True), load(self.next, last_good=True))
        failures = tuple(done.tree.failures())
        return Round(number, started, False, failures, None, diff, done, self._existing)

    def finish(self, done: Round) -> None:
        """Put the next snapshot in place of the last one, unless the round is to be repeated."""
        if done.is_done:
            self.next.replace(self.path)
        else:
            self.discard()

    def discard(self) -> None:
        """Remove a snapshot that was not put in place."""
        with suppress(OSError):
            self.next.unlink(missing_ok=True)

    def pause(self) -> float:
        """Return how many seconds to wait for the next round; not the same for all who watch a site."""
        shift = random.uniform(1 - _SHIFT, 1 + _SHIFT)  # noqa: S311 - not a secret
        return max(0.0, self._begun + self._every * shift - time.monotonic())


def _start_of(path: Path) -> str:
    """Return the website or sitemap that a snapshot is of."""
    snapshot = open_snapshot(path)
    start = next(iter(snapshot.start.values()), "another program's file")
    snapshot.file.close()
    return start


def _is_same(known: str, url: str) -> bool:
    """Return whether a snapshot that begins at a URL is the one of what somebody watches."""
    return known.rstrip("/") == url.rstrip("/") or strip_url_to_homepage(url) == known


def _is_sitemap(url: str, told: bool | None) -> bool:
    return looks_like_sitemap(url) if told is None else told


@shows(WebsiteKeywords)
def watch(
    url: str,
    snapshot: str | PathLike[str],
    web_client: AbstractWebClient | None = None,
    *,
    every: float = 300.0,
    rounds: int | None = None,
    is_sitemap: bool | None = None,
    existing: bool = False,
    trust_lastmod: bool = False,
    stop: threading.Event | None = None,
    options: CrawlOptions | None = None,
    **keywords: Unpack[WebsiteKeywords],
) -> Generator[Round, None, None]:
    """Watch a website, or one sitemap: yield a round ``every`` so many seconds, without an end.

    A round gives the pages that are new or changed since the last one. The ``snapshot`` is the state: a
    file that is written in the first round, in which nothing is new (with ``existing``, all pages
    are), and replaced after each of the others, when the next one is asked for. Changes that were not
    dealt with until then, because the process has ended or ``round.retry()`` was called, come again. A
    round that fails is given too, with its ``error``, and the next one tries again.

    ``is_sitemap`` is whether the URL is that of one sitemap, if it does not look like what it is.
    ``rounds`` is how many there are, ``stop`` ends a pause and with it the watch. The other options are
    those of ``sitemap_tree_for_homepage`` and of ``usp.update``.

    Raises :class:`usp.SnapshotError` at once if the snapshot is one of another website.
    """
    given = combined(options, keywords, WebsiteKeywords)
    watching = _Watch(url, snapshot, every, existing=existing)
    stop = stop or threading.Event()
    return _rounds(
        watching,
        url,
        web_client,
        given,
        rounds,
        stop,
        is_sitemap=_is_sitemap(url, is_sitemap),
        trusts=trust_lastmod,
    )


def _rounds(
    watching: _Watch,
    url: str,
    web_client: AbstractWebClient | None,
    options: CrawlOptions,
    rounds: int | None,
    stop: threading.Event,
    *,
    is_sitemap: bool,
    trusts: bool,
) -> Generator[Round, None, None]:
    tree_for = sitemap_tree_for_sitemap if is_sitemap else sitemap_tree_for_homepage
    try:
        while not stop.is_set():
            number, started = watching.begin()
            try:
                if watching.path.exists():
                    done = watching.plan(url, options, trusts=trusts).run(web_client)
                    current = watching.updated(done, number, started)
                else:
                    record = replace(options, record=watching.next)
                    tree = tree_for(url, web_client, options=record)
                    current = watching.recorded(tree, number, started)
            except (OSError, SitemapException) as error:
                current = Round(number, started, error=error)
            yield current
            watching.finish(current)
            if number == rounds or stop.wait(watching.pause()):
                return
    finally:
        watching.discard()


@shows(WebsiteKeywords)
def watch_async(
    url: str,
    snapshot: str | PathLike[str],
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    every: float = 300.0,
    rounds: int | None = None,
    is_sitemap: bool | None = None,
    existing: bool = False,
    trust_lastmod: bool = False,
    options: CrawlOptions | None = None,
    **keywords: Unpack[WebsiteKeywords],
) -> AsyncGenerator[Round, None]:
    """Watch a website on asyncio: like :func:`watch`, with the same options.

    Cancelling the task ends it. A round is compared while somebody iterates over it, in the thread of
    the event loop; ``await asyncio.to_thread(list, round)`` does so in another one.
    """
    given = combined(options, keywords, WebsiteKeywords)
    watching = _Watch(url, snapshot, every, existing=existing)
    return _async_rounds(
        watching,
        url,
        web_client,
        given,
        rounds,
        is_sitemap=_is_sitemap(url, is_sitemap),
        trusts=trust_lastmod,
    )


async def _async_rounds(
    watching: _Watch,
    url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None,
    options: CrawlOptions,
    rounds: int | None,
    *,
    is_sitemap: bool,
    trusts: bool,
) -> AsyncGenerator[Round, None]:
    tree_for = aio.sitemap_tree_for_sitemap if is_sitemap else aio.sitemap_tree_for_homepage
    try:
        while True:
            number, started = watching.begin()
            try:
                if watching.path.exists():
                    plan = await asyncio.to_thread(watching.plan, url, options, trusts=trusts)
                    done = await aio.run_update(plan, web_client)
                    current = await asyncio.to_thread(watching.updated, done, number, started)
                else:
                    record = replace(options, record=watching.next)
                    tree = await tree_for(url, web_client, options=record)
                    current = await asyncio.to_thread(watching.recorded, tree, number, started)
            except (OSError, SitemapException) as error:
                current = Round(number, started, error=error)
            yield current
            watching.finish(current)
            if number == rounds:
                return
            await asyncio.sleep(watching.pause())
    finally:
        watching.discard()
