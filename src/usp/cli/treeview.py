"""A tree of sitemaps as text or JSON: what each contains, and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.text import Text
from rich.tree import Tree

from usp._base.display import counted, printable, size
from usp.cli.errors import problem_text, why
from usp.cli.output import shown_below
from usp.helpers import is_http_url, strip_url_to_homepage
from usp.objects.problem import Problem, by_kind, kind_key
from usp.objects.sitemap import (
    AbstractIndexSitemap,
    AbstractPagesSitemap,
    AbstractSitemap,
    IndexWebsiteSitemap,
    InvalidSitemap,
    kind_of,
    state_of,
)
from usp.report.content import Content
from usp.report.markup import without_origin

if TYPE_CHECKING:
    from usp.objects.exchange import Exchange

_LONG = 12  # more sitemaps of one kind in a row are shortened
_FIRST = 6  # to this many, and the last
_DEEPEST = 100  # levels to show; lines get longer with each
_MOST_ALIKE = 3  # problems of one kind that get a line each


def tree_view(
    tree: AbstractSitemap,
    *,
    everything: bool = True,
    depth: int | None = None,
    count: bool = True,
    problems: bool = True,
) -> Tree:
    """Return a tree with a node for each sitemap; pages are counted, not shown.

    Without ``everything``, long lists of sitemaps and very deep levels are shortened. ``depth`` is the
    number of levels to show. Without ``count`` no pages are read, and without ``problems`` only those
    are shown that are known without checking every field.
    """
    if depth is None and not everything:
        depth = _DEEPEST
    homepage = strip_url_to_homepage(tree.url) if is_http_url(tree.url) else tree.url
    return _View(homepage, everything=everything, count=count, problems=problems).of(tree, depth)


class _View:
    def __init__(self, homepage: str, *, everything: bool, count: bool, problems: bool) -> None:
        self._homepage = homepage
        self._shown = shown_below(homepage)
        self._everything = everything
        self._read = count
        self._problems = problems
        self._known: dict[Exchange, tuple[int, str]] = {}  # pages, and what is shown of them

    def of(self, tree: AbstractSitemap, depth: int | None) -> Tree:
        view = Tree(self._label(tree, printable))
        waiting = [(view, tree, depth)]  # instead of recursion: trees may be deep
        while waiting:
            waiting.extend(self._add(*waiting.pop()))
        shown = {node.failure for node in (tree, *tree.all_sitemaps())}
        for failure in tree.failures():
            if failure not in shown:  # of something that is not in the tree
                where = "" if failure.url == tree.url else f"{self._shown(failure.url)}: "
                view.add(Text(f"failed: {where}{self._short(why(failure))}", style="red"))
        return view

    def _add(
        self, view: Tree, sitemap: AbstractSitemap, depth: int | None
    ) -> Iterator[tuple[Tree, AbstractSitemap, int | None]]:
        """Add the details of a sitemap; yield the branches that are still to be added."""
        if isinstance(sitemap, InvalidSitemap):
            word, _ = state_of(sitemap)
            style = "red" if sitemap.failure else "dim"
            view.add(Text(f"{word}: {self._short(why(sitemap.why))}", style=style))
        else:
            listed = self._problems or isinstance(sitemap, AbstractIndexSitemap)
            problems = sitemap.problems if listed else []
            for problem in _problems(problems):
                view.add(Text(f"problem: {self._short(problem)}", style="yellow"))
            failure = sitemap.failure
            if failure is not None and all(one.code != failure.code for one in problems):
                view.add(Text(f"incomplete: {self._short(why(failure))}", style="yellow"))
        children = sitemap.sub_sitemaps
        if children and depth is not None and depth <= 0:
            view.add(
                Text(f"… {counted(len(list(sitemap.all_sitemaps())), 'sitemap')}", style="dim")
            )
            return
        below = None if depth is None else depth - 1
        for kind, same in groupby(children, key=_collapses):
            run = list(same)
            # Of many of one kind in a row some are shown, and the others counted.
            is_short = self._everything or len(run) <= _LONG or kind is None
            hidden = [] if is_short else run[_FIRST:-1]
            for child in run[: -1 - len(hidden)]:
                yield view.add(self._label(child, self._shown)), child, below
            if hidden:
                more = f"… {counted(len(hidden), 'more sitemap')}{self._sum(hidden)}"
                view.add(Text(more, style="dim"))
            yield view.add(self._label(run[-1], self._shown)), run[-1], below

    def _sum(self, run: list[AbstractSitemap]) -> str:
        if not self._read:
            return ""
        if self._problems:  # one reading tells both
            for sitemap in run:
                sitemap.problem_count()
        return f" with {counted(sum(sitemap.page_count() for sitemap in run), 'page')}"

    def _label(self, sitemap: AbstractSitemap, shown: Callable[[str], str]) -> Text:
        holds = self._holds(sitemap)
        return Text.assemble((shown(sitemap.url), "bold"), (f"  {holds}" if holds else "", "dim"))

    def _holds(self, sitemap: AbstractSitemap) -> str:
        """Return the type of a sitemap and what it contains."""
        if isinstance(sitemap, InvalidSitemap):
            return ""
        website = isinstance(sitemap, IndexWebsiteSitemap)
        kind = None if website else kind_of(sitemap).label
        if isinstance(sitemap, AbstractIndexSitemap):
            below = sitemap.sitemap_count() if website else len(sitemap.sub_sitemaps)
            held = counted(below, "sitemap")
        elif self._read:
            held = self._contents_of(sitemap)
        else:
            held = ""
        parts = [f"{kind}: {held}" if kind and held else kind or held]
        if sitemap.size is not None:
            parts.append(size(sitemap.size))
        return ", ".join(part for part in parts if part)

    def _contents_of(self, sitemap: AbstractSitemap) -> str:
        """Return what a page sitemap contains; a document that is in the tree twice is read once."""
        exchange = sitemap.exchange
        known = None if exchange is None else self._known.get(exchange)
        if known is not None and known[0] == sitemap.page_count():  # a limit may cut one of them
            return known[1]
        held = _contents(sitemap, examine=self._problems)
        if exchange is not None:
            self._known[exchange] = sitemap.page_count(), held
        return held

    def _short(self, text: str) -> str:
        """Return a message without the scheme and host of the website."""
        return printable(without_origin(text, self._homepage))


def _problems(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield a line for each problem; many of one kind share one, in place of the first."""
    many = {kind_key(kind): kind for kind in by_kind(problems) if kind.times > _MOST_ALIKE}
    for problem in problems:
        kind = many.get(kind_key(problem))
        if kind is None:
            cost = f" ({counted(problem.lost, 'entry')} lost)" if problem.lost else ""
            yield f"{problem_text(str(problem), problem.code)}{cost}"
        elif kind.first is problem:
            cost = f" ({counted(kind.lost, 'entry')} lost)" if kind.lost else ""
            first = "" if problem.line is None else f", first in line {problem.line}"
            what = "" if problem.excerpt is None else f": {problem.excerpt!r}"
            message = problem_text(kind.message, kind.code)
            yield f"{kind.times:,} times: {message}{first}{what}{cost}"


def _collapses(sitemap: AbstractSitemap) -> type | None:
    """Return the kind of a sitemap that may be left out among many; None if it must be shown."""
    if isinstance(sitemap, InvalidSitemap) or sitemap.sub_sitemaps:
        return None
    return type(sitemap)


def _contents(sitemap: AbstractSitemap, *, examine: bool) -> str:
    """Return the number of pages in a sitemap, of their images and so on, and the range of dates.

    Pages that are to be examined for problems are not read twice.
    """
    content = Content()
    days: list[str] = []
    if examine and isinstance(sitemap, AbstractPagesSitemap):
        blocks = sitemap.examined_blocks()
    else:
        blocks = sitemap.page_blocks()
    for _, block in blocks:
        span, _ = content.add(block)
        days += span or ()
    parts = {
        "story": content.news,
        "image": content.images.items,
        "video": content.videos.items,
        "alternate": content.alternates.items,
    }
    more = ", ".join(counted(number, what) for what, number in parts.items() if number)
    range_ = " to ".join(dict.fromkeys((min(days), max(days)))) if days else ""
    held = counted(content.pages, "page") + (f" with {more}" if more else "")
    return f"{held}, {range_}" if range_ else held


def summary(tree: AbstractSitemap, *, problems: bool = True) -> str:
    """Return the totals of a tree as one line of text."""
    count = 0
    if problems:  # first: finding them counts the pages too
        count = sum(node.problem_count() for node in (tree, *tree.all_sitemaps()))
    found = f"{counted(tree.page_count(), 'page')} in {counted(tree.sitemap_count(), 'sitemap')}"
    missing = counted(len(tree.failures()), "failure")
    if not problems:
        return f"{found}; {missing}."
    return f"{found}; {missing}, {counted(count, 'problem')}."


# As JSON, nested like the sitemaps -----------------------------------------------------------------


def tree_json(
    tree: AbstractSitemap, *, depth: int | None = None, count: bool = True, problems: bool = False
) -> Iterator[str]:
    """Yield a tree as JSON, a line for each sitemap.

    ``depth`` is the number of levels to write; sitemaps below are counted. With ``count``, pages are
    read and counted; with ``problems``, every field is checked. This uses a stack and not ``json``,
    which recurses: trees may be deep.
    """
    waiting = [(tree, 0, "")]  # with its level, and the end of its line
    while waiting:
        node, level, end = waiting.pop()
        text = " " * level + json.dumps(_fields(node, count=count, problems=problems))
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
