"""A ``<sitemap>``: an entry of an index, and a stray among the entries of a urlset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._formats import values
from usp._formats.parser import ChildEntry, absolute_url
from usp._formats.xml.entries import Field, RawEntry, loc_text, note_scheme
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from usp._formats.parser import Entry
    from usp._formats.xml.parser import AbstractXMLSitemapParser


class SitemapEntry(RawEntry):
    """A ``<sitemap>`` as it stands in the document; every loc in it is a child."""

    own_fields = frozenset({"loc", "lastmod"})
    counts_unfinished = True  # a child that is named can be fetched

    def __init__(self, line: int, base: str | None) -> None:
        super().__init__(line, base)
        self._locs: list[str] = []
        self._lastmods: dict[int, str] = {}  # by the number of the loc that they are about
        self._nested_loc: str | None = None

    def add(self, field: Field, parser: AbstractXMLSitemapParser) -> None:
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

    def finish(self, parser: AbstractXMLSitemapParser) -> list[Entry]:
        """Give the children that have a URL."""
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
                children.append(ChildEntry(url, lastmods.get(at) or common))
        return children
