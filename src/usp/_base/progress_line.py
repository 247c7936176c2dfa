"""The progress of a crawl, as a line on the terminal or in the output of a notebook.

The line on a terminal is cleared before anything else is written.

Nothing is captured: what is written to the standard output and the standard error is passed on
unchanged, after the line has been cleared.
"""

from __future__ import annotations

import importlib
import io
import os
import shutil
import sys
import threading
import time
import unicodedata
from collections import Counter
from contextlib import contextmanager
from html import escape
from itertools import count
from typing import TYPE_CHECKING, TextIO

from usp import events
from usp._base.display import clock, counted, printable, size
from usp._base.files import is_pipe
from usp._base.urls import url_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from usp.objects.child import SkipReason

    T = TypeVar("T")

_EVERY = 1 / 8  # seconds; a shorter command shows no line at all
_EVERY_IN_NOTEBOOKS = 1 / 2
_CLEAR = "\r\x1b[2K"
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"
_MOST_HOSTS = 3
_LONG = 10  # seconds after which a host that does not answer is named
_BAR = 10  # columns
_ONE = threading.Lock()  # held by the line that is shown
_COUNTED = (events.SitemapFound, events.SitemapFinished, events.SitemapFailed)


class Progress:
    """Counts the events of a crawl; ``line`` returns the counts as text, and what is waited for."""

    def __init__(self, shorter: str = "") -> None:
        self._shorter = shorter and f" (shorter: {shorter})"  # what makes a host's time shorter
        self._started = time.monotonic()
        self._events: Counter[type[events.Event]] = Counter()
        self._bytes = self.pages = 0
        self.skipped: dict[SkipReason, set[str]] = {}  # URLs of sitemaps that were not fetched
        self._busy: dict[str, float] = {}  # since when URLs are asked for, the longest first
        self._retries: dict[str, tuple[events.SitemapRetrying, float]] = {}  # and their times
        self.doing = ""  # what is done with what was fetched, such as "checking"

    def __call__(self, event: events.Event) -> None:
        """Count an event of a crawl."""
        self._events[type(event)] += 1
        now = time.monotonic()
        match event:
            case events.SitemapStarted():
                self._retries.pop(event.url, None)
                self._busy[event.url] = now
            case events.SitemapRetrying():
                self._busy.pop(event.url, None)
                self._retries[event.url] = event, now + event.seconds
            case events.SitemapReceived():
                self._bytes += event.received
            case events.SitemapFinished() | events.SitemapFailed():
                self._busy.pop(event.url, None)
                self._retries.pop(event.url, None)
            case events.SitemapSkipped():
                self.skipped.setdefault(event.reason, set()).add(event.url)

    def counted(
        self, items: Iterable[T], pages_in: Callable[[T], int] = lambda _: 1
    ) -> Iterator[T]:
        """Yield pages, or what has some, and count them."""
        for item in items:
            self.pages += pages_in(item)
            yield item

    def checked(self, pages: int) -> None:
        """Count pages that were checked."""
        self.doing = "checking"
        self.pages += pages

    def reading(self, most: int) -> Callable[[], None]:
        """Return a function to call for each of so many sitemaps when it has been read."""
        numbers = count(1)

        def read() -> None:
            self.doing = f"reading {next(numbers):,} of {counted(most, 'sitemap')}"

        return read

    def line(self) -> str:
        """Return the progress as one line of text."""
        now = time.monotonic()
        seconds = max(now - self._started, 0.001)
        pages = counted(self.pages, "page") if self.pages else ""
        if self.doing:
            return " · ".join(filter(None, (self.doing, pages, clock(seconds))))
        known, done, failed = (self._events[kind] for kind in _COUNTED)
        parts = [
            self._waiting(now),
            f"{done + failed:,} of {counted(known, 'address')}, {counted(done, 'sitemap')}",
            pages,
            f"{size(self._bytes)}, {size(int(self._bytes / seconds))}/s",
            clock(seconds),
            self._hosts(),
        ]
        return " · ".join(part for part in parts if part)

    def __repr__(self) -> str:
        """Return a bar and the line; a bar without an end in sight is left out."""
        if self.doing or not self._events[events.SitemapFound]:
            return self.line()
        full = int(_BAR * self._share())
        return f"{'━' * full}{'─' * (_BAR - full)} {self.line()}"

    def _repr_html_(self) -> str:
        """Return the bar and the line as a notebook shows them."""
        return f'<progress value="{self._share():.3f}"></progress> {escape(self.line())}'

    def _share(self) -> float:
        known, done, failed = (self._events[kind] for kind in _COUNTED)
        return (done + failed) / max(known, 1)

    def _waiting(self, now: float) -> str:
        """Return what is waited for: a host that takes long, or the pause before a request."""
        for url, since in [*self._busy.items()][:1]:
            if now - since >= _LONG:
                host = printable(url_parts(url).netloc)
                return f"waiting for {host} for {now - since:.0f} s{self._shorter}"
        for event, due in sorted(self._retries.values(), key=lambda retry: retry[1])[:1]:
            if due - now >= 1:
                asked = " (Retry-After)" if event.retry_after else ""
                often = f"attempt {event.attempt} of {event.attempts}"
                path = printable(url_parts(event.url).path)
                return f"retrying {path}, {often}, in {due - now:.0f} s{asked}"
        return ""

    def _hosts(self) -> str:
        asked = dict.fromkeys(url_parts(url).netloc for url in [*self._busy])
        hosts = [printable(host) for host in asked]
        more = f" and {len(hosts) - _MOST_HOSTS} more" if len(hosts) > _MOST_HOSTS else ""
        return ", ".join(hosts[:_MOST_HOSTS]) + more


@contextmanager
def shown(progress: Progress, is_idle: Callable[[], bool]) -> Iterator[None]:
    """Show progress during the block: in a notebook or on a terminal, otherwise nowhere.

    Nor beside other progress: there is one line. It is not shown while it ``is_idle``.
    """
    running = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    notebook = hasattr(running, "kernel")  # which runs the cells of a notebook
    if not (notebook or can_show()) or not _ONE.acquire(blocking=False):
        yield
        return
    try:
        line = live_line(lambda: "" if is_idle() else repr(progress))
        with _notebook_output(progress, is_idle) if notebook else line:
            yield
    finally:
        _ONE.release()


@contextmanager
def _notebook_output(progress: Progress, is_idle: Callable[[], bool]) -> Iterator[None]:
    """Show progress in the output of a cell, where it stays."""

    def update() -> None:
        if not is_idle():
            output.update(progress)

    output = importlib.import_module("IPython.display").display(progress, display_id=True)
    try:
        with repeated(update, _EVERY_IN_NOTEBOOKS):
            yield
    finally:
        is_idle()  # counts the last pages
        output.update(progress)


@contextmanager
def repeated(work: Callable[[], object], seconds: float) -> Iterator[None]:
    """Call a function every so many seconds during the block, in another thread."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(seconds):
            work()

    thread = threading.Thread(target=run, name="usp-repeated", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def live_line(text: Callable[[], str]) -> Iterator[None]:
    """Show what ``text`` returns, updated regularly, while the block runs; no line if it is empty.

    Needs a terminal as the standard error; see :func:`can_show`.
    """
    line = _ProgressText(sys.stderr, text)
    out, err = sys.stdout, sys.stderr
    given = [_clearing_line(out, line), _clearing_line(err, line)]
    sys.stdout, sys.stderr = given
    try:
        with repeated(line.draw, _EVERY):
            yield
    finally:
        sys.stdout, sys.stderr = out, err
        try:
            for stream in given:
                stream.flush()
        finally:
            line.end()


def can_show() -> bool:
    """Return whether the standard error is a terminal that can clear a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


class _ProgressText:
    """Draws the text, and clears it when something else is written."""

    def __init__(self, stream: TextIO, text: Callable[[], str]) -> None:
        self._stream = stream
        self._text = text
        self._lock = threading.RLock()
        self._is_over = self._is_shown = False
        self._has_room = True  # whether the cursor is at the start of a line

    def draw(self) -> None:
        """Show the text as it is now; not over an unfinished line."""
        with self._lock:
            if self._has_room and not self._is_over:
                # A full line would break.
                self._show(_fitting(self._text(), _columns(self._stream) - 1))

    def end(self) -> None:
        """Clear the line for good."""
        with self._lock:
            self._is_over = True
            self._show("")

    def give_way(self, written: bytes, stream: TextIO) -> None:
        """Clear the line and write something else."""
        with self._lock:
            self._show("")
            self._has_room = written.endswith(b"\n")
            _put(written, stream)

    def _show(self, text: str) -> None:
        if not (text or self._is_shown):
            return
        self._is_shown = bool(text)
        drawn = f"{_DIM}{text}{_PLAIN}" if text and not os.environ.get("NO_COLOR") else text
        try:
            self._stream.write(f"{_CLEAR}{drawn}")
            self._stream.flush()
        except (OSError, ValueError):  # the terminal is gone; the work is not
            self._is_over = True


def _columns(stream: TextIO) -> int:
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except OSError:
        columns = 0
    return columns or shutil.get_terminal_size().columns


def _fitting(text: str, room: int) -> str:
    """Return as much of a text as fits into so many columns."""
    for at, char in enumerate(text):
        is_wide = unicodedata.east_asian_width(char) in ("W", "F")
        room -= 2 if is_wide else not unicodedata.combining(char)
        if room < 0:
            return text[:at]
    return text


def _clearing_line(stream: TextIO, line: _ProgressText) -> TextIO:
    """Return a stream that writes to the same place after clearing the line, if that may show it."""
    if not hasattr(stream, "buffer") or not (is_pipe(stream) or stream.isatty()):
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(_LineClearingStream(stream, line)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=bool(getattr(stream, "line_buffering", False)),
    )


class _LineClearingStream(io.RawIOBase):
    """Clears the line before each write.

    The reader of a pipe (``head``, ``grep``, ``less``) often writes to the same terminal, at any time:
    the line is removed ``for_good`` before the first write to it.
    """

    def __init__(self, stream: TextIO, line: _ProgressText) -> None:
        self._stream = stream
        self._line = line
        self._for_good = is_pipe(stream)

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def write(self, data: object, /) -> int:
        written = bytes(data)  # type: ignore[call-overload]
        if self._for_good:
            self._line.end()
            _put(written, self._stream)
        else:
            self._line.give_way(written, self._stream)
        return len(written)


def _put(written: bytes, stream: TextIO) -> None:
    stream.buffer.write(written)
    stream.buffer.flush()
