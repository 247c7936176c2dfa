"""Where a redirect leads, and the cookies that are sent on the way: the same for every client.

Some websites set a cookie and redirect to the same URL until it is sent back. A crawl needs no other
cookies, so none are kept, and no jar can be filled. The bounds are those of curl.
"""

from __future__ import annotations

import dataclasses
import email.utils
import http.cookiejar
import re
import time
from collections.abc import Iterable, Sequence
from typing import Any

from usp._base.reason import Reason
from usp._base.urls import BadUrl, HttpUrl, read_url, redact_url, urljoin, urlsplit
from usp.limits import DEFAULT, Limits
from usp.objects.failure_codes import FailureCode

REDIRECTS = frozenset({301, 302, 303, 307, 308})
"""The statuses of redirects, if the response has a Location."""

_LEFT_OUT = str.maketrans("", "", "\t\r\n")  # wherever they are, as browsers do
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PATH = re.compile(r"((?:[A-Za-z][A-Za-z0-9+.-]*+:)?//[^/?#]*+)?([^?#]*+)")


class BadRedirect(Exception):  # noqa: N818 - says what happened, as the other names here do
    """A redirect that leads nowhere; ``reason`` says why."""

    def __init__(self, reason: Reason | str) -> None:
        super().__init__(str(reason))
        bad = FailureCode.BAD_REDIRECT
        self.reason = Reason(bad, reason) if isinstance(reason, str) else reason


def follow(here: HttpUrl, location: str, limits: Limits = DEFAULT) -> HttpUrl:
    """Return the URL that a redirect leads to; raises :class:`BadRedirect`.

    A fragment is kept, and so is a login if the host is the same. As in browsers, a backslash in the
    path is a slash, and tabs are left out; a host with a backslash is refused, as everywhere.
    """
    text = _PATH.sub(
        lambda found: (found[1] or "") + found[2].replace("\\", "/"),
        _text(location).translate(_LEFT_OUT),
        count=1,
    )
    longest = limits.url_length
    if longest is not None and len(text) > longest:
        raise BadRedirect(limits.reached("url_length").after("redirected too far"))
    if _CONTROL.search(text):
        raise BadRedirect(
            f"redirected to {redact_url(text)!r}, which has a control character in it"
        )
    base = here.text()
    try:
        there = read_url(urljoin(base, text))
    except ValueError as error:
        why = error.why if isinstance(error, BadUrl) else "is not an HTTP URL"
        raise BadRedirect(f"redirected to {redact_url(text)!r}, which {why}") from None
    _, mark, fragment = base.partition("#")
    if mark and "#" not in there.rest:
        there = dataclasses.replace(there, rest=f"{there.rest}#{fragment}")
    if longest is not None and len(there.text()) > longest:
        raise BadRedirect(limits.reached("url_length").after("redirected too far"))
    if there.login is None and here.login is not None and here.may_share(there):
        return dataclasses.replace(there, login=here.login)
    return there


def too_many(urls: Sequence[str], limits: Limits) -> BadRedirect:
    """Return why the last of these URLs, each of which redirects to the next, is not requested."""
    reached = limits.reached("redirects")
    if urls[-1] not in urls[:-1]:
        return BadRedirect(reached)
    # A higher limit would not help. Before it is reached, a cookie that is set may end the circle.
    circle = f"redirected in a circle, until the limit redirects={limits.redirects} was reached"
    return BadRedirect(Reason(reached.code, circle))


def _text(location: str) -> str:
    """Return a Location in UTF-8, or else in Latin-1: as which libraries decode all headers."""
    try:
        received = location.encode("latin-1") if isinstance(location, str) else bytes(location)
    except UnicodeEncodeError:  # except for those of aiohttp
        received = location.encode("utf-8", "surrogateescape")
    try:
        return received.decode("utf-8")
    except UnicodeDecodeError:
        return received.decode("latin-1")


# Cookies -------------------------------------------------------------------------------------------


MOST_COOKIES = 50
"""Cookies that are accepted from one response."""

MOST_BYTES = 8 * 1024
"""Of the ``Cookie`` header of one request, and of what responses may add to a session's jar."""

_LONGEST = 4096  # of one cookie
_LONGEST_DATE = 64
_MOST_IN_JAR = 1000  # cookies of all hosts


class HopCookies:
    """The cookies on the way to one document; each is sent only to the host that has set it.

    So is a cookie for a whole domain, which makes a list of public suffixes unnecessary.
    """

    def __init__(self) -> None:
        self._cookies: dict[str, dict[tuple[str, str], str]] = {}  # by site; name and path: value

    def take(self, url: HttpUrl, answers: Iterable[str]) -> None:
        """Store the ``Set-Cookie`` headers of a response from ``url``."""
        kept = self._cookies.setdefault(url.site, {})
        for text in list(answers)[:MOST_COOKIES]:
            cookie = _read_cookie(text, url)
            if cookie is None:
                continue
            key, value, is_over = cookie
            kept.pop(key, None)
            if not is_over:
                kept[key] = value

    def header(self, url: HttpUrl) -> str | None:
        """Return the ``Cookie`` header of a request, None if there is nothing to send back."""
        size, pairs, here = 0, [], _path(url)
        for (name, path), value in self._cookies.get(url.site, {}).items():
            pair = f"{name}={value}"
            size += len(pair) + 2
            if size > MOST_BYTES:
                break
            if here == path or here.startswith(path.removesuffix("/") + "/"):
                pairs.append(pair)
        return "; ".join(pairs) or None


def _read_cookie(text: str, url: HttpUrl) -> tuple[tuple[str, str], str, bool] | None:
    """Return name and path, the value, and whether it is expired; None for one that is not accepted."""
    if len(text) > _LONGEST or not text.isascii() or not text.isprintable():
        return None
    pair, *rest = text.split(";")
    name, equals, value = (part.strip() for part in pair.partition("="))
    attributes = {
        key.strip().lower(): said.strip()
        for key, _, said in (attribute.partition("=") for attribute in rest)
    }
    domain = attributes.get("domain", "").lower().lstrip(".")
    if (
        (not name or not equals)
        or (domain and url.host != domain and not url.host.endswith(f".{domain}"))
        or ("secure" in attributes and url.scheme != "https")
    ):
        return None
    path = attributes.get("path", "")
    if not path.startswith("/"):
        path = _path(url).rpartition("/")[0] or "/"
    return (name, path), value, _is_over(attributes)


def _path(url: HttpUrl) -> str:
    return urlsplit(url.text()).path or "/"


def _is_over(attributes: dict[str, str]) -> bool:
    age = attributes.get("max-age")
    if age:  # an empty one is ignored, as RFC 6265 says
        return age.startswith("-") or age.strip("0") == ""
    date = email.utils.parsedate_tz(attributes.get("expires", "")[:_LONGEST_DATE])
    try:
        return date is not None and email.utils.mktime_tz(date) <= time.time()
    except (ValueError, OverflowError):
        return False


# Sessions of users ---------------------------------------------------------------------------------


class NoNewCookies(http.cookiejar.DefaultCookiePolicy):
    """Lets a jar send what its owner has put into it, and accept nothing from responses."""

    def set_ok(self, cookie: Any, request: Any) -> bool:  # noqa: ARG002
        """Return False."""
        return False


def name_of(answer: str) -> str:
    """Return the name of the cookie in a ``Set-Cookie`` header."""
    return answer.partition(";")[0].partition("=")[0].strip()


def within_bounds(kept: Iterable[tuple[str, str, str]], host: str, answers: list[str]) -> list[str]:
    """Return the cookies of a response that the jar of a user's session may accept.

    ``kept`` are the name, value and domain of those that it has. A cookie for a whole domain, which
    may be one of many owners, is made one for its host.
    """
    cookies = list(kept)
    hosts = {host, f"{host}.local", ""}  # as http.cookiejar calls a name without a dot; for all
    room = MOST_BYTES if len(cookies) < _MOST_IN_JAR else 0
    for name, value, domain in cookies:
        if domain.lstrip(".") in hosts:
            room -= len(name) + len(value) + 3
    taken = []
    for text in answers[:MOST_COOKIES]:
        pair, *rest = text.split(";")
        room -= len(pair) + 2
        if len(text) <= _LONGEST and room >= 0:
            own = (part for part in rest if not part.strip().lower().startswith("domain"))
            taken.append(";".join([pair, *own]))
    return taken
