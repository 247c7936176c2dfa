"""Lets pages be written for a reader of the repository and built for a reader of the site."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.util.matching import patfilter

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

_LINK = re.compile(r"\[([^\]\n]+)\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")
_API = re.compile(r"\[`([^`]+)`\]\([\w./-]*\.md#(usp[\w.]+)\)")  # a name, on the page of its module
_CONTENTS = re.compile(
    r"^```\{toctree\}\n(?P<options>(?::.*\n)*)\n(?P<names>[^`]*)^```$", re.MULTILINE
)


def setup(app: Sphinx) -> dict[str, bool]:
    """Read pages through this module."""
    app.connect("source-read", _read)
    app.connect("missing-reference", _find)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    if _CONTENTS.search(source[0]):
        app.env.note_reread()  # for pages that are new
    source[0] = _expand_contents(source[0], docname, sorted(app.env.found_docs))
    source[0] = _API.sub(r"{py:obj}`\1 <\2>`", source[0])
    source[0] = _unlink_outside(source[0], Path(app.env.doc2path(docname)), Path(app.srcdir))


def _expand_contents(text: str, docname: str, found: list[str]) -> str:
    """Return contents with the names of pages for patterns: in order, each page once."""
    listed = {docname}

    def expand(match: re.Match[str]) -> str:
        folder = posixpath.dirname(docname)
        patterns = [posixpath.join(folder, pattern) for pattern in match["names"].split()]
        names = dict.fromkeys(
            name for pattern in patterns for name in patfilter(found, pattern) if name not in listed
        )
        listed.update(names)
        lines = "\n".join(f"/{name}" for name in names)
        return f"```{{toctree}}\n{match['options']}\n{lines}\n```"

    return _CONTENTS.sub(expand, text)


def _unlink_outside(text: str, page: Path, docs: Path) -> str:
    """Return text in which links to files of the repository that are not on the site are plain text."""

    def keep(match: re.Match[str]) -> str:
        target = (page.parent / match[2]).resolve()
        return match[0] if target.is_relative_to(docs) else match[1]

    return _LINK.sub(keep, text)


def _find(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.Element | None:
    """Find a name of the API that is written as it can be imported, or as it is defined."""
    if node["refdomain"] != "py":
        return None
    name = node["reftarget"].rpartition(".")[2]
    domain = env.get_domain("py")
    found = [full for full, *_ in domain.get_objects() if full.rpartition(".")[2] == name]
    if len(found) != 1 or not node["reftarget"].startswith("usp"):
        return None
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", found[0], node, content)
