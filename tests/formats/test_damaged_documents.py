"""Damage costs no entry that can be read, and whatever a document loses, or is refused for, is told."""

import gzip
import re

import pytest
from formats_oracle import PREFIXES, SPACES
from formats_support import E, XmlText, chunks, read, urlset

from together import together
from usp._formats import json_feeds
from usp._formats.xml.raw_entries import MAX_FIELD
from usp.objects.sitemap import InvalidSitemap
from usp.tree import sitemap_from_bytes

CUT = {  # documents of three entries, and how the address of one ends
    "urlset": ("<urlset>", "<url><lastmod>2024</lastmod><loc>{}</loc><priority>1</priority></url>"),
    "sitemapindex": ("<sitemapindex>", "<sitemap><loc>{}</loc><lastmod>2024</lastmod></sitemap>"),
    "rss": ("<rss><channel>", "<item><title>T</title><link>{}</link><guid>9</guid></item>"),
    "feed": ("<feed>", '<entry><id>9</id><link href="{}"/><title>T</title></entry>'),
}


@together("blocks", [None, True, "fast"])
@together("root", CUT)
def test_an_entry_counts_whose_address_stands_before_the_break_and_the_break_is_told(root, blocks):
    begin, entry = CUT[root]
    end = '"/>' if root == "feed" else "</link>" if root == "rss" else "</loc>"
    urls = [f"{E}/{at}" for at in range(3)]
    text = begin + "".join(entry.format(url) for url in urls)
    for at in range(len(begin), len(text) + 1):
        reading = read([text[:at].encode()], blocks=blocks)
        found = reading.urls or [child.loc for child in reading.children]
        assert found == urls[: text[:at].count(end)], text[:at]
        assert [one.code for one in reading.problems][-1:] == ["truncated"], text[:at]


# What is too long or too deep, or says too little -------------------------------------------------


@together("size", [1 << 16, 1 << 30])
@together("before, after", [("", ""), ("<![CDATA[", "]]>")])
def test_a_field_that_is_far_too_long_is_cut_off_and_named_once(before, after, size):
    caption = f"<image:caption>{before}{'x' * (2 * MAX_FIELD)}{after}</image:caption>"
    image = f"<image:image><image:loc>{E}/i</image:loc>{caption}</image:image>"
    document = urlset(f"<url><loc>{E}/1</loc>{image}</url>", f"{E}/2", extra=PREFIXES).encode()
    reading = read(chunks(document, size))
    assert reading.urls == [f"{E}/1", f"{E}/2"]
    assert reading.pages[0].images[0].caption == "x" * MAX_FIELD
    assert reading.messages == ["2: a field is too long"]


@together(
    "attributes, namespace",
    [
        ("", ("urlset", "")),
        (" xmlns='urn:x'", ("urlset", "urn:x")),
        (f" xmlns='{SPACES['s']}'", None),
    ],
)
def test_a_urlset_in_another_namespace_than_that_of_sitemaps_is_read(attributes, namespace):
    parser = XmlText(E)
    (batch,) = parser.feed(f"<urlset{attributes}><url><loc>{E}/1</loc></url></urlset>")
    assert batch.urls == [f"{E}/1"]
    assert parser.namespace == namespace


def test_a_feed_that_says_so_little_is_still_a_feed():
    for root in (b"<rss/>", b"<feed/>", b"<rdf:RDF/>", b"<sitemapindex/>"):
        reading = read([root])
        assert reading.kind is not None
        assert reading.problems == ()


CUT_OFF = gzip.compress(b"<urlset>" * 99)
NO_ROOT = (b"<", b"<!", b"<!DOCTYPE", b"<!doctype ht")  # not yet an HTML page
REASONS = {
    **dict.fromkeys([b"", b" \n", b"\xef\xbb\xbf", gzip.compress(b"")], "it is empty"),
    b"\x1f\x8b\x08garbage": "nothing in it can be read: the compressed data is broken.*",
    gzip.compress(CUT_OFF[:11]): "nothing in it can be read: the compressed data breaks off.*",
    **dict.fromkeys([*NO_ROOT, *map(gzip.compress, NO_ROOT)], "it has no root element"),
    **dict.fromkeys([b"<!doctype html", b"<!DOCTYPE html><p>"], ".*HTML page.*"),
}


@together("data, reason", REASONS.items())
def test_a_document_is_refused_for_what_is_wrong_with_it(data, reason):
    node = sitemap_from_bytes(data)
    assert isinstance(node, InvalidSitemap)
    assert re.fullmatch(reason, node.reason.partition("/: ")[2])


JSON_FEED = (
    '{"version": "https://jsonfeed.org/version/1.1", "title": "Tea", "items": [\n'
    '{"id": "1", "url": "/1", "content_text": ""},\n'
    '{"id": "2", "url": "/2", "content_text": "a \\"b\\" }] %s", "_x": [{"y": "\\\\"}]},\n'
    '{"id": "3", "url": "/3", "content_text": ""}]}'
)


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_an_item_of_json_that_is_too_long_is_lost_alone(monkeypatch, size):
    monkeypatch.setattr(json_feeds, "MAX_VALUE", 200)
    data = (JSON_FEED % ("x{[" * 300)).encode()
    reading = read(chunks(data, size))
    assert [page.url.rpartition("/")[2] for page in reading.pages] == ["1", "3"]
    assert (reading.codes, reading.lost) == (["3: bad-json"], 1)


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_a_feed_of_json_with_nothing_in_it_is_not_read_to_its_end(monkeypatch, size):
    monkeypatch.setattr(json_feeds, "MAX_DAMAGE", 5)
    data = JSON_FEED.replace('{"id": "3"', "{} {} {} [] [] [] []" + '{"id": "3"').encode()
    reading = read(chunks(data, size))
    assert [page.url.rpartition("/")[2] for page in reading.pages] == ["1", "2"]
    assert reading.codes[-1] == "4: too-damaged"
