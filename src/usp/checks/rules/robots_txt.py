"""Rules about robots.txt: whether it is there, and what it says about sitemaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.checks.registry import site_rule, sitemap_rule
from usp.checks.values import Hit, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.checks.facts import Site, Sitemap
    from usp.objects.exchange import Exchange

MAX_ROBOTS = 500 * 1024
"""Bytes of a robots.txt that every robot reads; Google reads no more."""

_GONE = frozenset({404, 410})
_UNAVAILABLE = frozenset(range(400, 500)) - {429}  # robots crawl as if there were no robots.txt
_OK = range(200, 300)


@site_rule("SM101", "robots-missing", Severity.WARNING)
def robots_missing(site: Site) -> Iterator[Hit]:
    """The website has no robots.txt.

    Robots may then fetch everything, and nothing tells them where the sitemaps are: they find only
    what was submitted to each search engine by hand. A server that refuses to send robots.txt, with
    status 403 for example, has none as far as robots are concerned: its rules do not count.

    Source: https://www.rfc-editor.org/rfc/rfc9309#section-2.3.1.3
        https://www.sitemaps.org/protocol.html#submit_robots

    Bad:

        --- /sitemap.xml
        <url><loc>https://example.org/tea</loc></url>

    Good:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        <url><loc>https://example.org/tea</loc></url>

    Fix: Serve a robots.txt to everyone, with a line "Sitemap: " and the whole URL for each sitemap or index.
    """
    asked = _unread(site)
    if asked is None or asked.status not in _UNAVAILABLE:
        return
    said = "there is no robots.txt" if asked.status in _GONE else "the server refuses robots.txt"
    yield Hit(f"{said} (status {asked.status})", sitemap=asked.url)


@site_rule("SM102", "robots-unreachable", Severity.ERROR)
def robots_unreachable(site: Site) -> Iterator[Hit]:
    """The robots.txt could not be fetched.

    If the server does not respond, or returns 429 or 5xx, robots must assume that nothing may be
    fetched. Google stops crawling the website for a while.

    Source: https://www.rfc-editor.org/rfc/rfc9309#section-2.3.1.4
        https://developers.google.com/search/docs/crawling-indexing/robots/robots_txt#http-status-codes

    Bad:

        --- /robots.txt 503
        --- /sitemap.xml
        <url><loc>https://example.org/tea</loc></url>

    Good:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        <url><loc>https://example.org/tea</loc></url>

    Fix: Make the server send robots.txt to everyone, or 404 if there is none.
    """
    asked = _unread(site)
    if asked is not None and asked.status in _UNAVAILABLE:
        return
    for failure in site.not_found:
        if site.is_robots_url(failure.url):
            yield Hit(f"robots.txt could not be fetched: {failure.plain}", sitemap=failure.url)


@site_rule("SM103", "robots-not-text", Severity.ERROR)
def robots_not_text(site: Site) -> Iterator[Hit]:
    """The URL of robots.txt returns something else, such as a web page.

    Robots look for lines that they know, and find none: rules and sitemaps that were meant to be there
    do not exist for them. Mostly, this is a server that answers every unknown URL with the same page.

    Source: https://www.rfc-editor.org/rfc/rfc9309#section-2.3

    Bad:

        --- /robots.txt
        <!DOCTYPE html>
        <html><body>Welcome to our tea shop</body></html>
        --- /sitemap.xml
        <url><loc>https://example.org/tea</loc></url>

    Good:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        <url><loc>https://example.org/tea</loc></url>

    Fix: Serve a text file at /robots.txt, or return 404 if there is none.
    """
    asked, read = _unread(site), site.robots_txt
    if asked is not None and asked.status in _OK and not site.failed(asked.url):
        yield Hit("robots.txt is not a text file with rules", sitemap=asked.url)
    elif read is not None and site.robots.is_something_else:
        yield Hit("robots.txt has text, but no line that robots know", sitemap=read.url)


@sitemap_rule("SM104", "blocked-sitemap", Severity.ERROR)
def blocked_sitemap(sitemap: Sitemap) -> Iterator[Hit]:
    """The website's robots.txt disallows a sitemap.

    Search engines respect robots.txt for sitemaps, too. They do not fetch one that is disallowed, even
    if robots.txt itself declares it.

    Source: https://www.rfc-editor.org/rfc/rfc9309#section-2.2.2
        https://support.google.com/webmasters/answer/7451001

    Bad:

        --- /robots.txt
        User-agent: *
        Disallow: /files/
        Sitemap: https://example.org/files/sitemap.xml
        --- /files/sitemap.xml
        <url><loc>https://example.org/files/tea</loc></url>

    Good:

        --- /robots.txt
        User-agent: *
        Disallow: /files/
        Allow: /files/sitemap.xml
        Sitemap: https://example.org/files/sitemap.xml
        --- /files/sitemap.xml

        <url><loc>https://example.org/files/sitemap.xml/tea</loc></url>

    Fix: Add an Allow line for the sitemap, or move it to a path that is not disallowed.
    """
    robots = sitemap.site.robots
    if sitemap.is_undeclared and not robots.allows(sitemap.url):
        yield Hit("robots.txt disallows this sitemap")
    for child in sitemap.children:
        if not robots.allows(child.loc):
            yield Hit(f"robots.txt disallows the sitemap {child.loc}", line=child.line)


@sitemap_rule("SM105", "large-robots-txt", Severity.WARNING)
def large_robots_txt(sitemap: Sitemap) -> Iterator[Hit]:
    """The robots.txt has more than 500 KiB.

    Robots need not read more than that, and Google does not: lines after it are ignored, those that
    declare sitemaps too.

    Source: https://www.rfc-editor.org/rfc/rfc9309#section-2.5
        https://developers.google.com/search/docs/crawling-indexing/robots/robots_txt#file-size

    Bad:

        --- /robots.txt
        User-agent: *
        Disallow: /private
        # {a line of a long comment *20} (x 1,100)
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        <url><loc>https://example.org/tea</loc></url>

    Good:

        --- /robots.txt
        User-agent: *
        Disallow: /private
        # {a line of a long comment *20} (x 1,000)
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        <url><loc>https://example.org/tea</loc></url>

    Fix: Put what is to be blocked into few folders, or use wildcards.
    """
    if sitemap.is_robots and sitemap.unpacked > MAX_ROBOTS:
        yield Hit(f"robots.txt has {sitemap.unpacked:,} bytes; robots may stop at {MAX_ROBOTS:,}")


def _unread(site: Site) -> Exchange | None:
    """Return the request for a robots.txt that is not in the tree."""
    return next((asked for asked in site.tried if site.is_robots_url(asked.url)), None)
