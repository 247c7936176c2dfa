"""The entries of XML sitemaps: ``<url>`` and ``<sitemap>``, as written in a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._formats import values
from usp._formats.abstract_parser import ChildEntry, PageEntry
from usp._formats.extensions import FIELDS, NAMES, READERS
from usp._formats.url_batches import ignore, read_own
from usp._formats.values import absolute_url
from usp._formats.xml import cut
from usp._formats.xml.entries import Field, RawEntry, loc_text, note_scheme
from usp.objects.page import DeferredPage, PageFields, SitemapPage
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from usp._formats.abstract_parser import Entry, Note
    from usp._formats.xml.vocabulary import Vocabulary


class UrlEntry(RawEntry, PageEntry):
    """A ``<url>`` as written in the document."""

    own_fields = frozenset({"loc", "lastmod", "changefreq", "priority"})
    extensions = NAMES

    def __init__(self, line: int | None, base: str | None) -> None:
        super().__init__(line, base)
        self._fields: dict[str, str] = {}
        self.as_written: str | None = None

    _nested_loc: str | None = None

    def add(self, field: Field, parser: Vocabulary) -> None:
        """Take a field; of two locs the last one that is not empty counts."""
        name, text, _ = field
        if name == "loc":
            text = loc_text(field, parser)
            if self._fields.get("loc", text) != text and text and not text.isspace():
                parser.note(ProblemCode.SEVERAL_LOCS, self._fields["loc"])
        if text and not text.isspace():
            self._fields[name] = text

    def add_nested_loc(self, text: str) -> None:
        """Take a loc from inside an element that was not closed."""
        self._nested_loc = text

    def finish(self, parser: Vocabulary) -> list[Entry]:
        """Return the entry itself, if it has a URL."""
        loc = self._fields.get("loc") or self._nested_loc or self.stray_address(parser)
        self.as_written = loc
        if loc and cut.is_plain(loc):
            self._fields["loc"] = loc
            return [self]
        url = absolute_url(values.text(loc) or "", self.base)
        if url is None:
            code = ProblemCode.BAD_LOC if loc else ProblemCode.NO_LOC
            parser.problems.add(code, self.line, loc, lost=1)
            return []
        note_scheme(loc or "", self, parser)
        self._fields["loc"] = url
        return [self]

    def page(self, note: Note | None = None) -> SitemapPage | None:
        """Return the page; its fields are parsed immediately if problems are requested."""
        if note is None:
            return DeferredPage(self._fields["loc"], self, 0)
        return SitemapPage.of(self._fields["loc"], self.fields(0, note))

    @property
    def own_texts(self) -> dict[str, str]:
        """The fields of the protocol as written."""
        return {name: values.text(text) or "" for name, text in self._fields.items()}

    def own(self, at: int) -> PageFields:
        """Parse all fields."""
        return self.fields(at)

    def fields(self, at: int, note: Note = ignore) -> PageFields:
        """Read the fields of the entry, which is the only one here."""
        del at
        own = read_own(self._fields, note)
        more = {
            FIELDS[space]: READERS[space](records, note, self.base)
            for space, records in self.records.items()
        }
        return PageFields(*own, **more)


class SitemapEntry(RawEntry):
    """A ``<sitemap>`` as written in the document; every loc in it is a child."""

    own_fields = frozenset({"loc", "lastmod"})
    counts_unfinished = True  # a child that is named can be fetched

    def __init__(self, line: int | None, base: str | None) -> None:
        super().__init__(line, base)
        self._locs: list[str] = []
        self._lastmods: dict[int, str] = {}  # by the number of the loc that they are about
        self._nested_loc: str | None = None

    def add(self, field: Field, parser: Vocabulary) -> None:
        """Take a loc, or a lastmod: of several each is about the loc before it."""
        text = values.text(loc_text(field, parser) if field.name == "loc" else field.text)
        if text is None:
            return
        if field.name == "loc":
            self._locs.append(text)
        else:
            self._lastmods[max(len(self._locs) - 1, 0)] = text

    def add_nested_loc(self, text: str) -> None:
        """Take a loc from inside an element that was not closed."""
        self._nested_loc = values.text(text)

    def finish(self, parser: Vocabulary) -> list[Entry]:
        """Return the children that have a URL."""
        children: list[Entry] = []
        locs = self._locs
        if not locs:
            loc = self._nested_loc or self.stray_address(parser)
            locs = [loc] if loc else []
        if not locs:
            parser.problems.add(ProblemCode.NO_LOC, self.line, lost=1)
        lastmods = self._lastmods
        common = next(iter(lastmods.values())) if len(lastmods) == 1 else None
        for at, loc in enumerate(locs):
            url = absolute_url(loc, self.base)
            if url is None:
                parser.problems.add(ProblemCode.BAD_LOC, self.line, loc, lost=1)
            else:
                note_scheme(loc, self, parser)
                children.append(ChildEntry(url, lastmods.get(at) or common, loc, self.line))
        return children
