"""One number of sitemaps, and of findings: in the tree, the summary line, the report, the notebook."""

import re
from html import unescape

import pytest
from report_trees import dated

import usp
from usp._base.display import counted
from usp.checks import verdict
from usp.cli.treeview import TreeView
from usp.cli.treeview import summary as summary_lines
from usp.objects.sitemap import IndexWebsiteSitemap, IndexXMLSitemap, InvalidSitemap
from usp.report import html, summarise
from usp.report.notebook import repr_html
from usp.tree import sitemap_tree_for_homepage
from website import Answer, index, robots, urlset, with_index

PAGES = urlset("/a", "/b")
DAMAGED = "<urlset>" + "".join(
    f"<url><loc>{{base}}/{n}</loc><priority>{n + 2}</priority></url>" for n in range(450)
)
MIXED = index("/pages.xml", "<url><loc>{base}/x</loc></url>")
TWICE = dict.fromkeys(("/one.xml", "/two.xml"), index("/pages.xml", "/gone.xml"))

WEBSITES = {
    "robots.txt and what it declares": (
        with_index({"/pages.xml": PAGES, "/more.xml": PAGES})
        | {"/robots.txt": robots("/index.xml", "/pages.xml")}
    ),
    "failures": with_index({"/pages.xml": PAGES, "/gone.xml": None, "/cut.xml": DAMAGED}),
    "an index that holds pages": {"/sitemap.xml": MIXED, "/pages.xml": PAGES},
    "documents that stand twice": {"/robots.txt": robots(*TWICE), **TWICE, "/pages.xml": PAGES},
    "no sitemaps": {},
    "pages that robots.txt disallows": {
        "/robots.txt": "User-agent: *\nDisallow: /\n",
        "/sitemap.xml": urlset("/a", "/caf\u00e9"),
    },
    "a robots.txt that cannot be fetched": {"/robots.txt": Answer("", 503), "/sitemap.xml": PAGES},
}


def tiles(text: str) -> dict[str, str]:
    """Return the totals of a page, by their nouns in the plural."""
    found = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text)
    return {
        name if name.endswith("s") else f"{name}s": re.sub(r"<[^>]*>", "", value)
        for name, value in found
    }


@pytest.mark.parametrize("name", WEBSITES)
def test_the_numbers_are_the_same_everywhere(serve, name):
    tree = sitemap_tree_for_homepage(serve(WEBSITES[name]).base)
    nodes = list(tree.all_sitemaps())
    sitemaps = len(nodes)
    assert tree.sitemap_count() == sitemaps
    line = totals_line(tree)
    assert line.startswith(f"{tree.page_count():,} pages in {counted(sitemaps, 'sitemap')}")
    findings = line.partition("; ")[2].rstrip(".")
    shown = counted(sitemaps, "sitemap") + (f", {findings}" if findings else "")
    assert f">{shown}<" in repr_html(tree)
    said = str(verdict(tree))
    assert said in unescape(repr_html(tree))
    assert said == next(summary_lines(TreeView(tree).wrong))
    assert said.partition(": ")[2] in unescape(html(tree))
    found = list(usp.check(tree))
    total, errors = (
        sum(one.times for one in some)
        for some in (found, [one for one in found if one.severity == "error"])
    )
    assert (f"; {counted(total, 'finding')} (" in line) == (total > 0)
    assert total > 450 or name != "failures"  # those that were not kept one by one are counted
    summary = summarise(tree)
    assert summary.totals.findings == summary.checks.total == total
    assert sum(counts.total() for counts in summary.places.sitemaps.values()) == total
    shown = tiles(html(tree))
    assert (shown["sitemaps"], shown["findings"]) == (f"{sitemaps:,}", f"{total:,}")
    assert shown["errors"] == f"{errors:,}"


def totals_line(tree):
    """Return the line with the totals."""
    lines = summary_lines(TreeView(tree).wrong)
    return next(line for line in lines if re.search(" pages? in ", line))


def test_usp_tree_says_the_same_at_its_top_and_at_its_end(serve, run):
    site = serve(WEBSITES["documents that stand twice"])
    lines = run("tree", site.base)[1].splitlines()
    tree = sitemap_tree_for_homepage(site.base)
    assert lines[0].endswith(f" {tree.sitemap_count()} sitemaps")
    assert any(f" in {tree.sitemap_count()} sitemaps;" in line for line in lines[1:])


def test_the_tree_and_the_report_have_the_same_first_and_last_day():
    node = dated("2017", "2018-05", "2019-12-31T10:00:00Z", "never")
    row = summarise(node).sitemaps[0]
    assert (row.first, row.last) == ("2017-01-01", "2019-12-31")
    assert "4 pages, 2017-01-01 to 2019-12-31" in next(TreeView(node).drawn())


def test_a_sitemap_that_is_the_root_counts_itself():
    gone = InvalidSitemap("http://h/a.xml", "gone")
    assert gone.sitemap_count() == 1
    assert totals_line(gone) == "0 pages in 1 sitemap; 1 finding (1 warning)."
    assert IndexXMLSitemap("http://h/i.xml", [gone, gone]).sitemap_count() == 3
    assert IndexWebsiteSitemap("http://h/", [gone]).sitemap_count() == 1
