"""A tree of sitemaps as JSON: nested as the sitemaps are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from usp.cli.errors import why
from usp.export.sitemaps import sitemap_row
from usp.objects.problem import by_kind
from usp.objects.sitemap import AbstractIndexSitemap, IndexWebsiteSitemap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.objects.sitemap import AbstractSitemap


def tree_json(
    tree: AbstractSitemap,
    *,
    depth: int | None = None,
    count: bool = True,
    problems: bool = False,
) -> Iterator[str]:
    """Yield a tree as JSON, a line for each sitemap.

    ``depth`` is how many levels are given; what is below is counted. Pages are read if they are to be
    counted, and problems are given if all of them are asked for. A stack rather than recursion, here
    and not in ``json``: trees may be deep.
    """
    waiting: list[AbstractSitemap | str] = [tree]
    levels = [depth]
    before = ""  # the last line, of which nobody knows yet whether another one of its list follows
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):  # the end of a list
            yield before
            levels.pop()
            before = f"{' ' * (len(levels) - 1)}{node}"
            continue
        if before:
            yield before if before.endswith("[") else f"{before},"
        left = levels[-1]
        fields = json.dumps(_fields(node, count=count, problems=problems))
        before = f"{' ' * (len(levels) - 1)}{fields}"
        if not isinstance(node, AbstractIndexSitemap):
            continue
        if left is not None and left <= 0:
            below = sum(1 for _ in node.all_sitemaps())
            before = f'{before[:-1]}, "sitemaps_below": {below}}}'
            continue
        before = f'{before[:-1]}, "sitemaps": ['
        waiting.append("]}")
        waiting += reversed(node.sub_sitemaps)
        levels.append(None if left is None else left - 1)
    yield before


def _fields(node: AbstractSitemap, *, count: bool, problems: bool) -> dict[str, Any]:
    found = by_kind(node.problems) if problems else []  # first: finding them counts the pages too
    fields = sitemap_row(node, why, count=count)
    del fields["parent"]
    modified = node.last_modified
    fields["lastmod"] = None if modified is None else modified.isoformat()
    if problems:
        fields["problems"] = [
            {
                "code": kind.code,
                "message": kind.message,
                "times": kind.times,
                "lost": kind.lost,
                "line": kind.first.line,
                "excerpt": kind.first.excerpt,
            }
            for kind in found
        ]
    if isinstance(node, IndexWebsiteSitemap):
        fields["not_found"] = [
            {
                "url": failure.url,
                "status": failure.status,
                "code": failure.code,
                "failure": why(failure),
            }
            for failure in node.not_found
        ]
    return fields
