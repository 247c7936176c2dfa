"""A tree of sitemaps as text or JSON: what each contains, and what is wrong with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from usp._base.display import counted, printable, size, without_origin
from usp._base.urls import readable
from usp._content import Content
from usp.checks.checking import SiteFindings
from usp.checks.finding import Severity
from usp.checks.node_findings import CODES
from usp.checks.verdicts import Color, RuleRow
from usp.cli.errors import hint_of, problem_text, remedy, why
from usp.cli.output import fitting, painted, shown_below
from usp.helpers import is_http_url, strip_url_to_homepage
from usp.objects.problem import by_kind
from usp.objects.sitemap import (
    AbstractIndexSitemap,
    AbstractSitemap,
    IndexWebsiteSitemap,
    InvalidSitemap,
    PagesResourceSyncSitemap,
    kind_of,
    state_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from usp._crawl.stored_pages import ExaminedBlock
    from usp.checks.verdicts import Verdict
    from usp.objects.exchange import Exchange

_LONG = 12  # more sitemaps of one kind in a row are shortened
_FIRST = 6  # to this many, and the last
_DEEPEST = 100  # levels to show; lines get longer with each
_MOST_ALIKE = 3  # findings of one rule that get a line each
_COLORS = {Color.RED: "bad", Color.AMBER: "fair", Color.GREEN: "good"}
_STYLES = {Severity.ERROR: "bad", Severity.WARNING: "fair", Severity.INFO: "dim"}


class TreeView:
    """A tree as text, and what was found in its documents, which are read once for both.

    ``checked`` is whether all rules are asked: by default if the tree is small. ``on_read`` is called
    for each sitemap whose pages have been read.
    """

    def __init__(
        self,
        tree: AbstractSitemap,
        checked: bool | None = None,
        on_read: Callable[[], object] = bool,
    ) -> None:
        self._tree, self._on_read = tree, on_read
        self._held: dict[Exchange | int, tuple[int, str]] = {}  # pages, and the line on them
        self._reading: AbstractSitemap | None = None
        self._content = Content()
        self._homepage = strip_url_to_homepage(tree.url) if is_http_url(tree.url) else tree.url
        self._shown = shown_below(self._homepage)
        self._failed = {failure.url: failure for failure in tree.failures()}
        self.wrong = SiteFindings.of(tree, checked, self._count)
        self._begin(None)

    def _begin(self, node: AbstractSitemap | None) -> None:
        """Keep what the last sitemap contains in a line, and go on to another one."""
        if self._reading is not None:
            self._on_read()
            held = self._content.pages, _held(self._reading, self._content)
            self._held[self._reading.exchange or id(self._reading)] = held
        self._reading, self._content = node, Content()

    def _count(self, node: AbstractSitemap, block: ExaminedBlock) -> None:
        if node is not self._reading:
            self._begin(node)
        self._content.add(block.unique)

    def _contents(self, node: AbstractSitemap) -> str:
        """Return what a page sitemap contains; one that was not read yet is read."""
        key = node.exchange or id(node)
        known = self._held.get(key) or (0, _held(node, Content()))
        if known[0] == node.page_count():  # a limit may cut one of two
            return known[1]
        self._begin(node)
        for _, block in node.page_blocks():
            self._content.add(block)
        self._begin(None)
        return self._held[key][1]

    def drawn(
        self, *, everything: bool = True, depth: int | None = None, count: bool = True
    ) -> Iterator[str]:
        """Yield a line for each sitemap and its findings; pages are counted, not shown.

        Without ``everything``, long lists of sitemaps and very deep levels are shortened. ``depth`` is
        the number of levels to show. Without ``count`` no pages are read.
        """
        if depth is None:
            depth = sys.maxsize if everything else _DEEPEST
        # A stack instead of recursion: trees may be deep.
        waiting: list[tuple[str, str, str | AbstractSitemap, int]] = [("", "", self._tree, depth)]
        while waiting:
            begin, margin, item, levels = waiting.pop()
            if isinstance(item, str):
                yield begin + item
                continue
            is_top = item is self._tree
            yield begin + self._label(item, printable if is_top else self._shown, count)
            below = [*self._below(item, levels, everything=everything, count=count)]
            if is_top:
                below += self._lines(self.wrong.elsewhere(), item.url)
            ends = ["├── "] * (len(below) - 1) + ["└── "] * bool(below)
            waiting += [
                (margin + end, f"{margin}{'│' if end[0] == '├' else ' '}   ", one, levels - 1)
                for end, one in zip(reversed(ends), reversed(below), strict=True)
            ]

    def _below(
        self, sitemap: AbstractSitemap, levels: int, *, everything: bool, count: bool
    ) -> Iterator[str | AbstractSitemap]:
        """Yield lines about a sitemap, and the sitemaps that it lists."""
        yield from self._lines(self.wrong.at(sitemap), sitemap.url)
        if sitemap.sub_sitemaps and levels <= 0:
            hidden = sum(1 for _ in sitemap.all_sitemaps())
            yield painted(f"… {counted(hidden, 'sitemap')}", "dim")
            return
        for child in _shortened(sitemap.sub_sitemaps, everything=everything):
            if isinstance(child, AbstractSitemap):
                yield child
            else:
                more = f"… {counted(len(child), 'more sitemap')}"
                pages = sum(hidden.page_count() for hidden in child) if count else 0
                more += f" with {counted(pages, 'page')}" if count else ""
                yield painted(more, "dim")

    def _label(self, sitemap: AbstractSitemap, shown: Callable[[str], str], count: bool) -> str:
        """Return the URL of a sitemap, its type, what it contains, and its state."""
        is_website = isinstance(sitemap, IndexWebsiteSitemap)
        is_read = not isinstance(sitemap, InvalidSitemap)
        kind = held = None
        if isinstance(sitemap, AbstractIndexSitemap):
            below = sitemap.sitemap_count() if is_website else len(sitemap.sub_sitemaps)
            held = counted(below, "sitemap")
        elif is_read and count:
            held = self._contents(sitemap)
        if is_read and not is_website:
            kind = kind_of(sitemap).label
        received = size(sitemap.size) if is_read and sitemap.size is not None else None
        about = ": ".join(filter(None, (kind, held)))
        about = ", ".join(filter(None, (about, received, state_of(sitemap)[0])))
        url = painted(shown(readable(sitemap.url)), "title")
        return url + painted(f"  {about}", "dim") if about else url

    def _lines(self, rows: Iterable[RuleRow], url: str) -> Iterator[str]:
        """Return a line for each finding in the document at a URL; many of one rule share one."""
        for row in rows:
            is_many = row.count > _MOST_ALIKE
            for one in row.examples[:1] if is_many else row.examples:
                where = "" if one.line is None else f"line {one.line}: "
                if is_many:
                    where = f"{row.count:,} times{', first in ' if where else ': '}{where}"
                if one.sitemap not in (url, self._homepage):
                    where = f"{self._shown(readable(one.sitemap))}: {where}"
                failure = self._failed.get(one.sitemap)
                is_failure = failure is not None and failure.code.rule == one.code
                said = why(failure) if failure and is_failure else one.message
                lost = row.lost if is_many else one.lost
                cost = f" ({counted(lost, 'entry')} lost)" if lost else ""
                text = f"{where}{problem_text(said, CODES.get(one.code))}{cost}"
                text = printable(readable(without_origin(text, self._homepage)))
                yield painted(f"{one.severity} {one.code}: {text}", _STYLES[one.severity])


def _shortened(
    children: Sequence[AbstractSitemap], *, everything: bool
) -> Iterator[AbstractSitemap | list[AbstractSitemap]]:
    """Yield sitemaps; of many of one kind in a row the first and the last, the others as a list."""
    for kind, same in groupby(children, key=_collapses):
        run = list(same)
        if everything or len(run) <= _LONG or kind is None:
            yield from run
        else:
            yield from run[:_FIRST]
            yield run[_FIRST:-1]
            yield run[-1]


def _collapses(sitemap: AbstractSitemap) -> type | None:
    """Return the kind of a sitemap that may be left out among many; None if it must be shown."""
    if isinstance(sitemap, InvalidSitemap) or sitemap.sub_sitemaps:
        return None
    return type(sitemap)


def _held(sitemap: AbstractSitemap, content: Content) -> str:
    """Return the number of pages in a sitemap, of their images and so on, and the range of dates."""
    parts = {
        "story": content.news,
        "image": content.images.items,
        "video": content.videos.items,
        "alternate": content.alternates.items,
    }
    more = ", ".join(counted(number, what) for what, number in parts.items() if number)
    span = content.dates.first, content.dates.last
    range_ = " to ".join(dict.fromkeys(filter(None, span)))
    held = counted(content.pages, "page") + (f" with {more}" if more else "")
    removed = sitemap.removed if isinstance(sitemap, PagesResourceSyncSitemap) else ()
    gone = f"{len(removed):,} removed" if removed else ""
    return ", ".join(filter(None, (held, range_, gone)))


def summary(wrong: SiteFindings, output: Path | None = None) -> Iterator[str]:
    """Yield the verdict on a tree, its totals, and what to mend first."""
    tree, found, result = wrong.tree, wrong.found, wrong.verdict()
    total = f"{counted(tree.page_count(), 'page')} in {counted(tree.sitemap_count(), 'sitemap')}"
    total = f"{total}; {found}." if found.total else f"{total}."
    yield from verdict_lines(result, output)
    yield from fitting([total, *result.to_mend(hint_of)], output)


def verdict_lines(result: Verdict, output: Path | None = None) -> Iterator[str]:
    """Yield a verdict, and what to do if nothing was found, in options of the command."""
    advice = result.what_to_do(remedy(result.code) if result.code else "")
    for line in fitting([str(result)], output):
        yield painted(line, _COLORS[result.color])
    yield from fitting([f"  {advice}"] if advice else [], output)


# As JSON, nested like the sitemaps -----------------------------------------------------------------


def tree_json(
    tree: AbstractSitemap, *, depth: int | None = None, count: bool = True, problems: bool = False
) -> Iterator[str]:
    """Yield a tree as JSON, a line for each sitemap; the first one has the verdict.

    ``depth`` is the number of levels to write; sitemaps below are counted. With ``count``, pages are
    read and counted; with ``problems``, every field is checked. This uses a stack and not ``json``,
    which recurses: trees may be deep.
    """
    wrong = SiteFindings.of(tree, True if problems else None if count else False)
    waiting = [(tree, 0, "")]  # with its level, and the end of its line
    while waiting:
        node, level, end = waiting.pop()
        fields = _fields(node, count=count, problems=problems)
        if node is tree and not level:
            fields["verdict"] = wrong.verdict(counts=count).to_dict()
        text = " " * level + json.dumps(fields)
        children = node.sub_sitemaps
        if not isinstance(node, AbstractIndexSitemap):
            yield f"{text}{end}"
        elif level == depth:
            below = sum(1 for _ in node.all_sitemaps())
            yield f'{text[:-1]}, "sitemaps_below": {below}}}{end}'
        elif not children:
            yield f'{text[:-1]}, "sitemaps": []}}{end}'
        else:
            yield f'{text[:-1]}, "sitemaps": ['
            ends = [f"]}}{end}", *[","] * (len(children) - 1)]
            waiting += [
                (child, level + 1, after)
                for child, after in zip(reversed(children), ends, strict=True)
            ]


def _fields(node: AbstractSitemap, *, count: bool, problems: bool) -> dict[str, Any]:
    from usp.export.sitemaps import sitemap_row

    found = by_kind(node.problems) if problems else []  # first: finding them counts the pages too
    fields = sitemap_row(node, why, count=count)
    del fields["parent"]
    modified = node.last_modified
    fields["lastmod"] = None if modified is None else modified.isoformat()
    if problems:
        fields["problems"] = [
            {name: getattr(kind, name) for name in ("code", "message", "times", "lost")}
            | {name: getattr(kind.first, name) for name in ("line", "excerpt")}
            for kind in found
        ]
    if isinstance(node, IndexWebsiteSitemap):
        fields["not_found"] = [
            {name: getattr(one, name) for name in ("url", "status", "code")} | {"failure": why(one)}
            for one in node.not_found
        ]
    return fields
