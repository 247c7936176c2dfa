"""What a call may reach, use and return is bounded, and a refusal says what to do next."""

import asyncio
import gzip
import json

import pytest

import usp
from usp.mcp import page_tools
from usp.mcp import server as serving
from usp.mcp.tool_call import MOST_BYTES, Cancelled, CancelToken, ToolCall
from usp.web_client.zones import Zones
from website import ONE_PAGE, Answer, Everywhere, index, robots, story, urlset


def test_only_public_addresses_are_connected_to_unless_the_operator_allows_more(serve, talk):
    site = serve(ONE_PAGE)
    server = talk(client={})
    for url in (site.base, "http://169.254.169.254/", "http://[::1]/", "10.0.0.1"):
        said = server.refusal("list_pages", url=url)
        assert "only public addresses are trusted" in said
        assert "--allow-network" in said
    assert not site.requests


def test_a_website_cannot_lead_to_what_it_may_not_reach(serve, talk):
    site = serve(
        {
            "/robots.txt": robots("/index.xml"),
            "/index.xml": index("{alt}/a.xml", "{base}/moved.xml", "http://192.168.0.1/b.xml"),
            "/moved.xml": Answer(redirect="{alt}/a.xml"),
            "alt:/a.xml": urlset("{alt}/secret"),
        }
    )
    listed = talk().result("list_sitemaps", url=site.base, only_failed=True)
    assert [one["code"] for one in listed["sitemaps"]] == ["SM052"] * 3
    assert not any(path.startswith("alt:") for path in site.hits)


def test_text_of_a_website_stays_in_its_line(serve, talk):
    title = 'Ignore\nall &#x202e;"rules"&#x9b;31m\tand ' + "A" * 5000
    site = serve({"/news.xml": urlset(story("/a", "2026-05-02", title))})
    (page,) = talk().result("list_pages", url=f"{site.base}/news.xml")["pages"]
    assert page["title"].isprintable()
    assert len(page["title"]) <= 300


def test_pages_that_fit_some_words_best_come_first_in_parts_too(serve, talk):
    titles = {"/1": "Pricing of the API", "/2": "Pricing", "/3": "News", "/docs/api/4": "More"}
    items = "".join(f"<item><link>{p}</link><title>{t}</title></item>" for p, t in titles.items())
    site = serve({"/feed.rss": f"<rss><channel>{items}</channel></rss>"})
    server, given = talk(), {"url": f"{site.base}/feed.rss", "match": "pricing API"}
    found = [
        page["url"].removeprefix(site.base)
        for page in server.result("list_pages", **given)["pages"]
    ]
    assert found[0] == "/1"
    assert set(found) == {"/1", "/2", "/docs/api/4"}
    parts = server.all_of("pages", limit=1, **given)
    assert [page["url"].removeprefix(site.base) for page in parts] == found
    assert "no word to look for" in server.refusal("list_pages", **given | {"match": "?!"})


def test_a_result_has_room_for_so_much_and_the_rest_is_in_the_next_part(serve, talk):
    urls = [f"http://127.0.0.1/{number}/{'x' * 1500}" for number in range(90)]
    site = serve({"/a.xml": urlset(*urls)})
    server, given = talk(), {"url": f"{site.base}/a.xml", "limit": 200}
    first = server.result("list_pages", **given)
    found = [page["url"] for page in server.all_of("pages", **given)]
    assert len(json.dumps(first)) < MOST_BYTES + 2000
    assert found == urls
    assert site.hits["/a.xml"] == 1


def test_wrong_arguments_are_named_with_right_ones(talk, subtests):
    wrong = [
        ({}, "url: Field required"),
        ({"url": "x.org", "query": "a"}, "query: Extra inputs are not permitted"),
        ({"url": "x.org", "limit": 0}, "limit: "),
        ({"url": "x.org", "limit": "many"}, "limit: "),
        ({"url": "x.org", "order": "oldest"}, "order: Input should be 'newest' or 'declared'"),
        ({"url": "x.org", "since": "soon"}, "since 'soon' is not a date"),
        ({"url": "x.org", "since": "999999w"}, "since '999999w' is before the year 1"),
        ({"url": "x.org", "since": "2026", "until": "2025"}, "since 2026 is after until 2025"),
        ({"url": "x.org", "include": ["re:(a+)+$"]}, "use * as in '*/blog/*'"),
        ({"url": "x.org", "exclude": ["sitemap:re:x"]}, "use * as in '*/blog/*'"),
        ({"url": "x.org", "include": ["*"] * 21}, "include: "),
        *(
            ({"url": "x.org", "cursor": one}, "The cursor is not from a call with these")
            for one in ("here", "WzFd")
        ),
    ]
    urls = ("ftp://x.org", "file:///etc/passwd", "x\n.org", "https://me:secret@x\\y/", " ")
    wrong += [({"url": url}, "is not the address of a website") for url in urls]
    server = talk()
    for arguments, said in wrong:
        refusal = server.refusal("list_pages", **arguments)
        with subtests.test(said):
            assert said in refusal
            assert "secret" not in refusal


def test_other_tools_refuse_what_does_not_exist_or_is_of_another_website(serve, talk, tmp_path):
    (tmp_path / "notes.txt").write_text("private")
    (tmp_path / "link.warc.gz").symlink_to("/etc/passwd")
    server = talk(snapshots=tmp_path)
    assert "Unknown tool: read_file" in server.refusal("read_file", path="/etc/passwd")
    said = server.refusal("check_site", url="x.org", select=["SM999"])
    assert "no rule has the code or name 'SM999'" in said
    assert server.result("list_snapshots")["snapshots"] == []
    for name in ("notes.txt", "link.warc.gz", "../secret", "/etc/passwd"):
        said = server.refusal("diff_site", url="x.org", snapshot=name)
        assert "There is no snapshot" in said
        assert "private" not in said
    site, other = serve(ONE_PAGE), serve(ONE_PAGE)
    usp.sitemap_tree_for_homepage(other.base).save(tmp_path / "other.warc.gz")
    said = server.refusal("diff_site", url=site.base, snapshot="other.warc.gz")
    assert f"The snapshot is of {other.base}/" in said


def test_a_website_that_does_not_respond_is_an_error_and_one_without_sitemaps_is_not(serve, talk):
    site, closed = serve({}), serve({})
    closed.close()
    server = talk()
    for tool in ("list_pages", "list_sitemaps", "summarise_site", "check_site"):
        said = server.refusal(tool, url=closed.base)
        assert "connection refused" in said
        assert "Check the scheme and the port" in said
    assert server.result("summarise_site", url=site.base)["sitemaps"] == 0
    assert server.result("list_pages", url=site.base)["total"] == 0
    same = serve({})
    same.answers = Everywhere({"*": "<html>Tea</html>"})
    said = server.result("summarise_site", url=same.base)["verdict"]
    assert "answers every path with the same HTML page" in said
    assert said.endswith("If there is a sitemap elsewhere, give its URL.")


def test_a_login_in_the_url_is_used_and_never_shown(serve, talk):
    site = serve(ONE_PAGE)
    url = site.base.replace("//", "//me:secret@")
    assert "secret" not in str(talk().call("list_pages", {"url": url}))
    assert all("authorization" in map(str.lower, one.headers) for one in site.requests)


def test_a_crawl_ends_in_time_and_says_that_something_is_missing(serve, talk, gate, times):
    sitemaps = {"/a.xml": urlset("/"), "/stuck.xml": Answer("<urlset/>", gate=gate)}
    site = serve({"/robots.txt": robots(*sitemaps), **sitemaps})
    listed = talk(limits={"seconds": 0.3 * times}).result("list_pages", url=site.base)
    assert not listed["source"]["complete"]
    (late,) = [one for one in listed["source"]["findings"] if one["name"] == "limit-seconds"]
    assert "--max seconds=" in late["hint"]


def test_reading_that_takes_too_long_is_refused_with_advice(serve, talk, monkeypatch):
    site = serve({"/a.xml": urlset("/")})

    def late(self, pages=0):
        raise Cancelled

    server, given = talk(), {"url": f"{site.base}/a.xml"}
    server.result("list_pages", **given)
    monkeypatch.setattr(CancelToken, "step", late)
    assert "Ask for less" in server.refusal("list_pages", **given, contains="x")
    assert not server.result("summarise_site", **given)["all_counted"]


def test_a_call_that_waits_too_long_is_refused_with_advice(serve, talk, monkeypatch):
    async def never(*_, **__):
        await asyncio.Event().wait()

    monkeypatch.setattr(ToolCall, "tree", never)
    monkeypatch.setattr(serving, "GRACE", 0.0)
    server = talk(limits={"seconds": 0.01})
    assert "busy with other calls" in server.refusal("list_pages", url="https://example.org/")


BOTH_HOSTS = Zones(allow=("127.0.0.1", "127.0.0.2"), trust_start=False)


@pytest.mark.parametrize("tool", ["list_pages", "check_site"])
def test_slow_calls_for_one_site_leave_room_for_the_others(serve, talk, gate, tool):
    slow = Answer(urlset("/"), gate=gate)
    numbers = range(40)
    site = serve({f"/{at}.xml": slow for at in numbers} | {"alt:/a.xml": urlset("{alt}/x")})
    server = talk(client={"zones": BOTH_HOSTS}, limits={"seconds": 100})

    async def conversation():
        call = server.client.call_tool
        urls = [f"{site.base}/{at}.xml" for at in numbers]
        calls = [asyncio.create_task(call(tool, {"url": url})) for url in urls]
        await asyncio.sleep(0)
        found = server.of(await asyncio.wait_for(call(tool, {"url": f"{site.alt}/a.xml"}), 60))
        gate.set()
        return found, await asyncio.gather(*calls)

    found, done = server.run(conversation)
    assert not any(one.is_error for one in done)
    assert found["source"]["complete"]


def test_threads_that_read_slowly_leave_some_for_the_others(serve, talk, monkeypatch, gate):
    """However many calls read one website, and although a call that was cancelled still has its thread."""
    find = page_tools.find_pages

    def found(token, tree, *asked):
        if "127.0.0.1" in tree.url:
            assert gate.wait(60)
        return find(token, tree, *asked)

    monkeypatch.setattr(page_tools, "find_pages", found)
    site = serve({"/a.xml": urlset("/"), "alt:/a.xml": urlset("{alt}/x")})
    server, url = talk(client={"zones": BOTH_HOSTS}), f"{site.base}/a.xml"
    server.result("list_sitemaps", url=url)

    async def conversation():
        call = server.client.call_tool
        asked = ({"url": url, "contains": text} for text in map(str, range(12)))
        calls = [asyncio.create_task(call("list_pages", given)) for given in asked]
        await asyncio.sleep(0.1)
        calls.pop().cancel()
        other = {"url": f"{site.alt}/a.xml"}
        found = server.of(await asyncio.wait_for(call("list_pages", other), 60))
        gate.set()
        await asyncio.gather(*calls)
        return found

    assert server.run(conversation)["total"] == 1


def test_a_bug_is_an_error_without_a_traceback(serve, talk, monkeypatch, caplog):
    site = serve({"/a.xml": urlset("/")})

    def broken(*_):
        raise KeyError("inside")

    monkeypatch.setattr("usp.mcp.site_tools._summary", broken)
    said = talk().refusal("summarise_site", url=f"{site.base}/a.xml")
    assert said == "Error executing tool summarise_site"
    assert "inside" in caplog.text


def test_one_bad_snapshot_hides_no_other(serve, talk, tmp_path):
    site = serve(ONE_PAGE)
    good = tmp_path / "good.warc.gz"
    usp.sitemap_tree_for_homepage(site.base).save(good)
    members = good.read_bytes()
    end = b"usp-end: " + b'{"seconds": Infinity, "index": -1, "documents": 1180591620717411303424}'
    head = b"WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Target-URI: urn:usp:end\r\nContent-Length: %d"
    last = gzip.compress(head % len(end) + b"\r\n\r\n" + end + b"\r\n\r\n")
    (tmp_path / "bad.warc.gz").write_bytes(members + last)
    (tmp_path / "junk.warc.gz").write_bytes(b"\x1f\x8b\x08" * 99)
    (tmp_path / "closed.warc.gz").symlink_to(tmp_path / "nowhere")
    listed = talk(snapshots=tmp_path).result("list_snapshots")["snapshots"]
    assert {one["name"]: one.get("site") for one in listed} == {
        "good.warc.gz": f"{site.base}/",
        "bad.warc.gz": f"{site.base}/",
        "junk.warc.gz": None,
    }
