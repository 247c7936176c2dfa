"""Entries whose fields are set one by one: written as XML, and parsed like any other document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from usp._crawl.look import parse_document

if TYPE_CHECKING:
    from collections.abc import Iterable

    from usp.objects.page import SitemapPage

_SPACES = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" '
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" '
    'xmlns:xhtml="http://www.w3.org/1999/xhtml"'
)


def _written(fields: Iterable[tuple[str, str | None]]) -> str:
    """Return fields as elements; those that are not set are left out."""
    return "".join(f"<{name}>{escape(text)}</{name}>" for name, text in fields if text is not None)


def _page(document: str) -> SitemapPage | None:
    """Return the only page of a document, if there is one."""
    return next(iter(parse_document([document.encode("utf-8", "replace")], None).all_pages()), None)


@dataclass(slots=True)
class ImageEntry:
    """An image with its fields as text."""

    loc: str | None = None
    caption: str | None = None
    geo_location: str | None = None
    title: str | None = None
    license: str | None = None

    def written(self) -> str:
        """Return the image as XML."""
        names = ("loc", "caption", "geo_location", "title", "license")
        inside = _written((f"image:{name}", getattr(self, name)) for name in names)
        return f"<image:image>{inside}</image:image>"


@dataclass(slots=True, eq=False)
class UrlPage:
    """A ``<url>`` with its fields as text; equal if the URLs are equal."""

    url: str | None = None
    last_modified: str | None = None
    change_frequency: str | None = None
    priority: str | None = None
    news_title: str | None = None
    news_publish_date: str | None = None
    news_publication_name: str | None = None
    news_publication_language: str | None = None
    news_access: str | None = None
    news_genres: str | None = None
    news_keywords: str | None = None
    news_stock_tickers: str | None = None
    images: list[ImageEntry] = field(default_factory=list)
    alternates: list[tuple[str, str]] = field(default_factory=list)

    def __hash__(self) -> int:
        return hash(self.url)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UrlPage) and self.url == other.url

    def page(self) -> SitemapPage | None:
        """Return the page; None without a URL."""
        own = _written(
            [
                ("loc", self.url),
                ("lastmod", self.last_modified),
                ("changefreq", self.change_frequency),
                ("priority", self.priority),
            ]
        )
        news = _written(
            [
                ("news:title", self.news_title),
                ("news:publication_date", self.news_publish_date),
                ("news:name", self.news_publication_name),
                ("news:language", self.news_publication_language),
                ("news:access", self.news_access),
                ("news:genres", self.news_genres),
                ("news:keywords", self.news_keywords),
                ("news:stock_tickers", self.news_stock_tickers),
            ]
        )
        story = f"<news:news>{news}</news:news>" if news else ""
        images = "".join(image.written() for image in self.images)
        links = "".join(
            f'<xhtml:link rel="alternate" hreflang={quoteattr(language)} href={quoteattr(href)}/>'
            for language, href in self.alternates
        )
        return _page(f"<urlset {_SPACES}><url>{own}{story}{images}{links}</url></urlset>")


@dataclass(slots=True, eq=False)
class _FeedPage:
    """An entry of a feed with its fields as text; equal if the links are equal."""

    link: str | None = None
    title: str | None = None
    description: str | None = None
    publication_date: str | None = None

    def __hash__(self) -> int:
        return hash(self.link)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FeedPage) and self.link == other.link

    def page(self) -> SitemapPage | None:
        """Return the page; None without a link."""
        item = _written(
            [
                ("link", self.link),
                ("title", self.title),
                ("description", self.description),
                ("pubDate", self.publication_date),
            ]
        )
        return _page(f'<rss version="2.0"><channel><item>{item}</item></channel></rss>')


class RSSPage(_FeedPage):
    """An ``<item>`` of RSS."""


class AtomPage(_FeedPage):
    """An ``<entry>`` of Atom."""


# Parsers -------------------------------------------------------------------------------------------
