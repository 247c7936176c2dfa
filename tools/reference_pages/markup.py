"""Text as Markdown shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def escaped(text: str) -> str:
    """Return text as Markdown shows it, tags included; ``names`` are shown as code."""
    pieces = enumerate(text.split("``"))
    return "".join(f"`{piece}`" if at % 2 else _escaped(piece) for at, piece in pieces)


def _escaped(text: str) -> str:
    for mark in "\\<>[]*_|":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("&", "&amp;")


def table(head: str, rows: Iterable[Iterable[str]]) -> str:
    """Return a table; ``head`` has the titles of its columns, with ``|`` between them."""
    lines = [f"| {head} |", f"|{'---|' * (head.count('|') + 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])
