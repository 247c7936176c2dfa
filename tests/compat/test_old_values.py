"""What ultimate-sitemap-parser 1.8.1 has pickled can be loaded; what it prints, we print.

The folder ``values_of_1_8_1`` was written by 1.8.1; see ``old_values.py``.
"""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

from old_values import NODES, VALUES

from together import together
from usp.objects.page import SitemapPage
from usp.objects.sitemap import AbstractPagesSitemap, AbstractSitemap, InvalidSitemap

FOLDER = Path(__file__).with_name("values_of_1_8_1")
PRINTED = json.loads((FOLDER / "printed.json").read_text("utf-8"))


def load(name):
    return pickle.loads((FOLDER / f"{name}.pickle").read_bytes())


@together("name", PRINTED)
def test_values_are_printed_as_they_were_also_from_a_pickle(name):
    for value in (VALUES[name], load(name)):
        assert [repr(value), str(value)] == PRINTED[name]


@together("name, value", (VALUES | NODES).items())
def test_a_pickle_of_1_8_1_is_what_we_would_have_built_and_can_be_pickled_and_copied(name, value):
    loaded = load(name)
    assert type(loaded) is type(value)
    assert loaded == value
    if not isinstance(value, list):
        assert hash(loaded) == hash(value)
    for other in (pickle.loads(pickle.dumps(loaded)), copy.deepcopy(loaded), copy.copy(loaded)):
        assert other == loaded


@together("name", [n for n in VALUES if n.endswith(("page", "image", "story"))])
def test_a_loaded_value_behaves_as_ours(name):
    loaded = load(name)
    assert loaded.to_dict() == VALUES[name].to_dict()
    if isinstance(loaded, SitemapPage):
        assert (loaded.videos, loaded.mobile, loaded.page_map) == (None, False, None)
        assert loaded.fields() == VALUES[name].fields()


@together("name", NODES)
def test_a_loaded_node_behaves_as_ours(name):
    loaded, node = load(name), NODES[name]
    assert isinstance(loaded, AbstractSitemap)
    assert loaded.to_dict() == node.to_dict()
    assert list(loaded.all_pages()) == list(node.all_pages())
    assert list(loaded.all_sitemaps()) == list(node.all_sitemaps())
    assert loaded.page_count() == len(list(node.all_pages()))
    assert loaded.problems == []
    assert [page for _, block in loaded.page_blocks() for page in block.pages()] == list(
        loaded.all_pages()
    )
    assert len(repr(loaded)) < 500
    invalid = [n for n in (loaded, *loaded.all_sitemaps()) if isinstance(n, InvalidSitemap)]
    assert loaded.is_complete is not bool(invalid)
    for sitemap in (loaded, *loaded.all_sitemaps()):
        if isinstance(sitemap, AbstractPagesSitemap):
            assert isinstance(sitemap.pages, list)
