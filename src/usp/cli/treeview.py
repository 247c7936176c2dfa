"""A tree of sitemaps as text or JSON: what each contains, and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.text import Text
from rich.tree import Tree

from usp._base.display import counted, printable, size
from usp.checks.finding import Severity
from usp.checks.node_findings import (
    CODES,
    findings_at,
    findings_of,
    is_folder,
    is_quickly_read,
    missing_findings,
    problems_of,
)
from usp.checks.verdicts import Color, RuleRow, by_rule, judge
from usp.cli.errors import problem_text, remedy, why
from usp.cli.output import shown_below
from usp.helpers import is_http_url, strip_url_to_homepage
from usp.objects.abstract_sitemap import walk
from usp.objects.problem import ProblemCode, by_kind
from usp.objects.sitemap import (
    AbstractIndexSitemap,
    AbstractPagesSitemap,
    AbstractSitemap,
    IndexWebsiteSitemap,
    InvalidSitemap,
    PagesResourceSyncSitemap,
    examined_blocks,
    kind_of,
    state_of,
)
from usp.report.content import Content
from usp.report.markup import without_origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from usp.checks.finding import Finding
    from usp.checks.verdicts import Verdict
    from usp.objects.exchange import Exchange
    from usp.objects.problem import Failure

_LONG = 12  # more sitemaps of one kind in a row are shortened
_FIRST = 6  # to this many, and the last
_DEEPEST = 100  # levels to show; lines get longer with each
_MOST_ALIKE = 3  # findings of one rule that get a line each
_COLORS = {Color.RED: "red", Color.AMBER: "yellow", Color.GREEN: "green"}
_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "dim"}


def tree_view(
    tree: AbstractSitemap,
    *,
    everything: bool = True,
    depth: int | None = None,
    count: bool = True,
    problems: bool = True,
    on_read: Callable[[], object] = bool,
) -> Tree:
    """Return a tree with a node for each sitemap; pages are counted, not shown.

    Without ``everything``, long lists of sitemaps and very deep levels are shortened. ``depth`` is the
    number of levels to show. Without ``count`` no pages are read, and without ``problems`` only those
    are shown that are known without checking every field. ``on_read`` is called for each sitemap whose
    pages have been read.
    """
    if depth is None and not everything:
        depth = _DEEPEST
    homepage = strip_url_to_homepage(tree.url) if is_http_url(tree.url) else tree.url
    view = _View(homepage, shown_below(homepage), everything, count, problems, on_read)
    return view.of(tree, depth)


@dataclass(slots=True)
class _View:
    _homepage: str
    _shown: Callable[[str], str]
    _everything: bool
    _read: bool
    _problems: bool
    on_read: Callable[[], object]
    _in_folder: bool = False
    _known: dict[Exchange, tuple[int, str]] = field(default_factory=dict)  # pages, what is shown

    def of(self, tree: AbstractSitemap, depth: int | None) -> Tree:
        self._in_folder = is_folder(tree)
        view = Tree(self._label(tree, printable))
        waiting = [(view, tree, depth)]  # instead of recursion: trees may be deep
        while waiting:
            waiting.extend(self._add(*waiting.pop()))
        failed = {failure.url: failure for failure in tree.failures()}
        for line in self._lines(missing_findings(tree), failed, tree.url):
            view.add(line)
        return view

    def _add(
        self, view: Tree, sitemap: AbstractSitemap, depth: int | None
    ) -> Iterator[tuple[Tree, AbstractSitemap, int | None]]:
        """Add the details of a sitemap; yield the branches that are still to be added."""
        listed = self._problems or isinstance(sitemap, AbstractIndexSitemap)
        found = findings_at(sitemap, problems_of(sitemap, read=listed), in_folder=self._in_folder)
        failure = sitemap.why if isinstance(sitemap, InvalidSitemap) else sitemap.failure
        failed = {} if failure is None else {sitemap.url: failure}
        for line in self._lines(found, failed, sitemap.url):
            view.add(line)
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
        for sitemap in run:
            if self._problems:  # one reading finds both
                sitemap.problem_count()
            sitemap.page_count()
            self.on_read()
        return f" with {counted(sum(sitemap.page_count() for sitemap in run), 'page')}"

    def _label(self, sitemap: AbstractSitemap, shown: Callable[[str], str]) -> Text:
        holds = self._holds(sitemap)
        if (state := state_of(sitemap)[0]) is not None:
            holds = f"{holds}, {state}" if holds else state
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
        self.on_read()
        held = _contents(sitemap, examine=self._problems)
        if isinstance(sitemap, PagesResourceSyncSitemap) and (removed := sitemap.removed):
            held += f", {len(removed):,} removed"
        if exchange is not None:
            self._known[exchange] = sitemap.page_count(), held
        return held

    def _lines(
        self, findings: Iterable[Finding], failed: Mapping[str, Failure], url: str
    ) -> Iterator[Text]:
        """Return a line for each finding in the document at a URL; many of one rule share one.

        ``failed`` are failures by their URLs, whose advice names options of the command.
        """
        alike: dict[tuple[str, str], RuleRow] = {}
        for one in findings:
            what = one.message if one.code == ProblemCode.OTHER_PROBLEM.rule else ""
            alike.setdefault((one.code, what), RuleRow.of(one)).add(one, _MOST_ALIKE)
        for row in alike.values():
            is_many = row.count > _MOST_ALIKE
            for one in row.examples[:1] if is_many else row.examples:
                where = "" if one.line is None else f"line {one.line}: "
                if is_many:
                    where = f"{row.count:,} times{', first in ' if where else ': '}{where}"
                if one.sitemap not in (url, self._homepage):
                    where = f"{self._shown(one.sitemap)}: {where}"
                failure = failed.get(one.sitemap)
                is_failure = failure is not None and failure.code.rule == one.code
                said = why(failure) if failure and is_failure else one.message
                lost = row.lost if is_many else one.lost
                cost = f" ({counted(lost, 'entry')} lost)" if lost else ""
                text = f"{where}{problem_text(said, CODES.get(one.code))}{cost}"
                style = _STYLES[one.severity]
                yield Text(f"{one.severity} {one.code}: {self._short(text)}", style=style)

    def _short(self, text: str) -> str:
        """Return a message without the scheme and host of the website."""
        return printable(without_origin(text, self._homepage))


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
    if examine and isinstance(sitemap, AbstractPagesSitemap):
        blocks = examined_blocks(sitemap)
    else:
        blocks = sitemap.page_blocks()
    for _, block in blocks:
        content.add(block)
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
    return f"{held}, {range_}" if range_ else held


def summary(tree: AbstractSitemap, *, problems: bool = True) -> list[Text]:
    """Return the verdict on a tree, its totals, and what to mend first, in a line each."""
    found = by_rule(findings_of(tree, read=problems))  # first: finding them counts the pages too
    result = judge(tree, found, checked=False)
    lines = verdict_lines(result)
    total = f"{counted(tree.page_count(), 'page')} in {counted(tree.sitemap_count(), 'sitemap')}"
    lines.append(Text(f"{total}; {found}." if found.total else f"{total}."))
    return lines + [Text(line) for line in result.to_mend()]


def verdict_lines(result: Verdict) -> list[Text]:
    """Return a verdict, and what to do if nothing was found, in options of the command."""
    advice = result.what_to_do(remedy(result.code) if result.code else "")
    head = Text(str(result), style=_COLORS[result.color])
    return [head, Text(f"  {advice}")] if advice else [head]


# As JSON, nested like the sitemaps -----------------------------------------------------------------


def tree_json(
    tree: AbstractSitemap, *, depth: int | None = None, count: bool = True, problems: bool = False
) -> Iterator[str]:
    """Yield a tree as JSON, a line for each sitemap; the first one has the verdict.

    ``depth`` is the number of levels to write; sitemaps below are counted. With ``count``, pages are
    read and counted; with ``problems``, every field is checked. This uses a stack and not ``json``,
    which recurses: trees may be deep.
    """
    waiting = [(tree, 0, "")]  # with its level, and the end of its line
    while waiting:
        node, level, end = waiting.pop()
        fields = _fields(node, count=count, problems=problems)
        if node is tree and not level:
            read = problems or (count and is_quickly_read(walk(tree)))
            found = by_rule(findings_of(tree, read=read))
            fields["verdict"] = judge(tree, found, checked=False, counts=count).to_dict()
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
