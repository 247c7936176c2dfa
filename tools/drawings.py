"""Drawings by Graphviz that read well on light and dark pages, and load nothing."""

# ruff: noqa: INP001 - part of a script
from __future__ import annotations

import subprocess

FONTS = 'system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, "DejaVu Sans", sans-serif'
_STYLE = """
  .paper { fill: #fff }
  polygon[fill="white"] { fill: none }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #161b22 }
    text:not([fill]) { fill: #e6edf3 }
    [stroke="black"] { stroke: #9aa7b4 }
    text[fill="#b00020"] { fill: #ff8a80 }
    [stroke="#b00020"] { stroke: #ff8a80 }
  }
"""


def drawn(dot: str) -> str:
    """Return what Graphviz draws, as SVG."""
    command = ["dot", "-Tsvg"]
    return subprocess.run(command, input=dot, capture_output=True, text=True, check=True).stdout  # noqa: S603


def on_paper(svg: str, style: str = _STYLE) -> str:
    """Return a drawing with a background of its own and a style, as one element."""
    svg = svg[svg.index("<svg") :]
    end = svg.index(">") + 1
    style = f"\n  text {{ font-family: {FONTS} }}{style}"
    paper = '<rect class="paper" width="100%" height="100%" rx="8"/>'
    return f"{svg[:end]}\n<style>{style}</style>\n{paper}{svg[end:]}"
