"""Reads responses of HTTP/1 from bytes, the same for every client; it does no I/O itself.

What browsers agree on is read as they read it: lines may end with LF alone, a header line that is not
one is ignored, blank lines may come first, equal lengths count as one, chunks count instead of a
length, bytes after the body are ignored. What they read in different ways, or not at all, is a
:class:`BadResponse`: two lengths, a NUL or a bare CR, a status or a size that is not a number.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from http.client import HTTPException
from typing import NamedTuple, TypeAlias, TypeVar

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

_Result = TypeVar("_Result")
_Steps: TypeAlias = "Generator[None, None, _Result]"  # each yield waits for more data


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

    ``head`` is None until it is complete; ``is_over`` is whether the whole response is, and
    ``has_excess`` whether more has arrived than that: it would be taken for the next response. What is
    wrong with the head is raised; what is wrong with the body becomes ``error``, and nothing follows.
    """

    head: ParsedHead | None = None
    is_over = False
    has_excess = False
    error: BadResponse | None = None
    _data = b""  # has arrived, and from here on has not been read:
    _at = 0

    def __init__(self, *, has_body: bool = True) -> None:
        self._has_body = has_body
        self._body: list[bytes] = []
        self._steps = self._read()

    def feed(self, data: bytes) -> bytes:
        """Return the part of the body in ``data``; raises :class:`BadResponse` for a bad head."""
        if self.is_over or self.error is not None:
            self.has_excess = self.has_excess or bool(data)
            return b""
        self._data, self._at = self._data[self._at :] + data, 0
        next(self._steps, None)
        body, self._body = self._body, []
        return b"".join(body)

    def end(self) -> None:
        """Take note that the connection was closed; what is missing is an ``error``."""
        if self.is_over or self.error is not None:
            return
        if self.head is None:
            self.error = BadResponse(FailureCode.CONNECTION_CLOSED)
        elif self.head.length is not None or self.head.chunked:
            self.error = BadResponse(FailureCode.BODY_CUT_OFF)
        else:
            self.is_over = True

    def _read(self) -> _Steps[None]:
        """Read the response, as far as it has arrived at each step."""
        self.head = head = yield from self._read_head()
        try:
            yield from self._read_chunks() if head.chunked else self._read_bytes(head.length)
            self.is_over = True
        except BadResponse as error:
            self.error = error
        self.has_excess, self._data = self._at < len(self._data), b""

    def _read_head(self) -> _Steps[ParsedHead]:
        before = searched = 0  # bytes of interim responses and blanks; of what has arrived since
        while True:
            if searched < len(_NAME):
                size = len(self._data)
                self._data = self._data.lstrip(b"\r\n\t ")
                before += size - len(self._data)
                _check_size(before)
                if not _NAME.startswith(self._data[: len(_NAME)].upper()):
                    raise BadResponse(FailureCode.NOT_HTTP)
            end = _BLANK_LINE.search(self._data, max(0, searched - 2))
            size = len(self._data) if end is None else end.end()
            _check_size(size)
            if end is None:
                searched = size
                yield
                continue
            head = _parsed(self._data[: end.start()], has_body=self._has_body)
            if head.status >= _FIRST_FINAL or head.status == _SWITCHING_PROTOCOLS:
                self._at = size
                return head
            self._data, searched = self._data[size:], 0
            before += size

    def _read_bytes(self, left: int | None) -> _Steps[None]:
        """Read so many bytes of the body, or all that come."""
        while left is None or left > 0:
            end = len(self._data) if left is None else self._at + left
            if piece := self._data[self._at : end]:
                self._body.append(piece)
                self._at += len(piece)
                left = None if left is None else left - len(piece)
            if left != 0:
                yield

    def _read_chunks(self) -> _Steps[None]:
        """Read a body in chunks; trailers and extensions are ignored."""
        size = -1
        while size:
            line = yield from self._read_line()
            found = _CHUNK_SIZE.fullmatch(line)
            if found is None or (size := int(found[1], 16)) >= 10**_MOST_DIGITS:
                raise BadResponse(FailureCode.BAD_CHUNK)
            yield from self._read_bytes(size)
            if size:
                yield from self._read_line(is_blank=True)
        trailers = 0
        while line := (yield from self._read_line()):
            trailers += len(line)
            if trailers > HEAD_BYTES:
                raise BadResponse(FailureCode.BAD_CHUNK)

    def _read_line(self, *, is_blank: bool = False) -> _Steps[bytes]:
        """Return the next line without its end; it may have to be blank."""
        longest = len(b"\r") if is_blank else _LONGEST_SIZE_LINE
        while True:
            end = self._data.find(b"\n", self._at)
            size = (len(self._data) if end < 0 else end) - self._at
            if size > longest or (is_blank and self._data[self._at : self._at + 1] not in b"\r\n"):
                raise BadResponse(FailureCode.BAD_CHUNK)
            if end >= 0:
                line = self._data[self._at : end].removesuffix(b"\r")
                self._at = end + 1
                return line
            yield


def _check_size(size: int) -> None:
    if size > HEAD_BYTES:
        raise BadResponse(FailureCode.BAD_HEADERS, LARGE_HEAD)


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
