"""The first page comes with the first piece of the first sitemap, not with its last."""

import gzip
import threading
import zlib
from dataclasses import replace

from cases import cases
from fronts import every_stream, happens, run
from memory_web import Client, Doc, Web
from patience import within
from usp.stream import pages
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, atom, index, robots, rss, urlset

MANY = [f"/page/{n:05}" for n in range(4000)]


def packed(document: str) -> bytes:
    return gzip.compress(document.encode())


DOCUMENTS = {
    "urlset": urlset(*MANY),
    "rss": rss(*MANY),
    "atom": atom(*MANY),
    "text": "\n".join("https://h" + url for url in MANY * 2),
    "gzip": packed(urlset(*(f"https://h/{zlib.crc32(url.encode())}{url}" for url in MANY))),
    "a comment before every entry": urlset(
        *(f"<!-- {n} --><url><loc>{{base}}/{n}</loc></url>" for n in range(4000))
    ),
}


INDEX = {"/robots.txt": robots("/i.xml"), "/i.xml": index("/x", "/gone.xml")}
KNOWN = {"/robots.txt": robots("/gone.xml"), "/sitemap.xml": index("/x")}


async def halted(coming, sitemap: str, seen: threading.Event) -> set:
    """Read a stream whose sitemap is held back until its first page was seen; give its pages."""
    first = await coming.one()
    assert first.sitemap_url == sitemap
    assert not seen.is_set()
    seen.set()
    return {first, *await coming.rest()}


@every_stream
def test_a_page_comes_before_its_sitemap_has_been_received(serve, front):
    """The server holds the second half back until the consumer has seen a page."""
    synchronous = [{"web_client": RequestsWebClient()}] if front.awaits else []
    for answers, body, options in cases(
        [
            *(({"/robots.txt": robots("/x")}, body, {}) for body in DOCUMENTS.values()),
            *(({"/robots.txt": robots("/x")}, urlset(*MANY), client) for client in synchronous),
            (INDEX, urlset(*MANY), {}),
            (KNOWN, urlset(*MANY), {"use_known_paths": True}),
            ({"/sitemap.xml": Answer(redirect="/x")}, urlset(*MANY), {"use_known_paths": True}),
            ({"/": '<link rel="sitemap" href="/x">'}, urlset(*MANY), {"use_html_links": True}),
        ]
    ):
        seen = threading.Event()
        site = serve(answers | {"/x": Answer(body, stall=seen)})
        coming = front.coming(site.base + "/", **options)
        assert len(run(halted(coming, site.url("/x"), seen))) >= 4000


def test_the_first_page_does_not_wait_for_other_documents(serve):
    """Neither for later sitemaps, nor for known paths."""
    seen = threading.Event()
    later = {f"/{n}.xml": Answer(urlset(f"/{n}"), gate=seen) for n in range(5)}
    site = serve(
        {"/robots.txt": robots("/a.xml", *later), "/a.xml": urlset("/first")}
        | later
        | {"/sitemap.xml": Answer(urlset("/known"), gate=seen)}
    )
    with within(60):
        stream = pages(site.base + "/")
        assert next(stream).url == site.url("/first")
        assert not seen.is_set()
        seen.set()
        rest = [page.url.removeprefix(site.base) for page in stream]
    assert rest == ["/0", "/1", "/2", "/3", "/4", "/known"]


def test_pages_of_known_paths_come_after_those_of_robots_txt(serve):
    """Even if they are there first: they wait."""
    known_is_there = threading.Event()
    site = serve(
        {"/robots.txt": Answer(robots("/a.xml"), gate=known_is_there)}
        | {"/a.xml": urlset("/a"), "/sitemap.xml": urlset("/known")}
    )

    def listen(event):
        if type(event).__name__ == "PagesReady":
            known_is_there.set()

    with within(60):
        stream = pages(site.base + "/", on_event=listen)
        assert [page.url.removeprefix(site.base) for page in stream] == ["/a", "/known"]


@every_stream
def test_every_piece_is_given_before_the_next_one_must_come(front):
    """A consumer that needs each page before it asks for more is served in lockstep."""
    steps = [threading.Event() for _ in range(20)]

    def before(url, piece):
        if url.endswith("/x"):
            assert steps[piece].wait(120)

    async def read():
        coming = front.coming("http://h/", front.client(web, before))
        for count in range(200):
            for step in steps[: count // 8 + 2]:  # the first piece is half the head of the document
                step.set()
            assert (await coming.one()).url == f"http://h/{count:04}"
        assert await coming.rest() == []

    web = Web({"/robots.txt": robots("/x")})
    web.docs["/x"] = Doc(urlset(*(f"/{n:04}" for n in range(200))), pieces=20)
    run(read())


def test_what_one_client_at_a_time_has_fetched_is_given_before_it_is_asked_again():
    web = Web({"/robots.txt": robots("/i.xml", "/d.xml"), "/i.xml": index("/a.xml", "/b.xml")})
    web.docs |= {f"/{n}.xml": Doc(urlset(f"/{n}1", f"/{n}2")) for n in "abd"}
    threads = set()
    client = Client(web, 1, lambda *_: threads.add(threading.get_ident()))
    stream = pages("http://h/", client, use_known_paths=False)
    assert web.asked == []
    for sitemap in "abd":
        assert next(stream).url == f"http://h/{sitemap}1"
        asked = list(web.asked)
        assert next(stream).url == f"http://h/{sitemap}2"
        assert web.asked == asked
        assert asked[-1] == f"/{sitemap}.xml"
    assert list(stream) == []
    assert web.asked == ["/robots.txt", "/i.xml", "/a.xml", "/b.xml", "/d.xml"]
    assert threads == {threading.get_ident()}
    assert web.most == 1


@every_stream
def test_a_slow_consumer_makes_documents_wait_in_the_store_not_connections(front, threads_end):
    """While he looks at one page, what was under way comes in to its end; its connection is free."""
    names = [f"/{n}.xml" for n in range(6)]
    large = [f"/{n}/" + "x" * 500 for n in range(1200)]  # more than is kept in memory
    web = Web({"/robots.txt": robots(*names)})
    web.docs |= {name: Doc(urlset(*large), pieces=30) for name in names}

    async def read():
        coming = front.coming("http://h/", replace(front, at_once=8).client(web))
        await coming.one()
        await happens(lambda: len(web.asked) == 7 and not +web.open)
        web.docs.clear()  # nothing can be fetched now
        return 1 + len(await coming.rest())

    assert run(read()) == 6 * 1200
    assert threads_end()
