"""The page in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from report_trees import HOSTILE, SITE, hostile_website, many_sitemaps, sitemap, website

from usp._demo import demo_site
from usp.objects.sitemap import IndexXMLSitemap, InvalidSitemap, PagesXMLSitemap
from usp.tree import sitemap_tree_for_homepage

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def demo():
    with demo_site() as url:
        return sitemap_tree_for_homepage(url)


def rows(tab):
    return tab.locator("#rows .row:visible").count()


def test_the_demo_is_shown_with_the_numbers_of_its_tree(look, demo):
    tree = demo
    page = look(tree)
    pages = list(tree.all_pages())
    tiles = page.tiles()
    assert tiles["pages"] == str(len(pages))
    assert tiles["sitemaps"] == str(sum(1 for _ in tree.all_sitemaps()))
    assert tiles["news stories"] == str(sum(1 for p in pages if p.news_story))
    assert tiles["images"] == str(sum(len(p.images or ()) for p in pages))
    assert tiles["video"] == str(sum(len(p.videos or ()) for p in pages))
    assert tiles["alternates"] == str(sum(len(p.alternates or ()) for p in pages))
    assert tiles["failures"] == str(len(tree.failures()))
    assert tiles["problems"] == str(sum(len(n.problems) for n in tree.all_sitemaps()))
    assert rows(page.tab) == 1 + sum(1 for _ in tree.all_sitemaps())
    shown = dict(
        zip(
            page.tab.locator("#rows .row .url").all_inner_texts(),
            page.tab.locator("#rows .row .pages").all_inner_texts(),
            strict=True,
        )
    )
    for node in tree.all_sitemaps():
        wanted = "–" if isinstance(node, InvalidSitemap) else str(node.page_count())  # noqa: RUF001
        assert shown[node.url.removeprefix(tree.url[:-1])] == wanted


def test_every_chart_is_drawn_and_has_its_numbers_as_a_table(look, demo):
    page = look(demo)
    charts = page.tab.locator(".chart")
    assert charts.count() == 8
    for at in range(charts.count()):
        assert charts.nth(at).locator("svg").count() == 1
        assert charts.nth(at).get_attribute("aria-label")
        assert charts.nth(at).locator("xpath=..").locator("details table tbody tr").count() > 0


def test_a_node_opens_and_closes(look):
    nodes = [PagesXMLSitemap(f"{SITE}/{at}.xml", []) for at in range(50)]
    inner = IndexXMLSitemap(f"{SITE}/inner.xml", nodes)
    page = look(website(IndexXMLSitemap(f"{SITE}/i.xml", [inner, *nodes])))
    toggle = page.tab.get_by_label(f"Sitemaps below {SITE}/inner.xml")
    before = rows(page.tab)
    assert toggle.get_attribute("aria-expanded") == "false"
    toggle.click()
    assert toggle.get_attribute("aria-expanded") == "true"
    assert rows(page.tab) == before + 40
    toggle.click()
    assert rows(page.tab) == before


def test_long_runs_of_siblings_are_folded(look):
    nodes = [PagesXMLSitemap(f"{SITE}/{at}.xml", []) for at in range(520)]
    page = look(website(*nodes))
    assert rows(page.tab) == 2 + 40
    page.tab.get_by_text("… 480 more").click()
    assert rows(page.tab) == 2 + 240
    page.tab.get_by_text("… 280 more").click()
    page.tab.get_by_text("… 80 more").click()
    assert rows(page.tab) == 2 + 520


def test_search_leaves_what_matches_and_what_stands_above_it(look, demo):
    tree = demo
    page = look(tree)
    page.tab.fill("#search", "SHOP")
    page.tab.wait_for_selector("#rows mark")
    assert page.text("#matches") == "1 of 12 found"
    assert page.tab.locator("#rows mark").all_inner_texts() == ["shop"]
    assert rows(page.tab) == 4
    page.tab.fill("#search", "no such sitemap")
    page.tab.wait_for_selector("#rows .row", state="detached")
    page.tab.fill("#search", "")
    page.tab.wait_for_selector("#rows .row")
    assert rows(page.tab) == 13


def test_only_what_is_damaged_can_be_asked_for(look, demo):
    tree = demo
    page = look(tree)
    page.tab.check("#damaged")
    assert page.text("#matches").startswith("2 of 12")
    assert page.tab.locator("#rows .reason").count() == 2


def test_hostile_urls_do_nothing(look):
    page = look(hostile_website())
    page.tab.fill("#search", "script")
    page.tab.wait_for_selector("#rows mark")
    page.tab.fill("#search", "")
    page.tab.wait_for_selector("#rows mark", state="detached")
    page.tab.mouse.move(400, 1200)
    assert page.tab.evaluate("window.hurt") is None
    assert page.tab.locator("img").count() == 0
    links = page.tab.eval_on_selector_all("#rows a", "all => all.map(a => a.protocol)")
    assert set(links) == {"https:"}
    text = page.tab.evaluate("document.documentElement.textContent")
    assert not {"\u202e", "\u2066", "\x1b", "\x00"} & set(text)
    assert page.tab.locator("#rows .row").count() == 3 + 2 * len(HOSTILE)


def test_the_theme_follows_the_system_and_the_switch(look, demo):
    back = "getComputedStyle(document.body).backgroundColor"
    light = look(demo, color_scheme="light").tab
    dark = look(demo, color_scheme="dark").tab
    colors = light.evaluate(back), dark.evaluate(back)
    assert colors[0] != colors[1]
    assert dark.get_attribute("#theme", "aria-pressed") == "true"
    dark.click("#theme")
    assert dark.evaluate(back) == colors[0]
    assert dark.get_attribute("#theme", "aria-pressed") == "false"
    light.emulate_media(color_scheme="dark")
    light.wait_for_selector('html[data-theme="dark"]')
    assert light.evaluate(back) == colors[1]


def test_a_node_opens_by_keyboard(look):
    nodes = [PagesXMLSitemap(f"{SITE}/{at}.xml", []) for at in range(50)]
    page = look(website(*nodes))
    tab = page.tab
    tab.focus("#damaged")
    if tab.evaluate("document.activeElement.id") == "damaged":
        tab.keyboard.press("Tab")
    while tab.evaluate("document.activeElement.getAttribute('aria-expanded')") is None:
        tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    tab.keyboard.press("Enter")
    assert rows(tab) == 1
    tab.keyboard.press("Enter")
    assert rows(tab) > 1
    tab.keyboard.press("ArrowLeft")
    assert rows(tab) == 1
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowDown")
    assert tab.evaluate("document.activeElement.tagName") == "A"
    outline = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


@pytest.mark.long
def test_a_hundred_thousand_sitemaps_are_counted_and_searched_and_drawn_as_far_as_needed(
    look, tmp_path
):
    page = look(many_sitemaps(100_000))
    (report,) = tmp_path.iterdir()
    assert report.stat().st_size < 2_000_000
    tiles = page.tiles()
    assert (tiles["sitemaps"], tiles["pages"]) == ("100,101", "100,000")
    assert page.tab.evaluate("document.querySelectorAll('*').length") < 5000
    assert "100,101 sitemaps" in page.text("#matches")
    page.tab.fill("#search", "-777.xml")
    page.tab.wait_for_selector("#rows mark")
    assert page.tab.evaluate("document.querySelectorAll('*').length") < 5000
    assert any("-777.xml" in url for url in page.tab.locator("#rows .url").all_inner_texts())


def test_a_narrow_screen_needs_no_scrolling_to_the_side(look, demo):
    tab = look(demo, viewport={"width": 360, "height": 700}).tab
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360


def test_it_prints(look, demo):
    tab = look(demo, color_scheme="dark").tab
    assert tab.pdf().startswith(b"%PDF")


def test_a_tree_of_one_sitemap_is_shown(look):
    page = look(sitemap("only.xml", f"<loc>{SITE}/a</loc>"))
    assert page.text("#rows .url") == "/only.xml"


ACCESSIBILITY = Path(__file__).with_name("accessibility.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_people_who_do_not_see_or_point_can_use_it(look, demo, scheme, width):
    tab = look(demo, color_scheme=scheme, viewport={"width": width, "height": 900}).tab
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert tab.evaluate(ACCESSIBILITY) == []


def test_the_check_of_accessibility_finds_what_it_looks_for(look, demo):
    tab = look(demo).tab
    tab.evaluate("""
        document.body.insertAdjacentHTML('beforeend', '<button></button><h4>x</h4><table></table>'
            + '<p id="main" class="pale">pale</p><a href="#nowhere">x</a>');
        document.querySelector('.pale').style.color = '#ccc';
    """)
    found = {complaint.partition(":")[0].split(" ")[0] for complaint in tab.evaluate(ACCESSIBILITY)}
    assert {"without", "headings", "table", "id", "contrast", "leads"} <= found
