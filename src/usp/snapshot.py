"""Snapshots: the sitemaps of a website in a WARC file; loaded offline, and updated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, cast

from usp._base.display import counted, duration, size
from usp._base.urls import read_url, with_login, without_login
from usp._crawl.driving import tree_of
from usp._crawl.thread_driver import crawl_with, own_client
from usp._crawl.website import KNOWN_SITEMAP_PATHS, Website
from usp._snapshot.replay import replay
from usp._snapshot.snapshot import open_snapshot
from usp._snapshot.update import Known, UpdateRecorder, updating
from usp.exceptions import SitemapException, SnapshotError
from usp.limits import DEFAULT
from usp.objects.failure_codes import FailureCode
from usp.objects.problem import Failure
from usp.objects.sitemap import IndexWebsiteSitemap
from usp.options import CrawlOptions, WebsiteKeywords, combined, shows
from usp.tree import sitemap_search, website_search

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike
    from typing import Any, Unpack

    from usp._crawl.crawl import Crawl
    from usp._crawl.website import OneSitemap
    from usp._snapshot.snapshot import Snapshot
    from usp.limits import Limits
    from usp.objects.child import ChildSitemap
    from usp.objects.sitemap import AbstractSitemap
    from usp.web_client.abstract_client import AbstractWebClient

__all__ = ["SnapshotError", "Update", "load", "update"]


@shows(WebsiteKeywords)
def load(
    path: str | PathLike[str],
    url: str | None = None,
    *,
    last_good: bool = False,
    options: CrawlOptions | None = None,
    **keywords: Unpack[WebsiteKeywords],
) -> AbstractSitemap:
    """Return the tree of a snapshot, or of another program's WARC or WACZ file; nothing is fetched.

    The tree is the one that was recorded, failures and problems included. Pages are parsed from the
    file when they are iterated over. A snapshot knows where its crawl began and with which options;
    ``url`` is the website, or the sitemap, to look for in a file of another program if it has several.
    What is not in the file is a failure with the code ``not-in-snapshot``, and a file that was cut off
    one with ``incomplete-snapshot``. With ``last_good``, documents that failed in the last update are
    read from their last good response instead.

    Raises :class:`SnapshotError` for a file that is not a WARC file, or has nothing of the website, and
    ``OSError`` if it cannot be opened.
    """
    given = combined(options, keywords, WebsiteKeywords) if options or keywords else None
    limits = (given and given.limits) or DEFAULT
    snapshot = open_snapshot(path, limits)
    chosen = replace(given or CrawlOptions(), wait=0.0, crawl_delay=False, record=None)
    chosen = _with_recorded(snapshot, chosen, keywords, is_given=options is not None)
    search, chosen = _search(snapshot, url, chosen)
    top = replay(snapshot, search, chosen, last_good=last_good)
    if snapshot.foreign is not None and isinstance(top, Website) and chosen.extra_known_paths:
        search, chosen = _without_declared(top, chosen)
        top = replay(snapshot, search, chosen)
    tree = tree_of(top, chosen)
    tree = _marked(tree, snapshot)
    if given is not None and given.record is not None:
        tree.save(given.record)
    return tree


def _with_recorded(
    snapshot: Snapshot, options: CrawlOptions, keywords: Any, *, is_given: bool
) -> CrawlOptions:
    """Return the options of a replay: those of the crawl, unless the caller has others."""
    recorded = dict(snapshot.options)
    callbacks = recorded.pop("callbacks", False)
    if callbacks and options.recurse_entry_callback is None:
        options = replace(options, recurse_entry_callback=_in(snapshot))
    if is_given:
        return options
    recorded.pop("limits", None)
    known = {
        name: value
        for name, value in recorded.items()
        if name in WebsiteKeywords.__annotations__ and name not in keywords
    }
    try:
        limits = snapshot.limits
        if limits is not None and "limits" not in keywords:
            known["limits"] = limits
        return replace(options, **known)
    except (TypeError, ValueError) as error:
        raise SnapshotError(
            f"{snapshot.file.path} was recorded with other options: {error}"
        ) from error


def _in(snapshot: Snapshot) -> Callable[[ChildSitemap], bool]:
    """Return what leaves out the children that callbacks have excluded when it was recorded."""
    urls = {url for _, url in snapshot.entries}  # without logins
    return lambda child: without_login(child.url.partition("#")[0]) in urls


def _search(
    snapshot: Snapshot, url: str | None, options: CrawlOptions
) -> tuple[Callable[[Crawl], Website | OneSitemap], CrawlOptions]:
    """Return where the replay begins, and the options with which it looks for sitemaps."""
    start = snapshot.start
    try:
        if url is None and "sitemap" in start:
            return sitemap_search(str(start["sitemap"])), options
        if url is None and "website" in start:
            options = replace(options, normalize_homepage_url=False)
            return website_search(str(start["website"]), options), options
    except SitemapException as error:
        raise SnapshotError(f"{snapshot.file.path}: {error}") from error
    foreign = snapshot.foreign
    if foreign is None:
        homepage = url or ""
    else:
        homepage = url or _only_site(snapshot)
        if homepage in foreign.sitemaps:
            return sitemap_search(homepage), options
        paths = [*KNOWN_SITEMAP_PATHS] if options.use_known_paths else []
        options = replace(
            options, use_known_paths=False, extra_known_paths=_present(snapshot, homepage, paths)
        )
    return website_search(homepage, options), options


def _only_site(snapshot: Snapshot) -> str:
    """Return the website of a file that has only one."""
    assert snapshot.foreign is not None
    sites = list(snapshot.foreign.sites)
    names = {site.partition("://")[2].removeprefix("www.") for site in sites}
    if len(names) == 1:
        return sites[0]
    if not names:
        raise SnapshotError(
            f"{snapshot.file.path} has no robots.txt and no sitemaps; "
            "name the website with url=, or --site"
        )
    shown = ", ".join(sites[:3])
    raise SnapshotError(
        f"{snapshot.file.path} has several websites ({shown} …): choose one with url=, or --site"
    )


def _present(snapshot: Snapshot, homepage: str, paths: list[str]) -> list[str]:
    """Return the known paths that are in a file, and without a robots.txt all of its sitemaps."""
    foreign = snapshot.foreign
    assert foreign is not None
    base = homepage if homepage.endswith("/") else f"{homepage}/"
    there = [path for path in paths if foreign.find(base + path, DEFAULT) is not None]
    if foreign.find(f"{base}robots.txt", DEFAULT) is None:
        there += [url[len(base) :] for url in foreign.sitemaps if url.startswith(base)]
    return list(dict.fromkeys(there))


def _without_declared(
    top: Website, options: CrawlOptions
) -> tuple[Callable[[Crawl], Website | OneSitemap], CrawlOptions]:
    """Return a search without the paths that a sitemap declares: they are in the tree below it."""
    tree = top.tree()
    declared = {below.url for node in tree.sub_sitemaps for below in node.all_sitemaps()}
    paths = [path for path in options.extra_known_paths or () if tree.url + path not in declared]
    options = replace(options, extra_known_paths=paths, normalize_homepage_url=False)
    return website_search(tree.url, options), options


def _marked(tree: AbstractSitemap, snapshot: Snapshot) -> AbstractSitemap:
    """Return a tree that says that its snapshot is incomplete, if it is."""
    if snapshot.is_complete or not isinstance(tree, IndexWebsiteSitemap):
        return tree
    code = FailureCode.INCOMPLETE_SNAPSHOT
    lost = f": {snapshot.losses[0]}" if snapshot.losses else ""
    failure = Failure(tree.url, f"{code.message}{lost}", code=code)
    marked = IndexWebsiteSitemap(
        tree.url, tree.sub_sitemaps, not_found=[*tree.not_found, failure], tried=tree.tried
    )
    marked.keep(tree.fetched)
    return marked


# Updates -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Update:
    """What came of an update: the tree as it is now, and what the update has spared.

    ``requests`` were sent, and ``received`` bytes of documents came. Of the documents of the snapshot
    ``not_modified`` are still the same as their servers say, ``identical`` ones were sent once more,
    ``not_asked`` were trusted to be the same; ``changed`` are different, ``added`` new, ``removed``
    no longer declared or found. ``failed`` documents are missing or incomplete; those of them that are
    not failures of the tree, such as a robots.txt that is an HTML page now, are in ``kept``, because
    their last good response is kept. ``not_checked`` were not reached because of a failure or a limit,
    and are kept as they were.
    ``saved_bytes`` did not have to be received, and ``saved_seconds`` are the difference to the time of
    the last full crawl.
    """

    tree: AbstractSitemap
    requests: int
    received: int
    added: int
    changed: int
    removed: int
    failed: int
    identical: int
    not_modified: int
    not_asked: int
    saved_bytes: int
    seconds: float
    saved_seconds: float
    not_checked: int = 0
    kept: tuple[Failure, ...] = ()

    NUMBERS: ClassVar = (
        *("requests", "received", "added", "changed", "removed", "failed", "identical"),
        *("not_modified", "not_asked", "not_checked"),
        *("saved_bytes", "seconds", "saved_seconds"),
    )

    @property
    def unchanged(self) -> int:
        """How many documents are the same as before."""
        return self.not_modified + self.identical + self.not_asked

    def __str__(self) -> str:
        """Return the summary on one line."""
        unchecked = f", {self.not_checked} not checked and kept" if self.not_checked else ""
        return (
            f"{self.changed} changed, {self.added} new, {self.removed} removed, "
            f"{self.failed} failed, {self.unchanged} unchanged{unchecked}; "
            f"{counted(self.requests, 'request')}, {size(self.received)} received in "
            f"{duration(self.seconds)}; saved {size(self.saved_bytes)} and "
            f"{duration(self.saved_seconds)}"
        )


@shows(WebsiteKeywords)
def update(
    path: str | PathLike[str],
    web_client: AbstractWebClient | None = None,
    *,
    trust_lastmod: bool = False,
    output: str | PathLike[str] | None = None,
    options: CrawlOptions | None = None,
    **keywords: Unpack[WebsiteKeywords],
) -> Update:
    """Bring a snapshot up to date; return the tree as it is now, and what the update has spared.

    Each document is requested with the ``ETag`` and ``Last-Modified`` of its last response, so that
    the server sends it only if it has changed. With ``trust_lastmod``, sitemaps whose index declares
    them with the same lastmod as before are not requested at all, nor are known paths that were not
    there. The options are those of the recorded crawl unless others are given.

    The file is replaced when the new one is complete, or the new one is written to ``output``. It has
    the current state only: records of responses that have changed or disappeared are dropped.

    Raises :class:`SnapshotError` for a file that is not a snapshot, and ``OSError`` if it cannot be
    read or written.
    """
    plan = UpdatePlan.of(path, output, trust_lastmod, options, keywords)
    return plan.run(web_client)


def _recorded_limits(snapshot: Snapshot) -> Limits | None:
    try:
        return snapshot.limits
    except (TypeError, ValueError) as error:
        raise SnapshotError(
            f"{snapshot.file.path} was recorded with other options: {error}"
        ) from error


class UpdatePlan:
    """An update: where it begins, with which options, and what records it."""

    def __init__(
        self,
        snapshot: Snapshot,
        target: str | PathLike[str],
        options: CrawlOptions,
        *,
        trusts: bool,
    ) -> None:
        self.search, self.options = _search(snapshot, None, options)
        self.start = next(iter(snapshot.start.values()))
        limits = options.effective_limits
        self.known = Known(snapshot, limits, trust_lastmod=trusts)
        self._target = target
        self._keeps = limits != (_recorded_limits(snapshot) or DEFAULT)
        self._recorder: UpdateRecorder | None = None

    @classmethod
    def of(
        cls,
        path: str | PathLike[str],
        output: str | PathLike[str] | None,
        trust_lastmod: bool,
        options: CrawlOptions | None,
        keywords: Any,
    ) -> UpdatePlan:
        """Return how a snapshot is updated: with its own options, unless others are given."""
        given = (
            combined(options, keywords, WebsiteKeywords) if options or keywords else CrawlOptions()
        )
        snapshot = open_snapshot(path, given.effective_limits)
        if not snapshot.start:
            raise SnapshotError(
                f"{path} was written by another program: record the website with usp snapshot first"
            )
        given = replace(given, record=None)
        chosen = _with_recorded(snapshot, given, keywords, is_given=options is not None)
        asked = given.recurse_entry_callback  # without one, nothing is excluded any more
        chosen = replace(chosen, recurse_entry_callback=asked)
        return cls(snapshot, output or path, chosen, trusts=trust_lastmod)

    def log_in(self, url: str) -> None:
        """Use the login in a URL of the website, if it has one: the snapshot does not have it."""
        login = read_url(url).login
        if login is not None:
            self.start = with_login(self.start, login)

    def run(self, web_client: AbstractWebClient | None) -> Update:
        """Crawl in threads; return what came of it."""
        given = own_client() if web_client is None else web_client
        client = cast("AbstractWebClient", updating(given, self.known))
        crawl_with(self.search, self.start, client, self.options, self.recorder)
        return self.update()

    def recorder(self, crawl: Crawl, top: Website | OneSitemap) -> UpdateRecorder:
        """Return what records the crawl."""
        options = self.options
        self._recorder = UpdateRecorder(
            self._target, crawl, top, options, self.known, keeps=self._keeps
        )
        return self._recorder

    def update(self) -> Update:
        """Return what came of it."""
        recorder = self._recorder
        assert recorder is not None
        tree = load(self._target)
        if self.options.on_failure is not None:
            for failure in tree.failures():
                self.options.on_failure(failure)
        failed = {failure.url for failure in tree.failures()}
        kept = tuple(one for url, one in recorder.refused.items() if url not in failed)
        before = self.known.snapshot.facts.get("seconds")
        full = float(before) if isinstance(before, int | float) else recorder.seconds
        return Update(
            tree,
            requests=self.known.requests + recorder.hops,
            received=recorder.received,
            removed=recorder.removed + len(recorder.gone),
            failed=len(tree.failures()) + len(kept),
            **recorder.counts,
            kept=kept,
            saved_bytes=recorder.saved,
            seconds=recorder.seconds,
            saved_seconds=max(0.0, full - recorder.seconds),
        )
