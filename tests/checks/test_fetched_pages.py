"""Pages that are fetched themselves: which ones, how politely, and what they say."""

from __future__ import annotations

from collections import Counter

import pytest
from check_examples import HOME, Client, Reply, replies_of

import usp
from usp._crawl.stored_pages import SourcePosition
from usp.checks import fetching
from usp.checks.fetching import Sample
from website import SITEMAP_NS, Answer, Site

ENTRIES = "<url><loc>https://example.org/page-{n}</loc></url> (x 40)"
HTML = {"Content-Type": "text/html"}


def fetched(pages, *, robots="User-agent: *\nAllow: /\n", listed=ENTRIES, most=10):
    """Check a website with pages; return what was found, and which URLs were requested for it."""
    replies = replies_of(listed)
    replies[f"{HOME}/robots.txt"] = Reply(f"{robots}Sitemap: {HOME}/sitemap.xml\n".encode())
    replies.update({f"{HOME}{path}": reply for path, reply in pages.items()})
    tree = usp.sitemap_tree_for_homepage(f"{HOME}/", Client(replies))
    client = Client(replies)
    found = list(usp.check(tree, client, select=["SM9"], fetch_pages=most))
    return found, client.requested


def one(html, **headers):
    """Check a website with one page."""
    reply = Reply(html.encode(), headers=HTML | headers)
    found, _ = fetched({"/a": reply}, listed=f"<url><loc>{HOME}/a</loc></url>")
    return [(finding.name, finding.message) for finding in found]


class Pages:
    """A block of pages for a sample."""

    def __init__(self, first, count):
        self.urls = [str(number) for number in range(first, first + count)]
        self.sitemap = type("Sitemap", (), {"url": "s"})

    def place(self, at):
        return SourcePosition(at)


# Which pages -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[100], [1] * 100, [3, 0, 50, 47]])
def test_a_sample_has_its_size_and_no_page_twice(sizes):
    sample, first = Sample(20), 0
    for size in sizes:
        sample.add(Pages(first, size))
        first += size
    urls = [listed.url for listed in sample.pages]
    assert len(urls) == len(set(urls)) == 20


def test_a_sample_of_few_pages_has_all_of_them():
    sample = Sample(20)
    sample.add(Pages(0, 7))
    assert [listed.url for listed in sample.pages] == list("0123456")


def test_every_page_has_the_same_chance(monkeypatch):
    chosen = Counter()
    for seed in range(400):
        monkeypatch.setattr(fetching, "_SEED", seed)
        sample = Sample(10)
        for first in range(0, 100, 25):
            sample.add(Pages(first, 25))
        chosen.update(int(listed.url) // 25 for listed in sample.pages)
    assert all(800 < chosen[quarter] < 1200 for quarter in range(4)), chosen


def test_the_same_pages_are_fetched_each_time():
    assert fetched({})[1] == fetched({})[1]


def test_no_page_is_fetched_unless_asked_for():
    assert fetched({}, most=0) == ([], [])


# How politely -------------------------------------------------------------------------------------


def test_no_more_pages_are_fetched_than_asked_for():
    assert len(fetched({}, most=7)[1]) == 7


def test_what_robots_txt_disallows_is_not_fetched():
    assert fetched({}, robots="User-agent: *\nDisallow: /page\n") == ([], [])


def test_the_robots_txt_of_another_host_is_respected():
    other = "https://example.net"
    replies = replies_of(f"<url><loc>{other}/a</loc></url><url><loc>{other}/private</loc></url>")
    replies[f"{other}/robots.txt"] = Reply(b"User-agent: *\nDisallow: /private")
    tree = usp.sitemap_tree_for_sitemap(f"{HOME}/sitemap.xml", Client(replies))
    client = Client(replies)
    list(usp.check(tree, client, select=["SM9"], fetch_pages=5))
    assert client.requested == [f"{other}/robots.txt", f"{other}/a"]


def test_nothing_is_fetched_from_a_host_whose_robots_txt_fails():
    replies = replies_of(f"<url><loc>{HOME}/a</loc></url>")
    replies[f"{HOME}/robots.txt"] = Reply(status=503)
    tree = usp.sitemap_tree_for_sitemap(f"{HOME}/sitemap.xml", Client(replies))
    client = Client(replies)
    assert list(usp.check(tree, client, select=["SM9"], fetch_pages=5)) == []
    assert client.requested == [f"{HOME}/robots.txt"]


def test_pages_are_requested_with_the_pause_that_robots_txt_asks_for(monkeypatch):
    pauses = []
    monkeypatch.setattr("usp._crawl.fetch.time.sleep", pauses.append)
    fetched({}, robots="User-agent: *\nCrawl-delay: 7\n", most=3)
    assert pauses == [7.0, 7.0]


def test_a_client_that_allows_it_is_asked_for_several_pages_at_once():
    replies = replies_of(ENTRIES)
    tree = usp.sitemap_tree_for_sitemap(f"{HOME}/sitemap.xml", Client(replies))
    client = Client(replies)
    client.max_concurrent_requests = 8
    found = list(usp.check(tree, client, select=["SM9"], fetch_pages=40))
    assert len(found) == 40
    assert {finding.code for finding in found} == {"SM901"}


# From where -----------------------------------------------------------------------------------------


def listing(*urls):
    return "".join(f"<url><loc>{url}</loc></url>" for url in urls)


def test_a_listed_page_does_not_open_the_network_that_it_is_on():
    with Site({"/robots.txt": Answer("User-agent: *"), "/": Answer("<p>")}) as machine:
        replies = replies_of(listing(f"{machine.base}/"))
        tree = usp.sitemap_tree_for_sitemap(f"{HOME}/sitemap.xml", Client(replies))
        found = list(usp.check(tree, select=["SM9"], fetch_pages=5))
        assert machine.requests == []
    assert [finding.code for finding in found] == ["SM902"]
    assert "(a loopback address)" in found[0].message
    assert "--allow-network" not in found[0].message, "it is not the reader who should allow it"


def test_the_pages_of_a_file_may_be_on_this_machine_if_most_of_them_are(tmp_path):
    path = tmp_path / "sitemap.xml"
    with Site({"/robots.txt": Answer("User-agent: *"), "/a": Answer("<p>")}) as machine:
        urls = ["http://10.255.255.1/", f"{machine.base}/a", f"{machine.base}/b"]
        path.write_text(f'<urlset xmlns="{SITEMAP_NS}">{listing(*urls)}</urlset>')
        found = list(usp.check(path, select=["SM9"], fetch_pages=5))
    assert [(finding.code, finding.page) for finding in found] == [
        ("SM902", urls[0]),
        ("SM901", urls[2]),
    ]


def test_a_page_on_a_host_that_does_not_exist_is_found(tmp_path):
    path = tmp_path / "sitemap.xml"
    path.write_text(f'<urlset xmlns="{SITEMAP_NS}">{listing("http://a.invalid/")}</urlset>')
    found = list(usp.check(path, select=["SM9"], fetch_pages=5))
    assert [finding.message for finding in found] == [
        "the page could not be fetched: no such host: a.invalid"
    ]


# What they say ------------------------------------------------------------------------------------


def test_a_page_has_its_place_in_the_sitemap():
    found, _ = fetched({}, most=40)
    assert all(finding.line for finding in found)
    assert {finding.sitemap for finding in found} == {f"{HOME}/sitemap.xml"}


def test_noindex_is_found_however_it_is_written():
    pages = [
        '<meta name="robots" content="noindex">',
        "<META NAME=GoogleBot CONTENT='NOINDEX,nofollow'>",
        '<meta content="none" name="robots"/>',
        '<body><meta name="robots" content="follow, noindex"></body>',
    ]
    headers = ["noindex", "googlebot: noindex", "nofollow, NOINDEX"]
    headers += ["otherbot: nofollow, bingbot: noindex"]
    found = {html: one(html) for html in pages}
    found |= {value: one("<p>", **{"X-Robots-Tag": value}) for value in headers}
    assert found == {key: [("page-noindex", "the page says noindex")] for key in found}


@pytest.mark.parametrize(
    "value", ['</b>; rel="canonical"', f"</x>; rel=next, <{HOME}/b>; title=b; rel=Canonical"]
)
def test_a_canonical_url_is_found_in_a_header(value):
    found = one("<p>", Link=value)
    assert found == [("canonical-elsewhere", f"the canonical URL of the page is {HOME}/b")]


def test_a_page_that_says_nothing_of_the_kind_is_fine():
    pages = [
        '<script>document.write(\'<meta name="robots" content="noindex">\')</script>',
        '<!-- <meta name="robots" content="noindex"> -->',
        '<meta name="description" content="noindex">',
        '<meta name="robots" content="unavailable_after: 25 Jun 2031 15:00:00 PST">',
        '<meta name="robots" content="max-snippet:-1, index">',
        f'<link rel="canonical" href="{HOME}/a#top">',
        '<link rel="canonical" href="//EXAMPLE.org:443/a">',
        '<link rel="canonical" href="">',
        '<link rel="canonical" href="http://[">',
        '<body><link rel="canonical" href="/other"></body>',
        '<link rel="alternate" href="/other">',
        "\0<<<meta",
    ]
    others = ["otherbot: noindex", "otherbot: nofollow, noindex", "max-snippet:0"]
    others += ["unavailable_after: 25 Jun 2031 15:00:00 PST"]
    links = ["", "<", "</a>; rel=canonical", "</b>; rel=amphtml", ";;=,<>"]
    found = {html: one(html) for html in pages}
    found |= {value: one("<p>", **{"X-Robots-Tag": value}) for value in others}
    found |= {value: one("<p>", Link=value) for value in links}
    assert {what: told for what, told in found.items() if told} == {}


def test_a_canonical_url_in_another_case_is_another_page():
    found = one('<head><link href="/A" rel="canonical">')
    assert found == [("canonical-elsewhere", f"the canonical URL of the page is {HOME}/A")]


def test_what_is_not_html_is_not_read_as_html():
    reply = Reply(b'<meta name="robots" content="noindex">', headers={"Content-Type": "image/png"})
    found, _ = fetched({"/a": reply}, listed=f"<url><loc>{HOME}/a</loc></url>")
    assert found == []
