"""What must not appear in messages, logs and snapshots: logins, passwords of proxies, keys."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit, urlunsplit
from urllib.request import getproxies

if TYPE_CHECKING:
    from usp._base.reason import Reason

_LOGIN = re.compile(r"//[^/?#\s@]*@")
# Words in the names of headers whose values may let somebody in, as in X-Auth-Token: what a client
# sends for that, and what a server gives it.
_SECRET_WORDS = frozenset(
    {"auth", "authorization", "authenticate", "authentication", "cookie", "cookie2", "token", "jwt"}
    | {"secret", "password", "passwd", "credential", "credentials", "bearer", "nonce", "signature"}
    | {"session", "sessionid", "sid", "csrf", "xsrf", "csrftoken", "apikey", "accesskey"}
)
_SECRET_PAIRS = frozenset(
    {("api", "key"), ("access", "key"), ("private", "key"), ("session", "id")}
)
_BETWEEN_WORDS = re.compile(r"[-_.\s]+")
_LONGEST_SHARED = 200  # characters of a header
_SHORTEST = 4  # characters: a shorter secret cannot be told from a word


@lru_cache(maxsize=1024)
def is_secret_header(name: str) -> bool:
    """Return whether the value of a header may be a secret, by its name."""
    words = _BETWEEN_WORDS.split(name.strip().lower())
    return not _SECRET_WORDS.isdisjoint(words) or any(
        map(_SECRET_PAIRS.__contains__, pairwise(words))
    )


def safe_headers(headers: Iterable[tuple[object, object]]) -> tuple[tuple[str, str], ...]:
    """Return headers without those that contain secrets, and without logins in the others."""
    kept = []
    for given, value in headers:
        name, text = str(given), str(value)
        if is_secret_header(name):
            continue
        shared = "@" not in text and len(text) <= _LONGEST_SHARED
        kept.append(_shared(name, text) if shared else (name, redacted(text)))
    return tuple(kept)


@lru_cache(maxsize=1024)
def _shared(name: str, value: str) -> tuple[str, str]:
    """Return a header: one object for all documents, since a server sends most headers each time."""
    return sys.intern(name), value


def without_secrets(reason: Reason, secrets: Iterable[str] = ()) -> Reason:
    """Return a reason without secrets, and without the logins of URLs in it."""
    hidden = {*secrets}
    advice = reason.advice
    if advice is not None:
        advice = replace(advice, name=redacted(advice.name, hidden))
    return replace(reason, text=redacted(reason.text, hidden), advice=advice)


def redacted(message: str, secrets: Iterable[str] = ()) -> str:
    """Return a message without secrets, and without the logins of URLs in it."""
    if secrets:
        for secret in sorted({*secrets}, key=len, reverse=True):
            if len(secret) >= _SHORTEST:
                message = message.replace(secret, "***")
    return _LOGIN.sub("//", message) if "@" in message else message


def secrets_of_proxies(*proxies: object) -> set[str]:
    """Return what is secret in the URLs of proxies, including those of the environment."""
    found: set[str] = set()
    for proxy in (*proxies, *getproxies().values()):
        login, at, _ = str(proxy or "").rpartition("@")
        if at:
            login = login.partition("//")[2] or login
            password = login.partition(":")[2]
            found |= {login, password, unquote(password)}
    return found - {""}


def secrets_of_params(session: Any) -> set[str]:
    """Return what is secret in the parameters that a session adds to URLs."""
    values = {value for _, value in _pairs(session)}
    return {form for value in values for form in (value, quote(value), quote_plus(value))}


def without_params(url: str, asked: str, session: Any) -> str:
    """Return a URL without the parameters of a session, unless it was requested with them."""
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
