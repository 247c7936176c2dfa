"""Reads documents whole or in pieces, and shows what came out as plain values."""

import json
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import cache
from itertools import chain
from pathlib import Path

from usp._formats.abstract_parser import ChildEntry, PageBatch, RemovedEntry
from usp._formats.decode import Decoder
from usp._formats.document import DocumentParser, Role
from usp._formats.root import RootFinder
from usp._formats.xml.cut import FIELDS
from usp.objects.problem import MAX_PROBLEMS, Problems

CORPUS = Path(__file__).parent.parent / "corpus"
E = "https://www.example.org"
URL = f"{E}/sitemap.xml"
SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"


@dataclass(frozen=True)
class Reading:
    """What a parser made of a document: two readings of the same bytes must be equal."""

    kind: str | None
    refusal: str | None
    encoding: str | None
    children: tuple
    pages: tuple
    problems: tuple
    removed: tuple = ()
    core_texts: tuple | None = None  # of a urlset: lastmod, changefreq and priority as written

    @property
    def urls(self):
        return [page.url for page in self.pages]

    @property
    def messages(self):
        return [f"{problem.line or '-'}: {problem.message}" for problem in self.problems]

    @property
    def codes(self):
        return [f"{problem.line or '-'}: {problem.code}" for problem in self.problems]

    @property
    def lost(self):
        return sum(problem.lost for problem in self.problems)


def read(pieces, *, url=URL, role=Role.SITEMAP, blocks=None, **options) -> Reading:
    """Read a document that comes in pieces: tag by tag, unless in ``blocks``.

    With "fast" these are read for their pages only, with True for problems too.
    """
    options |= {"scanner_only": not blocks, "fast": blocks == "fast"}
    parser = DocumentParser(url, role=role, **options)
    entries = [entry for piece in pieces for entry in parser.feed(piece)]
    entries += parser.close()
    if parser.may_have_children:  # a probe was not enough: what a crawl does then
        del options["scanner_only"], options["fast"]
        options["skip_pages"] = False
        whole = read([b"".join(pieces)], url=url, role=role, blocks=blocks, **options)
        return whole if whole.kind.startswith("Index") else replace(whole, pages=())
    kind = None
    if parser.refusal is None:
        kind = parser.parser.sitemap_class.__name__
    reading = _reading(kind, parser.refusal, parser.decoder.encoding, entries, parser.problems)
    if blocks != "fast" and kind == "PagesXMLSitemap":
        return replace(reading, core_texts=tuple(chain.from_iterable(map(_core_texts, entries))))
    return reading


def same(whole, pieces, **options):
    """Read pieces in all ways, and compare with what the scanner alone has read."""
    for blocks in (True, "fast"):
        given = read(pieces, blocks=blocks, **options)
        assert (given.kind, given.refusal) == (whole.kind, whole.refusal)
        assert given.children == whole.children
        assert given.urls == whole.urls
        assert given.pages == whole.pages
        assert [page.to_dict() for page in given.pages] == [page.to_dict() for page in whole.pages]
        if blocks is True:
            assert given.core_texts == whole.core_texts
        if blocks is True and whole.refusal is None and len(whole.problems) < MAX_PROBLEMS:
            assert given.problems == whole.problems


def _core_texts(entry):
    """Give the fields of the protocol as an entry, or each entry of a batch, has written them."""
    if isinstance(entry, ChildEntry):
        return []
    if not isinstance(entry, PageBatch):
        return [{name: text for name, text in entry.core_texts.items() if text and name in FIELDS}]
    columns = entry.core_texts()
    assert columns is not None, "what was written is known"
    return [
        {name: column[at] for name, column in columns.items() if column[at] and name in FIELDS}
        for at in range(len(entry.urls))
    ]


class XmlText(RootFinder):
    """Reads the text of an XML document, as a parser of texts does."""

    def feed(self, text):
        text = text if self.concrete else self.look(text)
        return self.concrete.feed(text) if self.concrete else []

    def close(self):
        entries = [] if self.concrete else self.feed(self.look("", final=True))
        return [*entries, *(self.concrete.close() if self.concrete else [])]


def read_text(pieces, parser) -> Reading:
    """Read text that comes in pieces, with a parser of texts."""
    entries = [entry for piece in pieces for entry in parser.feed(piece)]
    entries += parser.close()
    return _reading(None, getattr(parser, "refusal", None), None, entries, parser.problems)


def _reading(kind, refusal, encoding, entries, problems) -> Reading:
    of_fields = Problems()
    pages = []
    for entry in entries:
        if isinstance(entry, ChildEntry | RemovedEntry):
            continue
        if isinstance(entry, PageBatch):
            assert [page.url for page in entry.pages()] == entry.urls
            pages += entry.pages()
            continue

        def note(code, excerpt, line=entry.line):
            of_fields.add(code, line, excerpt)

        page = entry.page(note)
        assert page is not None, "an entry that was given is a page"
        pages.append(page)
    return Reading(
        kind,
        refusal and str(refusal),
        encoding,
        tuple(entry for entry in entries if isinstance(entry, ChildEntry)),
        tuple(pages),
        (*problems.listed(), *of_fields.listed()),
        tuple(one.entry.page() for one in entries if isinstance(one, RemovedEntry)),
    )


def decode(pieces, **options):
    """Decode bytes that come in pieces; return the text, its encoding and what is wrong with it."""
    decoder = Decoder(**options)
    text = "".join([decoder.feed(piece) for piece in pieces]) + decoder.close()
    return text, decoder.encoding, decoder.problems.listed()


def chunks(data, size):
    """Cut bytes or text into pieces of one size."""
    return [data[at : at + size] for at in range(0, len(data), size)]


def same_line_ends(text):
    """Return what the scanner of a document is fed: all line ends are made one before."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def halves(data, at):
    return [data[:at], data[at:]]


def urlset(*entries, extra=""):
    """Write a urlset: entries are URLs or elements."""
    written = [
        entry if entry.startswith("<") else f"<url><loc>{entry}</loc></url>" for entry in entries
    ]
    return f'<urlset xmlns="{SITEMAP}" {extra}>\n' + "\n".join(written) + "\n</urlset>"


# Expectations: only what is set is written down -----------------------------------------------


def plain(value):
    """Give a value as JSON knows it, without the fields that are not set."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if item not in (None, [], (), "")}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


def brief_page(page):
    fields = plain(page.to_dict())
    if page.priority == Decimal("0.5"):
        del fields["priority"]
    return fields if len(fields) > 1 else page.url


def brief_child(child):
    return {"loc": child.loc, "lastmod": child.lastmod} if child.lastmod else child.loc


@dataclass(frozen=True)
class Case:
    name: str
    data: bytes
    expected: dict

    @property
    def options(self):
        """How the document was asked for and sent."""
        given = {
            k: self.expected[k] for k in ("content_type", "content_encoding") if k in self.expected
        }
        role = Role(self.expected.get("role", "sitemap"))
        return {"url": self.expected.get("url", URL), "role": role, **given}

    def read(self, pieces) -> Reading:
        return read(pieces, **self.options)

    @property
    def text(self) -> str:
        """The document as text, as parsers see it: each end of a line is one character."""
        options = self.options
        del options["url"], options["role"]
        return same_line_ends(decode([self.data], **options)[0])


@cache
def corpus() -> tuple[Case, ...]:
    return tuple(
        Case(
            expectation.with_suffix("").relative_to(CORPUS).as_posix(),
            expectation.with_suffix("").read_bytes(),
            json.loads(expectation.read_text(encoding="utf-8")),
        )
        for expectation in sorted(CORPUS.rglob("*.json"))
    )
