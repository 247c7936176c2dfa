"""Responses as they come from the socket: with a deadline, and with headers of bounded size."""

from __future__ import annotations

import contextlib
import contextvars
import http
import http.client
import io
import re
import time
from typing import TYPE_CHECKING, Any, cast

from usp._http.flow import HEAD_BYTES

if TYPE_CHECKING:
    import socket

DEADLINE: contextvars.ContextVar[float | None] = contextvars.ContextVar("DEADLINE", default=None)
"""When the response to the request that is being sent must be complete, by ``time.monotonic``."""

_MOST_INTERIM = 20  # answers such as 103 Early Hints, which come before the real one
_LONGEST_LINE = 65537
_MOST_FIELDS = 100  # as many as http.client takes
_NO_BODY = frozenset({http.HTTPStatus.NO_CONTENT, http.HTTPStatus.NOT_MODIFIED})
_FIELDS = re.compile(rb"(?:[!#-'*+.0-9A-Z^-z|~-]++:[\t -~\x80-\xff]*+\r\n)++")


def until(deadline: float, patience: float | None) -> float:
    """Return the seconds to wait at most."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left if patience is None else min(left, patience)


class Answer(http.client.HTTPResponse):
    """A response with a deadline, and with headers of bounded size."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        self._head = _Head(_Reader(sock))
        self.address: str | None = None  # of the server, or of its proxy
        with contextlib.suppress(OSError, IndexError, TypeError):
            self.address = str(sock.getpeername()[0])
        self._status_read: tuple[str, int, str] | None = None
        super().__init__(cast("socket.socket", _Opened(self._head)), *args, **options)

    def begin(self) -> None:
        """Read the head."""
        known: Any = self.headers
        if known is None:
            self._status_read = self._read_status()
            if not self._begin_plainly(*self._status_read):
                super().begin()
        self._head.room = None

    def _begin_plainly(self, version: str, status: int, reason: str) -> bool:
        """Read the headers of an ordinary response: of a known length, with nothing unusual.

        The parser of ``http.client`` is made for mail, and takes as long as everything else together.
        """
        if version != "HTTP/1.1" or status in _NO_BODY or getattr(self, "_method", "") != "GET":
            return False
        found = self._head.plain_fields()
        if found is None:
            return False
        length = found.get("content-length", "")
        if "transfer-encoding" in found or not (length.isascii() and length.isdigit()):
            return False
        self._head.pass_fields()
        self.version, self.code, self.status, self.reason = 11, status, status, reason.strip()
        self.headers = self.msg = found
        self.chunked = False
        self.length = int(length)
        self.will_close = self._check_close()  # type: ignore[attr-defined]
        return True

    def _read_status(self) -> tuple[str, int, str]:
        """Read the status of the final response; ``http.client`` only knows 100 Continue."""
        read, self._status_read = self._status_read, None
        if read is not None:
            return read
        for _ in range(_MOST_INTERIM):
            self._head.room = HEAD_BYTES
            answer: tuple[str, int, str] = super()._read_status()  # type: ignore[misc]
            if not is_interim(answer[1]):
                return answer
            while self._head.readline(_LONGEST_LINE).strip():
                pass
        raise http.client.HTTPException(f"more than {_MOST_INTERIM} interim responses")


def is_interim(status: int) -> bool:
    """Return whether this status is that of an interim response."""
    return 100 <= status < 200 and status != http.HTTPStatus.SWITCHING_PROTOCOLS  # noqa: PLR2004


class Fields(http.client.HTTPMessage):
    """The headers of an ordinary response by name, read-only."""

    def __init__(self, fields: list[tuple[str, str]]) -> None:
        super().__init__()
        self._fields = fields
        self._by_name: dict[str, tuple[str, str]] = {}
        for field in fields:
            self.set_raw(*field)
            self._by_name.setdefault(field[0].lower(), field)

    def items(self) -> list[tuple[str, Any]]:
        """Return names and values; there is nothing in them to decode."""
        return list(self._fields)

    def merged(self) -> dict[str, tuple[str, str]]:
        """Return names and values by the name in lower case; values of the same name are joined."""
        found = dict(self._by_name)
        if len(found) < len(self._fields):
            for key, (name, _) in found.items():
                values = [value for other, value in self._fields if other.lower() == key]
                found[key] = name, ", ".join(values)
        return found

    def get(self, name: str, failobj: Any = None) -> Any:
        """Return the first field of a name."""
        return self._by_name.get(name.lower(), (name, failobj))[1]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._by_name


class _Opened:
    """Takes the place of a socket whose file is already open."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file

    def makefile(self, *_: object) -> io.BufferedReader:
        """Return the file."""
        return self._file


class _Head(io.BufferedReader):
    """Reads lines up to a number of bytes in total."""

    room: int | None = HEAD_BYTES
    _fields = 0  # bytes of the fields that were looked at

    def readline(self, size: int | None = -1) -> bytes:
        """Return a line."""
        line = super().readline(size)
        self._spend(len(line))
        return line

    def _spend(self, count: int) -> None:
        if self.room is not None:
            self.room -= count
            if self.room < 0:
                raise http.client.HTTPException(f"more than {HEAD_BYTES:,} bytes of headers")

    def plain_fields(self) -> Fields | None:
        """Return the next headers if all have arrived and none is unusual; does not consume them."""
        here = self.peek()
        end = here.find(b"\r\n\r\n") + 2
        if not _FIELDS.fullmatch(here, 0, end):
            return None
        lines = here[: end - 2].decode("latin-1").split("\r\n")
        if len(lines) > _MOST_FIELDS:
            return None
        self._fields = end + 2
        fields = (line.partition(":") for line in lines)
        return Fields([(name, value.lstrip(" \t")) for name, _, value in fields])

    def pass_fields(self) -> None:
        """Skip the headers that were peeked at."""
        self._spend(len(self.read(self._fields)))


class _Reader(io.RawIOBase):
    """Reads from a socket until the deadline of the request."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._raw: Any = sock.makefile("rb", buffering=0)
        self._patience = sock.gettimeout()
        self._deadline = DEADLINE.get()

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read what has arrived."""
        if self._deadline is not None:
            wait = until(self._deadline, self._patience)
            if wait != self._sock.gettimeout():
                self._sock.settimeout(wait)
        count: int | None = self._raw.readinto(buffer)
        return count

    def close(self) -> None:
        """Release the socket."""
        if not self.closed:
            self._raw.close()
        super().close()
