"""Websites of every shape, by name: what a stream and a tree must agree about.

Each is a table for the server on loopback; LEAVES are there, too.
"""

import gzip
import zlib
from collections.abc import Mapping
from typing import Any

from usp.objects.page import SitemapPage
from usp.objects.sitemap import AbstractPagesSitemap, AbstractSitemap
from website import Answer, atom, index, indexed, robots, rss, urlset

NOBODY = "http://127.0.0.1:9"  # refuses connections


def html(*links: str) -> str:
    tags = "".join(f'<link rel="sitemap" href="{link}">' for link in links)
    return f"<!doctype html><html><head>{tags}</head><body>hello</body></html>"


def numbered(name: str, count: int) -> list[str]:
    return [f"/{name}/{n}" for n in range(count)]


def deep(levels: int) -> dict[str, str]:
    chain = {f"/{n}.xml": index(f"/p{n}.xml", f"/{n + 1}.xml") for n in range(levels)}
    return chain | {f"/p{n}.xml": urlset(f"/on-level-{n}") for n in range(levels)}


STRAY = "<url><loc>{base}/stray-1</loc></url>"
STRAY_2 = "<url><loc>{base}/stray-2</loc></url>"
LEAVES = {f"/{name}.xml": urlset(*numbered(name, 3)) for name in "abc"}
PACKED = gzip.compress(urlset("https://h/packed/1", "https://h/packed/2").encode())
HALF = urlset(*(f"https://h/half/{n}" for n in range(200)))

SITES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "redirects": {
        "/robots.txt": Answer(redirect="/other/robots.txt"),
        "/other/robots.txt": robots("/i.xml", "{alt}/j.xml"),
        "/i.xml": Answer(redirect="{alt}/moved/i.xml"),
        "alt:/moved/i.xml": index("a.xml", "/b.xml", "/c.xml"),
        "alt:/moved/a.xml": urlset("relative"),
        "alt:/j.xml": Answer(redirect="{base}/a.xml"),
        "/b.xml": Answer(redirect="/a.xml"),
        "/c.xml": [Answer(redirect="/c1.xml")],
        "/c1.xml": Answer(redirect="/c2.xml", status=307),
        "/c2.xml": urlset("/far"),
        "/a.xml": LEAVES["/a.xml"],
    },
    "too deep": {"/robots.txt": robots("/0.xml")} | deep(14),
    "broken bodies": {
        "/robots.txt": robots("/cut.xml", "/cut.gz", "/chunks.xml", "/nothing.xml", "/a.xml"),
        "/cut.xml": Answer(HALF, cut=3000),
        "/cut.gz": Answer(PACKED, cut=len(PACKED) - 12),
        "/chunks.xml": Answer(HALF, cut=2000, chunked=True),
        "/nothing.xml": Answer(HALF, cut=0),
    },
    "junk": {
        "/robots.txt": robots("/h", "/empty", "/root", "/words", "/doctype", "/a.xml", "/bin"),
        "/h": html(),
        "/empty": "",
        "/root": "<other><loc>https://h/x</loc></other>",
        "/words": "no address in here",
        "/doctype": "<!DOCTYPE urlset><urlset><url><loc>https://h/x</loc></url></urlset>",
        "/bin": bytes(range(256)) * 10,
    },
    "packed": {
        "/robots.txt": robots("/a.xml.gz", "/b.xml", "/c.xml", "/d.xml", "/i.xml.gz"),
        "/a.xml.gz": PACKED,
        "/b.xml": Answer(PACKED, headers={"Content-Encoding": "gzip"}),
        "/c.xml": Answer(zlib.compress(HALF.encode()), headers={"Content-Encoding": "deflate"}),
        "/d.xml": Answer(PACKED, chunked=True, headers={"Content-Encoding": "gzip"}),
        "/i.xml.gz": gzip.compress(index("/a.xml.gz").encode()),
    },
    "stumbling": {
        "/robots.txt": [Answer("", 503), robots("/i.xml", "/b.xml", "/c.xml")],
        "/i.xml": [Answer("", 500), Answer(hang_up=True), index("/a.xml", "/b.xml")],
        "/a.xml": [Answer("", 503, headers={"Retry-After": "0"}), LEAVES["/a.xml"]],
        "/b.xml": [Answer("", 429), Answer("", 429), LEAVES["/b.xml"]],
        "/c.xml": Answer("", 503),
        "/sitemap.xml": [Answer("", 502), urlset("/second-try")],
    },
    "broken before the first byte, then whole": {
        "/robots.txt": robots("/x.xml", "/a.xml"),
        "/x.xml": [Answer(HALF, cut=0), HALF],
        "/a.xml": LEAVES["/a.xml"],
    },
    "a probe that fails and is declared later": {
        "/robots.txt": Answer(robots("/i.xml"), delay=0.05),
        "/i.xml": index("/sitemap.xml", "/a.xml"),
        "/sitemap.xml": [Answer("", 503)] * 3 + [urlset("/late")],
    },
    "dead hosts": {
        "/robots.txt": robots(f"{NOBODY}/1.xml", "/i.xml", f"{NOBODY}/2.xml"),
        "/i.xml": index("/a.xml", f"{NOBODY}/3.xml", "/b.xml"),
    },
    "a redirect to a dead port": {
        "/robots.txt": robots("/x.xml", "/i.xml"),
        "/x.xml": Answer(redirect=f"{NOBODY}/"),
        "/i.xml": Answer(index(*LEAVES), delay=0.1),
    },  # by then it is known that nobody is there
    "feeds and text": {
        "/robots.txt": robots("/rss", "/atom", "/few.txt", "/many.txt", "/i.xml"),
        "/rss": rss(*numbered("rss", 4)),
        "/atom": atom(*numbered("atom", 4)),
        "/few.txt": "https://h/1\nhttps://h/2\nhttps://h/1\n\nnothing\n",
        "/many.txt": "".join(f"https://h/line/{n}\n" for n in range(4000)),
        "/i.xml": index("/rss", "/few.txt"),
    },
    "stray pages between the children of an index": {
        "/robots.txt": robots("/i.xml", "/c.xml"),
        "/i.xml": index("/a.xml", STRAY, "/j.xml", STRAY_2),
        "/j.xml": index("/b.xml", STRAY),
    },
    "links of a homepage that has moved": {
        "/": Answer(redirect="/en/"),
        "/en/": html("map.xml", "../a.xml", "/en/"),
        "/en/map.xml": index("/b.xml"),
    },
    "a homepage that is a feed, and a known path that leads there": {
        "/": rss("/new-1", "/new-2"),
        "/sitemap.xml": Answer(redirect="/"),
    },
    "robots.txt that is a page sitemap": {
        "/robots.txt": urlset("/r1", "/r2"),
        "/sitemap.xml": urlset("/s"),
    },
    "robots.txt that is a known path": {
        "/robots.txt": Answer(redirect="/sitemap.xml"),
        "/sitemap.xml": urlset("/s"),
    },
    "robots.txt that is none": {"/robots.txt": html("/a.xml"), "/sitemap.xml": urlset("/s")},
    "much": indexed(*(f"/m{n}.xml" for n in range(20)))
    | {f"/m{n}.xml": urlset(*numbered(f"m{n}", 2 + 150 * (n % 3))) for n in range(20)},
    "large": {
        "/robots.txt": robots("/large.xml", "/a.xml", "/large.xml"),
        "/large.xml": urlset(*(f"/{n}/" + "x" * 400 for n in range(1500))),
    },
}


def options_for(answers: Mapping[str, Any]) -> dict[str, bool]:
    """Give how a website is looked at.

    Twenty requests that lead nowhere are made only where one of them leads somewhere.
    """
    is_known = not answers or any(path.startswith("/sitemap") for path in answers)
    return {"use_known_paths": is_known, "use_html_links": "/" in answers}


def pages_of(tree: AbstractSitemap) -> list[tuple[str, SitemapPage]]:
    """Give the pages of a tree, each with the address of its sitemap."""
    return [
        (node.url, page)
        for node in tree.all_sitemaps()
        if isinstance(node, AbstractPagesSitemap)
        for page in node.pages
    ]
