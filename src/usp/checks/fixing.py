"""Fixes what is mechanical in sitemaps: edits their text where something is wrong, and only there.

A document that would not be well-formed afterwards, or whose pages would not be the same, is left as it
is: only what writes it can repair it.
"""

from __future__ import annotations

import gzip
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING
from xml.parsers.expat import ExpatError, ParserCreate
from xml.sax.saxutils import escape

from usp._base.urls import quote, unquote, url_parts
from usp._formats.decode import Decoder
from usp.checks.editing import (
    FIXES,
    UTF_8,
    Edit,
    TextEditor,
    applied,
    fixed_url,
    line_edits,
)
from usp.checks.node_findings import is_new
from usp.checks.page_urls import beginning, normal_url
from usp.limits import PROTOCOL_BYTES, PROTOCOL_URLS
from usp.objects.extensions import PROTOCOL
from usp.objects.page import fields_of
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import kind_of, stored_of
from usp.tree import sitemap_from_bytes

if TYPE_CHECKING:
    from usp.objects.abstract_sitemap import AbstractSitemap

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
    decoder = Decoder()
    decoder.feed(after.encode(errors="replace"))
    decoder.close()
    is_labelled = decoder.encoding in UTF_8 and not decoder.is_mislabelled
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
    return f'{head}\n<sitemapindex xmlns="{PROTOCOL}">\n{"".join(entries)}</sitemapindex>\n'


def _pieces(text: str, entries: Sequence[tuple[int, int]]) -> list[str]:
    """Return a document in as many parts as the limits of the protocol ask for."""
    size = len(text.encode(errors="replace"))
    if len(entries) <= PROTOCOL_URLS and size <= PROTOCOL_BYTES:
        return [text]
    head, tail = text[: entries[0][0]], text[entries[-1][1] :]
    room = PROTOCOL_BYTES - len((head + tail).encode(errors="replace"))
    pieces, first, count, used = [], entries[0][0], 0, 0
    for (start, _), (following, _) in zip(
        entries, [*entries[1:], (entries[-1][1], 0)], strict=True
    ):
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


def loose_url(url: str) -> str:
    """Return what stays the same of a URL when it is fixed."""
    return normal_url(fixed_url(url))
