"""What our clients share: headers and secrets, trusted authorities, timeouts and pauses.

And what must not appear in messages, logs and snapshots: logins, passwords of proxies, keys.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import random
import re
import ssl
import sys
import time
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.request import getproxies

import usp
from usp._base.urls import HttpUrl, unquote
from usp.options import check_wait
from usp.web_client.zones import Zones

if TYPE_CHECKING:
    from usp._base.reason import Reason

Timeout: TypeAlias = float | tuple[float, float] | None

DEFAULT_TIMEOUT: Timeout = (9.05, 60.0)
"""Seconds to connect, and seconds between two pieces of a response."""

_FOR_EVERYBODY = frozenset(
    {"accept", "accept-encoding", "accept-language", "cache-control", "dnt", "from", "user-agent"}
)
_OF_THE_CONNECTION = frozenset({"connection", "host"})


def is_harmless(header: str) -> bool:
    """Return whether a header may be sent to every host: an unknown one may be a key."""
    return header.lower() in _FOR_EVERYBODY


def is_secret(header: str) -> bool:
    """Return whether a header of a request that is ready to be sent is for the first host only."""
    return not is_harmless(header) and header.lower() not in _OF_THE_CONNECTION


def checked_timeout(timeout: object) -> Any:
    """Return a timeout; raises ``ValueError`` for one that is impossible.

    Timeout objects of a library are passed on as they are.
    """
    parts = tuple(timeout) if isinstance(timeout, tuple | list) else (timeout, timeout)
    is_wrong = len(parts) != 2  # noqa: PLR2004 - connect, read
    for part in parts:
        if isinstance(part, int | float):
            is_wrong |= isinstance(part, bool) or not 0 < part < math.inf  # nor is NaN
        else:
            is_wrong |= isinstance(part, str)
    if is_wrong:
        raise ValueError(
            "timeout must be a positive number of seconds, a pair of them (to connect, to read) "
            f"or None, not {timeout!r}"
        )
    return parts if isinstance(timeout, list) else timeout


def check_options(
    wait: object, headers: Mapping[Any, Any] | None, max_concurrent_requests: object, zones: object
) -> None:
    """Raise ``TypeError`` or ``ValueError`` for options of a client that are invalid."""
    if wait is not None:
        check_wait(wait)
    for name, value in (headers or {}).items():
        if not isinstance(name, str) or not isinstance(value, str | bytes):
            raise TypeError(f"the header {name!r} must be a string, not {value!r}")
    most = max_concurrent_requests
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
        raise ValueError(f"max_concurrent_requests must be a positive integer, not {most!r}")
    if zones is not None and not isinstance(zones, Zones):
        raise TypeError(f"zones must be usp.Zones, not {zones!r}")


OUR_NAME = f"ultimate_sitemap_parser/{usp.__version__}"
"""The user agent of a client that was given none."""


def proxies_of(proxy: str | None, by_scheme: Mapping[str, str] | None) -> dict[str, str]:
    """Return proxies by scheme: those given, and one for all others."""
    everything = {} if proxy is None else {"http": proxy, "https": proxy}
    return {**everything, **(by_scheme or {})}


def proxy_of(url: HttpUrl, proxies: Mapping[str, str], *, environment: bool = True) -> str | None:
    """Return the proxy for a URL; one for its host alone goes first, as in ``requests``.

    Those that the environment names come last.
    """
    may_have = sys.platform in ("darwin", "win32") or "proxy" in " ".join(os.environ).lower()
    if (
        environment and may_have and not getproxies().keys() <= {"no"}
    ):  # which takes five times as long
        from requests.utils import get_environ_proxies  # noqa: PLC0415 - takes long to load

        proxies = {**get_environ_proxies(url.origin, proxies.get("no_proxy")), **proxies}
    for key in (f"{url.scheme}://{url.host}", url.scheme, f"all://{url.host}", "all"):
        if key in proxies:
            return proxies[key]
    return None


@functools.cache
def trusting(place: str) -> ssl.SSLContext:
    """Return the TLS settings that trust the certificate authorities in a file (PEM) or folder only.

    Reading them takes long, so it is done once. Raises ``OSError`` if there are none.
    """
    if Path(place).is_dir():
        return ssl.create_default_context(capath=place)
    return ssl.create_default_context(cafile=place)


class RequestWaiter:
    """Keeps a pause between requests; a public name of ``usp.web_client.abstract_client``."""

    def __init__(self, wait: float | None = None, random_wait: bool = True) -> None:
        self._wait = wait or 0.0
        self._random_wait = random_wait
        self._is_first = True

    def wait(self) -> None:
        """Sleep before every request except the first: ``wait`` seconds, varied if it is random."""
        pause = self.pause()
        if pause > 0:
            time.sleep(pause)

    def pause(self) -> float:
        """Return the seconds to sleep before the next request, for callers that sleep themselves."""
        is_first, self._is_first = self._is_first, False
        if is_first or self._wait <= 0:
            return 0.0
        return self._wait * (random.uniform(0.5, 1.5) if self._random_wait else 1.0)  # noqa: S311


# What must not be seen ------------------------------------------------------------------------------

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
_SHORTEST = 4  # characters: a shorter secret could be any word


@functools.lru_cache(maxsize=1024)
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


@functools.lru_cache(maxsize=1024)
def _shared(name: str, value: str) -> tuple[str, str]:
    """Return a header: one object for all documents, since a server sends most headers each time."""
    return sys.intern(name), value


def without_secrets(reason: Reason, secrets: Iterable[str] = ()) -> Reason:
    """Return a reason without secrets, and without the logins of URLs in it."""
    hidden = {*secrets}
    advice = reason.advice
    if advice is not None:
        advice = dataclasses.replace(advice, name=redacted(advice.name, hidden))
    return dataclasses.replace(reason, text=redacted(reason.text, hidden), advice=advice)


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
