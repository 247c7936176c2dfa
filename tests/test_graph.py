"""The tree as a diagram: what is drawn, and that hostile addresses draw nothing else."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ET

import pytest

from usp import graph
from usp.demo import demo_site
from usp.exceptions import SitemapException
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
TREE = IndexWebsiteSitemap(
    H,
    [
        IndexRobotsTxtSitemap(
            f"{H}robots.txt",
            [
                IndexXMLSitemap(
                    f"{H}index.xml",
                    [PagesXMLSitemap(f"{H}a.xml", []), InvalidSitemap(f"{H}b.xml", "gone")],
                )
            ],
        ),
        PagesTextSitemap(f"{H}urls.txt?lang=de", []),
    ],
)
HOSTILE = 'https://example.org/"]; evil [label="\\N{x}\x1b[31m\u202e<script>&amp;;%%--.xml'


def test_dot_has_square_boxes_for_indexes_and_rounded_ones_for_pages():
    assert graph.dot(TREE).splitlines()[4:-1] == [
        '  n0 [label="example.org", shape=box];',
        '  n1 [label="robots.txt", shape=box];',
        "  n0 -> n1;",
        '  n2 [label="index.xml", shape=box];',
        "  n1 -> n2;",
        '  n3 [label="a.xml", shape=box, style=rounded];',
        "  n2 -> n3;",
        '  n4 [label="b.xml", shape=box, style=dashed, color="#b00020", fontcolor="#b00020"];',
        "  n2 -> n4;",
        '  n5 [label="urls.txt?lang=de", shape=box, style=rounded];',
        "  n0 -> n5;",
    ]


def test_mermaid_says_the_same():
    assert graph.mermaid(TREE) == (
        "flowchart LR\n"
        '  n0["example.org"]\n'
        '  n1["robots.txt"]\n'
        "  n0 --> n1\n"
        '  n2["index.xml"]\n'
        "  n1 --> n2\n"
        '  n3("a.xml")\n'
        "  n2 --> n3\n"
        '  n4["b.xml"]\n'
        "  n2 --> n4\n"
        '  n5("urls.txt#63;lang#61;de")\n'
        "  n0 --> n5\n"
        "  classDef failed stroke:#b00020,color:#b00020,stroke-dasharray:4\n"
        "  class n4 failed\n"
    )


def test_of_many_siblings_the_first_are_drawn_and_the_rest_is_one_box():
    tree = IndexXMLSitemap(
        f"{H}index.xml", [PagesXMLSitemap(f"{H}{n}.xml", []) for n in range(1_030)]
    )
    drawn = graph.dot(tree, most_siblings=3)
    assert re.findall(r'label="([^"]*)"', drawn) == [
        "example.org/index.xml",
        "… 1,027 more",
        "0.xml",
        "1.xml",
        "2.xml",
    ]


@pytest.mark.parametrize("draw", [graph.dot, graph.mermaid])
def test_an_address_cannot_become_a_part_of_the_language(draw):
    text = draw(IndexXMLSitemap(HOSTILE, [PagesXMLSitemap(HOSTILE, [])]))
    assert "\x1b" not in text
    assert "\u202e" not in text
    if draw is graph.dot:
        labels = re.findall(r'\[label="((?:[^"\\]|\\.)*)", shape', text)
        assert len(labels) == 2
    else:
        assert "<script>" not in text
        assert all(line.count('"') == 2 for line in text.splitlines() if '"' in line)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_draws_a_box_for_every_sitemap():
    with demo_site() as url:
        tree = sitemap_tree_for_homepage(url)
    drawing = ET.fromstring(graph.svg(tree))
    nodes = [g for g in drawing.iter("{http://www.w3.org/2000/svg}g") if g.get("class") == "node"]
    assert len(nodes) == 1 + len(list(tree.all_sitemaps()))
    assert graph.svg(IndexXMLSitemap(HOSTILE, [])).startswith("<?xml")


def test_without_graphviz_a_word_says_what_to_do(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(SitemapException, match="apt-get install graphviz"):
        graph.svg(TREE)
