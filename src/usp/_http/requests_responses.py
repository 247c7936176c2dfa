"""The responses of the client on ``requests``: of our own session, of users' sessions, of mocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.client import HTTPException
from typing import Any

import requests
import urllib3.exceptions
import urllib3.response
from requests.structures import CaseInsensitiveDict

from usp._base.display import excerpt, get_logger
from usp._http.encodings import is_decoded
from usp._http.flow import Arrived, BodyReader, ReceivedFacts, phrase
from usp._http.user_sessions import without_params
from usp.web_client.abstract_client import (
    AbstractWebClientSuccessResponse,
    BrokenBody,
    WebClientErrorResponse,
)

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


class RequestsWebClientSuccessResponse(ReceivedFacts, AbstractWebClientSuccessResponse):
    """A 2xx response; its body is received on iteration."""

    def __init__(
        self,
        requests_response: requests.Response,
        max_response_data_length: int | None = None,
        *,
        way: Arrived | None = None,
        timeout: object = None,
    ) -> None:
        self._response = requests_response if way is not None else as_response(requests_response)
        self._way = way or way_to(self._response, Arrived(("",)))
        self._timeout = timeout
        self._limit = max_response_data_length
        self._data: bytes | None = None

    def status_code(self) -> int:
        """Return the status."""
        return int(self._response.status_code)

    def status_message(self) -> str:
        """Return the reason phrase of the status, or the standard one."""
        return phrase(self.status_code(), str(self._response.reason or ""))

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
        encoding = self.header("Content-Encoding") if is_open else None
        body = BodyReader(encoding, limit, self._way.deadline)
        try:
            for data in _received(raw) if is_open else self._response.iter_content(_CHUNK):
                yield from body.feed(data)
            yield from body.close()
        except BODY_ERRORS as error:
            raise body.failure(error, self.url(), self._timeout) from error

    def close(self) -> None:
        """Release the connection."""
        self._response.close()


class RequestsWebClientErrorResponse(WebClientErrorResponse):
    """An error status, or no response at all."""

    _said = ""

    def message(self) -> str:
        """Return what went wrong, and in parentheses what ``requests`` says about it.

        Programs look for its words, such as ``Read timed out`` or ``Failed to resolve``.
        """
        own = super().message()
        return f"{own} ({self._said})" if self._said and self._said not in own else own

    def quote(self, said: str) -> None:
        """Add the words of ``requests`` to the message."""
        self._said = excerpt(" ".join(said.split()))


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


# Responses of other classes ------------------------------------------------------------------------


def direct_response(raw: urllib3.BaseHTTPResponse, url: str) -> requests.Response:
    """Return a response of our own session; what the constructor of its class does takes long."""
    response = requests.Response.__new__(requests.Response)
    vars(response).update(status_code=raw.status, reason=raw.reason, headers=raw.headers, url=url)
    vars(response).update(raw=raw, history=[], _content=False, _content_consumed=False)
    return response


def way_to(response: requests.Response, way: Arrived, session: object = None) -> Arrived:
    """Return a way as it went on inside the session; its URLs without logins and secret parameters."""
    inside = (followed.url for followed in response.history)
    urls = *way.urls[:-1], *inside, response.url or way.urls[-1]
    shown = partial(without_params, asked=way.urls[0], session=session)
    hops = tuple(replace(hop, url=shown(hop.url)) for hop in way.hops)
    return way._replace(urls=tuple(map(shown, urls)), hops=hops)


def as_response(answer: Any, url: str = "") -> Any:
    """Return a response with all attributes that our client uses; ``url`` is that of the request."""
    if isinstance(answer, ForeignResponse):
        return answer
    is_real = issubclass(type(answer), requests.Response)  # a mock only says so
    if is_real and answer.raw is not None:
        has_body = getattr(answer, "_content", False) is not False
        if not has_body or getattr(answer, "_content_consumed", False):
            return answer
    return ForeignResponse(answer, url, is_filled_in=is_real)


class ForeignResponse:
    """A response of another class: attributes that it lacks have neutral values.

    Or one of ``requests`` that was filled in instead of received, as tests do: it has no connection
    that could be read or closed.
    """

    def __init__(self, answer: Any, url: str, *, is_filled_in: bool) -> None:
        self._answer = answer
        self._is_filled_in = is_filled_in
        self.status_code = int(answer.status_code)
        self.headers: CaseInsensitiveDict[str] = CaseInsensitiveDict(
            (str(name), str(value)) for name, value in _items(getattr(answer, "headers", None))
        )
        self.url = _text(answer, "url") or url
        self.reason = _text(answer, "reason")
        history = getattr(answer, "history", ())
        self.history = list(history) if isinstance(history, list | tuple) else []
        self.raw = None  # the body comes from ``iter_content``

    def iter_content(self, chunk_size: int = 128 * 1024) -> Iterator[bytes]:
        """Yield the body, as a whole if the response has it, or else in pieces."""
        body = getattr(self._answer, "content", None)
        if isinstance(body, bytes | bytearray | str):
            yield body.encode() if isinstance(body, str) else bytes(body)
        elif self._is_filled_in:
            return  # with nothing
        elif hasattr(self._answer, "iter_content"):
            yield from self._answer.iter_content(chunk_size)
        elif hasattr(self._answer, "raw"):
            while piece := self._answer.raw.read(chunk_size):
                yield piece
        else:
            text = self._answer.text  # without which there is no body at all
            yield text.encode()

    def close(self) -> None:
        """Close the response, if it can be closed."""
        close = getattr(self._answer, "close", None)
        if callable(close) and not self._is_filled_in:
            close()


def _items(headers: Any) -> list[tuple[Any, Any]]:
    """Return the headers as pairs; something that is not a mapping has none."""
    try:
        return list(headers.items()) if headers is not None else []
    except (AttributeError, TypeError):
        return []


def _text(answer: Any, name: str) -> str:
    value = getattr(answer, name, None)
    return value if isinstance(value, str) else ""
