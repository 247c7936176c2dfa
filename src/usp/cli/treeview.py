"""A sitemap tree for people: its sitemaps, what they hold, and what was wrong with them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.text import Text
from rich.tree import Tree

from usp.cli.output.text import printable, shown_below
from usp.helpers import strip_url_to_homepage
from usp.objects.sitemap import (
    AbstractIndexSitemap,
    IndexRobotsTxtSitemap,
    IndexXMLSitemap,
    InvalidSitemap,
    PagesAtomSitemap,
    PagesRSSSitemap,
    PagesTextSitemap,
    PagesXMLSitemap,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from usp.objects.page import SitemapPage
    from usp.objects.sitemap import AbstractSitemap

_KINDS: dict[type[AbstractSitemap], str] = {
    IndexRobotsTxtSitemap: "robots.txt",
    IndexXMLSitemap: "index",
    PagesXMLSitemap: "XML",
    PagesTextSitemap: "text",
    PagesRSSSitemap: "RSS",
    PagesAtomSitemap: "Atom",
}


def tree_view(tree: AbstractSitemap) -> Tree:
    """Give the tree as a drawing, a node a sitemap; pages are counted, not shown."""
    homepage = strip_url_to_homepage(tree.url)
    view = Tree(_label(tree, printable))
    _add(view, tree, homepage)
    return view


def _add(view: Tree, sitemap: AbstractSitemap, homepage: str) -> None:
    for problem in sitemap.problems:
        cost = f" ({_many(problem.lost, 'entry')} lost)" if problem.lost else ""
        view.add(Text(f"problem: {_short(str(problem), homepage)}{cost}", style="yellow"))
    if isinstance(sitemap, InvalidSitemap):
        view.add(Text(f"failed: {_short(sitemap.reason, homepage)}", style="red"))
    for child in sitemap.sub_sitemaps:
        _add(view.add(_label(child, shown_below(homepage))), child, homepage)


def _label(sitemap: AbstractSitemap, shown: Callable[[str], str]) -> Text:
    holds = _holds(sitemap)
    return Text.assemble((shown(sitemap.url), "bold"), (f"  {holds}" if holds else "", "dim"))


def _holds(sitemap: AbstractSitemap) -> str:
    """Say what a sitemap is and what it lists."""
    if isinstance(sitemap, InvalidSitemap):
        return ""
    if isinstance(sitemap, AbstractIndexSitemap):
        counted = _many(len(sitemap.sub_sitemaps), "sitemap")
    else:
        counts = Counter[str]()
        for page in sitemap.all_pages():
            counts.update(_parts(page))
        page_count = counts.pop("page", 0)
        more = ", ".join(_many(number, what) for what, number in counts.items() if number)
        counted = _many(page_count, "page") + (f" with {more}" if more else "")
    kind = _KINDS.get(type(sitemap))
    return f"{kind}: {counted}" if kind else counted


def _parts(page: SitemapPage) -> dict[str, int]:
    return {
        "page": 1,
        "story": int(page.news_story is not None),
        "image": len(page.images or ()),
        "video": len(page.videos or ()),
        "alternate": len(page.alternates or ()),
    }


def summary(tree: AbstractSitemap) -> str:
    """Give the totals of a tree in a line."""
    nodes = [tree, *tree.all_sitemaps()]
    failed = sum(isinstance(node, InvalidSitemap) for node in nodes)
    problems = sum(len(node.problems) for node in nodes)
    return (
        f"{_many(tree.page_count(), 'page')} in {_many(len(nodes) - 1 - failed, 'sitemap')}; "
        f"{_many(failed, 'sitemap')} failed, {_many(problems, 'problem')} on the way."
    )


def _short(text: str, homepage: str) -> str:
    """Leave scheme and host of the website out of a message."""
    return printable(text.replace(homepage, "/"))


def _many(number: int, what: str) -> str:
    plural = what if number == 1 else f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{number:,} {plural}"
