"""What the explanations list is what the library has."""

import re
import runpy
import shlex

from doc_blocks import ROOT, blocks

from cases import cases
from usp._crawl.website import KNOWN_SITEMAP_PATHS
from usp._store import MEMORY, SMALL
from usp.cli.commands.cmd_ls import LINES, TABLES
from usp.objects.failure_codes import FailureCode


def test_the_known_paths_are_listed_in_their_order():
    page = ROOT / "docs" / "process.md"
    listed = [block.text.split() for block in blocks(page, page.read_text("utf-8"))]
    assert list(KNOWN_SITEMAP_PATHS) in listed


def test_every_failure_has_something_to_do_where_a_site_yields_nothing():
    guide = (ROOT / "docs" / "guides" / "nothing.md").read_text("utf-8")
    missing = [
        code.value
        for code in FailureCode
        if f"[`{code.value}`]" not in guide and not code.value.startswith("limit-")
    ]
    assert missing == []


def rows(page: str) -> list[list[str]]:
    """Return the rows of all tables of a page."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    return [
        [cell.strip() for cell in row.split("|")]
        for row in re.findall(r"^\|(.*)\|$", text, re.MULTILINE)
    ]


def test_the_figures_of_documents_are_those_that_were_measured():
    """They are repeated where they explain something."""
    measured = {row[0]: row for row in reversed(rows("performance.md")) if row[1:2] == ["usp"]}
    said = dict(row for row in rows("documents.md") if len(row) == 2)
    for pages in ("10,000", "100,000", "1,000,000", "10,000,000"):
        assert said[pages] == f"{measured[f'growth: {pages} URLs'][5]} MiB"
    cases = [
        "plain: every url",
        "plain: url and three fields",
        "rich: every url",
        "rich: every field",
    ]
    seconds = [text for text in said.values() if re.fullmatch(r"[\d.]+ s", text)]
    assert seconds == [f"{float(measured[case][4]):.1f} s" for case in cases]


def test_what_documents_says_about_memory_is_what_the_store_does():
    text = (ROOT / "docs" / "documents.md").read_text("utf-8")
    assert f"at most {SMALL >> 10} KiB" in text
    assert f"less than {MEMORY >> 20} MiB" in text


def test_llms_txt_has_the_form_of_the_convention_and_every_page_once_with_its_title():
    """A title, a summary in a quote, and sections of links with notes."""
    docs = ROOT / "docs"
    llms = runpy.run_path(str(docs / "_ext" / "llms.py"))
    title, empty, summary, *rest = llms["text"]().splitlines()
    assert (title[:2], empty, summary[:2]) == ("# ", "", "> ")
    form = re.compile(r"|## .+|- \[([^]]+)\]\(([\w/.-]+\.md)\): .+\.")
    found = [form.fullmatch(line) for line in rest]
    assert [line for line, match in zip(rest, found, strict=True) if match is None] == []
    pages = {page.relative_to(docs).as_posix(): page for page in docs.rglob("*.md")}
    del pages["index.md"]
    listed = sorted((match[2], match[1]) for match in found if match and match[2])
    assert listed == sorted((name, llms["described"](page)[0]) for name, page in pages.items())


def test_every_output_format_is_documented():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")]
    text = "".join(page.read_text("utf-8") for page in pages)
    for output in cases([*LINES, *TABLES]):
        assert f"`{output}`" in text


def test_the_two_commands_stand_in_blocks_of_one_line():
    """The continuous integration takes them from there, word for word."""
    readme = ROOT / "README.md"
    texts = [block.text for block in blocks(readme, readme.read_text("utf-8"))]
    lines = [text.strip() for text in texts if text.count("\n") == 1]
    for end in ("usp demo", "pytest"):
        found = [line for line in lines if line.startswith("python3 -m venv") and end in line]
        assert len(found) == 1, end
        assert shlex.split(found[0])


def test_every_file_that_the_docs_name_is_there():
    for path in cases(sorted((ROOT / "docs").glob("**/*.md"))):
        for name in re.findall(r"`((?:src/usp|usp|tests|docs)/[\w./-]+)`", path.read_text("utf-8")):
            place = ROOT / "src" / name if name.startswith("usp/") else ROOT / name
            assert place.exists(), name
