"""Whether a tree is complete, and if not, what is missing and why."""

import copy
import gzip
import pickle

import pytest

import usp
from cases import cases
from memory_web import Client, Doc, Web
from usp.web_client.abstract_client import WebClientErrorResponse
from website import Answer, index, indexed, pages_at, paths, robots, rss, urlset

SITE = indexed("/a.xml", "/b.xml") | pages_at("a", "b")
HTML = "<!DOCTYPE html><html><head><title>Oops</title></head><body>Not here</body></html>"


def crawl(site, **options):
    return usp.sitemap_tree_for_homepage(site.base + "/", **options)


def listed(tree, base: str) -> list[tuple]:
    """Give the failures of a tree as path, attempts and status."""
    return [
        (failure.url.removeprefix(base), failure.attempts, failure.status)
        for failure in tree.failures()
    ]


def test_a_child_that_is_refused_is_named_with_its_status(serve):
    for status, attempts in cases(
        [(404, 1), (410, 1), (403, 1), (401, 1), (500, 5), (503, 5), (429, 5)]
    ):
        site = serve(SITE | {"/b.xml": Answer(status=status)})
        tree = crawl(site, use_known_paths=False)
        assert paths(tree, site.base) == ["/a"]
        assert not tree.is_complete
        assert listed(tree, site.base) == [("/b.xml", attempts, status)]
        (failure,) = tree.failures()
        assert str(status) in failure.reason
        advice = [word in failure.reason for word in ("user_agent", "fewer requests", "pause")]
        if status in (403, 404):
            assert advice == [status == 403] * 3
        a, b = tree.sub_sitemaps[0].sub_sitemaps[0].sub_sitemaps
        assert a.is_complete
        assert b.failures() == [failure]
        assert failure.reason == b.reason


def test_a_dead_host_is_no_complete_site_and_told_once(serve):
    site = serve({})
    assert crawl(site).is_complete  # one without sitemaps is
    site.close()
    for options in cases([{}, {"use_robots": False}]):
        tree = crawl(site, **options)
        assert tree.sub_sitemaps == []
        assert not tree.is_complete
        (failure,) = tree.failures()
        assert options or (failure.url, failure.attempts) == (site.url("/robots.txt"), 1)
        assert failure.status is None
        assert "refused" in failure.reason


# What stands nowhere in the tree ------------------------------------------------------------------


KNOWN = {"/sitemap.xml": urlset("/p")}
LINKED = '<html><head><link rel="sitemap" href="/a.xml">' + " " * 900 + "</head></html>"
LINKS = {"use_html_links": True}


def test_what_was_looked_for_is_missing_if_it_may_be_there(serve):
    """robots.txt and the homepage unless they are said not to be there; a known path that says nothing."""
    later = [Answer(status=503)] * 3 + [robots("/i.xml")]
    once = [("/sitemap.xml", 5, 500)]  # although it is declared and a known path
    linked = {**LINKS, "use_robots": False, "use_known_paths": False}
    for answers, options, expected, missing in cases(
        [
            *((KNOWN | {"/robots.txt": answer}, {}, ["/p"], []) for answer in (HTML, "", 404, 410)),
            *(
                (KNOWN | {"/robots.txt": status}, {}, ["/p"], [("/robots.txt", tries, status)])
                for status, tries in ((503, 5), (500, 5), (403, 1), (401, 1))
            ),
            (SITE | {"/robots.txt": later}, {}, ["/a", "/b"], []),
            (SITE | KNOWN | {"/sitemap.txt": "{base}/d\n"}, {}, ["/a", "/b", "/p", "/d"], []),
            *(
                (SITE | {"/sitemap.xml": answer}, {}, ["/a", "/b"], [])
                for answer in (404, 410, 400, 401, 403, 405, 451, HTML)
            ),
            *(
                (SITE | {"/sitemap.xml": status}, {}, ["/a", "/b"], [("/sitemap.xml", 2, status)])
                for status in (500, 502, 503, 429)
            ),
            ({"/robots.txt": robots("/sitemap.xml"), "/sitemap.xml": 500}, {}, [], once),
            *((SITE | {"/": status}, LINKS, ["/a", "/b"], []) for status in (404, 410)),
            (SITE | {"/": 500}, LINKS, ["/a", "/b"], [("/", 5, 500)]),
            (SITE | {"/": 500}, {}, ["/a", "/b"], []),
            (SITE | {"/": Answer(LINKED, cut=200)}, linked, ["/a"], [("/", 3, 200)]),
        ]
    ):
        site = serve(
            {
                path: Answer(status=answer) if isinstance(answer, int) else answer
                for path, answer in answers.items()
            }
        )
        tree = crawl(site, **options)
        assert paths(tree, site.base) == expected
        assert listed(tree, site.base) == missing
        assert tree.is_complete == (not missing)
        assert missing or all(n.is_complete and not n.failures() for n in tree.all_sitemaps())
        nowhere = {"/robots.txt", "/"} & {url for url, *_ in missing}
        assert not nowhere & {node.url.removeprefix(site.base) for node in tree.all_sitemaps()}


def test_a_link_of_the_homepage_that_leads_nowhere_is_a_problem_of_the_website(serve):
    site = serve({"/": '<html><link rel="sitemap" href="mailto:a@b.c"><i>&nbsp;'})
    assert [one.code for one in crawl(site, **LINKS).problems] == ["bad-sitemap-link"]
    assert not crawl(site).problems


# What is there, but not as a whole ----------------------------------------------------------------


def cut(document: str) -> str:
    return document[: len(document) - 30]


def test_a_document_that_is_not_whole_or_no_sitemap_is_named_and_asked_for_once(serve):
    for body, reason in cases(
        [
            (cut(urlset("/1", "/2", "/3")), ""),
            (cut(rss("/1", "/2", "/3")), ""),
            (gzip.compress(urlset("/1").encode())[:-9], ""),
            (gzip.compress(urlset(*map(str, range(500))).encode())[:200], ""),
            (gzip.compress(urlset("/1").encode())[:-8] + b"\0\0\0\0\0\0\0\0", ""),
            (index("/c.xml", "/d.xml")[:-20], ""),
            (HTML.removeprefix("<!DOCTYPE html>"), "HTML"),
            (HTML, "HTML"),
        ]
    ):
        site = serve(SITE | {"/a.xml": body, "/c.xml": urlset("/c"), "/d.xml": urlset("/d")})
        tree = crawl(site, use_known_paths=False)
        assert listed(tree, site.base) == [("/a.xml", 1, 200)]
        assert reason in tree.failures()[0].reason
        assert site.hits["/a.xml"] == 1
        assert "/b" in paths(tree, site.base)
        assert site.hits["/c.xml"] == ("sitemapindex" in str(body))  # what came is followed


def test_a_document_that_is_whole_is_complete_whatever_is_in_it(serve):
    for body in cases(
        [
            urlset("/1") + "\n\n",
            urlset("/1") + "<!-- made by us -->",
            urlset(),
            rss("/1"),
            "{base}/1\n{base}/2",
            gzip.compress(urlset("/1").encode()) + b"\0" * 100,
            urlset("<url><loc>nowhere</loc></url>", "<url></url>"),
            '<?xml version="1.0"?><urlset/>',
        ]
    ):
        site = serve(SITE | {"/a.xml": body})
        assert crawl(site, use_known_paths=False).failures() == []


def test_children_that_a_callback_leaves_out_are_not_missing(serve):
    site = serve(SITE | {"/b.xml": Answer(status=500)})
    tree = crawl(
        site, use_known_paths=False, recurse_callback=lambda url, *_: not url.endswith("b.xml")
    )
    assert tree.is_complete
    tree = crawl(site, use_known_paths=False, recurse_list_callback=lambda *_: [])
    assert tree.is_complete


def test_a_sitemap_that_stands_twice_is_listed_once(serve):
    site = serve({"/robots.txt": robots("/i.xml", "/j.xml")})
    site.answers |= {"/i.xml": index("/gone.xml"), "/j.xml": index("/gone.xml", "/cut.xml")}
    site.answers["/cut.xml"] = cut(urlset("/1"))
    site.answers["/i.xml"] = index("/gone.xml", "/cut.xml")
    tree = crawl(site, use_known_paths=False)
    assert listed(tree, site.base) == [("/gone.xml", 1, 404), ("/cut.xml", 1, 200)]
    (robots_txt,) = tree.sub_sitemaps
    assert robots_txt.failures() == tree.failures()
    assert [len(node.failures()) for node in robots_txt.sub_sitemaps] == [2, 2]


def test_failures_stand_in_the_order_of_the_tree_after_what_stands_nowhere(serve):
    site = serve(
        {"/robots.txt": robots("/i.xml", "/z.xml"), "/i.xml": index("/y.xml", "/x.xml")}
        | {"/sitemap.xml": Answer(status=500)}
    )
    urls = [failure.url.removeprefix(site.base) for failure in crawl(site).failures()]
    assert urls == ["/sitemap.xml", "/y.xml", "/x.xml", "/z.xml"]


def test_a_document_at_hand_that_breaks_off_is_named(tmp_path):
    whole = urlset("http://h/1", "http://h/2").encode()
    assert usp.sitemap_from_bytes(whole, "http://h/s.xml").is_complete
    for damaged in (whole[:-20], gzip.compress(whole)[:-9], gzip.compress(whole)[:60]):
        tree = usp.sitemap_from_bytes(damaged, "http://h/s.xml")
        assert [failure.url for failure in tree.failures()] == ["http://h/s.xml"]
        file = tmp_path / "s.xml"
        file.write_bytes(damaged)
        assert not usp.sitemap_from_file(file).is_complete
    assert not usp.sitemap_from_bytes(b"<html>", "http://h/s.xml").is_complete


# As a value ---------------------------------------------------------------------------------------


@pytest.fixture
def partial(serve):
    return crawl(
        serve(SITE | {"/robots.txt": Answer(status=503), "/sitemap.xml": cut(urlset("/1"))})
    )


def test_failures_survive_pickling_and_copying(partial):
    assert len(partial.failures()) == 2
    for other in (pickle.loads(pickle.dumps(partial)), copy.deepcopy(partial), copy.copy(partial)):
        assert other.failures() == partial.failures()
        assert not other.is_complete
        assert other == partial


def test_failures_do_not_make_trees_different():
    failure = usp.Failure("http://h/robots.txt", "503", 5, 503)
    page = usp.PagesXMLSitemap("http://h/a.xml", [])
    damaged = usp.PagesXMLSitemap(
        "http://h/a.xml", [], failure=usp.Failure("http://h/a.xml", "broke off")
    )
    assert page == damaged
    assert page.is_complete
    assert not damaged.is_complete
    one = usp.IndexWebsiteSitemap("http://h/", [page])
    other = usp.IndexWebsiteSitemap("http://h/", [damaged], not_found=[failure])
    assert one == other
    assert hash(one) == hash(other)
    assert [f.url for f in other.failures()] == ["http://h/robots.txt", "http://h/a.xml"]
    assert one.to_dict() == other.to_dict()


def test_nodes_that_a_program_builds_itself_are_complete_unless_they_are_invalid():
    assert usp.IndexXMLSitemap(
        "http://h/i.xml", [usp.PagesXMLSitemap("http://h/a.xml", [])]
    ).is_complete
    invalid = usp.InvalidSitemap("http://h/b.xml", "why not")
    assert invalid.failures() == [usp.Failure("http://h/b.xml", "why not")]
    assert not usp.IndexXMLSitemap("http://h/i.xml", [invalid]).is_complete


def test_a_failure_is_a_value():
    failure = usp.Failure("http://h/", "no", 2, 500)
    assert failure == pickle.loads(pickle.dumps(failure))
    assert {failure: 1}[usp.Failure("http://h/", "no", 2, 500)] == 1
    with pytest.raises(AttributeError):
        failure.url = "x"


def failing(message: str, retryable: bool) -> Web:
    """Give a website whose client knows only messages, as clients did before there was ``status``."""
    doc = Doc(instead=(WebClientErrorResponse(message, retryable),))
    return Web({"/a.xml": doc, "/robots.txt": doc})


def test_the_status_of_an_error_without_one_is_read_from_its_message():
    for message, retryable, attempts, status in cases(
        [
            ("404 Not Found", False, 1, 404),
            ("503 Service Unavailable", True, 5, 503),
            ("500 Internal Server Error", True, 5, 500),
            ("429 Too Many Requests", True, 5, 429),
            ("400 Bad Request", True, 5, 400),
            ("500", True, 5, 500),
            ("timed out", True, 3, None),
            ("", True, 3, None),
            ("\u0665\u0660\u0663 in other digits", True, 3, None),
            ("5000 things failed", True, 3, None),
            ("certificate is not valid", False, 1, None),
        ]
    ):
        web = failing(message, retryable)
        tree = usp.sitemap_tree_for_sitemap("http://h/a.xml", Client(web))
        (failure,) = tree.failures()
        assert (failure.attempts, failure.status) == (attempts, status)
        assert message in failure.reason
        assert len(web.asked) == attempts
        tree = usp.sitemap_tree_for_homepage("http://h/", Client(web), use_known_paths=False)
        assert tree.is_complete == (status == 404)  # there is no robots.txt


# A crawl that ended early -------------------------------------------------------------------------


def test_known_paths_that_were_not_looked_at_make_a_tree_incomplete(serve, gate):
    site = serve({"/sitemap.xml": Answer(urlset("/a"), gate=gate)})
    tree = crawl(site, limits=usp.Limits(seconds=0.5))
    assert not tree.is_complete
    assert all("the limit seconds=0.5 is reached" in failure.reason for failure in tree.failures())
    tree = crawl(site, limits=usp.Limits(seconds=0), use_robots=False)
    (failure,) = tree.failures()
    assert failure.url == site.base + "/"
    assert failure.reason.startswith("known paths were not checked: the limit seconds=0")


def test_the_sitemaps_of_a_tree_are_counted_without_known_paths_that_lead_nowhere(serve):
    site = serve(SITE)
    assert crawl(site, limits=usp.Limits(sitemaps=4)).is_complete
    assert paths(crawl(site, limits=usp.Limits(sitemaps=3)), site.base) == ["/a"]
    site = serve(SITE | {"/sitemap.xml": index("/c.xml"), "/c.xml": urlset("/c")})
    assert crawl(site, limits=usp.Limits(sitemaps=6)).is_complete
    assert paths(crawl(site, limits=usp.Limits(sitemaps=5)), site.base) == ["/a", "/b"]
