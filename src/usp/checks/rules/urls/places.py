"""Rules about where pages are: host, scheme and folder, beside those of the sitemap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.checks.listing import normal_url
from usp.checks.origins import bare, beginning, origin_at, path_in
from usp.checks.registry import block_rule, sitemap_rule
from usp.checks.values import Hit, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from usp._base.urls import HttpUrl
    from usp.checks.blocks import Block
    from usp.checks.facts import Sitemap
    from usp.checks.origins import OriginCount

_FEW = 8  # origins of a block that are counted


@block_rule("SM402", "other-host", Severity.ERROR)
def other_host(block: Block) -> Iterator[Hit]:
    """A page is on another host than its sitemap, and nothing proves that both belong together.

    A sitemap is for the pages of its own host; others are dropped. Pages of another host may be in it
    if the robots.txt of that host declares the sitemap, or an index that it is in. If a website is
    checked, and not a file or a snapshot, the robots.txt of up to 20 such hosts are fetched.

    Sources: https://www.sitemaps.org/protocol.html#location
        https://www.sitemaps.org/protocol.html#sitemaps_cross_submits

    Bad:

        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://shop.example.net/tea</loc></url>

    Good:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://files.example.net/sitemap.xml
        --- https://files.example.net/sitemap.xml
        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://example.org/coffee</loc></url>

    Fix: List the page in a sitemap on its own host, or declare this sitemap in the robots.txt of that host.
    """
    sitemap = block.sitemap
    if sitemap.is_feed or not sitemap.urls:
        return
    others = {}
    for written in block.origins:
        origin = origin_at(written)
        if origin is None or sitemap.reach.has_host(origin):
            continue
        if not sitemap.is_declared_by(origin):
            others[written] = origin.site
    if others:
        own = sitemap.urls[0].site
        for at, url in enumerate(block.urls):
            host = others.get(beginning(url))
            if host is not None:
                yield Hit(f"the page is on {host}, its sitemap on {own}", at)


@block_rule("SM403", "outside-folder", Severity.WARNING)
def outside_folder(block: Block) -> Iterator[Hit]:
    """A page is not below the folder of its sitemap.

    Who may write into one folder need not own the others: a sitemap at /catalog/sitemap.xml may only
    list what begins with /catalog/. That does not count for a sitemap that robots.txt declares, or
    that is in an index which is declared there.

    Source: https://www.sitemaps.org/protocol.html#location

    Bad:

        --- /sitemap.xml
        <?xml version="1.0" encoding="UTF-8"?>
        <sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <sitemap><loc>https://example.org/catalog/sitemap.xml</loc></sitemap>
        </sitemapindex>
        --- /catalog/sitemap.xml
        <url><loc>https://example.org/catalog/tea</loc></url>
        <url><loc>https://example.org/about</loc></url>

    Good:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/catalog/sitemap.xml
        --- /catalog/sitemap.xml
        <url><loc>https://example.org/catalog/tea</loc></url>
        <url><loc>https://example.org/about</loc></url>

    Fix: Declare the sitemap in robots.txt, or move it to the root of the website.
    """
    sitemap = block.sitemap
    folders = () if sitemap.is_feed or not _may_be_undeclared(sitemap) else sitemap.reach.folders()
    if not folders or _all_begin_with(block, folders[0]):
        return
    even = tuple(_even(folder) for folder in folders)
    for at, url in enumerate(block.urls):
        written = beginning(url)
        origin = origin_at(written)
        if origin is None or sitemap.reach.is_proven(origin) or not sitemap.reach.has_host(origin):
            continue
        path = path_in(normal_url(url), origin.origin)
        if not path.startswith(even) and f"{path.partition('?')[0]}/" not in even:
            yield Hit(f"the page is not below {folders[0]}, the folder of its sitemap", at)


def _may_be_undeclared(sitemap: Sitemap) -> bool:
    """Return whether it is known that nothing declares a sitemap.

    If a website was not searched, its robots.txt was not read: then only the sitemap itself counts
    that was asked for.
    """
    return sitemap.site.is_website or sitemap.parent is None


def _all_begin_with(block: Block, folder: str) -> bool:
    if len(block.origins) > _FEW:
        return False
    beginnings = (f"\n{written}{folder}" for written in block.origins)
    return sum(map(block.joined.count, beginnings)) == len(block.urls)


def _even(folder: str) -> str:
    return normal_url(f"http://host{folder}").removeprefix("http://host")


@sitemap_rule("SM404", "mixed-schemes", Severity.WARNING)
def mixed_schemes(sitemap: Sitemap) -> Iterator[Hit]:
    """Some pages of a sitemap are listed with http and others with https, or all unlike the sitemap.

    Both are different pages to search engines, usually with the same content. The protocol asks for
    one scheme, that of the sitemap itself. Redirects count: a sitemap that is found with http and sent
    with https may list either.

    Source: https://www.sitemaps.org/protocol.html#location

    Bad:

        <url><loc>https://example.org/tea</loc></url>
        <url><loc>http://example.org/coffee</loc></url>

    Good:

        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://example.org/coffee</loc></url>

    Fix: List all pages with the scheme that the website redirects to, usually https.
    """
    for count, pages in _odd_ones(sitemap, lambda url: url.scheme):
        scheme = count.origin.scheme
        other = "https" if scheme == "http" else "http"
        yield _hit(f"{pages} with {scheme} rather than {other}", count)


@sitemap_rule("SM405", "mixed-www", Severity.WARNING)
def mixed_www(sitemap: Sitemap) -> Iterator[Hit]:
    """Some pages of a sitemap are listed with www and others without, or all unlike the sitemap.

    These are different hosts, and so different pages, usually with the same content. The protocol asks
    for one host, that of the sitemap itself.

    Source: https://www.sitemaps.org/protocol.html#location

    Bad:

        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://www.example.org/coffee</loc></url>

    Good:

        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://example.org/coffee</loc></url>

    Fix: List all pages with the host that the website redirects to.
    """
    for count, pages in _odd_ones(sitemap, lambda url: url.site):
        host = count.origin.site
        other = bare(count.origin) if host.startswith("www.") else f"www.{host}"
        yield _hit(f"{pages} on {host} rather than {other}", count)


def _odd_ones(
    sitemap: Sitemap, value: Callable[[HttpUrl], str]
) -> Iterator[tuple[OriginCount, str]]:
    """Yield origins of pages with another value than the rest of their website, and how many pages.

    What the sitemap itself has is right, or else what most pages have.
    """
    if sitemap.is_feed:
        return
    websites: dict[str, dict[str, list[OriginCount]]] = {}
    for count in sitemap.origins.counts.values():
        values = websites.setdefault(bare(count.origin), {})
        values.setdefault(value(count.origin), []).append(count)
    for website, values in websites.items():
        right = {value(url) for url in sitemap.reach.all if bare(url) == website}
        pages = {one: sum(count.pages for count in counts) for one, counts in values.items()}
        if len(values) > 1 and len(right & values.keys()) != 1:
            right = {max(pages, key=lambda one: pages[one])}
        if not right:
            continue
        for one in values.keys() - right:
            are = "is" if pages[one] == 1 else "are"
            yield values[one][0], f"{pages[one]:,} of {sum(pages.values()):,} pages {are} listed"


def _hit(message: str, count: OriginCount) -> Hit:
    return Hit(message, page=count.url, line=count.line, column=count.column)
