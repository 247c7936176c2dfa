"""Rules about pages that were fetched themselves, a sample of those that are listed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from usp.checks.finding import Hit, Severity
from usp.checks.page_urls import same_page
from usp.checks.registry import fetched_rule

if TYPE_CHECKING:
    from usp.checks.fetching import FetchedPage

_GONE = (404, 410)


@fetched_rule("SM901", Severity.ERROR)
def page_not_found(page: FetchedPage) -> Iterator[Hit]:
    """A listed page does not exist.

    The server returns 404 or 410. Search engines waste requests on such pages, and trust a sitemap with
    many of them less. Pages are fetched only with ``--fetch-pages``.
    Source: rfc9110#section-15.5 google:crawling-indexing/sitemaps/build-sitemap
    Bad:
        <url><loc>https://example.org/tea</loc></url>
        --- /tea 404
    Fix: Remove the page from the sitemap, or bring it back.
    """
    if page.failure is not None and page.status in _GONE:
        yield Hit(f"the page does not exist: the server returned {page.status}")


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
        yield Hit(f"the page could not be fetched: {page.failure.plain}")


@fetched_rule("SM903", Severity.WARNING)
def page_redirects(page: FetchedPage) -> Iterator[Hit]:
    """A listed page redirects to another one.

    A sitemap should list the pages that are to be found in search results: those at the end of a
    redirect. Pages are fetched only with ``--fetch-pages``.
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
        yield Hit(f"the page redirects to {page.leads_to}")


@fetched_rule("SM904", Severity.ERROR)
def page_noindex(page: FetchedPage) -> Iterator[Hit]:
    """A listed page asks search engines not to index it.

    The sitemap offers the page, and the page says noindex, in its head or in the header X-Robots-Tag.
    One of the two is a mistake. Pages are fetched only with ``--fetch-pages``.
    Source: https://www.bing.com/webmasters/help/which-robots-metatags-does-bing-support-5198d240
        google:crawling-indexing/block-indexing
    Bad:
        <url><loc>https://example.org/tea</loc></url>
        --- /tea
        <!DOCTYPE html><title>Tea</title><meta name="robots" content="noindex, follow">
    Good: with index, nofollow instead of noindex, follow
    Fix: Remove the page from the sitemap, or the noindex from the page.
    """
    if page.failure is None and {"noindex", "none"}.intersection(page.directives):
        yield Hit("the page says noindex")


@fetched_rule("SM905", Severity.WARNING)
def canonical_elsewhere(page: FetchedPage) -> Iterator[Hit]:
    """A listed page names another one as its canonical URL.

    A sitemap should list canonical URLs only: search engines show the other page instead. Pages are
    fetched only with ``--fetch-pages``.
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
    canonical = page.canonical if page.failure is None and page.leads_to is None else None
    if canonical is not None and not same_page(canonical, page.url):
        yield Hit(f"the canonical URL of the page is {canonical}")
