"""Tree and stream, on threads and on asyncio: the same nodes, the same pages, in the same order."""

import asyncio
import gzip
import itertools
import random
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from page_sites import LEAVES, SITES, html, options_for, pages_of
from webs import webs

import usp.aio
import usp.stream
import usp.tree
from cases import cases
from fronts import ASYNCIO, FRONTS, ONE_BY_ONE, THREADS
from memory_web import AsyncClient, Client, Doc, Web
from profiles import examples
from usp.exceptions import SitemapException
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, Site, index, indexed, outline, paths, robots, urlset

ONE_AT_A_TIME = [
    "redirects",
    "stumbling",
    "dead hosts",
    "links of a homepage that has moved",
    "packed",
]
MANY = [f"/{number:04}" for number in range(400)]
INDEX = indexed(*LEAVES) | LEAVES


def told(pages) -> list:
    return [(page.sitemap_url, page) for page in pages]


def site_free(site: Site, text: object) -> str:
    return str(text).replace(site.base, "{base}").replace(site.alt, "{alt}")


def facts(node) -> tuple:
    """Give what a node says, but for the words of an error, which are the client's."""
    reason = getattr(node, "reason", "").partition(": ")[0]
    problems = [problem.message.partition(":")[0] for problem in node.problems]
    return type(node).__name__, node.url, node.last_modified, reason, problems


def assert_fronts_agree(url: str, **options) -> None:
    """Compare the trees and streams of all fronts, as values, with that of threads."""
    options.setdefault("use_known_paths", True)
    tree = THREADS.tree(url, **options)
    expected = pages_of(tree)
    written = [(hash(page), repr(page)) for page in tree.all_pages()]
    for front in cases(FRONTS):
        assert front.tree(url, **options) == tree
        streamed = front.pages(url, **options)
        assert told(streamed) == expected
        assert [(hash(page), repr(page)) for page in streamed] == written


# Websites -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SITES)
def test_every_front_gives_the_same_nodes_and_pages(serve, name):
    """One by one, field by field, each page with the address of its sitemap."""
    answers, options = LEAVES | SITES[name], options_for(SITES[name])
    trees, streams = [], []
    for front in [ONE_BY_ONE, THREADS, ASYNCIO] if name in ONE_AT_A_TIME else [THREADS, ASYNCIO]:
        site = serve(answers)  # one for each: a list of answers starts from its beginning
        tree = front.tree(site.base + "/", **options)
        pages = pages_of(tree)
        assert [page for _, page in pages] == list(tree.all_pages())
        nodes = [site_free(site, facts(node)) for node in tree.all_sitemaps()]
        trees.append((site_free(site, outline(tree)), nodes))
        streams.append([site_free(site, (url, page.to_dict())) for url, page in pages])
        site.close()
        site = serve(answers)
        streamed = told(front.pages(site.base + "/", **options))
        streams.append([site_free(site, (url, page.to_dict())) for url, page in streamed])
        site.close()
    assert all(tree == trees[0] for tree in trees)
    assert all(stream == streams[0] for stream in streams)
    assert bool(streams[0]) == (name != "nothing")


@given(webs(), st.integers(0, 2**16))
@settings(max_examples=examples(40), deadline=None)
def test_any_website_at_any_speed_gives_the_same_tree_and_pages(web, seed):
    docs, options = web
    docs = {path: replace(doc, stumbles=0) for path, doc in docs.items()}
    chance = random.Random(seed)

    async def before(*_):
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0)

    def client():
        return AsyncClient(Web(docs), before, before)

    expected = usp.tree.sitemap_tree_for_homepage("http://h/", Client(Web(docs), 1), **options)
    assert ASYNCIO.tree("http://h/", client(), **options) == expected
    assert told(ASYNCIO.pages("http://h/", client(), **options)) == pages_of(expected)


ODD_PATHS = [
    "/a b.xml", "/a%20b.xml", "/%7Etilde.xml", "/~tilde.xml", "/%28x%29.xml", "/(x).xml",
    "/é.xml", "/%C3%A9.xml", "/%c3%a9.xml", "/x.xml?a=1&b=%2F", "/x.xml?q=a+b", "/x.xml?q=a%20b",
    "/a//b.xml", "/x%2Fy.xml", "/x.xml?u=http://h/%3Fa", "/x;y=1.xml", "/x.xml?", "/%25.xml",
    "/x.xml?a=%26", "/x.xml?a=%2B", "/x'y.xml", "/x!$*,.xml", "/x.xml?a[]=1", "/x|y.xml", "/%zz.xml",
]  # fmt: skip


def test_odd_addresses_are_asked_for_as_they_are_written_or_as_the_other_front_does(serve):
    """A signature in an address is of use only if the address arrives as it was written."""
    site = serve({})
    for path in cases(ODD_PATHS):
        loc = path.replace("&", "&amp;")

        class Any:
            def get(self, asked, default, loc=loc):
                return Answer(index(loc) if asked == "/i.xml" else urlset("/p"))

        site.answers = Any()
        site.requests.clear()
        tree = THREADS.tree(site.url("/i.xml"), single=True)
        by_threads = [request.path for request in site.requests]
        site.requests.clear()
        by_loop = ASYNCIO.tree(site.url("/i.xml"), single=True)
        asked = [request.path for request in site.requests]
        assert asked in (by_threads, ["/i.xml", path])
        assert outline(by_loop) == outline(tree) or asked != by_threads
        assert by_loop.page_count() == tree.page_count() == 1


def test_a_linked_sitemap_that_failed_still_stands_for_its_address(serve):
    """A known path that leads to what the homepage links to is left out, even if the link failed."""
    answers = {"/": html("/x.xml"), "/sitemap.xml": Answer(redirect="/x.xml")}
    answers["/x.xml"] = [Answer("", 404), urlset("/p")]
    options = {"use_html_links": True, "use_robots": False, "extra_known_paths": ["sitemap.xml"]}
    client = RequestsWebClient(max_concurrent_requests=1)
    tree = ONE_BY_ONE.tree(serve(answers).base + "/", client, **options)
    assert [node.url.rpartition("/")[2] for node in tree.sub_sitemaps] == ["x.xml"]
    stream = ONE_BY_ONE.pages(serve(answers).base + "/", client, **options)
    assert stream == list(tree.all_pages())


# Callbacks and events -----------------------------------------------------------------------------

CALLBACKS = {
    "a child is left out": {"recurse_callback": lambda url, *_: not url.endswith("/a.xml")},
    "the list is turned around": {"recurse_list_callback": lambda urls, *_: urls[::-1]},
    "the list is cut": {"recurse_list_callback": lambda urls, level, parents: urls[:2]},
    "the list is longer": {
        "recurse_list_callback": lambda urls, *_: [*urls, urls[0] + "?more", urls[0]]
    },
    "by entry": {"recurse_entry_callback": lambda child: "b.xml" not in child.url},
    "all of them": {
        "recurse_callback": lambda url, level, parents: level < 3,
        "recurse_list_callback": lambda urls, level, parents: sorted(urls, reverse=True),
        "recurse_entry_callback": lambda child: child.last_modified is None,
    },
    "nothing": {"recurse_callback": lambda *_: False},
}


def test_callbacks_choose_the_same(serve):
    dated = "<sitemap><loc>{base}/n.xml</loc><lastmod>2024-01-01</lastmod></sitemap>"
    site = serve(
        {"/robots.txt": robots("/i.xml", "/sitemap.xml"), "/sitemap.xml": index("/b.xml")}
        | {"/i.xml": index(*LEAVES, dated), "/n.xml": urlset("/n"), "/a.xml?more": urlset("/more")}
        | LEAVES
    )
    for name in cases(CALLBACKS):
        assert_fronts_agree(site.base + "/", **CALLBACKS[name])
        one = THREADS.tree(site.url("/i.xml"), single=True, **CALLBACKS[name])
        assert ASYNCIO.tree(site.url("/i.xml"), single=True, **CALLBACKS[name]) == one


def test_callbacks_are_asked_the_same_questions_and_events_are_the_same_but_for_their_order(serve):
    site = serve(indexed(*LEAVES, "/j.xml") | {"/j.xml": index("/a.xml", "/b.xml")} | LEAVES)
    seen = []
    for crawl in [way for front in FRONTS for way in (front.tree, front.pages)]:
        asked, events = [], []

        def recurse(*question, asked=asked):
            asked.append(question)
            return True

        crawl(site.base + "/", recurse_callback=recurse, on_event=events.append)
        seen.append((asked, sorted((type(event).__name__, event.url) for event in events)))
    assert all(one == seen[0] for one in seen)
    assert all(seen[0])


def test_a_bad_url_is_refused_at_once():
    """Not when the first page is asked for."""
    bad = ["ftp://h/", "h", "", "http://", "/sitemap.xml", "mailto:a@h", "http:// a b/", "x"]
    for url, normalize in cases(itertools.product(bad, [True, False])):
        options = {"normalize_homepage_url": normalize}
        for module in (usp.stream, usp.aio):
            with pytest.raises(SitemapException, match="HTTP"):
                module.pages(url, **options)
            with pytest.raises(SitemapException, match="HTTP"):
                module.pages_of_sitemap(url)
        for front in FRONTS:
            with pytest.raises(SitemapException, match="HTTP"):
                front.tree(url, **options)
            with pytest.raises(SitemapException, match="HTTP"):
                front.tree(url, single=True)


# Failures -----------------------------------------------------------------------------------------


def test_failures_are_the_same(serve):
    for status in cases([403, 404, 500, 503]):
        site = serve(INDEX | {"/b.xml": Answer(status=status), "/sitemap.xml": Answer(status=500)})
        site.answers["/c.xml"] = gzip.compress(site.fill(urlset("/c")))[:-9]
        trees = [front.tree(site.base + "/", use_known_paths=True) for front in FRONTS]
        listed = [[(f.url, f.attempts, f.status) for f in tree.failures()] for tree in trees]
        assert trees[0] == trees[1] == trees[2]
        assert listed[0] == listed[1] == listed[2]
        assert len(listed[0]) == 3


# How many at a time -------------------------------------------------------------------------------


@pytest.mark.parametrize("front", [THREADS, ASYNCIO], ids=repr)
def test_the_own_client_asks_each_host_for_several_things_but_never_more_than_eight(serve, front):
    names = [f"/{n}.xml" for n in range(24)]
    site = serve(
        {"/i.xml": index(*names, *(f"{{alt}}{name}" for name in names))}
        | {name: Answer(urlset(f"/of{name}"), delay=0.03) for name in names}
        | {f"alt:{name}": Answer(urlset("/a"), delay=0.03) for name in names}
    )
    assert front.tree(site.url("/i.xml"), single=True).page_count() == 48
    assert 1 < site.most_at_once["base"] <= 8
    assert 1 < site.most_at_once["alt:"] <= 8


def test_a_synchronous_client_plugs_into_asyncio(serve):
    site = serve(INDEX)
    tree = THREADS.tree(site.base + "/")
    for at_once in cases([1, 4]):
        client = RequestsWebClient(max_concurrent_requests=at_once)
        assert ASYNCIO.tree(site.base + "/", client) == tree
        assert told(ASYNCIO.pages(site.base + "/", client)) == pages_of(tree)


def test_a_client_is_asked_for_no_more_than_it_allows():
    names = [f"/{n}.xml" for n in range(24)]

    async def later(*_):
        await asyncio.sleep(0.001)

    for most in cases([1, 2, 5]):
        for kind, before in [(Client, lambda *_: time.sleep(0.003)), (AsyncClient, later)]:
            docs = {name: urlset(f"/of{name}") for name in names}
            web = Web({"/robots.txt": robots(*names)} | docs)
            client = kind(web, before=before)
            client.max_concurrent_requests = most
            tree = ASYNCIO.tree("http://h/", client)
            assert paths(tree, "http://h") == [f"/of{name}" for name in names]
            assert web.most == most
            assert web.limit == 100 * 1024 * 1024 + 1


def test_retries_that_are_due_at_once_wait_for_their_turn_and_end_together():
    """As many are due as there may be requests, and are answered at once, or longer than a pause.

    They do not end the crawl, nor keep the news of those that are busy from being read.
    """

    async def slowly(url):
        await asyncio.sleep(0.01)

    async def at_once(url):
        pass

    for most, before_answer in cases(
        [(1, at_once), (2, at_once), (4, at_once), (1, slowly), (2, slowly)]
    ):
        names = [
            f"http://h{n % 2}/{n}.xml" for n in range(6 * most if before_answer is at_once else 8)
        ]
        docs = {name: Doc(urlset(f"{name}/p"), stumbles=1) for name in names}
        web = Web({"http://h0/robots.txt": Doc(robots(*names))} | docs, base="")
        client = AsyncClient(web, before_answer=before_answer)
        client.max_concurrent_requests = most
        assert ASYNCIO.tree("http://h0/", client).page_count() == len(names)
