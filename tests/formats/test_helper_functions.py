"""The small functions that programs use beside the tree."""

import gzip
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_web import Client, Doc, H, Web
from together import together
from usp.exceptions import GunzipException, StripURLToHomepageException
from usp.helpers import (
    gunzip,
    html_unescape_strip,
    is_http_url,
    strip_url_to_homepage,
    ungzipped_response_content,
)

HTTP = [
    *("http://example.org", "https://example.org/a?b#c", "HTTPS://EXAMPLE.ORG/", "http://h:80/"),
    *("http://[::1]/", "http://пример.example/é", "http://user:pw@host/", "http://127.0.0.1"),
    *("http://a/*?x=http://b", "http://xn--iaur-yva35b.lt", "http://example.org./x"),
]
NOT_HTTP = [
    *("", "http://", "https:///path", "ftp://example.org", "example.org", "//example.org"),
    *("/path", "mailto:a@b", "http:example.org", "http://[broken", "https://a b", " http://a"),
    *("http://a\n", "http://?x", "javascript:x", "http://.xn--iaur-yva35b.lt"),
    *("http://.example.org:80/x", "HTTPS://.", "http://user@.."),
]


@together("url", [*HTTP, *NOT_HTTP])
def test_an_http_url_has_its_scheme_and_a_host(url):
    assert is_http_url(url) is (url in HTTP)


@together(
    "text, expected",
    [
        *((None, None), ("", ""), (" \n a b \t", "a b"), ("\u00a0a\u2003", "a")),
        ("a &amp; b &lt;&#33;&#x21;&eacute;", "a & b <!!é"),
        ("?a=1&section=2&copy=3", "?a=1&section=2&copy=3"),
        *(("&amp;amp;", "&amp;"), ("&unknown; &;", "&unknown; &;"), ("&nbsp;x&nbsp;", "x")),
    ],
)
def test_references_that_end_in_a_semicolon_are_decoded_once_and_blanks_stripped(text, expected):
    assert html_unescape_strip(text) == expected


@together(
    "url, homepage",
    [
        ("https://example.org", "https://example.org/"),
        ("https://example.org/a/b?c=d#e", "https://example.org/"),
        ("http://example.org:8080/a", "http://example.org:8080/"),
        (" http://example.org/ ", "http://example.org/"),
        ("http://[::1]:80/x", "http://[::1]:80/"),
    ],
)
def test_a_url_is_cut_back_to_scheme_and_host(url, homepage):
    assert strip_url_to_homepage(url) == homepage


@together(
    "url",
    [None, "", "example.org", "ftp://example.org/", "http://", "http:///x", "http://[broken/"],
)
def test_a_url_without_http_or_host_has_no_homepage(url):
    with pytest.raises(StripURLToHomepageException, match="." if url else "URL is empty"):
        strip_url_to_homepage(url)


@given(st.binary(max_size=300), st.integers(0, 9))
def test_gunzip_gives_back_what_was_packed(data, level):
    assert gunzip(gzip.compress(data, level)) == data
    assert gunzip(gzip.compress(data) + gzip.compress(data) + b"\0\0") == data + data
    assert gunzip(gzip.compress(data), max_output_bytes=len(data)) == data


PACKED = gzip.compress(b"x" * 1000)


@together(
    "data",
    [
        *(None, b"", "text", b"plain", b"\x1f\x8b", b"\x1f\x8b\x08", PACKED[:-3], PACKED[:12]),
        *(PACKED + b"junk", PACKED[:-8] + b"\x00" * 8),
    ],
)
def test_gunzip_refuses_what_is_not_gzip_or_not_whole(data):
    with pytest.raises(GunzipException):
        gunzip(data)


def test_gunzip_stops_at_its_limit():
    with pytest.raises(GunzipException, match="999"):
        gunzip(PACKED, max_output_bytes=999)
    with pytest.raises(GunzipException):
        gunzip(gzip.compress(bytes(50_000_000)), max_output_bytes=1000)


def content(data, content_type=None, **options):
    """Return the content of an answer."""
    headers = {"Content-Type": content_type} if content_type else {}
    answer = Client(Web({"/s": Doc(data, headers=headers)})).get(f"{H}/s")
    return ungzipped_response_content(answer.url(), answer, **options)


@together(
    "data, content_type, text",
    [
        (b"plain", None, "plain"),
        (b"", None, ""),
        (gzip.compress("é".encode(), mtime=0), None, "é"),
        (gzip.compress(gzip.compress(b"twice", mtime=0), mtime=0), "text/plain", "twice"),
        ("é".encode("cp1251", "replace") + b"\xe9", "text/plain; charset=windows-1251", "?й"),
        ("\ufeffé".encode("utf-16-le"), "text/plain; charset=utf-8", "é"),
    ],
)
def test_the_content_of_an_answer_is_unpacked_and_decoded(data, content_type, text):
    assert content(data, content_type) == text


def test_the_content_of_an_answer_that_is_damaged_or_too_long_is_what_came(caplog):
    caplog.set_level(logging.WARNING)
    assert set(content(gzip.compress(b"x" * 100, 0)[:50])) == {"x"}
    assert "breaks off" in caplog.text
    assert content(gzip.compress(b"x" * 100), max_uncompressed_bytes=10) == "x" * 10
    assert "the limit unpacked_bytes=10 is reached" in caplog.text
