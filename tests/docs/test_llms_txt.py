"""``llms.txt`` leads language models to every page of the documentation."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
LLMS = runpy.run_path(str(DOCS / "_ext" / "llms.py"))


def test_it_has_the_form_of_the_convention_and_every_page_once_with_its_title():
    """A title, a summary in a quote, and sections of links with notes."""
    title, empty, summary, *rest = LLMS["text"]().splitlines()
    assert (title[:2], empty, summary[:2]) == ("# ", "", "> ")
    form = re.compile(r"|## .+|- \[([^]]+)\]\(([\w/.-]+\.md)\): .+\.")
    found = [form.fullmatch(line) for line in rest]
    assert [line for line, match in zip(rest, found, strict=True) if match is None] == []
    pages = {page.relative_to(DOCS).as_posix(): page for page in DOCS.rglob("*.md")}
    del pages["index.md"]
    listed = sorted((match[2], match[1]) for match in found if match and match[2])
    assert listed == sorted((name, LLMS["described"](page)[0]) for name, page in pages.items())
