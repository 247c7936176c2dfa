"""The table of pages, tables that sort, and the treemap: in a browser, clicked as people click."""

import csv
import io
import re
from datetime import UTC, datetime

import pytest
from report_trees import SITE, hostile_website, script, sitemap, unpacked, website

from usp._inputs import read_input, tree_of
from usp.export.schema import ALL_COLUMNS
from usp.objects.page import SitemapImage, SitemapNewsStory, SitemapPage
from usp.objects.sitemap import PagesXMLSitemap
from usp.options import CrawlOptions
from usp.report import html
from usp.report.html_page import PageRows

PHONE = {"width": 390, "height": 844}

# How the pages are kept -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pages", "options", "step"),
    [(8, {"most": 8}, 1), (9, {"most": 8}, 2), (100, {"most": 8}, 16), (100, {"text": 2000}, 2)],
)
def test_of_too_many_pages_every_nth_is_kept_wherever_sitemaps_end(pages, options, step):
    rows = PageRows(**options)
    for at in range(0, pages, 7):
        of_one = [SitemapPage(f"{SITE}/{number:02}") for number in range(at, min(at + 7, pages))]
        for _, block in PagesXMLSitemap(f"{SITE}/{at}.xml", of_one).page_blocks():
            rows.add(block, at)
    assert (rows.step, rows.total) == (step, pages)
    assert [row.url for row in rows.rows] == [
        f"{SITE}/{number:02}" for number in range(0, pages, step)
    ]
    assert [row.sitemap for row in rows.rows] == [
        number // 7 * 7 for number in range(0, pages, step)
    ]


def test_a_table_that_has_no_room_says_which_pages_it_has(monkeypatch):
    tree = website(sitemap("a.xml", *(f"<loc>{SITE}/{hash(str(n))}</loc>" for n in range(400))))
    monkeypatch.setattr("usp.report.html_page.MAX_PAGES", 300)
    monkeypatch.setattr(PageRows.__init__, "__defaults__", (300, 10**6))
    text = html(tree)
    assert "200 pages, every 2nd of 400, are in this table, which takes " in text
    assert unpacked(script(text, "pages-data"))["sitemaps"] == [["/a.xml", 200]]


def test_pages_have_their_fields_and_the_findings_about_them():
    story = SitemapNewsStory("Tea <b>\nnow", None, "Post")
    pages = [
        SitemapPage(f"{SITE}/a#x", news_story=story, images=[SitemapImage(f"{SITE}/i.png")]),
        SitemapPage("https://other.example/b"),
    ]
    data = unpacked(script(html(website(PagesXMLSitemap(f"{SITE}/s.xml", pages))), "pages-data"))
    assert data["urls"] == "/a#x\nhttps://other.example/b"
    assert (data["titles"], data["images"]) == ("Tea <b> now\n", "1\n")
    assert (data["dates"], data["newsDates"]) == ("", "")
    entries = [f"<loc>{SITE}/{at}{'#x' * (at == 1)}</loc>" for at in range(3)]
    data = unpacked(script(html(website(sitemap("a.xml", *entries))), "pages-data"))
    assert ["SM407" in data["codeSets"][int(one or 0)] for one in data["codes"].split("\n")] == [
        False,
        True,
        False,
    ]
    texts = "\n".join(
        str(value) for value in unpacked(script(html(hostile_website()), "pages-data")).values()
    )
    assert texts.replace("\n", "").isprintable()


def test_sitemaps_are_counted_while_they_are_read_and_pages_while_they_are_checked():
    counts = []
    tree = website(*(sitemap(f"{name}.xml", f"<loc>{SITE}/{name}</loc>") for name in "abc"))
    html(tree, on_read=lambda: counts.append("read"), on_pages=counts.append)
    assert counts == ["read"] * 3 + [1, 1, 1]


def test_every_page_with_a_problem_is_known_however_many_there_are():
    entries = [
        f"<loc>{SITE}/{at}</loc><lastmod>{'never' if at % 2 else '2024-01-02'}</lastmod><priority>7</priority>"
        for at in range(1000)
    ]
    data = unpacked(script(html(website(sitemap("a.xml", *entries))), "pages-data"))
    of_page = [data["codeSets"][int(one or 0)] for one in data["codes"].split("\n")]
    assert of_page == [["SM552"], ["SM550", "SM552"]] * 500


# In the browser ------------------------------------------------------------------------------------


def shop():
    """Two sitemaps: a shop with three sections, dates and images, and pages with fragments."""
    products = [
        f"<loc>{SITE}/{'de/' * (at % 2)}product/tea-{at}/</loc><lastmod>2024-{at % 12 + 1:02}-03</lastmod>"
        for at in range(2000)
    ]
    others = [f"<loc>{SITE}/blog/=cmd-{at}</loc>" for at in range(3)]
    return website(
        sitemap("shop.xml", *products), sitemap("blog.xml", *others, f"<loc>{SITE}/x#y</loc>")
    )


@pytest.fixture
def pages(look):
    def _open(tree=None, **options):
        tab = look(shop() if tree is None else tree, **options).tab
        tab.wait_for_selector("#pages-place[data-ready]")
        return tab

    return _open


def listed(tab):
    return tab.locator("#pages-table tbody tr .at-url a").evaluate_all(
        "all => all.map(a => a.href)"
    )


def found(tab, count):
    of = f"{count} of 2,004 found" if count != "2,004" else "2,004 pages"
    tab.wait_for_selector(f'#pages-matches:text-is("{of}")')


@pytest.mark.long
def test_pages_are_filtered_sorted_scrolled_and_exported(pages):
    tab = pages()
    found(tab, "2,004")
    assert tab.locator("#pages-table tbody tr").count() < 60
    link = tab.locator("#pages-table .at-url a").first
    assert (link.get_attribute("href"), link.get_attribute("rel")) == (
        f"{SITE}/product/tea-0/", "noopener noreferrer"
    )  # fmt: skip
    assert (
        tab.evaluate("""() => {
        getSelection().selectAllChildren(document.querySelector('#pages-table td.at-url'));
        return String(getSelection()).trim();
    }""")
        == f"{SITE}/product/tea-0/"
    )
    for name, value, count in (
        ("section", "/de/product/", "1,000"),
        ("section", "/de/", "1,000"),
        ("section", "/", "1"),
        ("section", "", "2,004"),
        ("sitemap", "blog", "4"),
        ("sitemap", "", "2,004"),
        ("from", "2024-03-03", "1,666"),
        ("to", "2024-03-03", "167"),
        ("search", f"{SITE}/product/TEA-2", "10"),
    ):
        field = tab.locator(f"#pages-{name}")
        field.select_option(value) if name == "section" else field.fill(value)
        found(tab, count)
    tab.click("#pages >> text=Reset")
    found(tab, "2,004")
    tab.locator("#pages-finding").select_option("any")
    tab.wait_for_selector("#pages-table td.at-findings a")
    rule = tab.locator("#rule-SM407")
    assert not rule.is_visible()
    tab.click("#pages-table td.at-findings >> text=SM407")
    rule.wait_for(state="visible")

    tab.click("#pages >> text=Reset")
    url, modified = (tab.locator(f"#pages-table th.at-{name}") for name in ("url", "lastmod"))
    url.locator("button").click()
    assert url.get_attribute("aria-sort") == "ascending"
    assert listed(tab)[0] == f"{SITE}/blog/=cmd-0"
    url.locator("button").click()
    assert listed(tab)[0] == f"{SITE}/x#y"
    modified.locator("button").click()
    assert [url.get_attribute("aria-sort"), modified.get_attribute("aria-sort")] == [
        None,
        "ascending",
    ]
    tab.locator("#pages-table").evaluate("region => { region.scrollTop = region.scrollHeight }")
    tab.wait_for_selector("#pages-table tr[aria-rowindex='2005']")
    assert set(listed(tab)[-4:]) == {*(f"{SITE}/blog/=cmd-{at}" for at in range(3)), f"{SITE}/x#y"}
    tab.locator("#pages-table tr[aria-rowindex='2005'] .at-url a").focus()
    tab.locator("#pages-table").evaluate("region => { region.scrollTop -= 20 }")
    tab.wait_for_timeout(100)
    assert tab.evaluate("document.activeElement.closest('tr').ariaRowIndex") == "2005"

    tab.locator("#pages-sitemap").fill("/blog.xml")
    found(tab, "4")
    with tab.expect_download() as saved:
        tab.click("#pages-export")
    head, *rows = csv.reader(io.StringIO(saved.value.path().read_text()))
    assert head == ["url", "lastmod", "section", "sitemap", "findings"]
    assert rows[0][0] == f"{SITE}/blog/=cmd-0"
    assert rows[0][2:4] == ["/blog/", f"{SITE}/blog.xml"]


@pytest.mark.long
def test_nothing_of_a_page_is_run_by_the_table_or_by_a_spreadsheet(pages):
    story = SitemapNewsStory("=HYPERLINK(1)", None, "Post")
    bad = PagesXMLSitemap(f"{SITE}/s.xml", [SitemapPage("javascript:alert(1)", news_story=story)])
    tab = pages(website(bad))
    assert tab.locator("#pages-table td a:not([href^='#'])").count() == 0
    with tab.expect_download() as saved:
        tab.click("#pages-export")
    assert "'=HYPERLINK(1)" in saved.value.path().read_text()
    tab = pages(hostile_website())
    assert tab.evaluate("window.hurt") is None
    links = tab.eval_on_selector_all(
        "#pages-table a:not([href^='#'])", "all => all.map(a => a.protocol)"
    )
    assert set(links) == {"https:"}


@pytest.mark.long
def test_an_exported_table_is_an_input_whose_columns_are_named_as_ours(pages, tmp_path):
    story = SitemapNewsStory("Tea", datetime(2024, 1, 2, tzinfo=UTC), "Post")
    of_page = {"news_story": story, "images": [SitemapImage(f"{SITE}/a.jpg")]}
    tab = pages(website(PagesXMLSitemap(f"{SITE}/a.xml", [SitemapPage(f"{SITE}/a", **of_page)])))
    with tab.expect_download() as saved:
        tab.click("#pages-export")
    saved.value.save_as(tmp_path / "pages.csv")
    head = (tmp_path / "pages.csv").read_text().splitlines()[0].split(",")
    assert set(head) <= {*ALL_COLUMNS, "findings"}
    tree = tree_of(read_input(str(tmp_path / "pages.csv")), None, CrawlOptions())
    (read,) = tree.sub_sitemaps
    assert ([page.url for page in read.pages], read.problems) == ([f"{SITE}/a"], [])


@pytest.mark.long
def test_more_rows_than_a_browser_can_draw_are_scrolled_through_in_steps(pages):
    tree = website(*(sitemap("a.xml", *(f"<loc>{SITE}/{at:06}</loc>" for at in range(300_000))),))
    tab = pages(tree, viewport={"width": 1280, "height": 900})
    region = tab.locator("#pages-table")
    assert region.evaluate("one => one.scrollHeight") < 9_000_000
    for share in (0.25, 0.5, 1):
        region.evaluate(
            f"one => {{ one.scrollTop = {share} * (one.scrollHeight - one.clientHeight) }}"
        )
        tab.wait_for_timeout(200)
        first = int(tab.locator("#pages-table tbody tr").first.get_attribute("aria-rowindex"))
        assert abs(first - share * 300_000) < 40
        box, seen = region.bounding_box(), tab.locator("#pages-table tbody tr").all()
        inside = [
            row for row in seen if box["y"] < row.bounding_box()["y"] < box["y"] + box["height"]
        ]
        assert len(inside) > 10
    assert listed(tab)[-1] == f"{SITE}/299999"


@pytest.mark.long
def test_every_table_sorts_by_its_heads_with_what_is_folded(look, demo):
    tab = look(demo).tab
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert tab.locator("main table").count() > 10
    for table in tab.locator("main table").all():
        if table.locator("tbody tr").count() > 1:
            assert table.locator("th button").count() == table.locator("th").count()
    table = tab.locator("#fetches table").first
    table.locator("th button", has_text="time").click()
    times = [float(text.split()[0]) for text in table.locator("td:nth-child(2)").all_inner_texts()]
    assert times == sorted(times)
    table.locator("th button", has_text="time").click()
    assert table.locator("th[aria-sort=descending]").inner_text().startswith("time")
    units = ["900 B", "1.5 KiB", "2 min 5 s", "1 h", "–"]  # noqa: RUF001
    tab.evaluate(
        """(units) => {
            const rows = [...document.querySelectorAll('#fetches tbody')][0].rows;
            [...rows].forEach((row, at) => { row.cells[2].textContent = units[(at + 2) % 5]; });
        }""",
        units,
    )
    table.locator("th button", has_text="received").click()
    order = list(dict.fromkeys(table.locator("td:nth-child(3)").all_inner_texts()))
    assert order == ["2 min 5 s", "900 B", "1.5 KiB", "1 h", "–"]  # noqa: RUF001


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 390])
def test_the_treemap_stays_in_its_place_however_it_is_clicked(pages, width):
    tab = pages(viewport={"width": width, "height": 900})
    chart, path = tab.locator("#chart-sections"), tab.locator("#sections .crumbs")
    chart.scroll_into_view_if_needed()

    def shapes():
        box = chart.bounding_box()
        tab.wait_for_timeout(100)
        texts = [
            text for text in chart.locator("text:visible").all_text_contents() if ":" not in text
        ]
        for shape in chart.locator("svg path").all():
            drawn = shape.bounding_box()
            assert drawn is None or drawn["x"] >= box["x"] - 12
            assert drawn is None or drawn["x"] + drawn["width"] <= box["x"] + box["width"] + 12
        down = box["y"] - tab.locator("#sections").bounding_box()["y"]
        return (
            sorted(filter(re.compile("/.*/").fullmatch, texts)),
            box["width"],
            box["height"],
            down,
        )

    def click(text):
        tab.locator("#chart-sections text", has_text=text).first.click(force=True)

    before = shapes()
    box = chart.bounding_box()
    tab.mouse.move(
        box["x"] + box["width"] / 2 + 1, box["y"] + 50
    )  # into the space between boxes, too
    for step in range(24):
        tab.mouse.move(box["x"] + box["width"] / 2 - 12 + step, box["y"] + 50)
        assert not [
            one for one in chart.locator("text").all_text_contents() if one.startswith(": ")
        ]
    tab.mouse.move(0, 0)
    assert path.locator("button").all_inner_texts() == ["All sections"]
    click("/product/")
    assert path.locator("button").all_inner_texts()[:2] == ["All sections", "/product/"]
    assert path.locator("[aria-current]").inner_text() == "/product/"
    inside = shapes()
    assert inside[0] == ["/product/"]
    assert inside[1:] == before[1:]
    click("/product/")
    assert shapes() == inside
    path.locator("text=show its pages").click()
    found(tab, "1,000")
    path.locator("text=All sections").click()
    assert shapes() == before
    assert tab.evaluate("document.activeElement.textContent") == "All sections"


@pytest.mark.long
@pytest.mark.parametrize("url", ["/a", f"/{'long-' * 12}/"])
def test_rows_on_a_phone_have_no_empty_room(pages, url):
    entry = f"<loc>{SITE}{url}#x</loc><lastmod>2024-01-03</lastmod>"
    story = SitemapPage(f"{SITE}{url}", news_story=SitemapNewsStory("Tea", None, "Post"))
    for others in ([], [PagesXMLSitemap(f"{SITE}/b.xml", [story, SitemapPage(f"{SITE}{url}")])]):
        tab = pages(website(sitemap("a.xml", entry), *others), viewport=PHONE)
        rows = tab.locator("#pages-table tbody tr").all()
        assert len(rows) == 1 + 2 * len(others)
        assert rows[0].locator(".at-findings a").is_visible()
        for row in rows:
            bottoms = row.locator("td:visible").evaluate_all(
                "all => all.map((one) => one.getBoundingClientRect().bottom)"
            )
            box = row.bounding_box()
            assert 0 <= box["y"] + box["height"] - max(bottoms) < 12


def news(count):
    """Pages with all that has a column."""
    return [
        SitemapPage(
            f"{SITE}/news/{at}",
            last_modified=datetime(2026, 11, at + 1, 10, tzinfo=UTC) if at % 2 else None,
            news_story=SitemapNewsStory("Tea", datetime(2026, 10, at + 1, 8, tzinfo=UTC), "Post"),
            images=[SitemapImage(f"{SITE}/i.png")],
        )
        for at in range(count)
    ]


@pytest.mark.long
@pytest.mark.parametrize("width", [641, 1000, 1400])
def test_the_table_is_as_high_as_its_rows_and_every_column_has_room(pages, width):
    bad = sitemap("b.xml", f"<loc>{SITE}/other/#x</loc>")
    listed = PagesXMLSitemap(f"{SITE}/a.xml", news(8))
    tab = pages(website(listed, bad), viewport={"width": width, "height": 900})
    heads = tab.locator("#pages-table th")
    assert heads.count() == 8
    assert heads.first.bounding_box()["width"] > 200
    assert min(head.bounding_box()["width"] for head in heads.all()) > 80
    assert heads.last.is_visible()
    if width > 1280:
        assert tab.locator("#pages-table").evaluate("one => one.scrollWidth <= one.clientWidth")
    region = tab.locator("#pages-table").bounding_box()
    last = tab.locator("#pages-table tbody tr").last.bounding_box()
    assert 0 <= region["y"] + region["height"] - last["y"] - last["height"] < 24
    tab.fill("#pages-search", "/other")
    tab.wait_for_selector("#pages-table tbody tr:only-child")
    assert tab.locator("#pages-table").bounding_box()["height"] == region["height"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("field", "value", "count"),
    [
        ("from", "2026-11-02", "4 of 10"),
        ("to", "2026-10-08", "4 of 10"),  # stories whose pages have no date
        ("search", "example.org/news/7", "1 of 10"),
        ("search", "http://example.org/news/7", "0 of 10"),
        ("search", "s/7", "1 of 10"),
        ("search", "/\u0447\u0430\u0439/", "2 of 10"),  # however it is written, here and there
        ("search", "%d1%87%D0%B0", "2 of 10"),
        ("section", "/\u0447\u0430\u0439/", "2 of 10"),
    ],
)
def test_pages_are_found_by_what_is_known_of_them(pages, field, value, count):
    others = [
        SitemapPage(f"{SITE}/{name}") for name in ("%D1%87%D0%B0%D0%B9/1", "\u0447\u0430\u0439/%20")
    ]
    tab = pages(website(PagesXMLSitemap(f"{SITE}/a.xml", news(8) + others)))
    field_of = tab.locator(f"#pages-{field}")
    field_of.select_option(value) if field == "section" else field_of.fill(value)
    tab.wait_for_selector(f'#pages-matches:text-is("{count} found")')
