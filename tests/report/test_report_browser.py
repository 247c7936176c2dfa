"""The page in a browser: what it shows and where, what can be done with it, and that a phone shows it."""

import json
from pathlib import Path

import pytest
from report_trees import (
    HOSTILE,
    SITE,
    empty_sitemaps,
    hostile_website,
    many_sitemaps,
    sitemap,
    website,
)

import usp
from usp.objects.problem import Failure
from usp.objects.sitemap import IndexWebsiteSitemap, IndexXMLSitemap, InvalidSitemap

pytestmark = pytest.mark.long

PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}
UNFOLD = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"


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


def rows(tab):
    return tab.locator("#rows .row:visible").count()


def order(tab):
    """Return the ids of the sections below "In short", from the top down."""
    ids = tab.eval_on_selector_all("main > section", "all => all.map(one => one.id)")
    assert "facts" not in ids[1:]
    return [name for name in ids if name != "facts"]


def test_the_demo_is_shown_with_the_numbers_of_its_tree_and_every_chart_with_a_table(look, demo):
    page = look(demo)
    tab = page.tab
    pages, nodes = list(demo.all_pages()), list(demo.all_sitemaps())
    numbers = {
        "pages": len(pages),
        "sitemaps": len(nodes),
        "news stories": sum(1 for p in pages if p.news_story),
        "images": sum(len(p.images or ()) for p in pages),
        "video": sum(len(p.videos or ()) for p in pages),
        "alternates": sum(len(p.alternates or ()) for p in pages),
        "findings": sum(one.times for one in usp.check(demo)),
    }
    tiles = page.tiles()
    assert {name: tiles[name] for name in numbers} == {n: str(c) for n, c in numbers.items()}
    assert rows(tab) == 1 + len(nodes)
    cells = (tab.locator(f"#rows .row .{name}").all_inner_texts() for name in ("url", "pages"))
    shown = dict(zip(*cells, strict=True))
    for node in nodes:
        wanted = "–" if isinstance(node, InvalidSitemap) else str(node.page_count())  # noqa: RUF001
        assert shown[node.url.removeprefix(demo.url[:-1])] == wanted
    charts = tab.locator(".chart")
    assert charts.count() == 8
    for chart in charts.all():
        assert chart.locator("svg").count() == 1
        assert chart.get_attribute("aria-label")
        assert chart.locator("xpath=..").locator("details table tbody tr").count() > 0
    chart = json.loads(tab.locator("#charts-data").text_content())["fetches"]
    assert set(chart["labels"]) == {node.url.removeprefix(demo.url[:-1]) for node in nodes}
    probes = tab.locator("#fetches > details")
    assert "undeclared addresses were tried" in probes.locator("summary").inner_text()
    assert not probes.locator("table").is_visible()
    probes.locator("summary").click()
    assert "/sitemap.xml.gz" in probes.locator("tbody").inner_text()


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


# What is wrong comes first --------------------------------------------------------------------------


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE])
def test_the_verdict_and_tiles_lead_to_findings_which_open_with_their_explanation(look, viewport):
    tab = look(broken_website(), viewport=viewport).tab
    assert order(tab)[:2] == ["findings", "tree"]
    assert tab.locator("#verdict .light").inner_text() == "Red"
    tab.locator(".tile.bad", has_text="errors").click()
    tab.wait_for_function("location.hash === '#findings'")
    assert 0 <= tab.locator("#findings").bounding_box()["y"] < viewport["height"] / 2
    links = tab.locator("#verdict ol a")
    assert links.count() == 5
    for link in links.all():
        explained = tab.locator(link.get_attribute("href"))
        for _ in range(2):  # also when one is there already
            assert not explained.is_visible()
            link.click()
            explained.wait_for()
            assert 0 <= explained.bounding_box()["y"] < viewport["height"]
            assert "What to do:" in explained.inner_text()
            explained.evaluate("one => { one.closest('details').open = false; }")


def test_a_site_without_damage_says_so_in_a_sentence(look):
    tab = look(website(sitemap("a.xml", f"<loc>{SITE}/x</loc>"))).tab
    assert order(tab)[0] == "tree"
    assert tab.locator(".verdict.green").inner_text().startswith("Green All sitemaps were read")
    assert tab.locator(".tile.bad").count() == 0
    assert look(sitemap("only.xml", f"<loc>{SITE}/a</loc>")).text("#rows .url") == "/only.xml"


def test_findings_and_failures_are_put_together_with_their_counts(look):
    tab = look(broken_website()).tab
    rules = {
        rule.locator("summary > span").first.inner_text(): rule.locator(".chip").all_inner_texts()
        for rule in tab.locator("#findings > details").all()
    }
    assert rules["SM450 no-loc"] == ["error", "1 finding", "1 sitemap", "1 entry lost"]
    assert rules["SM550 bad-lastmod"] == ["error", "305 findings", "2 sitemaps"]
    assert "1 entry lost" in tab.locator("#findings > .chips").inner_text()
    first = tab.locator("#findings > details", has_text="305 findings").first
    first.locator("summary").click()
    examples = first.locator("tbody tr").all_inner_texts()
    assert len(examples) == len(set(examples)) == 5  # each names its page
    assert examples[1].endswith("/1")
    assert "and 300 more" in first.inner_text()
    failed = tab.locator("#findings > details", has_text="SM060 other-failure")
    failed.locator("summary").first.click()
    assert failed.locator("tbody tr:visible").count() == 10
    assert failed.locator("tbody tr").first.locator("td").all_inner_texts()[1:] == [
        "404 Not Found (declared in /robots.txt)", "404", "1",
    ]  # fmt: skip
    failed.locator("details summary").click()
    assert failed.locator("tbody tr:visible").count() == 31


def test_what_was_not_followed_is_not_shown_as_a_failure(look):
    again = InvalidSitemap(f"{SITE}/i.xml", "Recursion detected", missing=False)
    tab = look(website(IndexXMLSitemap(f"{SITE}/i.xml", [again]))).tab
    row = tab.locator("#rows .row").last
    assert "not followed" in row.inner_text()
    assert row.locator(".bad").count() == 0


# The tree -------------------------------------------------------------------------------------------


def test_a_node_opens_and_closes(look):
    nodes = empty_sitemaps(50)
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


def test_a_node_opens_by_keyboard(look):
    tab = look(website(*empty_sitemaps(50))).tab
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


def test_long_runs_of_siblings_are_folded_and_show_a_shadow_where_there_is_more(look):
    tab = look(website(*empty_sitemaps(520))).tab
    assert rows(tab) == 2 + 40
    tab.get_by_text("… 480 more").click()
    assert rows(tab) == 2 + 240
    tab.get_by_text("… 280 more").click()
    tab.get_by_text("… 80 more").click()
    assert rows(tab) == 2 + 520
    scrolled = tab.locator("#rows")
    assert scrolled.evaluate("one => one.scrollHeight > one.clientHeight")
    # A cover that scrolls along hides the shadow at the end; the shadow itself stays at the edge.
    attached = scrolled.evaluate("one => getComputedStyle(one).backgroundAttachment")
    assert attached == "local, local, scroll, scroll"


def test_search_leaves_what_matches_and_what_stands_above_it(look, demo):
    page = look(demo)
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
    page.tab.check("#damaged")
    assert page.text("#matches") == "6 of 12 found"
    assert page.tab.locator("#rows .reason").count() == 2


def test_sitemaps_that_stand_beside_each_other_sort_by_each_of_their_numbers(look):
    sizes = {"a.xml": 2, "b.xml": 30, "c.xml": 7}
    children = [
        sitemap(name, *(f"<loc>{SITE}/{name[0]}{at}</loc>" for at in range(count)))
        for name, count in sizes.items()
    ]
    tab = look(website(*children, gone(f"{SITE}/d.xml"))).tab
    for by, expected in (("pages", "bcad"), ("findings", "dabc"), ("", "abcd")):
        tab.select_option("#order", by)
        shown = tab.locator("#rows .url").all_inner_texts()[-4:]
        assert shown == [f"/{name}.xml" for name in expected], by


def test_a_search_for_the_host_shows_where_it_stands(look):
    tab = look(website(sitemap("a.xml"), sitemap("b.xml"))).tab
    tab.fill("#search", "example.org/b")
    tab.wait_for_selector("#rows mark")
    assert tab.locator("#rows mark").all_inner_texts() == ["example.org/b"]
    assert tab.locator("#matches").inner_text() == "1 of 3 found"


def test_the_scheme_and_host_of_the_site_are_not_repeated(look):
    tab = look(broken_website()).tab
    tab.evaluate(UNFOLD)
    tab.evaluate("document.querySelectorAll('.origin').forEach((one) => one.remove())")  # not seen
    main = tab.locator("main").inner_text()
    assert main.count(SITE) == 2  # the website's own row, and the note on what a slash means
    assert "https://elsewhere.example/other.xml" in main
    links = tab.eval_on_selector_all("#rows a", "all => all.map(a => a.href)")
    assert all(link.startswith("https://") for link in links)
    # If the website has another host than most of its sitemaps, theirs is left out.
    other = "https://www.example.org"
    nodes = [*empty_sitemaps(3, other), gone(f"{SITE}/x.xml")]
    tab = look(IndexWebsiteSitemap(f"{SITE}/", nodes)).tab
    assert tab.locator("#rows .url").all_inner_texts() == [
        f"{SITE}/", "/0.xml", "/1.xml", "/2.xml", f"{SITE}/x.xml"
    ]  # fmt: skip
    assert other in tab.locator("#tree .note").inner_text()


def test_hostile_urls_do_nothing(look):
    tab = look(hostile_website()).tab
    tab.fill("#search", "script")
    tab.wait_for_selector("#rows mark")
    tab.fill("#search", "")
    tab.wait_for_selector("#rows mark", state="detached")
    tab.mouse.move(400, 1200)
    assert tab.evaluate("window.hurt") is None
    assert tab.locator("img").count() == 0
    links = tab.eval_on_selector_all(".url a", "all => all.map(a => [a.protocol, a.rel])")
    assert {*map(tuple, links)} == {("https:", "noopener noreferrer")}
    text = tab.evaluate("document.documentElement.textContent")
    assert not {"\u202e", "\u2066", "\x1b", "\x00"} & set(text)
    assert tab.locator("#rows .row").count() == 3 + 2 * len(HOSTILE)


def test_a_hundred_thousand_sitemaps_are_counted_and_searched_and_drawn_as_far_as_needed(
    look, tmp_path
):
    page = look(many_sitemaps(100_000))
    (report,) = tmp_path.iterdir()
    assert report.stat().st_size < 3_000_000
    tiles = page.tiles()
    assert (tiles["sitemaps"], tiles["pages"]) == ("100,101", "100,000")
    assert page.tab.evaluate("document.querySelectorAll('*').length") < 5000
    assert "100,101 sitemaps" in page.text("#matches")
    page.tab.fill("#search", "-777.xml")
    page.tab.wait_for_selector("#rows mark")
    assert page.tab.evaluate("document.querySelectorAll('*').length") < 5000
    assert any("-777.xml" in url for url in page.tab.locator("#rows .url").all_inner_texts())


# How it looks ---------------------------------------------------------------------------------------


def test_the_theme_follows_the_system_and_the_switch_which_shows_its_state(look, demo):
    back = "getComputedStyle(document.body).backgroundColor"
    knob = "getComputedStyle(document.querySelector('#theme .knob')).backgroundColor"
    light = look(demo, color_scheme="light").tab
    dark = look(demo, color_scheme="dark").tab
    colors = light.evaluate(back), dark.evaluate(back)
    assert colors[0] != colors[1]
    assert dark.get_attribute("#theme", "aria-pressed") == "true"
    assert dark.locator("#theme").text_content() == "Dark mode on"
    before = dark.evaluate(knob)
    dark.click("#theme")
    assert dark.evaluate(knob) != before
    assert dark.evaluate(back) == colors[0]
    assert dark.get_attribute("#theme", "aria-pressed") == "false"
    assert dark.locator("#theme").text_content() == "Dark mode off"
    light.emulate_media(color_scheme="dark")
    light.wait_for_selector('html[data-theme="dark"]')
    assert light.evaluate(back) == colors[1]
    assert dark.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_every_cell_of_a_table_is_in_sight_and_says_what_it_is(look, demo, scheme):
    for tree, width in ((demo, PHONE["width"]), (demo, 360), (broken_website(), PHONE["width"])):
        tab = look(tree, viewport=PHONE | {"width": width}, color_scheme=scheme).tab
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        tab.evaluate(UNFOLD)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
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


ACCESSIBILITY = Path(__file__).with_name("accessibility.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_people_who_do_not_see_or_point_can_use_it(look, demo, scheme, width):
    tab = look(demo, color_scheme=scheme, viewport={"width": width, "height": 900}).tab
    tab.evaluate(UNFOLD)
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
