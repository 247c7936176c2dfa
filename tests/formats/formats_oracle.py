"""Reads well-formed sitemaps with ElementTree, knowing nothing of the parsers under test."""

from datetime import datetime
from decimal import Decimal
from xml.etree import ElementTree as ET

from usp.objects.page import (
    SITEMAP_PAGE_DEFAULT_PRIORITY,
    SitemapImage,
    SitemapNewsStory,
    SitemapPage,
    SitemapPageChangeFrequency,
)
from usp.objects.video import SitemapVideo

SPACES = {
    "s": "http://www.sitemaps.org/schemas/sitemap/0.9",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "xhtml": "http://www.w3.org/1999/xhtml",
    "mobile": "http://www.google.com/schemas/sitemap-mobile/1.0",
    "atom": "http://www.w3.org/2005/Atom",
}
PREFIXES = " ".join(f'xmlns:{p}="{uri}"' for p, uri in SPACES.items() if p not in ("s", "atom"))


def _text(element, path):
    found = element.find(path, SPACES)
    return (found.text or "").strip() or None if found is not None else None


def _date(element, path):
    written = _text(element, path)
    return datetime.fromisoformat(written) if written else None


def _list(element, path):
    return [item.strip() for item in (_text(element, path) or "").split(",") if item.strip()]


def _news(url):
    news = url.find("news:news", SPACES)
    if news is None:
        return None
    return SitemapNewsStory(
        _text(news, "news:title"),
        _date(news, "news:publication_date"),
        *(_text(news, f"news:publication/news:{name}") for name in ("name", "language")),
        _text(news, "news:access"),
        *(_list(news, f"news:{name}") for name in ("genres", "keywords", "stock_tickers")),
    )


def _images(url):
    names = ("loc", "caption", "geo_location", "title", "license")
    return [
        SitemapImage(*(_text(image, f"image:{name}") for name in names))
        for image in url.findall("image:image", SPACES)
    ]


def _videos(url):
    return [
        SitemapVideo(
            title=_text(video, "video:title"),
            description=_text(video, "video:description"),
            duration=int(_text(video, "video:duration")),
            family_friendly={"yes": True, "no": False}[_text(video, "video:family_friendly")],
            tags=tuple((tag.text or "").strip() for tag in video.findall("video:tag", SPACES)),
        )
        for video in url.findall("video:video", SPACES)
    ]


def urlset_pages(text):
    pages = []
    for url in ET.fromstring(text).iterfind("s:url", SPACES):
        frequency = _text(url, "s:changefreq")
        links = url.findall("xhtml:link", SPACES)
        pages.append(
            SitemapPage(
                _text(url, "s:loc"),
                Decimal(_text(url, "s:priority") or SITEMAP_PAGE_DEFAULT_PRIORITY),
                _date(url, "s:lastmod"),
                SitemapPageChangeFrequency(frequency) if frequency else None,
                _news(url),
                _images(url) or None,
                [(link.get("hreflang"), link.get("href")) for link in links] or None,
                videos=_videos(url) or None,
                mobile=url.find("mobile:mobile", SPACES) is not None,
            )
        )
    return pages


def index_children(text):
    return [
        (_text(entry, "s:loc"), _text(entry, "s:lastmod"))
        for entry in ET.fromstring(text).iterfind("s:sitemap", SPACES)
    ]


def rss_pages(text):
    return [
        SitemapPage(
            _text(item, "link"),
            news_story=SitemapNewsStory(
                _text(item, "title") or _text(item, "description"), _date(item, "pubDate")
            ),
        )
        for item in ET.fromstring(text).iterfind("channel/item")
    ]


def atom_pages(text):
    pages = []
    for entry in ET.fromstring(text).iterfind("atom:entry", SPACES):
        links = {link.get("rel", "alternate"): link for link in entry.findall("atom:link", SPACES)}
        link = links.get("alternate", links.get("self"))
        date = _date(entry, "atom:published") or _date(entry, "atom:updated")
        title = _text(entry, "atom:title") or _text(entry, "atom:summary")
        pages.append(SitemapPage(link.get("href"), news_story=SitemapNewsStory(title, date)))
    return pages
