"""The page as a text: complete in itself, of bounded size, and deaf to what websites write."""

import json
import re
import unicodedata

import pytest
from report_trees import (
    HOSTILE,
    SITE,
    charts,
    dated,
    elements,
    hostile_website,
    script,
    sitemap,
    unpacked,
    website,
)

from usp.objects.exchange import Exchange
from usp.objects.page import SitemapNewsStory, SitemapPage
from usp.objects.sitemap import IndexXMLSitemap, InvalidSitemap, PagesXMLSitemap
from usp.report import html, write_report
from usp.report.html_page import embedded_tree
from usp.report.markup import Addresses, shown_text, shown_url
from usp.report.summary import summarise

LIMIT = 2_000_000
FAR_APART = {"0002": 1, "1970": 1, "2024": 2, "9999": 1}


def test_the_page_has_and_allows_no_more_scripts_styles_and_handlers_than_its_own():
    for tree in (website(), hostile_website()):
        found = elements(html(tree))
        tags = [tag for tag, _ in found]
        assert tags.count("script") == 10
        assert tags.count("style") == 1
        assert not {"img", "iframe", "object", "embed", "form", "base"} & set(tags)
        for tag, attributes in found:
            assert not [name for name in attributes if name.startswith("on") or name == "style"]
            assert attributes.get("src") is None
            assert attributes.get("href", "#").startswith(("#", "data:,")), tag
        links = {attributes["href"][1:] for tag, attributes in found if tag == "a"}
        assert "tree" in links <= {attributes.get("id") for _, attributes in found}
        policy = next(
            attributes["content"] for _, attributes in found if "http-equiv" in attributes
        )
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        assert not [word for word in ("unsafe", "http", "*") if word in policy]


def test_nothing_without_a_shape_reaches_the_page():
    text = html(hostile_website())
    found = {char for char in text if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn"}}
    assert found <= {"\n"}
    tree = unpacked(script(text, "tree-data"))
    assert all(url.isprintable() for url in tree["url"] + tree["reasons"])
    assert max(map(len, tree["url"])) <= 300


def test_data_ends_no_script_element_and_is_json():
    pages = [SitemapPage(url, news_story=SitemapNewsStory(url, None, url)) for url in HOSTILE]
    text = html(PagesXMLSitemap(HOSTILE[0], pages))
    data = script(text, "charts-data")
    assert not set("<>&") & set(data)
    assert data.isascii()
    assert json.loads(data)["publications"]["labels"]


@pytest.mark.long
def test_a_million_pages_fit_into_twenty_megabytes():
    """As different as pages can be: no two in one section, on one host, or of one date."""
    pages = [
        SitemapPage(f"https://h{at % 70_000}.example/{at}/{at}x/{'y' * 30}") for at in range(50_000)
    ]
    nodes = [PagesXMLSitemap(f"{SITE}/{at}.xml", pages) for at in range(20)]
    tree = IndexXMLSitemap(f"{SITE}/i.xml", nodes)
    text = html(tree)
    assert tree.page_count() == 1_000_000
    assert ">1,000,000</a></dd>" in text
    assert "500,000 pages, every 2nd of 1,000,000, are in this table" in text
    assert len(text.encode()) < 10 * LIMIT


@pytest.mark.long
def test_long_addresses_and_reasons_do_not_make_the_page_larger_than_two_megabytes():
    nodes = [InvalidSitemap(f"{SITE}/{at:x>4000}", f"{at} {'no ' * 500}") for at in range(20_000)]
    assert len(html(IndexXMLSitemap(f"{SITE}/i.xml", nodes)).encode()) < LIMIT


def test_a_tree_that_has_no_room_keeps_what_is_damaged_and_counts_the_rest():
    nodes = [PagesXMLSitemap(f"{SITE}/{hash(('a', at)):x}.xml", []) for at in range(3000)]
    nodes.append(InvalidSitemap(f"{SITE}/gone.xml", "gone"))
    rows = summarise(website(IndexXMLSitemap(f"{SITE}/i.xml", nodes))).sitemaps
    packed = embedded_tree(rows, Addresses(SITE), most=8_000)
    tree = unpacked(packed)
    assert len(packed) <= 8_000
    assert tree["url"][-1] == f"{SITE}/gone.xml"
    assert len(tree["url"]) + sum(tree["leftOut"]) == len(rows)
    assert all(parent < at for at, parent in enumerate(tree["parent"]))
    assert len(unpacked(embedded_tree(rows, Addresses(SITE), most=1))["url"]) == 1  # the root


def test_an_empty_website_has_a_page_too():
    text = html(website())
    assert "Fetch times are not available." in text
    assert "No pages, news stories, images, videos or links to other languages were found." in text
    assert "No sitemaps were found" in text
    assert "verdict amber" in text
    assert not {"news stories", "images", "videos", "alternates"} & set(
        re.findall("<dt>(.*?)</dt>", text)
    )


def test_long_tables_are_cut_and_the_rest_is_counted():
    nodes = [InvalidSitemap(f"{SITE}/{at}.xml", "gone") for at in range(300)]
    assert "and 200 more" in html(IndexXMLSitemap(f"{SITE}/i.xml", nodes))


@pytest.mark.parametrize(
    ("dates", "columns"),
    [
        ("1970-01-01 0002-01-01 2024-05-01 2024-06-01 9999-12-31", FAR_APART),
        ("2023-11-05 2024-02-01", {"2023-11": 1, "2023-12": 0, "2024-01": 0, "2024-02": 1}),
    ],
)
def test_every_month_has_a_place_in_the_chart_and_dates_far_apart_are_counted_by_year(
    dates, columns
):
    chart = charts(html(dated(*dates.split())))["dates"]
    labels, values = list(columns), list(columns.values())
    assert chart == {"type": "columns", "labels": labels, "values": values}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ("", "No page has a last-modified date."),
        ("<lastmod>soon</lastmod>", "No page has a last-modified date."),
        ("<lastmod>2024-05-0{n}</lastmod>", "All 3 dated pages are from 2024-05."),
        ("", "No page has a priority."),
        ("<priority>0.5</priority>", "Every page has a priority of 0.5, the default."),
        ("<priority>0.8</priority>", "Every page has a priority of 0.8."),
        ("<priority>0.8{n}</priority>", "Every page has a priority of 0.81 to 0.83."),
        ("<priority>1.0</priority>", "Every page has a priority of 1.0."),
        ("", "No page has a change frequency."),
        ("<changefreq>daily</changefreq>", "Every page has the change frequency daily."),
        ("", "No folder of the path is shared by pages."),
    ],
)
def test_a_chart_that_would_be_empty_or_one_bar_is_a_sentence(fields, sentence):
    entries = [f"<loc>{SITE}/{n}</loc>{fields.format(n=n)}" for n in range(1, 4)]
    text = html(website(sitemap("a.xml", *entries)))
    assert f"<li>{sentence}</li>" in text
    assert charts(text) == {}
    assert 'class="chart"' not in text


def test_two_pages_are_both():
    text = html(dated("2024-05-01", "2024-05-02"))
    assert "<li>Both dated pages are from 2024-05.</li>" in text


def test_a_report_replaces_the_one_before_unless_it_cannot_be_written(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    write_report(website(), path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    monkeypatch.setattr("usp.report.html_page.html", lambda *_, **__: "\ud800")
    with pytest.raises(UnicodeEncodeError):
        write_report(website(), path)
    assert path.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [path]


def test_urls_and_texts_are_shown_with_everything_invisible_encoded_on_one_line_and_cut():
    paths = {"a b": "a b", "\u202e": "%E2%80%AE", "\n\x00": "%0A%00", "\ud800": "%ED%A0%80"}
    for path, shown in (paths | {"ü": "ü"}).items():
        assert shown_url(f"{SITE}/{path}") == f"{SITE}/{shown}"
    assert shown_text("a\n\tb \u202e\x1b[0m") == "a b \\u{202e}\\u{1b}[0m"
    assert len(shown_text("x" * 1000)) == 200
    assert len(shown_url("x" * 1000)) == 300


def test_sections_show_the_folders_in_them_and_the_sum_of_the_rest_and_several_hosts():
    pages = [SitemapPage(f"{SITE}/shop/{at}/{page}") for at in range(20) for page in "xy"]
    (shop,) = charts(html(PagesXMLSitemap(f"{SITE}/s.xml", pages)))["sections"]["data"]
    assert (shop["name"], shop["value"], len(shop["children"])) == ("/shop/", 40, 13)
    assert shop["children"][-1] == {"name": "other", "value": 16}
    pages += [SitemapPage("http://other.example/")]
    assert "Pages by host" in html(PagesXMLSitemap(f"{SITE}/s.xml", pages))


def test_exchanges_without_times_give_bars_that_begin_together_and_a_single_one_a_table():
    urls = [f"{SITE}/{name}.xml" for name in "ab"]
    exchanges = [Exchange(url, url, received=7, seconds=0.5) for url in urls]
    nodes = [PagesXMLSitemap(one.url, [], exchange=one) for one in exchanges]
    text = html(website(*nodes))
    chart = charts(text)["fetches"]
    assert [chart[name] for name in ("begin", "seconds", "texts")] == [
        *([0] * 2, [0.5] * 2, ["500 ms"] * 2)
    ]
    assert "Only durations are known, not start times." in text
    exchange = Exchange(SITE, SITE, received=2048, seconds=0.5)
    text = html(PagesXMLSitemap(SITE, [], size=2048, exchange=exchange))
    assert "1 document was fetched." in text
    assert "2.0 KiB" in text
    assert charts(text) == {}
