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
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from usp import aio
from usp._base.files import locked
from usp._base.recrawl_policy import DAY, MINUTE, RecrawlPolicy
from usp._base.urls import without_login
from usp._inputs import tree_of, tree_of_async, web_input
from usp._snapshot.recording import HALF, UpdatePolicy, UpdateRecorder
from usp._snapshot.snapshot_file import start_of
from usp._snapshot.warc_writing import warcio_modules
from usp.changes import Diff
from usp.changes.change_values import ChangeKind, PageChange
from usp.exceptions import SitemapException, SnapshotError
from usp.helpers import strip_url_to_homepage
from usp.objects.sitemap import AbstractPagesSitemap, AbstractSitemap, IndexWebsiteSitemap
from usp.options import CrawlOptions, WebsiteKeywords, combined, shows
from usp.snapshot import Update, load, run_update

if TYPE_CHECKING:
    from os import PathLike

    from usp.objects.problem import Failure
    from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient

__all__ = ["Round", "watch", "watch_async"]

_SHIFT = 0.1  # of a pause, by which it is longer or shorter
_NEXT = ".next"
_OWN_RHYTHM = RecrawlPolicy(shortest=5 * MINUTE, longest=DAY, pace=1 / 24)
"""Of the sitemaps of one website: what changes once a day is requested every hour."""


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
        return (change for change in self.changes() if change.kind is not ChangeKind.REMOVED)

    def removed(self) -> Iterator[PageChange]:
        """Yield the pages that are gone, for certain: a sitemap that fails removes nothing."""
        return (change for change in self.changes() if change.kind is ChangeKind.REMOVED)

    def changes(self) -> Iterator[PageChange]:
        """Yield the pages that are new or changed, then those that are gone."""
        kinds = {ChangeKind.ADDED, ChangeKind.CHANGED, ChangeKind.REMOVED}
        for change in self.diff or ():
            # With existing, also those that nobody could know of.
            known = change.kind is not ChangeKind.UNKNOWN or not self.existing
            if isinstance(change, PageChange) and (change.kind in kinds if known else change.after):
                yield change

    def retry(self) -> None:
        """Let the next round give these changes again: something went wrong with them."""
        self._is_done = False

    @property
    def is_done(self) -> bool:
        """Whether the changes need not come again."""
        return self._is_done and self.error is None


@dataclass
class _Watch:
    """The rounds of a watch, but for the requests."""

    url: str
    path: Path
    every: float | None
    options: CrawlOptions
    is_sitemap: bool | None = None
    existing: bool = False
    policy: UpdatePolicy = field(default_factory=UpdatePolicy)
    number: int = 0
    _begun: float = 0.0
    _plan: UpdateRecorder | None = None

    def __post_init__(self) -> None:
        every, path = self.every, self.path
        warcio_modules()  # without which each round would fail
        if every is None:
            self.policy = replace(self.policy, schedule=_OWN_RHYTHM)
        elif isinstance(every, bool) or not isinstance(every, int | float) or not every > 0:
            raise ValueError(f"every must be a positive number of seconds, not {every!r}")
        self.next = path.with_name(f".{path.name}{_NEXT}")
        self.start = web_input(self.url, is_sitemap=self.is_sitemap)
        self.recording = replace(self.options, record=self.next)
        if path.exists():
            known = start_of(path)
            if known is None:
                raise SnapshotError(f"{path} is not a snapshot that usp has written")
            url = without_login(self.url.strip())
            if known.rstrip("/") != url.rstrip("/") and strip_url_to_homepage(url) != known:
                given = without_login(self.url)
                raise SnapshotError(f"{path} is a snapshot of {known}, not of {given}")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Watch as the only one; raises :class:`SnapshotError` if another watch has the snapshot."""
        try:
            with locked(self.path):
                try:
                    yield
                finally:
                    self.discard()
        except BlockingIOError as error:
            raise SnapshotError(
                f"{self.path} is in use by another watch: end that one, or name another snapshot"
            ) from error

    def begin(self) -> Round:
        """Begin a round; return it as far as it is known."""
        self.number += 1
        self._begun = time.monotonic()  # which no change of the clock moves
        return Round(self.number, datetime.now(UTC), existing=self.existing)

    def plan(self) -> UpdateRecorder:
        """Return how a later round is fetched: with the login of the URL, as the first one."""
        policy = replace(self.policy, due_only=self.number > 1)
        self._plan = plan = UpdateRecorder(policy, self.path, self.next, self.options, {})
        plan.log_in(self.start.url)
        return plan

    def recorded(self, begun: Round, tree: AbstractSitemap) -> Round:
        """Return the first round: the website as it is."""
        failures = tuple(tree.failures())
        first = replace(begun, first=True, failures=failures)
        has_pages = any(isinstance(node, AbstractPagesSitemap) for node in tree.all_sitemaps())
        if failures and not has_pages and not isinstance(tree, AbstractPagesSitemap):
            why = failures[0].brief  # a snapshot of nothing would make everything new, or nothing
            return replace(first, error=SitemapException(why))
        if not self.existing:
            return first
        now = load(self.next, limits=self.options.limits)
        return replace(first, diff=Diff(IndexWebsiteSitemap(tree.url, []), now))

    def updated(self, begun: Round, done: Update) -> Round:
        """Return a later round: what changed, or why that is not to be believed."""
        later = replace(begun, update=done)
        if not done.accepted:
            return replace(later, failures=done.kept, error=SnapshotError(done.warning))
        diff = None
        if done.changed or done.added or done.removed:
            limits, paths = self.options.limits, (self.path, self.next)
            diff = Diff(*(load(path, last_good=True, limits=limits) for path in paths))
        return replace(later, failures=tuple(done.tree.failures()), diff=diff)

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
        every = self.every
        if every is None:
            due = self._plan and self._plan.next_due()
            every = _OWN_RHYTHM.bounded((due or 0.0) - time.time()) / (1 - _SHIFT)  # not too early
        return max(0.0, self._begun + every * shift - time.monotonic())

    def rounds(
        self, web_client: AbstractWebClient | None, most: int | None, stop: threading.Event
    ) -> Generator[Round, None, None]:
        """Yield rounds until there were so many, or somebody stops."""
        with self._alone():
            while not stop.is_set():
                current = self.begin()
                try:
                    if self.path.exists():
                        current = self.updated(current, run_update(self.plan(), web_client))
                    else:
                        tree = tree_of(self.start, web_client, self.recording)
                        current = self.recorded(current, tree)
                except (OSError, SitemapException) as error:
                    current.error = error
                yield current
                self.finish(current)
                if self.number == most or stop.wait(self.pause()):
                    return

    async def async_rounds(
        self, web_client: AbstractAsyncWebClient | AbstractWebClient | None, most: int | None
    ) -> AsyncGenerator[Round, None]:
        """Yield rounds on asyncio."""
        with self._alone():
            while True:
                current = self.begin()
                try:
                    if self.path.exists():
                        plan = await asyncio.to_thread(self.plan)
                        done = await aio.run_update(plan, web_client)
                        current = await asyncio.to_thread(self.updated, current, done)
                    else:
                        tree = await tree_of_async(self.start, web_client, self.recording)
                        current = await asyncio.to_thread(self.recorded, current, tree)
                except (OSError, SitemapException) as error:
                    current.error = error
                yield current
                self.finish(current)
                if self.number == most:
                    return
                await asyncio.sleep(self.pause())


@shows(WebsiteKeywords)
def watch(
    url: str,
    snapshot: str | PathLike[str],
    web_client: AbstractWebClient | None = None,
    *,
    every: float | None = None,
    rounds: int | None = None,
    is_sitemap: bool | None = None,
    existing: bool = False,
    trust_lastmod: bool = False,
    accept: bool = False,
    max_removed: float = HALF,
    stop: threading.Event | None = None,
    options: CrawlOptions | None = None,
    **keywords: Unpack[WebsiteKeywords],
) -> Generator[Round, None, None]:
    """Watch a website, or one sitemap: yield round after round, without an end.

    A round gives the pages that are new or changed since the last one. The snapshot is the state: it is
    written in the first round, in which nothing is new, and replaced after each of the others, when
    the next one is asked for. Changes that were not dealt with until then, because the process has
    ended or ``round.retry()`` was called, come again. A round that fails is given too, with its
    ``error``, and the next one tries again.

    Raises :class:`usp.SnapshotError` at once if the snapshot is one of another website, or if the extra
    ``warc`` is missing.

    Args:
        url: The URL of the website, or of the sitemap.
        snapshot: The file with the state.
        every: Seconds from one round to the next, in which all sitemaps are requested. Without it, each
            sitemap has its own rhythm, from five minutes to a day: the more often it has changed, the
            sooner it is requested again, and one whose date in its index changes at once. The first
            round requests all of them.
        rounds: How many rounds there are; None for no end.
        is_sitemap: Whether the URL is that of one sitemap, if it does not look like what it is.
        existing: Take all pages for new in the first round.
        trust_lastmod: As for ``usp.update``.
        accept: As for ``usp.update``.
        max_removed: As for ``usp.update``.
        stop: Ends a pause, and with it the watch.
    """
    given = combined(options, keywords, WebsiteKeywords)
    policy = UpdatePolicy(trust_lastmod, accept, max_removed)
    watching = _Watch(url, Path(snapshot), every, given, is_sitemap, existing, policy)
    return watching.rounds(web_client, rounds, stop or threading.Event())


@shows(WebsiteKeywords, watch)
def watch_async(
    url: str,
    snapshot: str | PathLike[str],
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    every: float | None = None,
    rounds: int | None = None,
    is_sitemap: bool | None = None,
    existing: bool = False,
    trust_lastmod: bool = False,
    accept: bool = False,
    max_removed: float = HALF,
    options: CrawlOptions | None = None,
    **keywords: Unpack[WebsiteKeywords],
) -> AsyncGenerator[Round, None]:
    """Watch a website on asyncio: like :func:`watch`, with the same options.

    Cancelling the task ends it. A round is compared while somebody iterates over it, in the thread of
    the event loop; ``await asyncio.to_thread(list, round)`` does so in another one.
    """
    given = combined(options, keywords, WebsiteKeywords)
    policy = UpdatePolicy(trust_lastmod, accept, max_removed)
    watching = _Watch(url, Path(snapshot), every, given, is_sitemap, existing, policy)
    return watching.async_rounds(web_client, rounds)
