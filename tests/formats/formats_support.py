"""Reads documents whole or in pieces, and shows what came out as plain values."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import cache
from pathlib import Path

from usp._formats.abstract_parser import ChildEntry, PageBatch
from usp._formats.decode import Decoder
from usp._formats.document import DocumentParser, Role
from usp.objects.problem import Problems

CORPUS = Path(__file__).parent.parent / "corpus"
URL = "https://www.example.org/sitemap.xml"
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


def read(pieces, *, url=URL, role=Role.SITEMAP, lanes=None, **options) -> Reading:
    """Read a document that comes in pieces: tag by tag, unless by the lanes.

    ``lanes`` is True for all that is told of a document, "fast" for its pages only.
    """
    options |= {"scans": not lanes, "fast": lanes == "fast"}
    parser = DocumentParser(url, role=role, **options)
    entries = [entry for piece in pieces for entry in parser.feed(piece)]
    entries += parser.close()
    if parser.may_have_children:  # a glance was not enough: what a crawl does then
        del options["scans"], options["fast"]
        options["glance"] = False
        whole = read([b"".join(pieces)], url=url, role=role, lanes=lanes, **options)
        return whole if whole.kind == "IndexXMLSitemap" else replace(whole, pages=())
    kind = None
    if parser.refusal is None:
        kind = parser.parser.sitemap_class.__name__
    return _reading(kind, parser.refusal, parser.encoding, entries, parser.problems)


def read_text(pieces, parser) -> Reading:
    """Read text that comes in pieces, with a parser of texts."""
    entries = [entry for piece in pieces for entry in parser.feed(piece)]
    entries += parser.close()
    return _reading(None, getattr(parser, "refusal", None), None, entries, parser.problems)


def _reading(kind, refusal, encoding, entries, problems) -> Reading:
    of_fields = Problems()
    pages = []
    for entry in entries:
        if isinstance(entry, ChildEntry):
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
    )


def chunks(data, size):
    """Cut bytes or text into pieces of one size."""
    return [data[at : at + size] for at in range(0, len(data), size)]


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
        """The document as text."""
        options = self.options
        del options["url"], options["role"]
        decoder = Decoder(**options)
        return decoder.feed(self.data) + decoder.close()


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
