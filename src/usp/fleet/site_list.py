"""The list of sites: read from a file, reduced to homepages, grouped, and handed out in batches."""

from __future__ import annotations

import csv
import io
import pickle
import queue
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from usp._base.display import get_logger, printable
from usp._base.files import FileStore, NoSuchFileError, is_ready, is_remote, open_pipe
from usp._base.urls import BadUrl, Login, is_http_url, read_url, redact_url
from usp._formats.feeds import outlines
from usp.export.schema import pyarrow
from usp.fleet.tables import Row, columns_of
from usp.limits import DEFAULT

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["SiteListError", "read_sites"]

COLUMNS = ("site", "url", "host", "domain")
"""The columns of a table in which sites are looked for, in this order."""

MOST_LINES = 100_000_000  # lines or rows of one list: more is most often a mistake, or endless
_LONGEST_SITE = DEFAULT.url_length or 8192
_LONGEST_LINE = 1 << 20  # characters; nothing that is a list has such lines
_SHOWN = 2000
_PARQUET = (".parquet", ".pq")
_CSV = {".csv": ",", ".tsv": "\t"}

_RESOLVERS = 64
_AHEAD = 8192  # names that are being looked up
_WINDOW = 1 << 14  # sites that are read ahead
_QUEUE = 1 << 10  # of them, from the thread that reads
_CLOSE_SECONDS = 1.0

_MOST_DEATHS = 2  # after this many workers have died while crawling a site, it is a suspect
_PIECES = 8  # suspects of one worker are divided by this, until the one that kills is alone

log = get_logger("usp.fleet")


class SiteListError(ValueError):
    """A list of sites cannot be read; the message says what to do."""


# The list -------------------------------------------------------------------------------------------


def read_sites(
    source: str, on_problem: Callable[[str], None] = log.warning, *, seconds: float | None = None
) -> Iterator[str]:
    """Yield the sites that a file lists, as they are written; ``-`` is the standard input.

    The file may be in an object store, as ``s3://bucket/sites.txt``, or a pipe, which must begin to
    give data within ``seconds``.
    Files ending in ``.parquet``, ``.csv`` or ``.tsv`` are tables with one of :data:`COLUMNS`. All
    others have one site per line, where lines that begin with ``#`` are comments, or are OPML: lists of
    feeds, whose websites are the sites (:class:`SiteWithFeeds`). ``on_problem`` is called
    for entries that are too long, which are left out, and if there is not a single site. Raises
    :class:`SiteListError` if there is no such file, if it is not a list, or if it is endless;
    ``DatasetError`` if its store cannot be used.
    """
    name = "standard input" if source == "-" else source
    unit = "row" if name.lower().endswith((*_PARQUET, *_CSV)) else "line"
    is_empty = True
    for number, text in enumerate(_entries(source, name, seconds), 1):
        if number > MOST_LINES:
            raise SiteListError(
                f"{name}: more than {MOST_LINES:,} {unit}s; split the list, and crawl each part into"
                " a dataset of its own"
            )
        if len(text) > _LONGEST_SITE:
            on_problem(
                f"{name}: {unit} {number:,} has more than {_LONGEST_SITE:,} characters; left out"
            )
        elif text and not text.startswith("#"):
            is_empty = False
            yield text
    if is_empty:
        on_problem(f"{name} lists no sites")


def _entries(source: str, name: str, seconds: float | None) -> Iterator[str]:
    """Yield every line of a list, or every value in the column of a table."""
    suffix = Path(source).suffix.lower()
    with _opened(source, seconds) as file, closing(_lines(file, name)) as lines:
        if suffix in _PARQUET:
            yield from _parquet(file, name)
        elif suffix in _CSV:
            yield from _csv(lines, name, _CSV[suffix])
        else:
            first = next(lines, "")
            texts = chain((first,), lines)
            is_opml = first.lstrip().startswith("<")
            yield from _opml(texts) if is_opml else map(str.strip, texts)


@contextmanager
def _opened(source: str, seconds: float | None) -> Iterator[Any]:
    """Yield the standard input, or a file or pipe of this machine, or a file of an object store."""
    with ExitStack() as stack:
        try:
            if source == "-":
                file = getattr(sys.stdin, "buffer", sys.stdin)
            elif is_remote(source):
                place, _, name = source.rpartition("/")
                store = FileStore(place)
                file = stack.enter_context(store.reading(name, store.first_options))
            elif Path(source).is_fifo():  # as good as a file, once somebody writes to it
                file = stack.enter_context(open_pipe(Path(source)))
                if not is_ready(file, seconds):
                    raise TimeoutError(f"nothing was written to it within {seconds:g} s")
            else:
                file = stack.enter_context(Path(source).open("rb"))
        except (OSError, ValueError, NoSuchFileError) as error:
            missing = isinstance(error, NoSuchFileError) and "there is no such file or bucket"
            reason = missing or getattr(error, "strerror", None) or error
            raise SiteListError(
                f"cannot read {source!r}: {reason}; pass a file with one site per line, or - for"
                " standard input"
            ) from error
        yield file


def _lines(file: Any, name: str) -> Generator[str]:
    """Yield the lines of a file in UTF-8, which stays open; raise an error for one that is too long."""
    is_text = isinstance(file, io.TextIOBase)  # somebody has put text in the place of stdin
    text = file if is_text else io.TextIOWrapper(file, "utf-8-sig", "replace", newline="")
    try:
        is_markup = False  # of which a line may come in pieces
        for number, line in enumerate(iter(partial(text.readline, _LONGEST_LINE), ""), 1):
            is_markup = is_markup or (number == 1 and line.lstrip().startswith("<"))
            is_cut = len(line) >= _LONGEST_LINE and not line.endswith(("\n", "\r"))
            if is_cut and not is_markup:
                raise SiteListError(
                    f"{name}: line {number} has more than {_LONGEST_LINE:,} characters; this is not"
                    " a list of one site per line"
                )
            if number == 1 and "\0" in line:  # UTF-16, or a compressed file
                raise SiteListError(
                    f"{name} is not a text file in UTF-8; pass it uncompressed and in UTF-8, or as CSV"
                    " or Parquet with the ending .csv or .parquet"
                )
            yield line
    finally:
        if not is_text:
            text.detach()


def _csv(lines: Iterator[str], name: str, delimiter: str) -> Iterator[str]:
    rows = csv.reader(lines, delimiter=delimiter)
    try:
        head = [title.strip().lower() for title in next(rows, [])]
        at = head.index(_column(head, name))
        for row in rows:
            yield row[at].strip() if len(row) > at else ""
    except csv.Error as error:
        raise SiteListError(f"{name}: line {rows.line_num} cannot be read: {error}") from error


def _opml(texts: Iterable[str]) -> Iterator[str]:
    """Yield the websites of a list of feeds, each once, with the feeds on it."""
    feeds: dict[str, dict[str, None]] = {}
    for outline in outlines(texts):
        for url in filter(is_http_url, filter(None, outline)):
            paths = feeds.setdefault(homepage(url)[0], {})
            if url == outline.feed:
                paths[url.partition("://")[2].partition("/")[2]] = None
    for site, paths in feeds.items():
        listed = SiteWithFeeds(site)
        listed.paths = tuple(paths)
        yield listed


def _parquet(file: IO[bytes], name: str) -> Iterator[str]:
    pa = pyarrow()
    try:
        with pyarrow(".parquet").ParquetFile(file) as table:
            titles = {title.lower(): title for title in table.schema_arrow.names}
            column = titles[_column(list(titles), name)]
            for batch in table.iter_batches(columns=[column]):
                yield from (str(text or "").strip() for text in batch.column(0).to_pylist())
    except (pa.ArrowException, OSError) as error:
        raise SiteListError(f"{name} is not a readable Parquet file: {error}") from error


def _column(names: list[str], source: str) -> str:
    for name in COLUMNS:
        if name in names:
            return name
    raise SiteListError(
        f"{source}: no column is named {', '.join(COLUMNS[:-1])} or {COLUMNS[-1]};"
        f" the columns are: {', '.join(names) or 'none'}"
    )


# Homepages ------------------------------------------------------------------------------------------


class SiteWithFeeds(str):  # noqa: SLOT000 - it has one
    """A site of which feeds are read, too: at these ``paths``."""

    paths: tuple[str, ...] = ()


def homepages(texts: Iterable[str], more: dict[str, WaitingSite]) -> Iterator[str]:
    """Yield the homepage of each site; what a list says beside it is put into ``more``."""
    for text in texts:
        url, login = homepage(text)
        feeds = text.paths if isinstance(text, SiteWithFeeds) else ()
        if login is not None or feeds:
            before = more.get(url, WaitingSite(url))
            more[url] = WaitingSite(url, "", login or before.login, feeds or before.feeds)
        if url:
            yield url


@lru_cache(maxsize=1024)  # lists repeat themselves
def homepage(text: str) -> tuple[str, Login | None]:
    """Return the homepage of a URL or host, and its login; what is neither is returned shortened."""
    stripped = text.strip()[:_SHOWN]
    is_url = "://" in stripped or stripped.lower().startswith(("http:", "https:"))
    try:
        read = read_url(stripped if is_url else f"https://{stripped}")
    except BadUrl:
        return printable(redact_url(stripped)), None
    return f"{read.origin}/", read.login


# Groups ---------------------------------------------------------------------------------------------


def host_key(site: str) -> str:
    """Return the host of a site, without port and ``www.``; the text itself if it is not a URL."""
    try:
        return read_url(site).host.removeprefix("www.")
    except BadUrl:
        return site


def address_of(host: str) -> str:
    """Return the first address of a host; the host itself if there is none."""
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except (OSError, UnicodeError):
        return host


def by_address(
    sites: Iterable[WaitingSite], resolve: Callable[[str], str] = address_of
) -> Iterator[WaitingSite]:
    """Yield each site with the address of its host as its key; 64 names are looked up at a time."""
    left = iter(sites)
    with ThreadPoolExecutor(_RESOLVERS, "usp-fleet-names") as pool:
        while some := list(islice(left, _AHEAD)):
            addresses = pool.map(resolve, (host_key(one.url) for one in some))
            yield from (one._replace(key=at) for one, at in zip(some, addresses, strict=True))


# Batches --------------------------------------------------------------------------------------------


class WaitingSite(NamedTuple):
    """A site, and what is known of it; of many that wait, the rows are packed.

    Sites that share a ``key``, most often the host, are crawled one after another. ``login`` and
    ``feeds`` are what a list says beside the homepage; ``room`` is how many of the sitemaps that are
    due may be requested now, if not all; ``deaths`` is how many workers have died while they had it.
    """

    url: str
    key: str = ""
    login: Login | None = None
    feeds: tuple[str, ...] = ()
    due: datetime | None = None
    sitemaps: int = 0
    packed: bytes = b""
    room: int | None = None
    deaths: int = 0

    @classmethod
    def of(cls, row: Row, rows: Sequence[Row]) -> Self:
        """Return what is known by the row of the last visit, and the last rows of the sitemaps."""
        packed = pickle.dumps((row, rows))
        return cls(row["site"], due=row["due"], sitemaps=len(rows), packed=packed)

    def rows(self) -> tuple[Row, Sequence[Row]]:
        """Return the row of the last visit, all None if there was none, and those of the sitemaps."""
        nothing: Row = dict.fromkeys(columns_of("visits"))
        return pickle.loads(self.packed) if self.packed else (nothing, ())  # noqa: S301 - our own

    @property
    def is_suspect(self) -> bool:
        """Whether workers may have died of it: it is crawled apart from those that are none."""
        return self.deaths >= _MOST_DEATHS

    @property
    def kills(self) -> bool:
        """Whether it is not crawled, but fails: the last worker that died had no other one."""
        return self.deaths > _MOST_DEATHS


Batch: TypeAlias = list[WaitingSite]
"""Sites for a worker; an empty one if there are no more."""


class Assignments:
    """Sites to be handed out, in groups that share a key; ``len`` is how many groups wait.

    The sites come from an iterator that another thread consumes, so far ahead that there is enough to
    choose from. A key that a worker is busy with is given to nobody else, and sites that are to be left
    alone to nobody. Suspects are given out when nobody has anything else, and a site that was the only
    one of a worker when it died ``kills``. ``total`` is the number of sites once all have come.
    """

    def __init__(
        self, sites: Iterator[WaitingSite], is_left_alone: Callable[[str], bool] = lambda _: False
    ) -> None:
        self._is_left_alone = is_left_alone
        self._queue: queue.Queue[WaitingSite | BaseException | None] = queue.Queue(_QUEUE)
        self._waiting: dict[str, Batch] = {}
        self._waiting_sites = 0
        self._suspects: deque[Batch] = deque()
        self._given: dict[object, dict[str, WaitingSite]] = {}  # by worker
        self._holders: dict[str, tuple[object, int]] = {}  # of keys, and of how many sites
        self._came = 0
        self.total: int | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(sites,), daemon=True)
        self._thread.start()

    def _read(self, sites: Iterator[WaitingSite]) -> None:
        last: BaseException | None = None
        try:
            for one in sites:
                self._queue.put(one)
                if self._closed.is_set():
                    return
        except BaseException as error:  # noqa: BLE001 - raised where the sites are handed out
            last = error
        self._queue.put(last)

    def close(self) -> None:
        """Read no more sites; the thread that reads them has ended then."""
        self._closed.set()
        with suppress(queue.Empty):  # it may wait for room
            while True:
                self._queue.get_nowait()
        self._thread.join(_CLOSE_SECONDS)

    def look(self) -> None:
        """Take what has come; raise what has ended the list."""
        while self.total is None and self._waiting_sites < _WINDOW:
            try:
                one = self._queue.get_nowait()
            except queue.Empty:
                return
            if one is None:
                self.total = self._came
            elif isinstance(one, BaseException):
                raise one
            else:
                self._came += 1
                self._add(one)

    def _add(self, site: WaitingSite) -> None:
        self._waiting.setdefault(site.key, []).append(site)
        self._waiting_sites += 1

    def __len__(self) -> int:
        return len(self._waiting) + len(self._suspects)

    @property
    def has_more(self) -> bool:
        """Whether sites wait, or may still come."""
        return len(self) > 0 or self.total is None

    def batch(self, most: int, worker: object) -> Batch | None:
        """Return the next sites for a worker, about ``most``; those of a key stay together.

        None says that others may come for it later, and an empty batch that none will.
        """
        self.look()
        batch: Batch = []
        has = self._given.get(worker, {})
        if any(one.is_suspect for one in islice(has.values(), 1)):
            return []
        for key in list(self._waiting):
            if len(batch) >= most:
                break
            if self._holders.get(key, (worker, 0))[0] is not worker:
                continue
            waiting = self._waiting.pop(key)
            self._waiting_sites -= len(waiting)
            batch += (one for one in waiting if not self._is_left_alone(one.url))
        if self._suspects and not (batch or self._waiting or any(self._given.values())):
            batch = self._suspects.popleft()
        for one in batch:
            self._given.setdefault(worker, {})[one.url] = one
            self._holders[one.key] = worker, self._holders.get(one.key, (worker, 0))[1] + 1
        is_last = self.total is not None and not self._waiting and (has or not self._suspects)
        return batch if batch or is_last else None

    def done(self, worker: object, sites: Iterable[str]) -> None:
        """Take note of the sites that a worker has finished."""
        has = self._given.get(worker, {})
        for one in [has.pop(url) for url in sites if url in has]:
            holder, count = self._holders.pop(one.key)
            if count > 1:
                self._holders[one.key] = holder, count - 1

    def lost(self, worker: object) -> Batch:
        """Take back the sites of a worker that has ended, and return them; one that kills is gone."""
        has = self._given.get(worker, {}).values()
        most = _MOST_DEATHS + (len(has) == 1)
        lost = [one._replace(deaths=min(one.deaths + 1, most)) for one in has]
        self.done(worker, [one.url for one in lost])
        self._given.pop(worker, None)
        for one in lost:
            if not one.is_suspect:
                self._add(one)
        suspects = [one for one in lost if one.is_suspect and not one.kills]
        size = len(suspects) // _PIECES + 1
        self._suspects.extend(suspects[at : at + size] for at in range(0, len(suspects), size))
        return lost
