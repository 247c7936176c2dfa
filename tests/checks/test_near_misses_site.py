"""What looks like a mistake and is none: rules about websites, responses and documents say nothing."""

from __future__ import annotations

import pytest
from check_examples import HOME, Client, found_in, replies_of

import usp
from usp.checks import Severity

ROBOTS = "--- /robots.txt\nUser-agent: *\nAllow: /\nSitemap: https://example.org/sitemap.xml\n"
PAGE = "<url><loc>https://example.org/tea</loc></url>\n"
XMLNS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def index_of(*urls: str) -> str:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>\n" for url in urls)
    return f"<sitemapindex {XMLNS}>\n{entries}</sitemapindex>\n"


def codes(example: str) -> list[str]:
    return [finding.code for finding in found_in(example)]


DISCOVERY = {
    "a redirect of robots.txt": (
        "--- /robots.txt -> /files/robots.txt\n--- /files/robots.txt\n"
        f"Sitemap: {HOME}/sitemap.xml\n--- /sitemap.xml\n{PAGE}"
    ),
    "a known path that redirects to a declared sitemap": (
        f"--- /robots.txt\nSitemap: {HOME}/map.xml\n--- /map.xml\n{PAGE}--- /sitemap.xml -> /map.xml\n"
    ),
    "a known path that an index lists": (
        f"--- /robots.txt\nSitemap: {HOME}/index.xml\n"
        f"--- /index.xml\n{index_of(f'{HOME}/sitemap.xml')}--- /sitemap.xml\n{PAGE}"
    ),
    "a sitemap that is declared without www": (
        f"--- /robots.txt\nSitemap: https://www.example.org/sitemap.xml\n--- /sitemap.xml\n{PAGE}"
        "--- https://www.example.org/sitemap.xml\n<url><loc>https://www.example.org/tea</loc></url>\n"
    ),
    "a path that is disallowed for one robot": (
        "--- /robots.txt\nUser-agent: bad\nDisallow: /\n\nUser-agent: *\nDisallow: /cart\n"
        f"Sitemap: {HOME}/sitemap.xml\n--- /sitemap.xml\n{PAGE}"
    ),
    "a shorter rule that disallows, and a longer one that allows": (
        "--- /robots.txt\nUser-agent: *\nDisallow: /*.xml$\nAllow: /sitemap.xml\n"
        f"Sitemap: {HOME}/sitemap.xml\n--- /sitemap.xml\n{PAGE}"
    ),
    "a sitemap on another host, which robots.txt declares": (
        f"--- /robots.txt\nDisallow: /x\nSitemap: https://cdn.example.net/x.xml\n"
        f"--- https://cdn.example.net/x.xml\n{PAGE}"
    ),
    "an index on another host, which robots.txt declares, with a sitemap of the website": (
        f"--- /robots.txt\nSitemap: https://cdn.example.net/index.xml\n"
        f"--- https://cdn.example.net/index.xml\n{index_of(f'{HOME}/a.xml')}--- /a.xml\n{PAGE}"
    ),
    "two sitemaps whose URLs differ in case": (
        f"--- /robots.txt\nSitemap: {HOME}/a.xml\nSitemap: {HOME}/A.xml\n"
        f"--- /a.xml\n{PAGE}--- /A.xml\n<url><loc>https://example.org/cup</loc></url>\n"
    ),
    "a host in capitals": (
        f"--- /robots.txt\nSitemap: https://EXAMPLE.org/sitemap.xml\n"
        f"--- https://EXAMPLE.org/sitemap.xml\n{PAGE}"
    ),
    "a robots.txt that is empty but for the sitemap": f"{ROBOTS}--- /sitemap.xml\n{PAGE}",
}


@pytest.mark.parametrize("example", DISCOVERY.values(), ids=DISCOVERY.keys())
def test_a_sitemap_is_found_as_it_should_be(example):
    assert codes(example) == []


def test_a_robots_txt_of_exactly_500_kib_is_read_to_its_end():
    line = f"Sitemap: {HOME}/sitemap.xml\n"
    rest = 500 * 1024 - len(line)
    body = ("#" * 99 + "\n") * (rest // 100) + "#" * (rest % 100 - 1) + "\n" + line
    assert codes(f"--- /robots.txt\n{body}--- /sitemap.xml\n{PAGE}") == []
    assert codes(f"--- /robots.txt\n#{body}--- /sitemap.xml\n{PAGE}") == ["SM105"]


def test_nothing_is_said_about_a_robots_txt_that_was_not_asked_for():
    client = Client(replies_of(f"--- /sitemap.xml\n{PAGE}"))
    assert list(usp.check(f"{HOME}/sitemap.xml", client)) == []


def test_a_missing_sitemap_is_reported_with_where_it_is_declared():
    (finding,) = found_in(f"--- /robots.txt\nUser-agent: *\nAllow: /\nSitemap: {HOME}/gone.xml\n")
    assert (finding.code, finding.sitemap) == ("SM150", f"{HOME}/gone.xml")
    assert finding.message.endswith(f"(declared in {HOME}/robots.txt, line 3)")


def test_one_cause_is_reported_once():
    """A robots.txt that is missing cannot declare sitemaps; a soft 404 is not a sitemap that is HTML."""
    assert codes(f"--- /sitemap.xml\n{PAGE}") == ["SM101"]
    assert codes(f"{ROBOTS}--- /sitemap.xml\n<html><body>x</body></html>") == ["SM112"]
    assert codes("--- /robots.txt 500\n") == ["SM102"]


def test_rules_of_robots_txt_count_in_a_folder_too(tmp_path):
    (tmp_path / "a.xml").write_text(f"<urlset {XMLNS}>{PAGE}</urlset>")
    (tmp_path / "robots.txt").write_text(f"User-agent: *\nDisallow: /a\nSitemap: {HOME}/a.xml\n")
    found = list(usp.check(tmp_path / "robots.txt", select=["SM104"]))
    assert [(finding.line, finding.sitemap) for finding in found] == [(3, f"{HOME}/a.xml")]


def test_only_redirects_of_declared_sitemaps_are_reported():
    example = f"--- /robots.txt\nSitemap: {HOME}/a.xml\n--- /a.xml -> /b.xml\n--- /b.xml\n{PAGE}"
    (finding,) = found_in(example)
    assert (finding.code, finding.severity) == ("SM111", Severity.WARNING)
    client = Client(replies_of(f"--- /a.xml -> /b.xml\n--- /b.xml\n{PAGE}"))
    assert list(usp.check(f"{HOME}/a.xml", client)) == []
