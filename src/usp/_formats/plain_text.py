"""Text line by line, also for robots.txt, and plain-text sitemaps: one URL per line."""

from __future__ import annotations

from itertools import compress, repeat
from typing import TYPE_CHECKING

from usp._base.urls import is_http_url
from usp._formats.abstract_parser import AbstractSitemapParser, BlockText, PageBatch, PageEntry
from usp._formats.xml import cut
from usp.objects.page import PageFields, SitemapPage
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import PagesTextSitemap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from usp._formats.abstract_parser import Entry, Note
    from usp.objects.problem import Problems


MAX_LINE = 64 * 1024
"""Longer lines are ignored."""

_NOTHING = PageFields()


class Lines:
    """Cuts text into lines with their numbers: ``feed`` text, then ``close``."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._parts: list[str] = []  # of the line that is not complete
        self._length = 0  # of that line, however much of it is kept
        self._cr = False  # whether a CR waits: it may be half of a CRLF
        self._number = 0

    @property
    def idle(self) -> bool:
        """Whether the next character begins a line."""
        return not self._length and not self._cr

    @property
    def number(self) -> int:
        """How many lines were read."""
        return self._number

    def skip(self, count: int) -> None:
        """Count lines that were read elsewhere."""
        self._number += count

    def feed(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield the lines that are complete so far, without their ends."""
        if not text:
            return
        if self._cr:
            text = "\r" + text
        self._cr = text.endswith("\r")
        begun, *lines = _between_ends(text[:-1] if self._cr else text)
        self._hold(begun)
        for line in lines:
            yield from self._complete()
            self._hold(line)

    def close(self) -> Iterator[tuple[int, str]]:
        """Yield the last line, unless the document breaks off in it."""
        self._cr = False
        if not self._length:
            return
        if self._problems.unfinished is not None and self._length <= MAX_LINE:
            line = "".join(self._parts)
            self._problems.add(ProblemCode.CUT_LINE, self._number + 1, line, lost=1)
            return
        yield from self._complete()

    def _hold(self, text: str) -> None:
        """Keep a part of a line, up to the maximum length of lines."""
        self._length += len(text)
        if self._length > MAX_LINE:
            self._parts.clear()
        elif text:
            self._parts.append(text)

    def _complete(self) -> Iterator[tuple[int, str]]:
        line, too_long = "".join(self._parts), self._length > MAX_LINE
        self._parts.clear()
        self._length = 0
        self._number += 1
        if too_long:
            self._problems.add(ProblemCode.LONG_LINE, self._number)
        else:
            yield self._number, line


def _between_ends(text: str) -> list[str]:
    """Return the texts before, between and after the ends of lines."""
    *lines, last = f"{text}.".splitlines()  # which leaves out an empty text after the last end
    return [*lines, last[:-1]]


def has_url(text: str) -> bool:
    """Return whether any line of a text is a URL."""
    return any(is_http_url(line.strip().strip("\ufeff")) for line in text.splitlines())


class _Line(PageEntry):
    """A line that is a URL."""

    __slots__ = ("_url", "line")

    def __init__(self, url: str, line: int) -> None:
        self._url = url
        self.line = line

    def page(self, note: Note | None = None) -> SitemapPage:
        """Return the page, of which nothing but its URL is known."""
        del note
        return SitemapPage(self._url)


class _Batch(PageBatch):
    """Lines that are URLs."""

    __slots__ = ("block", "lines", "urls")

    def __init__(
        self, urls: list[str], block: BlockText | None = None, lines: Sequence[int] = ()
    ) -> None:
        self.urls = urls
        self.block = block
        self.lines = lines

    def pages(self) -> Iterator[SitemapPage]:
        """Return the pages."""
        return map(SitemapPage.of, self.urls, repeat(_NOTHING))

    def texts(self) -> dict[str, list[str]]:
        """Return no columns: lines have no fields."""
        return {}


class PlainTextSitemapParser(AbstractSitemapParser):
    """Reads a list of URLs."""

    sitemap_class = PagesTextSitemap
    Page = _Line

    def __init__(
        self, url: str | None = None, problems: Problems | None = None, *, fast: bool = False
    ) -> None:
        super().__init__(url, problems, fast=fast)
        self._lines = Lines(self.problems)
        self._held = ""

    def feed(self, text: str) -> list[Entry]:
        """Return the pages of the lines that are complete so far."""
        if self.scans:
            return list(self._pages(self._lines.feed(text)))
        block = self._held + text
        end = block.rfind("\n") + 1
        if not end and len(block) <= MAX_LINE:
            self._held = block
            return []
        end = end or len(block)
        self._held, block = block[end:], block[:end]
        lines = block.splitlines() if block[-1] == "\n" and self._lines.idle else []
        if not lines or max(map(len, lines)) > min(self.url_length or MAX_LINE, MAX_LINE):
            return list(self._pages(self._lines.feed(block)))
        batch = self._batch(lines, block)
        self._lines.skip(len(lines))
        return [batch] if batch.urls else []

    def _batch(self, lines: list[str], block: str) -> _Batch:
        """Return all lines of a block that are URLs; most are plain, which is seen at once."""
        urls = list(map(str.strip, lines))
        if cut.are_plain(urls) and len(urls) == block.count("\n"):
            text = None if self.fast else BlockText("\n" + block, self._lines.number, "\n")
            return _Batch(urls, text)
        begins_well = list(map(cut.BEGINS_WELL.match, urls))
        is_sure = cut.plain(list(compress(urls, begins_well)))
        found, numbers = [], []
        for number, (url, well) in enumerate(
            zip(urls, begins_well, strict=True), self._lines.number + 1
        ):
            if (is_sure and well) or self._is_url(url := url.strip("\ufeff"), number):
                found.append(url)
                numbers.append(number)
        return _Batch(found, lines=numbers)

    def close(self) -> list[Entry]:
        """Return the page of the last line."""
        lines = [*self._lines.feed(self._held), *self._lines.close()]
        return list(self._pages(lines))

    def _pages(self, lines: Iterable[tuple[int, str]]) -> Iterator[_Line]:
        for number, line in lines:
            url = line.strip().strip("\ufeff")
            if self._is_url(url, number):
                yield _Line(url, number)

    def _is_url(self, text: str, line: int) -> bool:
        """Return whether a line is a URL; note it if it is something else."""
        if is_http_url(text):
            return True
        if text:
            self.problems.add(ProblemCode.BAD_LINE, line, text, lost=1)
        return False
