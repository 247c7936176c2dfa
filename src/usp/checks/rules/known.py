"""Rules about sitemaps beside what else is known: a built website, a list of pages, an earlier state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from usp._base.display import counted
from usp._base.urls import are_related
from usp.checks.finding import Hit, Severity
from usp.checks.page_urls import beginning, is_local_host, is_placeholder, origin_at
from usp.checks.registry import block_rule, site_rule

if TYPE_CHECKING:
    from usp.checks.context import Site
    from usp.checks.page_columns import PageColumns

_MANY_GONE = 0.2  # of all pages
_MOST_GONE = 0.5  # of the pages of one sitemap
_MOST_REDATED = 0.9
_FEW = 5  # pages, of which a part says nothing


@site_rule("SM440", Severity.ERROR, "built")
def placeholder_host(site: Site) -> Iterator[Hit]:
    """A file lists pages on localhost, on a private network, or on the example host of a generator.

    The website was built with the address of the development server, or without an address: search
    engines cannot fetch the pages. This rule is asked for files, unless ``--url`` or the robots.txt in
    the folder says where they will be: then pages on other hosts are found by other rules. Hosts such as
    example.com count in a folder with built pages.
    Source: protocol#location google:crawling-indexing/sitemaps/build-sitemap
    Bad:
        --- ./sitemap.xml
        <url><loc>http://localhost:1313/tea/</loc></url>
    Good:
        --- ./sitemap.xml
        <url><loc>https://tea.example/tea/</loc></url>
    Fix: Set the address of the website in the generator (baseURL, url, site), and build for production.
    """
    if site.home is not None or site.start_url is not None:
        return
    is_built = site.built.is_built
    for (url, host), (first, count) in site.built.placeholders.items():
        if is_placeholder(host, built=is_built):
            pages = counted(count, "page is", "pages are")
            place = first.place.line, first.place.column, url
            yield Hit(f"{pages} listed on {host.site}", None, first.url, *place)
    for sitemap in site.sitemaps:
        reported = set()
        for child in sitemap.children:
            origin = origin_at(beginning(child.loc))
            if (
                origin is not None
                and is_placeholder(origin, built=is_built)
                and origin not in reported
            ):
                reported.add(origin)
                message = f"sitemaps are declared on {origin.site}: {child.loc}"
                yield Hit(message, line=child.line, column=child.column, sitemap=sitemap.url)


_STAGING = re.compile(r"(?:.+[.-])?(?:preprod|staging|stg|uat)[0-9]?[.-]")


@block_rule("SM441", Severity.ERROR)
def local_link(block: PageColumns) -> Iterator[Hit]:
    """An image, a video or a version in another language is on a host that is not on the web.

    It is localhost or an address in a private network, that of the program that wrote the sitemap; or it
    is the test website of this one, such as staging.example.org. Search engines cannot fetch it, or are
    not meant to. The same goes for the pages of a feed.
    Source: google:crawling-indexing/sitemaps/build-sitemap
    Bad: <image:image><image:loc>http://localhost:3000/tea.jpg</image:loc></image:image>
    Good: <image:image><image:loc>https://cdn.example.net/tea.jpg</image:loc></image:image>
    Fix: Set the address of the website in the program that writes the sitemap.
    """
    own = {url.host for url in block.sitemap.urls}
    if any(is_local_host(host) or _STAGING.match(host) for host in own):
        return
    pages = enumerate(block.urls) if own and block.sitemap.is_feed else ()
    for at, element, url in (*block.linked, *((at, "link", url) for at, url in pages)):
        page, origin = (origin_at(beginning(one)) for one in (block.urls[at], url))
        is_of_page = page is not None and is_local_host(page.host) and url != block.urls[at]
        if origin is None or is_of_page:
            continue
        if is_local_host(origin.host):
            message = f"only your own network knows {origin.site}: {url[:80]!r}"
            yield Hit(message, at, element=element, text=url)
        elif _STAGING.match(origin.host) and any(are_related(origin.host, one) for one in own):
            message = f"{origin.site} is a test website: {url[:80]!r}"
            yield Hit(message, at, element=element, text=url)


@site_rule("SM141", Severity.WARNING)
def mass_removal(site: Site) -> Iterator[Hit]:
    """A fifth of the pages or more that were listed before are not listed any more.

    Mostly something went wrong when the sitemaps were written: search engines take pages that vanish
    from sitemaps for less important, and forget them sooner. News and feeds do not count. This rule is
    asked with ``--compare``.
    Source: google:crawling-indexing/sitemaps/build-sitemap
        https://www.bing.com/webmasters/help/Sitemaps-3b5cf6ed
    Bad:
        --- ./sitemap.xml
        <url><loc>https://tea.example/{n}</loc></url> (x 10)
        --- ../before/sitemap.xml
        <url><loc>https://tea.example/{n}</loc></url> (x 20)
    Good:
        --- ./sitemap.xml
        <url><loc>https://tea.example/{n}</loc></url> (x 19)
        --- ../before/sitemap.xml
        <url><loc>https://tea.example/{n}</loc></url> (x 20)
    Fix: Find out why; if the pages are gone on purpose, redirect them, and take the new state as the earlier one.
    """
    then = site.since_then
    if then is not None and then.pages >= _FEW and then.removed >= _MANY_GONE * then.pages:
        gone = f"{then.removed:,} of {then.pages:,} pages are no longer listed{then.started}"
        yield Hit(gone, sitemap=site.root.url)


@site_rule("SM142", Severity.WARNING)
def shrunken_sitemap(site: Site) -> Iterator[Hit]:
    """A sitemap has lost half of its pages or more, and no other one lists them.

    A query that fails, or a limit, leaves a sitemap that looks sound. This rule is asked with
    ``--compare``, if there are several sitemaps; news and feeds do not count.
    Source: google:crawling-indexing/sitemaps/build-sitemap
        https://www.bing.com/webmasters/help/Sitemaps-3b5cf6ed
    Bad:
        --- ./blog.xml
        <url><loc>https://tea.example/blog/{n}</loc></url> (x 5)
        --- ./shop.xml
        <url><loc>https://tea.example/shop/{n}</loc></url> (x 100)
        --- ../before/blog.xml
        <url><loc>https://tea.example/blog/{n}</loc></url> (x 20)
        --- ../before/shop.xml
        <url><loc>https://tea.example/shop/{n}</loc></url> (x 100)
    Good:
        --- ./blog.xml
        <url><loc>https://tea.example/blog/{n}</loc></url> (x 20)
        --- ../before/blog.xml
        <url><loc>https://tea.example/blog/{n}</loc></url> (x 19)
    Fix: Find out why the sitemap is shorter; if the pages are gone on purpose, redirect them.
    """
    then = site.since_then
    if then is None or len(then.sizes) == 1:
        return
    for url, lost in then.lost.items():
        size = then.sizes[url]
        if size >= _FEW and lost >= _MOST_GONE * size:
            yield Hit(f"{lost:,} of its {size:,} pages are gone{then.started}", sitemap=url)


@site_rule("SM540", Severity.WARNING)
def redated_pages(site: Site) -> Iterator[Hit]:
    """The lastmod of nearly all pages has changed, and nothing else.

    The date is that of the build or the request, not that of the content. Google uses lastmod only if it
    is consistently right. This rule is asked with ``--compare``.
    Source: google:crawling-indexing/sitemaps/build-sitemap
        https://blogs.bing.com/webmaster/february-2023/The-Importance-of-Setting-the-lastmod-Tag-in-Your-Sitemap
    Bad:
        --- ./sitemap.xml
        <url><loc>https://tea.example/{n}</loc><lastmod>2025-02-0{n}</lastmod></url> (x 10)
        --- ../before/sitemap.xml
        <url><loc>https://tea.example/{n}</loc><lastmod>2025-01-1{n}</lastmod></url> (x 10)
    Good:
        --- ./sitemap.xml
        <url><loc>https://tea.example/{n}</loc><lastmod>2025-01-1{n}</lastmod></url> (x 10)
        <url><loc>https://tea.example/new</loc><lastmod>2025-02-01</lastmod></url>
        --- ../before/sitemap.xml
        <url><loc>https://tea.example/{n}</loc><lastmod>2025-01-1{n}</lastmod></url> (x 10)
    Fix: Write the date on which the content of the page last changed, or leave lastmod out.
    """
    then = site.since_then
    left = 0 if then is None else then.pages - then.removed
    if then is not None and left >= _FEW and then.redated >= _MOST_REDATED * left:
        same = f"only the lastmod of {then.redated:,} of {left:,} pages changed{then.started}"
        yield Hit(same, sitemap=site.root.url)


@site_rule("SM930", Severity.ERROR, "built")
def page_not_built(site: Site) -> Iterator[Hit]:
    """A listed page has no file in the folder that was built, or its image, video or other version.

    After the deployment, it does not exist. The files of /tea are tea, tea.html and tea/index.html. This
    rule is asked if a folder is checked in which pages were built.
    Source: google:crawling-indexing/sitemaps/build-sitemap
        https://www.bing.com/webmasters/help/Sitemaps-3b5cf6ed
    Bad:
        --- ./sitemap.xml
        <url><loc>https://tea.example/</loc></url>
        <url><loc>https://tea.example/tea/</loc></url>
        --- ./index.html
        <!DOCTYPE html><title>Tea</title>
    Good:
        --- ./sitemap.xml
        <url><loc>https://tea.example/</loc></url>
        --- ./index.html
        <!DOCTYPE html><title>Tea</title>
    Fix: Remove the page from the sitemap, or find out why it is not built.
    """
    for listed in site.built.missing:
        place = listed.place.line, listed.place.column, listed.sitemap
        yield Hit("the page has no file", None, listed.url, *place)
    for url, listed in site.built.missing_links if site.built.is_built else ():
        place = listed.place.line, listed.place.column, listed.sitemap
        yield Hit(f"{url} has no file", None, listed.url, *place)


@site_rule("SM931", Severity.WARNING, "built", "known", "seen_pages")
def unlisted_page(site: Site) -> Iterator[Hit]:
    """No sitemap lists a page that was built, or is in the list of pages.

    Search engines find it only by links. Built pages that say noindex, redirect or name another canonical
    URL are left out, and so are error pages and further pages of lists. This rule is asked if a folder
    is checked in which pages were built, and with ``--against``.
    Source: google:crawling-indexing/sitemaps/overview
        https://www.bing.com/webmasters/help/Sitemaps-3b5cf6ed
    Bad:
        --- ./sitemap.xml
        <url><loc>https://tea.example/</loc></url>
        --- ./index.html
        <!DOCTYPE html><title>Tea</title>
        --- ./about.html
        <!DOCTYPE html><title>About us</title>
    Good:
        --- ./sitemap.xml
        <url><loc>https://tea.example/tea</loc></url>
        --- ../against.txt
        https://tea.example/tea
    Fix: Add the page to a sitemap, or say noindex in it.
    """
    for file, url in site.built.unlisted():
        yield Hit(f"no sitemap lists the page {url}", page=url, sitemap=file)
    if site.known.urls is not None:
        for url in site.known.unlisted(site.seen_pages):
            yield Hit("no sitemap lists the page", page=url, sitemap=site.known.name)


@block_rule("SM932", Severity.WARNING)
def unknown_page(block: PageColumns) -> Iterator[Hit]:
    """A page is listed that is not in the list of pages.

    The list is older than the sitemap, or the page should not be listed. This rule is asked with
    ``--against``.
    Source: google:crawling-indexing/sitemaps/build-sitemap
        https://www.bing.com/webmasters/help/Sitemaps-3b5cf6ed
    Bad:
        --- ./sitemap.xml
        <url><loc>https://tea.example/tea</loc></url>
        <url><loc>https://tea.example/draft</loc></url>
        --- ../against.txt
        https://tea.example/tea
    Good:
        --- ./sitemap.xml
        <url><loc>https://tea.example/tea</loc></url>
        --- ../against.txt
        https://tea.example/tea
    Fix: Remove the page from the sitemap, or add it to the list.
    """
    known = block.site.known.urls
    if known is not None and not block.sitemap.is_feed:
        for at, url in enumerate(block.normal_urls):
            if url not in known:
                yield Hit("the page is not in the list of pages", at)
