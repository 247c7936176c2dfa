"""Snapshots: the sitemaps of a website in a WARC file; loaded offline, and updated."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from usp._base.display import counted, duration, excerpt, get_logger, size
from usp._base.filters import is_regular
from usp._base.urls import read_url, with_login
from usp._crawl.thread_driver import crawl_with
from usp._crawl.website import (
    KNOWN_SITEMAP_PATHS,
    Search,
    Website,
    sitemap_search,
    tree_of,
    website_search,
)
from usp._snapshot.replay import KeptAs, replay
from usp._snapshot.snapshot_file import OpenSnapshot, merged_limits, open_snapshot
from usp._snapshot.snapshot_update import HALF, Loss, UpdatePolicy, UpdateRecorder
from usp.exceptions import SitemapException, SnapshotError
from usp.limits import DEFAULT
from usp.objects.abstract_sitemap import page_sitemaps
from usp.objects.failure_codes import FailureCode
from usp.objects.problem import Failure
from usp.objects.sitemap import AbstractSitemap, IndexWebsiteSitemap, fetched_of, keep_fetched
from usp.options import CrawlOptions, WebsiteKeywords, combined, shows

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from usp._snapshot.recorded_responses import ThirdPartyRecords
    from usp.web_client.abstract_client import AbstractWebClient

__all__ = ["SnapshotError", "Update", "load", "update"]

log = get_logger(__name__)

_ALL = frozenset(one.name for one in fields(CrawlOptions))
_PATTERN_TEXT = 2000  # characters of all patterns: each URL is compared with all of them
_ABSENT = 10_000  # sitemaps that are listed in a file and not in it, unless the reader has limits


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
    file when they are iterated over. A snapshot knows where its crawl began and with which options.
    What is in the file is read within the limits that are given, or the default ones; those of the
    recorded crawl, and its filters, only explain why something is not in the file. What is not in the
    file is a failure with the code ``not-in-snapshot``, and a file that was cut off one with
    ``incomplete-snapshot``. Documents that failed in the last update are as they were before, with the
    failure.

    Raises :class:`SnapshotError` for a file that is not a WARC file, or has nothing of the website, and
    ``OSError`` if it cannot be opened.

    Args:
        path: The file.
        url: The website, or the sitemap, to look for in a file of another program that has several.
        last_good: Leave out the failures of the last update.
    """
    begun = time.monotonic()
    given = combined(options, keywords, WebsiteKeywords)
    replayed = replace(given, wait=0.0, crawl_delay=False, record=None)
    snapshot = open_snapshot(path, given.effective_limits)
    kept = KeptAs.GOOD if last_good else None
    own = keywords.keys() if options is None else _ALL
    tree = _tree_in(snapshot, replayed, own, url, kept=kept, begun=begun)
    if given.record is not None:
        tree.save(given.record)
    return tree


def _tree_in(
    snapshot: OpenSnapshot,
    options: CrawlOptions,
    own: Collection[str] = (),
    url: str | None = None,
    *,
    kept: KeptAs | None = None,
    begun: float | None = None,
) -> AbstractSitemap:
    """Return the tree of a snapshot that is open; it says so if that is incomplete.

    ``own`` are the options that the caller decides about, not the file. Documents that failed are shown
    as they were, unless somebody accepted the loss.
    """
    kept = kept or (KeptAs.ABSENT if snapshot.is_accepted else KeptAs.SHOWN)
    recorded = snapshot.options
    chosen = _with_recorded(snapshot, options, own, recorded.values)
    leaves_out = recorded.callbacks or not recorded.filters.keys() <= set(own)
    if leaves_out and chosen.recurse_entry_callback is None:
        chosen = replace(chosen, recurse_entry_callback=lambda child: snapshot.has(child.url))
    if snapshot.unread and own is not _ALL:
        snapshot.is_complete = False
        snapshot.losses.insert(0, snapshot.unread)
    search = _search(snapshot, url, chosen)
    chosen = search.options
    limits = chosen.effective_limits
    if options.limits is None and limits.sitemaps is not None:
        limits = replace(limits, sitemaps=min(limits.sitemaps, snapshot.documents + _ABSENT))
    search = replace(search, options=replace(chosen, limits=limits))
    top = replay(snapshot, search, kept=kept, begun=begun)
    if snapshot.third_party is not None and isinstance(top, Website) and chosen.extra_known_paths:
        search = _without_declared(top)
        top = replay(snapshot, search, begun=begun)
    tree, said = tree_of(top), chosen.limits
    if recorded.limits is not None:  # it says why something is missing in another file, too
        said = merged_limits(min, recorded.limits, chosen.effective_limits)
    was = fetched_of(tree)
    assert was is not None
    fetched = replace(was, options=replace(search.options, limits=said))
    if isinstance(tree, IndexWebsiteSitemap) and not snapshot.is_complete:
        code = FailureCode.INCOMPLETE_SNAPSHOT
        lost = f": {snapshot.losses[0]}" if snapshot.losses else ""
        not_found = [*tree.not_found, Failure(tree.url, f"{code.message}{lost}", code=code)]
        tree = IndexWebsiteSitemap(
            tree.url, tree.sub_sitemaps, not_found=not_found, tried=tree.tried
        )
    keep_fetched(tree, fetched)
    return tree


def _with_recorded(
    snapshot: OpenSnapshot, options: CrawlOptions, own: Collection[str], known: dict[str, Any]
) -> CrawlOptions:
    """Return the options of a crawl: what is known of the recorded one, or the caller's."""
    if snapshot.options.ignored and own is not _ALL:
        names = ", ".join(snapshot.options.ignored)
        log.warning("%s: options in the file that are ignored: %s", snapshot.file.path, names)
    return replace(options, **{name: one for name, one in known.items() if name not in own})


def _search(snapshot: OpenSnapshot, url: str | None, options: CrawlOptions) -> Search:
    """Return where the replay begins, and the options with which it looks for sitemaps."""
    if url is not None and "://" not in url:
        url = _with_scheme(snapshot, url)
    if url is None and snapshot.start is not None:
        kind, start = snapshot.start
        try:
            if kind == "sitemap":
                return sitemap_search(start, options)
            return website_search(start, replace(options, normalize_homepage_url=False))
        except SitemapException as error:
            raise SnapshotError(f"{snapshot.file.path}: {error}") from error
    if snapshot.third_party is None:
        return website_search(url or "", options)
    records = snapshot.third_party
    homepage = url or _only_site(snapshot.file.path, list(records.sites))
    if homepage in records.sitemaps:
        return sitemap_search(homepage, options)
    paths = KNOWN_SITEMAP_PATHS if options.use_known_paths else ()
    there = _present(records, homepage, paths)
    options = replace(options, use_known_paths=False, extra_known_paths=there)
    return website_search(homepage, options)


def _with_scheme(snapshot: OpenSnapshot, site: str) -> str:
    """Return the URL of a website or a sitemap: by https, unless only http is in the file."""
    records = snapshot.third_party
    known = () if records is None else (*records.sites, *records.sitemaps)
    ways = [f"{scheme}://{site}" for scheme in ("https", "http")]
    starts = (
        way for way in ways if any(f"{url}/".startswith(f"{way.rstrip('/')}/") for url in known)
    )
    return next(starts, ways[0])


def _only_site(path: Path, sites: list[str]) -> str:
    names = {site.partition("://")[2].removeprefix("www.") for site in sites}
    if len(names) == 1:
        return sites[0]
    if not names:
        raise SnapshotError(
            f"{path} has no robots.txt and no sitemaps; name the website with url=, or --site"
        )
    shown = ", ".join(sites[:3])
    raise SnapshotError(f"{path} has several websites ({shown} …): choose one with url=, or --site")


def _present(records: ThirdPartyRecords, homepage: str, paths: Iterable[str]) -> list[str]:
    """Return the known paths that are in a file, and without a robots.txt all of its sitemaps."""
    base = homepage if homepage.endswith("/") else f"{homepage}/"
    there = [path for path in paths if records.find(base + path, DEFAULT) is not None]
    if records.find(f"{base}robots.txt", DEFAULT) is None:
        there += [url[len(base) :] for url in records.sitemaps if url.startswith(base)]
    return list(dict.fromkeys(there))


def _without_declared(top: Website) -> Search:
    """Return a search without the paths that a sitemap declares: they are in the tree below it."""
    tree, options = top.tree(), top.crawl.options
    declared = {below.url for node in tree.sub_sitemaps for below in node.all_sitemaps()}
    paths = [path for path in options.extra_known_paths or () if tree.url + path not in declared]
    options = replace(options, extra_known_paths=paths, normalize_homepage_url=False)
    return website_search(tree.url, options)


# Updates -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Update:
    """What came of an update: the tree as it is now, and what the update saved.

    ``requests`` were sent, and ``received`` bytes of documents came. Of the documents of the snapshot
    ``not_modified`` are still the same as their servers say, ``identical`` ones were sent once more,
    ``not_asked`` were trusted to be the same; ``changed`` are different, ``added`` new, ``removed``
    no longer declared or found. ``failed`` documents are missing or incomplete; those of them that are
    in the tree as they were before, because their last good response is kept, are in ``kept``.
    ``not_checked`` were not reached because of a failure or a limit, and are kept as they were.
    ``saved_bytes`` did not have to be received, and ``saved_seconds`` are the difference to the time of
    the last full crawl.

    ``pages_lost`` are the pages that are gone, if they are more of the ``pages_before`` than may be, or
    that could not be read, if they are more than half; otherwise 0. If they are gone, the update needs
    to be accepted: unless it was, ``accepted`` is False, the file and its tree are as they were, and
    ``kept`` has all failures.
    ``warning`` says all that in a sentence, or which sitemaps were kept because they have suddenly lost
    what they had; it is empty otherwise.
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
    accepted: bool = True
    pages_before: int = 0
    pages_lost: int = 0
    warning: str = ""

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
    accept: bool = False,
    max_removed: float = HALF,
    options: CrawlOptions | None = None,
    **keywords: Unpack[WebsiteKeywords],
) -> Update:
    """Bring a snapshot up to date; return the tree as it is now, and what the update saved.

    Each document is requested with the ``ETag`` and ``Last-Modified`` of its last response, so that
    the server sends it only if it has changed. The options are those of the recorded crawl unless
    others are given, except for its limits, and for regular expressions among its patterns: these must
    be given again.

    The file is replaced when the new one is complete. It has the current state only: records of
    responses that have changed or disappeared are dropped.

    One bad moment of the website empties nothing. A document that fails stays as it was, with the
    failure; so does, until the next update finds the same, one that has lost its pages, or most of its
    sitemaps. If more of the pages would be gone than ``max_removed``, because an index is empty or
    robots.txt is not found, no file is written, a warning is logged, and ``update.accepted`` is False.

    Raises :class:`SnapshotError` for a file that is not a snapshot, and ``OSError`` if it cannot be
    read or written.

    Args:
        path: The snapshot.
        trust_lastmod: Do not request sitemaps with the same lastmod in their index as before, nor known
            paths that were not there.
        output: Write the new snapshot to this file, and leave the old one as it is.
        accept: Take the website as it is now, whatever is gone, failures included.
        max_removed: The share of the pages that may be gone at most, by default half of them.
    """
    policy = UpdatePolicy(trust_lastmod, accept, max_removed)
    return UpdatePlan(policy, path, output, options, keywords).run(web_client)


def _check_again(snapshot: OpenSnapshot, own: Collection[str]) -> None:
    """Raise :class:`SnapshotError` if a crawl cannot go on with what the file says about options."""
    path = snapshot.file.path
    if snapshot.unread and own is not _ALL:
        raise SnapshotError(f"{path}: {snapshot.unread}; record the website anew")
    filters = snapshot.options.filters.items()
    patterns = {name: one for name, one in filters if isinstance(one, tuple) and name not in own}
    texts = [text for one in patterns.values() for text in one]
    if any(map(is_regular, texts)) or sum(map(len, texts)) > _PATTERN_TEXT:  # could take for ever
        name, said = next(iter(patterns.items()))
        raise SnapshotError(
            f"{path} was recorded with {name}={excerpt(repr(list(said)), 200)}: regular "
            f"expressions, and very many patterns, are not taken from a file; give {name} again"
        )


class UpdatePlan(UpdateRecorder):
    """An update: where it begins, with which options, and what records it."""

    def __init__(
        self,
        policy: UpdatePolicy,
        path: str | PathLike[str],
        output: str | PathLike[str] | None,
        options: CrawlOptions | None,
        keywords: Any,
    ) -> None:
        given = combined(options, keywords, WebsiteKeywords)
        snapshot = open_snapshot(path, given.effective_limits)
        if snapshot.start is None:
            raise SnapshotError(
                f"{path} was written by another program: record the website with usp snapshot first"
            )
        own = keywords.keys() if options is None else _ALL
        _check_again(snapshot, own)
        recorded = snapshot.options
        known = recorded.values | recorded.filters
        chosen = _with_recorded(snapshot, replace(given, record=None), own, known)
        self.search = replace(_search(snapshot, None, chosen), record=self.begin)
        limits = chosen.effective_limits
        keeps = limits != merged_limits(max, limits, recorded.limits or DEFAULT)
        super().__init__(output or path, self.search.options, snapshot, policy, keeps=keeps)

    def log_in(self, url: str) -> None:
        """Use the login in a URL of the website, if it has one: the snapshot does not have it."""
        login = read_url(url).login
        if login is not None:
            start_url = with_login(self.search.start_url, login)
            self.search = replace(self.search, start_url=start_url)

    def run(self, web_client: AbstractWebClient | None) -> Update:
        """Crawl in threads; return what came of it."""
        crawl_with(self.search, web_client)
        return self.update()

    def lost_by(
        self, after: AbstractSitemap | OpenSnapshot, same: set[str], most: float = HALF
    ) -> Loss | None:
        """Return how many of the pages are not there any more, if that is more than may be."""
        options = CrawlOptions(wait=0.0, crawl_delay=False)
        now = _tree_in(after, options) if isinstance(after, OpenSnapshot) else after
        return _loss(_tree_in(self.before, options), now, same, most)

    def update(self) -> Update:
        """Return what came of it."""
        is_taken = self.gone_pages is None or self.accept
        # Limits that are lower than usual were for the update only.
        limits = merged_limits(max, DEFAULT, self.search.options.effective_limits)
        state = open_snapshot(self.path if is_taken else self.before.file.path, limits)
        tree = _tree_in(state, CrawlOptions(limits=limits))
        failures = (tree if is_taken else self.tree).failures()
        if self.search.options.on_failure is not None:
            for failure in failures:
                self.search.options.on_failure(failure)
        failed = {failure.url for failure in failures}
        # What a refused update would have kept is a failure only in the file that was not written.
        lost = () if is_taken else self.shrunk.values()
        aside = [one for one in (*self.refused.values(), *lost) if one.url not in failed]
        kept = [one for one in failures if not is_taken or one.url in self.kept]
        loss = self.gone_pages or self.unread_pages
        full = self.seconds if self.before.seconds is None else self.before.seconds
        return Update(
            tree,
            requests=self.requests,
            received=self.received,
            removed=self.removed,
            failed=len(failures) + len(aside),
            **self.counts,
            kept=(*kept, *aside),
            accepted=is_taken,
            pages_before=0 if loss is None else loss.before,
            pages_lost=0 if loss is None else loss.before - loss.after,
            warning=self._warning(),
            saved_bytes=self.saved,
            seconds=self.seconds,
            saved_seconds=max(0.0, full - self.seconds),
        )

    def _warning(self) -> str:
        """Return what is to be said loudly, if anything is; it is logged unless it was accepted."""
        gone, unread = self.gone_pages, self.unread_pages
        shrunk = sorted(url for _, url in self.shrunk)
        if gone is None and unread is None and not shrunk:
            return ""
        if self.accept:
            return (
                f"{gone} are gone" if gone else f"{unread} are missing now: they could not be read"
            )
        if gone is not None:
            which = f"{gone} would be gone, for example those of {gone.example}"
            text = f"{which}: nothing was replaced; accept=True, or --accept, takes that"
        elif unread is not None:
            text = f"{unread} could not be read, and are kept as they were"
        else:
            lost = f"{counted(len(shrunk), 'sitemap')} suddenly lost all pages or most sitemaps"
            text = (
                f"{lost}, for example {shrunk[0]}: kept as before; if the next update finds the same, "
                "it is taken; accept=True, or --accept, takes it at once"
            )
        log.warning("%s: %s", self.before.file.path, text)
        return text


def _loss(
    before: AbstractSitemap, after: AbstractSitemap, same: set[str], most: float
) -> Loss | None:
    """Return how many pages two trees have, if more than a share of them is not in the second one.

    Those of the ``same`` sitemaps are counted last, and only until they are enough.
    """
    old, new = ({node.url: node for node in page_sitemaps(tree)} for tree in (before, after))
    same = same & old.keys() & new.keys()
    old_counts, new_counts = (
        {url: node.page_count() for url, node in half.items() if url not in same}
        for half in (old, new)
    )
    pages_before, pages_after = sum(old_counts.values()), sum(new_counts.values())
    for url in same:
        if pages_before - pages_after <= most * pages_before:
            break
        count = old[url].page_count()
        pages_before, pages_after = pages_before + count, pages_after + count
    if pages_before - pages_after <= most * pages_before:
        return None
    return Loss(
        pages_before,
        pages_after,
        next(url for url in old_counts if new_counts.get(url, 0) < old_counts[url]),
    )
