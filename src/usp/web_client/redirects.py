"""Where a redirect leads: the same for every client of ours."""

from __future__ import annotations

from urllib.parse import urljoin, urlparse

from requests.utils import requote_uri

from usp.helpers import is_http_url
from usp.web_client.identity import host_of, is_downgrade

REDIRECTS = frozenset({301, 302, 303, 307, 308})
"""The statuses that lead elsewhere, if the answer says where."""


class BadRedirect(Exception):  # noqa: N818 - says what happened, as the other names here do
    """A redirect that leads nowhere."""


def follow(url: str, location: bytes | str) -> str:
    """Give the address that ``url`` redirects to, written as ``requests`` writes it.

    A fragment stays, and so does a password in the address, where the host is the same.
    """
    text = location if isinstance(location, str) else _text(location)
    try:
        target = _join(url, text)
    except ValueError:
        target = text
    if not is_http_url(target):
        raise BadRedirect(f"redirected to {text}, which is no HTTP URL")
    return target


def _text(location: bytes) -> str:
    try:
        return location.decode("utf-8")
    except UnicodeDecodeError:
        return location.decode("latin-1")


def _join(url: str, location: str) -> str:
    here = urlparse(url)
    if location.startswith("//"):
        location = f"{here.scheme}:{location}"
    there = urlparse(location)
    if not there.fragment:
        there = there._replace(fragment=here.fragment)
    target = requote_uri(there.geturl())
    if not there.netloc:
        return urljoin(url, target)
    user, at, _ = here.netloc.rpartition("@")
    if (
        at
        and "@" not in there.netloc
        and host_of(target) == host_of(url)
        and not is_downgrade(url, target)
    ):
        parts = urlparse(target)
        return parts._replace(netloc=f"{user}@{parts.netloc}").geturl()
    return target
