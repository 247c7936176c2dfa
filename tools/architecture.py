"""The architecture as a picture: the layers that ``tests/test_layers.py`` checks, and their imports."""

# ruff: noqa: INP001 - part of a script
from __future__ import annotations

import runpy
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drawings import drawn, on_paper

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
STAGES = ("discover", "fetch", "store", "decode", "parse", "tree", "out")
LEAVES = "leaves"

# What a box says below its name, and the stages of a document's way that it is.
BOXES: dict[str, tuple[str, str]] = {
    "cli": ("the commands", "out"),
    "mcp": ("for agents", "out"),
    "export": ("tables, files", "out"),
    "report": ("an HTML page", "out"),
    "graph": ("diagrams", "out"),
    "checks": ("what is wrong", "out"),
    "changes": ("what changed", "out"),
    "fleet": ("many sites", "out"),
    "contrib": ("for Scrapy", "out"),
    "tree": ("a tree", "tree"),
    "aio": ("on asyncio", "tree"),
    "stream": ("page by page", "tree"),
    "fetch_parse": ("one sitemap", "tree"),
    "snapshot": ("a recorded site", "tree"),
    "_inputs": ("what a user names", "tree"),
    "_crawl": ("decides what is fetched next, drives it", "discover"),
    "_snapshot": ("a crawl in a WARC file", "store"),
    "web_client": ("HTTP clients", "fetch"),
    "_http": ("requests, redirects, failures", "fetch"),
    "_store": ("documents as received", "store"),
    "_formats": ("decompress, decode, recognise, parse", "decode parse"),
    "_content": ("pages, counted", "out"),
    "selection": ("filters", "out"),
    "matching": ("the best pages", "out"),
    "objects": ("nodes, pages and their values", "tree"),
    LEAVES: ("URLs, dates, limits, options, events, exceptions", ""),
}
HIDDEN = {"_demo", "__main__"}  # not a part of any way: a website, a start

_COLORS = {  # light: fill and line; dark: fill and line
    "discover": ("#fdeccf", "#b7791f", "#4a3510", "#e0a63f"),
    "fetch": ("#fde2dc", "#c2553d", "#4f241a", "#f08a73"),
    "store": ("#f5e1f2", "#a0468f", "#45203e", "#d98acb"),
    "decode": ("#e6e4fb", "#5b52c4", "#2a2658", "#9d96f2"),
    "parse": ("#e6e4fb", "#5b52c4", "#2a2658", "#9d96f2"),
    "tree": ("#d9f0df", "#2f855a", "#173d28", "#6cc493"),
    "out": ("#dcebfc", "#2b6cb0", "#16304f", "#75aef0"),
    "": ("#eef1f4", "#7a8794", "#262d35", "#8b98a5"),
}


def layers() -> list[list[str]]:
    """Return the boxes of each layer, from the top down."""
    checked = _checked()["LAYERS"]
    rows = [[name for name in names if name not in HIDDEN] for names in checked[:-1]]
    return [*rows, [LEAVES]]


def _checked() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tests" / "test_layers.py"))


def _imports(rows: list[list[str]]) -> dict[str, set[str]]:
    """Return which boxes of lower layers each box imports, without what others of them import."""
    checked = _checked()
    depth = {name: at for at, names in enumerate(rows) for name in names}
    known = [name for names in checked["LAYERS"] for name in names]

    def box(module: str) -> str | None:
        fits = [name for name in known if module == name or module.startswith(f"{name}.")]
        name = max(fits, key=len, default="")
        if name in HIDDEN:
            return None
        return name if name in depth else LEAVES

    found: dict[str, set[str]] = {name: set() for name in depth}
    for module in checked["BY_NAME"]:
        above = box(module)
        for name, _ in checked["imports"](module):
            below = box(name.removeprefix("usp").removeprefix("."))
            if above and below and depth[above] < depth[below]:
                found[above].add(below)
    reached = {name: set[str]() for name in depth}
    for name in sorted(depth, key=lambda name: -depth[name]):
        for below in found[name]:
            reached[name] |= {below} | reached[below]
    return {
        name: {one for one in below if not any(one in reached[other] for other in below)}
        for name, below in found.items()
    }


def boxes() -> str:
    """Return the boxes in the language of Graphviz, a row for each layer."""
    return "\n".join(_rows(layers()))


def _rows(rows: list[list[str]]) -> Iterator[str]:
    for at, names in enumerate(rows):
        ranked = "; ".join(f'"{name}"' for name in names)
        yield f"  {{ rank=same; {ranked} }}  // layer {at + 1}"
    for names in rows:
        for name in names:
            what, stages = BOXES.get(name, ("", ""))
            title = "usp/_base and other leaves" if name == LEAVES else f"usp/{name}"
            kind = stages.split()[0] if stages else "leaf"
            small = f'<br/><font point-size="11">{escape(what)}</font>' if what else ""
            steps = "".join(f" {STAGES.index(stage) + 1}" for stage in stages.split())
            mark = f'<font point-size="10">{steps.strip()}  </font>' if steps else ""
            yield f'  "{name}" [class="{kind}" label=<{mark}<b>{title}</b>{small}>]'
    for above, below in pairwise(rows):
        yield f'  "{above[0]}" -> "{below[0]}" [style=invis]'


def dot() -> str:
    """Return the picture in the language of Graphviz."""
    rows = layers()
    edges = [
        f'  "{above}" -> "{one}"'
        for above, below in _imports(rows).items()
        for one in sorted(below)
    ]
    way = [
        f'  "{at}" [class="{stage}" label="{at + 1} {stage}" shape=box style="rounded,filled"]'
        for at, stage in enumerate(STAGES)
    ]
    strip = " -> ".join(f'"{at}"' for at in range(len(STAGES)))
    return "\n".join(
        [
            "digraph usp {",
            "  bgcolor=transparent; rankdir=TB; nodesep=0.18; ranksep=0.42; pad=0.2; splines=true",
            '  node [shape=box style="rounded,filled" height=0.5 margin="0.13,0.06"]',
            '  node [fontname="Helvetica" fontsize=13]',
            '  edge [arrowsize=0.6 class="import"]',
            f'  {{ rank=same; {strip} [class="way" penwidth=1.6] }}',
            *way,
            f'  "3" -> "{rows[0][0]}" [style=invis]',
            *_rows(rows),
            *edges,
            "}",
            "",
        ]
    )


def svg() -> str:
    """Return the picture, drawn by Graphviz, in the colours of the reader."""
    return on_paper(drawn(dot()), _style())


def _style() -> str:
    def rules(fill: int, line: int) -> Iterator[str]:
        for stage, colors in _COLORS.items():
            kind = stage or "leaf"
            yield f"  .{kind} path, .{kind} polygon {{ fill: {colors[fill]}; stroke: {colors[line]} }}"

    light = "\n".join(rules(0, 1))
    dark = "\n".join(rules(2, 3))
    return f"""
  text {{ fill: #1c2733 }}
  .paper {{ fill: #fff }}
  .edge path {{ stroke: #8a97a6 }} .edge polygon {{ fill: #8a97a6; stroke: #8a97a6 }}
{light}
  @media (prefers-color-scheme: dark) {{
  text {{ fill: #e6edf3 }} .paper {{ fill: #161b22 }}
{dark}
  }}
"""
