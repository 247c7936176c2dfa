"""Which sitemaps are followed: what the caller's callbacks say, and which addresses are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

from usp._base.reason import Reason
from usp._base.urls import BadUrl, read_url, shown
from usp._formats.abstract_parser import ChildEntry
from usp._formats.values import date
from usp.limits import DEFAULT, Limits
from usp.objects.child import ChildSitemap
from usp.objects.failure_codes import FailureCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from usp.options import CrawlOptions


def has_callbacks(options: CrawlOptions) -> bool:
    """Return whether anybody is asked which children to follow."""
    return bool(
        options.recurse_callback or options.recurse_list_callback or options.recurse_entry_callback
    )


def followed(
    children: list[ChildEntry], level: int, parents: frozenset[str], options: CrawlOptions
) -> list[ChildEntry]:
    """Return the children to follow, in order: the list is asked for first, then each child."""
    if options.recurse_list_callback:
        by_url = {child.loc: child for child in children}
        urls = options.recurse_list_callback(list(by_url), level, set(parents))
        children = [by_url.get(url) or ChildEntry(url) for url in urls]
    return [child for child in children if _follows(child, level, parents, options)]


def _follows(child: ChildEntry, level: int, parents: frozenset[str], options: CrawlOptions) -> bool:
    if options.recurse_callback and not options.recurse_callback(child.loc, level, set(parents)):
        return False
    if options.recurse_entry_callback is None:
        return True
    entry = ChildSitemap(child.loc, date(child.lastmod), level, parents)
    return options.recurse_entry_callback(entry)


# Addresses ------------------------------------------------------------------------------------------


def refuse(url: str, level: int, above: frozenset[str], limits: Limits = DEFAULT) -> Reason | None:
    """Return why a sitemap is not even requested, if it is not; ``above`` have no fragments."""
    refusal = refuse_address(url)
    if refusal:
        return refusal
    if limits.too_long(url):
        reached = limits.reached("url_length")
        full = f"URL {shown(url)} is too long: {reached}."
        return replace(reached, text=f"it is too long: {reached}", full=full)
    if recurs(url, above):
        full = f"Recursion detected in URL {url} with parent URLs {listed(above)}."
        code = FailureCode.RECURSION
        return Reason(code, code.message, full=full)
    if limits.depth is not None and level > limits.depth:
        reached = limits.reached("depth")
        text = f"Recursion level exceeded {limits.depth}"
        return replace(reached, text=f"{text}: {reached}", full=f"{text} for URL {url}: {reached}.")
    return None


def recurs(url: str, above: frozenset[str]) -> bool:
    """Return whether a sitemap is one of those that it stands below, which have no fragments."""
    return urldefrag(url)[0] in above


def without_fragments(urls: Iterable[str]) -> frozenset[str]:
    """Return URLs without their fragments: what is fetched for them."""
    return frozenset(urldefrag(url)[0] for url in urls)


def refuse_address(url: str) -> Reason | None:
    """Return why a URL cannot be asked for, if it cannot."""
    try:
        read_url(url)
    except BadUrl as error:
        text = f"is not a HTTP(s) URL{f': it {error.why}' if error.is_http else ''}"
        return Reason(FailureCode.BAD_URL, f"it {text}", full=f"URL {shown(url)} {text}.")
    return None


def listed(urls: Iterable[str]) -> str:
    """Return URLs in one line, in order."""
    return "{" + ", ".join(repr(url) for url in sorted(urls)) + "}"
