"""Bodies that break off: asked for again, and the most that came of them is kept."""

from __future__ import annotations

import gzip
import zlib

from cases import cases
from usp.events import SitemapFinished, SitemapStarted
from usp.limits import Limits
from usp.stream import pages
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, index, paths, robots, urlset

PAGES = [f"http://h/{number:03}" for number in range(300)]
WHOLE = urlset(*PAGES)


def at(fraction: float, *, chunked: bool = False, body: str | bytes = WHOLE) -> Answer:
    """Answer with so much of a document, and hang up."""
    return Answer(body, cut=int(len(body) * fraction), chunked=chunked)


def crawl(site, **options):
    return sitemap_tree_for_sitemap(site.url("/a.xml"), **options)


def test_the_whole_document_is_kept_if_it_comes(serve):
    for stumbles in cases([1, 2]):
        for chunked in cases([False, True]):
            site = serve({"/a.xml": [at(0.5, chunked=chunked)] * stumbles + [WHOLE]})
            tree = crawl(site)
            assert paths(tree, site.base) == PAGES
            assert tree.is_complete
            assert tree.problems == []
            assert site.hits["/a.xml"] == stumbles + 1


def test_the_longest_part_is_kept_if_it_stays_broken(serve):
    for order in cases([(0.7, 0.3, 0.5), (0.3, 0.7, 0.5), (0.3, 0.5, 0.7)]):
        site = serve({"/a.xml": [at(fraction) for fraction in order]})
        tree = crawl(site)
        kept = paths(tree, site.base)
        assert kept == PAGES[: len(kept)]
        assert 200 < len(kept) < 215
        (failure,) = tree.failures()
        assert (failure.url, failure.attempts, failure.status) == (site.url("/a.xml"), 3, 200)
        assert site.hits["/a.xml"] == 3
        assert tree.problems[0].message.startswith("the transfer broke off")


def test_errors_between_two_broken_transfers_do_not_cost_what_came(serve):
    site = serve({"/a.xml": [at(0.5), Answer(status=500), Answer(hang_up=True), at(0.1)]})
    tree = crawl(site)
    assert 100 < tree.page_count() < 200
    assert [failure.attempts for failure in tree.failures()] == [4]


def test_a_part_is_kept_if_the_document_is_gone_when_it_is_asked_for_again(serve):
    site = serve({"/a.xml": [at(0.5), Answer(status=404)]})
    tree = crawl(site)
    assert 100 < tree.page_count() < 200
    assert not tree.is_complete
    assert site.hits["/a.xml"] == 2


def test_a_body_that_breaks_off_before_it_can_be_told_what_it_is_is_asked_for_again(serve):
    for cut in cases([0, 5, 25]):
        site = serve({"/a.xml": [Answer(WHOLE, cut=cut), WHOLE]})
        tree = crawl(site)
        assert paths(tree, site.base) == PAGES
        assert site.hits["/a.xml"] == 2


def test_a_body_of_which_nothing_comes_is_a_failure_after_three_tries(serve):
    site = serve({"/a.xml": Answer(WHOLE, cut=0)})
    (failure,) = crawl(site).failures()
    assert failure.attempts == site.hits["/a.xml"] == 3


def test_a_connection_that_is_reset_has_three_tries(serve):
    site = serve({"/a.xml": [Answer(hang_up=True), Answer(hang_up=True), WHOLE]})
    assert crawl(site).is_complete
    site = serve({"/a.xml": Answer(hang_up=True)})
    (failure,) = crawl(site).failures()
    assert failure.attempts == site.hits["/a.xml"] == 3


def test_broken_transfers_and_busy_answers_have_budgets_of_their_own(serve):
    """Two broken transfers and four busy answers leave one try of each kind."""
    busy = Answer(status=503)
    site = serve({"/a.xml": [at(0.5), busy, busy, at(0.5), busy, busy, WHOLE]})
    tree = crawl(site)
    assert tree.is_complete
    assert site.hits["/a.xml"] == 7


def test_an_index_that_breaks_off_is_asked_for_again_and_its_children_once(serve):
    site = serve({})
    body = site.fill(index("/1.xml", "/2.xml"))
    site.answers["/a.xml"] = [at(0.8, body=body), body]
    site.answers |= {"/1.xml": urlset("/p1"), "/2.xml": urlset("/p2")}
    tree = crawl(site)
    assert paths(tree, site.base) == ["/p1", "/p2"]
    assert tree.is_complete
    assert site.hits == {"/a.xml": 2, "/1.xml": 1, "/2.xml": 1}


def test_an_index_that_stays_broken_keeps_the_children_that_came(serve):
    site = serve({"/1.xml": urlset("/p1")})
    site.answers["/a.xml"] = at(0.8, body=site.fill(index("/1.xml", "/2.xml")))
    tree = crawl(site)
    assert paths(tree, site.base) == ["/p1"]
    assert [failure.url for failure in tree.failures()] == [site.url("/a.xml")]
    assert any("transfer broke off" in problem.message for problem in tree.problems)


def test_a_robots_txt_that_breaks_off_is_asked_for_again(serve):
    body = robots("/1.xml", "/2.xml")
    site = serve({"/robots.txt": [Answer(body, cut=len(body) - 5), body]})
    site.answers |= {"/1.xml": urlset("/p1"), "/2.xml": urlset("/p2")}
    tree = sitemap_tree_for_homepage(site.base + "/", use_known_paths=False)
    assert paths(tree, site.base) == ["/p1", "/p2"]
    assert tree.is_complete


def test_a_known_path_that_breaks_off_is_asked_twice_and_kept_in_part(serve):
    site = serve({"/sitemap.xml": at(0.5)})
    tree = sitemap_tree_for_homepage(site.base + "/")
    assert 100 < tree.page_count() < 200
    assert [(f.url, f.attempts) for f in tree.failures()] == [(site.url("/sitemap.xml"), 2)]


def test_a_page_of_html_that_breaks_off_is_not_worth_another_try(serve):
    site = serve({"/a.xml": Answer("<html><body>" + "x" * 1000, cut=500)})
    assert not crawl(site).is_complete
    assert site.hits["/a.xml"] == 1


def test_a_broken_gzip_transfer_is_asked_for_again(serve):
    for chunked in cases([False, True]):
        site = serve({})
        packed = gzip.compress(
            site.fill(urlset(*(f"{page}/{zlib.crc32(page.encode())}" for page in PAGES)))
        )
        site.answers["/a.xml"] = [at(0.6, body=packed, chunked=chunked), packed]
        tree = crawl(site)
        assert tree.page_count() == 300
        assert tree.is_complete
        site.answers["/a.xml"] = at(0.6, body=packed, chunked=chunked)
        tree = crawl(site)
        assert 0 < tree.page_count() < 300
        assert [failure.attempts for failure in tree.failures()] == [3]


def test_a_body_that_a_limit_cuts_off_is_not_asked_for_again(serve):
    for limits in cases(
        [Limits(document_bytes=5000), Limits(unpacked_bytes=5000), Limits(pages=10)]
    ):
        site = serve({"/a.xml": WHOLE})
        tree = crawl(site, limits=limits)
        assert 0 < tree.page_count() < 300
        assert [failure.attempts for failure in tree.failures()] == [1]
        assert site.hits["/a.xml"] == 1


def test_what_breaks_off_is_told_once_by_events(serve):
    events = []
    site = serve({"/a.xml": [at(0.5), WHOLE]})
    crawl(site, on_event=events.append)
    assert sum(isinstance(event, SitemapStarted) for event in events) == 2
    assert sum(isinstance(event, SitemapFinished) for event in events) == 1


def test_callbacks_are_asked_about_the_children_of_a_broken_index_once(serve):
    site = serve({})
    body = site.fill(index("/1.xml", "/2.xml"))
    site.answers["/a.xml"] = [at(0.8, body=body), body]
    site.answers |= {"/1.xml": urlset("/p1"), "/2.xml": urlset("/p2")}
    asked = []
    crawl(site, recurse_callback=lambda url, *_: not asked.append(url.removeprefix(site.base)))
    assert asked == ["/1.xml", "/2.xml"]


def test_the_stream_gives_the_pages_of_the_tree_once_and_in_order(serve):
    for answers in cases(
        [
            [at(0.5), WHOLE],
            [at(0.5), at(0.2), WHOLE],
            [at(0.9), at(0.2), at(0.4)],
            [at(0.2), at(0.4), at(0.9)],
            [at(0.5, chunked=True), at(0.2), Answer(status=500), WHOLE],
            [at(0.5), Answer(status=404)],
        ]
    ):
        for most in cases([1, 8]):
            client = RequestsWebClient(max_concurrent_requests=most)
            table = {"/robots.txt": robots("/a.xml", "/b.xml"), "/b.xml": urlset("/last")}
            site = serve(table | {"/a.xml": answers})
            tree = sitemap_tree_for_homepage(site.base + "/", client, use_known_paths=False)
            expected = paths(tree, site.base)
            assert expected[-1] == "/last"
            site.requests.clear()
            streamed = pages(site.base + "/", client, use_known_paths=False)
            assert [page.url.removeprefix(site.base) for page in streamed] == expected
            client.close()
