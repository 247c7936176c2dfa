"""The sitemap tree as a diagram: square boxes for indexes, rounded ones for page sitemaps.

Each box shows the number of pages in the sitemap, or in all sitemaps below it.

Graphviz DOT and Mermaid are text; SVG needs Graphviz to be installed.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from usp._base.display import counted, grouped
from usp._base.urls import url_parts
from usp.exceptions import SitemapException
from usp.objects.abstract_sitemap import walk
from usp.objects.sitemap import (
    AbstractPagesSitemap,
    AbstractSitemap,
    IndexWebsiteSitemap,
    InvalidSitemap,
    state_of,
)

__all__ = ["dot", "mermaid", "svg"]

MOST_SIBLINGS = 20
"""How many children of a sitemap are drawn; the others share one box after them."""

_MAX_LABEL = 60
_TIME = 120.0  # seconds for Graphviz


@dataclass(frozen=True, slots=True)
class _Box:
    name: str
    above: str | None
    label: tuple[str, ...]  # lines
    kind: str  # index, pages, failed, more


def dot(tree: AbstractSitemap, *, most_siblings: int = MOST_SIBLINGS) -> str:
    """Return the tree as a graph in the DOT language of Graphviz."""
    lines = [
        "digraph sitemaps {",
        "  rankdir=LR;",
        "  ordering=out;",  # children are drawn in the order of declaration
        '  node [fontname="Helvetica", fontsize=11, margin="0.15,0.08"];',
        '  edge [arrowsize=0.6, color="#777777"];',
    ]
    for box in _boxes(tree, most_siblings):
        lines.append(f'  {box.name} [label="{_quoted(box.label)}", {_DOT[box.kind]}];')
        if box.above is not None:
            lines.append(f"  {box.above} -> {box.name};")
    return "\n".join([*lines, "}", ""])


_DOT = {
    "index": "shape=box",
    "pages": "shape=box, style=rounded",
    "failed": 'shape=box, style=dashed, color="#b00020", fontcolor="#b00020"',
    "more": "shape=plaintext",
}


def mermaid(tree: AbstractSitemap, *, most_siblings: int = MOST_SIBLINGS) -> str:
    """Return the tree as a Mermaid flowchart."""
    lines = ["flowchart LR"]
    boxes = list(_boxes(tree, most_siblings))
    for box in boxes:
        opening, closing = "()" if box.kind == "pages" else "[]"
        lines.append(f'  {box.name}{opening}"{_entities(box.label)}"{closing}')
        if box.above is not None:
            lines.append(f"  {box.above} --> {box.name}")
    for kind, style in _STYLES.items():
        if names := [box.name for box in boxes if box.kind == kind]:
            lines += [f"  classDef {kind} {style}", f"  class {','.join(names)} {kind}"]
    return "\n".join([*lines, ""])


_STYLES = {
    "more": "stroke:none,fill:none",
    "failed": "stroke:#b00020,color:#b00020,stroke-dasharray:4",
}


def svg(tree: AbstractSitemap, *, most_siblings: int = MOST_SIBLINGS) -> str:
    """Return the tree as SVG, drawn by Graphviz.

    Raises ``SitemapException`` if Graphviz is not installed, or cannot draw it.
    """
    program = shutil.which("dot")
    if program is None:
        raise SitemapException(
            "Graphviz is not installed, but SVG needs it: install it (apt-get install graphviz, "
            "brew install graphviz), or use the formats dot or mermaid"
        )
    source = dot(tree, most_siblings=most_siblings).encode()
    try:
        done = subprocess.run(  # noqa: S603 - the program was looked up, its input is the graph
            [program, "-Tsvg"], input=source, capture_output=True, timeout=_TIME, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise SitemapException(
            f"Graphviz took more than {_TIME:g} seconds; draw fewer siblings"
        ) from error
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip()
        raise SitemapException(f"Graphviz cannot draw the tree: {message}")
    return done.stdout.decode()


def _boxes(tree: AbstractSitemap, most: int) -> Iterator[_Box]:
    """Yield the boxes depth first, each after its parent and its earlier siblings."""
    pages = _page_counts(tree)
    number = count()
    waiting: list[tuple[AbstractSitemap | _Box, str | None]] = [(tree, None)]
    while waiting:
        node, above = waiting.pop()
        if isinstance(node, _Box):
            yield node
            continue
        name = f"n{next(number)}"
        yield _box(node, name, above, pages[id(node)])
        children = node.sub_sitemaps
        rest = children[most:]
        if rest:
            held = counted(sum(pages[id(child)] for child in rest), "page")
            failed = sum(isinstance(child, InvalidSitemap) for child in rest)
            lost = f", {grouped(failed)} failed" if failed else ""
            more = (f"… {grouped(len(rest))} more", f"{held}{lost}")
            waiting.append((_Box(f"{name}more", name, more, "more"), name))
        waiting.extend((child, name) for child in reversed(children[:most]))


def _page_counts(tree: AbstractSitemap) -> dict[int, int]:
    """Return the number of pages in and below each sitemap; every document is read once."""
    counts: dict[int, int] = {}
    for node in reversed([*walk(tree)]):  # children come before their parents
        below = node.sub_sitemaps
        if id(node) not in counts:
            counts[id(node)] = sum(counts[id(c)] for c in below) if below else node.page_count()
    return counts


def _box(node: AbstractSitemap, name: str, above: str | None, pages: int) -> _Box:
    """Return the box of a sitemap, with its path, or of a website, with its host."""
    state, _ = state_of(node)
    parts = url_parts(node.url)
    path = parts.path.lstrip("/") + (f"?{parts.query}" if parts.query else "")
    label = path if path and above is not None else f"{parts.netloc}/{path}"
    if isinstance(node, IndexWebsiteSitemap):
        label = parts.netloc or node.url
    if isinstance(node, InvalidSitemap):
        return _Box(name, above, (_short(label), state or ""), "failed")
    held = counted(pages, "page")
    kind = "pages" if isinstance(node, AbstractPagesSitemap) else "index"
    return _Box(name, above, (_short(label), f"{held}, {state}" if state else held), kind)


def _short(text: str) -> str:
    text = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    if len(text) <= _MAX_LABEL:
        return text
    half = _MAX_LABEL // 2
    return f"{text[:half]}…{text[-half:]}"


def _quoted(lines: tuple[str, ...]) -> str:
    return "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)


def _entities(lines: tuple[str, ...]) -> str:
    """Return lines with the characters that are special in Mermaid as numeric entities."""
    return "<br>".join(
        "".join(char if char.isalnum() or char in " /.-_…," else f"#{ord(char)};" for char in line)
        for line in lines
    )
