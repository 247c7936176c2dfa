"""Sessions of ``requests``, users' own above all, and the responses of all of them.

A session may be anything that has ``get``: one that caches, or a mock. Our own session has the same
responses.
"""

from __future__ import annotations

import contextlib
import inspect
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from http.client import HTTPException, HTTPMessage, HTTPResponse, RemoteDisconnected
from operator import attrgetter
from typing import Any

import requests
import requests.cookies
import requests.utils
import urllib3.exceptions
import urllib3.response
from requests.structures import CaseInsensitiveDict

from usp._base.display import excerpt, get_logger
from usp._base.urls import (
    HttpUrl,
    quote,
    quote_plus,
    unquote_plus,
    urlsplit,
    urlunsplit,
    without_login,
)
from usp._http.direct_session import OriginalAdapter, OriginalSession
from usp._http.encodings import is_decoded
from usp._http.flow import Arrived, BodyReader, ReceivedFacts, phrase
from usp._http.identity import is_secret
from usp._http.redirects import within_bounds
from usp.objects.failure_codes import FailureCode
from usp.web_client.abstract_client import (
    AbstractWebClientSuccessResponse,
    BrokenBody,
    WebClientErrorResponse,
)
from usp.web_client.zones import literal_of, look_up

_HTTP_1_1 = 11
_WITHOUT_BODY = frozenset({101, 204, 304})


def is_session(session: Any) -> bool:
    """Return whether this is a session of ``requests``, and not something that looks like one."""
    return issubclass(type(session), OriginalSession)


def accepted(call: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return those options that a function, or what a mock calls, accepts by its signature."""
    mocked = getattr(call, "side_effect", None)
    try:
        parameters = inspect.signature(mocked if callable(mocked) else call).parameters
    except (TypeError, ValueError):
        return options
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return options
    return {name: value for name, value in options.items() if name in parameters}


def _without_secrets(
    request: requests.PreparedRequest, headers: dict[str, str]
) -> requests.PreparedRequest:
    """Return a request to another host without the session's secrets, just before it is sent.

    ``headers`` are those of the client, chosen for this host.
    """
    for name in [name for name in request.headers if is_secret(name)]:
        del request.headers[name]
    theirs = requests.cookies.RequestsCookieJar()
    for cookie in getattr(request, "_cookies", None) or ():
        if cookie.domain:
            theirs.set_cookie(cookie)
    request.prepare_cookies(theirs)
    request.headers.update(headers)
    return request


def options(
    session: requests.Session, url: HttpUrl, headers: dict[str, str], *, home: bool, first: bool
) -> dict[str, Any]:
    """Return the arguments that keep secrets from other hosts, and the bodies of redirects unread.

    ``headers`` are those of the client for this host.
    """
    options: dict[str, Any] = {}
    if not home:
        options["auth"] = partial(_without_secrets, headers=headers)
    elif url.login is not None and session.auth is None:
        # The headers have its login already; the user's .netrc must not replace it.
        options["auth"] = lambda request: request
    if session.params and (not home or not first):
        # An address that somebody else has written is asked for as it is.
        names = session.params if isinstance(session.params, Mapping) else {}
        options["params"] = dict.fromkeys(names)
    theirs = session.hooks.get("response") or []
    theirs = [theirs] if callable(theirs) else list(theirs)
    bound = partial(_bound_cookies, session, url.host)
    options["hooks"] = {"response": [*theirs, bound, _refuse_cut_head, _leave_body]}
    return options


def _bound_cookies(
    session: requests.Session, host: str, response: requests.Response, **_: object
) -> None:
    """Leave only as many cookies in a response as a session may keep; it reads them after its hooks."""
    message = getattr(getattr(response.raw, "_original_response", None), "msg", None)
    answers = message.get_all("Set-Cookie") if isinstance(message, HTTPMessage) else None
    if message is None or not answers:
        return
    kept = ((cookie.name, cookie.value or "", cookie.domain) for cookie in session.cookies)
    taken = within_bounds(kept, host, answers)
    del message["Set-Cookie"]
    for text in taken:
        message["Set-Cookie"] = text


def _refuse_cut_head(response: requests.Response, **_: object) -> None:
    """Raise an error if the connection was closed before the blank line after the headers.

    ``http.client`` takes that for the end of the head. What can be seen afterwards: HTTP/1.1 requires
    either a length or ``Connection: close``, and here is neither, nor a body.
    """
    raw = response.raw
    answer = getattr(raw, "_original_response", None)
    if (
        not isinstance(answer, HTTPResponse)
        or answer.version != _HTTP_1_1
        or answer.isclosed()
        or response.status_code in _WITHOUT_BODY
        or answer.length is not None
        or answer.chunked
        or "close" in response.headers.get("Connection", "").lower()
    ):
        return
    try:
        if answer.peek(1):
            return
        closed: Exception = RemoteDisconnected(FailureCode.CONNECTION_CLOSED.message)
    except TimeoutError as error:
        raise requests.ReadTimeout(error) from error
    except OSError as error:
        closed = error
    raise requests.ConnectionError(urllib3.exceptions.ProtocolError("Connection aborted.", closed))


def _leave_body(response: requests.Response, **_: object) -> None:
    """Drop the body of a redirect, which may be endless."""
    if response.is_redirect and getattr(response, "_content", None) is False:
        vars(response).update(_content=b"", _content_consumed=True)
        response.raw.close()


def secrets_of_params(session: Any) -> set[str]:
    """Return what is secret in the parameters that a session adds to URLs."""
    values = {value for _, value in _pairs(session)}
    return {form for value in values for form in (value, quote(value), quote_plus(value))}


def without_params(url: str, asked: str, session: Any) -> str:
    """Return a URL without login and the parameters of a session, unless it was requested with them."""
    pairs, url = _pairs(session), without_login(url)
    if not pairs:
        return url
    parts, own = urlsplit(url), set(urlsplit(asked).query.split("&"))
    texts = parts.query.split("&")
    kept = [text for text in texts if text in own or _pair(text) not in pairs]
    return urlunsplit(parts._replace(query="&".join(kept)))


def _pairs(session: Any) -> set[tuple[str, str]]:
    """Return the parameters of a session by name and value, as they would be sent."""
    params = getattr(session, "params", None)
    if not params or not isinstance(params, Mapping | Sequence):  # a mock has anything
        return set()
    url = requests.Request("GET", "http://h/", params=params).prepare().url or ""
    return {_pair(text) for text in urlsplit(url).query.split("&") if text}


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return unquote_plus(name), unquote_plus(value)


def remember_redirect(session: Any, response: Any) -> None:
    """Let the cache of ``requests_cache`` keep a redirect, as it does with those that it follows."""
    library = sys.modules.get("requests_cache")
    if library is None or not isinstance(session, library.CachedSession):
        return
    settings = session.settings
    if settings.disabled or settings.expire_after == library.DO_NOT_CACHE:
        return
    if not getattr(response, "from_cache", False):
        expires = library.get_expiration_datetime(settings.expire_after)
        session.cache.save_response(response, expires=expires)


def is_proxied(session: Any, url: str, proxies: Mapping[str, str], verify: Any) -> bool:
    """Return whether a session uses a proxy for a URL, perhaps one of the environment."""
    if not is_session(session):
        return bool(proxies)
    settings = session.merge_environment_settings(url, dict(proxies), True, verify, None)
    return bool(requests.utils.select_proxy(url, settings["proxies"]))


def addresses_of(session: Any, url: HttpUrl) -> list[str] | None:
    """Return the addresses to which a session may connect; None if they cannot be known."""
    if not is_session(session):
        return None
    with contextlib.suppress(requests.exceptions.InvalidSchema):
        if isinstance(session.get_adapter(url.text()), OriginalAdapter) or literal_of(url.host):
            return look_up(url.host)
    return []


def peer_of(response: Any) -> str | None:
    """Return the address that a response came from, if it is known."""
    own = "_original_response"
    for place in (f"{own}.address", "connection.sock", f"{own}.fp.raw._sock"):
        with contextlib.suppress(AttributeError, OSError, IndexError, TypeError):
            found = attrgetter(place)(response.raw)
            if isinstance(found, socket.socket):
                found = found.getpeername()[0]
            if isinstance(found, str):
                return found
    return None


# Responses -----------------------------------------------------------------------------------------

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
    try:
        return list(headers.items()) if headers is not None else []
    except (AttributeError, TypeError):
        return []


def _text(answer: Any, name: str) -> str:
    value = getattr(answer, name, None)
    return value if isinstance(value, str) else ""
