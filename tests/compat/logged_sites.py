"""Websites with something wrong, and what a library logs when it reads them.

``python logged_sites.py`` prints the records of the library that is installed as JSON; run with
ultimate-sitemap-parser 1.8.1, that is ``logged_by_1_8_1.json``.
"""

import gzip
import json
import logging
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent)]

from usp.tree import sitemap_tree_for_homepage  # noqa: E402 - the path is set above
from website import Answer, Site, index, robots, rss, urlset  # noqa: E402

NOWHERE = "http://127.0.0.3:1"  # a port that nobody listens to
GZIPPED = gzip.compress(urlset("http://h/p").encode(), mtime=0)


def declared(body, path="/s.xml", **more):
    """Give a website whose robots.txt declares one sitemap."""
    return {"/robots.txt": robots(path), path: body, **more}


def page(more="", loc="<loc>{base}/p</loc>"):
    return f"<url>{loc}{more}</url>"


def item(inside):
    return f'<rss version="2.0"><channel><item>{inside}</item></channel></rss>'


A_PAGE = {"/a.xml": urlset("/p")}
SITES = {
    "nothing at all": {},
    "one page": declared(urlset("/p")),
    "an index": declared(index("/a.xml"), **A_PAGE),
    "an index with a missing child": declared(index("/a.xml", "/gone.xml"), **A_PAGE),
    "a missing sitemap": declared(Answer("gone", 404)),
    "a gone sitemap": declared(Answer("gone", 410)),
    "a forbidden sitemap": declared(Answer("keep out", 403)),
    "an unauthorized sitemap": declared(Answer("who?", 401)),
    "a server error": declared(Answer("<b>oops</b>", 500)),
    "a busy server": declared(Answer("later", 503)),
    "a bad request": declared(Answer("what?", 400)),
    "a passing error": declared([Answer("later", 503), urlset("/p")]),
    "robots.txt forbidden": {"/robots.txt": Answer("keep out", 403)},
    "robots.txt with an error": {"/robots.txt": Answer("oops", 500)},
    "robots.txt is HTML": {"/robots.txt": "<html><body>Hi</body></html>"},
    "robots.txt without sitemaps": {"/robots.txt": "User-agent: *\nDisallow:\n"},
    "robots.txt that is empty": {"/robots.txt": ""},
    "robots.txt with a relative sitemap": {
        "/robots.txt": "Sitemap: /s.xml\n",
        "/s.xml": urlset("/p"),
    },
    "robots.txt with an empty sitemap": {"/robots.txt": "Sitemap:\n"},
    "connection refused": declared("", path="/x.xml")
    | {"/robots.txt": f"Sitemap: {NOWHERE}/s.xml\n"},
    "connection reset": declared(Answer(hang_up=True)),
    "bad gzip by name": declared(b"this is not gzip", path="/s.xml.gz"),
    "plain XML with the name of gzip": declared(urlset("/p"), path="/s.xml.gz"),
    "truncated gzip": declared(GZIPPED[:60], path="/s.xml.gz"),
    "gzip": declared(GZIPPED, path="/s.xml.gz"),
    "bad gzip by type": declared(
        Answer(b"no gzip", headers={"Content-Type": "application/x-gzip"})
    ),
    "no namespace": declared(f"<urlset>{page()}</urlset>"),
    "an index without a namespace": declared(
        "<sitemapindex><sitemap><loc>{base}/a.xml</loc></sitemap></sitemapindex>", **A_PAGE
    ),
    "another namespace": declared(f'<urlset xmlns="http://example.org/">{page()}</urlset>'),
    "a DOCTYPE": declared('<!DOCTYPE urlset [<!ENTITY a "b">]>' + urlset("/p")[21:]),
    "a DOCTYPE after the declaration": declared(
        '<?xml version="1.0"?>\n<!DOCTYPE urlset [<!ENTITY a "b">]>' + urlset("/p")[21:]
    ),
    "an unknown root": declared("<catalogue><thing/></catalogue>"),
    "HTML": declared(
        "<!DOCTYPE html><html><head><title>x</title></head><body><p>Hi<br></body></html>"
    ),
    "XHTML": declared("<html><head><title>x</title></head><body><p>Hi</p></body></html>"),
    "an empty document": declared(""),
    "only white space": declared("  \n "),
    "words": declared("What is this?\nNo idea.\n", path="/s.txt"),
    "broken XML": declared(urlset("/p", "/q")[:-40]),
    "a bare ampersand": declared(urlset("<url><loc>{base}/p?a=1&b=2</loc></url>", "/q")),
    "an undeclared prefix": declared(urlset(page("<image:loc>x</image:loc>"))),
    "an empty loc": declared(urlset(page("<loc></loc>", ""), "/q")),
    "a loc that is no URL": declared(urlset(page("<loc>ftp://h/x</loc>", ""), "/q")),
    "a child that is no URL": declared(
        index("<sitemap><loc>ftp://h/x.xml</loc></sitemap>", "/a.xml"), **A_PAGE
    ),
    "a child without loc": declared(
        index("<sitemap><lastmod>2020-01-01</lastmod></sitemap>", "/a.xml"), **A_PAGE
    ),
    "a page without loc": declared(urlset(page("<lastmod>2020-01-01</lastmod>", ""), "/q")),
    "an index that lists itself": declared(index("/s.xml")),
    "a child that leads back": declared(index("/r.xml"), **{"/r.xml": Answer(redirect="/s.xml")}),
    "a redirect": declared(Answer(redirect="/a.xml"), **A_PAGE),
    "a redirect without end": declared(Answer(redirect="/s.xml")),
    "an unreadable date": declared(urlset(page("<lastmod>someday</lastmod>"))),
    "an empty date": declared(urlset(page("<lastmod></lastmod>"))),
    "an unreadable priority": declared(urlset(page("<priority>high</priority>"))),
    "a priority that is too high": declared(urlset(page("<priority>5</priority>"))),
    "an unknown frequency": declared(urlset(page("<changefreq>often</changefreq>"))),
    "a feed": declared(rss("/p")),
    "a feed with an unreadable date": declared(
        item("<title>t</title><link>{base}/p</link><pubDate>someday</pubDate>")
    ),
    "a feed item without link": declared(item("<title>t</title>")),
    "a feed item without title": declared(item("<link>{base}/p</link>")),
    "news without title": declared(
        urlset(
            page("<n:news><n:publication_date>2020-01-01</n:publication_date></n:news>")
        ).replace("<urlset ", '<urlset xmlns:n="http://www.google.com/schemas/sitemap-news/0.9" ')
    ),
    "bytes that are no UTF-8": declared(urlset("/p\u00e9").encode("latin-1")),
    "a body cut off": declared(Answer(urlset("/p", "/q"), cut=120)),
}


class Records(logging.Handler):
    """Keeps what programs look for, with the address of the website left out."""

    def __init__(self, site):
        super().__init__(logging.DEBUG)
        self.site, self.records = site, []

    def emit(self, record):
        text = record.getMessage().replace(self.site.base, "{base}")
        told = [record.name, record.levelname, text]
        wanted = record.levelno >= logging.WARNING or text.startswith(MATCHED)
        if wanted and told not in self.records:  # once, however often it was tried
            self.records.append(told)


MATCHED = ("Invalid sitemap: ", "Response content: ")


def logged(name):
    """Read a website and give what was logged: logger, level and text of each record."""
    logger = logging.getLogger("usp")
    level = logger.level
    with Site(SITES[name]) as site:
        handler = Records(site)
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        try:
            tree = sitemap_tree_for_homepage(site.base + "/", use_known_paths=False)
            list(tree.all_pages())
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
    return handler.records


if __name__ == "__main__":
    time.sleep = lambda _: None
    print(json.dumps({name: logged(name) for name in SITES}, indent=1, ensure_ascii=True))
