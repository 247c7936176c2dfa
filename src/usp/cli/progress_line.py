"""The progress line on the terminal, which is cleared before anything else is written.

Nothing is captured: what is written to the standard output and the standard error is passed on
unchanged, after the line has been cleared.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from usp import events
from usp._base.display import clock, counted, printable, size
from usp._base.urls import url_parts
from usp.cli.output import is_pipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from usp.objects.child import SkipReason

    T = TypeVar("T")

_EVERY = 1 / 8  # seconds; a shorter command shows no line at all
_CLEAR = "\r\x1b[2K"
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"
_MOST_HOSTS = 3
_COUNTED = (events.SitemapFound, events.SitemapFinished, events.SitemapFailed)


class Progress:
    """Counts the events of a crawl; ``line`` returns the counts as text."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._events: Counter[type[events.Event]] = Counter()
        self._bytes = self.pages = 0
        self.skipped: dict[SkipReason, set[str]] = {}  # URLs of sitemaps that were not fetched
        self._busy: dict[str, str] = {}  # hosts, by what they are being asked for
        self.doing = ""  # what is done with what was fetched, such as "checking"

    def __call__(self, event: events.Event) -> None:
        """Count an event of a crawl."""
        self._events[type(event)] += 1
        match event:
            case events.SitemapStarted():
                self._busy[event.url] = url_parts(event.url).netloc
            case events.SitemapReceived():
                self._bytes += event.received
            case events.SitemapFinished() | events.SitemapFailed():
                self._busy.pop(event.url, None)
            case events.SitemapSkipped():
                self.skipped.setdefault(event.reason, set()).add(event.url)

    def counted(
        self, items: Iterable[T], pages_in: Callable[[T], int] = lambda _: 1
    ) -> Iterator[T]:
        """Yield pages, or what has some, and count them."""
        for item in items:
            self.add_pages(pages_in(item))
            yield item

    def add_pages(self, number: int) -> None:
        """Count pages."""
        self.pages += number

    def line(self) -> str:
        """Return the progress as one line of text."""
        seconds = max(time.monotonic() - self._started, 0.001)
        if self.doing:
            return f"{self.doing} · {counted(self.pages, 'page')} · {clock(seconds)}"
        known, done, failed = (self._events[kind] for kind in _COUNTED)
        parts = [
            f"{done + failed:,} of {counted(known, 'address')}, {counted(done, 'sitemap')}",
            counted(self.pages, "page") if self.pages else "",
            f"{size(self._bytes)}, {size(int(self._bytes / seconds))}/s",
            clock(seconds),
            self._hosts(),
        ]
        return " · ".join(part for part in parts if part)

    def _hosts(self) -> str:
        hosts = [printable(host) for host in dict.fromkeys(list(self._busy.values()))]
        more = f" and {len(hosts) - _MOST_HOSTS} more" if len(hosts) > _MOST_HOSTS else ""
        return ", ".join(hosts[:_MOST_HOSTS]) + more


@contextmanager
def live_line(text: Callable[[], str]) -> Iterator[None]:
    """Show the text that ``text`` returns, updated regularly, while the block runs.

    Needs a terminal as the standard error; see :func:`can_show`.
    """
    line = _ProgressText(sys.stderr, text)
    out, err = sys.stdout, sys.stderr
    given = [_clearing_line(out, line), _clearing_line(err, line)]
    sys.stdout, sys.stderr = given
    try:
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
    """Draws the text in a thread, and clears it when something else is written."""

    def __init__(self, stream: TextIO, text: Callable[[], str]) -> None:
        self._stream = stream
        self._text = text
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._is_shown = False
        self._has_room = True  # whether the cursor is at the start of a line
        threading.Thread(target=self._run, name="usp-live", daemon=True).start()

    def end(self) -> None:
        """Clear the line for good."""
        self._over.set()
        with self._lock:
            self._clear()

    def give_way(self, written: bytes, stream: TextIO) -> None:
        """Clear the line and write something else; it is not drawn over an unfinished line."""
        with self._lock:
            self._clear()
            self._has_room = written.endswith(b"\n")
            _put(written, stream)

    def _run(self) -> None:
        while not self._over.wait(_EVERY):
            with self._lock:
                if self._has_room and not self._over.is_set():
                    self._draw()

    def _draw(self) -> None:
        text = self._text()
        from rich.cells import cell_len, set_cell_size

        room = _columns(self._stream) - 1  # a full line would break
        if cell_len(text) > room:
            text = set_cell_size(text, room)
        drawn = text if os.environ.get("NO_COLOR") else f"{_DIM}{text}{_PLAIN}"
        self._write(f"{_CLEAR}{drawn}")
        self._is_shown = True

    def _clear(self) -> None:
        if self._is_shown:
            self._is_shown = False
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the terminal is gone; the work is not
            self._over.set()


def _columns(stream: TextIO) -> int:
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except OSError:
        columns = 0
    return columns or shutil.get_terminal_size().columns


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
