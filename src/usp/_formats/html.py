"""HTML: the heads of pages, and pages where a sitemap was expected.

A homepage is read for its links to sitemaps, and ``Link`` headers in the same way; the others are most
often error pages, or challenges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from usp._base.loc_urls import absolute_url
from usp._base.reason import Reason, Topic, advised
from usp._base.urls import are_related, host_of, url_parts
from usp._formats.abstract_parser import ChildEntry, FormatParser, ignore
from usp._formats.xml.references import attributes as read_attributes
from usp._formats.xml.scanner import Scanner, TokenHandler
from usp.objects.failure_codes import FailureCode
from usp.objects.problem import ProblemCode, Problems
from usp.objects.sitemap import IndexWebsiteSitemap

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
_SITEMAP_NAME = re.compile(r"site[-_]?map")
_QUERY = re.compile(r"(?:^|&)(?:feed=(?:rss2?|atom|rdf)|sitemap=)")
_LINK_HEADER = re.compile(r'<([^<>]*+)>((?:[^,"<]++|"[^"]*+"?)*+)')
_PARAMETER = re.compile(r';\s*+([\w*-]++)\s*+=\s*+(?:"([^"]*+)"|([^\s;,"]++))')


def _is_sitemap(relations: str, media_type: str) -> bool:
    """Return whether a link with these attributes leads to a sitemap or a feed."""
    rel, kind = relations.lower().split(), media_type.partition(";")[0].strip().lower()
    return "sitemap" in rel or ("alternate" in rel and kind in _FEEDS)


def header_links(headers: Iterable[tuple[str, str]], base: str) -> Iterator[ChildEntry]:
    """Yield the sitemaps and feeds that ``Link`` headers (RFC 8288) of a response name."""
    text = ", ".join(value for name, value in headers if name.lower() == "link")
    for address, after in _LINK_HEADER.findall(text[:_MAX_HEADER]):
        given = {name.lower(): quoted or bare for name, quoted, bare in _PARAMETER.findall(after)}
        # With an anchor, it is a link from another page.
        if "anchor" not in given and _is_sitemap(given.get("rel", ""), given.get("type", "")):
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


class HomepageLinksParser(HeadParser, FormatParser):
    """Parses a homepage: a child for every ``<link rel="sitemap" href="…">`` and every feed.

    A feed is ``<link rel="alternate" type="application/rss+xml" href="…">``, or one of Atom. So is what
    ``<a>`` links to on the same site, if it is named as a sitemap or feed is. That is a guess.
    """

    sitemap_class = IndexWebsiteSitemap

    def __init__(self, url: str | None = None, problems: Problems | None = None) -> None:
        FormatParser.__init__(self, url, problems)
        HeadParser.__init__(self)
        self._base: str | None = None  # of URLs, if the page declares one
        self._room = MAX_HOMEPAGE
        self._found: list[ChildEntry] = []

    def feed(self, text: str) -> list[ChildEntry]:
        """Return the links that are complete so far."""
        if self._room > 0:
            self._scanner.feed(text[: self._room])
            self._room -= len(text)
        return self._take()

    def close(self) -> list[ChildEntry]:
        """Return the rest."""
        self._scanner.close()
        return self._take()

    def _take(self) -> list[ChildEntry]:
        found, self._found = self._found, []
        return found

    def _look_at(self, name: str, attributes: str) -> None:
        if name not in ("link", "base", "a"):
            return
        self._scanner.damage = 0  # HTML has as much of it as anybody likes
        given = read_attributes(attributes, ignore)
        href = given.get("href", "").strip()
        if name == "base":
            self._base = self._base or absolute_url(href, self.url)
            return
        is_declared = _is_sitemap(given.get("rel", ""), given.get("type", ""))
        if name == "link" and not is_declared:
            return
        url = absolute_url(href, self._base or self.url)
        if url is not None and (is_declared or self._leads_to_sitemap(url)):
            self._found.append(ChildEntry(url, is_guess=not is_declared))
        elif is_declared:
            self.problems.add(ProblemCode.BAD_SITEMAP_LINK, self._scanner.line, attributes)

    def _leads_to_sitemap(self, url: str) -> bool:
        """Return whether an ``<a>`` seems to lead to a sitemap or a feed of the same site."""
        parts = url_parts(url)
        name = parts.path.rstrip("/").rpartition("/")[2].lower().removesuffix(".gz")
        suffix = name.rpartition(".")[2]
        is_named = name in _FEED_NAMES or suffix in _FEED_SUFFIXES or _QUERY.search(parts.query)
        if not is_named and not (suffix in _SITEMAP_SUFFIXES and _SITEMAP_NAME.search(name)):
            return False
        return self.url is None or are_related(host_of(url), host_of(self.url))
