"""Checks sitemaps for what the protocol and the search engines do not want.

::

    for finding in usp.check("https://example.org/"):
        print(finding.code, finding.message, finding.sitemap, finding.line)
"""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING, TypedDict

from usp.changes.sources import is_url, tree_of, tree_of_async
from usp.checks.baseline import Baseline
from usp.checks.checking import Checking
from usp.checks.meant import meant_as_sitemaps
from usp.checks.registry import Group, Rule
from usp.checks.rules import RULES
from usp.checks.values import Finding, Severity
from usp.web_client.abstract_client import AbstractAsyncWebClient

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
    from os import PathLike
    from typing import Unpack

    from usp.changes.sources import Source
    from usp.objects.abstract_sitemap import AbstractSitemap
    from usp.options import CrawlOptions
    from usp.web_client.abstract_client import AbstractWebClient

__all__ = ["RULES", "Baseline", "Finding", "Group", "Rule", "Severity", "check", "check_async"]

_BATCH = 500  # findings that a thread makes at a time


class CheckKeywords(TypedDict, total=False):
    """The keywords of :func:`check`."""

    select: Sequence[str]
    ignore: Sequence[str]
    severities: Mapping[str, Severity | str] | None
    fetch_pages: int
    baseline: Baseline | str | PathLike[str] | None


def check(
    source: Source,
    web_client: AbstractWebClient | None = None,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    severities: Mapping[str, Severity | str] | None = None,
    fetch_pages: int = 0,
    baseline: Baseline | str | PathLike[str] | None = None,
    options: CrawlOptions | None = None,
) -> Iterator[Finding]:
    """Yield what is wrong with the sitemaps of a website.

    ``source`` is a tree, or what it is read from: the URL of a website or a sitemap, the path of a
    snapshot, a sitemap or a folder. ``select`` and ``ignore`` are codes of rules, the beginnings of
    codes (``SM4``) or names; of two that fit, the longer one counts. ``severities`` are other
    severities of rules, by code, beginning or name; ``off`` is one, too. ``fetch_pages`` is how many of
    the listed pages are fetched themselves, a sample, if robots.txt allows it. Findings in the
    ``baseline``, or in the file of one, are left out. ``web_client`` and ``options`` are for what is
    fetched.

    Raises ``ValueError`` for a rule that does not exist, before anything is fetched.
    """
    checking = Checking.of(
        select,
        ignore,
        severities,
        fetch_pages=fetch_pages,
        web_client=web_client,
        options=options,
        is_live=web_client is not None or is_url(source),
    )
    known = _baseline(baseline)
    return _findings(checking, tree_of(source, web_client, options), known)


async def check_async(
    source: Source,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
    **keywords: Unpack[CheckKeywords],
) -> AsyncGenerator[Finding, None]:
    """Yield the same as :func:`check` on asyncio: fetched in the event loop, checked in a thread."""
    is_async = isinstance(web_client, AbstractAsyncWebClient)
    client = None if isinstance(web_client, AbstractAsyncWebClient) else web_client
    checking = Checking.of(
        keywords.get("select", ()),
        keywords.get("ignore", ()),
        keywords.get("severities"),
        fetch_pages=keywords.get("fetch_pages", 0),
        web_client=client,
        options=options,
        is_live=not is_async and (client is not None or is_url(source)),
    )
    known = _baseline(keywords.get("baseline"))
    tree = await tree_of_async(source, web_client, options)
    findings = _findings(checking, tree, known)
    while batch := await asyncio.to_thread(lambda: list(islice(findings, _BATCH))):
        for finding in batch:
            yield finding


def _findings(
    checking: Checking, tree: AbstractSitemap, known: Baseline | None
) -> Iterator[Finding]:
    findings = checking.findings(meant_as_sitemaps(tree))
    return findings if known is None else known.new(findings)


def _baseline(given: Baseline | str | PathLike[str] | None) -> Baseline | None:
    return given if given is None or isinstance(given, Baseline) else Baseline.read(given)
