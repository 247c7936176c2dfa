"""Sessions of ``requests`` that are not ours: their secrets, proxies, addresses and responses.

A session may be anything that has ``get``: one that caches, or a mock. A response may have no more than
a status, headers and a body. What is missing is not used.
"""

from __future__ import annotations

import contextlib
import inspect
import socket
import sys
from collections.abc import Mapping
from http.client import HTTPMessage
from typing import TYPE_CHECKING, Any, cast

import requests
import requests.adapters
import requests.auth
import requests.cookies
import requests.utils
from requests.structures import CaseInsensitiveDict

from usp._http.identity import is_secret
from usp._http.redirects import within_bounds
from usp._http.requests_sessions import OriginalSession
from usp.web_client.zones import literal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from usp._base.urls import HttpUrl, Login


def is_session(session: Any) -> bool:
    """Return whether this is a session of ``requests``, and not something that looks like one."""
    return issubclass(type(session), OriginalSession)


def accepted(call: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return those options that a function accepts, according to its signature."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return options
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return options
    names = {parameter.name for parameter in parameters}
    return {name: value for name, value in options.items() if name in names}


class Stranger(requests.auth.AuthBase):
    """Removes secrets from a request to another host, as its last change before it is sent."""

    def __init__(self, headers: dict[str, str]) -> None:
        self._headers = headers  # of the client, chosen for this host

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Return the request without the session's secrets."""
        for name in [name for name in request.headers if is_secret(name)]:
            del request.headers[name]
        theirs = requests.cookies.RequestsCookieJar()
        for cookie in getattr(request, "_cookies", None) or ():
            if cookie.domain:
                theirs.set_cookie(cookie)
        request.prepare_cookies(theirs)
        request.headers.update(self._headers)
        return request


class LoggedIn(requests.auth.AuthBase):
    """Uses the login of a URL, for this request only."""

    def __init__(self, login: Login) -> None:
        self._login = login

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Return the request with the login."""
        request.headers["Authorization"] = self._login.header()
        return request


def options(
    session: requests.Session,
    url: HttpUrl,
    headers: dict[str, str],
    *,
    home: bool,
    first: bool,
    ours: bool,
) -> dict[str, Any]:
    """Return the arguments that keep secrets from other hosts, and the bodies of redirects unread.

    ``headers`` are those of the client for this host.
    """
    options: dict[str, Any] = {}
    if not home:
        options["auth"] = Stranger(headers)
    elif url.login is not None and session.auth is None:
        options["auth"] = LoggedIn(url.login)
    if session.params and (not home or not first):
        # An address that somebody else has written is asked for as it is.
        names = session.params if isinstance(session.params, Mapping) else {}
        options["params"] = dict.fromkeys(names)
    if not ours:
        theirs = session.hooks.get("response") or []
        theirs = [theirs] if callable(theirs) else list(theirs)

        def bound(response: requests.Response, **_: object) -> None:
            _bound_cookies(session, response, url.host)

        options["hooks"] = {"response": [*theirs, bound, _leave_body]}
    return options


def _bound_cookies(session: requests.Session, response: requests.Response, host: str) -> None:
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


def _leave_body(response: requests.Response, **_: object) -> None:
    """Drop the body of a redirect, which may be endless."""
    if response.is_redirect and getattr(response, "_content", None) is False:
        vars(response).update(_content=b"", _content_consumed=True)
        response.raw.close()


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


def settings_for(session: Any, url: str, proxies: dict[str, str], verify: Any) -> dict[str, Any]:
    """Return how a session sends a request for a URL, with the settings of the environment."""
    if not is_session(session):
        return {"proxies": proxies}
    settings: dict[str, Any] = session.merge_environment_settings(
        url, dict(proxies), True, verify, None
    )
    return settings


def is_proxied(session: Any, url: str, settings: Mapping[str, Any]) -> bool:
    """Return whether a session uses a proxy for a URL, with these settings."""
    proxies = settings["proxies"]
    if not is_session(session):
        return bool(proxies)
    return bool(proxies and requests.utils.select_proxy(url, proxies))


def addresses_of(session: Any, url: HttpUrl) -> list[str] | None:
    """Return the addresses to which a session may connect; None if they cannot be known.

    It may use any of them.
    """
    if not is_session(session):
        return None
    literal = literal_of(url.host)
    if literal is not None:
        return [str(literal)]
    if _has_sockets(session, url.text()):
        # If there is no such host, the session will say so, if it looks it up at all.
        with contextlib.suppress(OSError, UnicodeError):
            found = socket.getaddrinfo(url.host, None, type=socket.SOCK_STREAM)
            return [str(info[4][0]) for info in found]
    return []


def _has_sockets(session: requests.Session, url: str) -> bool:
    """Return whether a session makes network connections, as far as can be seen."""
    try:
        adapter = session.get_adapter(url)
    except requests.exceptions.InvalidSchema:
        return False
    return isinstance(adapter, requests.adapters.HTTPAdapter)


def peer_of(response: Any) -> str | None:
    """Return the address that a response came from, if it is known."""
    raw = getattr(response, "raw", None)
    known = getattr(getattr(raw, "_original_response", None), "address", None)
    if isinstance(known, str):
        return known
    connection = getattr(getattr(raw, "connection", None), "sock", None)
    file = getattr(getattr(raw, "_original_response", None), "fp", None)
    for sock in (connection, getattr(getattr(file, "raw", None), "_sock", None)):
        if isinstance(sock, socket.socket):
            try:
                return str(sock.getpeername()[0])
            except (OSError, IndexError, TypeError):
                continue
    return None


# Responses ------------------------------------------------------------------------------------------


def as_response(answer: Any, url: str = "") -> requests.Response:
    """Return a response with all attributes that our client uses; ``url`` is that of the request."""
    known = issubclass(type(answer), (requests.Response, ForeignResponse))  # a mock only says so
    whole = known and not _was_filled_in(answer)
    return cast("requests.Response", answer if whole else ForeignResponse(answer, url))


def _was_filled_in(answer: Any) -> bool:
    """Return whether a response of ``requests`` was filled in instead of received, as tests do.

    It has no connection that could be read or closed.
    """
    if isinstance(answer, ForeignResponse):
        return False
    has_body = getattr(answer, "_content", False) is not False
    return answer.raw is None or (has_body and not getattr(answer, "_content_consumed", False))


class ForeignResponse:
    """A response of another class: attributes that it lacks have neutral values."""

    def __init__(self, answer: Any, url: str) -> None:
        self._answer = answer
        self.status_code = int(answer.status_code)
        self.headers: CaseInsensitiveDict[str] = CaseInsensitiveDict(
            (str(name), str(value)) for name, value in _items(getattr(answer, "headers", None))
        )
        self.url = _text(answer, "url") or url
        self.reason = _text(answer, "reason")
        history = getattr(answer, "history", ())
        self.history = list(history) if isinstance(history, list | tuple) else []
        self.raw = None  # the body comes from ``iter_content``

    @property
    def content(self) -> bytes:
        """The body."""
        return b"".join(self.iter_content())

    def iter_content(self, chunk_size: int = 128 * 1024) -> Iterator[bytes]:
        """Yield the body, as a whole if the response has it, or else in pieces."""
        body = getattr(self._answer, "content", None)
        if isinstance(body, bytes | bytearray | str):
            yield body.encode() if isinstance(body, str) else bytes(body)
        elif issubclass(type(self._answer), requests.Response):
            return  # it was filled in, with nothing
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
        # One of ``requests`` closes what it was read from, which one that was filled in may not have.
        is_real = issubclass(type(self._answer), requests.Response)
        unsent = is_real and self._answer.raw is None
        if callable(close) and not unsent:
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
