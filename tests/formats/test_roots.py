"""The root decides what a document is: what an XML declaration announces, or what is inside nothing else.

What is no sitemap is refused for what is wrong with it.
"""

import gzip
import re

from formats_support import E, chunks, read

from together import together
from usp.objects.sitemap import InvalidSitemap
from usp.tree import sitemap_from_bytes

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
ROOTS = {
    "rss": f'<rss version="2.0"><channel><item><link>{E}/1</link></item></channel></rss>',
    "feed": f'<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="{E}/1"/></entry></feed>',
    "urlset": f"<urlset><url><loc>{E}/1</loc></url></urlset>",
}
JUNK = [
    *("<script>if (a < b) document.write('<rss>')</script>", "<script src='/x.js'></script>"),
    *("<script type='text/javascript' src='/x.js' />", "<meta name='generator' content='x'>"),
    *("<META CHARSET=utf-8>", "<meta http-equiv='refresh' content='1'/><script>x</script>"),
    *("<style>a > b { color: red }</style>", "<link rel='stylesheet' href='/x.css'>"),
    *("<title>A feed: <rss></title>", "<div class='x'>"),
    "<br />\n<b>Notice</b>: x in <b>/a.php</b> on line <b>3</b><br />",
    *("<noscript><img src='/x'></noscript>", "<esi:include src='/x'/>", "<!-- <html> -->"),
]


@together("size", [1, 13, 1 << 20])
@together("declaration", [DECLARATION, ""])
@together("root", ROOTS)
@together("junk", JUNK)
def test_html_in_front_of_a_document_does_not_hide_it(junk, root, declaration, size):
    reading = read(chunks(f"{junk}\n{declaration}{ROOTS[root]}".encode(), size))
    assert reading.refusal is None
    assert reading.urls == [f"{E}/1"]
    if not junk.startswith("<!--"):
        assert "1: text-before-document" in reading.codes


@together("junk", ["<script>", "<foo>", "<div><ul><li>", "<style>", "<a href='/x'>"])
def test_what_follows_a_declaration_is_the_root_whatever_is_not_closed_before_it(junk):
    reading = read([f"{junk} x {DECLARATION}{ROOTS['rss']}".encode()])
    assert reading.urls == [f"{E}/1"]


@together("size", [1, 13, 1 << 20])
@together("root", ROOTS)
@together(
    "before, after, refusal",
    [
        ("<config><default>", "</default></config>", "<config>"),
        ("<config><a>1</a>", "</config>", "<config>"),
        ("<config>words ", "</config>", "<config>"),
        ('<xsl:stylesheet xmlns:xsl="urn:x"><xsl:template>', "</xsl:template>", "<xsl:stylesheet>"),
        ("<opml><body><outline/>", "</body></opml>", "<opml>"),
        ("<html><body><pre>", "</pre></body></html>", "HTML"),
        ("<!DOCTYPE html>\n<html><body>", "</body></html>", "HTML"),
        ("<head><title>x</title></head>", "", "HTML"),
        ("<title>x</title><textarea>", "</textarea>", "HTML"),
        ("<script>var a = '", "';</script><p>Hello</p>", "HTML"),
    ],
)
def test_a_root_inside_of_something_else_is_none(before, after, refusal, root, size):
    for declaration in (DECLARATION, ""):
        data = f"{declaration}{before}{ROOTS[root]}{after}".encode()
        assert refusal in read(chunks(data, size)).refusal


@together("root", ["rss", "feed"])
def test_a_feed_directly_inside_of_another_root_is_none_either(root):
    assert "<config>" in read([f"<config>{ROOTS[root]}</config>".encode()]).refusal


CUT = gzip.compress(b"<urlset>" * 99)
NO_ROOT = (b"<", b"<!", b"<!DOCTYPE", b"<!doctype ht")  # not yet an HTML page
REASONS = {
    **dict.fromkeys([b"", b" \n", b"\xef\xbb\xbf", gzip.compress(b"")], "it is empty"),
    b"\x1f\x8b\x08garbage": "nothing in it can be read: the compressed data is broken.*",
    gzip.compress(CUT[:11]): "nothing in it can be read: the compressed data breaks off.*",
    **dict.fromkeys([*NO_ROOT, *map(gzip.compress, NO_ROOT)], "it has no root element"),
    **dict.fromkeys([b"<!doctype html", b"<!DOCTYPE html><p>"], ".*HTML page.*"),
}


@together("data, reason", REASONS.items())
def test_a_document_is_refused_for_what_is_wrong_with_it(data, reason):
    node = sitemap_from_bytes(data)
    assert isinstance(node, InvalidSitemap)
    assert re.fullmatch(reason, node.reason.partition("/: ")[2])
