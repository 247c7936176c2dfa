"""HTML: homepages, sitemaps for people, and pages where a sitemap was expected.

A homepage is read for its links to sitemaps, and ``Link`` headers in the same way; an HTML sitemap for
its links to pages. The others are most often error pages, or challenges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from usp._base.loc_urls import absolute_url
from usp._base.reason import Reason, Topic, advised
from usp._base.urls import are_related, host_of, unquote, url_parts
from usp._formats.abstract_parser import ChildEntry, Entry, FormatParser, LinkEntry, ignore
from usp._formats.xml.references import attributes as read_attributes
from usp._formats.xml.references import decode_text
from usp._formats.xml.scanner import Scanner, TokenHandler
from usp.objects.failure_codes import FailureCode
from usp.objects.problem import ProblemCode, Problems
from usp.objects.sitemap import IndexWebsiteSitemap, PagesHTMLSitemap

PAGE_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*+<(?:!doctype html|html)[\s>]", re.IGNORECASE)
MAX_HEAD = 512 * 1024
"""How many characters of a page are read for what stands in its head."""

MAX_HOMEPAGE = 2 * 1024 * 1024
"""How many characters of a homepage are read: links to sitemaps are in its head, or at its foot."""

_MAX_HEADER = 16 * 1024  # characters of Link headers

_LOOK = 16 * 1024  # characters
_CHALLENGE = re.compile(
    r"""<title>\s*(?:just\ a\ moment|attention\ required|access\ denied|pardon\ our\ interruption
        |robot\ check|ddos-guard|security\ check|are\ you\ a\ robot|please\ wait)
    |cf-chl-|challenge-platform|_incapsula_resource|px-captcha|captcha-delivery\.com|awswafcookie
    |g-recaptcha|h-captcha|cf-turnstile""",
    re.IGNORECASE | re.VERBOSE,
)

HTML = Reason(FailureCode.HTML_PAGE, "it is an HTML page")

CHALLENGE = advised(
    FailureCode.BOT_CHALLENGE, "it is an HTML page that blocks bots", Topic.BE_GENTLE
)


def is_challenge(start: str) -> bool:
    """Return whether a page asks visitors to prove that they are human."""
    return _CHALLENGE.search(start[:_LOOK]) is not None


def html_refusal(start: str) -> Reason:
    """Return why a document that begins as HTML is not a sitemap."""
    return CHALLENGE if is_challenge(start) else HTML


_FEEDS = frozenset({"application/rss+xml", "application/atom+xml", "application/feed+json"})
_FEED_NAMES = frozenset(
    {"feed", "rss", "atom", "feed.xml", "rss.xml", "atom.xml", "rss.php", "feed.json"}
)
_FEED_SUFFIXES = frozenset({"rss", "atom", "rdf"})
_SITEMAP_SUFFIXES = frozenset({"xml", "txt", "php", "asp", "aspx"})
_PAGE_SUFFIXES = frozenset({"", "html", "htm", "shtml", "php", "asp", "aspx", "jsp", "cfm"})
_SITEMAP_NAME = re.compile(r"site[-_]?map")
_QUERY = re.compile(r"(?:^|&)(?:feed=(?:rss2?|atom|rdf)|sitemap=)")
_NAME_SOFTWARE = frozenset({"generator", "platform"})
_MAX_SOFTWARE = 1000  # characters
_LINK_HEADER = re.compile(r'<([^<>]*+)>((?:[^,"<]++|"(?:[^"\\]++|\\.)*+"?)*+)')
_PARAMETER = re.compile(r';\s*+([\w*-]++)\s*+=\s*+(?:"((?:[^"\\]++|\\.)*+)"|([^\s;,"]++))')


def _is_sitemap(given: Mapping[str, str], address: str) -> bool:
    rel = given.get("rel", "").lower().split()
    kind = given.get("type", "").partition(";")[0].strip().lower()
    # JSON Feed 1.0 had no media type of its own.
    is_feed = kind in _FEEDS or (kind == "application/json" and address.endswith("feed.json"))
    return "sitemap" in rel or ("alternate" in rel and is_feed)


def header_links(headers: Iterable[tuple[str, str]], base: str) -> Iterator[ChildEntry]:
    """Yield the sitemaps and feeds that ``Link`` headers (RFC 8288) of a response name."""
    text = ", ".join(value for name, value in headers if name.lower() == "link")
    for address, after in _LINK_HEADER.findall(text[:_MAX_HEADER]):
        parameters = reversed(_PARAMETER.findall(after))  # of two with one name, the first counts
        given = {name.lower(): quoted or bare.strip("'") for name, quoted, bare in parameters}
        # With an anchor, it is a link from another page.
        if "anchor" not in given and _is_sitemap(given, address):
            url = absolute_url(address.strip(), base)
            if url is not None:
                yield ChildEntry(url, written=address)


_SILENT = frozenset({"script", "style", "template", "svg", "textarea", "title"})
"""Elements in which no tag means anything, whatever is quoted there."""

_AFTER_VALUE = ("", " ", "\t", "\n", '"', "'")


class HeadParser(TokenHandler):
    """Reads tags that have a meaning in the head of a page."""

    silent = _SILENT

    def __init__(self) -> None:
        # HTML is not XML: what the scanner has to say about it is of no interest.
        self._scanner = Scanner(self, Problems())
        self._inside: str | None = None  # an element whose content means nothing

    def start(self, name: str, attributes: str, empty: bool) -> None:
        """Look at a tag."""
        self._scanner.damage = 0  # HTML has as much of it as anybody likes
        local = name.lower()
        if self._inside is None and local in self.silent:
            self._inside = None if empty else local
        elif self._inside is None:
            # An <a> is never empty: the slash ends the URL of <a href=/feed/>.
            is_slash_of_url = empty and local == "a" and attributes[-1:] not in _AFTER_VALUE
            self._look_at(local, f"{attributes}/" if is_slash_of_url else attributes)

    def _look_at(self, name: str, attributes: str) -> None:
        raise NotImplementedError

    def end(self, name: str) -> None:
        """Look at an end tag."""
        if name.lower() == self._inside:
            self._inside = None


class _LinksParser(HeadParser, FormatParser):
    """Parses the links of a page."""

    def __init__(self, *given: Any) -> None:
        FormatParser.__init__(self, *given)
        HeadParser.__init__(self)
        self._base: str | None = None  # of URLs, if the page declares one
        self._found: list[Entry] = []

    def feed(self, text: str) -> list[Entry]:
        """Return the links that are complete so far."""
        self._scanner.feed(text)
        found, self._found = self._found, []
        return found

    def close(self) -> list[Entry]:
        """Return the rest."""
        self._scanner.close()
        return self._found

    def _given(self, name: str, attributes: str) -> tuple[dict[str, str], str]:
        """Return the attributes of a tag that may have a URL, and that; a ``<base>`` is kept."""
        given = read_attributes(attributes, ignore)
        href = given.get("href", "").strip()
        if name == "base":
            self._base = self._base or absolute_url(href, self.url)
        return given, href


_CALLED_SITEMAP = re.compile(
    r"""site\W?(?:map|index)|all\ pages|plan\ d[ue]\ (?:site|web)
        |mapp?a\ (?:d\w{1,4}\ )?(?:si|str|web)\w*+|(?:seiten|inhalts)(?:ü|ue)bersicht
        |inhaltsverzeichnis|sivukartta|webb?(?:plats)?karta|nettstedskart|s(?:ide|teds)oversigt
        |site\ harita\w*+|oldaltérkép|карта\ сайта|мапа\ сайту
        |サイトマップ|网站地图|網站地圖|網站導覽|사이트\ ?맵""",
    re.IGNORECASE | re.VERBOSE,
)
"""What HTML sitemaps are called in their titles, and in their URLs."""

_PAGE_NAME = re.compile(
    rf"(?:\w+\ )?(?:{_CALLED_SITEMAP.pattern})s?(?:\ ?[0-9]+)?", _CALLED_SITEMAP.flags
)
_INDEX_NAME = re.compile(r"/index\.\w+\Z")


def is_sitemap_page(url: str) -> bool:
    """Return whether a URL is named as people name HTML sitemaps: ``/sitemap/``, ``/plan-du-site``."""
    path = unquote(_INDEX_NAME.sub("", url_parts(url).path)).rstrip("/")
    stem, _, suffix = path.rpartition("/")[2].lower().partition(".")
    words = stem.replace("-", " ").replace("_", " ")
    return suffix in _PAGE_SUFFIXES and _PAGE_NAME.fullmatch(words) is not None


class HomepageLinksParser(_LinksParser):
    """Parses a homepage: a child for every ``<link rel="sitemap" href="…">`` and every feed.

    A feed is ``<link rel="alternate" type="application/rss+xml" href="…">``, or one of Atom. So is what
    ``<a>`` links to on the same site, if it is named as a sitemap or feed is. That is a guess.
    """

    sitemap_class = IndexWebsiteSitemap

    _room = MAX_HOMEPAGE
    software = ""
    """What the page says it was made with: lines such as ``generator: Hugo 0.1``."""

    def feed(self, text: str) -> list[Entry]:
        """Return the links that are complete so far."""
        found = super().feed(text[: self._room]) if self._room > 0 else []
        self._room -= len(text)
        return found

    def _look_at(self, name: str, attributes: str) -> None:
        if name == "meta":
            self._keep_software(read_attributes(attributes, ignore))
        if name not in ("link", "base", "a"):
            return
        given, href = self._given(name, attributes)
        is_declared = _is_sitemap(given, href)
        if name == "base" or (name == "link" and not is_declared):
            return
        url = absolute_url(href, self._base or self.url)
        if url is not None and (is_declared or self._leads_to_sitemap(url)):
            self._found.append(ChildEntry(url, is_guess=not is_declared))
        elif is_declared:
            self.problems.add(ProblemCode.BAD_SITEMAP_LINK, self._scanner.line, attributes)

    def _keep_software(self, given: Mapping[str, str]) -> None:
        name = given.get("name", "").lower()
        if name in _NAME_SOFTWARE and len(self.software) < _MAX_SOFTWARE:
            self.software += f"{name}: {given.get('content', '')[:_MAX_SOFTWARE]}\n"

    def _leads_to_sitemap(self, url: str) -> bool:
        """Return whether an ``<a>`` seems to lead to a sitemap, of any kind, or a feed of the site."""
        parts = url_parts(url)
        name = parts.path.rstrip("/").rpartition("/")[2].lower().removesuffix(".gz")
        suffix = name.rpartition(".")[2]
        is_named = name in _FEED_NAMES or suffix in _FEED_SUFFIXES or _QUERY.search(parts.query)
        is_sitemap = suffix in _SITEMAP_SUFFIXES and _SITEMAP_NAME.search(name)
        if not (is_named or is_sitemap or is_sitemap_page(url)):
            return False
        return self.url is None or are_related(host_of(url), host_of(self.url))


# HTML sitemaps --------------------------------------------------------------------------------------

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "menu", "dl", "table"})
_ITEMS = frozenset({"li", "summary", "dt", "th"})  # their text is the name of the list inside them,
_NAMED = frozenset({"dd", "td"})  # or of what comes after them
_MAX_LABEL = 300  # characters of the text of a link, a heading or a list
_MAX_LISTS = 16  # that are around a link; those further inside have no name


class HtmlSitemapParser(_LinksParser):
    """Parses an HTML sitemap: a page for every ``<a>`` to the same host.

    The text of the link is its title; the headings above it and the lists around it are its section.
    ``is_named`` is whether the page calls itself a sitemap, in its title or a heading; ``is_empty``,
    whether it has no such link.
    """

    sitemap_class = PagesHTMLSitemap
    is_always_read = True
    silent = _SILENT - {"title"}

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.is_named, self.is_empty = False, True
        self._headings = [""] * len(_HEADINGS)  # above, by their levels
        self._lists: list[str] = []  # the names of the lists that are open
        self._deeper = 0  # lists inside these
        self._link: LinkEntry | None = None  # that is open
        self._heading: str | None = None  # that is open, or the title of the page
        self._texts: dict[str, str] = {}  # of what is open: "link", "heading", "item"

    def close(self) -> list[Entry]:
        """Return the rest."""
        super().close()
        self._end_link()
        if self._scanner.problems.unfinished is not None:
            self.problems.end(self._scanner.problems.unfinished)
        return self._found

    def _look_at(self, name: str, attributes: str) -> None:
        if name == "a":
            self._begin_link(attributes)
        elif name == "base":
            self._given(name, attributes)
        elif name in _HEADINGS or name == "title":
            self._end_link()
            self._lists, self._deeper, self._heading = [], 0, name
            level = _HEADINGS.get(name, 1)
            self._headings[level - 1 :] = [""] * (len(_HEADINGS) + 1 - level)
            self._texts["heading"] = ""
        elif name in _LISTS:
            self._end_link()
            item = self._text_of("item")
            if len(self._lists) < _MAX_LISTS:
                self._lists.append(item)
            else:
                self._deeper += 1
        elif name in _ITEMS:
            self._end_link()
            self._texts["item"] = ""
        elif name in _NAMED and "item" in self._texts and self._lists:
            self._end_link()
            self._lists[-1] = self._text_of("item")
        elif name == "tr":
            self._texts.pop("item", None)
        elif name == "img" and self._link is not None:
            alt = read_attributes(attributes, ignore).get("alt", "")
            self.text(f" {alt.replace('&', '&amp;')} ")

    def end(self, name: str) -> None:
        """Look at an end tag."""
        local = name.lower()
        super().end(name)
        if local == "a":
            self._end_link()
        elif local == self._heading:
            self._end_heading(local)
        elif local in _LISTS:
            self._end_link()
            self._text_of("item")
            if self._deeper:
                self._deeper -= 1
            else:
                del self._lists[-1:]

    def text(self, raw: str) -> None:
        """Take the text of a link, a heading or an item of a list, as far as it may be one."""
        for kind, text in self._texts.items() if self._inside is None else ():
            if len(text) < _MAX_LABEL:
                self._texts[kind] = text + raw[: _MAX_LABEL - len(text)]

    def _text_of(self, kind: str) -> str:
        """Return a text that was collected, and stop that."""
        return " ".join(decode_text(self._texts.pop(kind, ""), ignore).split())

    def _end_heading(self, name: str) -> None:
        text, self._heading = self._text_of("heading"), None
        if _CALLED_SITEMAP.search(text):
            self.is_named = True
        elif name in _HEADINGS:
            self._headings[_HEADINGS[name] - 1] = text

    def _begin_link(self, attributes: str) -> None:
        self._end_link()
        given, href = self._given("a", attributes)
        line = self._scanner.line
        url = self.page_of_link(href, self._base or self.url, line)
        if url is None or (self.url is not None and host_of(url) != host_of(self.url)):
            return
        title = (given.get("title") or given.get("aria-label", ""))[:_MAX_LABEL].strip()
        self._link = LinkEntry(url, line, title, (*self._headings, *self._lists))
        self._texts["link"] = ""

    def _end_link(self) -> None:
        link, self._link = self._link, None
        if link is not None and link.url != self.url:
            link.title = self._text_of("link") or link.title
            self._found.append(link)
            self.is_empty = False
