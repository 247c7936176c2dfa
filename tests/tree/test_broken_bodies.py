"""Bodies that break off: asked for again, and the most that came of them is kept."""

import gzip
import zlib

from cases import cases
from usp.events import SitemapFinished, SitemapStarted
from usp.limits import Limits
from usp.objects.sitemap import InvalidSitemap
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from website import Answer, index, paths, robots, urlset

PAGES = [f"http://h/{number:03}" for number in range(300)]
WHOLE = urlset(*PAGES)
PACKED = gzip.compress(
    urlset(*(f"{page}/{zlib.crc32(page.encode())}" for page in PAGES)).encode(), mtime=0
)
HTML = "<html><body>" + "x" * 1000
BUSY, BROKEN, GONE = Answer(status=503), Answer(status=500), Answer(status=404)
RESET = Answer(hang_up=True)


def at(fraction: float, *, chunked: bool = False, body: str | bytes = WHOLE) -> Answer:
    """Answer with so much of a document, and hang up."""
    return Answer(body, cut=int(len(body) * fraction), chunked=chunked)


def crawl(site, **options):
    return sitemap_tree_for_sitemap(site.url("/a.xml"), **options)


def test_a_document_is_asked_for_again_until_it_comes_as_a_whole(serve):
    """Two broken transfers and four busy answers leave one try of each kind."""
    for answers in cases(
        [
            *([at(0.5, chunked=chunked)] * n for n in (1, 2) for chunked in (False, True)),
            *([Answer(WHOLE, cut=cut)] for cut in (0, 5, 25)),  # too little to tell what it is
            [RESET, RESET],
            [at(0.5), BUSY, BUSY, at(0.5), BUSY, BUSY],
            *([at(0.6, body=PACKED, chunked=chunked)] for chunked in (False, True)),
        ]
    ):
        packed = answers[0].body is PACKED
        site = serve({"/a.xml": [*answers, PACKED if packed else WHOLE]})
        events = []
        tree = crawl(site, on_event=events.append)
        assert tree.page_count() == 300
        assert packed or paths(tree, site.base) == PAGES
        assert tree.is_complete
        assert tree.problems == []
        assert site.hits["/a.xml"] == len(answers) + 1
        assert sum(isinstance(event, SitemapStarted) for event in events) == len(answers) + 1
        assert sum(isinstance(event, SitemapFinished) for event in events) == 1


def test_the_longest_part_is_kept_if_it_stays_broken(serve):
    for answers, limits, kept, attempts in cases(
        [
            *(
                ([at(fraction) for fraction in order], {}, (200, 215), 3)
                for order in [(0.7, 0.3, 0.5), (0.3, 0.7, 0.5), (0.3, 0.5, 0.7)]
            ),
            ([at(0.5), BROKEN, RESET, at(0.1)], {}, (100, 200), 4),
            ([at(0.5), GONE], {}, (100, 200), 2),
            ([Answer(WHOLE, cut=0)], {}, (-1, 1), 3),
            ([RESET], {}, (-1, 1), 3),
            *(([at(0.6, body=PACKED, chunked=c)], {}, (0, 300), 3) for c in (False, True)),
            ([Answer(HTML, cut=500)], {}, (-1, 1), 1),  # not worth another try
            *(
                ([WHOLE], {name: value}, (0, 300), 1)  # nor what a limit cuts off
                for name, value in [
                    ("document_bytes", 5000),
                    ("unpacked_bytes", 5000),
                    ("pages", 10),
                ]
            ),
        ]
    ):
        site = serve({"/a.xml": answers})
        tree = crawl(site, limits=Limits(**limits))
        assert kept[0] < tree.page_count() < kept[1]
        if getattr(answers[0], "body", WHOLE) is WHOLE:
            assert paths(tree, site.base) == PAGES[: tree.page_count()]
        (failure,) = tree.failures()
        assert (failure.url, failure.attempts) == (site.url("/a.xml"), attempts)
        assert site.hits["/a.xml"] == attempts
        if getattr(answers[0], "cut", None) == 0:
            assert isinstance(tree, InvalidSitemap)  # failed never looks like empty
            assert "closed before the end" in tree.reason
        if kept == (200, 215):
            assert failure.status == 200
            assert tree.problems[0].message.startswith("the transfer broke off")


def test_an_index_that_breaks_off_is_asked_for_again_and_its_children_once(serve):
    site = serve({"/1.xml": urlset("/p1"), "/2.xml": urlset("/p2")})
    body = site.fill(index("/1.xml", "/2.xml"))
    site.answers["/a.xml"] = [at(0.8, body=body), body]
    asked = []
    tree = crawl(site, recurse_callback=lambda url, *_: not asked.append(url))
    assert paths(tree, site.base) == ["/p1", "/p2"]
    assert tree.is_complete
    assert site.hits == {"/a.xml": 2, "/1.xml": 1, "/2.xml": 1}
    assert asked == [site.url("/1.xml"), site.url("/2.xml")]
    site.answers["/a.xml"] = at(0.8, body=body)
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
