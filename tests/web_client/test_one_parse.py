"""A URL is read once: the host that is judged is the one that every library would connect to."""

import http.client
from urllib.parse import urlsplit

import pytest
import requests
import urllib3.util
import yarl
from both import KINDS, fake_zones, fetch
from hypothesis import example, given
from hypothesis import strategies as st

from together import together
from usp._base.urls import BadUrl, read_url, redact_url, with_login, without_login
from usp.exceptions import SitemapException
from usp.tree import sitemap_tree_for_homepage
from usp.web_client.abstract_client import WebClientErrorResponse
from website import index, robots

REFUSED = [
    "http://home.example\\@evil.example/x.xml", "http://evil.example\\home.example/",
    "http://home.example\\/x", "http:\\\\home.example/", "http:/\\home.example/",
    "http://home.example\t.evil.example/", "http://ho\nme.example/", "http://home.example\r\n/x",
    "http://home.example\x00.evil.example/", "http://home.example\x85/", "http://home.example\u2028/",
    "http://home.example\u00a0/", "http://home .example/", "http://me:pass word@home.example/",
    "http://me:\\@home.example/", "http://home.example:80:90/", "http://home.example:+80/",
    "http://home.example:-1/", "http://home.example:0x50/", "http://home.example:65536/",
    "http://home.example:99999999999999999999/", "http://home%2eexample/", "http://%68ome.example/",
    "http://home.example%00.evil.example/", "http://home..example/", "http://.home.example/",
    "http://home.example../", "http://", "http:///x", "http://:80/", "http://@/x",
    "http:/home.example/x", "http:home.example/x", "//home.example/x", "home.example",
    "ftp://home.example/", "http://[::1", "http://[::1]x/", "http://::1/", "http://[127.0.0.1]/",
    "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[::1]@evil.example]/",
    "http://1.2.3.4.5/", "http://256.0.0.1/", "http://127.0.0.08/", "http://4294967296/",
    "http://0x100000000/", "http://0x/", "http://a.0x/", "http://home.example|evil.example/",
    "http://home.example,evil.example/", "http://home.example;@evil|x/",
    "http://" + "a" * 64 + ".example/", "http://" + "a.example." * 40 + "/", "http://home.example/a\tb",
    "http://home.example/a\x00b", "http://\u2488home.example/\n", "http://ho\ud800me.example/",
    "https://\u202eelpmaxe.emoh/",
    "http://home.example:８０/",  # noqa: RUF001
]  # fmt: skip

READ = {  # how it is asked for
    "http://home.example": "http://home.example/",
    "HTTP://HOME.Example/A": "http://home.example/A",
    "http://home.example?q": "http://home.example/?q",
    "http://home.example#f": "http://home.example/#f",
    "http://home.example:0080/x": "http://home.example:80/x",
    "http://home.example/x@evil.example": "http://home.example/x@evil.example",
    "http://home.example?@evil.example/": "http://home.example/?@evil.example/",
    "http://home.example#@evil.example/": "http://home.example/#@evil.example/",
    "http://home.example/\\evil.example": "http://home.example/%5Cevil.example",
    "http://home.example//evil.example": "http://home.example//evil.example",
    "http://b\u00fccher.example/\u00fc": "http://xn--bcher-kva.example/%C3%BC",
    "http://0/": "http://0.0.0.0/",
    "http://[::1]:80/": "http://[::1]:80/",
    "http://[0:0:0:0:0:0:0:1]/": "http://[::1]/",
    "http://[2001:DB8::1]/": "http://[2001:db8::1]/",
    "http://under_score.example/": "http://under_score.example/",
    "http://home.example/a b": "http://home.example/a%20b",
    "http://home.example/%7ea/%41?%zz": "http://home.example/~a/A?%25zz",
    "http://home.example/a/%2e%2e/%2E%2e/b": "http://home.example/b",
    "http://home.example/..//../": "http://home.example/",
    "http://home.example/..//..?q": "http://home.example/?q",
    **{
        f"http://{host}/": f"http://{usual}/"
        for usual, hosts in {
            "home.example": "home\u3002example home\uff0eexample\uff61 \uff48\uff4f\uff4d\uff45.example",
            "127.0.0.1": "127.1 127.0.1 0x7f.0x0.0x0.0x1 0X7F000001 0177.0.0.01 2130706433 127.0.0.1."
            " \uff11\uff12\uff17.0.0.1 \u2460\u2461\u2466.0.0.1 127\u30020\u30020\u30021",
        }.items()
        for host in hosts.split()
    },
    **dict.fromkeys(
        [
            "  http://home.example/x \r\n", "http://home.example:/x", "http://home.example./x",
            "http://me:word@home.example/x", "http://a@b@home.example/x", "http://home.example/x?",
            "http://evil.example@home.example/x", "http://evil.example:80@home.example/x",
            "http://home.example/x?#",
        ],
        "http://home.example/x",
    ),
}  # fmt: skip


def readers(url: str) -> dict[str, str | None]:
    """Give the host that each library would connect to, and HTTP's own module."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc.rpartition("@")[2])
    return {
        "urllib3": (urllib3.util.parse_url(url).host or "").strip("[]"),
        "yarl": (yarl.URL(url, encoded=True).raw_host or "").strip("[]"),
        "yarl, not encoded": (yarl.URL(url).raw_host or "").strip("[]"),
        "urllib": urlsplit(url).hostname,
        "http.client": connection.host.strip("[]"),
    }


def check(url: str) -> None:
    """See that all agree about a URL, or that it is refused."""
    try:
        read = read_url(url)
    except BadUrl:
        return
    text = read.text()
    assert set(readers(text).values()) == {read.host}, readers(text)
    assert urllib3.util.parse_url(text).port in {None, read.port}
    assert (yarl.URL(text, encoded=True).port, urlsplit(text).port) in {
        (read.port, read.port), (read.port, None),
    }  # fmt: skip
    assert requests.Request("GET", text).prepare().url == text  # which requests does not rewrite
    assert str(yarl.URL(text, encoded=True)) in {text, text.replace(f":{read.port}/", "/", 1)}
    again = read_url(text)
    assert (again.host, again.port, again.text()) == (read.host, read.port, text)


@together("url", REFUSED)
def test_what_can_be_read_in_two_ways_is_refused(url):
    with pytest.raises(BadUrl):
        read_url(url)


@together("url", READ)
def test_all_libraries_agree_about_what_is_asked_for(url):
    assert read_url(url).text() == READ[url]
    check(url)


_NASTY = st.lists(
    st.sampled_from(
        [*"@:/\\?#[]%.\u3002\uff0e;&=+-_ \t\n\x00\uff101x", "home", "evil.example", "127.0.0.1", "%2e", "%40", "ü", "[::1]",
         "0x7f", "443", "xn--", "\u00ad", "\u200d", "//", "user:pw@"],
    ),
    max_size=12,
).map("".join)  # fmt: skip


@given(
    st.sampled_from(["http://", "https://", "http:/", "http:", "HTTP:\\\\", ""]),
    _NASTY | st.text(max_size=40),
)
@example("http://", "home\\@evil.example/")
def test_whatever_is_written_all_agree_or_it_is_refused(scheme, rest):
    check(scheme + rest)


# Logins ---------------------------------------------------------------------------------------------


@together(
    "url",
    ["http://me:s3cret@h.example/x", "http://me:s3cret@h.example\\/", "ftp://me:s3cret@h.example/",
     "http://me:s3/cret@h.example/", "http://me:s3?cret@h.example/", "http://me:s3@cret@h .example/",
     "me:s3cret@h", "http://me:s3#cret@[broken/"],
)  # fmt: skip
def test_no_message_has_a_password(url):
    assert "cret" not in redact_url(url)
    try:
        assert "cret" not in repr(read_url(url))
        assert "cret" not in read_url(url).text()
    except BadUrl as error:
        assert "cret" not in str(error)  # noqa: PT017


def test_a_login_is_taken_out_and_put_in():
    url = "http://me:p%40ss%3A@H.example/a@b?c"
    login = read_url(url).login
    assert (login.user, login.password) == (b"me", b"p@ss:")
    assert without_login(url) == "http://H.example/a@b?c"
    assert read_url(with_login(without_login(url), login)).login == login
    assert without_login("http://h.example/x//y@z") == "http://h.example/x//y@z"
    assert "p@ss" not in repr(read_url(url))


# On the wire ------------------------------------------------------------------------------------------


@together("kind", KINDS)
@together("odd", ["{home}\\@{evil}/", "{evil}\\@{home}/", "{home}\t@{evil}/", "{home}\\{evil}/"])
def test_a_host_that_can_be_read_in_two_ways_is_not_asked_by_anybody(kind, odd, serve, monkeypatch):
    fake_zones(monkeypatch, public="127.0.0.1")
    site = serve({"/": "home", "alt:/": "secret"})
    home, evil = site.base.removeprefix("http://"), site.alt.removeprefix("http://")
    url = "http://" + odd.format(home=home, evil=evil)
    first, second = fetch(
        kind, site.url("/"), url, start=site.base, headers={"X-Api-Key": "secret"}
    )
    assert first == b"home"
    assert isinstance(second, WebClientErrorResponse)
    assert not second.retryable()
    assert sum(site.hits.values()) == 1


@together("kind", KINDS)
def test_what_is_sent_is_what_was_judged(kind, serve):
    """The other spellings of this machine lead to the same host, under its usual name."""
    site = serve({"/x": "x"})
    port = site.base.rpartition(":")[2]
    urls = [
        f"http://{host}:{port}/x"
        for host in ("127.1", "0x7f000001", "127.0.0.1.", "\uff11\uff12\uff17.0.0.1")
    ]
    assert fetch(kind, *urls, start=site.base) == [b"x"] * 4
    assert {request.headers["Host"] for request in site.requests} == {f"127.0.0.1:{port}"}


def test_a_child_with_an_odd_host_is_named_and_not_asked(serve):
    site = serve({})
    home, evil = site.base.removeprefix("http://"), site.alt.removeprefix("http://")
    site.answers |= {
        "/robots.txt": robots("/i.xml"),
        "/i.xml": index(f"http://{home}\\@{evil}/x.xml", f"http://{evil}\\@{home}/y.xml"),
    }
    tree = sitemap_tree_for_homepage(site.base, use_known_paths=False)
    reasons = [failure.reason for failure in tree.failures()]
    assert len(reasons) == 2
    assert all("backslash" in reason for reason in reasons)
    assert set(site.hits) == {"/robots.txt", "/i.xml"}


@together("url", ["http://home.example\\@evil.example/", "http:/home.example", "http://a b/"])
def test_such_a_start_is_a_mistake_of_the_caller(url):
    with pytest.raises(SitemapException, match="not a HTTP"):
        sitemap_tree_for_homepage(url)
