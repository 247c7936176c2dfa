"""How deep a tree is, its website or folder decides: nothing recurses in it."""

import copy
import pickle
import sys

from memory_web import Client, H, Web
from usp._inputs import file_input, tree_of
from usp.cli.commands.cmd_ls import tabtree_lines
from usp.cli.treeview import TreeView
from usp.graph import dot, mermaid
from usp.limits import Limits
from usp.objects.page import SitemapPage
from usp.objects.sitemap import (
    IndexWebsiteSitemap,
    IndexXMLSitemap,
    InvalidSitemap,
    PagesXMLSitemap,
)
from usp.report import html
from usp.selection import Selection
from usp.stream import pages
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from website import index, robots, urlset

DEPTH = sys.getrecursionlimit() + 100


def deep_tree(depth: int = DEPTH, reason: str = "gone"):
    """Give a chain of indexes, each with a page sitemap and what failed beside the next one."""
    below = PagesXMLSitemap(f"{H}/end.xml", [SitemapPage(f"{H}/end")])
    for n in reversed(range(depth)):
        page = PagesXMLSitemap(f"{H}/{n}p.xml", [SitemapPage(f"{H}/{n}")])
        below = IndexXMLSitemap(
            f"{H}/{n}.xml", [page, below, InvalidSitemap(f"{H}/{n}x.xml", reason)]
        )
    return IndexWebsiteSitemap(f"{H}/", [below])


def chain_of_indexes(depth: int) -> dict[str, str]:
    documents = {f"/{n}.xml": index(f"/{n + 1}.xml") for n in range(depth)}
    return {**documents, f"/{depth}.xml": urlset("/page")}


def test_a_website_may_chain_its_indexes_as_long_as_the_caller_allows():
    web = Web({"/robots.txt": robots("/0.xml"), **chain_of_indexes(DEPTH)})
    options = {"use_known_paths": False, "limits": Limits(depth=None)}
    tree = sitemap_tree_for_homepage(H + "/", Client(web), **options)
    assert tree.is_complete
    assert [page.url for page in tree.all_pages()] == [H + "/page"]
    assert tree.sitemap_count() == DEPTH + 2
    assert [page.url for page in pages(H + "/", Client(web), **options)] == [H + "/page"]


def test_callbacks_are_told_all_parents_of_a_deep_sitemap():
    web = Web(chain_of_indexes(300))
    asked = []
    sitemap_tree_for_sitemap(
        H + "/0.xml", Client(web), limits=Limits(depth=None),
        recurse_callback=lambda url, level, parents: asked.append((level, len(parents))) or True,
    )  # fmt: skip
    assert asked == [(level, level + 1) for level in range(300)]


def test_a_sitemap_that_comes_back_to_a_far_parent_recurs():
    web = Web({**chain_of_indexes(300), "/300.xml": index("/0.xml", "/7.xml#x")})
    tree = sitemap_tree_for_sitemap(H + "/0.xml", Client(web), limits=Limits(depth=None))
    *_, first, second = tree.all_sitemaps()
    assert all("Recursion detected" in node.reason for node in (first, second))


def test_a_deep_tree_is_walked_counted_compared_and_written():
    tree = deep_tree()
    assert [page.url for page in tree.all_pages()] == [
        *(f"{H}/{n}" for n in range(DEPTH)), f"{H}/end",
    ]  # fmt: skip
    assert sum(1 for _ in tree.all_sitemaps()) == 3 * DEPTH + 1
    assert sum(len(block.urls) for _, block in tree.page_blocks()) == tree.page_count() == DEPTH + 1
    assert len(tree.failures()) == DEPTH
    assert tree == deep_tree()
    assert tree != deep_tree(reason="other")
    assert tree != deep_tree(DEPTH - 1)
    assert hash(tree) == hash(deep_tree())
    assert len(repr(tree)) < 500
    written = tree.to_dict()
    for n in range(DEPTH):
        (written,) = [d for d in written["sub_sitemaps"] if "sub_sitemaps" in d]
        assert written["url"] == f"{H}/{n}.xml"
    assert [page.url for page in Selection(include=["*/end"]).of(tree)] == [f"{H}/end"]


def test_a_deep_tree_is_pickled_and_copied():
    tree = deep_tree()
    assert pickle.loads(pickle.dumps(tree)) == copy.deepcopy(tree) == copy.copy(tree) == tree


def test_a_node_that_stands_in_a_tree_twice_is_pickled_once():
    shared = IndexXMLSitemap(f"{H}/s.xml", [PagesXMLSitemap(f"{H}/p.xml", [])])
    tree = IndexWebsiteSitemap(f"{H}/", [IndexXMLSitemap(f"{H}/i.xml", [shared]), shared])
    copied = pickle.loads(pickle.dumps(tree))
    assert copied == tree
    assert copied.sub_sitemaps[0].sub_sitemaps[0] is copied.sub_sitemaps[1]


class Tagged(IndexXMLSitemap):
    """An index of a program, with something of its own."""

    tag = "none"


def test_indexes_of_programs_are_pickled_with_what_they_have():
    node = Tagged(f"{H}/i.xml", [Tagged(f"{H}/j.xml", [])])
    node.tag = "mine"
    copied = pickle.loads(pickle.dumps(node))
    assert isinstance(copied, Tagged)
    assert copied.tag == "mine"
    assert copied == node


def levels_of(lines) -> int:
    return max((len(line) - len(line.lstrip(" │├└─"))) // 4 for line in lines)


def test_a_deep_tree_is_drawn():
    tree = deep_tree()
    assert "end.xml" in dot(tree)
    assert "end.xml" in mermaid(tree)
    lines = list(tabtree_lines(tree, lambda url: url, Selection()))
    assert lines[-1].lstrip("\t") in {f"{H}/0x.xml", f"{H}/end"}
    assert "\t" * (DEPTH + 1) + f"{H}/end.xml" in lines
    view = TreeView(tree, checked=True)
    assert levels_of(view.drawn()) >= DEPTH
    assert levels_of(view.drawn(everything=False)) <= 102
    assert "<html" in html(tree)
    assert tree._repr_html_()


def test_files_in_a_folder_may_chain(tmp_path, run):
    for path, document in chain_of_indexes(DEPTH).items():
        (tmp_path / path[1:]).write_text(document.replace("{base}", H))
    tree = tree_of(file_input(tmp_path), None, None)
    assert [page.url for page in tree.all_pages()] == [H + "/page"]
    assert len(tree.sub_sitemaps) == 1
    assert tree.sitemap_count() == DEPTH + 1
    status, listed, _ = run("ls", tmp_path, "-f", "pages")
    assert (status, listed.split()) == (0, [H + "/page"])
