"""Every rule finds its bad example, and nothing in its good one; and what is found is told where it is."""

import pytest
from check_examples import HOME, dated_index, found_in, index, linked, locs, website

from usp.checks import RULES
from usp.checks.registry import RuleScope

SELF = [rule for rule in RULES.values() if rule.scope is not RuleScope.PARSER]


def checked(rule, example):
    """Return what is found in an example; pages are fetched only by rules about them."""
    return found_in(example, fetch_pages=10 if rule.scope is RuleScope.FETCHED else 0)


@pytest.mark.parametrize("rule", SELF, ids=lambda rule: f"{rule.code}-{rule.name}")
def test_a_rule_finds_its_bad_example_and_none_finds_anything_in_the_good_one(rule):
    found = [finding for finding in checked(rule, rule.bad) if finding.code == rule.code]
    assert found
    assert all(finding.hint for finding in found)
    assert checked(rule, rule.good) == []


def in_index(entries: str) -> str:
    """Return an index with entries, those of a sitemap and of a page."""
    return f"{website(entries)}\n--- /a.xml\n{locs('/cup')}"


BOTH = ("en /en", "de /de")
TOLD = {
    # Letters that cannot be seen are shown by their numbers.
    "info SM414 /sitemap.xml:3 /aéb 'é' is not escaped": locs("/aéb"),
    "warning SM408 /sitemap.xml:3 /a\xa0b U+00A0 is not escaped": locs("/a\xa0b"),
    "warning SM408 /sitemap.xml:3 /a\u200bb U+200B is not escaped": locs("/a\u200bb"),
    "warning SM410 /1.xml:3 /1 the page is listed in /0.xml already": website(
        locs("/1"), locs("/1")
    ),
    "warning SM503 /0.xml:3 a page of /teas.xml changed on 2024-06-01, the sitemap on '2024-05-06'": (
        dated_index("2024-05-06", "2024-06-01")
    ),
    "warning SM309 /0.xml <sitemapindex> lists no sitemaps": website(
        '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"/>'
    ),
    "warning SM306 /0.xml:4 <changefreq> is not allowed in <sitemap>": in_index(
        index("/a.xml").replace("</sitemap>", "\n<changefreq>daily</changefreq></sitemap>")
    ),
    "error SM379 /0.xml:4 pages in a sitemap index": in_index(f"{index('/a.xml')}\n{locs('/tea')}"),
    # An index that two documents list is inside another one in one of them.
    "info SM110 /0.xml this sitemap is declared in 2 documents: /robots.txt, /1.xml\n"
    "error SM308 /0.xml an index is inside another index (declared in /1.xml, line 3)": (
        f"{website(index('/2.xml'), index('/0.xml'))}\n--- /2.xml\n{locs('/tea')}"
    ),
    "error SM602 /0.xml:3 /en /de does not link back": website(linked("/en", *BOTH), linked("/de")),
    "error SM602 /0.xml:4 /en /de does not link back": website(
        f"{linked('/x')}\n{linked('/en', *BOTH)}", linked("/de", "de /de")
    ),
    # A page that is not among the versions that it names is told for each of them.
    "warning SM603 /0.xml:3 /x the page has links to other languages, but none to itself\n"
    "error SM602 /0.xml:3 /x /de does not link back\n"
    "error SM602 /0.xml:3 /x /en does not link back": website(
        "".join(linked(url, *BOTH) for url in ("/en", "/de", "/x"))
    ),
    "error SM150 /gone.xml 404 no (declared in /robots.txt, line 3)": (
        f"--- /robots.txt\nUser-agent: *\nAllow: /\nSitemap: {HOME}/gone.xml\n"
    ),
    "warning SM111 /b.xml /a.xml redirects to /b.xml (declared in /robots.txt, line 3)": (
        f"--- /a.xml -> /b.xml (declared)\n--- /b.xml\n{locs('/tea')}"
    ),
}


def told_in(example: str) -> str:
    """Return a line for each finding: how bad it is, where, and what is told."""
    lines = (
        (one.severity, one.code, f"{one.sitemap}:{one.line}", one.page, one.message)
        for one in found_in(example, ignore=["SM608"])
    )
    told = "\n".join(" ".join(filter(None, line)) for line in lines)
    return told.replace(HOME, "").replace(":None ", " ")


def test_what_is_found_is_told_where_it_is_and_nothing_else():
    assert {told_in(example): example for example in TOLD.values()} == TOLD
