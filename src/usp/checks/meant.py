"""Which files of a folder are meant as sitemaps: a website has others that look a little like them."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from usp.objects.problem import FailureCode, ProblemCode
from usp.objects.sitemap import IndexWebsiteSitemap, InvalidSitemap, PagesTextSitemap

if TYPE_CHECKING:
    from usp.objects.sitemap import AbstractSitemap

_OTHERS = frozenset(
    {
        FailureCode.NOT_A_SITEMAP,
        FailureCode.HTML_PAGE,
        FailureCode.FORBIDDEN_DOCTYPE,
        FailureCode.EMPTY_DOCUMENT,
    }
)
"""What ``browserconfig.xml`` and the like are, if they are read as sitemaps."""


def meant_as_sitemaps(tree: AbstractSitemap) -> AbstractSitemap:
    """Return the tree of a folder without files that nothing declares and that are something else.

    Any other tree is returned as it is: what was named, declared or found as a sitemap is meant as one.
    """
    is_folder = isinstance(tree, IndexWebsiteSitemap) and tree.url.startswith("file:")
    if not is_folder or all(map(_is_meant, tree.sub_sitemaps)):
        return tree
    return IndexWebsiteSitemap(tree.url, [node for node in tree.sub_sitemaps if _is_meant(node)])


def _is_meant(node: AbstractSitemap) -> bool:
    """Return whether a file at the top of the tree is a sitemap, or at least called one."""
    if "sitemap" in PurePosixPath(unquote(urlsplit(node.url).path)).name.lower():
        return True
    if isinstance(node, InvalidSitemap):
        return node.failure is None or node.failure.code not in _OTHERS
    if isinstance(node, PagesTextSitemap):  # llms.txt has lines with URLs, and others
        return all(problem.code is not ProblemCode.BAD_LINE for problem in node.problems)
    return True
