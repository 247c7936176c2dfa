"""Snapshots: the sitemaps of a website in a WARC file; loaded offline, and updated."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Unpack

from usp._base.display import counted, duration, get_logger, size
from usp._crawl.thread_driver import crawl_with
from usp._snapshot.recording import HALF, UpdatePolicy, UpdateRecorder
from usp._snapshot.replay import ALL, KeptAs, tree_in
from usp._snapshot.snapshot_file import merged_limits, open_snapshot
from usp.exceptions import SnapshotError
from usp.limits import DEFAULT
from usp.options import CrawlOptions, WebsiteKeywords, combined, shows

if TYPE_CHECKING:
    from os import PathLike

    from usp.objects.problem import Failure
    from usp.objects.sitemap import AbstractSitemap
    from usp.web_client.abstract_client import AbstractWebClient

__all__ = ["SnapshotError", "Update", "load", "update"]

log = get_logger(__name__)


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
    own = keywords.keys() if options is None else ALL
    tree = tree_in(snapshot, replayed, own, url, kept=kept, begun=begun)
    if given.record is not None:
        tree.save(given.record)
    return tree


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
    return run_update(UpdateRecorder(policy, path, output, options, keywords), web_client)


def run_update(plan: UpdateRecorder, web_client: AbstractWebClient | None) -> Update:
    """Crawl in threads; return what came of an update."""
    crawl_with(plan.search, web_client)
    return update_of(plan)


def update_of(done: UpdateRecorder) -> Update:
    """Return what came of an update, once its crawl is over."""
    is_taken = done.gone_pages is None or done.policy.accept
    # Limits that are lower than usual were for the update only.
    limits = merged_limits(max, DEFAULT, done.search.options.effective_limits)
    state = open_snapshot(done.path if is_taken else done.before.file.path, limits)
    tree = tree_in(state, CrawlOptions(limits=limits))
    failures = (tree if is_taken else done.tree).failures()
    if done.search.options.on_failure is not None:
        for failure in failures:
            done.search.options.on_failure(failure)
    failed = {failure.url for failure in failures}
    # What a refused update would have kept is a failure only in the file that was not written.
    lost = () if is_taken else done.shrunk.values()
    aside = [one for one in (*done.refused.values(), *lost) if one.url not in failed]
    kept = [one for one in failures if not is_taken or one.url in done.kept]
    loss = done.gone_pages or done.unread_pages
    full = done.seconds if done.before.seconds is None else done.before.seconds
    return Update(
        tree,
        requests=done.requests,
        received=done.received,
        removed=done.removed,
        failed=len(failures) + len(aside),
        **done.counts,
        kept=(*kept, *aside),
        accepted=is_taken,
        pages_before=0 if loss is None else loss.before,
        pages_lost=0 if loss is None else loss.before - loss.after,
        warning=_warning(done),
        saved_bytes=done.saved,
        seconds=done.seconds,
        saved_seconds=max(0.0, full - done.seconds),
    )


def _warning(done: UpdateRecorder) -> str:
    """Return what is to be said loudly, if anything is; it is logged unless it was accepted."""
    gone, unread = done.gone_pages, done.unread_pages
    shrunk = sorted(url for _, url in done.shrunk)
    if gone is None and unread is None and not shrunk:
        return ""
    if done.policy.accept:
        return f"{gone} are gone" if gone else f"{unread} are missing now: they could not be read"
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
    log.warning("%s: %s", done.before.file.path, text)
    return text
