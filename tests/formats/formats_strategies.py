"""Documents for property tests: soups of damage, and ways to cut them."""

import gzip

from formats_support import E
from hypothesis import strategies as st

_DAMAGE = (
    *("<", ">", "&", "&amp;", "&#38;", "&nbsp;", "&who;", "&#0;", "]]>", "-->", "?>", "\x0b", "'"),
    *('"', "<!--", "<!-- c -->", "<!-- <url> -->", "<![CDATA[", "<![CDATA[ x & y ]]>", "<?php"),
    *("<?p ?>", "\n", "\r\n", "\r", " ", "words", "é", "\ufeff", "\u00a0", "< 3", "</", "<b>"),
    *("</b>", "<br/>", "<!DOCTYPE x>", "<!ENTITY a 'b'>", '<a b="c>', "<a b='>'>", "<x:y>"),
    *("</x:y>", "<1>", "<url"),
)
_URLSET = (
    *("<url>", "</url>", "<loc>", "</loc>", f"<loc>{E}/1</loc>", f"<url><loc>{E}/2</loc></url>"),
    *("<loc/>", "<lastmod>2024-01-02</lastmod>", "<priority>0.3</priority>", "<changefreq>daily"),
    *("</urlset>", "<image:image>", f"<image:loc>{E}/i</image:loc>", "</image:image>"),
    *("<news:news>", "<news:title>", f'<xhtml:link rel="alternate" hreflang="de" href="{E}/de"/>'),
    *("<urlset>", "<sitemap>", "/a?b=1&c=2"),
)
_INDEX = (
    *("<sitemap>", "</sitemap>", "<loc>", "</loc>", f"<loc>{E}/s.xml</loc>"),
    *("<lastmod>2024</lastmod>", f"<sitemap><loc>{E}/t.xml</loc></sitemap>", "</sitemapindex>"),
    f"<url><loc>{E}/2</loc></url>",
)
_RSS = (
    *("<channel>", "<item>", "</item>", "<title>", "<title>T</title>", "</title>"),
    *(f"<link>{E}/1</link>", "<link>", "</link>", f"<guid>{E}/2</guid>"),
    "<pubDate>Thu, 05 Jan 2017 12:34:51 GMT</pubDate>",
    *(f"<item><title>A</title><link>{E}/3</link></item>", "</channel>", "</rss>", "<description>d"),
)
_ATOM = (
    *("<entry>", "</entry>", "<title>T</title>", "<title>", f'<link href="{E}/1"/>'),
    *("<link href='/2'>", f'<link rel="self" href="{E}/3"/>'),
    *("<updated>2024-01-02T03:04:05Z</updated>", "</feed>", '<entry xml:base="/x/">'),
    *(f'<entry><title>A</title><link href="{E}/4"/></entry>', "<summary>s"),
)
_LINES = (
    *("\n", "\r", "\r\n", f"{E}/1", f"{E}/2\n", "Sitemap:", "sitemap : ", f"Sitemap: {E}/s.xml\n"),
    *("#", " ", "User-agent: *\n", "/s.xml", "\t", "\u2028", "\x85", "ftp://x/y", "é"),
    *("<!-- x -->\n", "\ufeff"),
)
_SECTIONS = (
    *("<url>", "</url>", "<loc>", "</loc>", "<lastmod>2024", "</lastmod>", "<![CDATA[", "]]>"),
    *("]]", "]>", f"{E}/1", f"{E}/2", "<b>", "</b>", "<!--", "-->", "\n", "<loc/>", "<x:y>"),
)


def one_of(*texts):
    return st.sampled_from(texts)


def rarely(*texts):
    return st.just("") | st.just("") | st.just("") | one_of(*texts)


def _soup(vocabulary, before="", after=""):
    parts = st.lists(st.sampled_from(vocabulary), max_size=25)
    return st.tuples(parts, st.sampled_from(("", after))).map(
        lambda s: before + "".join(s[0]) + s[1]
    )


SOUPS = {
    "urlset": _soup(_URLSET + _DAMAGE, "<urlset>", "</urlset>"),
    "sections": _soup(_SECTIONS, "<urlset>", "</urlset>"),
    "index": _soup(_INDEX + _DAMAGE, "<sitemapindex>", "</sitemapindex>"),
    "rss": _soup(_RSS + _DAMAGE, "<rss>", "</rss>"),
    "atom": _soup(_ATOM + _DAMAGE, '<feed xmlns="http://www.w3.org/2005/Atom">', "</feed>"),
    "anything in front": _soup(_DAMAGE, "", f"<urlset><url><loc>{E}/1</loc></url></urlset>"),
    "lines": _soup(_LINES),
}

LABELS = one_of(
    *(None, "utf-8", "iso-8859-1", "windows-1251", "utf-16", "utf-16le", "utf-32", "shift_jis"),
    *("gbk", "utf-7", "utf-8-sig", "euc-kr", "iso-2022-jp", "hz", "big5", "koi8-r", "cp037"),
    *("x-none", "\x00"),
)
CONTENT_TYPES = LABELS.map(lambda label: label and f"text/xml; charset={label}")
_ENCODERS = one_of(
    *("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "cp1252")
)


@st.composite
def encoded(draw, texts):
    """Encode a text in some way a website might, and perhaps compress it, and perhaps break that."""
    data = draw(texts).encode(draw(_ENCODERS), "replace")
    for _ in range(draw(st.integers(0, 2))):
        data = gzip.compress(data, draw(st.sampled_from([0, 6])), mtime=0)
    if draw(st.booleans()):
        data = data[: draw(st.integers(0, len(data)))]
    return data + draw(st.sampled_from([b"", b"\0\0", b"junk", b"\x1f\x8b"]))


def pieces(data):
    """Cut bytes or text at some places."""
    places = st.lists(st.integers(0, len(data)), max_size=12).map(sorted)
    return places.map(
        lambda at: [data[a:b] for a, b in zip([0, *at], [*at, len(data)], strict=True)]
    )


def repeated(runs):
    """Write each text as often as it says, with its number in place of ``{n}``."""
    texts = [text for text, count in runs for _ in range(count)]
    return "".join(text.replace("{n}", str(at)) for at, text in enumerate(texts))


LINES = [
    *("https://a.example/1", "  http://a.example/2\t", "HTTPS://A.example"),
    *("https://b\u00fc.example/", "https://u@a.example/", "http://[::1]/"),
    *("https://a.example/\u00e9", "\ufeffhttps://a.example/", "", " ", "# a comment", "/relative"),
    *("https://a.example/a b", "https://", "http://[x", "\ufeff"),
]
ENDS = ["\n", "\n", "\n", "\r\n", "\r", "\x0b", "\x85", "\u2028"]
URL_LISTS = st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(ENDS))).map(
    lambda lines: "https://a.example/0\n" + "".join(map("".join, lines))
)
