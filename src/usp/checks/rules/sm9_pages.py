"""Rules about the pages themselves: a sample that was fetched, those that were built, or are in a list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from usp.checks.finding import Hit, Severity
from usp.checks.hreflang import DEFAULT
from usp.checks.page_urls import normal_url, same_page
from usp.checks.registry import block_rule, fetched_rule, site_rule

if TYPE_CHECKING:
    from usp.checks.context import Site
    from usp.checks.fetching import FetchedPage
    from usp.checks.page_columns import PageColumns

_GONE = (404, 410)


@fetched_rule("SM901", Severity.ERROR)
def page_not_found(page: FetchedPage) -> Iterator[Hit]:
    """A listed page does not exist, or its image, its video or its version in another language.

    The server returns 404 or 410. Search engines waste requests on such pages, and trust a sitemap with
    many of them less. Pages are fetched only with ``--fetch-pages``, and the others with
    ``--fetch-linked``, too.
    Source: rfc9110#section-15.5 google:crawling-indexing/sitemaps/build-sitemap
    Bad:
        <url><loc>https://example.org/tea</loc></url>
        --- /tea 404
    Fix: Remove the page from the sitemap, or bring it back.
    """
    if page.failure is not None and page.status in _GONE:
        yield Hit(f"{page.name} does not exist: the server returned {page.status}")


@fetched_rule("SM902", Severity.ERROR)
def page_error(page: FetchedPage) -> Iterator[Hit]:
    """A listed page cannot be fetched.

    The server returns an error, or does not respond. Search engines cannot read the page either, unless
    the server treats them differently. Pages are fetched only with ``--fetch-pages``.
    Source: rfc9110#section-15.6 google:crawling-indexing/http-network-errors
    Bad:
        <url><loc>https://example.org/tea</loc></url>
        --- /tea 500
    Fix: Find out why the server fails, or remove the page from the sitemap.
    """
    if page.failure is not None and page.status not in _GONE:
        yield Hit(f"{page.name} could not be fetched: {page.failure.plain}")


@fetched_rule("SM903", Severity.WARNING)
def page_redirects(page: FetchedPage) -> Iterator[Hit]:
    """A listed page redirects to another one.

    A sitemap should list the pages that are to be found in search results: those at the end of a
    redirect, also of one that is written in the page (<meta http-equiv="refresh">). Pages are fetched only with ``--fetch-pages``.
    Source: rfc9110#section-15.4 google:crawling-indexing/sitemaps/build-sitemap
    Bad:
        <url><loc>https://example.org/tea</loc></url>
        --- /tea -> /green-tea
        --- /green-tea
        <!DOCTYPE html><title>Green tea</title>
    Good:
        <url><loc>https://example.org/green-tea</loc></url>
        --- /green-tea
        <!DOCTYPE html><title>Green tea</title>
    Fix: List the URL to which the page redirects.
    """
    if page.failure is None and page.leads_to is not None:
        how = " with a meta refresh" if page.exchange and not page.exchange.redirects else ""
        yield Hit(f"{page.name} redirects to {page.leads_to}{how}")


@fetched_rule("SM904", Severity.ERROR)
def page_noindex(page: FetchedPage) -> Iterator[Hit]:
    """A listed page asks search engines not to index it, or not any more.

    The sitemap offers the page, and the page says noindex, or unavailable_after and a date that is over,
    in its head or in the header X-Robots-Tag. One of the two is a mistake. Pages are fetched only with ``--fetch-pages``.
    Source: bing:which-robots-metatags-does-bing-support-5198d240 google:crawling-indexing/block-indexing
    Bad:
        <url><loc>https://example.org/tea</loc></url>
        --- /tea
        <!DOCTYPE html><title>Tea</title><meta name="robots" content="noindex, follow">
    Good: with index, nofollow instead of noindex, follow
    Fix: Remove the page from the sitemap, or the noindex from the page.
    """
    if page.failure is None and {"noindex", "none"}.intersection(page.directives):
        yield Hit(f"{page.name} says noindex")
    elif page.failure is None and (date := page.expired):
        yield Hit(f"{page.name} says that it is not available after {date:%Y-%m-%d}")


@fetched_rule("SM905", Severity.WARNING)
def canonical_elsewhere(page: FetchedPage) -> Iterator[Hit]:
    """A listed page names another one as its canonical URL, or several.

    A sitemap should list canonical URLs only: search engines show the other page instead. Of several
    they believe none. Pages are fetched only with ``--fetch-pages``.
    Source: rfc6596 google:crawling-indexing/consolidate-duplicate-urls
    Bad:
        <url><loc>https://example.org/tea?sort=price</loc></url>
        --- /tea?sort=price
        <!DOCTYPE html><head><link rel="canonical" href="/tea"><title>Tea</title></head>
    Good:
        <url><loc>https://example.org/tea</loc></url>
        --- /tea
        <!DOCTYPE html><head><link rel="canonical" href="/tea"><title>Tea</title></head>
    Fix: List the canonical URL, or correct the one that the page names.
    """
    canonicals = page.canonicals if page.failure is None and page.leads_to is None else ()
    if len(canonicals) > 1:
        yield Hit(f"{page.name} names several canonical URLs: {', '.join(canonicals[:3])}")
    elif canonicals and not same_page(canonicals[0], page.url):
        yield Hit(f"the canonical URL of {page.name} is {canonicals[0]}")


@fetched_rule("SM906", Severity.WARNING)
def nothing_on_page(page: FetchedPage) -> Iterator[Hit]:
    """A listed page is empty, or says that it was not found, with a status of success.

    Search engines call the latter a soft 404, and leave both out of their results. The same goes for pages
    whose title is that of an error, of maintenance, of a login or of a server without a website. Pages are
    fetched only with ``--fetch-pages``.
    Source: google:crawling-indexing/http-network-errors#soft-404-errors
    Bad:
        <url><loc>https://example.org/tea</loc></url>
        --- /tea
        <!DOCTYPE html><title>404 Not Found | Tea shop</title><body>Sorry!</body>
    Fix: Return 404 for pages that do not exist, and remove them from the sitemap.
    """
    if page.failure is None and page.leads_to is None:
        if said := page.head.says:
            title = next(iter(page.head.titles.values()))
            yield Hit(f"{page.name} {said}: {title!r}")
        elif page.is_empty:
            yield Hit(f"{page.name} is empty")


_NO_PAGES = (
    "application/json",
    "application/octet-stream",
    "audio/",
    "font/",
    "image/",
    "text/css",
    "video/",
)


@fetched_rule("SM908", Severity.WARNING)
def other_content(page: FetchedPage) -> Iterator[Hit]:
    """A listed page is sent as a file that is none, or an image or a video as a web page.

    Search engines go by the header Content-Type: they find no text to show, or nothing to play. Pages are
    fetched only with ``--fetch-pages``, and images and videos with ``--fetch-linked``, too.
    Source: rfc9110#section-8.3 google:crawling-indexing/sitemaps/build-sitemap
    Bad:
        <url><loc>https://example.org/tea</loc></url>
        --- /tea
        Content-Type: application/json

        {"name": "Tea"}
    Good:
        <url><loc>https://example.org/tea.pdf</loc></url>
        --- /tea.pdf
        Content-Type: application/pdf

        %PDF
    Fix: Send it with its Content-Type, or list the URL that visitors see.
    """
    if page.failure is None and page.leads_to is None:
        is_media = page.name.startswith(("the image", "the video"))
        is_wrong = page.kind.startswith(_NO_PAGES) if not is_media else page.kind == "text/html"
        if is_wrong:
            yield Hit(f"{page.name} is sent as {page.kind}")


@fetched_rule("SM907", Severity.WARNING)
def hreflang_contradiction(page: FetchedPage) -> Iterator[Hit]:
    """The links to other languages in a listed page are not those in the sitemap.

    The page has another URL for a language, or another language for a URL. Search engines cannot tell
    which one is right, and may ignore both. Pages are fetched only with ``--fetch-pages``.
    Source: google:specialty/international/localized-versions
    Bad:
        /en: en=/en de=/de
        --- /en
        <!DOCTYPE html><link rel="alternate" hreflang="de" href="https://example.org/at"><title>Tea</title>
    Good:
        /en: x-default=/en de=https://example.net/de en=/en
        --- /en
        <!DOCTYPE html><link rel="alternate" hreflang="de" href="https://example.net/de"><title>Tea</title>
    Fix: Write the links in one of the two places only, or the same ones in both.
    """
    if page.failure is not None or page.url != page.listed.url:
        return
    listed = {code.lower(): url for code, url in page.listed.alternates}
    codes = {normal_url(url): code for code, url in listed.items() if code != DEFAULT}
    for code, url in page.alternates.items():
        if code in listed and not same_page(listed[code], url):
            yield Hit(f"{code!r} is {url} in the page, and {listed[code]} in the sitemap")
        elif code not in listed and code != DEFAULT and (other := codes.get(normal_url(url))):
            yield Hit(f"{url} is {code!r} in the page, and {other!r} in the sitemap")


# Built pages, and those of a list -------------------------------------------------------------------


@site_rule("SM930", Severity.ERROR, "built")
def page_not_built(site: Site) -> Iterator[Hit]:
    """A listed page has no file in the folder that was built, or its image, video or other version.

    After the deployment, it does not exist. The files of /tea are tea, tea.html and tea/index.html. This
    rule is asked if a folder is checked in which pages were built.
    Source: google:crawling-indexing/sitemaps/build-sitemap bing:Sitemaps-3b5cf6ed
    Bad:
        --- ./sitemap.xml
        <url><loc>https://tea.example/</loc></url>
        <url><loc>https://tea.example/tea/</loc></url>
        --- ./index.html
        <!DOCTYPE html><title>Tea</title>
    Good: without /tea/
    Fix: Remove the page from the sitemap, or find out why it is not built.
    """
    for url, listed in site.built.missing:
        what = "the page" if url == listed.url else url
        yield Hit(f"{what} has no file", None, listed.url, listed.place, listed.sitemap)


@site_rule("SM931", Severity.WARNING, "built", "known", "seen_pages")
def unlisted_page(site: Site) -> Iterator[Hit]:
    """No sitemap lists a page that was built, or is in the list of pages.

    Search engines find it only by links. Built pages that say noindex, redirect or name another canonical
    URL are left out, and so are error pages and further pages of lists. This rule is asked if a folder
    is checked in which pages were built, and with ``--against``.
    Source: google:crawling-indexing/sitemaps/overview bing:Sitemaps-3b5cf6ed
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
    Source: google:crawling-indexing/sitemaps/build-sitemap bing:Sitemaps-3b5cf6ed
    Bad:
        --- ./sitemap.xml
        <url><loc>https://tea.example/tea</loc></url>
        <url><loc>https://tea.example/draft</loc></url>
        --- ../against.txt
        https://tea.example/tea
    Good: without /draft
    Fix: Remove the page from the sitemap, or add it to the list.
    """
    known = block.site.known.urls
    if known is not None and not block.sitemap.is_feed:
        for at, url in enumerate(block.normal_urls):
            if url not in known:
                yield Hit("the page is not in the list of pages", at)
