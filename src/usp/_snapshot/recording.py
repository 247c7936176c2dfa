"""Records a crawl while it goes on: a thread of its own writes each document once it is settled."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import queue
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import TYPE_CHECKING, Any, ClassVar

import usp
from usp._base.files import NewFile
from usp._base.safe_text import get_logger
from usp._crawl.orders import Fetched, Received
from usp._snapshot.entries import entry_of
from usp._snapshot.writing import SnapshotWriter, need_warcio
from usp.exceptions import SnapshotError
from usp.options import CrawlOptions

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import Future
    from pathlib import Path

    from usp._crawl.crawl import Crawl
    from usp._crawl.orders import Settled
    from usp._crawl.website import OneSitemap, Website
    from usp._snapshot.writing import Packed
    from usp._store import Document
    from usp.objects.exchange import Exchange

_WRITTEN = (
    *("use_robots", "use_known_paths", "extra_known_paths", "use_html_links"),
    *("normalize_homepage_url", "include_sitemaps", "exclude_sitemaps"),
)
log = get_logger(__name__)

_PACKERS = 2  # threads that compress
_LARGE = 256 * 1024  # bytes that are worth a thread
_YOUNG = 60.0  # seconds
_CALLBACKS = ("recurse_callback", "recurse_list_callback", "recurse_entry_callback")


class SnapshotFile:
    """A snapshot that is being written beside the file that it will replace."""

    def __init__(self, path: str | os.PathLike[str], info: dict[str, str]) -> None:
        need_warcio()
        remove_leftovers(path)
        self._file = NewFile(path)
        _lock(self._file)
        try:
            self.writer = SnapshotWriter(self._file.stream, info)
        except BaseException:
            self._file.remove()
            raise

    @property
    def path(self) -> Path:
        """Where the file will be."""
        return self._file.path

    @property
    def replaces(self) -> bool:
        """Whether there is a file already."""
        return self._file.path.exists()

    def finish(self, facts: dict[str, Any]) -> None:
        """Write the end, and move the file into place."""
        try:
            self.writer.close(facts)
            self._file.take_place()
        finally:
            self._file.remove()

    def discard(self) -> None:
        """Leave everything as it was."""
        self._file.remove()


class Recorder:
    """Takes the documents of a crawl as they are settled, and writes them in a thread of its own."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        crawl: Crawl,
        top: Website | OneSitemap,
        options: CrawlOptions,
    ) -> None:
        self._file = SnapshotFile(path, info_of(top.start, self.recorded(options)))
        self.started = time.monotonic()
        self._crawl = crawl
        self._top = top
        self._queue: queue.SimpleQueue[Settled | None] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self._has_documents = False
        self._is_abandoned = False
        self._thread = threading.Thread(target=self._write, name="usp-record", daemon=True)
        self._thread.start()

    keeps_responses: ClassVar[bool] = False
    """Whether the last good responses are kept if nothing is received."""

    def recorded(self, options: CrawlOptions) -> CrawlOptions:
        """Return the options that are written: those with which the file is replayed."""
        return options

    def take(self, documents: Iterable[Settled]) -> None:
        """Take what was settled; may be called from any thread."""
        for settled in documents:
            self._has_documents |= isinstance(settled.result, Received)
            self._queue.put(settled)

    def _write(self) -> None:
        """Write what comes, in its order, while the next ones are being compressed."""
        pending: deque[tuple[Settled, Future[Packed | None] | None]] = deque()
        with ThreadPoolExecutor(_PACKERS, "usp-record") as pool:
            while (settled := self._queue.get()) is not None:
                document = document_of(settled)
                packs = document is not None and document.size > _LARGE and not self._is_over
                pending.append((settled, pool.submit(self.pack, settled) if packs else None))
                if len(pending) > _PACKERS:
                    self._write_one(*pending.popleft())
            while pending:
                self._write_one(*pending.popleft())

    def _write_one(self, settled: Settled, packing: Future[Packed | None] | None) -> None:
        try:
            packed = None if packing is None else packing.result()
            if not self._is_over:
                self.add(self._file.writer, settled, packed)
            elif packed is not None:
                packed.data.close()
        except BaseException as error:  # noqa: BLE001 - raised where the crawl ends
            self._error = self._error or error

    @property
    def _is_over(self) -> bool:
        return self._error is not None or self._is_abandoned

    def pack(self, settled: Settled) -> Packed | None:
        """Return the compressed response of a large document; called in any thread."""
        document = document_of(settled)
        return None if document is None else self._file.writer.pack(entry_of(settled), document)

    def add(self, writer: SnapshotWriter, settled: Settled, packed: Packed | None) -> None:
        """Write a document; called in the thread that writes."""
        writer.add(entry_of(settled), document_of(settled), packed)

    def facts(self) -> dict[str, Any]:
        """Return what the last record says."""
        return {"seconds": round(time.monotonic() - self.started, 3)}

    def before_end(self, writer: SnapshotWriter) -> None:
        """Write what is left, and let go of the file that is about to be replaced."""

    def close(self, *, keep: bool) -> None:
        """Wait for the thread; ``keep`` what was written, or leave everything as it was."""
        self._is_abandoned = not keep
        self._queue.put(None)
        self._thread.join()
        keep = keep and self._crawl.complete and not self._top.is_wrong_guess
        if (
            keep
            and not (self._has_documents or self._error or self.keeps_responses)
            and (self._file.replaces)
        ):
            log.warning("Nothing was received: %s was left as it was", self._file.path)
            keep = False
        if not keep or self._error is not None:
            self._file.discard()
            if keep and self._error is not None:
                raise self._error
            return
        try:
            self.before_end(self._file.writer)
        except BaseException:
            self._file.discard()
            raise
        self._file.finish(self.facts())


def save(fetched: Fetched | None, path: str | os.PathLike[str]) -> None:
    """Write what a tree was read from to a snapshot."""
    if not isinstance(fetched, Fetched):
        raise SnapshotError(
            "this is not the root of a tree that was crawled or loaded: its documents are not at hand"
        )
    file = SnapshotFile(path, info_of(fetched.start, fetched.options))
    try:
        for settled in fetched.documents:
            file.writer.add(entry_of(settled), document_of(settled))
    except BaseException:
        file.discard()
        raise
    file.finish({"seconds": _seconds(fetched.documents)})


def _seconds(documents: Iterable[Settled]) -> float:
    """Return how long a crawl took, from its first request to its last byte."""
    exchanges = [
        known
        for settled in documents
        if (known := exchange_of(settled)) is not None and known.started is not None
    ]
    if not exchanges:
        return 0.0
    begun = [known.started.timestamp() for known in exchanges if known.started is not None]
    ended = [at + known.seconds for at, known in zip(begun, exchanges, strict=True)]
    return round(max(ended) - min(begun), 3)


def exchange_of(settled: Settled) -> Exchange | None:
    """Return what was said when a document was fetched, if it was asked for."""
    result = settled.result
    return result.document.exchange if isinstance(result, Received) else result.exchange


def document_of(settled: Settled) -> Document | None:
    """Return the document that came, if one did."""
    return settled.result.document if isinstance(settled.result, Received) else None


# What the file says about itself -----------------------------------------------------------------


def info_of(start: tuple[str, str], options: CrawlOptions) -> dict[str, str]:
    """Return the fields of the first record."""
    return {
        "software": f"usp/{usp.__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "usp-start": json.dumps(dict([start])),
        "usp-options": json.dumps(_option_values(options)),
    }


def _option_values(options: CrawlOptions) -> dict[str, Any]:
    """Return the options that decide what is in the tree; none of them is a secret."""
    usual = CrawlOptions()
    values = {
        name: value
        for name in _WRITTEN
        if (value := getattr(options, name)) != getattr(usual, name)
    }
    since = options.sitemaps_since
    if since is not None:
        values["sitemaps_since"] = since.isoformat() if isinstance(since, date) else since
    if options.limits is not None:
        values["limits"] = {
            field.name: getattr(options.limits, field.name)
            for field in dataclasses.fields(options.limits)
        }
    if any(getattr(options, name) for name in _CALLBACKS):
        values["callbacks"] = True
    return values


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
