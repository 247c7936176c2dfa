"""Records a crawl while it goes on: a thread of its own writes each document once it is settled."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import usp
from usp._base.display import get_logger
from usp._base.files import NewFile
from usp._crawl.orders import Fetched, FinalResult, Received
from usp._snapshot.snapshot_entries import entry_of
from usp._snapshot.snapshot_file import option_values
from usp._snapshot.warc_writing import SnapshotWriter, need_warcio
from usp.exceptions import SnapshotError
from usp.objects.sitemap import AbstractIndexSitemap, AbstractSitemap

if TYPE_CHECKING:
    from usp._crawl.crawl import Crawl
    from usp._crawl.website import OneSitemap, Website
    from usp._store import Document
    from usp.options import CrawlOptions

log = get_logger(__name__)

_YOUNG = 60.0  # seconds


class NewSnapshot(NewFile):
    """A snapshot that is being written beside the file that it will replace."""

    def __init__(self, path: str | os.PathLike[str], info: dict[str, str]) -> None:
        need_warcio()
        remove_leftovers(path)
        super().__init__(path)
        _lock(self)
        try:
            self.writer = SnapshotWriter(self.stream, info)
        except BaseException:
            self.remove()
            raise

    def finish(self, facts: dict[str, Any]) -> None:
        self.writer.close(facts)
        self.take_place()


class SnapshotRecorder:
    """Takes the documents of a crawl as they are settled, and writes them in a thread of its own."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        crawl: Crawl,
        top: Website | OneSitemap,
        options: CrawlOptions,
    ) -> None:
        self._file = NewSnapshot(path, info_of(top.start, self.recorded(options)))
        self.writer = self._file.writer
        self.started = time.monotonic()
        self._crawl = crawl
        self._top = top
        self._queue: queue.SimpleQueue[FinalResult | None] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self._is_abandoned = False
        self._thread = threading.Thread(target=self._write, name="usp-record", daemon=True)
        self._thread.start()

    keeps_responses: ClassVar[bool] = False
    """Whether the last good responses are kept if there are no pages."""

    def recorded(self, options: CrawlOptions) -> CrawlOptions:
        """Return the options that are written: those with which the file is replayed."""
        return options

    def take(self, documents: Iterable[FinalResult]) -> None:
        """Take what was settled; may be called from any thread."""
        for settled in documents:
            self._queue.put(settled)

    def _write(self) -> None:
        while (settled := self._queue.get()) is not None:
            try:
                if self._error is None and not self._is_abandoned:
                    self.add(settled)
            except BaseException as error:  # noqa: BLE001 - raised where the crawl ends
                self._error = error

    def add(self, settled: FinalResult) -> None:
        """Write a document; called in the thread that writes."""
        self.writer.add(entry_of(settled), document_of(settled))

    def facts(self) -> dict[str, Any]:
        return {"seconds": round(time.monotonic() - self.started, 3)}

    def before_end(self) -> bool:
        """Write what is left, and let go of the file that is about to be replaced, if it is to be."""
        return True

    def close(self, *, keep: bool) -> None:
        """Wait for the thread; ``keep`` what was written, or leave everything as it was."""
        self._is_abandoned = not keep
        self._queue.put(None)
        self._thread.join()
        try:
            if keep and self._crawl.complete and not self._top.is_wrong_guess:
                self._finish()
        finally:
            self._file.remove()

    def _finish(self) -> None:
        if self._error is not None:
            raise self._error
        replaces = self._file.path.exists() and not self.keeps_responses
        if replaces and not lists_pages(self._top.tree()):
            log.warning("No pages were found: %s was left as it was", self._file.path)
        elif self.before_end():
            self._file.finish(self.facts())


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
    try:
        for settled in fetched.documents:
            written = file.writer.add(entry_of(settled), document_of(settled))
            kept = settled.result.kept if isinstance(settled.result, Received) else None
            if kept is not None:
                failed = replace(settled, result=kept.instead)
                file.writer.add(replace(entry_of(failed), last_good=written), document_of(failed))
        file.finish({"seconds": _seconds(fetched.documents)})
    finally:
        file.remove()


def _seconds(documents: Iterable[FinalResult]) -> float:
    """Return how long a crawl took, from its first request to its last byte."""
    times = [
        (known.started.timestamp(), known.seconds)
        for settled in documents
        if (known := settled.result.exchange) is not None and known.started is not None
    ]
    if not times:
        return 0.0
    return round(max(map(sum, times)) - min(times)[0], 3)


def document_of(settled: FinalResult) -> Document | None:
    return settled.result.document if isinstance(settled.result, Received) else None


# What the file says about itself -----------------------------------------------------------------


def info_of(start: tuple[str, str], options: CrawlOptions) -> dict[str, str]:
    return {
        "software": f"usp/{usp.__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "usp-start": json.dumps(dict([start])),
        "usp-options": json.dumps(option_values(options)),
    }


# Files that a killed process has left ------------------------------------------------------------


def _lock(file: NewFile) -> None:
    """Show other processes that somebody is writing."""
    with contextlib.suppress(ImportError, OSError):
        import fcntl  # noqa: PLC0415 - not on Windows

        fcntl.flock(file.stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove the unfinished files that killed processes have left beside a snapshot."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:
        return
    for left in NewFile.unfinished(path):
        with contextlib.suppress(OSError), left.open("rb") as file:
            if time.time() - os.fstat(file.fileno()).st_mtime < _YOUNG:
                continue  # perhaps not locked yet
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()
