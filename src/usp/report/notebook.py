"""A tree in a notebook: what ``_repr_html_`` returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from usp._base.display import counted, grouped, size
from usp.objects.sitemap import FAILED, INCOMPLETE, AbstractPagesSitemap, kind_of, state_of
from usp.report.markup import Addresses, Markup, shared_origin, shown_url, tag

if TYPE_CHECKING:
    from usp.objects.abstract_sitemap import AbstractSitemap

MAX_NODES = 200  # how many sitemaps are shown in total
MAX_SIBLINGS = 20  # how many sitemaps of one index are shown
MAX_DEPTH = 12

MAX_READ = 2 * 1024 * 1024  # bytes of all documents up to which their pages are counted
_INDENT = "padding-left:1.1em"
_COLORS = {FAILED: "#c0392b", INCOMPLETE: "#b9770e"}


def repr_html(node: AbstractSitemap) -> str:
    """Return a sitemap and everything below it as expandable HTML, without scripts, of bounded size.

    It begins with the number of sitemaps, and of those that failed or are incomplete. Pages are
    counted where they are a list already, or if all documents together are small.
    """
    nodes = [node, *node.all_sitemaps()]
    count = sum(one.size or 0 for one in nodes) <= MAX_READ
    writer = _TreeHtml(Addresses(shared_origin(one.url for one in nodes)), count=count)
    totals = [tag("span", counted(node.sitemap_count(), "sitemap")), *_damage(nodes)]
    head = tag("div", Markup(", ".join(totals)))
    return tag("div", head, writer.node(node, 0), style="font-family:monospace;font-size:13px")


def _damage(nodes: Sequence[AbstractSitemap]) -> Iterator[Markup]:
    """Yield how many sitemaps failed, and how many are incomplete, if any."""
    states = Counter(state_of(node)[0] for node in nodes)
    for state in (FAILED, INCOMPLETE):
        if states[state]:
            yield _colored(f"{grouped(states[state])} {state}", state)


def _colored(text: str, state: str) -> Markup:
    return tag("span", text, style=f"color:{_COLORS.get(state, 'inherit')}")


class _TreeHtml:
    def __init__(self, addresses: Addresses, *, count: bool) -> None:
        self._addresses = addresses
        self._count = count
        self._room = MAX_NODES

    def node(self, node: AbstractSitemap, depth: int) -> Markup:
        self._room -= 1
        line = self._line(node)
        below = node.sub_sitemaps
        if not below:
            return tag("div", line, style=_INDENT)
        inside = []
        for child in below[:MAX_SIBLINGS] if depth < MAX_DEPTH else ():
            if self._room <= 0:
                break
            inside.append(self.node(child, depth + 1))
        rest = below[len(inside) :]
        if rest:
            more = ", ".join([f"… {grouped(len(rest))} more", *_damage(rest)])
            inside.append(tag("div", Markup(more), style=f"{_INDENT};opacity:.8"))
        opened = " open" if depth < 2 else ""  # noqa: PLR2004 - the root and its children
        shown = tag("summary", line) + tag("div", *inside, style=_INDENT)
        return Markup(f"<details{opened}>{shown}</details>")

    def _line(self, node: AbstractSitemap) -> Markup:
        kind = kind_of(node)
        website = kind.name == "website"
        url = shown_url(node.url, 120) if website else self._addresses.url(node.url, 120)
        words = [] if kind.name == "invalid" else [kind.label]
        if node.sub_sitemaps and not website:
            words.append(counted(len(node.sub_sitemaps), "sitemap"))
        may_count = self._count and node.size is not None
        if isinstance(node, AbstractPagesSitemap) and (may_count or node.has_page_list):
            words.append(counted(node.page_count(), "page"))
        if node.size is not None:
            words.append(size(node.size))
        parts = [tag("bdi", url, dir="ltr")]
        if words:
            parts.append(tag("span", ", ".join(words), style="opacity:.7"))
        state, reason = state_of(node)
        if state is not None:
            parts.append(_colored(f"{state}: {self._addresses.text(reason or '', 120)}", state))
        return Markup(" ".join(parts))
