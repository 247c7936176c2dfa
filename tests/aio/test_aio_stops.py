"""Cancelling cancels; nothing is left behind: no request, no task, no session, no file."""

import asyncio
import threading

import pytest

import usp.aio
import usp.stream
import usp.tree
from fronts import happens, rest, run
from memory_web import AsyncClient, Client, Doc, Web
from usp._crawl.asyncio_driver import AsyncioDriver
from website import Answer, indexed, robots, urlset

SITE = indexed("/a.xml", "/b.xml") | {"/a.xml": urlset("/a1", "/a2"), "/b.xml": urlset("/b")}
EXPECTED = ["/a1", "/a2", "/b"]


# Stopping -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("front", ["tree", "pages"])
def test_a_cancellation_that_comes_with_news_is_not_lost(monkeypatch, front):
    """The task is cancelled in the very turn of the loop in which a document has come."""
    put = AsyncioDriver._put

    async def cancel():
        client = AsyncClient(Web(SITE))
        task = asyncio.create_task(
            usp.aio.sitemap_tree_for_homepage("http://h/", client)
            if front == "tree"
            else rest(usp.aio.pages("http://h/", client))
        )

        def put_and_cancel(self, order, what):
            put(self, order, what)
            if order.url.endswith("/i.xml"):
                task.cancel()

        monkeypatch.setattr(AsyncioDriver, "_put", put_and_cancel)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert "/b.xml" not in client.web.asked

    run(cancel())


def test_a_cancelled_request_lets_go_of_its_answer():
    web = Web({"/robots.txt": Doc(robots("/a.xml")), "/a.xml": Doc(urlset("/p"), pieces=3)})

    async def before(url, piece):
        if piece == 2:
            await asyncio.Event().wait()

    async def cancel():
        client = AsyncClient(web, before)
        tree = usp.aio.sitemap_tree_for_homepage("http://h/", client, use_known_paths=False)
        task = asyncio.create_task(tree)
        await happens(lambda: web.asked == ["/robots.txt", "/a.xml"])
        await asyncio.sleep(0.01)
        assert +web.open
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not +web.open

    run(cancel())


def test_an_endless_answer_to_a_synchronous_client_ends_with_the_stream(serve):
    """The loop waits for its threads when it is closed: they must end."""
    web = Web({"/robots.txt": robots("/x")})
    done, served = threading.Event(), []

    def before(url, piece):
        if url.endswith("/x"):
            served.append(piece)
            done.wait(0.005)

    web.docs["/x"] = Doc(urlset(*(f"/{n}" for n in range(3000))), pieces=1000)
    client = Client(web, 4, before)

    async def read():
        async with asyncio.timeout(0.3):
            await usp.aio.sitemap_tree_for_homepage("http://h/", client, use_known_paths=False)

    with pytest.raises(TimeoutError):
        asyncio.run(read())
    done.set()
    assert len(served) < 500


# Where it runs --------------------------------------------------------------------------------------


def urls(site, pages) -> list[str]:
    return [page.url.removeprefix(site.base) for page in pages]


def test_it_works_inside_a_running_loop_beside_other_work(serve, times):
    """As in a notebook: the loop goes on with other tasks meanwhile."""
    site = serve({**SITE, "/a.xml": Answer(SITE["/a.xml"], delay=0.1 * times)})

    async def read():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.005)

        ticking = asyncio.create_task(tick())
        tree, pages = await asyncio.gather(
            usp.aio.sitemap_tree_for_homepage(site.base + "/"), rest(usp.aio.pages(site.base + "/"))
        )
        ticking.cancel()
        return ticks, tree, pages

    ticks, tree, pages = run(read())
    assert urls(site, tree.all_pages()) == urls(site, pages) == EXPECTED
    assert ticks > 5


def test_it_works_in_plain_threads_each_with_a_loop_of_its_own(serve):
    site = serve(SITE)
    found: list = []

    def work():
        tree = asyncio.run(usp.aio.sitemap_tree_for_homepage(site.base + "/"))
        pages = asyncio.run(rest(usp.aio.pages(site.base + "/")))
        found.append((urls(site, tree.all_pages()), urls(site, pages)))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [(EXPECTED, EXPECTED)] * 3


def test_the_synchronous_front_works_inside_a_running_loop(serve, threads_end):
    site = serve(SITE)

    async def read():
        tree = usp.tree.sitemap_tree_for_homepage(site.base + "/")
        return tree, list(usp.stream.pages(site.base + "/"))

    tree, pages = run(read())
    assert urls(site, tree.all_pages()) == urls(site, pages) == EXPECTED
    assert threads_end()
