"""Addresses that a crawl comes across: which are refused, which are the same, whose they are."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urlsplit

from usp.helpers import is_http_url
from usp.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from usp.formats.parser import ChildEntry


def refuse(url: str, level: int, parents: Iterable[str], limits: Limits = DEFAULT) -> str | None:
    """Say why a sitemap is not even asked for, if it is not."""
    if not is_http_url(url.replace(" ", "%20")):
        return f"URL {url} is not a HTTP(s) URL."
    if recurs(url, parents):
        return f"Recursion detected in URL {url} with parent URLs {listed(parents)}."
    if limits.depth is not None and level > limits.depth:
        reached = limits.reached("depth")
        return f"Recursion level exceeded {limits.depth} for URL {url}: {reached}."
    return None


def recurs(url: str, parents: Iterable[str]) -> bool:
    """Return whether a sitemap is one of those that it stands below."""
    return urldefrag(url)[0] in {urldefrag(parent)[0] for parent in parents}


def listed(urls: Iterable[str]) -> str:
    """Give URLs in one line, in order."""
    return "{" + ", ".join(repr(url) for url in sorted(urls)) + "}"


def unique(children: Iterable[ChildEntry]) -> list[ChildEntry]:
    """Leave out what the same index declares again."""
    first: dict[str, ChildEntry] = {}
    for child in children:
        first.setdefault(child.loc, child)
    return list(first.values())


def origin_of(url: str) -> str:
    """Give what answers or does not: scheme, host and port."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return f"{parts.scheme}://{parts.netloc}".lower()


def host_of(url: str) -> str:
    """Give what is asked too much or not: the host, whether by http or by https."""
    origin = origin_of(url)
    scheme, _, host = origin.partition("://")
    return host.removesuffix(_USUAL_PORTS.get(scheme, ":"))


_USUAL_PORTS = {"http": ":80", "https": ":443"}
