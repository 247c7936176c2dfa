"""One number of sitemaps, failures and problems: in the tree, the summary line, the report, the notebook."""

from __future__ import annotations

import re
import sys

import pytest
from rich.console import Console

from usp._crawl.receiver import parse_document
from usp.cli import main
from usp.cli.treeview import summary as summary_line
from usp.cli.treeview import tree_view
from usp.objects.problem import how_many
from usp.objects.sitemap import IndexWebsiteSitemap, IndexXMLSitemap, InvalidSitemap
from usp.report import html, summarise
from usp.tree import sitemap_tree_for_homepage
from website import Answer, index, urlset

PAGES = urlset("{base}/a", "{base}/b")
DAMAGED = "<urlset>" + "".join(
    f"<url><loc>{{base}}/{n}</loc><priority>{n + 2}</priority></url>" for n in range(450)
)
MIXED = "<sitemapindex><sitemap><loc>{base}/pages.xml</loc></sitemap><url><loc>{base}/x</loc></url></sitemapindex>"

WEBSITES = {
    "robots.txt and what it declares": {
        "/robots.txt": "Sitemap: {base}/index.xml\nSitemap: {base}/pages.xml",
        "/index.xml": index("{base}/pages.xml", "{base}/more.xml"),
        "/pages.xml": PAGES,
        "/more.xml": PAGES,
    },
    "failures": {
        "/robots.txt": "Sitemap: {base}/index.xml",
        "/index.xml": index("{base}/pages.xml", "{base}/gone.xml", "{base}/cut.xml"),
        "/pages.xml": PAGES,
        "/cut.xml": DAMAGED,
    },
    "an index that holds pages": {"/sitemap.xml": MIXED, "/pages.xml": PAGES},
    "documents that stand twice": {
        "/robots.txt": "Sitemap: {base}/one.xml\nSitemap: {base}/two.xml",
        "/one.xml": index("{base}/pages.xml", "{base}/gone.xml"),
        "/two.xml": index("{base}/pages.xml", "{base}/gone.xml"),
        "/pages.xml": PAGES,
    },
    "no sitemaps": {},
    "a robots.txt that cannot be fetched": {
        "/robots.txt": Answer("", 503),
        "/sitemap.xml": PAGES,
    },
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
    sitemaps, failures = len(nodes), len(tree.failures())
    problems = sum(how_many(node.problems) for node in (tree, *nodes))
    assert tree.sitemap_count() == sitemaps
    totals = summarise(tree, all_problems=True).totals
    assert (totals.sitemaps, totals.failures, totals.problems) == (sitemaps, failures, problems)
    line = summary_line(tree)
    numbers = [int(word.replace(",", "")) for word in re.findall(r"[0-9,]*[0-9]", line)]
    assert numbers == [tree.page_count(), sitemaps, failures, problems]
    shown = tiles(html(tree, all_problems=True))
    assert (shown["sitemaps"], shown["failures"]) == (f"{sitemaps:,}", f"{failures:,}")
    assert shown["problems"] == f"{problems:,}"
    assert problems > 450 or name != "failures"  # those that were not kept one by one are counted


def test_usp_tree_says_the_same_at_its_top_and_at_its_end(serve, capsys):
    site = serve(WEBSITES["documents that stand twice"])
    with pytest.raises(SystemExit):
        main(["tree", site.base])
    lines = capsys.readouterr().out.splitlines()
    tree = sitemap_tree_for_homepage(site.base)
    assert lines[0].endswith(f" {tree.sitemap_count()} sitemaps")
    assert f" in {tree.sitemap_count()} sitemaps;" in lines[-1]


def test_the_tree_and_the_report_have_the_same_first_and_last_day(capsys):
    dates = ["2017", "2018-05", "2019-12-31T10:00:00Z", "never"]
    entries = "".join(f"<url><loc>http://h/{d}</loc><lastmod>{d}</lastmod></url>" for d in dates)
    node = parse_document([f"<urlset>{entries}</urlset>".encode()], "http://h/a.xml")
    row = summarise(node).sitemaps[0]
    assert (row.first, row.last) == ("2017-01-01", "2019-12-31")
    Console(file=sys.stdout, width=200).print(tree_view(node))
    assert "4 pages, 2017-01-01 to 2019-12-31" in capsys.readouterr().out


def test_a_sitemap_that_is_the_root_counts_itself():
    gone = InvalidSitemap("http://h/a.xml", "gone")
    assert gone.sitemap_count() == 1
    assert summary_line(gone) == "0 pages in 1 sitemap; 1 failure, 0 problems."
    assert IndexXMLSitemap("http://h/i.xml", [gone, gone]).sitemap_count() == 3
    assert IndexWebsiteSitemap("http://h/", [gone]).sitemap_count() == 1
