"""A fetched tree can be pickled, and the copy lives on its own."""

import copy
import gc
import gzip
import pickle
import weakref

import pytest

from patience import run_python
from usp._crawl.stored_pages import StoredPages
from usp.objects.sitemap import PagesXMLSitemap
from usp.tree import sitemap_tree_for_homepage
from website import Answer, index, robots, rss, urlset

LARGE = [f"/large/{n:06}/" + "x" * 700 for n in range(500)]


@pytest.fixture
def tree(serve):
    """A tree with small documents, large ones, packed ones, broken and missing ones."""
    site = serve({})
    site.answers |= {
        "/robots.txt": robots("/i.xml", "/feed", "/gone.xml"),
        "/i.xml": index("/large.xml", "/small.xml", "/packed.xml.gz", "/cut.xml", "/i.xml"),
        "/large.xml": urlset(*LARGE),
        "/small.xml": urlset("/p", "/q"),
        "/packed.xml.gz": gzip.compress(site.fill(urlset("/packed"))),
        "/cut.xml": Answer(urlset(*LARGE[:50]), cut=5000),
        "/feed": rss("/r"),
    }
    tree = sitemap_tree_for_homepage(site.base + "/")
    site.close()
    assert {document.data is None for document in documents(tree)} == {True, False}  # in the spool
    return tree


def documents(tree):
    for node in tree.all_sitemaps():
        if isinstance(node, PagesXMLSitemap):
            assert isinstance(node._pages, StoredPages)
            yield node._pages.document


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickled_tree_is_the_same_tree(tree, protocol):
    again = pickle.loads(pickle.dumps(tree, protocol))
    assert again == tree
    assert again.to_dict() == tree.to_dict()
    assert again.tried == tree.tried != []
    for one, other in zip(tree.all_sitemaps(), again.all_sitemaps(), strict=True):
        assert one.problems == other.problems
        assert one.last_modified == other.last_modified
        assert (one.exchange, one.failure) == (other.exchange, other.failure)
        assert pickle.loads(pickle.dumps(one, protocol)) == one  # alone, too
    assert pickle.loads(pickle.dumps(again, protocol)).to_dict() == tree.to_dict()
    assert copy.deepcopy(tree) == tree


def test_the_copy_does_not_need_the_first_trees_life(tree):
    expected = tree.to_dict()
    data = pickle.dumps(tree)
    alive = weakref.ref(next(documents(tree)).store)
    for document in documents(tree):
        store = document.store
    if store._spool is not None:
        store._spool.close()
    del tree, store, document
    again = pickle.loads(data)
    gc.collect()
    assert alive() is None or alive() is not next(documents(again)).store
    assert again.to_dict() == expected
    assert len({id(document.store) for document in documents(again)}) == 1


def test_another_process_can_read_a_pickled_tree(tree, tmp_path):
    file = tmp_path / "tree.pickle"
    file.write_bytes(pickle.dumps(tree))
    program = (
        "import pickle, sys; tree = pickle.load(open(sys.argv[1], 'rb'));"
        "print(tree.page_count(), sum(1 for _ in tree.all_pages()))"
    )
    assert run_python(program, file).stdout.split() == [str(tree.page_count())] * 2
