"""The pages of the documentation for language models, as https://llmstxt.org proposes: ``llms.txt``.

Title and summary are those of ``index.md``, the sections its tables of contents. A page is described
by its first sentence. The site has the file at its top, and its pages as Markdown, to which it links.
"""

from __future__ import annotations

import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

DOCS = Path(__file__).parents[1]
NAME = "llms.txt"

_CONTENTS = re.compile(r"^```\{toctree\}\n:caption: (.+)\n(?::.*\n)*\n([^`]*)^```$", re.MULTILINE)
_SENTENCE = re.compile(r"(.+?)[.:](?=\s|\Z)", re.DOTALL)


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the file, and the Markdown of the pages, into the site."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.name == "html":
        top = Path(app.outdir)
        for pages in sections().values():
            for page in pages:
                target = top / page.relative_to(DOCS)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(page, target)
        (top / NAME).write_text(text(), encoding="utf-8")


def text() -> str:
    """Return the file."""
    return "\n".join(_lines())


def sections() -> dict[str, list[Path]]:
    """Return the pages of each section, in the order of the tables of contents, each once."""
    found: dict[str, list[Path]] = {}
    listed = {DOCS / "index.md"}
    for caption, entries in _CONTENTS.findall((DOCS / "index.md").read_text("utf-8")):
        globs = (entry if entry.endswith("*") else f"{entry}.md" for entry in entries.split())
        pages = [page for glob in globs for page in sorted(DOCS.glob(glob)) if page.suffix == ".md"]
        pages = [one for page in pages for one in (page, *_below(page))]
        found[caption] = [page for page in dict.fromkeys(pages) if page not in listed]
        listed.update(pages)
    return found


def _below(page: Path) -> list[Path]:
    """Return the pages that belong to one: those of its folder, or of the folder of its name."""
    if page == DOCS / "index.md":
        return []
    return sorted((page.parent if page.name == "index.md" else page.with_suffix("")).glob("*.md"))


def described(page: Path) -> tuple[str, str]:
    """Return the title of a page and its first paragraph, without markup."""
    tokens = MarkdownIt().enable("table").parse(page.read_text("utf-8"))
    texts: dict[str, str] = {}
    for opening, token in pairwise(tokens):
        if token.type == "inline":
            parts = (
                " " if one.type == "softbreak" else one.content for one in token.children or ()
            )
            texts.setdefault(opening.type, "".join(parts))
    return texts["heading_open"], texts["paragraph_open"]


def _lines() -> Iterator[str]:
    title, summary = described(DOCS / "index.md")
    yield from (f"# {title}", "", f"> {summary}")
    for caption, pages in sections().items():
        yield from ("", f"## {caption}", "")
        for page in pages:
            title, paragraph = described(page)
            sentence = _SENTENCE.match(paragraph)
            first = sentence[1] if sentence else paragraph.rstrip(".")
            yield f"- [{title}]({page.relative_to(DOCS).as_posix()}): {first}."
    yield ""
