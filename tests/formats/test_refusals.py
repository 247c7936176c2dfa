"""A document that is not a sitemap is refused for what is wrong with it, and for nothing else."""

from __future__ import annotations

import gzip

from together import together
from usp.objects.sitemap import InvalidSitemap
from usp.tree import sitemap_from_bytes

CUT = gzip.compress(b"<urlset>" * 99)


def reason(data: bytes) -> str:
    node = sitemap_from_bytes(data)
    assert isinstance(node, InvalidSitemap)
    return node.reason.partition("/: ")[2]


@together("data", [b"", b" \n", b"\xef\xbb\xbf", gzip.compress(b"")])
def test_nothing_is_empty(data):
    assert reason(data) == "it is empty"


@together(
    "data, why",
    [
        (b"\x1f\x8b\x08garbage", "the compressed data is broken"),
        (gzip.compress(CUT[:11]), "the compressed data breaks off"),
    ],
)
def test_data_that_cannot_be_unpacked_is_not_empty(data, why):
    assert reason(data).startswith(f"nothing in it can be read: {why}")


@together("text", [b"<", b"<!", b"<!DOCTYPE", b"<!doctype ht"])
def test_the_first_letters_of_a_document_are_not_yet_an_html_page(text):
    assert reason(text) == reason(gzip.compress(text)) == "it has no root element"


@together("text", [b"<!doctype html", b"<!DOCTYPE html><p>"])
def test_an_html_page_is_one_by_its_doctype(text):
    assert "HTML page" in reason(text)
