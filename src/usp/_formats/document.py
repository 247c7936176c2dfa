"""Reads a whole document: bytes in, entries out.

Decompress, decode, recognise, parse. Everything here is a push parser without I/O.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from usp._base.reason import Reason, limit_advice
from usp._formats.abstract_parser import (
    MAX_PIECE,
    TRUNCATED,
    Entry,
    FormatParser,
    ReadOptions,
    parser_at,
    pieces,
)
from usp._formats.decode import Decoder
from usp._formats.html import (
    CHALLENGE,
    HTML,
    HomepageLinksParser,
    HtmlSitemapParser,
    html_refusal,
    is_challenge,
)
from usp._formats.plain_text import PlainTextParser, has_url, is_list_of_links
from usp._formats.robots import RobotsParser, has_directive
from usp._formats.root import RootFinder, usual_beginning
from usp._formats.xml.scanner import DEAF
from usp.limits import DEFAULT, Limits
from usp.objects.problem import FailureCode, Problems

if TYPE_CHECKING:
    from usp._formats.xml.xml_parser import XmlParser
    from usp.objects.exchange import Exchange

_BEGINNING = 4 * 1024  # characters that are kept, for those who want to see the root tag
_LOOK = 64 * 1024  # characters that are looked at to tell what a document is
_LOOK_SHORT = 1024  # the same, where it begins as HTML does
_LOOK_LONG = 1024 * 1024  # the same, where these say nothing: a text may begin with comments
_MAX_BLANK = 1024 * 1024  # white space in front of a document
_BLANKS = " \t\r\n\v\f\ufeff\u00a0\u200b\0"
_DOUBTFUL = f"{_BLANKS}<"  # what a robots.txt does not usually begin with
_LONGEST_TAG = 200  # of a stray entry, with its prefix
_TAIL = 4 * 1024  # characters in which the end of the root is looked for
_COMMENTS = re.compile(r"\A(?:<!--[^-]*+(?:-(?!->)[^-]*+)*+-->\s*+)++")
_ROOT = re.compile(
    r"^[^\S\n]*+<(?:\w+:)?(?:urlset|sitemapindex|rss|feed|RDF|opml)[\s>]|<\?xml\s",
    re.IGNORECASE | re.MULTILINE,
)
_ENTRY = re.compile(  # of a document whose head was cut off
    r"<(?:[\w.-]++:)?+(?:url|sitemap)\s*+>\s*+<(?:[\w.-]++:)?+loc[\s>]|</(?:[\w.-]++:)?+loc\s*+>",
    re.IGNORECASE,
)
_HTML_DOCTYPE = "<!doctype html"
_PROLOG = re.compile(r"(?:[\s\ufeff]+|<!--.*?-->|<\?.*?\?>)*", re.DOTALL)
_HTML = re.compile(
    r"<(?:!doctype\s+html|html|head|body|title|meta|script|style|link)\b", re.IGNORECASE
)

_BLANK = Reason(
    FailureCode.NOT_A_SITEMAP, "it begins with more than a million whitespace characters"
)
_NEITHER = Reason(FailureCode.NOT_A_SITEMAP, "it is neither XML nor a list of URLs")
_EMPTY = Reason(FailureCode.EMPTY_DOCUMENT, "it is empty")
_PAGE = re.compile(r"<(?:!doctype\s+html|html)\b", re.IGNORECASE)


_JSON_VERSION = re.compile(r'"version"\s*+:\s*+"[^"]{0,20}\bjsonfeed\.org', re.IGNORECASE)
_JSON_ITEMS = re.compile(r'"items"\s*+:\s*+\[\s*+\{')
_JSON_ITEM = re.compile(  # a feed may end with its version
    r'"(?:content_(?:html|text)|date_published)"\s*+:'
)


def is_json_feed(start: str, content_type: str | None) -> bool:
    """Return whether a text is a JSON Feed, by its version, its label, or its items."""
    label = (content_type or "").partition(";")[0].strip().lower()
    return start[:1] == "{" and bool(
        label == "application/feed+json"
        or _JSON_VERSION.search(start)
        or (_JSON_ITEMS.search(start) and _JSON_ITEM.search(start))
    )


def _is_clear(start: str) -> bool:
    """Return whether the beginning of a document that is not XML shows what it is."""
    return bool(
        _ROOT.search(start)
        or _ENTRY.search(start)
        or _PAGE.search(start)
        or has_url(start)
        or has_directive(start)
    )


def _kind_of_robots(start: str) -> type[FormatParser] | Reason | None:
    """Return what reads a document that was requested as robots.txt; None if it may be XML."""
    prolog = _PROLOG.match(start)
    content = start[prolog.end() :] if prolog else start
    if content.startswith("<"):
        if _HTML.match(content):
            return html_refusal(content)
        if _ROOT.match(content) or not has_directive(content):
            return None
    return RobotsParser


@lru_cache(maxsize=16)
def _end_of(root: str) -> re.Pattern[str]:
    return re.compile(rf"</(?:[\w.-]++:)?+{re.escape(root)}(?:\s[^<>]*+)?+>", re.IGNORECASE)


class Role(Enum):
    """What a document was requested as."""

    __hash__ = object.__hash__  # that of an enum is slow, and each document is found by it

    SITEMAP = "sitemap"
    HTML_SITEMAP = "HTML sitemap"  # or any other
    ROBOTS = "robots.txt"
    HOMEPAGE = "homepage"


class DocumentParser:
    """Reads the bytes of one document, whatever it is: ``feed`` chunks, then ``close``.

    Its labels are those of its ``exchange``, or those that are given.
    ``parser`` is the parser for the document, once its kind is known; if it is not a sitemap,
    ``refusal`` is the reason. With ``skip_pages``, the pages of a page sitemap are not parsed: it is
    only decompressed, to see what it is and whether it is complete. With ``fast``, problems inside
    entries are not looked for. With ``scanner_only``, it is read tag by tag, without blocks.
    """

    parser: FormatParser | None = None
    refusal: Reason | None = None
    markup: XmlParser | None = None  # the same parser, if it reads XML
    namespace: tuple[str, str] | None = None  # of a root that is not in that of sitemaps
    beginning = ""  # the first characters of the text
    may_have_children = False  # whether there may be sitemaps among pages that are skipped
    _is_skipping = False  # whether it does, once the kind of the document is known
    _missing = 0  # how much more is needed until another look at the head is worth it
    _look = _LOOK
    _xml: RootFinder | None = None  # looks for a root that is not a usual one
    _tail = ""
    _has_more = False  # whether there is more after the root than the tail

    def __init__(
        self,
        url: str | None = None,
        exchange: Exchange | None = None,
        *,
        role: Role = Role.SITEMAP,
        content_type: str | None = None,
        content_encoding: str | None = None,
        skip_pages: bool = False,
        fast: bool = False,
        scanner_only: bool = False,
        limits: Limits = DEFAULT,
    ) -> None:
        if exchange is not None:
            content_type, content_encoding = exchange.content_type, exchange.content_encoding
        self.url = url
        self.problems = Problems()
        self._role = role
        self._is_sitemap = role in (Role.SITEMAP, Role.HTML_SITEMAP)
        self._content_type = content_type
        self._given = url, self.problems, ReadOptions(fast, limits.url_length, scanner_only)
        # As XML says: whatever ends a line is one character to everything that follows.
        self._line_ends = io.IncrementalNewlineDecoder(None, translate=True)
        self.decoder = Decoder(
            content_type=content_type,
            content_encoding=content_encoding,
            limits=limits,
            problems=self.problems,
        )
        self._skip_pages = skip_pages
        self._head: list[str] = []  # what was looked at, and does not show the kind yet

    def feed(self, data: bytes) -> Iterable[Entry]:
        """Return the entries that are complete so far."""
        return list(chain.from_iterable(self.steps(data)))

    def steps(self, data: bytes, piece: int = MAX_PIECE) -> Iterator[Iterable[Entry]]:
        """Yield the same entries, those of each piece of the text when it has been read.

        A few bytes may decompress to a lot of work: callers can do other things, or check the time,
        between the steps. ``piece`` is how many characters are read at a time.
        """
        for raw in () if self.refusal else self.decoder.texts(data):
            text = self._line_ends.decode(raw)
            for part in (text,) if len(text) <= piece else pieces(text, piece):
                yield self._read(part)
                if self.refusal:
                    return

    def close(self, unfinished: Reason | None = None) -> Iterable[Entry]:
        """Return the rest; ``unfinished`` is why the document is incomplete, if it is."""
        if self.refusal:
            return ()
        self.problems.unfinished = self.problems.unfinished or unfinished
        rest = self._line_ends.decode(self.decoder.close(), final=True)
        entries: list[Entry] = []
        for part in pieces(rest) if rest else ():
            entries.extend(self._read(part))
        if self.parser is None:
            entries.extend(self._read("", final=True))
        if self._is_skipping and self.parser is not None and not self.parser.is_always_read:
            self._check_end()
        elif self.parser is not None:
            entries.extend(self.parser.close())
            if self._is_skipping:
                entries = []
                self.may_have_children = not self.parser.sitemap_class.lists_pages
        if isinstance(self.parser, HtmlSitemapParser) and self.parser.is_empty:
            self.refusal = CHALLENGE if is_challenge(self.beginning) else HTML
        scanning = self._xml or self.markup
        if scanning is not None:
            scanning.scanner.handler = DEAF  # they know each other
        return entries

    def _read(self, text: str, *, final: bool = False) -> Iterable[Entry]:
        if self.refusal:
            return ()
        if len(self.beginning) < _BEGINNING:
            self.beginning += text[: _BEGINNING - len(self.beginning)]
        if self.parser is None:
            text = self._begin(text, final=final)
        if not self._is_skipping:
            return () if self.parser is None else self.parser.feed(text)
        if self.parser is not None and self.parser.is_always_read:
            self.parser.feed(text)
            return ()
        if self.markup is not None and not self.may_have_children:
            seen = self._tail[-_LONGEST_TAG:] + text if self._tail else text
            self.may_have_children = self.markup.may_have_strays(seen)  # then it will be read
        tail = text if len(text) > _TAIL else self._tail + text
        self._has_more = self._has_more or len(tail) > _TAIL
        self._tail = tail[-_TAIL:]
        return ()

    def _begin(self, text: str, *, final: bool) -> str:
        """Find out what the document is; return the text that is left for its parser."""
        if self._xml is None:
            found = None
            if self._is_sitemap and not self._head:
                found = usual_beginning(text)
            if found is not None:
                (self.namespace, root), end = found
                self._is_skipping = self._skip_pages and root.sitemap_class.lists_pages
                if self._is_skipping:
                    self.parser = self.markup = root
                else:
                    self.markup = type(root)(*self._given, root=root, skipped=text[:end])
                    self.parser = self.markup
                return text[end:]
            if self._role is Role.ROBOTS and not self._head and text[:1] not in _DOUBTFUL:
                self.parser = RobotsParser(*self._given)
                return text
            self._head.append(text)
            self._missing -= len(text)
            if self._missing > 0 and not final:
                return ""
            text = "".join(self._head)
            self._head = [text]
            kind = self._kind_of(text, final=final)
            if kind is None:
                self._missing = len(text) // 2  # linear time, in however small pieces it comes
                return ""
            self._head.clear()
            self._take(kind)
        if self._xml is not None:
            text = self._look_for_root(self._xml, text, final=final)
        if self._skip_pages and self.parser is not None:
            self._is_skipping = self.parser.sitemap_class.lists_pages
        return text

    @property
    def is_doubtful(self) -> bool:
        """Whether it is a page that does not call itself a sitemap."""
        return isinstance(self.parser, HtmlSitemapParser) and not self.parser.is_named

    def _look_for_root(self, xml: RootFinder, text: str, *, final: bool) -> str:
        xml.reads_pages = self._role is Role.HTML_SITEMAP
        rest = xml.look(text, final=final)
        if xml.found_page:
            self.parser = HtmlSitemapParser(*self._given)
            return rest
        self.parser = self.markup = xml.concrete
        self.refusal, self.namespace = xml.refusal, xml.namespace
        if self.refusal and (is_challenge(text) or is_challenge(self.beginning)):
            self.refusal = CHALLENGE
        return rest

    def _check_end(self) -> None:
        """Note a page sitemap whose root is not closed: it breaks off."""
        concrete = self.markup
        if self.may_have_children:
            return  # the document will be read
        if concrete and not concrete.root_closed and not concrete.root_implied:
            # A long comment, or blanks, may hide where the end is: reading the pages will tell.
            tail, end = self._tail, _end_of(concrete.root_name)
            last = tail.rfind("</")
            if last >= 0 and end.match(tail, last):
                return  # as in nearly all documents: searching all of the tail takes longer
            if (last >= 0 or not self._has_more) and not end.search(tail):
                self.problems.end(TRUNCATED)

    # Which format it is ------------------------------------------------------------------------------

    def _take(self, kind: type[FormatParser] | Reason) -> None:
        if isinstance(kind, Reason):
            self.refusal = kind
        elif kind is RootFinder:
            self._xml = RootFinder(*self._given)
        else:
            self.parser = kind(*self._given)

    def _kind_of(self, head: str, *, final: bool) -> type[FormatParser] | Reason | None:
        """Return what reads the document, or why nothing does; None if more of it is needed."""
        if self._role is Role.HOMEPAGE:
            return HomepageLinksParser
        start = head.lstrip(_BLANKS)
        if len(head) - len(start) > _MAX_BLANK:
            return _BLANK
        after = _COMMENTS.sub("", start[:_LOOK]) if start[:1] == "<" else ""
        if after[:1] not in {"", "<"}:
            start = after  # text below comments
        elif start[:1] == "<" and self._is_sitemap:
            waits = "<!--".startswith(after[:4]) and not final and len(start) < _LOOK
            return None if waits else self._kind_of_markup(start, final=final)
        if self._is_sitemap and is_json_feed(start[:_LOOK], self._content_type):
            return parser_at("json_feeds:JsonFeedParser")
        if len(start) >= self._look == _LOOK and not _is_clear(start[:_LOOK]):
            self._look = _LOOK_LONG
        if not final and len(start) < self._look:
            return None
        return self._kind_of_text(start[: self._look])

    def _kind_of_markup(self, start: str, *, final: bool) -> type[FormatParser] | Reason | None:
        if not _HTML_DOCTYPE.startswith(start[: len(_HTML_DOCTYPE)].lower()):
            return RootFinder
        if len(start) < _LOOK_SHORT and not final:
            return None
        after = start[:_LOOK_SHORT].partition(">")[2]
        root = _ROOT.search(after)
        is_xml = root and not _HTML.search(after[: root.start()])  # some write it before any XML
        if len(start) < len(_HTML_DOCTYPE) or is_xml:
            return RootFinder
        return HtmlSitemapParser if self._role is Role.HTML_SITEMAP else html_refusal(start)

    def _kind_of_text(self, start: str) -> type[FormatParser] | Reason:
        """Return what reads a document that does not begin like XML, or need not be XML."""
        root = _ROOT.search(start)
        kind: type[FormatParser] | Reason = _NEITHER
        if self._role is Role.ROBOTS and (found := _kind_of_robots(start)):
            kind = found
        elif start.startswith("<") or (root and not has_url(start[: root.start()])):
            kind = RootFinder
        elif (self.url or "").partition("?")[0].endswith("/robots.txt"):
            kind = RobotsParser
        elif not start:
            kind = self._why_empty()
        elif _PAGE.search(start):
            kind = html_refusal(start)
        elif _ENTRY.search(start):
            kind = RootFinder
        elif is_list_of_links(start, self.url):
            kind = parser_at("llms_txt:LlmsTxtParser")
        elif has_url(start):
            kind = PlainTextParser
        return kind

    def _why_empty(self) -> Reason:
        """Return why there is nothing to read: what was sent may be more than what came out of it."""
        problems = self.problems.listed()
        if not problems:
            return _EMPTY
        code = problems[0].code
        text = f"nothing in it can be read: {problems[0].message}"
        known = code if isinstance(code, FailureCode) else FailureCode.NOT_A_SITEMAP
        return Reason(known, text, limit_advice(code))
