"""The trees of websites: which sitemaps are in them, where, in which order, and with which pages.

Each document is requested once, however often it is declared.
"""

from collections import Counter
from typing import Any

import pytest

from usp._crawl.website import KNOWN_SITEMAP_PATHS
from usp.objects.sitemap import AbstractPagesSitemap
from usp.tree import sitemap_tree_for_homepage
from website import Answer, index, indexed, pages_at, robots, rss, urlset


def link(*hrefs: str) -> str:
    return "".join(f'<link rel="sitemap" href="{href}">' for href in hrefs)


def shape(tree, site) -> list:
    """Give the nodes below another one as kind, address and pages, each before a list of those below it."""
    found: list = []
    for node in tree.sub_sitemaps:
        pages = node.pages if isinstance(node, AbstractPagesSitemap) else []
        kind = type(node).__name__.removesuffix("Sitemap")
        line = " ".join([kind, node.url, *(page.url for page in pages)])
        found.append(line.replace(site.base, "").replace(site.alt, "alt:"))
        if node.sub_sitemaps:
            found.append(shape(node, site))
    return found


def nodes(*names: str) -> list[str]:
    """Give how page sitemaps stand in a tree."""
    return [f"PagesXML /{name}.xml /{name}" for name in names]


HTML = "<!doctype html><html><body>https://e.org/ Sitemap: {base}/a.xml</body></html>"
KNOWN, NEWS = {"/sitemap.xml": urlset("/p")}, {"/sitemap_news.xml": urlset("/p")}
ONLY_KNOWN, ONLY_NEWS = ["PagesXML /sitemap.xml /p"], ["PagesXML /sitemap_news.xml /p"]
HOME = """<!doctype html><html><head>
<link rel="stylesheet" href="/x.css">
<link rel="sitemap" type="application/xml" title="Sitemap" href="/maps/one.xml">
<LINK REL='alternate Sitemap' HREF="{base}/maps/two.xml"/>
<link rel=sitemap href="mailto:me@example.org">
</head><body>...</body></html>"""
FEEDS = (
    "<link rel='alternate' type='Application/RSS+XML; charset=utf-8' href='/feed/'>"
    "<link type='application/rss+xml' href='/not-alternate'>"
    "<link rel='alternate' hreflang='de' href='/de/'>"
    "<link rel='alternate' type='application/json' href='/wp-json/'>"
)
ANCHORS = (
    "<body><a href='/maps/sitemap.xml'>a</a><a href='/sitemap/'>b</a><a href=/feed/>c</a>"
    "<a href='/terms.txt'></a><a href='//other.example/sitemap.xml'></a><a href='/blog/rss'></a>"
    "<a href='/gone_sitemap.xml'></a><a href='javascript:sitemap.xml'></a><a></a>"
)
LINK_HEADER = {
    "Link": '</x>; rel=preload, <b.xml>; type="a,b"; REL=Sitemap, </y>;rel="sitemap";anchor="#z"'
}
LINKS = {"use_html_links": True}
MAPS = {"use_html_sitemaps": True}
LIST = "<ul><li><a href=/p>P</a><li><a href={base}/q#end>Q</a><li><a href={alt}/r>R</a></ul>"
MAP = f"<!doctype html><html><title>Plan du site</title>{LIST}"
DECLARED = {"use_known_paths": False}
SCRIPTS = (
    f"<head><title>{link('/t.xml')}</title><script>x = '{link('/s.xml')}'</script>"
    f"<base href='/below/'>{link('a.xml')}<base href='/no/'>"
    f"<template>{link('/u.xml')}</template><noscript>{link('/b.xml')}</noscript>"
)
STRAY = "<url><loc>{base}/stray</loc></url>"
ROBOTS = "IndexRobotsTxt /robots.txt"
OF_P = "PagesXML /a.xml /p"
OF_K = ["IndexXML /k.xml", [OF_P]]
LISTS = ["PagesText /list.txt /t1 /t2", "PagesRSS /feed /r1"]
NO_ROBOTS = [
    *(Answer("", 404), Answer("", 403), HTML, Answer(redirect="http://[broken/robots.txt")),
    Answer(redirect="http://127.0.0.1:9/robots.txt"),
]
NO_SITEMAPS = [
    *(Answer("", 404), Answer("", 401), HTML, "", "nothing to see here"),
    '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
]

SHAPES: dict[str, tuple[dict[str, Any], dict[str, Any], list]] = {
    # robots.txt
    "known paths are beside robots.txt": (
        {"/robots.txt": robots("/sitemap.xml")}
        | {"/sitemap_news.xml": index("/1.xml", "/2.xml", "/3.xml")}
        | (KNOWN | pages_at(*"123")),
        {},
        [ROBOTS, ONLY_KNOWN, "IndexXML /sitemap_news.xml", nodes(*"123")],
    ),
    "in the order of declaration, not of arrival": (
        {"/robots.txt": robots("/slow.xml", "/i.xml"), "/i.xml": index("/b.xml", "/a.xml")}
        | {"/slow.xml": Answer(urlset("/slow"), delay=0.2), "/a.xml": urlset("/a")}
        | {"/b.xml": Answer(urlset("/b"), delay=0.1)},
        DECLARED,
        [ROBOTS, [*nodes("slow"), "IndexXML /i.xml", nodes("b", "a")]],
    ),
    "a robots.txt without sitemaps is kept": (
        {"/robots.txt": "User-agent: *\nDisallow:\n"} | KNOWN,
        {},
        [ROBOTS, *ONLY_KNOWN],
    ),
    **{
        f"an invalid robots.txt is dropped, {number}": (
            {"/robots.txt": answer} | pages_at("a") | KNOWN,
            {},
            ONLY_KNOWN,
        )
        for number, answer in enumerate(NO_ROBOTS)
    },
    "a robots.txt that redirects stays one under its last address": (
        {"/robots.txt": Answer(redirect="{alt}/static/crawlers")}
        | ({"alt:/static/crawlers": robots("/a.xml")} | pages_at("a")),
        DECLARED,
        ["IndexRobotsTxt alt:/static/crawlers", nodes("a")],
    ),
    "relative lines are resolved against robots.txt": (
        {"/robots.txt": "Sitemap: /a.xml\nSitemap: b.xml\n"} | pages_at("a"),
        DECLARED,
        [ROBOTS, [*nodes("a"), "Invalid /b.xml"]],
    ),
    "without robots.txt": (
        {"/robots.txt": robots("/a.xml")} | pages_at("a"),
        {"use_robots": False},
        [],
    ),
    "nothing at all": ({}, {}, []),
    "duplicates are dropped inside of one sitemap, and kept across": (
        {"/robots.txt": robots("/a.xml", "/b.xml", "/a.xml"), "/b.xml": urlset("/2")}
        | {"/a.xml": urlset("/1", "/2", "/1")},
        DECLARED,
        [ROBOTS, ["PagesXML /a.xml /1 /2", "PagesXML /b.xml /2"]],
    ),
    "every kind below every index": (
        {"/robots.txt": robots("/list.txt", "/feed", "/i.xml"), "/feed": rss("/r1")}
        | {"/list.txt": "{base}/t1\n{base}/t2\n", "/i.xml": index("/list.txt", "/feed")},
        DECLARED,
        [ROBOTS, [*LISTS, "IndexXML /i.xml", LISTS]],
    ),
    # Known paths
    **{
        f"a known path that leads to no sitemap leaves no trace, {number}": (
            {"/sitemap.xml": answer} | NEWS,
            {},
            ONLY_NEWS,
        )
        for number, answer in enumerate(NO_SITEMAPS)
    },
    "a known path that is deep below robots.txt": (
        indexed("/deep.xml") | {"/deep.xml": index("/sitemap.xml")} | KNOWN,
        {},
        [ROBOTS, ["IndexXML /i.xml", ["IndexXML /deep.xml", ONLY_KNOWN]]],
    ),
    "a known path that failed below robots.txt is not listed again": (
        {"/robots.txt": robots("/sitemap.xml")},
        {},
        [ROBOTS, ["Invalid /sitemap.xml"]],
    ),
    "a child of robots.txt and of a known path's index": (
        {"/robots.txt": robots("/a.xml"), "/sitemap.xml": index("/a.xml", "/b.xml")}
        | pages_at("a", "b"),
        {},
        [ROBOTS, nodes("a"), "IndexXML /sitemap.xml", nodes("a", "b")],
    ),
    **{
        f"extra known paths come after the others, {type(extra).__name__}": (
            {"/m/z.xml": urlset("/z"), "/m/a.xml": urlset("/a")} | KNOWN,
            {"extra_known_paths": extra},
            [*ONLY_KNOWN, *(f"PagesXML /m/{name}.xml /{name}" for name in names)],
        )
        for extra, names in [
            (["m/z.xml", "/m/a.xml"], "za"),
            (("m/z.xml", "m/a.xml"), "za"),
            ({"m/z.xml", "m/a.xml"}, "az"),
        ]
    },
    # Links of the homepage
    "links are read when asked for": (
        {"/": HOME, "/maps/one.xml": index("/a.xml")} | pages_at("a"),
        LINKS,
        ["IndexXML /maps/one.xml", nodes("a"), "Invalid /maps/two.xml"],
    ),
    "links are not read unless asked for": ({"/": HOME, "/maps/one.xml": urlset("/p")}, {}, []),
    "feeds that the homepage links to": (
        {"/": FEEDS, "/feed/": rss("/post")},
        LINKS | DECLARED,
        ["PagesRSS /feed/ /post"],
    ),
    "links are between robots.txt and the known paths, if they are new": (
        {"/": "<head>" + link("/r.xml", "/l.xml", "/sitemap.xml"), "/robots.txt": robots("/r.xml")}
        | pages_at("r", "l", "sitemap", "sitemap1"),
        LINKS,
        [ROBOTS, nodes("r"), *nodes("l", "sitemap", "sitemap1")],
    ),
    "a homepage that links to sitemaps and feeds as to any page, some of which are pages": (
        {"/": ANCHORS, "/maps/sitemap.xml": urlset("/m"), "/feed/": rss("/f")}
        | {"/blog/rss": HTML, "/gone_sitemap.xml": Answer("", 404)},
        LINKS | DECLARED,
        ["PagesXML /maps/sitemap.xml /m", "PagesRSS /feed/ /f", "Invalid /gone_sitemap.xml"],
    ),
    "Link headers of robots.txt and of the homepage": (
        {"/robots.txt": Answer(robots("/a.xml"), headers=LINK_HEADER)}
        | pages_at("a", "b", "c")
        | {"/": Answer("<html>", headers={"Link": '</c.xml>; rel="alternate sitemap"'})},
        LINKS | DECLARED,
        [ROBOTS, nodes("b", "a"), *nodes("c")],
    ),
    "nobody asked for Link headers": (
        {"/robots.txt": Answer(robots("/a.xml"), headers=LINK_HEADER)} | pages_at("a", "b"),
        DECLARED,
        [ROBOTS, nodes("a")],
    ),
    "a homepage without links": ({"/": "<html>no links</html>"} | KNOWN, LINKS, ONLY_KNOWN),
    "an empty homepage": ({"/": ""} | KNOWN, LINKS, ONLY_KNOWN),
    "a link to another host, which redirects": (
        {"/": link("{alt}/s.xml"), "alt:/s.xml": Answer(redirect="/t.xml")}
        | {"alt:/t.xml": urlset("/p")},
        LINKS | DECLARED,
        ["PagesXML alt:/t.xml /p"],
    ),
    "links in scripts are none, and base is what others are relative to": (
        {"/": SCRIPTS, "/below/a.xml": urlset("/a"), "/b.xml": urlset("/b")},
        LINKS | DECLARED,
        ["PagesXML /below/a.xml /a", *nodes("b")],
    ),
    # HTML sitemaps
    "a page of links, if asked for": (
        {"/sitemap.html": MAP, "/site-map": "<title>Shop</title>" + LIST, "/sitemap/": HTML}
        | KNOWN,
        MAPS,
        [*ONLY_KNOWN, "PagesHTML /sitemap.html /p /q"],
    ),
    "HTML sitemaps that something declares, or the homepage links to": (
        {"/robots.txt": robots("/en/sitemap/", "/gone-sitemap.php", "/news-map")}
        | {"/en/sitemap/": f"<html>{LIST}", "/de/sitemap/": MAP, "/news-map": MAP, "/sitemap": MAP}
        | {"/": "<html><a href=/de/sitemap/>Sitemap</a><a href=/it/sitemap.html></a>"}
        | {"/it/sitemap.html": f"<html>{LIST}", "/gone-sitemap.php": Answer("", 410)},
        MAPS | LINKS | DECLARED,
        [
            ROBOTS,
            ["PagesHTML /en/sitemap/ /p /q", "Invalid /gone-sitemap.php", "Invalid /news-map"],
            "PagesHTML /de/sitemap/ /p /q",
        ],
    ),
    "HTML sitemaps that nobody asked for": (
        {"/robots.txt": robots("/en/sitemap/"), "/en/sitemap/": MAP, "/sitemap": MAP}
        | {
            "/sitemap.html": MAP,
            "/": "<html><a href=/de/sitemap/>Sitemap</a>",
            "/de/sitemap/": MAP,
        },
        LINKS,
        [ROBOTS, ["Invalid /en/sitemap/"]],
    ),
    # Indexes
    "a document that several indexes declare": (
        {"/robots.txt": robots("/i.xml", "/j.xml", "/k.xml"), "/i.xml": index("/k.xml")}
        | {"/j.xml": index("/a.xml", "/k.xml"), "/k.xml": index("/a.xml"), "/a.xml": urlset("/p")},
        DECLARED,
        [ROBOTS, ["IndexXML /i.xml", OF_K, "IndexXML /j.xml", [OF_P, *OF_K], *OF_K]],
    ),
    "one dead child costs only itself": (
        {"/robots.txt": robots("/a.xml", "/x.xml", "{alt}/b.xml"), "/a.xml": urlset("/a")}
        | {"alt:/b.xml": urlset("/b"), "/x.xml": Answer("", 410)},
        DECLARED,
        [ROBOTS, [*nodes("a"), "Invalid /x.xml", "PagesXML alt:/b.xml /b"]],
    ),
    **{
        f"stray pages in an index at {at} are in a child with its URL": (
            indexed(*entries[:at], STRAY, *entries[at:]) | pages_at("a", "b"),
            DECLARED,
            [ROBOTS, ["IndexXML /i.xml", [*below[:at], "PagesXML /i.xml /stray", *below[at:]]]],
        )
        for at in (0, 1, 2)
        for entries, below in [(["/a.xml", "/b.xml"], nodes("a", "b"))]
    },
    # What is asked for again: after a redirect, once for each address that leads there, or a failure
    "again: to what robots.txt has": (
        indexed("/a.xml")
        | {"/sitemap.xml": Answer(redirect="/a.xml"), "/a.xml": urlset("/p")}
        | {"/sitemap_index.xml": Answer(redirect="/i.xml")},
        {},
        [ROBOTS, ["IndexXML /i.xml", [OF_P]]],
    ),
    "again: from what robots.txt declares": (
        {"/robots.txt": robots("/old.xml"), "/old.xml": Answer(redirect="/sitemap.xml")} | KNOWN,
        {},
        [ROBOTS, ONLY_KNOWN],
    ),
    "again: two to the same place": (
        {f"/{name}.xml": Answer(redirect="/maps/all.xml") for name in ("sitemap", "sitemap_index")}
        | {"/maps/all.xml": index("/a.xml"), "/a.xml": urlset("/p")},
        {},
        ["IndexXML /maps/all.xml", [OF_P]],
    ),
    "again: to another known path, as in WordPress": (
        {"/sitemap.xml": Answer(redirect="/wp-sitemap.xml"), "/wp-sitemap.xml": urlset("/p")},
        {},
        ["PagesXML /wp-sitemap.xml /p"],
    ),
    "again: to a known path that is not there": (
        {"/sitemap.xml": Answer(redirect="/sitemap_index.xml")} | NEWS,
        {},
        ONLY_NEWS,
    ),
    **{
        f"again: {name} costs nothing else": ({path: answer} | KNOWN, options, ONLY_KNOWN)
        for name, path, answer, options in [
            (
                "a robots.txt that redirects to itself",
                "/robots.txt",
                Answer(redirect="/robots.txt"),
                {},
            ),
            ("a robots.txt that hangs up", "/robots.txt", Answer(hang_up=True), {}),
            ("a homepage that fails", "/", Answer("", 500), LINKS),
        ]
    },
    "again: a node has the URL after redirects": (
        {"/robots.txt": robots("/a.xml", "/x.xml"), "alt:/c.xml": urlset("/p")}
        | {"/a.xml": Answer(redirect="/b.xml", status=301)}
        | {"/b.xml": Answer(redirect="{alt}/c.xml", status=307)},
        {},
        [ROBOTS, ["PagesXML alt:/c.xml /p", "Invalid /x.xml"]],
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_tree_of_a_website(serve, name):
    answers, options, expected = SHAPES[name]
    site = serve(answers)
    tree = sitemap_tree_for_homepage(site.base + "/", **options)
    assert tree.url == site.base + "/"
    assert shape(tree, site) == expected
    assert max(site.hits.values()) == 1 or name.startswith("again")
    assert {request.method for request in site.requests} == {"GET"}
    if options.get("use_robots") is False:
        assert not {"/robots.txt", "/a.xml"} & set(site.hits)
    if not options.get("use_html_links"):
        assert not site.hits["/"]
    if not options.get("use_html_sitemaps"):
        assert not {"/sitemap.html", "/de/sitemap/", "/site-map"} & set(site.hits)
    assert not {"/not-alternate", "/de/", "/wp-json/"} & set(site.hits)


def test_without_robots_and_known_paths_nothing_is_asked(serve):
    site = serve({"/sitemap.xml": urlset("/p")})
    tree = sitemap_tree_for_homepage(site.base + "/", use_robots=False, use_known_paths=False)
    assert not tree.sub_sitemaps
    assert not site.requests


EVERY_DOOR = (
    link("/linked.xml")
    + "<meta name=generator content='WordPress 6.5'><link rel=alternate hreflang=de href={alt}/>"
    "<a href='/anchor-sitemap.xml'>Sitemap</a><a href='/sitemap.html'>Sitemap</a>"
)


def test_the_default_crawl_requests_robots_txt_what_it_leads_to_and_the_known_paths(serve):
    """Whoever asks for nothing more gets no other request, whatever the website offers."""
    headers = LINK_HEADER | {"X-Generator": "Drupal 10", "Server": "Squarespace"}
    site = serve(
        {"/": Answer(EVERY_DOOR, headers=headers), "/sitemap.html": EVERY_DOOR}
        | {"/robots.txt": Answer(robots("/i.xml"), headers=headers), "/i.xml": index("/a.xml")}
        | {"/a.xml": Answer(urlset("/p", "{alt}/p"), headers=headers)}
    )
    sitemap_tree_for_homepage(site.base + "/")
    paths = {f"/{path}" for path in KNOWN_SITEMAP_PATHS}
    assert site.hits == Counter({"/robots.txt", "/i.xml", "/a.xml"} | paths)
    assert len(paths) == 19
    site.requests.clear()
    sitemap_tree_for_homepage(site.base + "/", use_known_paths=False)
    assert [request.path for request in site.requests] == ["/robots.txt", "/i.xml", "/a.xml"]
