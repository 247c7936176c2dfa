"""Sessions of ``requests``, users' own above all: their secrets, proxies and addresses.

A session may be anything that has ``get``: one that caches, or a mock.
"""

from __future__ import annotations

import contextlib
import inspect
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http.client import HTTPMessage, HTTPResponse, RemoteDisconnected
from operator import attrgetter
from typing import Any

import requests
import requests.cookies
import requests.utils
import urllib3.exceptions

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
from usp._http.identity import is_secret
from usp._http.redirects import within_bounds
from usp.objects.failure_codes import FailureCode
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
