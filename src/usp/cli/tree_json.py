"""A tree of sitemaps as JSON, nested like the sitemaps."""

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

    ``depth`` is the number of levels to write; sitemaps below are counted. With ``count``, pages are
    read and counted; with ``problems``, every field is checked. This uses a stack and not ``json``,
    which recurses: trees may be deep.
    """
    waiting: list[AbstractSitemap | str] = [tree]
    levels = [depth]
    before = ""  # the last line, without the comma that it may need
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
