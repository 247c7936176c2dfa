"""Documents that know what is left of them when they are cut."""

from dataclasses import dataclass

from website import SITEMAP_NS


@dataclass(frozen=True)
class Written:
    """A document, and for each of its URLs where that ends and where its entry ends."""

    data: bytes
    urls: tuple[str, ...]
    url_ends: tuple[int, ...]
    entry_ends: tuple[int, ...]
    body_end: int
    """Where the last entry has ended, and the document not yet."""

    def sure(self, cut: int) -> list[str]:
        """Give the URLs whose entries are complete before the cut."""
        return [url for url, end in zip(self.urls, self.entry_ends, strict=True) if end <= cut]

    def possible(self, cut: int) -> list[str]:
        """Give the URLs that are complete before the cut, their entries perhaps not."""
        return [url for url, end in zip(self.urls, self.url_ends, strict=True) if end <= cut]


def _write(start: str, entry: str, end: str, urls: list[str]) -> Written:
    text, url_ends, entry_ends = start, [], []
    before = entry.index("URL")
    for url in urls:
        url_ends.append(len(text) + before + len(url))
        text += entry.replace("URL", url)
        entry_ends.append(len(text))
    body_end = len(text)
    data = (text + end).encode("ascii")
    return Written(data, tuple(urls), tuple(url_ends), tuple(entry_ends), body_end)


_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_URLSET = f'{_XML}<urlset xmlns="{SITEMAP_NS}">\n'
_DATED = "<url>\n <loc>URL</loc>\n <lastmod>2024-05-06</lastmod>\n</url>\n"
_INDEX = f'{_XML}<sitemapindex xmlns="{SITEMAP_NS}">\n'
_RSS = '<rss version="2.0"><channel><title>c</title>\n'
_ITEM = "<item><title>t</title><link>URL</link></item>\n"
_ATOM = '<feed xmlns="http://www.w3.org/2005/Atom"><title>c</title>\n'
_ENTRY = '<entry><title>t</title><link href="URL"/></entry>\n'
_FORMATS = {
    "urlset": (_URLSET, "<url><loc>URL</loc></url>\n", "</urlset>"),
    "dated": (_URLSET, _DATED, "</urlset>"),
    "text": ("", "URL\n", ""),
    "rss": (_RSS, _ITEM, "</channel></rss>"),
    "atom": (_ATOM, _ENTRY, "</feed>"),
    "index": (_INDEX, "<sitemap><loc>URL</loc></sitemap>\n", "</sitemapindex>"),
    "robots": ("User-agent: *\nDisallow: /private\n", "Sitemap: URL\n", ""),
}
PAGE_FORMATS = ("urlset", "dated", "text", "rss", "atom")


def write(format_: str, urls: list[str]) -> Written:
    """Write a document of a format."""
    return _write(*_FORMATS[format_], urls)
