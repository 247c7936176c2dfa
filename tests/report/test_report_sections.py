"""What is wrong, and what changed since another tree: counted, listed in part, and escaped."""

from report_trees import SITE, sitemap, website

from usp.checks import RULES
from usp.objects.page import SitemapPage
from usp.objects.sitemap import IndexWebsiteSitemap, InvalidSitemap, PagesXMLSitemap
from usp.report import html, problems, summarise
from usp.report.problems import MAX_CHANGES

FRAGMENTS = [f"<loc>{SITE}/tea#{number}</loc>" for number in range(30)]


def card(page: str) -> str:
    """Return the section about findings."""
    return page.partition('id="findings"')[2].partition("</section>")[0]


def test_findings_are_counted_by_rule_with_examples():
    tree = website(sitemap("a.xml", *FRAGMENTS), sitemap("b.xml", *FRAGMENTS[:1]))
    found = next(row for row in summarise(tree).checks.rules if row.code == "SM407")
    assert (found.count, found.sitemaps, len(found.examples)) == (31, 2, 5)
    shown = card(html(tree))
    rule = RULES["SM407"]
    for part in (
        rule.summary,
        'id="rule-SM407"',
        "SM407 url-fragment",
        "31 findings",
        "2 sitemaps",
        "and 26 more",
        found.hint[:20],
    ):
        assert part in shown


def test_a_website_without_findings_says_so_in_a_sentence():
    page = html(website(sitemap("a.xml", f"<loc>{SITE}/tea</loc>")))
    assert card(page) == ""
    assert "rules found anything" in page
    assert "No page is listed more than once." in page


def test_the_rest_of_a_very_large_website_is_not_checked(monkeypatch):
    tree = website(*(sitemap(f"{number}.xml", *FRAGMENTS) for number in range(4)))
    monkeypatch.setattr(problems, "MAX_CHECKED_PAGES", 50)
    part = summarise(tree).checks
    assert not part.complete
    assert part.pages == 60
    assert "in the first 60 pages" in card(html(tree))
    assert summarise(tree, all_problems=True).checks.complete


def test_a_sitemap_that_was_checked_in_part_counts_what_was_found_there(monkeypatch):
    dates = (f"<loc>{SITE}/{n}</loc><lastmod>never</lastmod>" for n in range(3))
    summary = summarise(tree := website(sitemap("a.xml", *dates)))
    monkeypatch.setattr(problems, "MAX_CHECKED_PAGES", 3)
    part = summarise(tree)
    assert not part.checks.complete
    for one in (summary, part):
        assert [row.count for row in one.checks.rules if row.code == "SM550"] == [3]
        assert all("SM550" in one.places.at(f"{SITE}/{n}") for n in range(3))


def test_what_the_parser_finds_and_duplicates_are_told_once():
    same = f"<loc>{SITE}/same</loc>"
    tree = website(sitemap("a.xml", same), sitemap("b.xml", same, "<priority>x</priority>"))
    page = html(tree)
    names = [row.name for row in summarise(tree).checks.rules]
    assert {"no-loc", "duplicate-across-sitemaps"} <= set(names)
    assert 'id="duplicates"' not in page
    assert "No page is listed more than once." not in page


# Changes -------------------------------------------------------------------------------------------


def tree(*pages: str, failed: bool = False) -> IndexWebsiteSitemap:
    nodes = [PagesXMLSitemap(f"{SITE}/a.xml", [SitemapPage(f"{SITE}/{page}") for page in pages])]
    if failed:
        nodes.append(InvalidSitemap(f"{SITE}/b.xml", "503"))
    return IndexWebsiteSitemap(f"{SITE}/", nodes)


def test_changes_are_counted_and_some_are_listed():
    many = [f"new-{number}" for number in range(MAX_CHANGES + 20)]
    before, after = tree("1", "2"), tree("1", *many, failed=True)
    found = summarise(after, before=before).changes
    assert {kind: of_kind.count for kind, of_kind in found.pages.items()} == {
        "added": len(many), "removed": 1,
    }  # fmt: skip
    assert len(found.pages["added"].first) == MAX_CHANGES
    assert list(found.sitemaps) == ["failed"]
    page = html(after, before=before)
    assert 'id="changes"' in page
    assert f"{len(many)} pages added" in page
    assert "1 page removed" in page
    assert "/new-0" in page
    assert f"new-{MAX_CHANGES + 1}" not in page


def test_the_same_tree_is_said_to_be_the_same_and_without_another_there_is_no_such_section():
    assert "Nothing changed." in html(tree("1"), before=tree("1"))
    assert summarise(tree("1")).changes is None
    assert 'id="changes"' not in html(tree("1"))
