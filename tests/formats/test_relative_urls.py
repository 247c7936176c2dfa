"""A relative URL becomes what RFC 3986 makes of it, in whatever way it is read."""

import re
from urllib.parse import urlsplit

from formats_support import read
from hypothesis import example, given
from hypothesis import strategies as st

from together import together
from usp._base.loc_urls import absolute_url
from usp._base.urls import can_be_requested, is_http_url, joined, read_url
from usp.tree import sitemap_from_bytes, sitemap_from_str

BASES = (
    *("https://www.example.org/maps/s.xml", "http://example.org"),
    *("HTTP://Example.org:8080/a//b/../c/", "https://example.org/a;b/c;d?e#f", "https://[::1]/a/b"),
    *("https://example.org/../a/.", "https://example.org/a b/c", "https://[broken", "/a/b"),
)
PARTS = [
    *("a", "b.html", "..", ".", "/", "/", "//", "?", "#", ";", ":", "&", "=", "é", "%20", "\\"),
    *("[", "]", "[::1]", "@", "example.org", "\x00", "\x1f", "\u2100", "\u200b", "\ud800"),
]
relative = st.lists(st.sampled_from(PARTS), max_size=8).map("".join)


SCHEME, AUTHORITY = re.compile("[A-Za-z][A-Za-z0-9+.-]*:"), re.compile("//[^/]*")


def split(url: str) -> list[str]:
    """Return scheme, authority, path, query and fragment with their signs; empty if not there."""
    url, mark, fragment = url.partition("#")
    url, question, query = url.partition("?")
    parts = []
    for pattern in (SCHEME, AUTHORITY):
        found = pattern.match(url)
        parts.append(found[0] if found else "")
        url = url[len(parts[-1]) :]
    return [*parts, url, question + query, mark + fragment]


def remove_dot_segments(path: str) -> str:
    """RFC 3986, section 5.2.4, step by step."""
    out: list[str] = []
    while path:
        if path.startswith("../"):
            path = path[3:]
        elif path.startswith(("./", "/./")):
            path = path[2:]
        elif path == "/.":
            path = "/"
        elif path.startswith("/../") or path == "/..":
            path = "/" + path[4:]
            del out[-1:]
        elif path in (".", ".."):
            path = ""
        else:
            end = path.find("/", 1)
            end = len(path) if end < 0 else end
            out.append(path[:end])
            path = path[end:]
    return "".join(out)


def transformed(base: str, url: str) -> str:
    """RFC 3986, sections 5.2.2 and 5.3."""
    base_scheme, base_authority, base_path, base_query, _ = split(base)
    scheme, authority, path, query, fragment = split(url)
    if scheme:
        return url
    if authority:
        path = remove_dot_segments(path)
    else:
        authority = base_authority
        if not path:
            path, query = base_path, query or base_query
        elif path.startswith("/"):
            path = remove_dot_segments(path)
        elif base_authority and not base_path:
            path = remove_dot_segments(f"/{path}")
        else:
            path = remove_dot_segments(base_path[: base_path.rfind("/") + 1] + path)
    return base_scheme.lower() + authority + path + query + fragment


@given(st.sampled_from(BASES), relative)
@example("https://example.org/a b/c", "../x")
@example(BASES[0], "///x")
@example(BASES[0], "/..//b")
@example(BASES[0], "//e.org/a/../b")
@example(BASES[0], "a//b/./../c/..")
@example(BASES[0], "./car//index.html")
def test_a_relative_url_is_resolved_as_rfc_3986_says(base, url):
    assert joined(base, url) == transformed(base, url)


RFC_EXAMPLES = {  # sections 5.4.1 and 5.4.2, as far as a path, a query or a host is given
    "g": "/b/c/g", "./g": "/b/c/g", "g/": "/b/c/g/", "/g": "/g", "?y": "/b/c/d;p?y",
    "g?y": "/b/c/g?y", "#s": "/b/c/d;p?q#s", "g#s": "/b/c/g#s", "g?y#s": "/b/c/g?y#s",
    ";x": "/b/c/;x", "g;x": "/b/c/g;x", "g;x?y#s": "/b/c/g;x?y#s", "": "/b/c/d;p?q",
    ".": "/b/c/", "./": "/b/c/", "..": "/b/", "../": "/b/", "../g": "/b/g", "../..": "/",
    "../../": "/", "../../g": "/g", "../../../g": "/g", "../../../../g": "/g", "/./g": "/g",
    "/../g": "/g", "g.": "/b/c/g.", ".g": "/b/c/.g", "g..": "/b/c/g..", "..g": "/b/c/..g",
    "./../g": "/b/g", "./g/.": "/b/c/g/", "g/./h": "/b/c/g/h", "g/../h": "/b/c/h",
    "g;x=1/./y": "/b/c/g;x=1/y", "g;x=1/../y": "/b/c/y", "g?y/./x": "/b/c/g?y/./x",
    "g#s/../x": "/b/c/g#s/../x", "g//h": "/b/c/g//h",
}  # fmt: skip


@together("url", RFC_EXAMPLES)
def test_the_examples_of_rfc_3986_come_out_as_there(url):
    assert joined("http://a/b/c/d;p?q", url) == f"http://a{RFC_EXAMPLES[url]}"


@given(relative)
def test_an_http_url_is_one_that_urlsplit_finds_a_host_in(rest):
    """Unless that begins with a dot."""
    url = f"http://{rest}"
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    is_host = bool(host) and not str(host).startswith(".")
    assert is_http_url(url) == (is_host and url.split() == [url])


@given(relative)
def test_what_can_be_requested_has_a_host_that_can_be_one(rest):
    url = f"http://{rest}"
    authority = re.split("[/?#]", rest)[0].rpartition("@")[2]
    try:
        read_url(f"http://{authority}")
        can_be_host = bool(urlsplit(url).hostname)
    except ValueError:
        can_be_host = False
    assert can_be_requested(url) == (can_be_host and url.split() == [url])
    if can_be_requested(url):
        assert urlsplit(url).hostname.strip(".")


NO_HOSTS = [
    *("http://h .example/", "http://a..b/", "http://h.example:99999/x", "http:///x", "http://."),
    *("http://a.b:x/", "http://999.1.1.1/", f"http://{64 * 'a'}.example/", "http://[::1/"),
]
HOSTS = [
    *("http://a_b.example/", "http://[::1]/", "http://münchen.example/", "http://a.example./"),
    *("http://127.0.0.1:65535/", "http://h.example:/", "http://a.b.c.d.e.f.g.h.example/x"),
]
WRITTEN = [
    "<urlset><url><loc>{}</loc></url><url><loc>http://ok.example/</loc></url></urlset>",
    "<urlset><url><loc>{}</loc></b></url><url><loc>http://ok.example/</loc></url></urlset>",
    "<urlset><url><loc>{}</loc><a><b/></a></url><url><loc>http://ok.example/</loc></url></urlset>",
    "<rss><item><link>{}</link></item><item><link>http://ok.example/</link></item></rss>",
    "<feed><entry><link href='{}'/></entry><entry><link href='http://ok.example/'/></entry></feed>",
    "http://ok.example/\n{}\n",
]


@together("document", WRITTEN)
def test_a_host_that_cannot_be_one_is_a_problem_and_costs_nothing_else(document):
    for url in NO_HOSTS:
        tree = sitemap_from_str(document.format(url))
        assert [page.url for page in tree.all_pages()] == ["http://ok.example/"]
        assert {one.code for one in tree.problems} & {"bad-loc", "bad-link", "bad-line"}
    for url in HOSTS:
        tree = sitemap_from_str(document.format(url))
        assert {page.url for page in tree.all_pages()} == {"http://ok.example/", url}
        assert not {one.code for one in tree.problems} & {"bad-loc", "bad-link", "bad-line"}


@together("url", [None, "https://example.org/x/feed.xml"])
@together(
    "document",
    [
        "<rss><channel><item><title>t</title><link>{}</link></item></channel></rss>",
        "<feed><entry><title>t</title><link>{}</link></entry></feed>",
        "<urlset><url><loc>{}</loc></url></urlset>",
        "<sitemapindex><sitemap><loc>{}</loc></sitemap></sitemapindex>",
    ],
)
def test_markup_in_the_link_or_loc_of_an_entry_is_no_relative_url(document, url):
    def read(text):
        tree = sitemap_from_bytes(document.format(text).encode(), url)
        children = getattr(tree, "sub_sitemaps", ())
        return [one.url for one in (*tree.all_pages(), *children)], tree.problems

    link = "<a href='https://e.example/p'>x</a>"
    for text in (link, "<b>more</b>", "&lt;a&gt;x&lt;/a&gt;", "<i>x.html"):
        found, problems = read(text)
        assert not found
        assert problems[-1].code in ("bad-link", "bad-loc")
    for address in ("https://e.example/p", "https://e.example/a b"):
        assert read(f"<b>{address}</b>")[0] == [address]
    assert read("<br/>")[1][-1].code in ("no-link", "no-loc")


def test_the_attribute_of_a_link_may_be_a_word():
    feed = b"<feed><entry><title>t</title><link href='post-1'/></entry></feed>"
    tree = sitemap_from_bytes(feed, "https://example.org/x/feed.xml")
    assert [page.url for page in tree.all_pages()] == ["https://example.org/x/post-1"]


@given(st.lists(st.sampled_from(["a", "/", " ", "\n", "\r\n", "\t", "\xa0", "\x0b"])).map("".join))
def test_a_wrapped_url_loses_its_breaks_and_keeps_its_blanks(tail):
    url = absolute_url(f"https://example.org/{tail}", None)
    assert url is not None
    assert not {"\n", "\r", "\t"} & set(url)
    assert "".join(url.split()) == "".join(f"https://example.org/{tail}".split())
    if not {"\n", "\r", "\t"} & set(tail):
        assert url == f"https://example.org/{tail}".strip()


@together("blocks", ["fast", True, None])
@together(
    "loc, path",
    [
        *[("/a?", "/a?"), ("/a\n  b", "/ab"), ("/a:(b)", "/a:(b)"), ("/a;b", "/a;b")],
        *[("./car//index.html", "/x/car//index.html"), ("/a//b", "/a//b"), ("../a//b", "/a//b")],
        *[("//example.org/a//b", "/a//b"), ("car//", "/x/car//"), ("/a b", "/a b")],
        *[("my car.html", "/x/my car.html"), ("./a b/", "/x/a b/"), ("a/b c", "/x/a/b c")],
    ],
)
def test_all_ways_resolve_odd_paths_alike(blocks, loc, path):
    document = f"<urlset>{f'<url><loc>{loc}</loc></url>' * 3}</urlset>"
    urls = read([document.encode()], blocks=blocks, url="https://example.org/x/s.xml").urls
    assert set(urls) == {f"https://example.org{path}"}


BASE = "https://www.example.org/maps/s.xml"
ADDRESSES = {
    "https://a.example/b": "https://a.example/b",
    "HTTP://a.example": "HTTP://a.example",
    "  https://a.example/\n": "https://a.example/",
    "\ufeff\u200bhttps://a.example/\u2060": "https://a.example/",
    "https://a.example/x\n   y": "https://a.example/xy",
    "https://a.example/x y": "https://a.example/x y",
    "/b": "https://www.example.org/b",
    "b": "https://www.example.org/maps/b",
    "?q=a:b": "https://www.example.org/maps/s.xml?q=a:b",
    "/a?b=1&c=2": "https://www.example.org/a?b=1&c=2",
    "c/ß-d": "https://www.example.org/maps/c/ß-d",
    "../x": "https://www.example.org/x",
    "/./x": "https://www.example.org/x",
    "//c.example/d": "https://c.example/d",
    "/a:b": "https://www.example.org/a:b",
    "www.example.org/x": "https://www.example.org/x",
    "example.org/x": "https://example.org/x",
    **dict.fromkeys(["", "  ", "mailto:a@b", "data:x", "urn:a:b", "ftp://a/b", "http://"]),
    **dict.fromkeys(["https://[x/", "//[x/", "https:///x", "javascript:void(0)", "svn+ssh://a"]),
}
NO_ADDRESSES = [  # words and markup
    *("not a url", "<a href='/x'>x</a>", "<b>/x</b>", '"/x"', "tag:example.org,2025:1", " "),
]


@together("loc, url", [*ADDRESSES.items(), *((text, None) for text in NO_ADDRESSES)])
def test_an_address_becomes_absolute_or_none(loc, url):
    assert absolute_url(loc, BASE) == url


def test_without_a_base_a_relative_address_stays():
    assert absolute_url("/b", None) == "/b"
    assert absolute_url("https://a.example/", None) == "https://a.example/"
    assert {absolute_url(text, None) for text in NO_ADDRESSES} == {None}


@given(st.text(), st.sampled_from([None, BASE, "https://[broken"]))
def test_no_address_raises(loc, base):
    url = absolute_url(loc, base)
    assert url is None or url
