"""Rules about pages that are listed twice, and pages that robots may not fetch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.checks.registry import block_rule
from usp.checks.values import Hit, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.checks.blocks import Block


@block_rule("SM409", "duplicate-url", Severity.WARNING, "listing")
def duplicate_url(block: Block) -> Iterator[Hit]:
    """A page is listed twice in a sitemap.

    The second entry says nothing new, or contradicts the first one, and takes up room: a sitemap may
    have 50,000 entries. URLs that differ in the case of the host, in a default port or in escapes that
    mean the same (RFC 3986, section 6.2) are the same.

    Sources: https://www.sitemaps.org/protocol.html#xmlTagDefinitions
        https://www.rfc-editor.org/rfc/rfc3986#section-6.2.2

    Bad:

        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://example.org/coffee</loc></url>
        <url><loc>https://EXAMPLE.org/tea</loc></url>

    Good:

        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://example.org/tea/</loc></url>
        <url><loc>https://example.org/Tea</loc></url>

    Fix: List each page once.
    """
    for at, first in block.repeated:
        if first == block.sitemap.number:
            yield Hit("the page is listed twice in this sitemap", at)


@block_rule("SM410", "duplicate-across-sitemaps", Severity.WARNING, "listing")
def duplicate_across_sitemaps(block: Block) -> Iterator[Hit]:
    """A page is listed in two sitemaps of the same kind.

    Search engines read both entries, and cannot tell which one is right when they differ. A sitemap for
    news, images, videos or languages may list what another one lists without these, and so may a feed;
    sitemaps that nothing declares are not compared with the others.

    Source: https://www.sitemaps.org/protocol.html#index

    Bad:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/teas.xml
        Sitemap: https://example.org/drinks.xml
        --- /teas.xml
        <url><loc>https://example.org/tea</loc></url>
        --- /drinks.xml
        <url><loc>https://example.org/coffee</loc></url>
        <url><loc>https://example.org/tea</loc></url>

    Good:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/pages.xml
        Sitemap: https://example.org/images.xml
        --- /pages.xml
        <url><loc>https://example.org/tea</loc></url>
        --- /images.xml
        <url>
          <loc>https://example.org/tea</loc>
          <image:image><image:loc>https://example.org/tea.jpg</image:loc></image:image>
        </url>

    Fix: List each page in one sitemap.
    """
    sitemap = block.sitemap
    for at, number in block.repeated:
        if number != sitemap.number:
            first = sitemap.site.sitemaps[number]
            if first.family is sitemap.family:
                yield Hit(f"the page is listed in {first.url} already", at)


@block_rule("SM411", "disallowed-url", Severity.ERROR)
def disallowed_url(block: Block) -> Iterator[Hit]:
    """A page is disallowed by robots.txt for all robots (*).

    The sitemap asks search engines to fetch the page, and robots.txt asks them not to. They obey
    robots.txt: what is on the page is never seen.

    Sources: https://www.rfc-editor.org/rfc/rfc9309#section-2.2.2
        https://developers.google.com/search/docs/crawling-indexing/robots/intro

    Bad:

        --- /robots.txt
        User-agent: *
        Disallow: /private/
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://example.org/private/tea</loc></url>

    Good:

        --- /robots.txt
        User-agent: *
        Disallow: /private/
        Allow: /private/tea$

        User-agent: ExampleBot
        Disallow: /
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://example.org/private/tea</loc></url>

    Fix: Allow the page in robots.txt, or leave it out of the sitemap.
    """
    for at in block.site.robots.disallowed(block.urls, block.joined):
        yield Hit("robots.txt disallows the page for all robots", at)
