"""Reads responses of HTTP/1 from bytes, the same for every client; it does no I/O itself.

What browsers agree on is read as they read it: lines may end with LF alone, a header line that is not
one is ignored, blank lines may come first, equal lengths count as one, chunks count instead of a
length, bytes after the body are ignored. What they read in different ways, or not at all, is a
:class:`BadResponse`: two lengths, a NUL or a bare CR, a status or a size that is not a number.
"""

from __future__ import annotations

import re
from http.client import HTTPException
from typing import NamedTuple

from usp.objects.failure_codes import FailureCode

HEAD_BYTES = 32 * 1024
"""Maximum bytes of the status line and the headers of a response, and of all interim ones together."""

LARGE_HEAD = "the headers of the response are too many or too large"
"""Why a response with more is not read."""

_LONGEST_SIZE_LINE = 16 * 1024  # with the extensions of a chunk; as in Chromium
_MOST_DIGITS = 18  # of the size of a body
_NO_BODY = frozenset({204, 205, 304})
_FIRST_FINAL = 200  # below are interim responses, except for
_SWITCHING_PROTOCOLS = 101

_NAME = b"HTTP"
_BLANK_LINE = re.compile(rb"\n\r?\n")
_STATUS_LINE = re.compile(
    r"HTTP(?:/([0-9]{1,4})(?:\.([0-9]{1,4}))?)?[\t ]++([1-9][0-9]{2})(?:[\t ]++(.*))?",
    re.IGNORECASE,
)
_FOLD = re.compile(r"\n[\t ]++")
_FIELD = re.compile(r"^([!#-'*+.0-9A-Z^-z|~-]++)[\t ]*+:[\t ]*+(.*)$", re.MULTILINE)
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]++)[\t ]*+(?:;[^\x00\r]*+)?")


class BadResponse(HTTPException):
    """A response that cannot be read, or its end is missing; ``code`` and ``text`` say why."""

    def __init__(self, code: FailureCode, text: str = "") -> None:
        super().__init__(text or code.message)
        self.code = code
        self.text = text or code.message


class ParsedHead(NamedTuple):
    """The status and the headers of a response, and how its body is framed.

    ``fields`` are the headers in Latin-1, with the values of the same name joined, except for those of
    cookies; a Location that is repeated counts once. A body that is not ``chunked`` has ``length``
    bytes, or ends with the connection if that is None. ``is_persistent`` is whether the connection may
    be used again afterwards.
    """

    version: tuple[int, int]
    status: int
    reason: str
    fields: list[tuple[str, str]]
    length: int | None
    chunked: bool
    is_persistent: bool


class ResponseReader:
    """Reads one response: ``feed`` what arrives, get its body.

    ``head`` is None until it is complete; ``is_over`` tells whether the whole response is, and
    ``has_excess`` whether more has arrived than that: it would be taken for the next response. What is
    wrong with the head is raised; what is wrong with the body becomes ``error``, and nothing follows.
    """

    head: ParsedHead | None = None
    is_over = False
    has_excess = False
    error: BadResponse | None = None
    _held = b""  # of the head
    _searched = 0
    _before = 0  # bytes of interim responses
    _left: int | None = None  # bytes of a body of known length
    _chunks: _Chunks | None = None

    def __init__(self, *, has_body: bool = True) -> None:
        self._has_body = has_body

    def feed(self, data: bytes) -> bytes:
        """Return the part of the body in ``data``; raises :class:`BadResponse` for a bad head."""
        if self.head is None:
            data = self._read_head(data)
        if self.is_over or self.error is not None:
            self.has_excess = self.has_excess or bool(data)
            return b""
        return self._body(data) if data else b""

    def end(self) -> None:
        """Take note that the connection was closed; what is missing is an ``error``."""
        if self.is_over or self.error is not None:
            return
        if self.head is None:
            self.error = BadResponse(FailureCode.CONNECTION_CLOSED)
        elif self._left is not None or self._chunks is not None:
            self.error = BadResponse(FailureCode.BODY_CUT_OFF)
        else:
            self.is_over = True

    # The head --------------------------------------------------------------------------------------

    def _read_head(self, data: bytes) -> bytes:
        """Return what follows the head, once that is complete."""
        held = self._held + data if self._held else data
        while self.head is None:
            if self._searched < len(_NAME) and held[: len(_NAME)] != _NAME:
                held = self._begun(held)
            end = _BLANK_LINE.search(held, max(0, self._searched - 2))
            if (len(held) if end is None else end.end()) > HEAD_BYTES:
                raise BadResponse(FailureCode.BAD_HEADERS, LARGE_HEAD)
            if end is None:
                self._held, self._searched = held, len(held)
                return b""
            head = _parsed(held[: end.start()], has_body=self._has_body)
            held, self._searched = held[end.end() :], 0
            if head.status < _FIRST_FINAL and head.status != _SWITCHING_PROTOCOLS:
                self._pass(end.end())
                continue
            self.head, self._held = head, b""
            self._chunks = _Chunks() if head.chunked else None
            self._left = head.length
            self.is_over = head.length == 0
        return held

    def _begun(self, held: bytes) -> bytes:
        """Return a head without the blanks before it."""
        size = len(held)
        held = held.lstrip(b"\r\n\t ")
        self._pass(size - len(held))
        if not _NAME.startswith(held[: len(_NAME)].upper()):
            raise BadResponse(FailureCode.NOT_HTTP)
        return held

    def _pass(self, size: int) -> None:
        """Take note of bytes before the response itself."""
        self._before += size
        if self._before > HEAD_BYTES:
            raise BadResponse(FailureCode.BAD_HEADERS, LARGE_HEAD)

    # The body --------------------------------------------------------------------------------------

    def _body(self, data: bytes) -> bytes:
        if self._chunks is not None:
            body, rest = self._chunks.feed(data)
            self.is_over, self.error = self._chunks.is_over, self._chunks.error
            self.has_excess = bool(rest)
            return body
        if self._left is None:
            return data
        body = data[: self._left]
        self._left -= len(body)
        self.is_over = self._left == 0
        self.has_excess = len(body) < len(data)
        return body


def _parsed(data: bytes, *, has_body: bool) -> ParsedHead:
    """Return the head of a response, of which ``data`` is everything before the last line end."""
    text = data.decode("latin-1")
    if "\r" in text:
        text = text.removesuffix("\r").replace("\r\n", "\n")
    first, _, lines = text.partition("\n")
    status_line = _STATUS_LINE.fullmatch(first)
    if status_line is None:
        raise BadResponse(FailureCode.NOT_HTTP)
    if "\r" in text or "\0" in text:
        raise _bad_headers("a control character in them")
    if "\n " in lines or "\n\t" in lines:
        lines = _FOLD.sub(" ", lines)
    fields: list[tuple[str, str]] = _FIELD.findall(lines)
    if " \n" in lines or "\t\n" in lines or lines[-1:] in ("\t", " "):
        fields = [(name, value.rstrip("\t ")) for name, value in fields]
    major, minor, status, reason = status_line.groups()
    version, code = (int(major or 1), int(minor or 0)), int(status)
    headers, cookies = _merged(fields)
    is_empty = not has_body or code in _NO_BODY or code < _FIRST_FINAL
    length, chunked = (0, False) if is_empty else _framing(headers)
    other = "content-length" if chunked else "transfer-encoding"  # others may go by that one
    said = _elements(headers, "connection")
    is_persistent = (
        (chunked or length is not None)
        and other not in headers
        and code != _SWITCHING_PROTOCOLS
        and "close" not in said
        and ((version[0] == 1 and version[1] > 0) or "keep-alive" in said)
    )
    reason = (reason or "").rstrip("\t ")
    fields = [*headers.values(), *cookies]
    return ParsedHead(version, code, reason, fields, length, chunked, is_persistent)


def _merged(
    fields: list[tuple[str, str]],
) -> tuple[dict[str, tuple[str, str]], list[tuple[str, str]]]:
    """Return headers by name in lower case, with the values of the same name joined; and cookies."""
    headers: dict[str, tuple[str, str]] = {}
    cookies = []
    for field in fields:
        key = field[0].lower()
        if key == "set-cookie":
            cookies.append(field)
            continue
        before = headers.setdefault(key, field)
        if before is field:
            continue
        if key != "location":
            headers[key] = before[0], f"{before[1]}, {field[1]}"
        elif before[1] != field[1]:
            raise _bad_headers("different values of Location")
    return headers, cookies


def _framing(headers: dict[str, tuple[str, str]]) -> tuple[int | None, bool]:
    """Return the length of a body, None if it is not known before; and whether it is in chunks."""
    if "chunked" in _elements(headers, "transfer-encoding"):
        return None, True
    if "content-length" not in headers:
        return None, False
    length, *others = _elements(headers, "content-length")
    if others:
        raise _bad_headers("different values of Content-Length")
    if not (length.isascii() and length.isdigit()):
        raise _bad_headers("a Content-Length that is not a number")
    digits = length.lstrip("0")
    if len(digits) > _MOST_DIGITS:
        raise _bad_headers("a Content-Length that no body can have")
    return int(digits or 0), False


def _elements(headers: dict[str, tuple[str, str]], name: str) -> frozenset[str]:
    """Return the elements of a header in lower case; there are none if it is missing."""
    if name not in headers:
        return frozenset()
    value = headers[name][1].lower()
    if "," not in value:
        return frozenset((value,))
    return frozenset([element.strip("\t ") for element in value.split(",")])


def _bad_headers(what: str) -> BadResponse:
    text = f"the headers of the response cannot be trusted: {what}"
    return BadResponse(FailureCode.BAD_HEADERS, text)


class _Chunks:
    """Reads a body in chunks; trailers and extensions are ignored."""

    is_over = False
    error: BadResponse | None = None
    _held = b""  # the beginning of a line
    _left = 0  # bytes of the chunk
    _ends = False  # whether a chunk has ended, but not its line
    _trailers = -1  # bytes of them; -1 before them

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Return the part of the body in ``data``, and what follows the body."""
        data, at, pieces = self._held + data if self._held else data, 0, []
        while True:
            if self._left:
                piece = data[at : at + self._left]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                self._ends = not self._left
                if self._left:
                    break
            end = data.find(b"\n", at)
            if not self._may_be_line(data, at, end):
                self.error = BadResponse(FailureCode.BAD_CHUNK)
                break
            if end < 0:
                break
            line, at = data[at:end].removesuffix(b"\r"), end + 1
            self._take_line(line)
            if self.is_over or self.error is not None:
                break
        rest = data[at:]
        if self.is_over or self.error is not None:
            return b"".join(pieces), rest
        self._held = rest
        return (pieces[0] if len(pieces) == 1 else b"".join(pieces)), b""

    def _may_be_line(self, data: bytes, at: int, end: int) -> bool:
        """Return whether there may be a line at ``at``, of which the end may be still to come (-1)."""
        if self._ends:
            return data[at : at + 2] in (b"", b"\r", b"\r\n") or data[at : at + 1] == b"\n"
        return (len(data) if end < 0 else end) - at <= _LONGEST_SIZE_LINE

    def _take_line(self, line: bytes) -> None:
        if self._ends:
            self._ends = False
        elif self._trailers >= 0:
            self.is_over = not line
            self._trailers += len(line)
            if self._trailers > HEAD_BYTES:
                self.error = BadResponse(FailureCode.BAD_CHUNK)
        elif (size := _CHUNK_SIZE.fullmatch(line)) is None or int(size[1], 16) >= 10**_MOST_DIGITS:
            self.error = BadResponse(FailureCode.BAD_CHUNK)
        else:
            self._left = int(size[1], 16)
            if not self._left:
                self._trailers = 0
