"""``docs/llms.txt`` leads language models to every page of the documentation."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
LLMS = runpy.run_path(str(DOCS / "_ext" / "llms.py"))
TEXT = (DOCS / "llms.txt").read_text("utf-8")


def test_it_has_the_form_of_the_convention():
    """A title, a summary in a quote, and sections of links with notes."""
    title, empty, summary, *rest = TEXT.splitlines()
    assert title.startswith("# ")
    assert empty == ""
    assert summary.startswith("> ")
    form = re.compile(r"|## .+|- \[[^]]+\]\([\w/.-]+\.md\): .+\.")
    assert [line for line in rest if not form.fullmatch(line)] == []


def test_it_lists_every_page_once_with_its_title():
    """``python docs/_ext/llms.py`` writes it."""
    listed = re.findall(r"^- \[(.+)\]\((.+)\): ", TEXT, re.MULTILINE)
    pages = {page.relative_to(DOCS).as_posix(): page for page in DOCS.rglob("*.md")}
    del pages["index.md"]
    assert sorted(name for _, name in listed) == sorted(pages)
    assert {name: title for title, name in listed} == {
        name: LLMS["described"](page)[0] for name, page in pages.items()
    }
