"""A tree in a notebook: what ``_repr_html_`` returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from usp._base.display import counted, grouped, size
from usp._base.urls import readable
from usp.checks.checking import SiteFindings
from usp.checks.verdicts import Color
from usp.objects.abstract_sitemap import walk
from usp.objects.sitemap import (
    FAILED,
    INCOMPLETE,
    AbstractPagesSitemap,
    has_page_list,
    kind_of,
    state_of,
)
from usp.report.markup import Addresses, Markup, shared_origin, shown_text, shown_url, tag

if TYPE_CHECKING:
    from usp.objects.abstract_sitemap import AbstractSitemap

MAX_NODES = 200  # how many sitemaps are shown in total
MAX_SIBLINGS = 20  # how many sitemaps of one index are shown
MAX_DEPTH = 12

_INDENT, _AS_WRITTEN = "padding-left:1.1em", "white-space:pre-wrap"
_MOST_FINDINGS = 3  # of one sitemap that are shown
_COLORS = {
    **dict.fromkeys((FAILED, Color.RED, "error"), "#c0392b"),
    **dict.fromkeys((INCOMPLETE, Color.AMBER, "warning"), "#b9770e"),
    Color.GREEN: "#1e8449",
}


def repr_html(node: AbstractSitemap) -> str:
    """Return a sitemap and everything below it as expandable HTML, without scripts, of bounded size.

    It begins with the verdict, and how much is wrong as far as that is known: documents are read, and
    their pages counted, if all of them together are small.
    """
    wrong = SiteFindings.of(node)
    found, result = wrong.found, wrong.verdict(counts=wrong.checked)
    writer = _TreeHtml(Addresses(shared_origin(one.url for one in walk(node))), wrong)
    totals = counted(node.sitemap_count(), "sitemap") + (f", {found}" if found.total else "")
    lines = [_colored(shown_text(str(result)), result.color), *filter(None, [result.what_to_do()])]
    lines += [totals, *result.to_mend()]
    head = Markup("".join(tag("div", line, style=_AS_WRITTEN) for line in lines))
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
    def __init__(self, addresses: Addresses, wrong: SiteFindings) -> None:
        self._addresses, self._wrong = addresses, wrong
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
        url = readable(node.url)
        url = shown_url(url, 120) if website else self._addresses.url(url, 120)
        words = [] if kind.name == "invalid" else [kind.label]
        if node.sub_sitemaps and not website:
            words.append(counted(len(node.sub_sitemaps), "sitemap"))
        if isinstance(node, AbstractPagesSitemap) and (self._wrong.checked or has_page_list(node)):
            words.append(counted(node.page_count(), "page"))
        if node.size is not None:
            words.append(size(node.size))
        parts = [tag("bdi", url, dir="ltr")]
        if words:
            parts.append(tag("span", ", ".join(words), style="opacity:.7"))
        state, _ = state_of(node)
        if state is not None:
            parts.append(_colored(state, state))
        return Markup(" ".join(parts) + "".join(self._findings(node)))

    def _findings(self, node: AbstractSitemap) -> Iterator[Markup]:
        """Yield what the first rules found in a sitemap."""
        rows = [*self._wrong.at(node)]
        for row in rows[:_MOST_FINDINGS]:
            often = f"{grouped(row.count)} times: " if row.count > 1 else ""
            message = self._addresses.text(readable(row.examples[0].message), 120)
            what = f"{row.severity} {row.code}: {often}{message}"
            yield tag("div", _colored(what, row.severity), style=_INDENT)
        if more := sum(row.count for row in rows[_MOST_FINDINGS:]):
            yield tag("div", f"… {counted(more, 'more finding')}", style=f"{_INDENT};opacity:.8")
