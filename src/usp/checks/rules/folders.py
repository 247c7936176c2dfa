"""Rules about a folder of files: a website before it is deployed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.checks.registry import sitemap_rule
from usp.checks.values import Hit, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.checks.facts import Sitemap


@sitemap_rule("SM114", "missing-file", Severity.ERROR)
def missing_file(sitemap: Sitemap) -> Iterator[Hit]:
    """A sitemap is declared, but the folder has no file of that name.

    After the folder is deployed, search engines will request the sitemap and get an error. This rule is
    asked if a folder is checked, where each sitemap is looked for by the end of its URL.

    Source: https://www.sitemaps.org/protocol.html#index

    Bad:

        --- ./sitemap_index.xml
        <sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <sitemap><loc>https://example.org/teas.xml</loc></sitemap>
        </sitemapindex>

    Good:

        --- ./sitemap_index.xml
        <sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <sitemap><loc>https://example.org/teas.xml</loc></sitemap>
        </sitemapindex>
        --- ./teas.xml
        <url><loc>https://example.org/tea</loc></url>

    Fix: Generate the file, or remove the entry.
    """
    if sitemap.is_missing_file:
        entry, parent = sitemap.declaration, sitemap.parent
        yield Hit(
            f"there is no file for {sitemap.url}",
            sitemap=None if parent is None else parent.url,
            line=None if entry is None else entry.line,
        )
