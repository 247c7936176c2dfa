"""The sitemap tree as a diagram: square boxes for indexes, rounded ones for page sitemaps.

Graphviz DOT and Mermaid are text; SVG is drawn by Graphviz, where that is installed.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from usp.exceptions import SitemapException
from usp.objects.sitemap import AbstractPagesSitemap, IndexWebsiteSitemap, InvalidSitemap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.objects.sitemap import AbstractSitemap

__all__ = ["dot", "mermaid", "svg"]

MOST_SIBLINGS = 20
"""Of more sitemaps below one, only the first are drawn, and the rest as one box."""

_MAX_LABEL = 60
_TIME = 120.0  # seconds for Graphviz


@dataclass(frozen=True, slots=True)
class _Box:
    """A box and the box above it."""

    name: str
    above: str | None
    label: str
    kind: str  # index, pages, failed, more


def dot(tree: AbstractSitemap, *, most_siblings: int = MOST_SIBLINGS) -> str:
    """Give the tree as a graph in Graphviz' language."""
    lines = [
        "digraph sitemaps {",
        "  rankdir=LR;",
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
    """Give the tree as a Mermaid flowchart."""
    lines = ["flowchart LR"]
    failed = []
    for box in _boxes(tree, most_siblings):
        opening, closing = _MERMAID[box.kind]
        lines.append(f'  {box.name}{opening}"{_entities(box.label)}"{closing}')
        if box.above is not None:
            lines.append(f"  {box.above} --> {box.name}")
        if box.kind == "failed":
            failed.append(box.name)
    if failed:
        lines.append("  classDef failed stroke:#b00020,color:#b00020,stroke-dasharray:4")
        lines.append(f"  class {','.join(failed)} failed")
    return "\n".join([*lines, ""])


_MERMAID = {"index": ("[", "]"), "pages": ("(", ")"), "failed": ("[", "]"), "more": ("[", "]")}


def svg(tree: AbstractSitemap, *, most_siblings: int = MOST_SIBLINGS) -> str:
    """Draw the tree with Graphviz.

    Raises ``SitemapException`` if Graphviz is not installed, or cannot draw it.
    """
    program = shutil.which("dot")
    if program is None:
        raise SitemapException(
            "Graphviz is not installed, which draws SVG: install it (apt-get install graphviz, "
            "brew install graphviz), or take dot or mermaid, which are text"
        )
    source = dot(tree, most_siblings=most_siblings).encode()
    try:
        done = subprocess.run(  # noqa: S603 - the program was looked up, its input is the graph
            [program, "-Tsvg"], input=source, capture_output=True, timeout=_TIME, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise SitemapException(
            f"Graphviz needs more than {_TIME:g} seconds; draw fewer siblings"
        ) from error
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip()
        raise SitemapException(f"Graphviz cannot draw the tree: {message}")
    return done.stdout.decode()


def _boxes(tree: AbstractSitemap, most: int) -> Iterator[_Box]:
    """Give the boxes from the top down; each comes after the one above it."""
    count = 0
    waiting: list[tuple[AbstractSitemap, str | None]] = [(tree, None)]
    while waiting:
        node, above = waiting.pop()
        name = f"n{count}"
        count += 1
        yield _Box(name, above, _label(node, top=above is None), _kind(node))
        children = node.sub_sitemaps
        waiting.extend((child, name) for child in reversed(children[:most]))
        if len(children) > most:
            label = f"… {len(children) - most:,} more"
            yield _Box(f"{name}more", name, label, "more")


def _kind(node: AbstractSitemap) -> str:
    if isinstance(node, InvalidSitemap):
        return "failed"
    return "pages" if isinstance(node, AbstractPagesSitemap) else "index"


def _label(node: AbstractSitemap, *, top: bool) -> str:
    """Give the path of a sitemap, of the website its host."""
    try:
        parts = urlsplit(node.url)
    except ValueError:
        return _short(node.url)
    if isinstance(node, IndexWebsiteSitemap):
        return _short(parts.netloc or node.url)
    path = parts.path.lstrip("/") + (f"?{parts.query}" if parts.query else "")
    return _short(f"{parts.netloc}/{path}" if top or not path else path)


def _short(text: str) -> str:
    text = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    if len(text) <= _MAX_LABEL:
        return text
    half = _MAX_LABEL // 2
    return f"{text[:half]}…{text[-half:]}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _entities(text: str) -> str:
    """Write what Mermaid would take for its own as numbers."""
    return "".join(
        char if char.isalnum() or char in " /.-_…" else f"#{ord(char)};" for char in text
    )
