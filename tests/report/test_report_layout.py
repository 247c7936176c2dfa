"""What stands where on the page, what is left out, and that it can be read on a phone."""

from __future__ import annotations

import json

import pytest
from report_trees import SITE, sitemap, website

from usp._demo import demo_site
from usp.objects.exchange import Exchange
from usp.objects.page import SitemapPage
from usp.objects.problem import Failure
from usp.objects.sitemap import (
    IndexWebsiteSitemap,
    IndexXMLSitemap,
    InvalidSitemap,
    PagesXMLSitemap,
)
from usp.report import html, summarise
from usp.tree import sitemap_tree_for_homepage

pytestmark = pytest.mark.long

PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}


def gone(url: str) -> InvalidSitemap:
    reason = f"Unable to fetch sitemap from {url}: 404 Not Found"
    return InvalidSitemap(url, reason, failure=Failure(url, reason, 1, 404, brief="404 Not Found"))


def broken_website():
    """A site with many failures, and three kinds of problems in two sitemaps."""
    bad = [
        f"<loc>{SITE}/{at}</loc><priority>{at + 2}</priority><lastmod>never</lastmod>"
        for at in range(300)
    ]
    return website(
        sitemap("one.xml", *bad),
        sitemap("two.xml", *bad[:5], "<priority>0.1</priority>"),
        *(gone(f"{SITE}/maps/{at}-{'long-' * 12}name.xml") for at in range(30)),
        gone("https://elsewhere.example/other.xml"),
    )


@pytest.fixture(scope="module")
def demo():
    with demo_site() as url:
        return sitemap_tree_for_homepage(url)


def order(tab):
    """Return the ids of the sections, from the top down."""
    return tab.eval_on_selector_all("main > section", "all => all.map(one => one.id)")


def charts(text):
    data = text.partition('id="charts-data">')[2].partition("</script>")[0]
    return json.loads(data)


# What is wrong comes first --------------------------------------------------------------------------


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE])
def test_failures_and_problems_stand_directly_below_the_totals_which_lead_there(look, viewport):
    tab = look(broken_website(), viewport=viewport).tab
    assert order(tab)[:3] == ["failures", "problems", "tree"]
    for name in ("failures", "problems"):
        tab.evaluate("scrollTo(0, 0)")
        tab.locator(".tile.bad", has_text=name[:-1]).click()
        tab.wait_for_function(f"location.hash === '#{name}'")
        top = tab.locator(f"#{name}").bounding_box()["y"]
        assert 0 <= top < viewport["height"] / 2


def test_a_site_without_damage_says_so_in_a_sentence(look):
    tab = look(website(sitemap("a.xml", f"<loc>{SITE}/x</loc>"))).tab
    assert order(tab)[0] == "tree"
    assert tab.locator(".good").inner_text().startswith("Nothing is missing, and no problems")
    assert tab.locator(".tile.bad").count() == 0


def test_problems_are_put_together_by_rule_with_their_counts(look):
    tab = look(broken_website()).tab
    rules = {
        rule.locator("summary > span").first.inner_text(): rule.locator(".chip").all_inner_texts()
        for rule in tab.locator("#problems > details").all()
    }
    assert rules["SM450 no-loc"] == ["error", "1 time", "1 sitemap"]
    assert rules["SM550 bad-lastmod"] == ["error", "305 times", "2 sitemaps"]
    assert "1 entry lost" in tab.locator("#problems > .chips").inner_text()
    first = tab.locator("#problems > details", has_text="305 times").first
    first.locator("summary").click()
    assert first.locator("tbody tr").count() == 5
    assert "and 300 more" in first.inner_text()


def test_many_failures_are_unfolded_by_whoever_wants_to_see_them(look):
    tab = look(broken_website()).tab
    assert tab.locator("#failures .chips .chip").all_inner_texts() == ["404 Not Found: 31"]
    assert tab.locator("#failures > .scroll tbody tr").count() == 10
    tab.locator("#failures details summary").click()
    assert tab.locator("#failures tbody tr:visible").count() == 31


# Scheme and host ------------------------------------------------------------------------------------


def test_the_scheme_and_host_of_the_site_are_not_repeated(look):
    tab = look(broken_website()).tab
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    main = tab.locator("main").inner_text()
    assert main.count(SITE) == 2  # the website's own row, and the note on what a slash means
    assert "https://elsewhere.example/other.xml" in main
    links = tab.eval_on_selector_all("#rows a", "all => all.map(a => a.href)")
    assert all(link.startswith("https://") for link in links)


def test_the_host_that_most_sitemaps_have_is_left_out_if_the_website_has_another(look):
    other = "https://www.example.org"
    nodes = [PagesXMLSitemap(f"{other}/{at}.xml", []) for at in range(3)]
    tab = look(IndexWebsiteSitemap(f"{SITE}/", [*nodes, gone(f"{SITE}/x.xml")])).tab
    assert tab.locator("#rows .url").all_inner_texts() == [
        f"{SITE}/", "/0.xml", "/1.xml", "/2.xml", f"{SITE}/x.xml"
    ]  # fmt: skip
    assert other in tab.locator("#tree .note").inner_text()


def test_a_search_for_the_host_shows_where_it_stands(look):
    tab = look(website(sitemap("a.xml"), sitemap("b.xml"))).tab
    tab.fill("#search", "example.org/b")
    tab.wait_for_selector("#rows mark")
    assert tab.locator("#rows mark").all_inner_texts() == ["example.org/b"]
    assert tab.locator("#matches").inner_text() == "1 of 3 found"


# Charts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ("", "No page has a last-modified date."),
        ("<lastmod>soon</lastmod>", "No page has a last-modified date."),
        ("<lastmod>2024-05-0{n}</lastmod>", "All 3 dated pages are from 2024-05."),
        ("", "Every page has priority 0.5, the default."),
        ("<priority>0.5</priority>", "Every page has priority 0.5, the default."),
        ("<priority>0.8</priority>", "Every page has a priority of 0.8 to 0.89."),
        ("<priority>1.0</priority>", "Every page has a priority of 1.0."),
        ("", "No page has a change frequency."),
        ("<changefreq>daily</changefreq>", "Every page has the change frequency daily."),
        ("", "All 3 pages are at the top level of the site."),
    ],
)
def test_a_chart_that_would_be_empty_or_one_bar_is_a_sentence(fields, sentence):
    entries = [f"<loc>{SITE}/{n}</loc>{fields.format(n=n)}" for n in range(1, 4)]
    text = html(website(sitemap("a.xml", *entries)))
    assert f"<li>{sentence}</li>" in text
    assert charts(text) == {}
    assert 'class="chart"' not in text


def test_no_chart_is_drawn_without_two_values(look, demo):
    for tree in (demo, broken_website(), website()):
        tab = look(tree).tab
        data = json.loads(tab.locator("#charts-data").text_content())
        assert tab.locator(".chart svg").count() == tab.locator(".chart").count() == len(data)
        for name, chart in data.items():
            values = chart.get("values") or chart.get("seconds")
            if values is None:
                values = [part for box in chart["data"] for part in box.get("children", [box])]
            assert sum(1 for value in values if value) > 1, name


# On a phone -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_every_cell_of_a_table_is_in_sight_and_says_what_it_is(look, demo, scheme):
    for tree in (demo, broken_website()):
        tab = look(tree, viewport=PHONE, color_scheme=scheme).tab
        tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        hidden = tab.eval_on_selector_all(
            "td",
            """all => all.filter((cell) => {
                const box = cell.getBoundingClientRect();
                return box.left < 0 || box.right > innerWidth || cell.scrollWidth > cell.clientWidth + 1;
            }).map((cell) => cell.outerHTML)""",
        )
        assert hidden == []
        named = tab.eval_on_selector_all(
            ".wide-table td:not(:first-child)",
            "all => all.map(cell => getComputedStyle(cell, '::before').content)",
        )
        assert named
        assert not {"none", '""', "normal"} & set(named)


def test_what_scrolls_shows_a_shadow_where_there_is_more(look):
    nodes = [PagesXMLSitemap(f"{SITE}/{at}.xml", []) for at in range(300)]
    rows = look(website(*nodes)).tab.locator("#rows")
    assert rows.evaluate("one => one.scrollHeight > one.clientHeight")
    # A cover that scrolls along hides the shadow at the end; the shadow itself stays at the edge.
    attached = rows.evaluate("one => getComputedStyle(one).backgroundAttachment")
    assert attached == "local, local, scroll, scroll"


# The rest -------------------------------------------------------------------------------------------


def test_the_theme_button_shows_its_state(look, demo):
    tab = look(demo, color_scheme="light").tab
    knob = "getComputedStyle(document.querySelector('#theme .knob')).backgroundColor"
    before = tab.evaluate(knob)
    assert tab.locator("#theme").text_content() == "Dark mode off"
    tab.click("#theme")
    assert tab.locator("#theme").text_content() == "Dark mode on"
    assert tab.get_attribute("#theme", "aria-pressed") == "true"
    assert tab.evaluate(knob) != before


def test_probes_of_known_paths_are_folded_away(look, demo):
    tree, tab = demo, look(demo).tab
    known = {node.url.removeprefix(tree.url) for node in tree.all_sitemaps()}
    chart = json.loads(tab.locator("#charts-data").text_content())["fetches"]
    assert {label.lstrip("/") for label in chart["labels"]} == known
    probes = tab.locator("#fetches > details")
    assert "undeclared addresses were tried" in probes.locator("summary").inner_text()
    assert not probes.locator("table").is_visible()
    probes.locator("summary").click()
    assert "/sitemap.xml.gz" in probes.locator("tbody").inner_text()


def test_a_failure_is_no_probe_however_many_there_are():
    urls = [f"{SITE}/{at}.xml" for at in range(300)]
    nodes = [InvalidSitemap(url, "gone", exchange=Exchange(url, url, 404)) for url in urls]
    known = f"{SITE}/sitemap.xml"
    tree = IndexWebsiteSitemap(f"{SITE}/", nodes, tried=[Exchange(known, known, 404)])
    totals = summarise(tree).totals
    assert (totals.fetches, totals.probes) == (300, 1)


def test_an_index_that_holds_pages_has_its_own_state():
    """Two nodes may have one URL: what is wrong with one is not wrong with the other."""
    url = f"{SITE}/i.xml"
    pages = PagesXMLSitemap(url, [SitemapPage(f"{SITE}/x")])
    tree = IndexXMLSitemap(url, [pages], failure=Failure(url, "the document breaks off"))
    assert [row.state for row in summarise(tree).sitemaps] == ["incomplete", None]


def test_what_was_not_followed_is_not_shown_as_a_failure(look):
    again = InvalidSitemap(f"{SITE}/i.xml", "Recursion detected", missing=False)
    tab = look(website(IndexXMLSitemap(f"{SITE}/i.xml", [again]))).tab
    row = tab.locator("#rows .row").last
    assert "not followed" in row.inner_text()
    assert row.locator(".bad").count() == 0


def test_one_document_is_told_in_a_table():
    url = f"{SITE}/s.xml"
    exchange = Exchange(url, url, received=2048, seconds=0.5)
    text = html(PagesXMLSitemap(url, [], size=2048, exchange=exchange))
    assert "1 document was fetched." in text
    assert "2.0 KiB" in text
    assert charts(text) == {}
