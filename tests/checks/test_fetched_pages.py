"""Pages that are fetched themselves: which ones, how politely, and what they say."""

from collections import Counter

import pytest
from check_examples import HOME, Client, found_in_file, locs, replies_of

import usp
from memory_web import Doc
from usp.checks import page_columns
from usp.checks.page_columns import Sample
from website import Answer, Site

ENTRIES = "<url><loc>https://example.org/page-{n}</loc></url> (x 40)"
HTML = {"Content-Type": "text/html"}


def fetched(pages, *, robots="User-agent: *\nAllow: /\n", listed=ENTRIES, most=10):
    """Check a website with pages; return what was found, and which URLs were requested for it."""
    replies = replies_of(listed)
    replies[f"{HOME}/robots.txt"] = Doc(f"{robots}Sitemap: {HOME}/sitemap.xml\n".encode())
    replies.update({f"{HOME}{path}": reply for path, reply in pages.items()})
    return checked(usp.sitemap_tree_for_homepage(f"{HOME}/", Client(replies)), replies, most)


def checked(tree, replies, most=5):
    """Check a tree; return the same."""
    client = Client(replies)
    return list(usp.check(tree, client, select=["SM9"], fetch_pages=most)), client.requested


def one(html, **headers):
    """Check a website with one page."""
    reply = Doc(html.encode(), headers=HTML | headers)
    found, _ = fetched({"/a": reply}, listed=locs("/a"))
    return [(finding.name, finding.message) for finding in found]


class Pages:
    """A block of pages for a sample."""

    def __init__(self, first, count):
        self.urls = [str(number) for number in range(first, first + count)]
        self.sitemap = type("Sitemap", (), {"url": "s"})
        self.alternates = self.media = ()
        self.examined = self

    def place(self, at):
        return at, None


# Which pages -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[100], [1] * 100, [3, 0, 50, 47], [7]])
def test_a_sample_has_its_size_and_no_page_twice_or_all_pages(sizes):
    sample, first = Sample(20), 0
    for size in sizes:
        sample.add(Pages(first, size))
        first += size
    urls = [listed.url for listed in sample.pages]
    assert len(urls) == len(set(urls)) == min(first, 20)


def test_every_page_has_the_same_chance(monkeypatch):
    chosen = Counter()
    for seed in range(400):
        monkeypatch.setattr(page_columns, "_SEED", seed)
        sample = Sample(10)
        for first in range(0, 100, 25):
            sample.add(Pages(first, 25))
        chosen.update(int(listed.url) // 25 for listed in sample.pages)
    assert all(800 < chosen[quarter] < 1200 for quarter in range(4)), chosen


def test_the_same_pages_are_fetched_each_time_and_no_more_than_asked_for():
    assert fetched({})[1] == fetched({})[1]
    assert fetched({}, most=0) == ([], [])
    assert len(fetched({}, most=7)[1]) == 7


# How politely -------------------------------------------------------------------------------------


def of_sitemap(robots: str, *urls: str):
    """Check a sitemap alone, with a robots.txt; return what was found and requested."""
    replies = replies_of(f"{locs(*urls)}\n--- {robots}")
    tree = usp.sitemap_tree_for_sitemap(f"{HOME}/sitemap.xml", Client(replies))
    return checked(tree, replies)


def test_what_robots_txt_disallows_is_not_fetched():
    """Also that of another host, and nothing if the server fails."""
    assert fetched({}, robots="User-agent: *\nDisallow: /page\n") == ([], [])
    assert of_sitemap("/robots.txt 503", "/a") == ([], [f"{HOME}/robots.txt"])
    other = "https://example.net"
    robots = f"{other}/robots.txt\nUser-agent: *\nDisallow: /private"
    _, requested = of_sitemap(robots, f"{other}/a", f"{other}/private")
    assert requested == [f"{other}/robots.txt", f"{other}/a"]


def test_pages_are_requested_with_the_pause_that_robots_txt_asks_for(monkeypatch):
    pauses = []
    monkeypatch.setattr("usp._crawl.fetch.time.sleep", pauses.append)
    fetched({}, robots="User-agent: *\nCrawl-delay: 7\n", most=3)
    assert pauses == [7.0, 7.0]


def test_a_client_that_allows_it_is_asked_for_several_pages_at_once():
    client = Client(replies_of(ENTRIES))
    tree = usp.sitemap_tree_for_sitemap(f"{HOME}/sitemap.xml", client)
    client.max_concurrent_requests = 8
    found = list(usp.check(tree, client, select=["SM9"], fetch_pages=40))
    assert len(found) == 40
    assert {finding.code for finding in found} == {"SM901"}


# From where -----------------------------------------------------------------------------------------


def test_a_listed_page_does_not_open_the_network_that_it_is_on():
    with Site({"/robots.txt": Answer("User-agent: *"), "/": Answer("<p>")}) as machine:
        replies = replies_of(locs(f"{machine.base}/"))
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
        found = found_in_file(path, locs(*urls), select=["SM9"], fetch_pages=5)
    assert [(finding.code, finding.page) for finding in found] == [
        ("SM902", urls[0]),
        ("SM901", urls[2]),
    ]


def test_a_page_on_a_host_that_does_not_exist_is_found(tmp_path):
    path, listed = tmp_path / "sitemap.xml", locs("http://a.invalid/")
    (found,) = found_in_file(path, listed, select=["SM9"], fetch_pages=5)
    assert found.message == "the page could not be fetched: no such host: a.invalid"


# What they say ------------------------------------------------------------------------------------


def test_a_page_has_its_place_in_the_sitemap():
    found, _ = fetched({}, most=40)
    assert all(finding.line for finding in found)
    assert {finding.sitemap for finding in found} == {f"{HOME}/sitemap.xml"}


def all_found(pages=(), robots=(), links=()):
    """Return what is found in pages, and because of headers, by their texts."""
    found = {html: one(html) for html in pages}
    found |= {value: one("<p>", **{"X-Robots-Tag": value}) for value in robots}
    return found | {value: one("<p>", Link=value) for value in links}


def test_noindex_is_found_however_it_is_written():
    pages = [
        '<meta name="robots" content="noindex">',
        "<META NAME=GoogleBot CONTENT='NOINDEX,nofollow'>",
        '<meta content="none" name="robots"/>',
        '<body><meta name="robots" content="follow, noindex">Tea</body>',
    ]
    headers = ["noindex", "googlebot: noindex", "nofollow, NOINDEX"]
    found = all_found(pages, [*headers, "otherbot: nofollow, bingbot: noindex"])
    assert found == {key: [("page-noindex", "the page says noindex")] for key in found}


def test_a_canonical_url_is_found_in_a_header_and_in_another_case():
    links = ['</b>; rel="canonical"', f"</x>; rel=next, <{HOME}/b>; title=b; rel=Canonical"]
    found = all_found(['<head><link href="/A" rel="canonical">'], (), links)
    told = [
        [("canonical-elsewhere", f"the canonical URL of the page is {HOME}/{x}")] for x in "Abb"
    ]
    assert list(found.values()) == told


SAID = {
    '<meta http-equiv="Refresh" content="0; URL=\'/b\'">': f"the page redirects to {HOME}/b with a meta refresh",
    '<link rel=canonical href="/a"><link rel=canonical href="/b">': (
        f"the page names several canonical URLs: {HOME}/a, {HOME}/b"
    ),
    '<meta name="robots" content="unavailable_after: 2020-01-01">': (
        "the page says that it is not available after 2020-01-01"
    ),
    '<meta name="robots" content="noarchive, unavailable_after: 25 Jun 2010 15:00:00 UTC">': (
        "the page says that it is not available after 2010-06-25"
    ),
    "<title>Page not found - Tea shop</title>": "the page says that it was not found: 'Page not found - Tea shop'",
    "<title>404: This page could not be found.</title>": "the page says that it was not found: '404: This page could not be found.'",
    "<title>Error establishing a database connection</title>": "the page shows an error: 'Error establishing a database connection'",
    "<title>Coming soon | Tea</title>": "the page is not ready yet: 'Coming soon | Tea'",
    "<title>Welcome to nginx!</title>": "the page is that of a server without a website: 'Welcome to nginx!'",
    "<title>Log in - Tea</title>": "the page asks for a login: 'Log in - Tea'",
    "<title>Tea</title><body><h1>Error 404</h1>": "the page says that it was not found: 'Tea'",
    "<body><div> </div></body>": "the page is empty",
    " ": "the page is empty",
}


def test_a_page_that_search_engines_do_not_show_is_found():
    assert {html: [message for _, message in one(html)] for html in SAID} == {
        html: [message] for html, message in SAID.items()
    }


def test_what_the_sitemap_has_for_a_page_is_fetched_if_that_is_asked_for():
    page = (
        f'<url><loc>{HOME}/a</loc><xhtml:link rel="alternate" hreflang="de" href="{HOME}/de"/>'
        f"<image:image><image:loc>{HOME}/a.png</image:loc></image:image></url>"
    )
    replies = replies_of(page) | {f"{HOME}/a": Doc(b"<p>Tea", headers=HTML)}
    tree = usp.sitemap_tree_for_homepage(f"{HOME}/", Client(replies))
    given = {"select": ["SM9"], "fetch_pages": 1}
    assert list(usp.check(tree, Client(replies), **given)) == []
    found = list(usp.check(tree, Client(replies), fetch_linked=True, **given))
    assert {(one.page, one.message) for one in found} == {
        (f"{HOME}/a", f"the image {HOME}/a.png does not exist: the server returned 404"),
        (f"{HOME}/a", f"the version {HOME}/de does not exist: the server returned 404"),
    }


def test_a_page_that_says_nothing_of_the_kind_is_fine():
    pages = [
        "<title>How to fix a 404 - page not found, and more | Tea</title>",
        "<title>Tea - Login</title><body>Tea",
        "<title>New teas are coming soon</title><body>Tea",
        "<title>404 teas</title><body><h1>404 not found pages</h1>",
        '<meta http-equiv="refresh" content="300">',
        '<meta http-equiv="refresh" content="0;url=https://example.org/a">',
        '<body><div id="root"></div><script src="app.js"></script></body>',
        '<body><img src="tea.jpg"></body>',
        '<script>document.write(\'<meta name="robots" content="noindex">\')</script>',
        '<!-- <meta name="robots" content="noindex"> -->',
        '<meta name="description" content="noindex">',
        '<meta name="robots" content="unavailable_after: 25 Jun 2031 15:00:00 PST">',
        '<meta name="robots" content="max-snippet:-1, index">',
        f'<link rel="canonical" href="{HOME}/a#top">',
        '<link rel="canonical" href="//EXAMPLE.org:443/a">',
        '<link rel="canonical" href="">',
        '<link rel="canonical" href="http://[">',
        '<body><link rel="canonical" href="/other">Tea</body>',
        '<link rel="alternate" href="/other">',
        "\0<<<meta",
    ]
    others = ["otherbot: noindex", "otherbot: nofollow, noindex", "max-snippet:0"]
    others += ["unavailable_after: 25 Jun 2031 15:00:00 PST"]
    links = ["", "<", "</a>; rel=canonical", "</b>; rel=amphtml", ";;=,<>"]
    found = all_found(pages, others, links)
    assert {what: told for what, told in found.items() if told} == {}


def test_what_is_not_html_is_not_read_as_html():
    noindex = '<meta name="robots" content="noindex">'
    assert one(noindex, **{"Content-Type": "application/pdf"}) == []
    assert [name for name, _ in one(noindex, **{"Content-Type": "image/png"})] == ["other-content"]
