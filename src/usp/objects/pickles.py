"""Reads the state of objects that ultimate-sitemap-parser 1.8.1 has pickled."""

from __future__ import annotations

from typing import Any

_PAGES = "_pages_value"
_SLOTS = 2  # a pair: the dictionary of the object, which is None, and its slots


def old_fields(state: object) -> dict[str, Any] | None:
    """Return the fields of an object pickled by 1.8.1 by their plain names; None if it was not.

    Such a state has private names, ``_SitemapPage__url``, and one of its own for the pages of a node.
    """
    if not (isinstance(state, tuple) and len(state) == _SLOTS and isinstance(state[1], dict)):
        return None
    fields = {name.rpartition("__")[2]: value for name, value in state[1].items()}
    if _PAGES in fields:
        fields["pages"] = fields.pop(_PAGES)
    return fields
