"""The asyncio front gives what the synchronous one gives: the same tree, the same pages."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_web import AsyncClient, Client, Doc, Web
from page_sites import LEAVES, SITES, pages_of
from webs import webs

import usp.aio
import usp.stream
import usp.tree
from cases import cases
from profiles import examples
from usp.exceptions import SitemapException
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, Site, index, outline, robots, urlset


def run(coroutine, seconds: float = 60.0):
    """Run to the end, but not for ever."""

    async def bounded():
        async with asyncio.timeout(seconds):
            return await coroutine

    return asyncio.run(bounded())


async def told(stream) -> list:
    return [(page.sitemap_url, page) async for page in stream]


def home(site, options) -> str:
    return site.url("/" if options.get("normalize_homepage_url", True) else "/blog/")


def site_free(site: Site, text: object) -> str:
    return str(text).replace(site.base, "{base}").replace(site.alt, "{alt}")


def facts(node) -> tuple:
    """Give what a node says, but for the words of an error, which are the client's."""
    reason = getattr(node, "reason", "").partition(": ")[0]
    problems = [problem.message.partition(":")[0] for problem in node.problems]
    return type(node).__name__, node.url, node.last_modified, reason, problems


@pytest.mark.parametrize("name", SITES)
def test_tree_and_stream_are_those_of_the_synchronous_front(serve, name):
    spec = SITES[name]
    mine, theirs, streamed = (serve(spec.answers) for _ in range(3))

    async def look():
        tree = usp.aio.sitemap_tree_for_homepage(home(mine, spec.options), **spec.options)
        stream = usp.aio.pages(home(streamed, spec.options), **spec.options)
        return await tree, await told(stream)

    tree, stream = run(look())
    expected = usp.tree.sitemap_tree_for_homepage(home(theirs, spec.options), **spec.options)
    assert site_free(mine, outline(tree)) == site_free(theirs, outline(expected))
    assert [site_free(mine, facts(node)) for node in tree.all_sitemaps()] == [
        site_free(theirs, facts(node)) for node in expected.all_sitemaps()
    ]
    pages = [
        (site_free(theirs, url), site_free(theirs, page.to_dict()))
        for url, page in pages_of(expected)
    ]
    assert [site_free(mine, page.to_dict()) for page in tree.all_pages()] == [
        page for _, page in pages
    ]
    assert [
        (site_free(streamed, url), site_free(streamed, page.to_dict())) for url, page in stream
    ] == pages


def test_trees_and_pages_are_equal_values(serve):
    for name in cases(["one index", "fields", "feeds and text", "redirects", "packed"]):
        site = serve(SITES[name].answers)
        tree = usp.tree.sitemap_tree_for_homepage(site.base + "/")
        assert run(usp.aio.sitemap_tree_for_homepage(site.base + "/")) == tree
        assert run(told(usp.aio.pages(site.base + "/"))) == pages_of(tree)


ODD_PATHS = [
    "/a b.xml", "/a%20b.xml", "/%7Etilde.xml", "/~tilde.xml", "/%28x%29.xml", "/(x).xml",
    "/é.xml", "/%C3%A9.xml", "/%c3%a9.xml", "/x.xml?a=1&b=%2F", "/x.xml?q=a+b", "/x.xml?q=a%20b",
    "/a//b.xml", "/x%2Fy.xml", "/x.xml?u=http://h/%3Fa", "/x;y=1.xml", "/x.xml?", "/%25.xml",
    "/x.xml?a=%26", "/x.xml?a=%2B", "/x'y.xml", "/x!$*,.xml", "/x.xml?a[]=1", "/x|y.xml", "/%zz.xml",
]  # fmt: skip


@pytest.mark.parametrize("path", ODD_PATHS)
def test_odd_addresses_are_asked_for_as_they_are_written_or_as_the_other_front_does(serve, path):
    """A signature in an address is of use only if the address arrives as it was written."""
    loc = path.replace("&", "&amp;")
    site = serve({"/i.xml": index(loc)})

    class Any:
        def get(self, asked, default):
            return Answer(index(loc) if asked == "/i.xml" else urlset("/p"))

    site.answers = Any()
    tree = usp.tree.sitemap_tree_for_sitemap(site.url("/i.xml"))
    by_threads = [request.path for request in site.requests]
    site.requests.clear()
    by_loop = run(usp.aio.sitemap_tree_for_sitemap(site.url("/i.xml")))
    asked = [request.path for request in site.requests]
    assert asked in (by_threads, ["/i.xml", path])
    assert outline(by_loop) == outline(tree) or asked != by_threads
    assert by_loop.page_count() == tree.page_count() == 1


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

    async def both():
        tree = await usp.aio.sitemap_tree_for_homepage("http://h/", client(), **options)
        return tree, await told(usp.aio.pages("http://h/", client(), **options))

    tree, stream = run(both())
    expected = usp.tree.sitemap_tree_for_homepage("http://h/", Client(Web(docs), 1), **options)
    assert tree == expected
    assert stream == pages_of(expected)


CALLBACKS = {
    "recurse_callback": lambda url, *_: not url.endswith("/a.xml"),
    "recurse_list_callback": lambda urls, *_: urls[::-1],
    "recurse_entry_callback": lambda child: "b.xml" not in child.url,
}


def test_callbacks_choose_the_same(serve):
    for name in cases(CALLBACKS):
        callback = {name: CALLBACKS[name]}
        site = serve({"/robots.txt": robots("/i.xml", "/c.xml"), "/i.xml": index(*LEAVES)} | LEAVES)
        tree = usp.tree.sitemap_tree_for_homepage(site.base + "/", **callback)
        assert run(usp.aio.sitemap_tree_for_homepage(site.base + "/", **callback)) == tree
        assert run(told(usp.aio.pages(site.base + "/", **callback))) == pages_of(tree)
        one = usp.tree.sitemap_tree_for_sitemap(site.url("/i.xml"), **callback)
        assert run(usp.aio.sitemap_tree_for_sitemap(site.url("/i.xml"), **callback)) == one


def test_events_are_told_as_by_the_synchronous_front(serve):
    site = serve({"/robots.txt": robots("/i.xml"), "/i.xml": index(*LEAVES)} | LEAVES)
    mine, theirs, streamed = [], [], []
    run(usp.aio.sitemap_tree_for_homepage(site.base + "/", on_event=mine.append))
    run(told(usp.aio.pages(site.base + "/", on_event=streamed.append)))
    usp.tree.sitemap_tree_for_homepage(site.base + "/", on_event=theirs.append)

    def names(events):
        return sorted((type(event).__name__, event.url) for event in events)

    assert names(mine) == names(theirs) == names(streamed)


def test_a_sitemap_whose_address_is_known(serve):
    for path in cases(["/i.xml", "/a.xml", "/robots.txt", "/gone.xml", "/moved.xml"]):
        site = serve({"/robots.txt": robots("/i.xml"), "/i.xml": index(*LEAVES)} | LEAVES)
        site.answers["/moved.xml"] = Answer(redirect="/i.xml")
        tree = usp.tree.sitemap_tree_for_sitemap(site.url(path))
        assert run(usp.aio.sitemap_tree_for_sitemap(site.url(path))) == tree


def test_a_bad_url_is_refused():
    for url in cases(["ftp://h/", "h", "", "/sitemap.xml"]):
        with pytest.raises(SitemapException, match="HTTP"):
            usp.aio.pages(url)  # at once, not when the first page is asked for
        with pytest.raises(SitemapException, match="HTTP"):
            run(usp.aio.sitemap_tree_for_homepage(url))
        with pytest.raises(SitemapException, match="HTTP"):
            run(usp.aio.sitemap_tree_for_sitemap(url))


def test_an_option_that_does_not_exist_is_a_mistake_at_once():
    with pytest.raises(TypeError, match="use_robot"):
        usp.aio.pages("http://h/", use_robot=False)
    with pytest.raises(TypeError, match="use_robot"):
        run(usp.aio.sitemap_tree_for_homepage("http://h/", use_robot=False))


def test_a_synchronous_client_plugs_in(serve):
    for at_once in cases([1, 4]):
        site = serve({"/robots.txt": robots("/i.xml"), "/i.xml": index(*LEAVES)} | LEAVES)
        tree = usp.tree.sitemap_tree_for_homepage(site.base + "/")
        client = RequestsWebClient(max_concurrent_requests=at_once)
        assert run(usp.aio.sitemap_tree_for_homepage(site.base + "/", client)) == tree
        assert run(told(usp.aio.pages(site.base + "/", client))) == pages_of(tree)
        client.close()


def test_a_synchronous_client_is_asked_for_no_more_than_it_allows():
    for at_once in cases([1, 3]):
        names = [f"/{n}.xml" for n in range(20)]
        web = Web({"/robots.txt": robots(*names)} | {name: urlset(f"/of{name}") for name in names})
        client = Client(web, at_once, lambda *_: time.sleep(0.003))
        tree = run(usp.aio.sitemap_tree_for_homepage("http://h/", client))
        assert [page.url for page in tree.all_pages()] == [f"http://h/of{name}" for name in names]
        assert web.most == at_once


def test_the_own_client_asks_for_several_things_at_a_time_but_never_more_than_eight(serve):
    names = [f"/{n}.xml" for n in range(24)]
    site = serve(
        {"/i.xml": index(*names, *(f"{{alt}}{name}" for name in names))}
        | {name: Answer(urlset(f"/of{name}"), delay=0.03) for name in names}
        | {f"alt:{name}": Answer(urlset("/a"), delay=0.03) for name in names}
    )
    tree = run(usp.aio.sitemap_tree_for_sitemap(site.url("/i.xml")))
    assert tree.page_count() == 48
    assert 1 < site.most_at_once["base"] <= 8
    assert 1 < site.most_at_once["alt:"] <= 8


def test_a_user_s_own_asynchronous_client_is_asked_for_no_more_than_it_allows():
    for most in cases([1, 2, 5]):
        names = [f"/{n}.xml" for n in range(24)]
        web = Web({"/robots.txt": robots(*names)} | {name: urlset(f"/of{name}") for name in names})

        async def before(*_):
            await asyncio.sleep(0.001)

        client = AsyncClient(web, before)
        client.max_concurrent_requests = most
        tree = run(usp.aio.sitemap_tree_for_homepage("http://h/", client))
        assert tree.page_count() == len(names)
        assert web.most == most
        assert web.limit == 100 * 1024 * 1024 + 1


def test_requests_that_all_end_at_the_same_moment_do_not_end_the_crawl():
    """As many retries as there may be requests are due at once, and are answered at once."""
    for most in cases([1, 2, 4]):
        names = [f"http://h{n % 2}/{n}.xml" for n in range(6 * most)]
        docs = {name: Doc(urlset(f"{name}/p"), stumbles=1) for name in names}
        web = Web({"http://h0/robots.txt": Doc(robots(*names))} | docs, base="")
        client = AsyncClient(web)
        client.max_concurrent_requests = most
        tree = run(usp.aio.sitemap_tree_for_homepage("http://h0/", client, use_known_paths=False))
        assert tree.page_count() == len(names)


def test_a_retry_that_is_due_while_all_hands_are_busy_waits_for_its_turn():
    """And does not keep the news of those that are busy from being read."""
    for most in cases([1, 2]):
        names = [f"http://h{n % 2}/{n}.xml" for n in range(8)]
        docs = {name: Doc(urlset(f"{name}/p"), stumbles=1) for name in names}
        web = Web({"http://h0/robots.txt": Doc(robots(*names))} | docs, base="")

        async def slowly(url):
            await asyncio.sleep(0.01)  # longer than the pause before a retry

        client = AsyncClient(web, before_answer=slowly)
        client.max_concurrent_requests = most
        tree = run(usp.aio.sitemap_tree_for_homepage("http://h0/", client, use_known_paths=False))
        assert tree.page_count() == len(names)
