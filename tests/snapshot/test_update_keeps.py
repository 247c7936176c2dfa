"""An update that is limited, or answered with something else, loses nothing that the snapshot has."""

from __future__ import annotations

import pytest

import usp
from website import Answer, TaggedSite, index, robots, urlset

HTML = Answer("<html><body>back soon</body></html>", headers={"Content-Type": "text/html"})


@pytest.fixture
def site():
    answers = {
        "/robots.txt": robots("/index.xml"),
        "/index.xml": index(*(f"/{number}.xml" for number in range(8))),
        **{f"/{number}.xml": urlset(f"/{number}/a", f"/{number}/b") for number in range(8)},
    }
    with TaggedSite(answers) as site:
        yield site


@pytest.fixture
def path(site, path):
    usp.sitemap_tree_for_homepage(site.base, record=path, use_known_paths=False)
    return path


def urls(tree):
    return sorted(page.url for page in tree.all_pages())


@pytest.mark.parametrize("limits", [{"sitemaps": 4}, {"pages": 3}, {"depth": 1}])
def test_what_a_limit_of_the_update_leaves_out_is_kept(site, path, limits):
    whole = urls(usp.load(path))
    site.answers["/0.xml"] = urlset("/0/a", "/0/new")
    update = usp.update(path, limits=usp.Limits(**limits))
    assert bool(update.not_checked) == ("pages" not in limits)  # which are counted afterwards
    assert update.removed == 0
    assert ("not checked and kept" in str(update)) == bool(update.not_checked)
    expected = [url.replace("/0/b", "/0/new") if update.changed else url for url in whole]
    assert urls(usp.load(path)) == sorted(expected)
    assert usp.load(path).is_complete
    update = usp.update(path)  # the limit was for that update only
    assert (update.not_checked, update.failed, update.unchanged + update.changed) == (0, 0, 10)
    assert len(urls(usp.load(path))) == 16


def test_a_document_that_a_limit_cuts_keeps_its_last_good_response(site, path):
    site.answers["/3.xml"] = urlset(*(f"/3/{number}" for number in range(500)))
    update = usp.update(path, limits=usp.Limits(document_bytes=2000))
    assert update.failed == 1
    assert f"{site.base}/3/a" in urls(usp.load(path, last_good=True))


def test_the_limits_of_the_recorded_crawl_stay(site, tmp_path):
    path = tmp_path / "limited.warc.gz"
    limits = usp.Limits(sitemaps=4)
    usp.sitemap_tree_for_homepage(site.base, record=path, use_known_paths=False, limits=limits)
    before = urls(usp.load(path))
    for given in ({}, {"limits": usp.Limits(sitemaps=3)}):
        usp.update(path, **given)
        assert urls(usp.load(path)) == before
        assert [one.code for one in usp.load(path).failures()] == ["limit-sitemaps"]


def test_new_sitemaps_that_a_limit_leaves_out_are_missing(site, path):
    names = [f"/{number}.xml" for number in range(8)]
    site.answers["/index.xml"] = index(*names, "/new.xml")
    site.answers["/new.xml"] = urlset("/new")
    update = usp.update(path, limits=usp.Limits(sitemaps=4))
    assert [one.code for one in update.tree.failures()] == ["not-in-snapshot"]
    assert usp.update(path).failed == 0


def test_a_page_instead_of_robots_txt_is_told(site, path, run):
    whole = path.read_bytes()
    site.answers["/robots.txt"] = HTML
    update = usp.update(path)
    assert update.failed == 1
    assert [one.url for one in update.kept] == [f"{site.base}/robots.txt"]
    path.write_bytes(whole)
    status, _, told = run("update", path, "--strict")
    assert status != 0
    assert "1 failed" in told
    assert f"{site.base}/robots.txt: " in told


def test_options_without_meaning_are_refused(path, run):
    status, _, told = run("update", path, "--site", "http://h/")
    assert (status, "--site" in told) == (2, True)
    for option in (["--keep-partial"], ["--site", "http://h/"]):
        status, _, told = run("watch", "http://h/", "--snapshot", path, *option)
        assert (status, option[0] in told) == (2, True)


def test_redirects_are_counted_as_requests(site, tmp_path):
    site.answers["/robots.txt"] = robots("/first.xml")
    site.answers["/first.xml"] = Answer(redirect="{base}/second.xml")
    site.answers["/second.xml"] = Answer(redirect="{base}/0.xml")
    path = tmp_path / "moved.warc.gz"
    usp.sitemap_tree_for_homepage(site.base, record=path, use_known_paths=False)
    site.forget()
    update = usp.update(path)
    assert update.requests == len(site.requests) == 4
    assert usp.update(path, trust_lastmod=True).unchanged == 2
