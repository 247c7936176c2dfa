"""The answers of the client on ``requests``: a body that is received while it is read, or a failure."""

from __future__ import annotations

import time
from http import HTTPStatus
from http.client import HTTPException
from typing import TYPE_CHECKING

import requests
import urllib3.exceptions
import urllib3.response

from usp._base.logs import get_logger
from usp._base.shortage import shortage_of
from usp._base.urls import without_login
from usp._http.encodings import BodyDecoder, is_decoded
from usp._http.failures import reason_of
from usp._http.requests_foreign import as_response
from usp.web_client.abstract_client import (
    AbstractWebClientSuccessResponse,
    BrokenBody,
    WebClientErrorResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CHUNK = 128 * 1024
_LONGEST_REASON = 200
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
    """A 2xx answer; its body is received while it is read."""

    _shown: Callable[[str], str] = staticmethod(without_login)

    def __init__(
        self,
        requests_response: requests.Response,
        max_response_data_length: int | None = None,
        *,
        deadline: tuple[float, str] | None = None,
        timeout: object = None,
        shown: Callable[[str], str] = without_login,
    ) -> None:
        self._shown = shown
        self._timeout = timeout
        self._response = as_response(requests_response)
        self._limit = max_response_data_length
        self._deadline = deadline
        self._data: bytes | None = None

    def status_code(self) -> int:
        """Give the status."""
        return int(self._response.status_code)

    def status_message(self) -> str:
        """Give the reason beside the status, or the standard one."""
        return reason_phrase(self._response)

    def header(self, case_insensitive_name: str) -> str | None:
        """Give a header, or None."""
        return self._response.headers.get(case_insensitive_name)

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Give all headers."""
        return tuple(self._response.headers.items())

    def redirects(self) -> tuple[str, ...]:
        """Give the addresses that led here."""
        return tuple(self._shown(response.url) for response in self._response.history)

    def url(self) -> str:
        """Return the address after redirects."""
        return self._shown(self._response.url)

    def raw_data(self) -> bytes:
        """Give the body, HTTP's compression removed, up to the limit; the same each time."""
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
        """Give the body as it comes, gzip and deflate left packed; stops at the limit."""
        overridden = type(self).raw_data is not RequestsWebClientSuccessResponse.raw_data
        if overridden or self._data is not None:
            yield self.raw_data()  # a subclass has its own data; what was read is read
            return
        room = self._limit
        for data in self._pieces():
            if room is not None and len(data) > room:
                yield data[:room]
                raise BrokenBody(f"more than {self._limit} bytes; the rest was not received")
            if room is not None:
                room -= len(data)
            yield data

    def _pieces(self) -> Iterator[bytes]:
        raw = self._response.raw
        consumed = getattr(self._response, "_content", False) is not False
        try:
            if consumed or not isinstance(raw, urllib3.response.HTTPResponse):
                # A session that caches has read it already; others have no connection of urllib3.
                yield from self._response.iter_content(_CHUNK)
                return
            decoder = BodyDecoder(self.header("Content-Encoding"))
            while data := raw.read1(_CHUNK, decode_content=False):  # what has come
                for piece in decoder.feed(data):
                    yield piece
                    self._check_time()
                self._check_time()
            yield from decoder.close()
        except BODY_ERRORS as error:
            self._check_time()
            raise BrokenBody(reason_of(error, self.url(), self._timeout, in_body=True)) from error

    def _check_time(self) -> None:
        if self._deadline is not None and time.monotonic() >= self._deadline[0]:
            raise BrokenBody(self._deadline[1])

    def close(self) -> None:
        """Let go of the connection."""
        self._response.close()


class RequestsWebClientErrorResponse(WebClientErrorResponse):
    """An answer of no use, or none."""

    def __init__(
        self,
        message: str,
        retryable: bool,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        unreachable: bool = False,
        silent: bool = False,
        blocked: bool = False,
    ) -> None:
        super().__init__(message, retryable)
        self.blocked = blocked
        self.silent = silent
        self.status = status
        self.retry_after = retry_after
        self.unreachable = unreachable


def excerpt_of(response: requests.Response) -> str:
    """Return the beginning of a body as text, whatever is wrong with it."""
    try:
        return next(iter(response.iter_content(_EXCERPT)), b"").decode("utf-8", "replace")
    except BODY_ERRORS as error:
        return f"({error})"


def reason_phrase(response: requests.Response) -> str:
    """Return the words beside the status, or the usual ones."""
    if response.reason:
        return str(response.reason)[:_LONGEST_REASON]
    try:
        return HTTPStatus(response.status_code).phrase
    except ValueError:
        return ""


def connection_error(
    error: requests.RequestException, message: str, *, asked: bool
) -> RequestsWebClientErrorResponse:
    """Sort out whether nobody is there, or somebody who may answer next time.

    ``asked`` is whether it is the host that was asked, and not one it redirected to.
    """
    shortage = shortage_of(error)
    if shortage is not None:
        failure = RequestsWebClientErrorResponse(message, retryable=True)
        failure.shortage = shortage
        return failure
    cause = _cause(error)
    nobody = isinstance(error, requests.ConnectTimeout) or isinstance(
        cause, urllib3.exceptions.NewConnectionError
    )
    if nobody:
        return RequestsWebClientErrorResponse(message, retryable=False, unreachable=asked)
    if isinstance(error, requests.Timeout):
        return RequestsWebClientErrorResponse(message, retryable=True, silent=asked)
    aborted = (
        isinstance(error, requests.ConnectionError)
        and isinstance(cause, urllib3.exceptions.ProtocolError)
        and not _is_nonsense(cause)
    )
    return RequestsWebClientErrorResponse(message, retryable=aborted)


def _is_nonsense(error: urllib3.exceptions.ProtocolError) -> bool:
    """Tell whether something came that is no HTTP, and will not be the next time."""
    cause = error.args[-1]
    return isinstance(cause, HTTPException) and not isinstance(cause, OSError)


def _cause(error: Exception) -> object:
    """Give what ``requests`` has wrapped, perhaps twice."""
    cause = error.args[0] if error.args else None
    return getattr(cause, "reason", cause)
