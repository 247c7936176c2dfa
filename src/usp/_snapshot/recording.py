"""Records a crawl while it goes on: a thread of its own writes each document as its fetch ends."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import usp
from usp._base.display import get_logger
from usp._crawl.orders import Fetched, FinalResult, Received
from usp._snapshot.snapshot_entries import entry_of
from usp._snapshot.snapshot_file import option_values
from usp._snapshot.warc_writing import NewSnapshot
from usp.exceptions import SnapshotError
from usp.objects.sitemap import AbstractIndexSitemap, AbstractSitemap

if TYPE_CHECKING:
    import os

    from usp._crawl.crawl import Crawl
    from usp._crawl.website import OneSitemap, Website
    from usp.options import CrawlOptions

log = get_logger(__name__)


class SnapshotRecorder:
    """Takes the documents of a crawl as their fetches end, and writes them in a thread of its own."""

    file: NewSnapshot
    started: float
    _crawl: Crawl
    _top: Website | OneSitemap

    def __init__(self, path: str | os.PathLike[str], options: CrawlOptions) -> None:
        self.path = path
        self._recorded = options
        self._thread = ThreadPoolExecutor(1, "usp-record")
        self._error: BaseException | None = None

    def begin(self, crawl: Crawl, top: Website | OneSitemap) -> Self:
        """Begin to write the documents of a crawl."""
        self.file = NewSnapshot(self.path, info_of(top.start, self._recorded))
        self.started, self._crawl, self._top = time.monotonic(), crawl, top
        return self

    def take(self, documents: Iterable[FinalResult]) -> None:
        """Take documents; may be called from any thread."""
        for final in documents:
            self._thread.submit(self._write, final)

    def _write(self, final: FinalResult) -> None:
        try:
            if self._error is None:
                self.add(final)
        except BaseException as error:  # noqa: BLE001 - raised where the crawl ends
            self._error = error

    def add(self, final: FinalResult) -> None:
        """Write a document; called in the thread that writes."""
        self.file.add(*entry_of(final))

    def facts(self) -> dict[str, Any]:
        return {"seconds": round(time.monotonic() - self.started, 3)}

    def before_end(self) -> bool:
        """Write what is left; return whether the new file is to replace what is there."""
        if self.file.path.exists() and not lists_pages(self._top.tree()):
            log.warning("No pages were found: %s was left as it was", self.file.path)
            return False
        return True

    def close(self, *, keep: bool) -> None:
        """Wait for the thread; ``keep`` what was written, or leave everything as it was."""
        self._thread.shutdown(cancel_futures=not keep)
        with self.file:
            if keep and self._crawl.complete and not self._top.is_wrong_guess:
                if self._error is not None:
                    raise self._error
                if self.before_end():
                    self.file.finish(self.facts())


def lists_pages(tree: AbstractSitemap) -> bool:
    """Return whether there is a page in a tree, or a sitemap that was skipped and may have some."""
    nodes = (tree, *tree.all_sitemaps())
    skips = any(isinstance(node, AbstractIndexSitemap) and node.skipped for node in nodes)
    return skips or next(tree.all_pages(), None) is not None


def save(fetched: Fetched | None, path: str | os.PathLike[str]) -> None:
    """Write what a tree was read from to a snapshot."""
    if not isinstance(fetched, Fetched):
        raise SnapshotError(
            "this is not the root of a tree that was crawled or loaded: its documents are not at hand"
        )
    file = NewSnapshot(path, info_of(fetched.start, fetched.options))
    with file:
        for final in fetched.documents:
            written = file.add(*entry_of(final))
            kept = final.result.kept if isinstance(final.result, Received) else None
            if kept is not None:
                entry, document = entry_of(replace(final, result=kept.instead))
                file.add(replace(entry, last_good=written), document)
        file.finish({"seconds": _seconds(fetched.documents)})


def _seconds(documents: Iterable[FinalResult]) -> float:
    """Return how long a crawl took, from its first request to its last byte."""
    known = (final.result.exchange for final in documents)
    times = [(one.started.timestamp(), one.seconds) for one in known if one and one.started]
    return round(max(map(sum, times)) - min(times)[0], 3) if times else 0.0


def info_of(start: tuple[str, str], options: CrawlOptions) -> dict[str, str]:
    """Return what a file says about itself."""
    return {
        "software": f"usp/{usp.__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "usp-start": json.dumps(dict([start])),
        "usp-options": json.dumps(option_values(options)),
    }
