"""Every code block of the documentation runs, and does what its page says."""

from __future__ import annotations

import pytest
from doc_blocks import READ, REASONS, ROOT, RUN, SHOWN, blocks, pages
from doc_runs import ExampleError, reader, run_page
from doc_sites import example_sites
from markdown_it import MarkdownIt

PAGES = pages()
RUNNING = [
    page
    for page, text in PAGES.items()
    if any(block.language in RUN | READ and not block.not_run for block in blocks(page, text))
]


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(page, tmp_path):
    """Output that differs is written by ``python tools/doc_examples.py --write``."""
    folder = tmp_path / "home"
    folder.mkdir()
    with example_sites(tmp_path) as sites, reader(folder, sites):
        for block, now in run_page(page, PAGES[page], sites):
            assert block.text == now, f"{block.place}: run python tools/doc_examples.py --write"


def test_a_block_is_of_a_known_language_or_says_why_it_is_not_run():
    found = [block for page, text in PAGES.items() for block in blocks(page, text)]
    known = RUN | READ | SHOWN | {"run"}
    languages = {block.place: block.language for block in found if block.language not in known}
    wrong = {
        place: name for place, name in languages.items() if not name.startswith("{")
    }  # directives
    assert wrong == {}
    reasons = {block.place: block.not_run for block in found if block.not_run}
    assert {place: why for place, why in reasons.items() if why not in REASONS} == {}


def test_every_block_of_code_is_found():
    """Neither code that is indented, which nothing would run, nor a fence that is read otherwise."""
    wrong = []
    for page, text in PAGES.items():
        tokens = MarkdownIt().parse(text)
        wrong += [(page, token.content) for token in tokens if token.type == "code_block"]
        fences = [token.content for token in tokens if token.type == "fence"]
        if fences != [block.text for block in blocks(page, text) if block.language != "run"]:
            wrong.append((page, "its fences"))
    assert wrong == []


# The runs themselves ------------------------------------------------------------------------------


def results(tmp_path, text):
    page = tmp_path / "page.md"
    folder = tmp_path / "home"
    folder.mkdir()
    with example_sites(tmp_path) as sites, reader(folder, sites):
        return [now for _, now in run_page(page, text, sites)]


def test_a_page_is_run_as_one_program_and_its_files_as_scripts(tmp_path):
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
    (console,) = results(tmp_path, text)
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


def test_an_example_that_fails_is_reported_with_its_place(tmp_path):
    for number, (block, message) in enumerate(FAILING.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(ExampleError, match=message):
            results(folder, block)


def test_what_is_not_run_has_no_effect_and_a_day_passes(tmp_path):
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
    (console,) = results(tmp_path, text)
    assert "+ https://example.org/news/tea-fair\n" in console
