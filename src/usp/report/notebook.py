"""A tree in a notebook: what ``_repr_html_`` gives."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from usp.display import counted, grouped
from usp.objects.sitemap import AbstractPagesSitemap, InvalidSitemap
from usp.report.text import shown_text, shown_url
from usp.report.treedata import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.objects.sitemap import AbstractSitemap

MAX_NODES = 200
"""How many sitemaps are shown in all."""

MAX_SIBLINGS = 20
"""How many sitemaps of one index are shown."""

MAX_DEPTH = 12


def repr_html(node: AbstractSitemap) -> str:
    """Give a sitemap and those below it as HTML to unfold, without scripts, of bounded size.

    No document is read for it: pages are counted where they are a list already.
    """
    return f'<div style="font-family:monospace;font-size:13px">{_Writer().node(node, 0)}</div>'


class _Writer:
    def __init__(self) -> None:
        self._room = MAX_NODES

    def node(self, node: AbstractSitemap, depth: int) -> str:
        self._room -= 1
        line = " ".join(_words(node))
        below = node.sub_sitemaps
        if not below:
            return f'<div style="padding-left:1.1em">{line}</div>'
        shown = below[:MAX_SIBLINGS] if depth < MAX_DEPTH else []
        inside = []
        for child in shown:
            if self._room <= 0:
                break
            inside.append(self.node(child, depth + 1))
        more = len(below) - len(inside)
        if more:
            inside.append(
                f'<div style="padding-left:1.1em;opacity:.7">… {grouped(more)} more</div>'
            )
        opened = " open" if depth < 2 else ""  # noqa: PLR2004 - the root and what stands below it
        return (
            f"<details{opened}><summary>{line}</summary>"
            f'<div style="padding-left:1.1em">{"".join(inside)}</div></details>'
        )


def _words(node: AbstractSitemap) -> Iterator[str]:
    yield f'<bdi dir="ltr">{escape(shown_url(node.url, 120))}</bdi>'
    kind = KINDS.get(type(node).__name__, "sitemap")
    below = len(node.sub_sitemaps)
    words = [kind]
    if below:
        words.append(counted(below, "sitemap"))
    if isinstance(node, AbstractPagesSitemap) and isinstance(node._pages, list):  # noqa: SLF001 - counting must not read
        words.append(counted(len(node._pages), "page"))  # noqa: SLF001
    yield f'<span style="opacity:.7">{", ".join(words)}</span>'
    if isinstance(node, InvalidSitemap):
        reason = escape(shown_text(node.reason, 120))
        yield f'<span style="color:#c0392b">{reason}</span>'
