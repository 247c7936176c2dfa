"""The responses of the client on ``requests``: a body that is received on iteration, or a failure."""

from __future__ import annotations

from dataclasses import replace
from http.client import HTTPException
from typing import TYPE_CHECKING

import requests
import urllib3.exceptions
import urllib3.response

from usp._base.safe_text import get_logger
from usp._base.urls import without_login
from usp._http.encodings import is_decoded
from usp._http.flow import Body, Kind, phrase
from usp._http.requests_foreign import as_response
from usp.web_client.abstract_client import (
    AbstractWebClientSuccessResponse,
    BrokenBody,
    WebClientErrorResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from usp._http.flow import Deadline
    from usp.objects.exchange import Hop

_CHUNK = 256 * 1024  # at most: each one is a turn at the lock of the interpreter
_EXCERPT = 64 * 1024  # of the body of an error, for the log
BODY_ERRORS = (
    urllib3.exceptions.HTTPError,
    requests.RequestException,
    HTTPException,
    OSError,
    ValueError,
)
"""What may be raised while a body is received."""


class RequestsWebClientSuccessResponse(AbstractWebClientSuccessResponse):
    """A 2xx response; its body is received on iteration."""

    _shown: Callable[[str], str] = staticmethod(without_login)
    _hops: tuple[Hop, ...] = ()

    def __init__(
        self,
        requests_response: requests.Response,
        max_response_data_length: int | None = None,
        *,
        deadline: Deadline | None = None,
        timeout: object = None,
        shown: Callable[[str], str] = without_login,
        hops: tuple[Hop, ...] = (),
    ) -> None:
        self._hops = hops
        self._shown = shown
        self._timeout = timeout
        self._response = as_response(requests_response)
        self._limit = max_response_data_length
        self._deadline = deadline
        self._data: bytes | None = None

    def status_code(self) -> int:
        """Return the status."""
        return int(self._response.status_code)

    def status_message(self) -> str:
        """Return the reason phrase of the status, or the standard one."""
        return phrase(self.status_code(), str(self._response.reason or ""))

    def header(self, case_insensitive_name: str) -> str | None:
        """Return a header, or None."""
        return self._response.headers.get(case_insensitive_name)

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Return all headers."""
        return tuple(self._response.headers.items())

    def redirects(self) -> tuple[str, ...]:
        """Return the URLs that redirected here."""
        return tuple(self._shown(response.url) for response in self._response.history)

    def hops(self) -> tuple[Hop, ...]:
        """Return the requests that led here, including the last one."""
        return tuple(
            hop if (url := self._shown(hop.url)) == hop.url else replace(hop, url=url)
            for hop in self._hops
        )

    def url(self) -> str:
        """Return the URL after redirects."""
        return self._shown(self._response.url)

    def raw_data(self) -> bytes:
        """Return the body up to the limit, without the compression of HTTP; the same each time."""
        if self._data is None:
            self._data = self._receive()
        return self._data

    def _receive(self) -> bytes:
        data = bytearray()
        ours = is_decoded(self.header("Content-Encoding"))
        try:
            for chunk in self._pieces() if ours else self._response.iter_content(_CHUNK):
                data += chunk
                if self._limit is not None and len(data) >= self._limit:
                    break
        except (*BODY_ERRORS, BrokenBody) as error:
            get_logger("usp.helpers").warning(
                "Request for URL %s failed: the body broke off: %s", self.url(), error
            )
        return bytes(data if self._limit is None else data[: self._limit])

    def body(self) -> Iterator[bytes]:
        """Yield the body as it arrives, gzip and deflate still compressed; stops at the limit."""
        overridden = type(self).raw_data is not RequestsWebClientSuccessResponse.raw_data
        if overridden or self._data is not None:
            yield self.raw_data()  # a subclass has its own data; what was read is read
            return
        yield from self._pieces(self._limit)

    def _pieces(self, limit: int | None = None) -> Iterator[bytes]:
        raw = self._response.raw
        consumed = getattr(self._response, "_content", False) is not False
        # A session that caches has read it already; others have no connection of urllib3.
        is_open = not consumed and isinstance(raw, urllib3.response.HTTPResponse)
        body = Body(self.header("Content-Encoding") if is_open else None, limit, self._deadline)
        try:
            for data in _received(raw) if is_open else self._response.iter_content(_CHUNK):
                yield from body.feed(data)
                body.check_time()
            yield from body.close()
        except BODY_ERRORS as error:
            raise body.failure(error, self.url(), self._timeout) from error

    def close(self) -> None:
        """Release the connection."""
        self._response.close()


class RequestsWebClientErrorResponse(WebClientErrorResponse):
    """An error status, or no response at all."""


def _received(raw: urllib3.response.HTTPResponse) -> Iterator[bytes]:
    """Yield what arrives, still compressed."""
    while data := raw.read1(_CHUNK, decode_content=False):
        yield data
        if raw.length_remaining == 0:  # then its connection is released already
            return


def excerpt_of(response: requests.Response) -> str:
    """Return the beginning of a body as text, even if it is broken."""
    try:
        return next(iter(response.iter_content(_EXCERPT)), b"").decode("utf-8", "replace")
    except BODY_ERRORS as error:
        return f"({error})"


def kind_of(error: Exception) -> Kind:
    """Return what an exception of ``requests`` says about the host."""
    if not isinstance(error, requests.RequestException):
        return Kind.OTHER
    cause = _cause(error)
    if isinstance(error, requests.ConnectTimeout) or isinstance(
        cause, urllib3.exceptions.NewConnectionError
    ):
        return Kind.UNREACHABLE
    if isinstance(error, requests.Timeout):
        return Kind.SILENT
    aborted = (
        isinstance(error, requests.ConnectionError)
        and isinstance(cause, urllib3.exceptions.ProtocolError)
        and not _is_nonsense(cause)
    )
    return Kind.ABORTED if aborted else Kind.OTHER


def _is_nonsense(error: urllib3.exceptions.ProtocolError) -> bool:
    """Return whether the response is not HTTP, so that a retry will not help."""
    cause = error.args[-1]
    return isinstance(cause, HTTPException) and not isinstance(cause, OSError)


def _cause(error: Exception) -> object:
    """Return what ``requests`` has wrapped, perhaps twice."""
    cause = error.args[0] if error.args else None
    return getattr(cause, "reason", cause)
