"""Trees in pickles: flat, so that they may be deep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from usp.objects.sitemap import AbstractIndexSitemap, AbstractSitemap

_CHILDREN = "_sub_sitemaps"
_Flat: TypeAlias = (
    "list[tuple[AbstractSitemap, None, None] | tuple[type, dict[str, Any], list[int]]]"
)
"""Nodes with nothing below; of indexes the class, the state, and the places of what they list."""


def flattened(top: AbstractIndexSitemap) -> _Flat:
    """Return a tree as a list, the top first; a node that stands in it twice is listed once."""
    places = {id(top): 0}
    order: list[AbstractSitemap] = [top]
    flat: _Flat = []
    for node in order:  # which grows while it is read
        below = _children(node)
        if below is None:
            flat.append((node, None, None))
            continue
        for child in below:
            if id(child) not in places:
                places[id(child)] = len(order)
                order.append(child)
        state = {name: value for name, value in vars(node).items() if name != _CHILDREN}
        flat.append((type(node), state, [places[id(child)] for child in below]))
    return flat


def _children(node: AbstractSitemap) -> Sequence[AbstractSitemap] | None:
    """Return what an index lists; None for other nodes, and classes that pickle in their own way."""
    ours = getattr(type(node).__reduce__, "__module__", "") == "usp.objects.sitemap"
    return vars(node).get(_CHILDREN) if ours else None


def restored(flat: _Flat) -> AbstractSitemap:
    """Return the tree of a list that :func:`flattened` made."""
    nodes: list[Any] = []
    for kind, state, _ in flat:
        if state is None:
            nodes.append(kind)
        else:
            node: Any = object.__new__(kind)  # type: ignore[arg-type]
            vars(node).update(state)
            nodes.append(node)
    for node, (_, _, below) in zip(nodes, flat, strict=True):
        if below is not None:
            vars(node)[_CHILDREN] = [nodes[at] for at in below]
    top: AbstractSitemap = nodes[0]
    return top
