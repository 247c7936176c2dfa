"""Every code block of the documentation runs, and does what its page says."""

from __future__ import annotations

import pytest
from doc_blocks import READ, REASONS, ROOT, RUN, SHOWN, blocks, pages
from doc_runs import ExampleError, reader, run_page
from doc_sites import example_sites
from markdown_it import MarkdownIt

PAGES = pages()


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_examples_of_a_page_run(page, tmp_path):
    """Output that differs is written by ``python tools/doc_examples.py --write``."""
    folder = tmp_path / "home"
    folder.mkdir()
    with example_sites(tmp_path) as sites, reader(folder, sites):
        for block, now in run_page(page, sites):
            assert block.text == now, f"{block.place}: run python tools/doc_examples.py --write"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_block_is_of_a_known_language_or_says_why_it_is_not_run(page):
    for block in blocks(page):
        if not block.language.startswith("{"):  # a directive of the site
            known = RUN | READ | SHOWN | {"run"}
            assert block.language in known, f"{block.place}: {block.language!r}"
        if block.not_run is not None:
            assert block.not_run in REASONS, f"{block.place}: choose from {sorted(REASONS)}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_code_is_found(page):
    """Neither code that is indented, which nothing would run, nor a fence that is read otherwise."""
    tokens = MarkdownIt().parse(page.read_text("utf-8"))
    assert [token.content for token in tokens if token.type == "code_block"] == []
    fences = [token.content for token in tokens if token.type == "fence"]
    assert fences == [block.text for block in blocks(page) if block.language != "run"]


# The runs themselves ------------------------------------------------------------------------------


def results(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text, "utf-8")
    folder = tmp_path / "home"
    folder.mkdir()
    with example_sites(tmp_path) as sites, reader(folder, sites):
        return [now for _, now in run_page(page, sites)]


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


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("```python\nprint(nothing)\n```", r"page.md:\d: NameError"),
        ("```sh\nusp check example.org\n```", "ended with 1, not 0"),
        (
            "<!-- exit status 0, 1 -->\n```sh\nusp rule SM401\nusp rule SM402\n```",
            "ended with 0, not 1",
        ),
        ("```console\n$ usp tree nowhere.example -q\n```", "ended with 1"),
        ("```sh\nfalse | true\n```", "ended with 1, not 0"),
        ("```toml\na = \n```", r"page.md:\d: TOMLDecodeError"),
        ("```sql\n-- DuckDB\nselect nothing;\n```", r"page.md:\d: BinderException"),
    ],
)
def test_an_example_that_fails_is_reported_with_its_place(tmp_path, block, message):
    with pytest.raises(ExampleError, match=message):
        results(tmp_path, block)


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
