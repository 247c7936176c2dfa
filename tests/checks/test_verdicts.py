"""What is known to be wrong without rules is what the check finds; and the verdict on it is right."""

import threading
from collections.abc import Mapping
from typing import Any

import pytest

import usp
from usp._demo import demo_site
from usp.checks import findings_of, verdict
from usp.limits import Limits
from usp.tree import sitemap_tree_for_homepage
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, Everywhere, Site, index, robots, urlset

PAGES = Answer(urlset("/a", "/b"), headers={"Content-Type": "application/xml"})
HTML = Answer("<!DOCTYPE html><html>Tea</html>", headers={"Content-Type": "text/html"})
CHALLENGE = "<!DOCTYPE html><html><title>Just a moment...</title></html>"
WALL = {"cf-mitigated": "challenge", "Server": "cloudflare", "Content-Type": "text/html"}
FEED = "<rss version='2.0'><channel><item><link>{base}/x</link></item></channel></rss>"
ODD = urlset("<url><loc>{base}/?a=1&b=2</loc><priority>7</priority></url>", "<url></url>")
STRAY = index("/odd.xml", "<url><loc>{base}/x</loc></url>")
DATED = "<url><loc>{base}/a</loc><lastmod>2999-01-01</lastmod></url>"


def declared(text: Any, **more: Any) -> dict[str, Any]:
    return {"/robots.txt": robots("/s.xml"), "/s.xml": text} | more


# By situation: what is served, the color, a part of the sentence, codes of what is to be mended first.
SITUATIONS: dict[str, tuple[Mapping[str, Any], str, str, list[str]]] = {
    "the same HTML everywhere": (
        Everywhere({"*": HTML}), "red", "answers every path with the same HTML page",
        ["SM103", "SM106"]),
    "403 everywhere": (
        Everywhere({"*": Answer("", 403)}), "red", "Blocked: ", ["SM250"]),
    "a challenge with 403": (
        Everywhere({"*": Answer(CHALLENGE, 403, headers=WALL)}), "red", "Blocked: ", ["SM250"]),
    "a challenge with 200": (
        Everywhere({"*": Answer(CHALLENGE)}), "red", "Blocked: ", ["SM274", "SM102"]),
    "too many requests": (
        Everywhere({"*": Answer("", 429)}), "red", "Blocked: ", ["SM252", "SM102"]),
    "a login": (
        Everywhere({"*": Answer("", 401)}), "red", "asks for a login (401 ", ["SM251"]),
    "timeouts": (
        Everywhere({"*": Answer(gate=threading.Event())}), "red", "No sitemap could be read",
        ["SM260", "SM102"]),
    "robots.txt only": (
        {"/robots.txt": "User-agent: *\nAllow: /\n"}, "amber", "No sitemaps were found", ["SM106"]),
    "nothing": ({}, "amber", "No sitemaps were found", ["SM101", "SM106"]),
    "a feed only": (declared(FEED), "amber", "Only a feed was found", []),
    "an empty sitemap": (declared(urlset()), "amber", "without any pages", ["SM309"]),
    "HTML for a sitemap": (declared(HTML), "red", "/s.xml could not be read: it is an HTML page", ["SM112"]),
    "one child of several is missing": (
        declared(index("/a.xml", "/gone.xml"), **{"/a.xml": PAGES}),
        "red", "1 sitemap is missing or incomplete", ["SM150"]),
    "robots.txt is refused": (
        {"/robots.txt": Answer("", 403), "/sitemap.xml": PAGES},
        "amber", "1 sitemap is missing or incomplete", ["SM101"]),
    "errors, the costly ones first": (
        declared(STRAY, **{"/odd.xml": ODD}), "red", "3 errors", ["SM450", "SM356", "SM379", "SM552"]),
    "an index that lists itself": (
        declared(index("/s.xml", "/a.xml"), **{"/a.xml": PAGES}), "amber", "1 warning", ["SM152"]),
    "warnings only": (declared(urlset(DATED)), "amber", "1 warning", ["SM501"]),
    "infos only": (declared(urlset("/caf\u00e9")), "green", "nothing serious", []),
    "all fine": (declared(PAGES), "green", "nothing wrong was found", []),
}  # fmt: skip


@pytest.fixture(params=SITUATIONS)
def situation(request):
    """A situation, and the tree of its website."""
    expected = SITUATIONS[request.param]
    site = Site()
    site.answers = expected[0]
    client = RequestsWebClient()
    gates = [one.gate for one in expected[0].values() if isinstance(one, Answer) and one.gate]
    client.set_timeout(0.3 if gates else 60)
    with site:
        yield expected, sitemap_tree_for_homepage(site.base, client)
    for gate in gates:
        gate.set()


def about(findings):
    return [(one.code, one.severity, one.message, one.sitemap, one.line, one.column, one.page,
             one.hint, one.times, one.lost) for one in findings]  # fmt: skip


def assert_the_same(tree):
    known = about(findings_of(tree))
    whole = about(usp.check(tree))
    assert set(known) <= set(whole)
    # All findings that rules do not make are among them, in the same order.
    codes = {one[0] for one in known}
    assert known == [one for one in whole if one[0] in codes and one in known]
    less = about(findings_of(tree, read=False))
    assert {one[:2] for one in less} <= {one[:2] for one in known}


def test_what_is_known_without_rules_is_what_the_check_finds_and_the_verdict_is_right(situation):
    (_, color, sentence, first), tree = situation
    assert_the_same(tree)
    result = verdict(tree)
    assert (result.color, [row.code for row in result.first]) == (color, first)
    assert sentence in result.sentence
    assert bool(result.topic) == (not tree.page_count())
    # Without rules, it is never worse, and says the same unless only rules know.
    early = verdict(tree, findings_of(tree), checked=False)
    order = ["red", "amber", "green"]
    assert order.index(early.color) >= order.index(color)
    assert early.color == color or "warning" in sentence
    assert "nothing wrong" not in early.sentence


def test_an_index_whose_sitemaps_a_limit_leaves_out_is_incomplete_and_was_read(serve):
    site = serve({"/robots.txt": robots("/s.xml")})
    result = verdict(sitemap_tree_for_homepage(site.base, limits=Limits(sitemaps=1)))
    assert result.sentence.startswith(
        f"{site.base}/robots.txt is incomplete: 1 of its sitemaps left out"
    )


def test_the_demo_has_the_same_findings_with_and_without_rules_and_a_red_light():
    with demo_site() as url:
        tree = sitemap_tree_for_homepage(url)
    assert_the_same(tree)
    result = verdict(tree)
    assert str(result) == "red: 2 sitemaps are missing or incomplete."
    assert [row.code for row in result.first][:3] == ["SM150", "SM354", "SM450"]
    assert len(result.first) == 5


def test_a_folder_with_missing_files_has_the_same_findings(tmp_path):
    names = "http://h/a.xml", "http://h/b.xml"
    (tmp_path / "index.xml").write_text(index(*names))
    (tmp_path / "a.xml").write_text(urlset("http://h/1"))
    tree = usp.sitemap_from_file(tmp_path / "index.xml")
    assert_the_same(tree)
    assert verdict(tree).color == "amber"
