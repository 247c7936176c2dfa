"""What ultimate-sitemap-parser 1.8.1 has pickled can be loaded; what it prints, we print.

The folder ``values_of_1_8_1`` was written by 1.8.1; see ``old_values.py``.
"""

import copy
import json
import pickle
from pathlib import Path

from old_values import NODES, VALUES

from together import together
from usp.objects.sitemap import AbstractSitemap

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
    if isinstance(value, AbstractSitemap):
        assert (loaded.problems, loaded.failures()) == ([], value.failures())
        assert loaded.page_count() == value.page_count()
    for other in (pickle.loads(pickle.dumps(loaded)), copy.deepcopy(loaded), copy.copy(loaded)):
        assert other == loaded
