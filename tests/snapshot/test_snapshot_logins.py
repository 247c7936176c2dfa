"""Logins and cookies: used where they were given, the same in each round, and never written."""

from __future__ import annotations

import base64
import gzip

import pytest
from snapshots import assert_same

import usp
from website import ONE_PAGE, Answer, Request, TaggedSite, dated, index, robots


class GuardedSite(TaggedSite):
    """A website that wants a login, and sets a cookie with every answer, 304 included."""

    login = "anna:hush-password"

    def answer(self, request: Request) -> Answer:
        """Refuse whoever does not log in."""
        wanted = base64.b64encode(self.login.encode()).decode()
        if self.login and request.headers.get("Authorization") != f"Basic {wanted}":
            return Answer("no", 401)
        answer = super().answer(request)
        answer.headers["Set-Cookie"] = "id=hush-cookie"
        return answer

    @property
    def start(self) -> str:
        """The homepage with the login."""
        return self.base.replace("//", f"//{self.login}@") + "/"


@pytest.fixture
def site():
    with GuardedSite(ONE_PAGE) as site:
        yield site


def written(path) -> bytes:
    return gzip.decompress(path.read_bytes())


def test_of_unchanged_documents_the_time_is_written_and_no_cookie(site, path):
    site.login = ""
    usp.sitemap_tree_for_homepage(site.base, record=path)
    done = usp.update(path)
    assert done.not_modified == 2
    assert b"revisit" in written(path)
    assert written(path).count(b'"seen":') >= 2
    assert b"hush" not in written(path)


def test_every_round_of_a_watch_logs_in(site, path, watched):
    for count in (2, 1):
        rounds = watched(site.start, path, every=0.01, rounds=count)
        assert [(current.error, current.failures) for current in rounds] == [(None, ())] * count
    assert b"hush" not in written(path)


def listed(site, path: str) -> str:
    return site.start.rstrip("/") + path


def test_a_listed_url_with_a_login_is_fetched_with_that_login(site):
    site.answers["/robots.txt"] = f"Sitemap: {listed(site, '/a.xml')}"
    tree = usp.sitemap_tree_for_homepage(site.start)
    assert [page.url for page in tree.all_pages()] == [site.url("/tea")]


def test_logins_of_listed_urls_are_in_the_documents_only(site, path):
    """The bytes of a document are the website's own; nothing that we write repeats them."""
    site.answers["/robots.txt"] = robots("/index.xml")
    known = dated(listed(site, "/a.xml"), "2024-01-01", "sitemap")
    site.answers["/index.xml"] = index(known, listed(site, "/lost.xml"))
    tree = usp.sitemap_tree_for_homepage(site.start, record=path)
    assert written(path).count(b"hush") == 2
    assert_same(usp.load(path), tree)
    (current,) = usp.watch(site.start, path, rounds=1)
    assert (current.update.not_modified, current.update.changed, current.update.added) == (3, 0, 0)
    (current,) = usp.watch(site.start, path, rounds=1, trust_lastmod=True)
    assert current.update.not_asked == 1
    assert written(path).count(b"hush") == 2
    assert usp.load(path) == tree
