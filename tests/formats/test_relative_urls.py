"""A relative URL becomes what ``urllib.parse.urljoin`` makes of it, in whatever way it is read."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

import pytest
from formats_support import read
from hypothesis import example, given
from hypothesis import strategies as st

from usp._base.relative_urls import Base
from usp._base.urls import is_http_url
from usp._formats.values import absolute_url, on_base

BASES = (
    "https://www.example.org/maps/s.xml",
    "http://example.org",
    "HTTP://Example.org:8080/a//b/../c/",
    "https://example.org/a;b/c;d?e#f",
    "https://[::1]/a/b",
    "https://example.org/../a/.",
    "https://example.org/a b/c",
    "https://[broken",
    "/a/b",
)
PARTS = [
    *("a", "b.html", "..", ".", "/", "/", "//", "?", "#", ";", ":", "&", "=", "é", "%20", "\\"),
    *("[", "]", "[::1]", "@", "example.org", "\x00", "\x1f", "\u2100", "\u200b", "\ud800"),
]
relative = st.lists(st.sampled_from(PARTS), max_size=8).map("".join)


def joined(base: str, url: str) -> str | None:
    try:
        found = urljoin(base, url)
    except ValueError:
        return None
    return found if is_http_url(found) else None


@given(st.sampled_from(BASES), relative.filter(bool))
@example("https://example.org/a b/c", "../x")
@example(BASES[0], "///x")
@example(BASES[0], "/a/..//b")
@example(BASES[0], "a//b/./../c/..")
def test_a_relative_url_is_resolved_as_by_urljoin(base, url):
    assert Base(base).join(url) == joined(base, url)


@given(relative)
def test_an_http_url_is_one_that_urlsplit_finds_a_host_in(rest):
    url = f"http://{rest}"
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    assert is_http_url(url) == (bool(host) and url.split() == [url])


@given(st.sampled_from(BASES), st.lists(relative.map("/{}".format), min_size=1, max_size=3))
@example(BASES[0], ["/a?"])
@example(BASES[0], ["/a", "/b\nc"])
def test_many_paths_become_what_each_of_them_becomes(base, paths):
    urls = on_base(paths, base)
    assert urls is None or urls == [absolute_url(path, base) for path in paths]


@given(st.lists(st.sampled_from(["a", "/", " ", "\n", "\r\n", "\t", "\xa0", "\x0b"])).map("".join))
def test_a_wrapped_url_loses_its_breaks_and_keeps_its_blanks(tail):
    url = absolute_url(f"https://example.org/{tail}", None)
    assert url is not None
    assert not {"\n", "\r", "\t"} & set(url)
    assert "".join(url.split()) == "".join(f"https://example.org/{tail}".split())
    if not {"\n", "\r", "\t"} & set(tail):
        assert url == f"https://example.org/{tail}".strip()


@pytest.mark.parametrize("lanes", ["fast", True, None])
@pytest.mark.parametrize(
    ("loc", "path"), [("/a?", "/a"), ("/a\n  b", "/ab"), ("/a:(b)", "/a:(b)"), ("/a;b", "/a;b")]
)
def test_the_lanes_resolve_odd_paths_alike(lanes, loc, path):
    document = f"<urlset>{f'<url><loc>{loc}</loc></url>' * 3}</urlset>"
    urls = read([document.encode()], lanes=lanes, url="https://example.org/s.xml").urls
    assert set(urls) == {f"https://example.org{path}"}
