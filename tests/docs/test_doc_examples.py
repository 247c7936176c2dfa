"""Every code block of the documentation runs, and does what its page says."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from doc_blocks import READ, REASONS, ROOT, RUN, SHOWN, blocks, pages, reference_pages, written
from doc_runs import ExampleError, reader, run_page
from doc_sites import example_sites
from markdown_it import MarkdownIt

from together import together
from usp.cli.commands import COMMANDS

# Those that may run something, told without making the pages of commands: every worker asks for them.
FENCE = re.compile(rf"^ *```(?:{'|'.join(sorted(RUN | READ))})$", re.MULTILINE)
RUNNING = [
    *(page for page in written() if FENCE.search(page.read_text("utf-8"))),
    *(reference_pages.FOLDER / f"cli/{name}.md" for name in COMMANDS),
]
LONG = {"crawl.md", "fleet.md", "s3.md", "scrapy.md"}  # start crawls in processes of their own


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with example_sites(tmp_path_factory.mktemp("certificate")) as sites:
        yield sites


@pytest.fixture
def run(served, tmp_path):
    """Run a page: yield the blocks of consoles with their text as it is now."""

    def run(page, text):
        served.fill(later=False)
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder, reader(Path(folder), served):
            yield from run_page(page, text, served)

    return run


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.long] * (page.name in LONG))
        for page in dict.fromkeys(RUNNING)
    ],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_the_examples_of_a_page_run(page, run):
    """Output that differs is written by ``python tools/doc_examples.py --write``."""
    for block, now in run(page, pages()[page]):
        assert block.text == now, f"{block.place}: run python tools/doc_examples.py --write"


def test_a_block_is_of_a_known_language_or_says_why_it_is_not_run():
    found = [block for page, text in pages().items() for block in blocks(page, text)]
    assert {block.page for block in found if block.language in RUN | READ} <= set(RUNNING)
    known = RUN | READ | SHOWN | {"run"}
    languages = {block.place: block.language for block in found if block.language not in known}
    wrong = {
        place: name for place, name in languages.items() if not name.startswith("{")
    }  # directives
    assert wrong == {}
    reasons = {block.place: block.not_run for block in found if block.not_run}
    assert {place: why for place, why in reasons.items() if why not in REASONS} == {}


def test_no_code_is_indented_which_nothing_would_run():
    tokens = ((page, token) for page, text in pages().items() for token in MarkdownIt().parse(text))
    assert [(page, one.content) for page, one in tokens if one.type == "code_block"] == []


# The runs themselves ------------------------------------------------------------------------------


PAGE = Path("page.md")


def test_a_page_is_run_as_one_program_and_its_files_as_scripts(run):
    text = """
```python
import usp

count = usp.sitemap_tree_for_homepage("https://example.org/").page_count()
```

```python
# file: show.py
import usp

if __name__ == "__main__":
    print(usp.sitemap_tree_for_homepage("https://example.com/").page_count())
```

```python
assert count == 21
```

```console
$ python show.py
$ usp ls http://127.0.0.1:8017/sitemap-news.xml -f pages
$ usp ls example.org -f pages | grep second
```
"""
    ((_, console),) = run(PAGE, text)
    assert console == (
        "$ python show.py\n21\n$ usp ls http://127.0.0.1:8017/sitemap-news.xml -f pages\n"
        "http://127.0.0.1:8017/news/second-room\nhttp://127.0.0.1:8017/news/harvest\n"
        "$ usp ls example.org -f pages | grep second\nhttps://example.org/news/second-room\n"
    )


FAILING = {
    "```python\nprint(nothing)\n```": r"page.md:\d: NameError",
    "```sh\nusp check example.org\n```": "ended with 1, not 0",
    "<!-- exit status 0, 1 -->\n```sh\nusp rule SM401\nusp rule SM402\n```": "ended with 0, not 1",
    "```console\n$ usp tree nowhere.example -q\n```": "ended with 1",
    "```sh\nfalse | true\n```": "ended with 1, not 0",
    "```toml\na = \n```": r"page.md:\d: TOMLDecodeError",
    "```sql\n-- DuckDB\nselect nothing;\n```": r"page.md:\d: BinderException",
}


@together("block, message", FAILING.items())
def test_an_example_that_fails_is_reported_with_its_place(run, block, message):
    with pytest.raises(ExampleError, match=message):
        list(run(PAGE, block))


def test_what_is_not_run_has_no_effect_and_a_day_passes(run):
    text = """
<!-- not run: takes minutes -->
```python
raise SystemExit
```

<!-- run: usp snapshot example.org -o site.warc.gz -->
<!-- a day later -->
<!-- exit status 1 -->
```console
$ usp diff site.warc.gz example.org 2>/dev/null
```
"""
    ((_, console),) = run(PAGE, text)
    assert "+ https://example.org/news/tea-fair  2025-05-15" in console
