"""Crawls are shared, kept and cancelled; lists go on with the tree that they began with."""

import asyncio
import threading
from types import SimpleNamespace

from usp._base.display import duration
from usp.mcp import page_tools, tool_call
from website import ONE_PAGE, Answer, urlset


def numbered(*numbers: int) -> dict[str, str]:
    return ONE_PAGE | {"/a.xml": urlset(*(f"/{number}" for number in numbers))}


def test_a_list_goes_on_as_it_began_although_the_website_changes(serve, talk):
    site = serve(numbered(1, 2, 3, 4))
    server, given = talk(), {"url": site.base, "limit": 2}
    first = server.result("list_pages", **given)
    site.answers.update(numbered(7, 8, 9))
    anew = server.result("list_pages", **given, refresh=True)
    rest = server.result("list_pages", **given, cursor=first["next_cursor"])
    again = server.result("list_pages", **given)
    found = [[page["url"][-1] for page in part["pages"]] for part in (first, anew, rest, again)]
    assert found == [["1", "2"], ["7", "8"], ["3", "4"], ["7", "8"]]
    assert site.hits["/a.xml"] == 2


def test_a_cursor_is_for_the_same_arguments_and_for_a_while(serve, talk, monkeypatch):
    site = serve(numbered(1, 2, 3))
    server = talk()
    first = server.result("list_pages", url=site.base, limit=1)
    given = {"url": site.base, "cursor": first["next_cursor"]}
    mixed_up = "not from a call with these arguments"
    assert mixed_up in server.refusal("list_pages", **given, contains="1")
    assert mixed_up in server.refusal("list_sitemaps", **given)
    server.result("list_pages", **given, limit=2)
    later = tool_call.time.monotonic() + 901
    monkeypatch.setattr(tool_call, "time", SimpleNamespace(monotonic=lambda: later))
    said = server.refusal("list_pages", **given)
    assert "The cursor has expired" in said
    assert "without a cursor" in said


def test_trees_are_kept_within_bounds(serve, talk, monkeypatch):
    site = serve({f"/{name}.xml": urlset("/") for name in "abc"})

    for option, bound, hits in (
        ("CACHE_TREES", 2, [2, 1, 1]),
        ("CACHE_BYTES", 100, [2, 1, 1]),
        ("cache_seconds", 0, [4, 2, 2]),
    ):
        monkeypatch.setattr(tool_call, "CACHE_TREES", 8)
        monkeypatch.setattr(tool_call, option, bound, raising=False)
        server = talk(**({option: bound} if option.islower() else {}))
        for name in "abca":
            server.result("list_pages", url=f"{site.base}/{name}.xml")
            server.result("list_sitemaps", url=f"{site.base}/{name}.xml")
        assert [site.hits[f"/{name}.xml"] for name in "abc"] == hits
        site.requests.clear()


def test_calls_at_the_same_time_share_one_crawl(serve, talk):
    site = serve(numbered(1))
    server = talk()

    async def conversation():
        tools = ("list_pages", "check_site", "list_sitemaps")
        calls = [server.client.call_tool(tool, {"url": site.base}) for tool in tools]
        return await asyncio.gather(*calls)

    assert not any(one.is_error for one in server.run(conversation))
    assert site.hits["/a.xml"] == 1


def test_progress_is_told_while_a_website_is_fetched(serve, talk, monkeypatch, gate):
    """The website is not done before the caller has heard of it."""
    monkeypatch.setattr(tool_call, "EVERY", 0.01)
    site = serve(numbered(1) | {"/a.xml": Answer(urlset("/"), gate=gate)})
    told = []

    async def heard(number, total, message):
        told.append((number, message))
        gate.set()

    assert not talk().call("list_pages", {"url": site.base}, progress_callback=heard).is_error
    numbers = [number for number, _ in told]
    assert numbers == sorted(set(numbers))
    assert told[0][1].startswith("fetching: ")


def test_cancelling_a_call_stops_its_crawl_and_those_who_wait_begin_anew(
    serve, talk, monkeypatch, gate
):
    monkeypatch.setattr(tool_call, "EVERY", 0.01)
    crawls: list[str] = []
    crawl = tool_call.tree_of_async

    async def watched(*given):
        crawls.append("begun")
        try:
            return await crawl(*given)
        except asyncio.CancelledError:
            crawls.append("stopped")
            gate.set()
            raise

    monkeypatch.setattr(tool_call, "tree_of_async", watched)
    site = serve(numbered(1) | {"/a.xml": Answer(urlset("/"), gate=gate)})
    server = talk()

    async def conversation():
        begun = asyncio.Event()

        async def heard(number, total, message):
            begun.set()

        call, given = server.client.call_tool, {"url": site.base}
        first = asyncio.create_task(call("list_pages", given, progress_callback=heard))
        await begun.wait()
        second = asyncio.create_task(call("list_pages", given))
        await asyncio.sleep(0.05)
        first.cancel()
        return await second

    assert server.of(server.run(conversation))["total"] == 1
    assert crawls == ["begun", "stopped", "begun"]


def test_reading_that_is_cancelled_gives_its_thread_back(serve, talk, monkeypatch, times):
    """The thread notices at its next step, whoever has waited for it."""
    site, begun, ended = serve({"/a.xml": urlset("/")}), threading.Event(), threading.Event()

    def endless(token, *_):
        begun.set()
        try:
            while True:
                token.step()
        except tool_call.Cancelled:
            ended.set()
            raise

    monkeypatch.setattr(page_tools, "find_pages", endless)
    server, given = talk(limits={"seconds": 60}), {"url": f"{site.base}/a.xml"}

    async def conversation():
        reading = asyncio.create_task(server.client.call_tool("list_pages", given))
        await asyncio.to_thread(begun.wait, 60)
        reading.cancel()
        return await asyncio.to_thread(ended.wait, 60)

    assert server.run(conversation)
    said = talk(limits={"seconds": 0.5 * times}).refusal("list_pages", **given)
    assert f"Reading the pages took longer than {duration(0.5 * times)}" in said
