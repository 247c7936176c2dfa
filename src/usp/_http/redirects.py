"""Where a redirect leads: the same for every client of ours."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from usp._base.reason import Reason
from usp._base.urls import BadUrl, read_url, shown
from usp.limits import DEFAULT, Limits
from usp.objects.failure_codes import FailureCode

if TYPE_CHECKING:
    from usp._base.urls import HttpUrl

REDIRECTS = frozenset({301, 302, 303, 307, 308})
"""The statuses that lead elsewhere, if the answer says where."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class BadRedirect(Exception):  # noqa: N818 - says what happened, as the other names here do
    """A redirect that leads nowhere; ``reason`` says why."""

    def __init__(self, reason: Reason | str) -> None:
        super().__init__(str(reason))
        bad = FailureCode.BAD_REDIRECT
        self.reason = Reason(bad, reason) if isinstance(reason, str) else reason


def follow(here: HttpUrl, location: bytes | str, limits: Limits = DEFAULT) -> HttpUrl:
    """Return the URL that a redirect leads to; raises :class:`BadRedirect`.

    A fragment stays, and so does a login where the host is the same.
    """
    text = location if isinstance(location, str) else _text(location)
    longest = limits.url_length
    if longest is not None and len(text) > longest:
        raise BadRedirect(limits.reached("url_length").after("redirected too far"))
    # Python leaves tabs and line ends out when it takes a URL apart: others do not.
    if _CONTROL.search(text):
        raise BadRedirect(f"redirected to {shown(text)!r}, which has a control character in it")
    try:
        there = _join(here, text)
    except BadUrl as error:
        raise BadRedirect(f"redirected to {error}") from None
    except ValueError:
        raise BadRedirect(f"redirected to {shown(text)!r}, which is not an HTTP URL") from None
    if longest is not None and len(there.text()) > longest:
        raise BadRedirect(limits.reached("url_length").after("redirected too far"))
    if there.login is None and here.login is not None and here.may_share(there):
        return dataclasses.replace(there, login=here.login)
    return there


def _text(location: bytes) -> str:
    try:
        return location.decode("utf-8")
    except UnicodeDecodeError:
        return location.decode("latin-1")


def _join(here: HttpUrl, location: str) -> HttpUrl:
    """Join a location as ``requests`` does."""
    if location.startswith("//"):
        location = f"{here.scheme}:{location}"
    base = here.text()
    parts = urlsplit(location)
    there = read_url(location if parts.netloc else urljoin(base, location))
    _, mark, fragment = base.partition("#")
    return (
        there
        if parts.fragment or not mark
        else dataclasses.replace(there, rest=f"{there.rest.partition('#')[0]}#{fragment}")
    )
