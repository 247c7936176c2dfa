"""What content management systems and servers really send: what is right is not found, what is wrong once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from check_examples import codes_in, found_in, locs, with_robots

PAGE = f"{locs('/tea')}\n"
URLSET = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{}\n</urlset>\n'
ENTRY = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Tea</title><id>tag:a</id>
<updated>2024-05-06T07:08:09Z</updated>
<entry><title>Tea</title><id>tag:b</id><updated>2024-05-06T07:08:09Z</updated>
<link rel="alternate" href="https://example.org/tea"/>{}</entry></feed>
"""
LINK = (
    '<url><loc>https://example.org/{0}</loc><xhtml:link {1}rel="alternate" hreflang="en" '
    'href="https://example.org/{0}"/></url>'
)
XHTML = 'xmlns:xhtml="http://www.w3.org/1999/xhtml" '
MEDIA = 'xmlns:media="http://search.yahoo.com/mrss/"'
THUMBNAIL = '<media:thumbnail {} url="https://img.example/x.png"/>'


STORY = """<url><loc>https://example.org/tea</loc><news:news><news:publication>
<news:name>The Tea Times</news:name><news:language>{}</news:language></news:publication>
<news:publication_date>{}</news:publication_date><news:title>Tea</news:title></news:news></url>
"""
HTML = (
    '<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x.dtd"><html/>'
)


def answering(text: str, status: str = "", kind: str = "text/plain") -> str:
    """Return a website whose robots.txt is this."""
    headers = "" if status else f"Content-Type: {kind}\n\n"
    return f"--- /robots.txt{status}\n{headers}{text}\n--- /sitemap.xml\n{PAGE}"


def disallowed(rule: str, path: str) -> str:
    return with_robots(f"User-agent: *\nDisallow: {rule}", locs(path, "/tea"))


def frequency(value: str) -> str:
    return f"<url><loc>https://example.org/a</loc><changefreq>{value}</changefreq></url>"


def again(url: str) -> str:
    return f"{PAGE}--- {url} (declared)\n{PAGE}"


NOW = datetime.now(UTC)
LAST = NOW - timedelta(hours=12)  # where a day ends last, a story of that day may be two days old
SITES = {
    ("a prefix is declared by the element that has it", ""): [
        ENTRY.format(THUMBNAIL.format(MEDIA)),  # of Blogger
        ENTRY.format(f"<media:group {MEDIA}><media:title>x</media:title></media:group>"),
        URLSET.format(LINK.format("tea", XHTML)),
        URLSET.format("\n".join(LINK.format(n, XHTML) for n in range(300))),
    ],
    ("a prefix is not declared where it is used", "SM304"): [
        ENTRY.format(THUMBNAIL.format("")),
        URLSET.format(LINK.format("tea", "")),
        URLSET.format(LINK.format("tea", XHTML) + LINK.format("milk", "")),
    ],
    ("a declared sitemap that is also looked for fails once: 401", "SM251"): [
        "--- /sitemap.xml 401 (declared)\n"
    ],
    ("403", "SM250"): ["--- /sitemap.xml 403 (declared)\n"],
    ("418", "SM254"): ["--- /sitemap.xml 418 (declared)\n"],
    ("503", "SM253"): ["--- /sitemap.xml 503 (declared)\n"],
    ("robots take a refused robots.txt as missing", "SM101"): [
        *(answering("", f" {status}") for status in (400, 401, 403, 410))
    ],
    ("robots respect a failing server", "SM102"): [
        *(answering("", f" {status}") for status in (429, 500))
    ],
    ("a robots.txt without a line that robots know", "SM103"): [
        answering('{"error": "not found"}', kind="application/json"),
        answering("Nothing to see here.", kind="application/json"),
        answering("Error: no such page", kind="application/json"),
        answering("\x89PNG\n\x00\x01", kind="application/json"),
    ],
    ("a robots.txt that says little", "SM107"): [
        *map(answering, ("# nothing is blocked", "", "Crawl-delay: 5", "Host: a.example")),
        answering("user-agent:*\ndissallow:/x"),
    ],
    ("characters escaped in robots.txt are the characters themselves", "SM411"): [
        disallowed("/%7Euser", "/~user/x"),
        disallowed("/%62lack", "/black"),
        disallowed("/a%7Eb", "/a~b"),
        disallowed("/%7E", "/~a"),
    ],
    ("a web page instead of a sitemap is not checked as XML", "SM112"): [
        f"Content-Type: text/html\n\n{HTML}"
    ],
    ("what follows the end of a document is not an element of it", "SM377"): [
        URLSET.format(PAGE) + "<script>x</script>"
    ],
    ("a day without a time is one of any time zone", ""): [
        STORY.format("en", (LAST - timedelta(hours=47)).date())
    ],
    ("a day too old in all time zones", "SM701"): [
        STORY.format("en", (LAST - timedelta(days=4)).date())
    ],
    ("a language of news", ""): [
        *(STORY.format(code, NOW.date()) for code in ("ja", "fil", "ZH-CN"))
    ],
    ("no language", "SM705"): [*(STORY.format(code, NOW.date()) for code in ("jp", "xx"))],
    ("a frequency", ""): [frequency("daily"), frequency(" weekly\n")],
    ("a frequency in capitals", "SM511"): [frequency("Daily"), frequency("NEVER")],
    ("no frequency", "SM551"): [frequency("x")],
    ("a sitemap that is declared in two spellings", "SM109"): [
        again("https://EXAMPLE.org/sitemap.xml"),
        again("https://example.org:443/sitemap.xml"),
    ],
}


@pytest.mark.parametrize(("name", "expected"), SITES)
def test_what_is_right_is_not_found_and_what_is_wrong_once(name, expected):
    for example in SITES[name, expected]:
        assert sorted(codes_in(example)) == expected.split(), example


def test_hints_are_for_the_owner_of_a_website():
    (found,) = found_in("--- /sitemap.xml 401 (declared)\n")
    assert "auth=" not in found.hint
    assert "login" in found.hint


def test_links_that_are_not_returned_are_in_the_order_of_their_pages():
    """The output of two checks of the same sitemaps is the same."""
    link = '<xhtml:link rel="alternate" hreflang="{}" href="https://example.org/{}/{{n}}"/>'
    english, german = link.format("en", "en"), link.format("de", "de")
    example = (
        f"<url><loc>https://example.org/en/{{n}}</loc>{english}{german}</url> (x 60)\n"
        f"<url><loc>https://example.org/de/{{n}}</loc>{german}</url> (x 60)\n"
    )
    found = found_in(example, select=["SM602"])
    assert len(found) == 60
    assert [one.line for one in found] == sorted(one.line for one in found)


def test_letters_that_cannot_be_seen_are_shown_by_their_numbers():
    for letter, shown in {"é": "'é'", "\xa0": "U+00A0", "\u200b": "U+200B"}.items():
        page = f"<url><loc>https://example.org/a{letter}b</loc></url>"
        (found,) = found_in(page, select=["SM414"])
        assert found.message == f"{shown} is not escaped"
