"""Fixes what is mechanical in sitemaps: edits their text where something is wrong, and only there.

One pass over the markup finds all edits of a document. One that would not be well-formed afterwards, or
whose pages would not be the same, is left as it is: only what writes it can repair it.
"""

from __future__ import annotations

import gzip
import re
import sys
from bisect import bisect
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import time
from html.entities import html5
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers.expat import ExpatError, ParserCreate
from xml.sax.saxutils import escape

from usp._base.dates import as_written, known_date, precision_of
from usp._base.urls import quote, unquote, url_parts
from usp._formats.abstract_parser import ignore
from usp._formats.decode import Decoder, known_encoding
from usp._formats.xml.namespaces import space_of
from usp._formats.xml.references import FORBIDDEN, decode_text
from usp.checks.node_findings import is_new
from usp.checks.page_columns import is_well_written
from usp.checks.page_urls import TEMPLATE, beginning, normal_url
from usp.limits import PROTOCOL_BYTES, PROTOCOL_URLS
from usp.objects.extensions import EXTENSIONS, FIRST_PROTOCOL, NAMESPACES, PROTOCOL
from usp.objects.page import SitemapPageChangeFrequency, fields_of
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import kind_of, stored_of
from usp.tree import sitemap_from_bytes

if TYPE_CHECKING:
    from usp.objects.abstract_sitemap import AbstractSitemap

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
_LINE_END = re.compile("\n")
_REFERENCE = re.compile(r"&(?:#([0-9]{1,8}|[xX][0-9a-fA-F]{1,7});|([^\s&;#<]{1,40});)?")
_XML = ("amp", "lt", "gt", "quot", "apos")
_BLANKS = "\xa0\u1680\u180e\u200b\u200c\u200d\u2060\u3000\ufeff"
_AROUND = f" \t\r\n{_BLANKS}"
_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ESCAPED = re.compile(r"[^!#$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]+")
_DAY_OR_MONTH = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-]\d{2,4}\b")
_MONTHS = 12
_PRIORITY = re.compile(r"0*+(?:\.[0-9]++|(?<=0)\.?|1(?:\.0*+)?)")
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
        self._own: str | None = None  # the prefix of the root, if it is one of sitemaps
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
    return number if _PRIORITY.fullmatch(number) else text


_FIXED: Mapping[str, tuple[str, Callable[[str], str]]] = {
    **dict.fromkeys(("loc", "thumbnail_loc", "content_loc", "player_loc"), ("url", fixed_url)),
    **dict.fromkeys(("lastmod", "publication_date", "expiration_date"), ("lastmod", _fixed_date)),
    "changefreq": ("changefreq", _fixed_frequency),
    "priority": ("priority", _fixed_priority),
}


# Documents -----------------------------------------------------------------------------------------

_KINDS = ("urlset", "index", "rss", "atom")
_NEAR = 60  # characters around an edit, where a line is too long to be shown
_LONGEST_LINE = 500


@dataclass(frozen=True, slots=True)
class FixedDocument:
    """A document that can be fixed: its URL and its text, the edits, and how it is written.

    ``files`` are names and contents: those of its own, and of the parts into which it was split.
    ``notes`` say what cannot be seen in a text.
    """

    url: str
    text: str
    edits: Sequence[Edit]
    files: Sequence[tuple[str, bytes]]
    notes: Sequence[str]

    def diff(self, name: str) -> Iterator[str]:
        """Yield the lines of a unified diff; of very long lines, what is near an edit."""
        yield f"--- {name}"
        yield f"+++ {name}"
        yield from (f"# {note}" for note in self.notes)
        starts = [0, *(end.end() for end in _LINE_END.finditer(self.text)), len(self.text) + 1]
        hunks: list[tuple[int, int, list[Edit]]] = []  # the whole lines that edits are in
        for one in self.edits:
            line, last = bisect(starts, one.start), bisect(starts, one.end)
            if not hunks or line > hunks[-1][1]:
                hunks.append((line, last, []))
            line, end, edits = hunks[-1]
            hunks[-1] = line, max(end, last), edits
            edits.append(one)
        shift = 0
        for line, last, edits in hunks:
            start = starts[line - 1]
            old = self.text[start : starts[last] - 1]
            moved = [Edit(one.start - start, one.end - start, one.text) for one in edits]
            was, now = old.split("\n"), applied(old, moved).split("\n")
            skipped = next((at for at, (a, b) in enumerate(zip_longest(was, now)) if a != b), 0)
            was, now = was[skipped:], now[skipped:]
            while was and now and was[-1] == now[-1]:
                del was[-1], now[-1]
            at = line + skipped
            first, then = at - (not was), at + shift - (not now)
            yield f"@@ -{first},{len(was)} +{then},{len(now)} @@"
            shift += len(now) - len(was)
            if max(map(len, (*was, *now))) <= _LONGEST_LINE:
                yield from (f"-{one}" for one in was)
                yield from (f"+{one}" for one in now)
                continue
            for one in moved:
                before = old[max(0, one.start - _NEAR) : one.start]
                after = old[one.end : one.end + _NEAR]
                for sign, inside in (("-", old[one.start : one.end]), ("+", one.text)):
                    yield f"{sign}…{f'{before}{inside}{after}'.replace(chr(10), ' ')}…"


def fixes(tree: AbstractSitemap, chosen: Container[str] | None = None) -> Iterator[FixedDocument]:
    """Yield the documents of a tree that can be fixed; those that others declare come first.

    Only what the ``chosen`` rules ask for is fixed, by default everything.
    """
    kinds = frozenset(
        kind for kind, codes in FIXES.items() if chosen is None or any(c in chosen for c in codes)
    )
    seen: set[int | str] = set()
    parts: dict[str, list[str]] = {}
    nodes = [tree, *tree.all_sitemaps()]
    indexes = (node for node in nodes if kind_of(node).name == "index")
    listed = {_name(child) for index in indexes for child in index.sub_sitemaps}
    for node in reversed(nodes):
        if is_new(node, seen):
            fixed = _fixed(node, parts, listed, kinds)
            if fixed is not None:
                yield fixed


def _name(node: AbstractSitemap) -> str:
    """Return the name of a document's file."""
    parts = url_parts(node.url)
    name = unquote(parts.path).rpartition("/")[2] or "sitemap.xml"
    return f"{name}-{quote(parts.query, safe='')}" if parts.query else name


def _fixed(
    node: AbstractSitemap, parts: dict[str, list[str]], listed: set[str], kinds: frozenset[str]
) -> FixedDocument | None:
    stored, kind = stored_of(node), kind_of(node).name
    is_list = kind == "text"
    if stored is None or not (kind in _KINDS or is_list):
        return None
    exchange = stored.document.exchange
    content_type, encoding = exchange.content_type, exchange.content_encoding
    decoder = Decoder(content_type=content_type, content_encoding=encoding)
    data = b"".join(stored.document.chunks())
    text = decoder.feed(data) + decoder.close()
    is_other = decoder.encoding not in UTF_8 or decoder.is_mislabelled
    codes = {one.code for one in decoder.problems.listed()}
    is_lossy = ProblemCode.BAD_BYTES in codes or (is_list and bool(codes))
    if is_lossy or (is_other and "encoding" not in kinds) or stored.document.broken is not None:
        return None
    notes = [f"from {decoder.encoding} to utf-8"] if is_other else []
    name = _name(node)
    layers = int(name.lower().endswith(".gz"))
    if exchange.status is None and decoder.layers != layers and "compression" in kinds:  # a file
        notes.append(f"compressed {layers} times rather than {decoder.layers}")
    edits = [*line_edits(text, kinds)] if is_list else TextEditor(text, parts, kinds).edits
    after = applied(text, edits)
    pieces = [after]
    if kind == "urlset" and "?" not in node.url and "size" in kinds:
        pieces = _pieces(after, TextEditor(after, {}, kinds).entries)
    if not (edits or notes or len(pieces) > 1) or not _is_sound(text, after, kind):
        return None
    files = [(name, after)]
    if len(pieces) > 1:
        notes.append(f"split into {len(pieces)} files")
        files = _split(node, name, pieces, parts if name in listed else None)
    packed = [(one, content.encode(errors="replace")) for one, content in files]
    if layers:
        packed = [(one, gzip.compress(content, mtime=0)) for one, content in packed]
    return FixedDocument(node.url, text, edits, packed, notes)


def _is_sound(text: str, after: str, kind: str) -> bool:
    """Return whether a document is in UTF-8, well-formed, and lists the same as before."""
    decoder = Decoder()
    decoder.feed(after.encode(errors="replace"))
    decoder.close()
    if decoder.encoding not in UTF_8 or decoder.is_mislabelled:
        return False
    if kind in _KINDS:
        if "<!DOCTYPE" in after or "<!ENTITY" in after:  # its entities are not tried
            return False
        try:
            ParserCreate(namespace_separator=" ").Parse(after.encode(errors="replace"), True)
        except ExpatError:
            return False
    return _has_the_same(text, after)


def _split(
    node: AbstractSitemap, name: str, pieces: list[str], parts: dict[str, list[str]] | None
) -> list[tuple[str, str]]:
    """Return the files of a document in pieces: ``parts`` gets their names if an index lists it."""
    first = 1 if parts is None else 2
    names = [_numbered(name, number) for number in range(first, first + len(pieces))]
    if parts is not None:
        parts[name] = names[:-1]
        return list(zip([name, *names], pieces, strict=False))
    home = node.url
    if not home.startswith("http"):  # its pages show where it will be
        pages = sitemap_from_bytes(pieces[0].encode(errors="replace")).all_pages()
        home = f"{beginning(next(pages).url)}/"
    return [(name, _index_of(home, names)), *zip(names, pieces, strict=True)]


def _numbered(name: str, number: int) -> str:
    stem, dot, suffixes = name.partition(".")
    return f"{stem}-{number}{dot}{suffixes}"


def _index_of(home: str, names: Iterable[str]) -> str:
    """Return an index of files beside a URL."""
    start = home.rpartition("/")[0]
    entries = (
        f"<sitemap><loc>{escape(f'{start}/{quote(name)}')}</loc></sitemap>\n" for name in names
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    return f'{head}\n<sitemapindex xmlns="{PROTOCOL}">\n{"".join(entries)}</sitemapindex>\n'


def _pieces(text: str, entries: Sequence[tuple[int, int]]) -> list[str]:
    """Return a document in as many parts as the limits of the protocol ask for."""
    size = len(text.encode(errors="replace"))
    if len(entries) <= PROTOCOL_URLS and size <= PROTOCOL_BYTES:
        return [text]
    head, tail = text[: entries[0][0]], text[entries[-1][1] :]
    room = PROTOCOL_BYTES - len((head + tail).encode(errors="replace"))
    pieces, first, count, used = [], entries[0][0], 0, 0
    for start, following in pairwise([*(start for start, _ in entries), entries[-1][1]]):
        more = len(text[start:following].encode(errors="replace"))
        if count and (count >= PROTOCOL_URLS or used + more > room):
            pieces.append(head + text[first:start].rstrip() + tail)
            first, count, used = start, 0, 0
        count, used = count + 1, used + more
    return [*pieces, head + text[first:]]


def _has_the_same(before: str, after: str) -> bool:
    """Return whether two documents list the same, in the same order, with all that could be read."""
    trees = [sitemap_from_bytes(text.encode(errors="replace")) for text in (before, after)]
    were, are = (dict.fromkeys(loose_url(one.url) for one in tree.sub_sitemaps) for tree in trees)
    if list(were) != [url for url in are if url in were]:  # an index may have got parts
        return False
    return all(
        was and now and all(one in (None, other) for one, other in zip(was, now, strict=True))
        for was, now in zip_longest(*map(_rows, trees))
    )


def _rows(tree: AbstractSitemap) -> Iterator[Sequence[object]]:
    seen: set[str] = set()
    for page in tree.all_pages():
        url = loose_url(page.url)
        if url not in seen:
            seen.add(url)
            values = fields_of(page)
            own = values.last_modified, values.change_frequency, values.declared_priority
            title = values.news_story and values.news_story.title
            more = (values.images, values.alternates, values.videos)
            yield url, *own, title, *(len(one or ()) for one in more)


def loose_url(url: str) -> str:
    """Return what stays the same of a URL when it is fixed."""
    return normal_url(fixed_url(url))
