"""Fixes what is mechanical in sitemaps: edits their text where something is wrong, and only there.

A document that would not be well-formed afterwards, or whose pages would not be the same, is left as it
is: only what writes it can repair it.
"""

from __future__ import annotations

import gzip
import re
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import time
from decimal import Decimal, InvalidOperation
from html.entities import html5
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers.expat import ExpatError, ParserCreate
from xml.sax.saxutils import escape

from usp._base.dates import as_written, known_date, precision_of
from usp._base.urls import quote, unquote, url_parts
from usp._formats.abstract_parser import ignore
from usp._formats.decode import Decoder, known_encoding
from usp._formats.xml.namespaces import Space, space_of
from usp._formats.xml.references import decode_text
from usp.checks.node_findings import is_new
from usp.checks.page_columns import is_well_written
from usp.checks.page_urls import beginning, normal_url
from usp.objects.extensions import EXTENSIONS
from usp.objects.page import SitemapPageChangeFrequency, fields_of
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import kind_of, stored_of
from usp.tree import sitemap_from_bytes

if TYPE_CHECKING:
    from usp.objects.abstract_sitemap import AbstractSitemap

MOST_ENTRIES = 50_000
MOST_BYTES = 50 * 1024 * 1024
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

_KINDS = ("urlset", "index", "rss", "atom")
_PROTOCOL = "http://www.sitemaps.org/schemas/sitemap/0.9"
_ROOTS = ("urlset", "sitemapindex")
_ENTRIES = ("url", "sitemap")
_OPTIONAL = ("lastmod", "changefreq", "priority")
_NAMES = frozenset({*_ROOTS, *_ENTRIES, *_OPTIONAL, "loc"})
_UTF_8 = ("utf-8", "ascii")
_SPACES = {space_of(one.namespace): one for one in EXTENSIONS}
_BY_PREFIX = {one.prefix: one.namespace for one in EXTENSIONS}

_TAG = re.compile(r"<(/?)([A-Za-z_][^\s<>/\"'=]*+)((?:[^<>\"']|\"[^\"<]*+\"|'[^'<]*+')*+)>")
_MARKUP = re.compile(r"<(?=[/A-Za-z_:!?])")
_ATTRIBUTE = re.compile(r"\s([^\s=\"'<>/]++)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)')")
_DECLARED = re.compile(r"(\bencoding\s*+=\s*+[\"'])([^\"']*+)")
_DOCTYPE = re.compile(r"<!doctype[^<>\[]*+>\s*+", re.IGNORECASE)
_REFERENCE = re.compile(r"&(?:#([0-9]{1,8}|[xX][0-9a-fA-F]{1,7});|([^\s&;#<]{1,40});)?")
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]+")
_XML = ("amp", "lt", "gt", "quot", "apos")
_BLANKS = "\xa0\u1680\u180e\u200b\u200c\u200d\u2060\u3000\ufeff"
_AROUND = f" \t\r\n{_BLANKS}"
_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ESCAPED = re.compile(r"[^!#$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]+")
_DAY_OR_MONTH = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-]\d{2,4}\b")
_MONTHS = 12
_NEAR = 60  # characters around an edit, where a line is too long to be shown
_LONGEST_LINE = 500


class Edit(NamedTuple):
    """What replaces a part of a text."""

    start: int
    end: int
    text: str


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
        text, line, counted, shift = self.text, 1, 0, 0
        for start, end, edits in _hunks(text, self.edits):
            line += text.count("\n", counted, start)
            counted = start
            old = text[start:end]
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
                before, after = old[max(0, one.start - _NEAR) : one.start], old[one.end :][:_NEAR]
                for sign, inside in (("-", old[one.start : one.end]), ("+", one.text)):
                    yield f"{sign}…{f'{before}{inside}{after}'.replace(chr(10), ' ')}…"


def _hunks(text: str, edits: Sequence[Edit]) -> Iterator[tuple[int, int, list[Edit]]]:
    """Yield the whole lines that edits are in, with these."""
    held: list[Edit] = []
    start = end = 0
    for one in edits:
        first = text.rfind("\n", 0, one.start) + 1
        last = text.find("\n", one.end)
        last = len(text) if last < 0 else last
        if held and first <= end:
            held.append(one)
            end = max(end, last)
            continue
        if held:
            yield start, end, held
        start, end, held = first, last, [one]
    if held:
        yield start, end, held


def applied(text: str, edits: Iterable[Edit]) -> str:
    """Return a text after some edits, which are in order."""
    parts: list[str] = []
    at = 0
    for one in edits:
        parts += (text[at : one.start], one.text)
        at = one.end
    return "".join([*parts, text[at:]])


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
    if stored is None or kind not in (*_KINDS, "text"):
        return None
    exchange = stored.document.exchange
    content_type, encoding = exchange.content_type, exchange.content_encoding
    decoder = Decoder(content_type=content_type, content_encoding=encoding)
    data = b"".join(stored.document.chunks())
    text = decoder.feed(data) + decoder.close()
    is_other = decoder.encoding not in _UTF_8 or decoder.is_mislabelled
    codes = {one.code for one in decoder.problems.listed()}
    is_lossy = ProblemCode.BAD_BYTES in codes or (kind == "text" and bool(codes))
    if is_lossy or (is_other and "encoding" not in kinds) or stored.document.broken is not None:
        return None
    notes = [f"from {decoder.encoding} to utf-8"] if is_other else []
    name = _name(node)
    layers = int(name.lower().endswith(".gz"))
    if exchange.status is None and decoder.layers != layers and "compression" in kinds:  # a file
        notes.append(f"compressed {layers} times rather than {decoder.layers}")
    edits = _Editor(text, parts, kinds).edits if kind in _KINDS else []
    after = applied(text, edits)
    pieces = [after]
    if kind == "urlset" and "?" not in node.url and "size" in kinds:
        pieces = _pieces(after, _Editor(after, {}, kinds).entries)
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
    decoder = Decoder()
    decoder.feed(after.encode(errors="replace"))
    decoder.close()
    is_labelled = decoder.encoding in _UTF_8 and not decoder.is_mislabelled
    is_read = kind not in _KINDS or _is_well_formed(after)
    return is_labelled and is_read and _has_the_same(text, after)


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


def _is_well_formed(text: str) -> bool:
    """Return whether a strict parser reads a document; one with entities of its own is not tried."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        return False
    try:
        ParserCreate(namespace_separator=" ").Parse(text.encode(errors="replace"), True)
    except ExpatError:
        return False
    return True


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
    return f'{head}\n<sitemapindex xmlns="{_PROTOCOL}">\n{"".join(entries)}</sitemapindex>\n'


def _pieces(text: str, entries: Sequence[tuple[int, int]]) -> list[str]:
    """Return a document in as many parts as the limits of the protocol ask for."""
    size = len(text.encode(errors="replace"))
    if len(entries) <= MOST_ENTRIES and size <= MOST_BYTES:
        return [text]
    head, tail = text[: entries[0][0]], text[entries[-1][1] :]
    room = MOST_BYTES - len((head + tail).encode(errors="replace"))
    pieces, first, count, used = [], entries[0][0], 0, 0
    for (start, _), (following, _) in zip(
        entries, [*entries[1:], (entries[-1][1], 0)], strict=True
    ):
        more = len(text[start:following].encode(errors="replace"))
        if count and (count >= MOST_ENTRIES or used + more > room):
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
    rows = zip_longest(*(_rows(tree) for tree in trees))
    return all(was and now and _agree(was, now) for was, now in rows)


def _agree(was: Sequence[object], now: Sequence[object]) -> bool:
    return all(one in (None, other) for one, other in zip(was, now, strict=True))


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


# One document ---------------------------------------------------------------------------------------


class _Element(NamedTuple):
    """A start tag whose end tag has not come: its name, where it begins and ends."""

    name: str
    start: int
    end: int


class _Editor:
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
        self._used: set[str] = set()  # prefixes
        self._declared: set[str] = set()
        self._seen: dict[str, str] = {}  # entries by their URLs
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
            is_field = tag is not None and tag[1] and self._open and self._open[-1].end == at
            if is_field:
                assert tag is not None
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
        if said and known_encoding(said[2]) not in _UTF_8:
            self._edit("encoding", said.start(2), said.end(2), "UTF-8")
        return max(end + len("?>"), blank)

    def _other(self, start: int) -> int:
        """Pass a comment, a section, an instruction or a declaration; return where it ends."""
        text = self._text
        doctype = _DOCTYPE.match(text, start)
        is_first = self._root is None and text[:start].rstrip()[-1:] in ("", ">")
        if doctype and is_first:
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
        else:
            self._used.add(prefix)
            if "xmlns:" in rest:
                self._declared.update(one[1][6:] for one in _ATTRIBUTE.finditer(rest))
            self._attributes(tag, name)
        if not rest.endswith("/"):
            if len(self._open) == 1 and name in _ENTRIES:
                self._url, self._first_edit = "", len(self.edits)
            self._open.append(_Element(name, tag.start(), tag.end()))
        elif name in _OPTIONAL and not _ATTRIBUTE.search(rest):
            self._remove(name, tag.start(), tag.end())

    def _attributes(self, tag: re.Match[str], name: str) -> None:
        """Fix the references in attributes, and the URLs of links."""
        for one in _ATTRIBUTE.finditer(tag[3]):
            group = 2 if one[2] is not None else 3
            raw, offset = one[group], tag.start(3)
            after = self._text_of(raw)
            is_link = one[1] == "href" and name.rpartition(":")[2] == "link"
            if is_link and "url" in self._kinds:
                after = _written(after, fixed_url).replace('"', "&quot;").replace("'", "&apos;")
            kind = "url" if is_link else "text"
            self._edit(kind, offset + one.start(group), offset + one.end(group), after)

    def _close(self, name: str, end: int) -> None:
        if not self._open or self._open[-1].name != name:
            return  # badly nested: which entry ends is not certain
        element = self._open.pop()
        if len(self._open) != 1 or name not in _ENTRIES:
            return
        self.entries.append((element.start, end))
        content, url = "".join(self._text[element.end : end].split()), normal_url(self._url)
        first = self._seen.setdefault(url, content) if url else ""
        is_again = url and self.entries[-1] != self.entries[0] and first is not content
        if "duplicate" not in self._kinds:
            is_again = False
        if is_again and (first == content or ":" not in _TAG_NAMES.sub(r"\1", content)):
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
        before = self._text[:start] if start < _NEAR else self._text[start - _NEAR : start]
        self._edit(kind, start - (len(before) - len(before.rstrip())), end, "")

    def _field(self, element: _Element, end: int, close: int) -> None:
        """Fix the text of an element without others inside."""
        raw, local = self._text[element.end : end], element.name.rpartition(":")[2]
        after = self._text_of(raw)
        if element.name in _OPTIONAL and not after.strip(_AROUND):
            self._remove(element.name, element.start, close)
            return
        kind, fixed = _FIXED.get(local, ("text", None))
        if fixed and kind in self._kinds:
            after = _written(after, fixed)
        self._edit(kind if kind in self._kinds else "text", element.end, end, after)
        if element.name == "loc" and self._open[-2:-1] and self._open[-2].name in _ENTRIES:
            self._url = decode_text(after, ignore).strip(_AROUND)

    def _text_of(self, raw: str) -> str:
        return _mended(raw) if "text" in self._kinds else raw

    def _declare(self) -> None:
        """Correct the namespaces of the root, and declare those that are missing."""
        root = self._root
        if root is None:
            return
        name, _, offset = root[2].lower(), root[3], root.start(3)
        if name.rpartition(":")[2] not in _ROOTS:
            return
        own = "xmlns"
        if ":" in name:
            own = f"xmlns:{root[2].partition(':')[0]}"
        found = set()
        for one in _ATTRIBUTE.finditer(root[3]):
            group = 2 if one[2] is not None else 3
            found.add(one[1])
            given, right = one[group], None
            if one[1] == own:
                right = _PROTOCOL
            elif one[1].startswith("xmlns:"):
                known = _SPACES.get(space_of(given))
                right = known.namespace if known else _BY_PREFIX.get(one[1][6:])
                right = given if space_of(given) is Space.OTHER and not right else right
            if right is not None:
                place = offset + one.start(group), offset + one.end(group)
                self._edit("namespace", *place, right)
        missing = [] if own in found else [own]
        undeclared = self._used - self._declared
        missing += [f"xmlns:{one}" for one in sorted(undeclared & _BY_PREFIX.keys())]
        added = "".join(
            f' {one}="{_BY_PREFIX.get(one.partition(":")[2], _PROTOCOL)}"'
            for one in missing
            if one not in found
        )
        at = root.end(2)
        self._edit("namespace", at, at, added)


_TAG_NAMES = re.compile(r"<[^<>:]*+(:?)[^<>]*+>|[^<]++")


# Values ---------------------------------------------------------------------------------------------


def _mended(raw: str) -> str:
    """Return text of XML with its ampersands escaped, and without characters that XML forbids."""
    raw = _FORBIDDEN.sub("", raw).replace("<", "&lt;")
    return _REFERENCE.sub(_reference, raw) if "&" in raw else raw


def _reference(found: re.Match[str]) -> str:
    number, name = found[1], found[2]
    if number:
        code = int(number[1:], 16) if number[0] in "xX" else int(number)
        return found[0] if code <= sys.maxunicode and not _FORBIDDEN.match(chr(code)) else ""
    if name in _XML:
        return found[0]
    known = html5.get(f"{name};") if name else None
    return escape(known) if known else f"&amp;{found[0][1:]}"


def _written(raw: str, fixed: Callable[[str], str]) -> str:
    """Return a text of XML with its value fixed; as it is if there is nothing to fix."""
    value = decode_text(raw, ignore)
    after = fixed(value)
    return raw if after in (value, value.strip(" \t\r\n")) else escape(after)


def fixed_url(url: str) -> str:
    """Return a URL with all characters escaped that must be, and without blanks around it."""
    url = url.strip(_AROUND)
    start = beginning(url)
    if (not start and not url.startswith("/")) or any(letter in url for letter in "\t\r\n"):
        return url
    rest = _BROKEN.sub("%25", url.removeprefix(start))
    return start + _ESCAPED.sub(lambda found: quote(found[0], safe="%", errors="replace"), rest)


def loose_url(url: str) -> str:
    """Return what stays the same of a URL when it is fixed."""
    return normal_url(fixed_url(url))


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
