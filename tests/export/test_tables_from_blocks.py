"""The table of a document comes from its blocks, and is the one that its pages would give."""

from __future__ import annotations

from export_trees import HEAD, RICH, exported, pages, plain_entry, tree_of, urlset
from hypothesis import given, settings
from hypothesis import strategies as st

from usp._crawl.stored_pages import UniquePages
from usp._formats.document import DocumentParser
from usp.export.arrow import to_arrow
from usp.objects.page import DeferredPage, SitemapPage
from usp.objects.page_blocks import PageList, PickedPages
from usp.tree import sitemap_from_bytes

DOCUMENTS = st.lists(pages, min_size=1, max_size=6, unique_by=lambda page: page.url)


def without_precision(table):
    """Leave out what the text of a date says and the date itself does not."""
    return table.drop_columns(["lastmod_precision", "sitemap"])


@settings(max_examples=10, deadline=None)
@given(DOCUMENTS)
def test_the_table_from_blocks_is_the_table_from_pages_and_their_rows_too(given_pages):
    tree = sitemap_from_bytes(exported(given_pages, "xml"))
    from_pages = to_arrow(SitemapPage.of(page.url, page.fields()) for page in tree.all_pages())
    assert without_precision(to_arrow(tree)).equals(without_precision(from_pages))
    for _, block in tree.page_blocks():
        assert list(block.rows()) == [page.fields() for page in block.pages()]


def test_a_table_of_every_extension_needs_no_pages(monkeypatch):
    document = exported(tree_of(RICH), "xml")
    from_pages = to_arrow(list(sitemap_from_bytes(document).all_pages()))

    def refuse(*_):
        raise AssertionError("a page was made")

    monkeypatch.setattr(DeferredPage, "__init__", refuse)
    monkeypatch.setattr(SitemapPage, "__init__", refuse)
    monkeypatch.setattr(SitemapPage, "of", refuse)
    table = to_arrow(sitemap_from_bytes(document))
    assert without_precision(table).equals(without_precision(from_pages))


def test_blocks_with_pages_that_are_known_already_keep_their_columns():
    """A URL that comes twice costs its second page, and nothing else of the block."""
    entries = [plain_entry(n, lastmod="2024-05") for n in (1, 2, 1, 3)]
    table = tree_of(urlset(*entries)).to_arrow()
    assert table["url"].to_pylist() == [f"https://x.org/p/{n}" for n in (1, 2, 3)]
    assert table["lastmod_precision"].to_pylist() == ["month"] * 3


def batch_of(*entries: str):
    parser = DocumentParser("https://x.org/s.xml", fast=True)
    document = f"{HEAD}{''.join(f'<url>{entry}</url>' for entry in entries)}</urlset>"
    (batch,) = [*parser.feed(document.encode()), *parser.close()]
    return batch


def test_picked_pages_agree_in_every_form():
    known = batch_of(plain_entry(1))
    batch = batch_of(f"{plain_entry(1)}<mobile:mobile/>", plain_entry(2))
    unique = UniquePages()
    assert unique.block(known) is known
    block = unique.block(batch)
    assert isinstance(block, PickedPages)
    (page,) = block.pages()
    assert list(block.urls) == [page.url] == ["https://x.org/p/2"]
    assert block.rows() == [page.fields()]


def test_attributes_of_a_subclass_are_in_the_table():
    class Urgent(SitemapPage):
        priority = property(lambda _: 1)

    page = Urgent("https://x.org/")
    assert PageList([page]).rows()[0].priority == 1
    assert to_arrow([page])["priority"].to_pylist() == [1.0]
