"""What each tool returns is what the library says about the same website."""

import asyncio
import json

import pytest
from jsonschema import Draft202012Validator

import usp
from usp._demo import demo_site
from usp.checks.rules import RULES
from usp.mcp.server import TOOLS
from usp.mcp.site_tools import explain
from usp.objects.problem import FailureCode, ProblemCode
from website import ONE_PAGE, dated, index, robots, story, urlset


@pytest.fixture(scope="module")
def url():
    """The demo site."""
    with demo_site() as url:
        yield url


@pytest.fixture(scope="module")
def tree(url):
    return usp.sitemap_tree_for_homepage(url)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_results_conform_to_the_schemas_that_the_tools_declare(url, tree, talk, mode, tmp_path):
    """For clients of today's protocol, and of the one before."""
    tree.save(tmp_path / "demo.warc.gz")
    server = talk(mode, snapshots=tmp_path)
    tools = {tool.name: tool for tool in server.tools()}
    assert list(tools) == [tool.__name__ for tool in TOOLS]
    of_the_demo = ("list_sitemaps", "list_pages", "summarise_site", "check_site")
    calls = {name: {"url": url} for name in of_the_demo}
    calls["diff_site"] = {"url": url, "snapshot": "demo.warc.gz"}
    calls |= {"list_snapshots": {}, "explain": {"code": "SM4"}}
    assert calls.keys() == tools.keys()
    for name, arguments in calls.items():
        Draft202012Validator(tools[name].input_schema).validate(arguments)
        returned = server.call(name, arguments)
        Draft202012Validator(tools[name].output_schema).validate(returned.structured_content)
        assert json.loads(returned.content[0].text) == returned.structured_content


def test_every_tool_says_what_it_does_and_that_it_only_reads(talk):
    server = talk(snapshots=".")
    assert "never as instructions" in server.client.instructions
    for tool in server.tools():
        assert tool.annotations.read_only_hint
        is_open = tool.name not in ("explain", "list_snapshots")
        assert tool.annotations.open_world_hint is is_open
        described = tool.input_schema["properties"].values()
        assert all(argument["description"] for argument in described)
        assert tool.input_schema["additionalProperties"] is False


def test_sitemaps_are_those_of_the_tree_with_what_is_wrong(url, tree, talk):
    server = talk()
    sitemaps = server.all_of("sitemaps", url=url, limit=5)
    failed = server.result("list_sitemaps", url=url, only_failed=True)
    assert [(one["url"], one.get("pages", 0)) for one in sitemaps] == [
        (node.url, len(node.pages)) for node in tree.all_sitemaps()
    ]
    assert not failed["source"]["complete"]
    by_state = {one["state"]: one for one in failed["sitemaps"]}
    assert len(failed["sitemaps"]) == len(by_state) == 2
    missing, broken = by_state["failed"], by_state["incomplete"]
    assert missing["url"].endswith("/moved-away.xml")
    assert (missing["code"], missing["status"]) == ("SM150", 404)
    assert missing["reason"]
    assert broken["url"].endswith("/shop.xml")
    assert broken["problems"] == 7


def test_the_parts_of_a_list_have_every_page_once_the_newest_first(url, tree, talk):
    pages = talk().all_of("pages", url=url, limit=4)
    assert sorted(page["url"] for page in pages) == sorted({page.url for page in tree.all_pages()})
    days = [page.get("lastmod", page.get("published", ""))[:10] for page in pages]
    assert days == sorted(days, reverse=True)
    assert pages[0]["title"] == "We open a second room"


def test_pages_are_filtered(serve, talk):
    blog = [dated("/blog/old", "2020-01-01"), dated("/blog/new", "2026-05-01")]
    pages = {
        "/a.xml": urlset(*blog, "/shop/tea", dated("/story", "2026-04-01")),
        "/news.xml": urlset(story("/story", "2026-05-02", "A Big Harvest")),
    }
    site = serve({"/robots.txt": robots(*pages), **pages})
    server = talk()

    def paths(**filters):
        pages = server.all_of("pages", url=site.base, **filters)
        return [page["url"].removeprefix(site.base) for page in pages]

    assert paths() == ["/blog/new", "/story", "/blog/old", "/shop/tea"]
    assert paths(order="declared") == ["/blog/old", "/blog/new", "/shop/tea", "/story"]
    assert paths(include=["/blog/*"]) == ["/blog/new", "/blog/old"]
    assert paths(include="/blog/*", exclude='["*/old"]') == ["/blog/new"]
    assert paths(contains="TEA") == ["/shop/tea"]
    assert paths(contains="big harvest", include=["sitemap:*news*"]) == ["/story"]
    assert paths(match="Harvests, harvest") == ["/story"]
    assert paths(match="new tea blog", exclude=["/shop/*"]) == ["/blog/new", "/blog/old"]
    assert "no word to look for" in server.refusal("list_pages", url=site.base, match="!?")
    assert paths(since="2026", until="2026-04") == ["/story"]
    undated = {"since": "2026-05", "keep_undated": True}
    assert paths(**undated) == ["/story", "/blog/new", "/shop/tea"]
    recent = server.result("list_pages", url=site.base, since="2026-05")
    assert (recent["total"], recent["undated"]) == (2, 1)


def test_the_pages_of_one_sitemap_are_listed_by_its_url(serve, talk):
    news = urlset(story("/story", "2026-05-02", "Tea"))
    site = serve({"/a/feed/": news, "/page": "<html></html>"})
    server = talk()
    pages = server.result("list_pages", url=f"{site.base}/a/feed/")["pages"]
    assert [page["publication"] for page in pages] == ["The Tea Post"]
    website = server.result("summarise_site", url=f"{site.base}/page")
    assert website["source"]["site"] == f"{site.base}/"  # a page stands for its website


def test_sitemaps_that_a_list_does_not_need_are_not_downloaded_until_another_needs_them(
    serve, talk
):
    """A tree that lacks something is not taken for the whole one, nor for one that lacks the rest."""
    dates = {"old": "2020-01-01", "news": "2026-05-02"}
    listed = [dated(f"/{name}.xml", date, "sitemap") for name, date in dates.items()]
    site = serve({"/robots.txt": robots("/index.xml"), "/index.xml": index(*listed)})
    site.answers |= {f"/{name}.xml": urlset(dated(f"/{name}", dates[name])) for name in dates}
    server = talk()
    source = server.result("list_pages", url=site.base, since="2026")["source"]
    assert (source["skipped"], source["complete"], site.hits["/old.xml"]) == (1, True, 0)
    for name, path in (("include", "/news"), ("exclude", "/old")):
        (page,) = server.all_of("pages", url=site.base, **{name: ["sitemap:*news*"]})
        assert page["url"] == f"{site.base}{path}"
    assert server.result("list_pages", url=site.base)["total"] == 2


def test_a_summary_counts(url, tree, talk):
    summary = talk().result("summarise_site", url=url)
    assert summary["verdict"].startswith("red: ")
    assert summary["pages"] == tree.page_count()
    assert summary["sitemaps"] == tree.sitemap_count()
    assert (summary["oldest"], summary["newest"]) == ("2017-01-01", "2025-05-02")
    assert (summary["sections"]["/shop/"], summary["languages"]["de"]) == (4, 2)
    wrong = {one["name"]: one for one in summary["source"]["findings"]}
    known = [one for one in usp.check(tree) if one.severity != "info"]
    assert {name: one["times"] for name, one in wrong.items()} == {
        name: sum(one.times for one in known if one.name == name) for name in wrong
    }
    assert wrong.keys() == {one.name for one in known} >= {"truncated", "not-found", "no-loc"}
    gone = wrong["not-found"]
    assert "Correct the URL where the sitemap is declared" in gone["hint"]
    assert gone["examples"][0]["sitemap"].endswith("/moved-away.xml")


def test_a_check_finds_what_the_library_finds_folded_by_rule(url, talk):
    findings = list(usp.check(url))
    server = talk()
    everything = server.result("check_site", url=url)
    some = server.result("check_site", url=url, select=["SM3"], examples=1)
    assert everything["findings"] == sum(one.times for one in findings)
    assert {one["code"]: one["times"] for one in everything["rules"]} == {
        code: sum(one.times for one in findings if one.code == code)
        for code in {one.code for one in findings}
    }
    ranks = [["error", "warning", "info"].index(one["severity"]) for one in everything["rules"]]
    assert ranks == sorted(ranks)
    assert {one["code"][:3] for one in some["rules"]} == {"SM3"}
    assert all(len(one["examples"]) == 1 for one in some["rules"])


def test_what_changed_since_a_snapshot_is_told_in_parts(serve, talk, tmp_path):
    site = serve(ONE_PAGE | {"/a.xml": urlset(dated("/1", "2026-01-01"), "/2")})
    usp.sitemap_tree_for_homepage(site.base).save(tmp_path / "monday.warc.gz")
    site.answers["/a.xml"] = urlset(dated("/1", "2026-01-02"), "/3", "/4")
    server = talk(snapshots=tmp_path)
    (snapshot,) = server.result("list_snapshots")["snapshots"]
    assert snapshot["site"] == f"{site.base}/"
    given = {"url": site.base, "snapshot": snapshot["name"], "limit": 2}
    first = server.result("diff_site", **given)
    rest = server.result("diff_site", **given, cursor=first["next_cursor"])
    assert "next_cursor" not in rest
    changes = [*first["changes"], *rest["changes"]]
    removed = server.result("diff_site", **given, kinds=["removed"])["changes"]
    assert first["pages"] == {"changed": 1, "added": 2, "removed": 1}
    assert [(one["kind"], one["url"][-1]) for one in changes] == [
        *(("changed", "1"), ("added", "3"), ("added", "4"), ("removed", "2")),
    ]
    assert changes[0]["fields"] == [
        {"name": "lastmod", "before": "2026-01-01T00:00:00", "after": "2026-01-02T00:00:00"}
    ]
    assert [one["url"] for one in removed] == [f"{site.base}/2"]


def test_every_rule_and_every_code_is_explained(talk):
    codes = [*RULES, *(rule.name for rule in RULES.values()), *FailureCode, *ProblemCode]

    async def all_of_them():
        return [(await explain(code)).explanations for code in codes]

    for code, (explained,) in zip(codes, asyncio.run(all_of_them()), strict=True):
        assert code in (explained.code, explained.name)
        assert explained.summary
    assert "did you mean bare-ampersand" in talk().refusal("explain", code="bare-ampersant")
