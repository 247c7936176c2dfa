"""Pages in the order in which they fit some words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import usp
from memory_web import Client, Web
from usp.matching import Ranking, best_pages
from usp.objects.page import SitemapNewsStory, SitemapPage
from usp.selection import Selection

HOST = "https://example.org"


def tree_of(*paths: str) -> usp.AbstractSitemap:
    return usp.sitemap_from_str("".join(f"{HOST}{path}\n" for path in paths))


def paths(pages, words, **options):
    found = best_pages(pages, words, **options)
    scores = [match.score for match in found]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
    return [match.page.url.removeprefix(HOST) for match in found]


def test_pages_with_more_of_the_words_come_first():
    tree = tree_of("/about", "/pricing/", "/docs/api/", "/docs/api/pricing.html", "/blog/")
    assert paths(tree, "pricing API")[0] == "/docs/api/pricing.html"
    assert set(paths(tree, "pricing api")) == {"/docs/api/pricing.html", "/pricing/", "/docs/api/"}
    assert best_pages(tree, "nothing of it") == []


def test_a_rare_word_counts_more_than_a_frequent_one():
    tree = tree_of(*(f"/help/page-{number}" for number in range(9)), "/invoice")
    assert paths(tree, "help invoice")[0] == "/invoice"


def test_the_name_of_a_page_counts_more_than_its_folder():
    assert paths(tree_of("/tea/list", "/list/tea"), "tea") == ["/list/tea", "/tea/list"]


def test_a_word_finds_longer_ones_but_exact_ones_come_first():
    assert paths(tree_of("/docs/x", "/doc/x", "/ad/x"), "doc") == ["/doc/x", "/docs/x"]
    assert paths(tree_of("/adapter/x", "/ad/x"), "ad") == ["/ad/x"]  # too short to tell
    assert paths(tree_of("/box/x", "/boxes/x", "/bo/x"), "boxes") == ["/boxes/x", "/box/x"]
    assert paths(tree_of("/api/x", "/ap/x", "/ap"), "apis") == ["/api/x"]


def test_accents_case_percent_encoding_and_other_scripts_do_not_matter():
    tree = tree_of("/CAF%C3%89", "/产品价格", "/%D1%86%D0%B5%D0%BD%D1%8B/", "/가격표")
    assert paths(tree, "cafe") == paths(tree, "Café") == ["/CAF%C3%89"]
    assert paths(tree, "价格") == ["/产品价格"]
    assert paths(tree, "ЦЕНЫ") == ["/%D1%86%D0%B5%D0%BD%D1%8B/"]
    assert paths(tree, "가격") == ["/가격표"]
    tree = tree_of("/हिन्दी-चाय", "/च-य", "/ชาเขียว", "/ช-า")
    assert paths(tree, "चाय") == ["/हिन्दी-चाय"]  # whose vowels are marks
    assert paths(tree, "ชา") == paths(tree, "เขียว") == ["/ชาเขียว"]  # written without blanks


FORMS = {
    "price": ["/prices", "/pricing", "/price-list"],
    "cities": ["/city"],
    "analysis": ["/analyses"],
    "Öffnungszeiten": ["/oeffnungszeiten", "/%C3%B6ffnungszeiten", "/offnungszeiten"],
    "ueber uns": ["/%C3%BCber-uns"],
    "Haus": ["/h%C3%A4user"],
    "camión": ["/camiones"],
    "цена": ["/цены"],
    "kjøkken": ["/kjokken", "/kjoekken"],
}


@pytest.mark.parametrize("words", FORMS)
def test_a_word_finds_its_other_forms_and_spellings(words):
    tree = tree_of(*FORMS[words], "/prize", "/citadel", "/hase", "/campo", "/цель", "/ub/ens")
    assert set(paths(tree, words)) == set(FORMS[words])


def test_another_form_comes_before_a_longer_word():
    assert paths(tree_of("/preisliste", "/preise"), "Preis") == ["/preise", "/preisliste"]


def test_words_of_every_question_are_looked_for_only_by_themselves():
    tree = tree_of("/how-we-work", "/returns", "/the-who")
    assert paths(tree, "How do I return the shoes?") == ["/returns"]
    assert paths(tree, "how") == ["/how-we-work"]


def test_the_order_of_characters_counts_where_there_are_no_blanks():
    titles = ["京都の紅葉", "東京の天気", "울산 서점", "서울 날씨"]
    pages = [
        SitemapPage(f"{HOST}/{at}", news_story=SitemapNewsStory(title, None))
        for at, title in enumerate(titles)
    ]
    assert paths(iter(pages), "東京") == ["/1"]
    assert paths(iter(pages), "서울") == ["/3"]


def test_titles_and_keywords_are_searched():
    stories = [("Harvest of tea", []), ("Other news", ["tea"]), ("Other news", [])]
    pages = [
        SitemapPage(f"{HOST}/{at}", news_story=SitemapNewsStory(title, None, keywords=keywords))
        for at, (title, keywords) in enumerate(stories)
    ]
    assert paths(iter(pages), "tea") == ["/0", "/1"]


def test_the_rest_of_a_story_is_searched():
    stories = [
        {"authors": ["Ada Lovelace"]},
        {"genres": ["Satire"]},
        {"stock_tickers": ["NSE:TEA"]},
    ]
    pages = [
        SitemapPage(f"{HOST}/{at}", news_story=SitemapNewsStory("News", None, **story))
        for at, story in enumerate(stories)
    ]
    assert [paths(iter(pages), word) for word in ("lovelace", "satire", "tea")] == [
        ["/0"],
        ["/1"],
        ["/2"],
    ]


def test_the_section_and_the_text_of_a_link_are_searched_in_html_sitemaps():
    html = (
        "<!doctype html><title>Sitemap</title><h2>Pricing</h2><ul><li><a href=/1>Plans</a>"
        "<li>For developers<ul><li><a href=/2>API</a></ul></ul><h2>Help</h2><a href=/3>Plans</a>"
    )
    client = Client(Web({"/sitemap/": html}, base=HOST))
    tree = usp.sitemap_tree_for_sitemap(f"{HOST}/sitemap/", client, use_html_sitemaps=True)
    assert paths(tree, "pricing api") == ["/2", "/1"]
    assert set(paths(tree, "plans")) == {"/1", "/3"}
    assert paths(tree, "developers") == ["/2"]


def test_equal_pages_stay_in_order_and_the_limit_is_that_of_the_result():
    tree = tree_of("/a/tea", "/b/tea", "/c/tea", "/c/milk")
    assert paths(tree, "tea") == ["/a/tea", "/b/tea", "/c/tea"]
    assert paths(tree, "tea", limit=2) == ["/a/tea", "/b/tea"]
    assert paths(tree, "tea", limit=0) == []
    chosen = Selection(include=["/c/*"], limit=1)
    assert paths(tree, "milk tea", selection=chosen) == ["/c/tea", "/c/milk"]


def test_what_is_selected_is_reported_once():
    undated = []
    chosen = Selection(since="2020", on_undated=undated.append)
    assert paths(tree_of("/tea", "/milk"), "tea", selection=chosen) == ["/tea"]
    assert sum(undated) == 2


@pytest.mark.parametrize("words", ["", " ", "!?", "_"])
def test_nothing_to_look_for_is_an_error(words):
    with pytest.raises(ValueError, match="no word to look for"):
        best_pages(tree_of("/tea"), words)


@given(st.lists(st.text(max_size=30), max_size=20), st.text(max_size=30))
def test_whatever_is_searched_the_result_is_some_of_the_pages(texts, words):
    pages = [SitemapPage(f"{HOST}/{text}") for text in texts]
    try:
        Ranking(words)
    except ValueError:
        return
    found = best_pages(pages, words)
    assert all(match.page in pages for match in found)
    assert [match.score for match in best_pages(pages, words, limit=3)] == [
        match.score for match in found[:3]
    ]
