"""A value that 1.8.1 has may get fields; as long as they are not set, programs see what they know."""

import copy
import pickle
from dataclasses import dataclass

from together import together
from usp.objects import extension_values
from usp.objects.extension_values import OldPlainValue


@dataclass(frozen=True, slots=True, repr=False)
class Picture(OldPlainValue):
    loc: str
    title: str | None
    credit: str | None = None

    __setstate__ = extension_values._set_state


def test_a_newer_field_that_is_not_set_is_not_seen():
    picture = Picture("https://example.org/a.jpg", None)
    assert repr(picture) == "Picture(loc=https://example.org/a.jpg, title=None)"
    assert picture.to_dict() == {"loc": "https://example.org/a.jpg", "title": None}


def test_a_newer_field_that_is_set_is_a_field_like_others():
    picture = Picture("https://example.org/a.jpg", None, "Ann")
    assert repr(picture) == "Picture(loc=https://example.org/a.jpg, title=None, credit=Ann)"
    assert picture.to_dict()["credit"] == "Ann"
    assert pickle.loads(pickle.dumps(picture)) == copy.deepcopy(picture) == picture


@together(
    "state",
    [
        ["https://example.org/a.jpg", "A"],
        (None, {"_Picture__loc": "https://example.org/a.jpg", "_Picture__title": "A"}),
    ],
)
def test_a_pickle_without_it_has_its_default(state):
    picture = Picture.__new__(Picture)
    picture.__setstate__(state)
    assert picture == Picture("https://example.org/a.jpg", "A", None)
