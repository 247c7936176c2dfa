"""A tree in a notebook: what ``_repr_html_`` returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape

from usp._base.display import counted, grouped, size
from usp.objects.sitemap import (
    FAILED,
    INCOMPLETE,
    NOT_FOLLOWED,
    AbstractPagesSitemap,
    AbstractSitemap,
    IndexWebsiteSitemap,
    InvalidSitemap,
    kind_of,
    state_of,
)
from usp.report.markup import Addresses, shared_origin, shown_url

MAX_NODES = 200
"""How many sitemaps are shown in total."""

MAX_SIBLINGS = 20
"""How many sitemaps of one index are shown."""

MAX_DEPTH = 12

MAX_READ = 2 * 1024 * 1024
"""Pages are counted if all documents together have at most this many bytes."""

_COLORS = {FAILED: "#c0392b", INCOMPLETE: "#b9770e", NOT_FOLLOWED: "inherit"}


def repr_html(node: AbstractSitemap) -> str:
    """Return a sitemap and everything below it as expandable HTML, without scripts, of bounded size.

    It begins with the number of sitemaps, and of those that failed or are incomplete. Pages are
    counted where they are a list already, or if all documents together are small.
    """
    nodes = [node, *node.all_sitemaps()]
    writer = _TreeHtml(
        Addresses(shared_origin(one.url for one in nodes)),
        count=sum(one.size or 0 for one in nodes) <= MAX_READ,
    )
    totals = [f"<span>{counted(node.sitemap_count(), 'sitemap')}</span>", *_damage(nodes)]
    return (
        '<div style="font-family:monospace;font-size:13px">'
        f"<div>{', '.join(totals)}</div>{writer.node(node, 0)}</div>"
    )


def _damage(nodes: Sequence[AbstractSitemap]) -> Iterator[str]:
    """Yield how many sitemaps failed, and how many are incomplete, if any."""
    states = Counter(state_of(node)[0] for node in nodes)
    for state in (FAILED, INCOMPLETE):
        if states[state]:
            yield _colored(f"{grouped(states[state])} {state}", state)


def _colored(text: str, state: str) -> str:
    return f'<span style="color:{_COLORS[state]}">{escape(text)}</span>'


class _TreeHtml:
    def __init__(self, addresses: Addresses, *, count: bool) -> None:
        self._addresses = addresses
        self._count = count
        self._room = MAX_NODES

    def node(self, node: AbstractSitemap, depth: int) -> str:
        self._room -= 1
        line = self._line(node)
        below = node.sub_sitemaps
        if not below:
            return f'<div style="padding-left:1.1em">{line}</div>'
        inside = []
        for child in below[:MAX_SIBLINGS] if depth < MAX_DEPTH else ():
            if self._room <= 0:
                break
            inside.append(self.node(child, depth + 1))
        rest = below[len(inside) :]
        if rest:
            more = ", ".join([f"… {grouped(len(rest))} more", *_damage(rest)])
            inside.append(f'<div style="padding-left:1.1em;opacity:.8">{more}</div>')
        opened = " open" if depth < 2 else ""  # noqa: PLR2004 - the root and its children
        return (
            f"<details{opened}><summary>{line}</summary>"
            f'<div style="padding-left:1.1em">{"".join(inside)}</div></details>'
        )

    def _line(self, node: AbstractSitemap) -> str:
        website = isinstance(node, IndexWebsiteSitemap)
        url = shown_url(node.url, 120) if website else self._addresses.url(node.url, 120)
        words = [] if isinstance(node, InvalidSitemap) else [kind_of(node).label]
        if node.sub_sitemaps and not website:
            words.append(counted(len(node.sub_sitemaps), "sitemap"))
        may_count = self._count and node.size is not None
        if isinstance(node, AbstractPagesSitemap) and (may_count or node.has_page_list):
            words.append(counted(node.page_count(), "page"))
        if node.size is not None:
            words.append(size(node.size))
        line = f'<bdi dir="ltr">{escape(url)}</bdi>'
        if words:
            line += f' <span style="opacity:.7">{", ".join(words)}</span>'
        state, reason = state_of(node)
        if state is not None:
            line += " " + _colored(f"{state}: {self._addresses.text(reason or '', 120)}", state)
        return line
