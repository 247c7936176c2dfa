"""Text line by line, also for robots.txt, and plain-text sitemaps: one URL per line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import compress
from typing import TYPE_CHECKING

from usp._base.loc_urls import absolute_url, begins_with_host
from usp._base.urls import can_be_requested, url_parts
from usp._formats.abstract_parser import BlockText, FormatParser, LinkEntry, PageBatch
from usp._formats.xml import cut
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import PagesTextSitemap

if TYPE_CHECKING:
    from usp._formats.abstract_parser import Entry

MAX_LINE = 64 * 1024
"""Longer lines are ignored."""


class LineParser(FormatParser):
    """Reads text in lines: ``read`` is called with as many as are complete."""

    number = 0
    """How many lines were read."""

    _held = ""  # the line that is not complete, or enough of it to see that it is too long

    def feed(self, text: str) -> list[Entry]:
        """Return what is in the lines that are complete so far."""
        block = self._held + text if self._held else text
        end = block.rfind("\n") + 1
        if len(block) - end > MAX_LINE:  # unless it has other line ends
            end = _last_line(block, end)
        self._held = block[end : end + MAX_LINE + 1]
        return self.read(block[:end]) if end else []

    def close(self) -> list[Entry]:
        """Return what is in the last line, unless the document breaks off in it."""
        held, self._held = self._held, ""
        if not held:
            return []
        if self.problems.unfinished is None or len(held) > MAX_LINE:
            return self.read(f"{held}\n")
        end = _last_line(held)
        entries = self.read(held[:end]) if end else []
        self.problems.add(ProblemCode.CUT_LINE, self.number + 1, held[end:], lost=1)
        return entries

    def lines(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield complete lines with their numbers, and note those that are too long."""
        for line in text.splitlines():
            self.number += 1
            if len(line) <= MAX_LINE:
                yield self.number, line
            else:
                self.problems.add(ProblemCode.LONG_LINE, self.number)

    def read(self, text: str) -> list[Entry]:
        """Return what is in complete lines."""
        raise NotImplementedError


def _last_line(text: str, start: int = 0) -> int:
    """Return where the last line of a text begins, whatever ends the others."""
    return len(text) + 1 - len(f"{text[start:]}.".splitlines()[-1])


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


class PlainTextParser(LineParser):
    """Reads a list of URLs."""

    sitemap_class = PagesTextSitemap

    def read(self, text: str) -> list[Entry]:
        """Return the lines that are URLs: in a batch, unless one may be too long."""
        lines = text.splitlines()
        if max(map(len, lines)) > min(self.url_length or MAX_LINE, MAX_LINE):
            urls = ((self._url(line.strip(), number), number) for number, line in self.lines(text))
            return [LinkEntry(url, number) for url, number in urls if url is not None]
        first, self.number = self.number, self.number + len(lines)
        lines = [*map(str.strip, lines)]
        well = [*map(cut.BEGINS_WELL.match, lines)]
        is_sure = not self.scanner_only and cut.plain([*compress(lines, well)])
        if is_sure and all(well) and len(lines) == text.count("\n"):
            batch = PageBatch(lines)
            batch.block = None if self.fast else BlockText(f"\n{text}", first, "\n")
            return [batch]
        found = {
            number: url
            for number, (line, is_well) in enumerate(zip(lines, well, strict=True), first + 1)
            if (url := line if is_sure and is_well else self._url(line, number)) is not None
        }
        batch = PageBatch([*found.values()])
        batch.lines = [*found]
        return [batch] if found else []

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
