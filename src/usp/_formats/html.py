"""HTML: the heads of pages, and pages where a sitemap was expected.

A homepage is read for its links to sitemaps; the others are most often error pages, or challenges.
"""

from __future__ import annotations

import re

from usp._base.loc_urls import absolute_url
from usp._base.reason import Reason, Topic, advised
from usp._formats.abstract_parser import ChildEntry, FormatParser, ignore
from usp._formats.xml.references import attributes as read_attributes
from usp._formats.xml.scanner import Scanner, TokenHandler
from usp.objects.failure_codes import FailureCode
from usp.objects.problem import ProblemCode, Problems
from usp.objects.sitemap import IndexWebsiteSitemap

MAX_HEAD = 512 * 1024
"""How many characters of a homepage are read: links to sitemaps are in its head."""

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


_FEEDS = frozenset({"application/rss+xml", "application/atom+xml"})
_SILENT = frozenset({"script", "style", "template", "svg", "textarea", "title"})
"""Elements in which no tag means anything, whatever is quoted there."""


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
            self._look_at(local, attributes)

    def _look_at(self, name: str, attributes: str) -> None:
        raise NotImplementedError

    def end(self, name: str) -> None:
        """Look at an end tag."""
        if name.lower() == self._inside:
            self._inside = None


class HomepageLinksParser(HeadParser, FormatParser):
    """Parses a homepage: a child for every ``<link rel="sitemap" href="…">`` and every feed.

    A feed is ``<link rel="alternate" type="application/rss+xml" href="…">``, or one of Atom.
    """

    sitemap_class = IndexWebsiteSitemap

    def __init__(self, url: str | None = None, problems: Problems | None = None) -> None:
        FormatParser.__init__(self, url, problems)
        HeadParser.__init__(self)
        self._base: str | None = None  # of URLs, if the page declares one
        self._room = MAX_HEAD
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
        if name not in ("link", "base"):
            return
        given = read_attributes(attributes, ignore)
        href = given.get("href", "").strip()
        if name == "base":
            self._base = self._base or absolute_url(href, self.url)
            return
        relations = given.get("rel", "").lower().split()
        kind = given.get("type", "").partition(";")[0].strip().lower()
        if "sitemap" not in relations and not ("alternate" in relations and kind in _FEEDS):
            return
        url = absolute_url(href, self._base or self.url)
        if url is None:
            self.problems.add(ProblemCode.BAD_SITEMAP_LINK, self._scanner.line, attributes)
        else:
            self._found.append(ChildEntry(url))
