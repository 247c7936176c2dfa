"""Lets pages be written for a reader of the repository and built for a reader of the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.util.matching import patfilter

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_LINK = re.compile(r"\[([^\]\n]+)\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")
_CONTENTS = re.compile(
    r"^```\{toctree\}\n(?P<options>(?::.*\n)*)\n(?P<names>[^`]*)^```$", re.MULTILINE
)


def setup(app: Sphinx) -> dict[str, bool]:
    """Read pages through this module."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    if _CONTENTS.search(source[0]):
        app.env.note_reread()  # for pages that are new
    source[0] = _expand_contents(source[0], sorted(app.env.found_docs))
    source[0] = _unlink_outside(source[0], Path(app.env.doc2path(docname)), Path(app.srcdir))


def _expand_contents(text: str, found: list[str]) -> str:
    """Return contents with the names of pages for patterns: in order, each page once."""
    listed = {"index"}

    def expand(match: re.Match[str]) -> str:
        patterns = match["names"].split()
        names = dict.fromkeys(
            name for pattern in patterns for name in patfilter(found, pattern) if name not in listed
        )
        listed.update(names)
        return f"```{{toctree}}\n{match['options']}\n" + "\n".join(names) + "\n```"

    return _CONTENTS.sub(expand, text)


def _unlink_outside(text: str, page: Path, docs: Path) -> str:
    """Return text in which links to files of the repository that are not on the site are plain text."""

    def keep(match: re.Match[str]) -> str:
        target = (page.parent / match[2]).resolve()
        return match[0] if target.is_relative_to(docs) else match[1]

    return _LINK.sub(keep, text)
