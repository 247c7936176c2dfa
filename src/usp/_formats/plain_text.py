"""Text line by line, also for robots.txt, and plain-text sitemaps: one URL per line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

from usp._base.loc_urls import absolute_url, begins_with_host
from usp._base.urls import can_be_requested, url_parts
from usp._formats.abstract_parser import NO_FIELDS, BlockText, FormatParser, LinkEntry, PageBatch
from usp._formats.xml import cut
from usp.objects.problem import ProblemCode, Problems
from usp.objects.sitemap import PagesTextSitemap

if TYPE_CHECKING:
    from usp._formats.abstract_parser import Entry

MAX_LINE = 64 * 1024
"""Longer lines are ignored."""


class Lines:
    """Cuts text into lines with their numbers: ``feed`` text, then ``close``."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._parts: list[str] = []  # of the line that is not complete,
        self._length = 0  # and how long they are: at most one character more than a line may be
        self.number = 0  # how many lines were read

    @property
    def idle(self) -> bool:
        """Whether the next character begins a line."""
        return not self._length

    def feed(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield the lines that are complete so far, without their ends."""
        *lines, last = f"{text}.".splitlines()  # which leaves out an empty text after the last end
        for written in lines:
            line = written
            if self._length:
                self.hold(written)
                line = "".join(self._parts)
                self._parts, self._length = [], 0
            self.number += 1
            if len(line) <= MAX_LINE:
                yield self.number, line
            else:
                self._problems.add(ProblemCode.LONG_LINE, self.number)
        self.hold(last[:-1])

    def close(self) -> Iterator[tuple[int, str]]:
        """Yield the last line, unless the document breaks off in it."""
        if self._length and self._problems.unfinished is not None and self._length <= MAX_LINE:
            line = "".join(self._parts)
            self._problems.add(ProblemCode.CUT_LINE, self.number + 1, line, lost=1)
        elif self._length:
            yield from self.feed("\n")

    def hold(self, text: str) -> None:
        """Hold a part of a line until the rest comes."""
        part = text[: MAX_LINE + 1 - self._length]
        if part:
            self._parts.append(part)
            self._length += len(part)


def has_url(text: str) -> bool:
    """Return whether any line of a text is a URL, or a host and a path."""
    lines = (line.strip().strip("\ufeff") for line in text.splitlines())
    return any(can_be_requested(line) or ("/" in line and is_on_host(line, None)) for line in lines)


LLMS_TXT = "llms.txt"
"""The path of a list of links in Markdown, below that of the website or of a part of it."""

_TITLE = re.compile(r"^\s{0,3}#(?:\s|$)|^\S[^\n]*+\n=++[ \t]*+$", re.MULTILINE)
_LISTED_LINK = re.compile(r"^[ \t]*+[-*+][ \t]++\[[^\n]*?\]\(", re.MULTILINE)


def is_list_of_links(start: str, url: str | None) -> bool:
    """Return whether a text is Markdown with a title and a list of links; one by its name."""
    is_named = url is not None and url_parts(url).path.endswith(f"/{LLMS_TXT}")
    has_title = _TITLE.search(start) is not None
    has_links = _LISTED_LINK.search(start) is not None
    return (has_title or has_links) if is_named else (has_title and has_links)


def is_on_host(line: str, base: str | None) -> bool:
    """Return whether a line is a URL that has lost its scheme."""
    return begins_with_host(line, base) and len(line.split()) == 1


class _Batch(PageBatch):
    """Lines that are URLs."""

    def __init__(
        self, urls: list[str], block: BlockText | None = None, lines: Sequence[int] = ()
    ) -> None:
        super().__init__(urls, lambda: [NO_FIELDS] * len(urls))
        self.block = block
        self.lines = lines

    def texts(self) -> dict[str, list[str]]:
        """Return no columns: lines have no fields."""
        return {}


def _found(urls: Iterable[tuple[str | None, int]]) -> list[Entry]:
    """Return the URLs of lines with their numbers; None where there is none."""
    found = [(url, number) for url, number in urls if url is not None]
    return [_Batch([url for url, _ in found], lines=[at for _, at in found])] if found else []


class PlainTextParser(FormatParser):
    """Reads a list of URLs."""

    sitemap_class = PagesTextSitemap

    _held = ""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._lines = Lines(self.problems)

    def feed(self, text: str) -> list[Entry]:
        """Return the pages of the lines that are complete so far."""
        if self.scanner_only:
            return self._pages(self._lines.feed(text))
        block = self._held + text
        end = block.rfind("\n") + 1
        if not end and len(block) <= MAX_LINE:
            self._held = block
            return []
        end = end or len(block)
        self._held, block = block[end:], block[:end]
        lines = block.splitlines() if block[-1] == "\n" and self._lines.idle else []
        if not lines or max(map(len, lines)) > min(self.url_length or MAX_LINE, MAX_LINE):
            return self._pages(self._lines.feed(block))
        batches = self._batches(lines, block)
        self._lines.number += len(lines)
        return batches

    def _batches(self, lines: list[str], block: str) -> list[Entry]:
        """Return all lines of a block that are URLs; most are plain, which is seen at once."""
        urls = list(map(str.strip, lines))
        begins_well = list(map(cut.BEGINS_WELL.match, urls))
        is_sure = cut.plain(list(compress(urls, begins_well)))
        if is_sure and all(begins_well) and len(urls) == block.count("\n"):
            text = None if self.fast else BlockText("\n" + block, self._lines.number, "\n")
            return [_Batch(urls, text)]
        numbered = enumerate(zip(urls, begins_well, strict=True), self._lines.number + 1)
        return _found(
            (url if is_sure and well else self._url(url, number), number)
            for number, (url, well) in numbered
        )

    def close(self) -> list[Entry]:
        """Return the page of the last line."""
        return self._pages([*self._lines.feed(self._held), *self._lines.close()])

    def _pages(self, lines: Iterable[tuple[int, str]]) -> list[Entry]:
        """Return the lines that are URLs, each by itself."""
        urls = ((self._url(line.strip(), number), number) for number, line in lines)
        return [LinkEntry(url, number) for url, number in urls if url is not None]

    def _url(self, text: str, line: int) -> str | None:
        """Return the URL that a line is; note it if it is something else."""
        text = text.strip("\ufeff")
        if can_be_requested(text):
            return text
        if is_on_host(text, self.url):
            self.problems.add(ProblemCode.NO_SCHEME, line, text)
            return absolute_url(text, self.url)
        if text:
            self.problems.add(ProblemCode.BAD_LINE, line, text, lost=1)
        return None
