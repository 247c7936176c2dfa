"""The trees of websites: which sitemaps are in them, where, in which order, and with which pages.

Each document is requested once, however often it is declared.
"""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from usp.objects.sitemap import AbstractPagesSitemap
from usp.tree import sitemap_tree_for_homepage
from website import Answer, index, robots, rss, urlset


def link(*hrefs: str) -> str:
    return "".join(f'<link rel="sitemap" href="{href}">' for href in hrefs)


def shape(tree, site, depth: int = 0) -> str:
    """Give the nodes below another one, a line each: kind, address, and pages."""
    lines = ""
    for node in tree.sub_sitemaps:
        pages = node.pages if isinstance(node, AbstractPagesSitemap) else []
        kind = type(node).__name__.removesuffix("Sitemap")
        lines += "    " * depth + " ".join([kind, node.url, *(page.url for page in pages)]) + "\n"
        lines += shape(node, site, depth + 1)
    return lines.replace(site.base, "").replace(site.alt, "alt:") if not depth else lines


HTML = "<!doctype html><html><body>https://e.org/ Sitemap: {base}/a.xml</body></html>"
ONLY_KNOWN = "PagesXML /sitemap.xml /p"
HOME = """<!doctype html><html><head>
<link rel="stylesheet" href="/x.css">
<link rel="sitemap" type="application/xml" title="Sitemap" href="/maps/one.xml">
<LINK REL='alternate Sitemap' HREF="{base}/maps/two.xml"/>
<link rel=sitemap href="mailto:me@example.org">
</head><body>...</body></html>"""
LINKS = {"use_html_links": True}
DECLARED = {"use_known_paths": False}
SCRIPTS = (
    f"<head><title>{link('/t.xml')}</title><script>x = '{link('/s.xml')}'</script>"
    f"<base href='/below/'>{link('a.xml')}<base href='/no/'>"
    f"<template>{link('/u.xml')}</template><noscript>{link('/b.xml')}</noscript>"
)
STRAY = "<url><loc>{base}/stray</loc></url>"

SHAPES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    # robots.txt
    "known paths are beside robots.txt": (
        {"/robots.txt": robots("/sitemap.xml"), "/sitemap.xml": urlset("/p")}
        | {"/sitemap_news.xml": index("/1.xml", "/2.xml", "/3.xml")}
        | {f"/{n}.xml": urlset(f"/story/{n}") for n in (1, 2, 3)},
        {},
        """
        IndexRobotsTxt /robots.txt
            PagesXML /sitemap.xml /p
        IndexXML /sitemap_news.xml
            PagesXML /1.xml /story/1
            PagesXML /2.xml /story/2
            PagesXML /3.xml /story/3
        """,
    ),
    "in the order of declaration, not of arrival": (
        {"/robots.txt": robots("/slow.xml", "/i.xml"), "/i.xml": index("/b.xml", "/a.xml")}
        | {"/slow.xml": Answer(urlset("/slow"), delay=0.2), "/a.xml": urlset("/a")}
        | {"/b.xml": Answer(urlset("/b"), delay=0.1)},
        DECLARED,
        """
        IndexRobotsTxt /robots.txt
            PagesXML /slow.xml /slow
            IndexXML /i.xml
                PagesXML /b.xml /b
                PagesXML /a.xml /a
        """,
    ),
    "a robots.txt without sitemaps is kept": (
        {"/robots.txt": "User-agent: *\nDisallow:\n", "/sitemap.xml": urlset("/p")},
        {},
        """
        IndexRobotsTxt /robots.txt
        PagesXML /sitemap.xml /p
        """,
    ),
    **{
        f"an invalid robots.txt is dropped, {number}": (
            {"/robots.txt": answer, "/a.xml": urlset("/a"), "/sitemap.xml": urlset("/p")},
            {},
            ONLY_KNOWN,
        )
        for number, answer in enumerate(
            [
                Answer("", 404),
                Answer("", 403),
                HTML,
                Answer(redirect="http://[broken/robots.txt"),
                Answer(redirect="http://127.0.0.1:9/robots.txt"),
            ]
        )
    },
    "a robots.txt that redirects stays one under its last address": (
        {"/robots.txt": Answer(redirect="{alt}/static/crawlers")}
        | {"alt:/static/crawlers": robots("/a.xml"), "/a.xml": urlset("/a")},
        DECLARED,
        """
        IndexRobotsTxt alt:/static/crawlers
            PagesXML /a.xml /a
        """,
    ),
    "relative lines are resolved against robots.txt": (
        {"/robots.txt": "Sitemap: /a.xml\nSitemap: b.xml\n", "/a.xml": urlset("/a")},
        DECLARED,
        """
        IndexRobotsTxt /robots.txt
            PagesXML /a.xml /a
            Invalid /b.xml
        """,
    ),
    "without robots.txt": (
        {"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/a")},
        {"use_robots": False},
        "",
    ),
    "nothing at all": ({}, {}, ""),
    "duplicates are dropped inside of one sitemap, and kept across": (
        {"/robots.txt": robots("/a.xml", "/b.xml", "/a.xml"), "/b.xml": urlset("/2")}
        | {"/a.xml": urlset("/1", "/2", "/1")},
        DECLARED,
        """
        IndexRobotsTxt /robots.txt
            PagesXML /a.xml /1 /2
            PagesXML /b.xml /2
        """,
    ),
    "every kind below every index": (
        {"/robots.txt": robots("/list.txt", "/feed", "/i.xml"), "/feed": rss("/r1")}
        | {"/list.txt": "{base}/t1\n{base}/t2\n", "/i.xml": index("/list.txt", "/feed")},
        DECLARED,
        """
        IndexRobotsTxt /robots.txt
            PagesText /list.txt /t1 /t2
            PagesRSS /feed /r1
            IndexXML /i.xml
                PagesText /list.txt /t1 /t2
                PagesRSS /feed /r1
        """,
    ),
    # Known paths
    **{
        f"a known path that leads to no sitemap leaves no trace, {number}": (
            {"/sitemap.xml": answer, "/sitemap_news.xml": urlset("/p")},
            {},
            "PagesXML /sitemap_news.xml /p",
        )
        for number, answer in enumerate(
            [
                Answer("", 404),
                Answer("", 401),
                HTML,
                "",
                "nothing to see here",
                '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
            ]
        )
    },
    "a known path that is deep below robots.txt": (
        {"/robots.txt": robots("/i.xml"), "/i.xml": index("/deep.xml")}
        | {"/deep.xml": index("/sitemap.xml"), "/sitemap.xml": urlset("/p")},
        {},
        """
        IndexRobotsTxt /robots.txt
            IndexXML /i.xml
                IndexXML /deep.xml
                    PagesXML /sitemap.xml /p
        """,
    ),
    "a known path that failed below robots.txt is not listed again": (
        {"/robots.txt": robots("/sitemap.xml")},
        {},
        """
        IndexRobotsTxt /robots.txt
            Invalid /sitemap.xml
        """,
    ),
    "a child of robots.txt and of a known path's index": (
        {"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/p"), "/b.xml": urlset("/q")}
        | {"/sitemap.xml": index("/a.xml", "/b.xml")},
        {},
        """
        IndexRobotsTxt /robots.txt
            PagesXML /a.xml /p
        IndexXML /sitemap.xml
            PagesXML /a.xml /p
            PagesXML /b.xml /q
        """,
    ),
    **{
        f"extra known paths come after the others, {type(extra).__name__}": (
            {"/m/z.xml": urlset("/z"), "/m/a.xml": urlset("/a"), "/sitemap.xml": urlset("/p")},
            {"extra_known_paths": extra},
            f"""
            {ONLY_KNOWN}
            PagesXML /m/{first}.xml /{first}
            PagesXML /m/{last}.xml /{last}
            """,
        )
        for extra, first, last in [
            (["m/z.xml", "/m/a.xml"], "z", "a"),
            (("m/z.xml", "m/a.xml"), "z", "a"),
            ({"m/z.xml", "m/a.xml"}, "a", "z"),
        ]
    },
    # Links of the homepage
    "links are read when asked for": (
        {"/": HOME, "/maps/one.xml": index("/a.xml"), "/a.xml": urlset("/p")},
        LINKS,
        """
        IndexXML /maps/one.xml
            PagesXML /a.xml /p
        Invalid /maps/two.xml
        """,
    ),
    "links are not read unless asked for": ({"/": HOME, "/maps/one.xml": urlset("/p")}, {}, ""),
    "feeds that the homepage links to": (
        {
            "/": "<link rel='alternate' type='Application/RSS+XML; charset=utf-8' href='/feed/'>"
            "<link type='application/rss+xml' href='/not-alternate'>"
            "<link rel='alternate' hreflang='de' href='/de/'>"
            "<link rel='alternate' type='application/json' href='/wp-json/'>",
            "/feed/": rss("/post"),
        },
        LINKS | DECLARED,
        "PagesRSS /feed/ /post",
    ),
    "links are between robots.txt and the known paths, if they are new": (
        {"/": "<head>" + link("/r.xml", "/l.xml", "/sitemap.xml"), "/robots.txt": robots("/r.xml")}
        | {f"/{name}.xml": urlset(f"/{name}") for name in ("r", "l", "sitemap", "sitemap1")},
        LINKS,
        """
        IndexRobotsTxt /robots.txt
            PagesXML /r.xml /r
        PagesXML /l.xml /l
        PagesXML /sitemap.xml /sitemap
        PagesXML /sitemap1.xml /sitemap1
        """,
    ),
    "a homepage without links": (
        {"/": "<html>no links</html>", "/sitemap.xml": urlset("/p")},
        LINKS,
        ONLY_KNOWN,
    ),
    "an empty homepage": ({"/": "", "/sitemap.xml": urlset("/p")}, LINKS, ONLY_KNOWN),
    "a link to another host, which redirects": (
        {"/": link("{alt}/s.xml"), "alt:/s.xml": Answer(redirect="/t.xml")}
        | {"alt:/t.xml": urlset("/p")},
        LINKS | DECLARED,
        "PagesXML alt:/t.xml /p",
    ),
    "links in scripts are none, and base is what others are relative to": (
        {"/": SCRIPTS, "/below/a.xml": urlset("/a"), "/b.xml": urlset("/b")},
        LINKS | DECLARED,
        """
        PagesXML /below/a.xml /a
        PagesXML /b.xml /b
        """,
    ),
    # Indexes
    "a document that several indexes declare": (
        {"/robots.txt": robots("/i.xml", "/j.xml", "/k.xml"), "/i.xml": index("/k.xml")}
        | {"/j.xml": index("/a.xml", "/k.xml"), "/k.xml": index("/a.xml"), "/a.xml": urlset("/p")},
        DECLARED,
        """
        IndexRobotsTxt /robots.txt
            IndexXML /i.xml
                IndexXML /k.xml
                    PagesXML /a.xml /p
            IndexXML /j.xml
                PagesXML /a.xml /p
                IndexXML /k.xml
                    PagesXML /a.xml /p
            IndexXML /k.xml
                PagesXML /a.xml /p
        """,
    ),
    "one dead child costs only itself": (
        {"/robots.txt": robots("/a.xml", "/x.xml", "{alt}/b.xml"), "/a.xml": urlset("/a")}
        | {"alt:/b.xml": urlset("/b"), "/x.xml": Answer("", 410)},
        DECLARED,
        """
        IndexRobotsTxt /robots.txt
            PagesXML /a.xml /a
            Invalid /x.xml
            PagesXML alt:/b.xml /b
        """,
    ),
    **{
        f"stray pages in an index at {at} are in a child with its URL": (
            {"/robots.txt": robots("/i.xml"), "/a.xml": urlset("/a"), "/b.xml": urlset("/b")}
            | {"/i.xml": index(*entries[:at], STRAY, *entries[at:])},
            DECLARED,
            "IndexRobotsTxt /robots.txt\n    IndexXML /i.xml\n        "
            + "\n        ".join([*nodes[:at], "PagesXML /i.xml /stray", *nodes[at:]]),
        )
        for at in (0, 1, 2)
        for entries, nodes in [(["/a.xml", "/b.xml"], ["PagesXML /a.xml /a", "PagesXML /b.xml /b"])]
    },
    # What is asked for again: after a redirect, once for each address that leads there, or a failure
    "again: to what robots.txt has": (
        {"/robots.txt": robots("/i.xml"), "/i.xml": index("/a.xml"), "/a.xml": urlset("/p")}
        | {
            "/sitemap.xml": Answer(redirect="/a.xml"),
            "/sitemap_index.xml": Answer(redirect="/i.xml"),
        },
        {},
        """
        IndexRobotsTxt /robots.txt
            IndexXML /i.xml
                PagesXML /a.xml /p
        """,
    ),
    "again: from what robots.txt declares": (
        {"/robots.txt": robots("/old.xml"), "/old.xml": Answer(redirect="/sitemap.xml")}
        | {"/sitemap.xml": urlset("/p")},
        {},
        """
        IndexRobotsTxt /robots.txt
            PagesXML /sitemap.xml /p
        """,
    ),
    "again: two to the same place": (
        {f"/{name}.xml": Answer(redirect="/maps/all.xml") for name in ("sitemap", "sitemap_index")}
        | {"/maps/all.xml": index("/a.xml"), "/a.xml": urlset("/p")},
        {},
        """
        IndexXML /maps/all.xml
            PagesXML /a.xml /p
        """,
    ),
    "again: to another known path, as in WordPress": (
        {"/sitemap.xml": Answer(redirect="/wp-sitemap.xml"), "/wp-sitemap.xml": urlset("/p")},
        {},
        "PagesXML /wp-sitemap.xml /p",
    ),
    "again: to a known path that is not there": (
        {"/sitemap.xml": Answer(redirect="/sitemap_index.xml"), "/sitemap_news.xml": urlset("/p")},
        {},
        "PagesXML /sitemap_news.xml /p",
    ),
    "again: of robots.txt to itself": (
        {"/robots.txt": Answer(redirect="/robots.txt"), "/sitemap.xml": urlset("/p")},
        {},
        ONLY_KNOWN,
    ),
    "again: of robots.txt that hangs up": (
        {"/robots.txt": Answer(hang_up=True), "/sitemap.xml": urlset("/p")},
        {},
        ONLY_KNOWN,
    ),
    "again: a node has the URL after redirects": (
        {"/robots.txt": robots("/a.xml", "/x.xml"), "alt:/c.xml": urlset("/p")}
        | {"/a.xml": Answer(redirect="/b.xml", status=301)}
        | {"/b.xml": Answer(redirect="{alt}/c.xml", status=307)},
        {},
        """
        IndexRobotsTxt /robots.txt
            PagesXML alt:/c.xml /p
            Invalid /x.xml
        """,
    ),
    "again: a homepage that fails costs nothing else": (
        {"/": Answer("", 500), "/sitemap.xml": urlset("/p")},
        LINKS,
        ONLY_KNOWN,
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_tree_of_a_website(serve, name):
    answers, options, expected = SHAPES[name]
    site = serve(answers)
    tree = sitemap_tree_for_homepage(site.base + "/", **options)
    assert tree.url == site.base + "/"
    assert shape(tree, site) == f"{dedent(expected).strip()}\n".lstrip()
    assert max(site.hits.values()) == 1 or name.startswith("again")
    assert {request.method for request in site.requests} == {"GET"}
    if options.get("use_robots") is False:
        assert not {"/robots.txt", "/a.xml"} & set(site.hits)
    if not options.get("use_html_links"):
        assert not site.hits["/"]
    assert not {"/not-alternate", "/de/", "/wp-json/"} & set(site.hits)


def test_without_robots_and_known_paths_nothing_is_asked(serve):
    site = serve({"/sitemap.xml": urlset("/p")})
    tree = sitemap_tree_for_homepage(site.base + "/", use_robots=False, use_known_paths=False)
    assert not tree.sub_sitemaps
    assert not site.requests
