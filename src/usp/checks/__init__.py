"""Checks sitemaps for what the protocol and the search engines do not want.

::

    for finding in usp.check("https://example.org/"):
        print(finding.code, finding.message, finding.sitemap, finding.line)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.changes.sources import tree_of
from usp.checks.checking import Checking
from usp.checks.registry import Group, Rule
from usp.checks.rules import RULES
from usp.checks.values import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from usp.changes.sources import Source
    from usp.options import CrawlOptions
    from usp.web_client.abstract_client import AbstractWebClient

__all__ = ["RULES", "Finding", "Group", "Rule", "Severity", "check"]


def check(
    source: Source,
    web_client: AbstractWebClient | None = None,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    severities: Mapping[str, Severity | str] | None = None,
    fetch_pages: int = 0,
    options: CrawlOptions | None = None,
) -> Iterator[Finding]:
    """Yield what is wrong with the sitemaps of a website.

    ``source`` is a tree, or what it is read from: the URL of a website or a sitemap, the path of a
    snapshot or a sitemap. ``select`` and ``ignore`` are codes of rules, the beginnings of codes
    (``SM4``) or names; of two that fit, the longer one counts. ``severities`` are other severities of
    rules, by code, beginning or name. ``fetch_pages`` is how many of the listed pages are fetched
    themselves, a sample, if robots.txt allows it. ``web_client`` and ``options`` are for what is
    fetched.
    """
    checking = Checking.of(
        select,
        ignore,
        severities,
        fetch_pages=fetch_pages,
        web_client=web_client,
        options=options,
    )
    return checking.findings(tree_of(source, web_client, options))
