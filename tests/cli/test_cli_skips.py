"""``usp ls --since``: sitemaps whose index shows that they are old are not downloaded, and counted."""

from __future__ import annotations

import json

import pytest

from website import Site, index, urlset


def child(path: str, lastmod: str) -> str:
    return f"<sitemap><loc>{{base}}{path}</loc><lastmod>{lastmod}</lastmod></sitemap>"


def page(path: str, lastmod: str) -> str:
    return f"<url><loc>{{base}}{path}</loc><lastmod>{lastmod}</lastmod></url>"


DOCUMENTS = {
    "/index.xml": index(child("/old.xml", "2020-01-01"), child("/new.xml", "2099-01-01")),
    "/old.xml": urlset(page("/old", "2098-01-01")),  # its index knows nothing of that
    "/new.xml": urlset(page("/new", "2098-01-01"), page("/older", "2020-01-01")),
}


@pytest.fixture
def website():
    with Site(DOCUMENTS) as site:
        yield site


@pytest.mark.parametrize("how", [["-f", "pages"], ["-f", "pages", "--limit", "9"], ["-f", "csv"]])
def test_old_sitemaps_are_not_downloaded_and_the_summary_says_so(run, website, how):
    ended = run("ls", website.url("/index.xml"), "--since", "7d", *how)
    assert ended.status == 0
    assert [line.partition(",")[0] for line in ended.lines if "http" in line] == [
        website.url("/new")
    ]
    assert ended.err == "usp: 1 sitemap skipped by lastmod; --no-skip downloads all\n"
    assert "/old.xml" not in website.hits


def test_no_skip_downloads_all(run, website):
    ended = run("ls", website.url("/index.xml"), "--since", "7d", "--no-skip", "-f", "pages")
    assert ended.lines == [website.url("/old"), website.url("/new")]
    assert ended.err == ""


def test_without_since_nothing_is_skipped(run, website):
    ended = run("ls", website.url("/index.xml"), "--until", "2099-06", "-f", "pages")
    assert len(ended.lines) == 3
    assert ended.err == ""


def test_patterns_for_sitemaps_are_applied_before_the_download(run, website):
    ended = run(
        "ls", website.url("/index.xml"), "--include", "sitemap:*/new*", "-f", "pages", "--json"
    )
    assert ended.lines == [website.url("/new"), website.url("/older")]
    assert "/old.xml" not in website.hits
    told = json.loads(ended.err)
    assert (told["skipped"], told["skipped_by_url"]) == (1, 1)


def test_a_website_with_nothing_new_is_neither_empty_nor_a_failure(run, website):
    website.answers["/index.xml"] = index(child("/old.xml", "2020"))
    ended = run("ls", website.url("/index.xml"), "--since", "30d", "--strict", "-f", "pages")
    assert (ended.status, ended.out) == (0, "")
    assert ended.err == "usp: 1 sitemap skipped by lastmod; --no-skip downloads all\n"
