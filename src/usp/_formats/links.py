"""Links to other languages, cut out of entries: these have many of them, and trees are slow."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from usp._formats.abstract_parser import PageBatch
from usp.objects.page import PageFields, SitemapPage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Links: TypeAlias = Sequence[list[tuple[str, str]] | None]

LINK = "<xhtml:link "

# How nearly every program writes a link to another language; what is in its address, one look tells.
_LINK = re.compile(
    r'<xhtml:link rel="alternate" hreflang="([A-Za-z0-9_-]++)" href="(https?://[^"]++)"\s*+/>'
)
_OF_ADDRESSES = bytes(set(range(0x21, 0x7F)) - set(b'"<'))
_WORD = re.compile(r"\w*+")
_LENGTH = len('<xhtml:linkrel="alternate"hreflang=""href=""/>')  # without its values and blanks
_OWN_ENDS = ("</loc>", "</lastmod>", "</changefreq>", "</priority>")


def split(block: str) -> tuple[list[str], str]:
    """Return the entries of a block without their ends, and how they all end."""
    end = block[block.rindex("</") :]
    return block.split(end)[:-1], end


def without_links(block: str) -> tuple[str, Links]:
    """Return a block without its links, and those of each entry; None for one whose links stay.

    If there are no links, or some have unusual addresses, the block is returned as it is, with nothing
    else. Links stay where they are unless a field of the protocol ends before them.
    """
    rest: list[str] = []
    links: list[list[tuple[str, str]] | None] = []
    entries, url_end = split(block)
    for entry in entries:
        begin = entry.find(LINK)
        end = entry.find("/>", entry.rfind(LINK)) + 2
        found = _LINK.findall(entry, begin, end) if begin >= 0 else []
        # Nothing but links, after the end of an element.
        if (
            found
            and entry.count("<", begin, end) == len(found)
            and entry.count("&", begin, end) == entry.count("&amp;", begin, end)
            and _follow_a_field(entry, begin, end, found)
        ):
            links.append(_decoded(found))
            rest.append(entry[:begin] + entry[end:])
        else:
            links.append(None)
            rest.append(entry)
    hrefs = "".join([href for found in links if found for _, href in found])
    others = hrefs.encode("utf-8", "surrogatepass").translate(None, _OF_ADDRESSES)
    if not _WORD.fullmatch(others.decode("utf-8", "surrogatepass")):
        return block, ()
    return url_end.join([*rest, ""]), links


def _decoded(links: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(code, href.replace("&amp;", "&") if "&" in href else href) for code, href in links]


def _follow_a_field(entry: str, begin: int, end: int, links: list[tuple[str, str]]) -> bool:
    """Return whether links come after a field of the protocol, with nothing but blanks between them.

    Their addresses have no blanks.
    """
    written = len("".join(entry[begin:end].split()))
    known = sum(map(len, chain.from_iterable(links))) + len(links) * _LENGTH
    return written == known and entry[:begin].rstrip().endswith(_OWN_ENDS)


class LinkedPages(PageBatch):
    """Pages whose links were read apart."""

    __slots__ = ("_links", "_pages", "_rows", "urls")

    def __init__(self, pages: PageBatch, links: Links) -> None:
        self._pages = pages
        self._links = links
        self._rows: list[PageFields] = []
        self.urls = pages.urls
        self.as_written = pages.as_written

    def pages(self) -> Iterator[SitemapPage]:
        """Return the pages."""
        return map(SitemapPage.of, self.urls, self.rows())

    def texts(self) -> None:
        """Return None: there are links too."""

    def own_texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return the fields of the protocol as written."""
        return self._pages.own_texts()

    def rows(self) -> list[PageFields]:
        """Return everything except the URL of each page."""
        if not self._rows:
            self._rows = [
                row if links is None else PageFields(*row[:5], links, *row[6:])
                for row, links in zip(self._pages.rows(), self._links, strict=True)
            ]
        return self._rows
