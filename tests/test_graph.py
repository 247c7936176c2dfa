"""The tree as a diagram: what is drawn, and that hostile addresses draw nothing else."""

import re
import shutil
import xml.etree.ElementTree as ET
from unittest.mock import MagicMock

import pytest

from cases import cases
from usp import graph
from usp._demo import demo_site
from usp.objects.page import SitemapPage
from usp.objects.sitemap import (
    IndexRobotsTxtSitemap,
    IndexWebsiteSitemap,
    IndexXMLSitemap,
    InvalidSitemap,
    PagesTextSitemap,
    PagesXMLSitemap,
)
from usp.tree import sitemap_tree_for_homepage

H = "https://example.org/"
PAGES = [SitemapPage(f"{H}{n}") for n in range(2)]
INDEX = IndexXMLSitemap(
    f"{H}index.xml", [PagesXMLSitemap(f"{H}a.xml", PAGES), InvalidSitemap(f"{H}b.xml", "gone")]
)
ROBOTS = IndexRobotsTxtSitemap(f"{H}robots.txt", [INDEX])
TREE = IndexWebsiteSitemap(H, [ROBOTS, PagesTextSitemap(f"{H}urls.txt?lang=de", [])])
HOSTILE = 'https://example.org/"]; evil [label="\\N{x}\x1b[31m\u202e<script>&amp;;%%--.xml'


def test_dot_and_mermaid_have_square_boxes_for_indexes_and_rounded_ones_for_pages():
    assert graph.dot(TREE).splitlines()[5:-1] == [
        '  n0 [label="example.org\\n2 pages", shape=box];',
        '  n1 [label="robots.txt\\n2 pages", shape=box];',
        "  n0 -> n1;",
        '  n2 [label="index.xml\\n2 pages", shape=box];',
        "  n1 -> n2;",
        '  n3 [label="a.xml\\n2 pages", shape=box, style=rounded];',
        "  n2 -> n3;",
        '  n4 [label="b.xml\\nfailed", shape=box, style=dashed, color="#b00020", fontcolor="#b00020"];',
        "  n2 -> n4;",
        '  n5 [label="urls.txt?lang=de\\n0 pages", shape=box, style=rounded];',
        "  n0 -> n5;",
    ]
    assert graph.mermaid(TREE) == (
        "flowchart LR\n"
        '  n0["example.org<br>2 pages"]\n'
        '  n1["robots.txt<br>2 pages"]\n'
        "  n0 --> n1\n"
        '  n2["index.xml<br>2 pages"]\n'
        "  n1 --> n2\n"
        '  n3("a.xml<br>2 pages")\n'
        "  n2 --> n3\n"
        '  n4["b.xml<br>failed"]\n'
        "  n2 --> n4\n"
        '  n5("urls.txt#63;lang#61;de<br>0 pages")\n'
        "  n0 --> n5\n"
        "  classDef failed stroke:#b00020,color:#b00020,stroke-dasharray:4\n"
        "  class n4 failed\n"
    )


def many(count: int) -> IndexXMLSitemap:
    """An index of so many sitemaps, the last of which failed."""
    below = [PagesXMLSitemap(f"{H}{n}.xml", PAGES[: n % 2 + 1]) for n in range(count - 1)]
    return IndexXMLSitemap(f"{H}index.xml", [*below, InvalidSitemap(f"{H}gone.xml", "gone")])


def test_of_many_siblings_the_first_are_drawn_and_after_them_the_rest_as_one_box():
    tree = many(1_030)
    drawn = graph.dot(tree, most_siblings=3)
    assert re.findall(r'label="([^"]*)"', drawn) == [
        f"example.org/index.xml\\n{tree.page_count():,} pages",
        "0.xml\\n1 page",
        "1.xml\\n2 pages",
        "2.xml\\n1 page",
        f"… 1,027 more\\n{tree.page_count() - 4:,} pages, 1 failed",
    ]
    lines = graph.mermaid(tree, most_siblings=3).splitlines()
    boxes = [line for line in lines if '"' in line]
    assert "… 1,027 more" in boxes[-1]


SVG = "{http://www.w3.org/2000/svg}"
GRAPHVIZ = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")


def boxes(tree) -> list[ET.Element]:
    """Return what is drawn for the sitemaps of a tree."""
    groups = ET.fromstring(graph.svg(tree)).iter(f"{SVG}g")
    return [group for group in groups if group.get("class") == "node"]


@GRAPHVIZ
def test_in_the_picture_the_rest_stands_below_its_siblings_and_above_what_comes_next():
    after = IndexXMLSitemap(f"{H}next.xml", [PagesTextSitemap(f"{H}after.txt", PAGES)])
    texts = [node.find(f"{SVG}text") for node in boxes(IndexWebsiteSitemap(H, [many(36), after]))]
    places = {text.text: float(text.get("y")) for text in texts}
    order = [*(f"{n}.xml" for n in range(20)), "… 16 more", "after.txt"]
    assert [places[name] for name in order] == sorted(places[name] for name in order)


def test_every_document_is_read_once_for_its_count():
    source = MagicMock(**{"count.return_value": 7})
    source.__iter__.side_effect = source.problems.side_effect = AssertionError
    deep = PagesXMLSitemap(f"{H}a.xml", source)
    for level in range(5):
        deep = IndexXMLSitemap(f"{H}{level}.xml", [deep])
    assert graph.dot(deep).count("7 pages") == 6
    assert source.count.call_count == 1


def test_an_address_cannot_become_a_part_of_the_language():
    for draw in cases([graph.dot, graph.mermaid]):
        text = draw(IndexXMLSitemap(HOSTILE, [PagesXMLSitemap(HOSTILE, [])]))
        assert "\x1b" not in text
        assert "\u202e" not in text
        if draw is graph.dot:
            labels = re.findall(r'\[label="((?:[^"\\]|\\.)*)", shape', text)
            assert len(labels) == 2
        else:
            assert "<script>" not in text
            assert all(line.count('"') == 2 for line in text.splitlines() if '"' in line)


@GRAPHVIZ
def test_graphviz_draws_a_box_for_every_sitemap():
    with demo_site() as url:
        tree = sitemap_tree_for_homepage(url)
    assert len(boxes(tree)) == 1 + len(list(tree.all_sitemaps()))
    assert graph.svg(IndexXMLSitemap(HOSTILE, [])).startswith("<?xml")
