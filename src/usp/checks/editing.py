"""Edits the text of a sitemap: what is wrong in its markup and its values, and can be put right.

One pass over the markup finds all edits; nothing else of the text changes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import time
from decimal import Decimal, InvalidOperation
from html.entities import html5
from typing import NamedTuple
from xml.sax.saxutils import escape

from usp._base.dates import as_written, known_date, precision_of
from usp._base.urls import quote, unquote
from usp._formats.abstract_parser import ignore
from usp._formats.decode import known_encoding
from usp._formats.xml.namespaces import space_of
from usp._formats.xml.references import FORBIDDEN, decode_text
from usp.checks.page_columns import is_well_written
from usp.checks.page_urls import TEMPLATE, beginning, normal_url
from usp.objects.extensions import EXTENSIONS, FIRST_PROTOCOL, NAMESPACES, PROTOCOL
from usp.objects.page import SitemapPageChangeFrequency

FIXES: Mapping[str, tuple[str, ...]] = {
    "text": ("SM356", "SM357", "SM358", "SM359", "SM361", "SM362"),
    "prolog": ("SM307", "SM374", "SM375"),
    "encoding": ("SM208", "SM209", "SM386"),
    "compression": ("SM205", "SM206", "SM207"),
    "namespace": ("SM301", "SM302", "SM303", "SM304"),
    "case": ("SM305",),
    "url": ("SM408", "SM414"),
    "duplicate": ("SM409",),
    "lastmod": ("SM504", "SM510", "SM550"),
    "changefreq": ("SM511", "SM551"),
    "priority": ("SM552",),
    "size": ("SM202", "SM203"),
}
"""What is fixed, by a name for each kind, and the rules that ask for it."""

_ROOTS = ("urlset", "sitemapindex")
_ENTRIES = ("url", "sitemap")
_OPTIONAL = ("lastmod", "changefreq", "priority")
_NAMES = frozenset({*_ROOTS, *_ENTRIES, *_OPTIONAL, "loc"})
UTF_8 = ("utf-8", "ascii")
_NAMESPACES = {**NAMESPACES, "xsi": "http://www.w3.org/2001/XMLSchema-instance"}
_SPACES = {space_of(one.namespace): one for one in EXTENSIONS}

_TAG = re.compile(r"<(/?)([A-Za-z_][^\s<>/\"'=]*+)((?:[^<>\"']|\"[^\"<]*+\"|'[^'<]*+')*+)>")
_MARKUP = re.compile(r"<(?=[/A-Za-z_:!?])")
_ATTRIBUTE = re.compile(r"\s([^\s=\"'<>/]++)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)')")
_DECLARED = re.compile(r"(\bencoding\s*+=\s*+[\"'])([^\"']*+)")
_DOCTYPE = re.compile(r"<!doctype[^<>\[]*+>\s*+", re.IGNORECASE)
_SECTION = re.compile(r"\s*+<!\[CDATA\[([^\]<>]*+)\]\]>\s*+")
_LINE = re.compile(r"[^\r\n]++")
_REFERENCE = re.compile(r"&(?:#([0-9]{1,8}|[xX][0-9a-fA-F]{1,7});|([^\s&;#<]{1,40});)?")
_XML = ("amp", "lt", "gt", "quot", "apos")
_BLANKS = "\xa0\u1680\u180e\u200b\u200c\u200d\u2060\u3000\ufeff"
_AROUND = f" \t\r\n{_BLANKS}"
_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ESCAPED = re.compile(r"[^!#$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]+")
_DAY_OR_MONTH = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-]\d{2,4}\b")
_MONTHS = 12
_REACH = 60  # blanks that are removed with an element


class Edit(NamedTuple):
    """What replaces a part of a text."""

    start: int
    end: int
    text: str


def applied(text: str, edits: Iterable[Edit]) -> str:
    """Return a text after some edits, which are in order."""
    parts: list[str] = []
    at = 0
    for one in edits:
        parts += (text[at : one.start], one.text)
        at = one.end
    return "".join([*parts, text[at:]])


def line_edits(text: str, kinds: frozenset[str]) -> Iterator[Edit]:
    """Yield what to edit in a list of URLs, each on a line."""
    for line in _LINE.finditer(text) if "url" in kinds else ():
        after = fixed_url(line[0])
        if after != line[0].strip():
            yield Edit(*line.span(), after)


class _Element(NamedTuple):
    """A start tag whose end tag has not come: its name, where it begins and ends."""

    name: str
    start: int
    end: int


class TextEditor:
    """Finds what to edit in a document: one pass over its markup.

    ``entries`` are where its entries are; ``parts`` are more files of sitemaps that an index lists.
    """

    def __init__(
        self, text: str, parts: Mapping[str, Sequence[str]], kinds: frozenset[str]
    ) -> None:
        self._text = text
        self._parts = parts
        self._kinds = kinds
        self.edits: list[Edit] = []
        self.entries: list[tuple[int, int]] = []
        self._open: list[_Element] = []
        self._root: re.Match[str] | None = None
        self._own: str | None = (
            None  # the prefix of the root, if the namespaces are those of sitemaps
        )
        self._used: set[str] = set()  # prefixes
        self._declared: set[str] = set()
        self._missing: list[str] = []
        self._seen: dict[str, int] = {}  # hashes of entries by their URLs
        self._url = ""  # of the entry
        self._first_edit = 0  # of the entry
        self._read()
        self._declare()
        self.edits.sort()

    def _edit(self, kind: str, start: int, end: int, text: str) -> None:
        if kind in self._kinds and self._text[start:end] != text:
            self.edits.append(Edit(start, end, text))

    def _read(self) -> None:
        text, at = self._text, self._prolog()
        while True:
            markup = _MARKUP.search(text, at)
            start = markup.start() if markup else len(text)
            tag = _TAG.match(text, start)
            first = self._open[-1].end if tag and tag[1] and self._open else -1
            if tag and first >= 0 and (first == at or _SECTION.fullmatch(text, first, start)):
                self._field(self._open[-1], start, tag.end())
            else:
                self._edit("text", at, start, _mended(text[at:start]))
            if start == len(text):
                return
            if tag is not None:
                self._tag(tag)
                at = tag.end()
            elif text[start + 1 : start + 2] in ("!", "?"):
                at = self._other(start)
            else:
                at = start + 1

    def _prolog(self) -> int:
        """Read what stands before the root; return where that ends."""
        text = self._text
        blank = len(text) - len(text.lstrip(_AROUND))
        if not text.startswith("<?xml", blank):
            return blank
        self._edit("prolog", 0, blank, "")
        end = text.find("?>", blank)
        said = _DECLARED.search(text, blank, max(end, blank))
        if said and known_encoding(said[2]) not in UTF_8:
            self._edit("encoding", said.start(2), said.end(2), "UTF-8")
        return max(end + len("?>"), blank)

    def _other(self, start: int) -> int:
        """Pass a comment, a section, an instruction or a declaration; return where it ends."""
        text = self._text
        doctype = _DOCTYPE.match(text, start)
        before = text[max(0, start - _REACH) : start].rstrip()[-1:]
        if doctype and self._root is None and before in ("", ">"):
            self._edit("prolog", start, doctype.end(), "")
            return doctype.end()
        ends = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}
        mark = next((one for one in ends if text.startswith(one, start)), "")
        end = text.find(ends.get(mark, ">"), start + len(mark))
        return len(text) if end < 0 else end + len(ends.get(mark, ">"))

    def _tag(self, tag: re.Match[str]) -> None:
        closes, name, rest = tag[1], tag[2], tag[3]
        lower, prefix = name.lower(), name.rpartition(":")[0]
        if not prefix and lower in _NAMES:
            self._edit("case", tag.start(2), tag.end(2), lower)
            name = lower
        if closes:
            self._close(name, tag.end())
            return
        if self._root is None:
            self._root = tag
            self._own = prefix if name.rpartition(":")[2].lower() in _ROOTS else None
        self._used.add(prefix)
        self._attributes(tag, name)
        if self._root is tag and self._own is not None and self._own not in self._declared:
            self._missing.append(self._own)
        if not rest.endswith("/"):
            if len(self._open) == 1 and name in _ENTRIES:
                self._url, self._first_edit = "", len(self.edits)
            self._open.append(_Element(name, tag.start(), tag.end()))
        elif name in _OPTIONAL and not _ATTRIBUTE.search(rest):
            self._remove(name, tag.start(), tag.end())

    def _attributes(self, tag: re.Match[str], name: str) -> None:
        """Fix the references in attributes, namespaces, and the URLs of links."""
        for one in _ATTRIBUTE.finditer(tag[3]):
            group = 2 if one[2] is not None else 3
            raw, offset = one[group], tag.start(3)
            prefix, colon, local = one[1].partition(":")
            is_link = one[1] == "href" and name.rpartition(":")[2] == "link"
            kind, after = "url" if is_link else "text", self._text_of(raw)
            if prefix == "xmlns":
                self._declared.add(local)
                kind, after = "namespace", self._namespace(raw, local, is_root=tag is self._root)
            elif colon:
                self._used.add(prefix)
            elif is_link and "url" in self._kinds:
                after = _written(after, fixed_url).replace('"', "&quot;").replace("'", "&apos;")
            self._edit(kind, offset + one.start(group), offset + one.end(group), after)

    def _namespace(self, given: str, prefix: str, *, is_root: bool) -> str:
        """Return the namespace that is meant by one that is declared for a prefix."""
        if self._own is None or given == FIRST_PROTOCOL:
            return given
        if is_root and prefix == self._own:
            return PROTOCOL
        known = _SPACES.get(space_of(given)) if prefix else None
        return known.namespace if known else NAMESPACES.get(prefix, given)

    def _close(self, name: str, end: int) -> None:
        if not self._open or self._open[-1].name != name:
            return  # badly nested: which entry ends is not certain
        element = self._open.pop()
        if len(self._open) != 1 or name not in _ENTRIES:
            return
        self.entries.append((element.start, end))
        content, url = "".join(self._text[element.end : end].split()), normal_url(self._url)
        is_again = "duplicate" in self._kinds and url in self._seen
        is_same = url and self._seen.setdefault(url, hash(content)) == hash(content)
        if is_again and (is_same or ":" not in _TAG_NAMES.sub(r"\1", content)):
            del self.edits[self._first_edit :]
            self._remove("duplicate", element.start, end)
            self.entries.pop()
        more = self._parts.get(unquote(self._url.rpartition("/")[2]), ())
        if more and name == "sitemap":
            text, before = self._text[element.start : end], self._url.rpartition("/")[2]
            added = "".join("\n" + text.replace(before, quote(one)) for one in more)
            self._edit("size", end, end, added)

    def _remove(self, kind: str, start: int, end: int) -> None:
        """Remove something, and the blanks before it."""
        before = self._text[:start] if start < _REACH else self._text[start - _REACH : start]
        self._edit(kind, start - (len(before) - len(before.rstrip())), end, "")

    def _field(self, element: _Element, end: int, close: int) -> None:
        """Fix the text of an element without others inside."""
        start, local = element.end, element.name.rpartition(":")[2]
        if section := _SECTION.fullmatch(self._text, start, end):
            start, end = section.span(1)
        raw = self._text[start:end]
        after = raw if section else self._text_of(raw)
        if element.name in _OPTIONAL and not after.strip(_AROUND):
            self._remove(element.name, element.start, close)
            return
        kind, fixed = _FIXED.get(local, ("text", None))
        if fixed and kind in self._kinds:
            after = _written(after, fixed, is_plain=bool(section))
        self._edit(kind if kind in self._kinds else "text", start, end, after)
        if element.name == "loc" and self._open[-2:-1] and self._open[-2].name in _ENTRIES:
            self._url = (after if section else decode_text(after, ignore)).strip(_AROUND)

    def _text_of(self, raw: str) -> str:
        return _mended(raw) if "text" in self._kinds else raw

    def _declare(self) -> None:
        """Declare the prefixes that are not; "" is for elements without one."""
        if self._root is None or self._own is None:
            return
        prefixes = self._missing + sorted((self._used - self._declared) & _NAMESPACES.keys())
        known = ((f"xmlns:{one}".rstrip(":"), _NAMESPACES.get(one, PROTOCOL)) for one in prefixes)
        added = "".join(f' {name}="{namespace}"' for name, namespace in known)
        self._edit("namespace", self._root.end(2), self._root.end(2), added)


_TAG_NAMES = re.compile(r"<[^<>:]*+(:?)[^<>]*+>|[^<]++")


# Values ---------------------------------------------------------------------------------------------


def _mended(raw: str) -> str:
    """Return text of XML with its ampersands escaped, and without characters that XML forbids."""
    raw = FORBIDDEN.sub("", raw).replace("<", "&lt;")
    return _REFERENCE.sub(_reference, raw) if "&" in raw else raw


def _reference(found: re.Match[str]) -> str:
    number, name = found[1], found[2]
    if number:
        code = int(number[1:], 16) if number[0] in "xX" else int(number)
        return found[0] if code <= sys.maxunicode and not FORBIDDEN.match(chr(code)) else ""
    if name in _XML:
        return found[0]
    known = html5.get(f"{name};") if name else None
    return escape(known) if known else f"&amp;{found[0][1:]}"


def _written(raw: str, fixed: Callable[[str], str], *, is_plain: bool = False) -> str:
    """Return a text of XML with its value fixed; as it is if there is nothing to fix."""
    value = raw if is_plain else decode_text(raw, ignore)
    after = fixed(value)
    if after in (value, value.strip(" \t\r\n")):
        return raw
    return after if is_plain else escape(after)


# Letters that were lost, or that nobody sees: what was meant is not certain.
_UNCLEAR = re.compile("[\t\r\n\ufffd\xad\u200b\u200e\u200f\u2060\ufeff]|Ã[\x80-\xbf]")


def fixed_url(url: str) -> str:
    """Return a URL with all characters escaped that must be, and without blanks around it."""
    url = url.strip(_AROUND)
    start = beginning(url)
    if (not start and not url.startswith("/")) or _UNCLEAR.search(url) or TEMPLATE.search(url):
        return url
    rest = _BROKEN.sub("%25", url.removeprefix(start))
    return start + _ESCAPED.sub(lambda found: quote(found[0], safe="%", errors="replace"), rest)


def _fixed_date(text: str) -> str:
    text = text.strip(_AROUND)
    found = _DAY_OR_MONTH.match(text)
    is_ambiguous = found and found[1] != found[2] and max(int(found[1]), int(found[2])) <= _MONTHS
    if is_well_written(text) or is_ambiguous:
        return text
    date = known_date(text)
    if date is None or precision_of(date) in ("month", "year"):
        return text
    is_certain = date.tzinfo is not None or date.time() == time()
    return as_written(date) if is_certain else text


def _fixed_frequency(text: str) -> str:
    word = text.strip(_AROUND).lower()
    return word if SitemapPageChangeFrequency.has_value(word) else text


def _fixed_priority(text: str) -> str:
    number = text.strip(_AROUND).replace(",", ".")
    try:
        is_right = 0 <= Decimal(number) <= 1
    except InvalidOperation:
        is_right = False
    return number if is_right else text


_FIXED: Mapping[str, tuple[str, Callable[[str], str]]] = {
    **dict.fromkeys(("loc", "thumbnail_loc", "content_loc", "player_loc"), ("url", fixed_url)),
    **dict.fromkeys(("lastmod", "publication_date", "expiration_date"), ("lastmod", _fixed_date)),
    "changefreq": ("changefreq", _fixed_frequency),
    "priority": ("priority", _fixed_priority),
}
