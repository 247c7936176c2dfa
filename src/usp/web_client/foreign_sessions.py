"""What can be done about sessions of ``requests`` that are not ours: secrets, proxies, addresses.

A session may be anything that has ``get``: one that caches, one that is mocked. What it has not is
not asked for.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import requests
import requests.adapters
import requests.auth
import requests.cookies
import requests.utils
from urllib3.util import parse_url

from usp.web_client.identity import SECRET_HEADERS
from usp.web_client.zones import host_in, literal_of

if TYPE_CHECKING:
    from usp.web_client.zones import Gate


class Stranger(requests.auth.AuthBase):
    """Takes from a request what is not meant for its host: the last thing that is done to it."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Give the request without secrets."""
        for name in [name for name in request.headers if name.lower() in SECRET_HEADERS]:
            del request.headers[name]
        theirs = requests.cookies.RequestsCookieJar()
        for cookie in getattr(request, "_cookies", None) or ():
            if cookie.domain:
                theirs.set_cookie(cookie)
        request.prepare_cookies(theirs)
        user, password = requests.utils.get_auth_from_url(request.url or "")
        if user or password:  # which the website has written into the address itself
            requests.auth.HTTPBasicAuth(user, password)(request)
        return request


def options(session: requests.Session, *, home: bool, first: bool, ours: bool) -> dict[str, Any]:
    """Give the arguments that keep a session's secrets home, and a redirect's body unread."""
    options: dict[str, Any] = {}
    if not home:
        options["auth"] = Stranger()
    if session.params and (not home or not first):
        # An address that somebody else has written is asked for as it is.
        names = session.params if isinstance(session.params, Mapping) else {}
        options["params"] = dict.fromkeys(names)
    if not ours:
        theirs = session.hooks.get("response") or []
        theirs = [theirs] if callable(theirs) else list(theirs)
        options["hooks"] = {"response": [*theirs, _leave_body]}
    return options


def _leave_body(response: requests.Response, **_: object) -> None:
    """Let nobody read what comes with a redirect: it may have no end."""
    if response.is_redirect and getattr(response, "_content", None) is False:
        vars(response).update(_content=b"", _content_consumed=True)
        response.raw.close()


def is_proxied(session: Any, url: str, proxies: dict[str, str], verify: Any) -> bool:
    """Tell whether a session asks a proxy for a URL."""
    if not isinstance(session, requests.Session):
        return bool(proxies)
    url = parse_url(url.lstrip()).url  # as it will be asked for
    settings = session.merge_environment_settings(url, dict(proxies), True, verify, None)
    return bool(requests.utils.select_proxy(url, settings["proxies"]))


def look_up(session: Any, url: str, gate: Gate) -> list[str]:
    """Give where a session may connect to; nobody knows which of several addresses it takes."""
    host = host_in(url)
    literal = literal_of(host)
    addresses: list[str] = []
    if literal is not None:
        addresses = [str(literal)]
    elif host and _has_sockets(session, url):
        # If there is no such host, the session will say so, if it looks it up at all.
        with contextlib.suppress(OSError, UnicodeError):
            found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            addresses = [str(info[4][0]) for info in found]
    for address in addresses:
        gate.admit(host, address)
    return addresses


def _has_sockets(session: Any, url: str) -> bool:
    """Tell whether a session connects to anything, as far as can be seen."""
    if not isinstance(session, requests.Session):
        return False
    try:
        adapter = session.get_adapter(url)
    except requests.exceptions.InvalidSchema:
        return False
    return isinstance(adapter, requests.adapters.HTTPAdapter)


def check_peer(response: Any, url: str, gate: Gate, addresses: list[str]) -> None:
    """See where an answer came from, before its body is read; if that cannot be told, it is assumed."""
    peer = _peer(response) or next(iter(addresses), None)
    if peer is None:
        return
    try:
        gate.connected(host_in(url), peer)
    except BaseException:
        response.close()
        raise


def _peer(response: Any) -> str | None:
    raw = getattr(response, "raw", None)
    connection = getattr(getattr(raw, "connection", None), "sock", None)
    file = getattr(getattr(raw, "_original_response", None), "fp", None)
    for sock in (connection, getattr(getattr(file, "raw", None), "_sock", None)):
        if isinstance(sock, socket.socket):
            try:
                return str(sock.getpeername()[0])
            except (OSError, IndexError, TypeError):
                continue
    return None
