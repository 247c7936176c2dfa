"""llms.txt: a list of links in Markdown, below headings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from usp._base.urls import url_parts
from usp._formats import values
from usp._formats.abstract_parser import ChildEntry, LinkEntry, ignore
from usp._formats.plain_text import LLMS_TXT, LineParser
from usp._formats.xml.references import attribute_value
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import (
    AbstractIndexSitemap,
    AbstractPagesSitemap,
    IndexLlmsTxtSitemap,
    PagesLlmsTxtSitemap,
)

if TYPE_CHECKING:
    from usp._formats.abstract_parser import Entry

_LINK = re.compile(
    r"(?<![!\\])\[((?:[^\[\]\\]++|\\.|\[[^\[\]]*+\](?:\([^()\s]*+\))?+)*+)\]"  # the text, or an image
    r"\(\s*+(?:<([^<>]*+)>|((?:\\.|[^()<>\\]|\([^()]*+\))*?))"  # the URL, which may have blanks,
    r"(?:\s++(?:\"[^\"]*+\"|'[^']*+'|\([^()]*+\)))?+\s*+\)"  # and a title
    r"|<(https?://[^\s<>]++)>"
    r"|`[^`]*+`|<!--(?:(?!-->).)*+|!\[[^\[\]]*+\]\([^()]*+\)"  # in which nothing is a link
    r"|(?<!\]\()(?<![\w/.:@=&?])(https?://(?:[^\s<>()\[\]`\"|]++|\([^\s<>()]*+\))++)"  # as it is
)
_BEFORE_LINK = (
    " \t:*_-\u2013\u2014\u2015\u2192=|>(\uff1a\uff08"  # what is between a name and its URL
)
_AFTER_LINK = ".,;:!?'*_~"
_DEFINITION = re.compile(r"\s{0,3}\[[^\[\]]++\]:\s*+<?([^\s<>]++)")  # of a link by its name
_HEADING = re.compile(r"\s{0,3}(#{1,6})(?:\s+|$)(.*)")
_UNDERLINE = re.compile(r"\s{0,3}(?:(=)=*+|--*+)\s*+$")  # of a heading
_ITEM = re.compile(r"\s*+(?:[-*+]|[0-9]{1,9}[.)])\s++\S")
_FENCE = re.compile(r"\s{0,3}(`{3,}+(?=[^`]*+$)|~{3,}+|<!--(?!.*-->))")
_TEMPLATE = re.compile(r"[{}*]|<$")  # in a URL that stands for many, or what follows it
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_MARKS = re.compile(
    r"!?\[([^\[\]]*+)\](?:\([^()]*+\))?+|\\([!-/:-@\[-`{-~])|[*`]|(?<!\w)_++|_++(?!\w)"
    r"|</?[a-zA-Z][^<>]*+>?+"
)


def _plain(text: str) -> str | None:
    return values.text(_MARKS.sub(lambda mark: mark[1] or mark[2] or "", text))


class LlmsTxtParser(LineParser):
    """Reads an llms.txt; the lists of others that it links to are children, if they are followed."""

    sitemap_class: type[AbstractIndexSitemap | AbstractPagesSitemap] = PagesLlmsTxtSitemap
    is_always_read = True

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._headings: list[tuple[int, str]] = []  # with their levels
        self._has_title = self._has_links = False  # of the section
        self._before = ""  # the line before
        self._fence: str | None = None  # that ends what is code
        self._lists: dict[str, ChildEntry] = {}

    def close(self) -> list[Entry]:
        """Return the links in the last line, and the lists."""
        pages = super().close()
        if not self._has_title:
            self.problems.add(ProblemCode.NO_TITLE, 1)
        return [*pages, *self._lists.values()]

    def read(self, text: str) -> list[Entry]:
        """Return the links in complete lines."""
        return [
            page
            for number, line in self.lines(text)
            if not self._is_hidden(number, line)
            for page in self._links(number, line)
        ]

    def _is_hidden(self, number: int, line: str) -> bool:
        """Return whether a line is in code, a comment, or what stands before the list for programs."""
        if self._fence == "---" and _HEADING.match(line):
            self._fence = None  # it was a rule
        if self._fence is not None:
            end = "-->" if self._fence == "<!--" else self._fence
            is_end = end == "-->" or not line.strip().strip(end[0])
            self._fence = None if is_end and end in line else self._fence
            return True
        fence = _FENCE.match(line)
        if fence is not None or (number == 1 and line.rstrip() == "---"):
            self._fence = fence[1] if fence else "---"
        return self._fence is not None

    def _links(self, number: int, line: str) -> list[Entry]:
        """Return the links in a line, which may also be a heading."""
        heading, item = _HEADING.match(line), _ITEM.match(line)
        underline = _UNDERLINE.match(line) if self._before.strip() else None
        if heading is not None:
            self._begin_section(len(heading[1]), heading[2])
        elif underline is not None:
            self._begin_section(1 if underline[1] else 2, self._before)
        definition = _DEFINITION.match(line)
        self._before = "" if item or heading or definition or line.startswith(">") else line
        if definition:
            return self._link(definition[1], "", number)
        pages: list[Entry] = []
        links = [link for link in _LINK.finditer(line) if link.lastindex]
        for link in links:
            title, *addresses, plain = link.groups()
            address = next(filter(None, addresses), "") or (plain or "").rstrip(_AFTER_LINK)
            is_template = _TEMPLATE.search(f"{address}{line[link.end() :][:1]}")
            if plain and (is_template or plain.endswith("/*")):
                continue
            if title is None and item and link is links[0]:
                title = line[item.end() - 1 : link.start()].rstrip(_BEFORE_LINK)
            address = attribute_value(_ESCAPED.sub(r"\1", address), ignore)
            pages += self._link(address, title or "", number)
        if self._has_links and not links and item:
            self.problems.add(ProblemCode.NO_LINK, number, line)
        self._has_links |= bool(self._headings and links and item)
        return pages

    def _begin_section(self, level: int, text: str) -> None:
        """Leave the sections that a heading ends; the title of the list is not one."""
        self._has_links = False
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        if level == 1 and not self._has_title:
            self._has_title = True
        elif title := _plain(text.rstrip().rstrip("#")):
            self._headings.append((level, title))

    def _link(self, address: str, title: str, line: int) -> list[Entry]:
        """Return a link to a page; take a link to another list."""
        address = address.strip()
        url = self.page_of_link(address, self.url, line)
        if url is None:
            return []
        if url_parts(url).path.endswith(f"/{LLMS_TXT}") and url != self.url:
            self._lists.setdefault(url, ChildEntry(url, None, address, line))
            self.sitemap_class = IndexLlmsTxtSitemap
        section = [text for _, text in self._headings]
        return [LinkEntry(url, line, _plain(title) or "", section, address)]
