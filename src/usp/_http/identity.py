"""What our clients share: headers and secrets, trusted authorities, timeouts and pauses."""

from __future__ import annotations

import dataclasses
import math
import random
import ssl
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.request import getproxies

import usp
from usp._base.shortage import scarce
from usp._base.urls import BadUrl, HttpUrl, read_url
from usp._http.encodings import ACCEPTED
from usp.options import check_wait
from usp.web_client.zones import Zones

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    parts = tuple(timeout) if isinstance(timeout, tuple | list) else (timeout,)
    wrong = isinstance(timeout, tuple | list) and len(parts) != 2  # noqa: PLR2004 - connect, read
    if wrong or any(isinstance(part, str | bool) or _is_impossible(part) for part in parts):
        raise ValueError(
            "timeout must be a positive number of seconds, a pair of them (to connect, to read) "
            f"or None, not {timeout!r}"
        )
    return parts if isinstance(timeout, list) else timeout


def _is_impossible(seconds: object) -> bool:
    return isinstance(seconds, int | float) and not 0 < seconds < math.inf  # nor is NaN


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


class Identity:
    """The headers of a client; those that may be secret are sent to the home host only.

    Home is the host of the start, or else the first one requested. If that was by HTTPS, secrets are
    not sent without it.
    """

    def __init__(self, user_agent: str | None, headers: Mapping[str, str] | None) -> None:
        self._user_agent = user_agent
        self._our_name = f"ultimate_sitemap_parser/{usp.__version__}"
        self._headers = dict(headers or {})
        self._home: HttpUrl | None = None

    def at(self, start_url: str) -> Identity:
        """Return the same identity for a crawl that begins at ``start_url``."""
        identity = Identity(self._user_agent, self._headers)
        identity.is_home(start_url)
        return identity

    def is_home(self, url: HttpUrl | str) -> bool:
        """Return whether a URL is on the host that may get secrets."""
        try:
            target = read_url(url) if isinstance(url, str) else url
        except BadUrl:
            return False
        if self._home is None:
            self._home = dataclasses.replace(target, rest="/", login=None)
        return self._home.may_share(target)

    def headers(self, *, is_home: bool, names_itself: bool = False) -> dict[str, str]:
        """Return the headers of a request; without a user agent if the session has its own."""
        headers = {"Accept-Encoding": ACCEPTED}
        if self._user_agent is not None or not names_itself:
            headers["User-Agent"] = self._user_agent or self._our_name
        if scarce():  # a connection that is kept for later is missing elsewhere now
            headers["Connection"] = "close"
        if not self._headers:
            return headers
        mine = self._headers.items()
        return headers | {name: value for name, value in mine if is_home or is_harmless(name)}


def proxies_of(proxy: str | None, by_scheme: Mapping[str, str] | None) -> dict[str, str]:
    """Return proxies by scheme: those given, and one for all others."""
    everything = {} if proxy is None else {"http": proxy, "https": proxy}
    return {**everything, **(by_scheme or {})}


def proxies_of_environment(url: HttpUrl) -> dict[str, str]:
    """Return the proxies that the environment names for a URL, in the same way as ``requests``."""
    if getproxies().keys() <= {"no"}:
        return {}
    from requests.utils import get_environ_proxies  # noqa: PLC0415 - takes long to load

    return get_environ_proxies(url.text())


def proxy_for(url: HttpUrl, proxies: Mapping[str, str]) -> str | None:
    """Return the proxy for a URL; one for its host goes first, as in ``requests``."""
    if not proxies:
        return None
    keys = (f"{url.scheme}://{url.host}", url.scheme, f"all://{url.host}", "all")
    return next((proxies[key] for key in keys if key in proxies), None)


@cache
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
