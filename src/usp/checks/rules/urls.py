"""Rules about the URLs of pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._base.urls import is_http_url
from usp.checks.registry import block_rule
from usp.checks.values import Hit, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.checks.facts import Block

MAX_URL = 2048
"""Characters that the protocol allows in a URL: fewer than this."""


@block_rule("SM401", "relative-url", Severity.ERROR)
def relative_url(block: Block) -> Iterator[Hit]:
    """The URL of a page is relative.

    The protocol wants whole URLs, and search engines do not resolve others: the page is not found.

    Source: https://www.sitemaps.org/protocol.html#locdef

    Bad:

        <url><loc>/tea</loc></url>

    Good:

        <url><loc>https://example.org/tea</loc></url>

    Fix: Write the whole URL, with its scheme and host.
    """
    for at, written in enumerate(block.written or ()):
        if written and not is_http_url(written.strip()) and "://" not in written:
            yield Hit(f"the URL is relative: {written.strip()!r}", at)


@block_rule("SM406", "long-url", Severity.ERROR)
def long_url(block: Block) -> Iterator[Hit]:
    """The URL of a page has 2,048 characters or more.

    The protocol allows fewer than 2,048 characters. Search engines may skip the page, and browsers may
    cut the URL off.

    Source: https://www.sitemaps.org/protocol.html#locdef

    Bad:

        <url><loc>https://example.org/?q={a*2030}</loc></url>

    Good:

        <url><loc>https://example.org/?q={a*2000}</loc></url>

    Fix: Shorten the URL: leave out parameters that do not change the page.
    """
    if max(map(len, block.urls)) >= MAX_URL:
        for at, url in enumerate(block.urls):
            if len(url) >= MAX_URL:
                yield Hit(f"the URL has {len(url):,} characters", at)


@block_rule("SM407", "url-fragment", Severity.WARNING)
def url_fragment(block: Block) -> Iterator[Hit]:
    """The URL of a page has a fragment.

    A fragment names a part of a page and is never sent to the server. Search engines drop it, so that
    several entries become the same page.

    Source: https://www.rfc-editor.org/rfc/rfc3986#section-3.5

    Bad:

        <url><loc>https://example.org/tea#green</loc></url>

    Good:

        <url><loc>https://example.org/tea</loc></url>

    Fix: Leave out the # and what follows it.
    """
    if "#" in block.joined:
        for at, url in enumerate(block.urls):
            if "#" in url:
                yield Hit("the URL has a fragment", at)
