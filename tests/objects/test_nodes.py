"""The nodes of the tree: content, order, equality, dictionaries, pickles."""

import pickle
from datetime import UTC, datetime

from together import together
from usp.objects.page import SitemapPage
from usp.objects.problem import Problem
from usp.objects.sitemap import (
    AbstractIndexSitemap,
    IndexRobotsTxtSitemap,
    IndexWebsiteSitemap,
    IndexXMLSitemap,
    InvalidSitemap,
    PagesAtomSitemap,
    PageSource,
    PagesRSSSitemap,
    PagesTextSitemap,
    PagesXMLSitemap,
)

E = "https://www.example.org/"
INDEXES = [IndexWebsiteSitemap, IndexXMLSitemap, IndexRobotsTxtSitemap]
PAGES = [PagesXMLSitemap, PagesTextSitemap, PagesRSSSitemap, PagesAtomSitemap]


def page(n):
    return SitemapPage(f"{E}p{n}")


def tree():
    index = IndexXMLSitemap(E + "i.xml", [PagesXMLSitemap(E + "a.xml", [page(1), page(2)])])
    robots = IndexRobotsTxtSitemap(E + "robots.txt", [index, InvalidSitemap(E + "b.xml", "gone")])
    return IndexWebsiteSitemap(E, [robots, PagesTextSitemap(E + "c.txt", [page(3)])])


class Counted:
    """A page source: pages that are made when they are asked for."""

    def __init__(self, count):
        self._count = count

    def __iter__(self):
        return (page(n) for n in range(self._count))

    def count(self):
        return self._count

    def problems(self):
        return [Problem("something was wrong", 3)]


NODES = [
    InvalidSitemap(E, "gone"),
    *(kind(E, [PagesXMLSitemap(E + "a", [page(1)])]) for kind in INDEXES),
    *(kind(E, [page(1), page(2)]) for kind in PAGES),
    PagesXMLSitemap(E, Counted(2)),
]
EACH_NODE = together("node", NODES)


def test_nodes_come_depth_first_in_order_of_declaration_without_the_node_itself():
    names = [node.url.removeprefix(E) for node in tree().all_sitemaps()]
    assert names == ["robots.txt", "i.xml", "a.xml", "b.xml", "c.txt"]
    assert [p.url for p in tree().all_pages()] == [f"{E}p1", f"{E}p2", f"{E}p3"]
    assert tree().page_count() == 3


@EACH_NODE
def test_every_node_has_lists_and_iterators(node):
    assert isinstance(node.sub_sitemaps, list)
    assert isinstance(node.pages, list)
    assert isinstance(node.problems, list)
    assert list(node.all_pages()) == [p for n in [node, *node.all_sitemaps()] for p in n.pages]
    assert node.page_count() == len(list(node.all_pages()))
    assert node.last_modified is None
    if isinstance(node, AbstractIndexSitemap):
        assert node.pages == []
        assert list(node.all_pages()) == [page(1)]


@EACH_NODE
def test_a_node_is_equal_to_one_built_alike_and_to_no_other(node):
    copy = pickle.loads(pickle.dumps(node))
    assert copy == node
    assert pickle.loads(pickle.dumps(node, protocol=0)) == node
    assert hash(copy) == hash(node) == hash(copy)
    assert (node == None) is False  # noqa: E711 - programs write it so
    assert node != E
    others = [other for other in NODES if type(other) is not type(node)]
    assert node not in others


def test_equality_is_over_url_and_content():
    assert tree() == tree()
    assert PagesXMLSitemap(E, [page(1)]) != PagesXMLSitemap(E + "x", [page(1)])
    assert PagesXMLSitemap(E, [page(1)]) != PagesXMLSitemap(E, [page(2)])
    assert PagesXMLSitemap(E, [page(1)]) != PagesXMLSitemap(E, [page(1), page(2)])
    assert PagesXMLSitemap(E, [page(1), page(2)]) != PagesXMLSitemap(E, [page(2), page(1)])
    assert PagesXMLSitemap(E, []) != PagesTextSitemap(E, [])
    assert IndexXMLSitemap(E, []) != IndexXMLSitemap(E, [tree()])
    assert InvalidSitemap(E, "a") != InvalidSitemap(E, "b")


@together("kind, content", [(PagesXMLSitemap, []), (IndexXMLSitemap, []), (InvalidSitemap, "x")])
def test_a_node_keeps_newer_attributes_and_equality_leaves_them_out(kind, content):
    date = datetime(2024, 1, 1, tzinfo=UTC)
    node = kind(E, content, last_modified=date, problems=[Problem("bad")])
    assert node == kind(E, content)
    copy = pickle.loads(pickle.dumps(node))
    assert (copy.last_modified, copy.problems) == (date, [Problem("bad")])


def test_a_hash_is_over_the_url():
    nodes = (PagesXMLSitemap(E, [page(1)]), PagesXMLSitemap(E, []), IndexXMLSitemap(E, []))
    assert len(set(map(hash, nodes))) == 1
    assert len({tree(), tree()}) == 1


def test_a_tree_as_dictionaries():
    assert tree().to_dict(with_pages=False) == {
        "url": E,
        "sub_sitemaps": [
            {
                "url": E + "robots.txt",
                "sub_sitemaps": [
                    {"url": E + "i.xml", "sub_sitemaps": [{"url": E + "a.xml"}]},
                    {"url": E + "b.xml", "reason": "gone"},
                ],
            },
            {"url": E + "c.txt"},
        ],
    }
    assert tree().to_dict()["sub_sitemaps"][1] == {"url": E + "c.txt", "pages": [page(3).to_dict()]}


def test_pages_from_a_source_are_read_each_time_anew():
    node = PagesXMLSitemap(E, Counted(3))
    assert isinstance(Counted(3), PageSource)
    assert node.pages == node.pages == [page(0), page(1), page(2)]
    assert node == PagesXMLSitemap(E, [page(0), page(1), page(2)])
    assert PagesXMLSitemap(E, [page(0)]) != node
    assert node.page_count() == 3
    assert node.problems == [Problem("something was wrong", 3)]
    assert len(node.to_dict()["pages"]) == 3


def test_pages_may_come_from_an_iterator_that_ends():
    node = PagesXMLSitemap(E, (page(n) for n in range(2)))
    assert node.pages == node.pages == [page(0), page(1)]


def test_changing_what_a_node_gave_or_was_given_does_not_change_the_node():
    pages, below = [page(1)], [PagesXMLSitemap(E, [])]
    node, index = PagesXMLSitemap(E, pages), IndexXMLSitemap(E, below)
    pages.append(page(2))
    below.clear()
    node.pages.clear()
    index.sub_sitemaps.clear()
    assert len(node.pages) == 1
    assert len(index.sub_sitemaps) == 1


LONG = "x" * 1_000_000
LONG_NODES = [
    InvalidSitemap(E + LONG, LONG),
    InvalidSitemap(E, LONG),
    *(kind(E + LONG, []) for kind in INDEXES + PAGES),
    *(kind(E, [PagesXMLSitemap(E, [])] * 5000) for kind in INDEXES),
    *(kind(E, [page(n) for n in range(5000)]) for kind in PAGES),
    PagesXMLSitemap(E, Counted(10**12)),
]


@together("node", LONG_NODES)
def test_a_repr_names_its_class_and_is_bounded(node):
    assert repr(node).startswith(f"{type(node).__name__}(url='https://www.example.org/")
    assert len(repr(node)) < 2000


def test_a_repr_tells_how_much_is_in_the_node():
    assert "2 sitemaps" in repr(tree())
    assert "pages=<1 page>" in repr(PagesXMLSitemap(E, [page(1)]))
    assert "sub_sitemaps=<1 sitemap>" in repr(IndexXMLSitemap(E, [PagesXMLSitemap(E, [])]))
    assert "gone" in repr(InvalidSitemap(E, "gone"))
