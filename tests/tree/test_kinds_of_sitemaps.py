"""Sitemaps that are not of the protocol: what they declare is followed, as the children of an index are."""

import json

from fronts import every_front
from usp.limits import Limits
from usp.tree import sitemap_tree_for_sitemap
from website import Answer, outline, robots

JSON_FEED = "https://jsonfeed.org/version/1.1"


def json_feed(*paths, **more):
    items = [{"id": path, "url": path, "title": path, "content_text": ""} for path in paths]
    return json.dumps({"version": JSON_FEED, "title": "T", **more, "items": items})


FEEDS = {
    "/feed.json": json_feed("/1", "/2", next_url="/feed.json?page=2"),
    "/feed.json?page=2": Answer(json_feed("/2", "/3", next_url="/feed.json?page=3")),
    "/feed.json?page=3": Answer(json_feed("/4", next_url="/feed.json")),
}


@every_front
def test_the_next_page_of_a_json_feed_is_followed(serve, front):
    site = serve({"/robots.txt": robots("/feed.json"), **FEEDS})
    tree = front.tree(site.base + "/")
    own, more = ("PagesJSONFeedSitemap", "/feed.json"), "/feed.json?page="
    back = ("InvalidSitemap", "/feed.json")
    third = [("PagesJSONFeedSitemap", f"{more}3"), back]
    second = [("PagesJSONFeedSitemap", f"{more}2"), ("IndexJSONFeedSitemap", f"{more}3", third)]
    below = [own, ("IndexJSONFeedSitemap", f"{more}2", second)]
    feed = ("IndexJSONFeedSitemap", "/feed.json", below)
    assert outline(tree, site.base)[2] == [("IndexRobotsTxtSitemap", "/robots.txt", [feed])]
    assert tree.failures() == []  # what leads back to itself is not missing
    assert [node.problems for node in tree.all_sitemaps()] == [[]] * 8
    expected = [site.url(path) for path in ("/1", "/2", "/2", "/3", "/4")]
    assert [page.url for page in tree.all_pages()] == expected
    assert [page.url for page in front.pages(site.base + "/")] == expected


def test_a_json_feed_is_followed_as_deep_as_the_limit_allows(serve):
    site = serve(FEEDS)
    tree = sitemap_tree_for_sitemap(site.url("/feed.json"), limits=Limits(depth=1))
    assert [failure.code for failure in tree.failures()] == ["limit-depth"]
    assert tree.page_count() == 4


def test_a_json_feed_that_breaks_off_is_incomplete(serve):
    site = serve({"/feed.json": json_feed("/1", "/2")[:-10]})
    tree = sitemap_tree_for_sitemap(site.url("/feed.json"))
    assert [failure.code for failure in tree.failures()] == ["truncated"]
    assert [page.url for page in tree.all_pages()] == [site.url("/1")]


LISTS = {
    "/llms.txt": "# T\n## A\n- [1](/1)\n- [B](/b/llms.txt)\n",
    "/b/llms.txt": "# B\n- [2](/2)\n- [back](/llms.txt)\n",
}


@every_front
def test_an_llms_txt_is_looked_for_and_its_links_to_others_are_followed_if_asked(serve, front):
    site = serve(LISTS)
    assert front.tree(site.base + "/").sub_sitemaps == []
    assert site.hits["/llms.txt"] == 0
    (top,) = front.tree(site.base + "/", extra_known_paths=["llms.txt"]).sub_sitemaps
    assert [(one.url, one.reason) for one in top.skipped] == [(site.url("/b/llms.txt"), "link")]
    assert site.hits["/b/llms.txt"] == 0
    tree = front.tree(site.base + "/", use_llms_txt=True)
    own, back = ("PagesLlmsTxtSitemap", "/b/llms.txt"), ("InvalidSitemap", "/llms.txt")
    below = [
        ("PagesLlmsTxtSitemap", "/llms.txt"),
        ("IndexLlmsTxtSitemap", "/b/llms.txt", [own, back]),
    ]
    assert outline(tree, site.base)[2] == [("IndexLlmsTxtSitemap", "/llms.txt", below)]
    assert tree.is_complete
    paths = ("/1", "/b/llms.txt", "/2", "/llms.txt")
    pages = front.pages(site.base + "/", use_llms_txt=True)
    assert [page.url for page in pages] == [site.url(path) for path in paths]
    assert pages == list(tree.all_pages())
    assert pages[0].news_story.keywords == ["A"]


def resource_sync(capability, *entries, at='at="2024-05-06"'):
    """Return a list of ResourceSync; entries are paths, and what ``rs:md`` says of them."""
    urls = "".join(
        f"<url><loc>{{base}}{path}</loc><rs:md {md}/></url>"
        for path, _, md in (entry.partition(" ") for entry in entries)
    )
    return (
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        ' xmlns:rs="http://www.openarchives.org/rs/terms/">'
        f'<rs:md capability="{capability}" {at}/>{urls}</urlset>'
    )


@every_front
def test_capability_lists_are_followed_and_what_is_removed_is_no_page(serve, front):
    lists = ("/all.xml", "/new.xml", "/zips.xml")
    site = serve(
        {
            "/.well-known/resourcesync": resource_sync("description", "/cap.xml"),
            "/cap.xml": resource_sync("capabilitylist", *lists),
            "/all.xml": resource_sync("resourcelist", '/1 hash="md5:0"', "/2"),
            "/new.xml": resource_sync(
                "changelist", '/3 change="created"', '/1 change="deleted"', at='from="2024"'
            ),
            "/zips.xml": resource_sync("resourcedump", '/1.zip type="application/zip"'),
        }
    )
    known = [".well-known/resourcesync"]
    tree = front.tree(site.base + "/", extra_known_paths=known)
    nodes = [("PagesResourceSyncSitemap", path) for path in lists]
    capabilities = ("IndexResourceSyncSitemap", "/cap.xml", nodes)
    description = ("IndexResourceSyncSitemap", f"/{known[0]}", [capabilities])
    assert outline(tree, site.base)[2] == [description]
    assert [node.problems for node in tree.all_sitemaps()] == [[]] * 5
    pages = list(tree.all_pages())
    assert [page.url for page in pages] == [site.url(path) for path in ("/1", "/2", "/3")]
    assert [page.resource.change for page in pages] == [None, None, "created"]
    assert pages[0].resource.hash == "md5:0"
    assert front.pages(site.base + "/", extra_known_paths=known) == pages
    removed = [page.url for node in tree.all_sitemaps() for page in getattr(node, "removed", ())]
    assert removed == [site.url("/1")]
