"""Addresses that a crawl comes across: which are refused, which are the same, whose they are."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urldefrag

from usp._base.urls import BadUrl, read_url, shown
from usp.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from collections.abc import Iterable


def refuse(url: str, level: int, above: frozenset[str], limits: Limits = DEFAULT) -> str | None:
    """Return why a sitemap is not even requested, if it is not; ``above`` have no fragments."""
    refusal = refuse_address(url)
    if refusal:
        return refusal
    if limits.too_long(url):
        return f"URL {shown(url)} is too long: {limits.reached('url_length')}."
    if recurs(url, above):
        return f"Recursion detected in URL {url} with parent URLs {listed(above)}."
    if limits.depth is not None and level > limits.depth:
        reached = limits.reached("depth")
        return f"Recursion level exceeded {limits.depth} for URL {url}: {reached}."
    return None


def recurs(url: str, above: frozenset[str]) -> bool:
    """Return whether a sitemap is one of those that it stands below, which have no fragments."""
    return urldefrag(url)[0] in above


def without_fragments(urls: Iterable[str]) -> frozenset[str]:
    """Return URLs without their fragments: what is fetched for them."""
    return frozenset(urldefrag(url)[0] for url in urls)


def refuse_address(url: str) -> str | None:
    """Return why a URL cannot be asked for, if it cannot."""
    try:
        read_url(url)
    except BadUrl as error:
        return (
            f"URL {shown(url)} is not a HTTP(s) URL{f': it {error.why}' if error.is_http else ''}."
        )
    return None


def listed(urls: Iterable[str]) -> str:
    """Give URLs in one line, in order."""
    return "{" + ", ".join(repr(url) for url in sorted(urls)) + "}"


def origin_of(url: str) -> str:
    """Return what answers or does not: scheme, host and port."""
    try:
        return read_url(url).origin
    except BadUrl:
        return url


def host_of(url: str) -> str:
    """Return host and port, the unit of the concurrency limit, whether by http or by https."""
    try:
        return read_url(url).site
    except BadUrl:
        return url
