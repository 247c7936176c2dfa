"""What content management systems and servers really send: what is right is not found, what is wrong once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from check_examples import found_in

ROBOTS = """--- /robots.txt
User-agent: *
Allow: /
Sitemap: https://example.org/sitemap.xml
"""
PAGE = "<url><loc>https://example.org/tea</loc></url>\n"
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


def codes(example: str, **options) -> list[str]:
    return sorted(finding.code for finding in found_in(example, **options))


@pytest.mark.parametrize(
    "body",
    [
        ENTRY.format(THUMBNAIL.format(MEDIA)),
        ENTRY.format(f"<media:group {MEDIA}><media:title>x</media:title></media:group>"),
        URLSET.format(LINK.format("tea", XHTML)),
        URLSET.format("\n".join(LINK.format(n, XHTML) for n in range(300))),
    ],
    ids=["a thumbnail of Blogger", "a group", "a link", "many links"],
)
def test_a_prefix_may_be_declared_by_the_element_that_has_it(body):
    assert codes(f"{ROBOTS}--- /sitemap.xml\n{body}") == []


@pytest.mark.parametrize(
    "body",
    [
        ENTRY.format(THUMBNAIL.format("")),
        URLSET.format(LINK.format("tea", "")),
        URLSET.format(LINK.format("tea", XHTML) + LINK.format("milk", "")),
    ],
    ids=["a thumbnail", "a link", "declared by another element"],
)
def test_a_prefix_that_is_not_declared_where_it_is_used_is_found(body):
    assert codes(f"{ROBOTS}--- /sitemap.xml\n{body}") == ["SM304"]


@pytest.mark.parametrize(
    ("status", "code"), [(401, "SM251"), (403, "SM250"), (418, "SM254"), (503, "SM253")]
)
def test_a_declared_sitemap_that_is_also_looked_for_fails_once(status, code):
    assert codes(f"{ROBOTS}--- /sitemap.xml {status}\n") == [code]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "SM101"),
        (401, "SM101"),
        (403, "SM101"),
        (410, "SM101"),
        (429, "SM102"),
        (500, "SM102"),
    ],
)
def test_robots_take_a_refused_robots_txt_as_missing_but_respect_a_failing_server(status, code):
    assert codes(f"--- /robots.txt {status}\n--- /sitemap.xml\n{PAGE}") == [code]


@pytest.mark.parametrize(
    "text",
    ['{"error": "not found"}', "Nothing to see here.", "Error: no such page", "\x89PNG\n\x00\x01"],
)
def test_a_robots_txt_without_a_line_that_robots_know_is_found_once(text):
    example = f"--- /robots.txt\nContent-Type: application/json\n\n{text}\n--- /sitemap.xml\n{PAGE}"
    assert codes(example) == ["SM103"]


@pytest.mark.parametrize(
    "text",
    ["# nothing is blocked", "", "Crawl-delay: 5", "user-agent:*\ndissallow:/x", "Host: a.example"],
)
def test_a_robots_txt_that_says_little_is_one_all_the_same(text):
    assert codes(f"--- /robots.txt\n{text}\n--- /sitemap.xml\n{PAGE}") == ["SM107"]


@pytest.mark.parametrize(
    ("rule", "path"),
    [("/%7Euser", "/~user/x"), ("/%62lack", "/black"), ("/a%7Eb", "/a~b"), ("/%7E", "/~a")],
)
def test_characters_escaped_in_robots_txt_are_the_characters_themselves(rule, path):
    robots = ROBOTS.replace("Allow: /\n", f"Disallow: {rule}\n")
    page = f"<url><loc>https://example.org{path}</loc></url>\n{PAGE}"
    assert codes(f"{robots}--- /sitemap.xml\n{page}") == ["SM411"]


def test_a_web_page_instead_of_a_sitemap_is_not_checked_as_xml():
    page = '<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x.dtd">'
    html = f"{page}<html><body>Not found</body></html>"
    example = f"{ROBOTS}--- /sitemap.xml\nContent-Type: text/html\n\n{html}"
    assert codes(example) == ["SM112"]


def test_what_follows_the_end_of_a_document_is_not_an_element_of_it():
    body = URLSET.format(PAGE) + "<script>x</script>"
    assert codes(f"{ROBOTS}--- /sitemap.xml\n{body}") == ["SM377"]


STORY = """<url><loc>https://example.org/tea</loc><news:news><news:publication>
<news:name>The Tea Times</news:name><news:language>{}</news:language></news:publication>
<news:publication_date>{}</news:publication_date><news:title>Tea</news:title></news:news></url>
"""


@pytest.mark.parametrize(
    ("back", "found"), [(timedelta(hours=47), []), (timedelta(days=4), ["SM701"])]
)
def test_a_day_without_a_time_is_one_of_any_time_zone(back, found):
    """Where a day ends last, twelve hours after UTC, a story of that day may be two days old."""
    day = (datetime.now(UTC) - back - timedelta(hours=12)).date()
    assert codes(STORY.format("en", day)) == found


@pytest.mark.parametrize(
    ("language", "found"),
    [("ja", []), ("fil", []), ("ZH-CN", []), ("jp", ["SM705"]), ("xx", ["SM705"])],
)
def test_the_language_of_news_exists(language, found):
    assert codes(STORY.format(language, datetime.now(UTC).date())) == found


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("daily", []),
        (" weekly\n", []),
        ("Daily", ["SM511"]),
        ("NEVER", ["SM511"]),
        ("x", ["SM551"]),
    ],
)
def test_frequencies_are_in_lower_case(value, found):
    page = f"<url><loc>https://example.org/a</loc><changefreq>{value}</changefreq></url>"
    assert codes(page) == found


def test_hints_are_for_the_owner_of_a_website():
    (found,) = found_in(f"{ROBOTS}--- /sitemap.xml 401\n")
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


@pytest.mark.parametrize(
    ("letter", "shown"), [("é", "'é'"), ("\xa0", "U+00A0"), ("\u200b", "U+200B")]
)
def test_letters_that_cannot_be_seen_are_shown_by_their_numbers(letter, shown):
    page = f"<url><loc>https://example.org/a{letter}b</loc></url>"
    (found,) = found_in(page, select=["SM414"])
    assert found.message == f"{shown} is not escaped"


@pytest.mark.parametrize(
    "again", ["https://EXAMPLE.org/sitemap.xml", "https://example.org:443/sitemap.xml"]
)
def test_a_sitemap_that_is_declared_twice_in_two_spellings_is_found_once(again):
    site = f"{ROBOTS}Sitemap: {again}\n--- /sitemap.xml\n{PAGE}--- {again}\n{PAGE}"
    assert codes(site) == ["SM109"]
