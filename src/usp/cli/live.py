"""A line on the terminal that says how far the work is, and gives way to everything else.

While it is shown, nothing is captured: what is written to the standard output and to the standard
error goes where it always goes, byte for byte. Only the line is cleared first.
"""

from __future__ import annotations

import io
import os
import shutil
import stat
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from rich.cells import cell_len, set_cell_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_EVERY = 1 / 8  # seconds; what takes no longer than this shows no line at all
_CLEAR = "\r\x1b[2K"
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


@contextmanager
def live_line(text: Callable[[], str]) -> Iterator[None]:
    """Show what ``text`` returns, again and again, while the block runs.

    Needs a terminal as the standard error; see :func:`can_show`.
    """
    line = _Line(sys.stderr, text)
    out, err = sys.stdout, sys.stderr
    given = [_giving_way(out, line), _giving_way(err, line)]
    sys.stdout, sys.stderr = given
    line.start()
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
    """Tell whether the standard error is a terminal that can clear a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


class _Line:
    """Draws the text from a thread of its own, and clears it when somebody else writes."""

    def __init__(self, stream: TextIO, text: Callable[[], str]) -> None:
        self._stream = stream
        self._text = text
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._is_shown = False
        self._has_room = True  # whether the cursor stands at the beginning of a line
        self._thread = threading.Thread(target=self._run, name="usp-live", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Clear the line for good."""
        self._over.set()
        with self._lock:
            self._clear()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Keep the terminal clear while the block writes."""
        with self._lock:
            self._clear()
            yield

    def left_at(self, written: bytes) -> None:
        """Note where the cursor stands: what is not the end of a line is not written over."""
        self._has_room = written.endswith(b"\n")

    def _run(self) -> None:
        while not self._over.wait(_EVERY):
            with self._lock:
                if self._has_room and not self._over.is_set():
                    self._draw()

    def _draw(self) -> None:
        text = self._text()
        room = _columns(self._stream) - 1  # a full line would break
        if cell_len(text) > room:
            text = set_cell_size(text, room)
        style = ("", "") if os.environ.get("NO_COLOR") else (_DIM, _PLAIN)
        self._write(f"{_CLEAR}{style[0]}{text}{style[1]}")
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


def _giving_way(stream: TextIO, line: _Line) -> TextIO:
    """Return a stream that writes to the same place once the line is cleared."""
    buffer = getattr(stream, "buffer", None)
    kind = _kind_of(stream)
    if buffer is None or kind is None:
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(_GivingWay(stream, line, for_good=kind == "pipe")),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=bool(getattr(stream, "line_buffering", False)),
    )


def _kind_of(stream: TextIO) -> str | None:
    """Tell whether what is written may show on the terminal: None if not."""
    if stream.isatty():
        return "terminal"
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except OSError:
        return None
    return "pipe" if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else None


class _GivingWay(io.RawIOBase):
    """Clears the line before each write.

    What is written to a pipe is often shown on the same terminal by whoever reads it (``head``,
    ``grep``, ``less``), nobody knows when: the line ends ``for_good`` before it.
    """

    def __init__(self, stream: TextIO, line: _Line, *, for_good: bool) -> None:
        self._stream = stream
        self._line = line
        self._for_good = for_good

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
            self._put(written)
        else:
            with self._line.aside():
                self._line.left_at(written)
                self._put(written)
        return len(written)

    def _put(self, written: bytes) -> None:
        self._stream.buffer.write(written)
        self._stream.buffer.flush()
