"""Keeps secrets out of what clients say: passwords of proxies, and the parameters of sessions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit, urlunsplit
from urllib.request import getproxies

_LOGIN = re.compile(r"//[^/?#\s@]*@")
_SHORTEST = 4  # characters of a secret that can be told from a word


def redacted(message: str, secrets: Iterable[str] = ()) -> str:
    """Return a message without secrets, and without the login of any address in it."""
    for secret in sorted({*secrets}, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            message = message.replace(secret, "***")
    return _LOGIN.sub("//", message)


def secrets_of_proxies(*proxies: object) -> set[str]:
    """Return what is secret in the addresses of proxies, those of the environment included."""
    found: set[str] = set()
    for proxy in (*proxies, *getproxies().values()):
        login, at, _ = str(proxy or "").rpartition("@")
        if at:
            login = login.partition("//")[2] or login
            password = login.partition(":")[2]
            found |= {login, password, unquote(password)}
    return found - {""}


def secrets_of_params(session: Any) -> set[str]:
    """Return what is secret in the parameters that a session adds to addresses."""
    values = {value for _, value in _pairs(session)}
    return {form for value in values for form in (value, quote(value), quote_plus(value))}


def without_params(url: str, asked: str, session: Any) -> str:
    """Return a URL without the parameters of a session, unless it was asked for with them."""
    pairs = _pairs(session)
    if not pairs:
        return url
    parts, own = urlsplit(url), set(urlsplit(asked).query.split("&"))
    kept = [
        text
        for text in parts.query.split("&")
        if text in own or tuple(map(unquote_plus, text.partition("=")[::2])) not in pairs
    ]
    return urlunsplit(parts._replace(query="&".join(kept)))


def _pairs(session: Any) -> set[tuple[str, str]]:
    """Return the parameters of a session by name and value; it may have them in any form."""
    params = getattr(session, "params", None)
    if isinstance(params, str | bytes):
        text = params if isinstance(params, str) else params.decode("utf-8", "replace")
        parts = (part.partition("=") for part in text.split("&") if part)
        return {(unquote_plus(name), unquote_plus(value)) for name, _, value in parts}
    items = params.items() if isinstance(params, Mapping) else params or ()
    found: set[tuple[str, str]] = set()
    for name, value in items:
        values = value if isinstance(value, list | tuple | set) else [value]
        found |= {(_text(name), _text(one)) for one in values if one is not None}
    return found


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
