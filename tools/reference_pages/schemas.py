"""The tables: their columns, with types from the schemas, and what is in each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from tools.reference_pages.markup import table

from usp._base.names import COMPUTED_COLUMNS
from usp.export.schema import arrow_schema
from usp.export.sitemaps import SITEMAP_COLUMNS
from usp.fleet import schema_of, wide_schema
from usp.objects.sitemap import SITEMAP_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CODE = "[code](problems.md)"
_TYPES = ", ".join(f"`{name}`" for name in SITEMAP_TYPES)
PAGES = {
    "url": "the address of the page",
    "lastmod": "when it last changed; a date without an offset is taken as UTC",
    "lastmod_precision": "the precision of the date in the sitemap: `year`, `month`, `day`, `minute`, `second` or "
    "`fraction`; null without a date",
    "changefreq": "`always` to `never`; a value that the protocol does not define is read as `always`",
    "priority": "from 0 to 1; null if the sitemap has none, or none that can be read",
    "sitemap": "the address of the sitemap that lists the page",
    "news": "the news story; feeds have a title and a date",
    "images": "the images on the page",
    "videos": "the videos on the page",
    "alternates": "the page in other languages",
    "mobile": "whether the page is marked as a mobile page (for feature phones)",
    "site": "the homepage",
}
COMPUTED = {
    "path": "what follows the host in the URL, query included",
    "section": "the part of the website that the page belongs to: the first folder of its path",
    "news.title": "the title of the news story",
    "news.date": "its date of publication",
    "image_count": "how many images the page has",
    "resource": "what ResourceSync says of the page",
}
SITEMAPS = {
    "site": "the homepage",
    "url": "the address of the sitemap, after redirects",
    "parent": "the sitemap that declares it; null for robots.txt and what was found at a known path",
    "type": f"{_TYPES}; `invalid` if it could not be read",
    "depth": "0 at the top",
    "status": "the HTTP status, if there was a response",
    "bytes": "as received",
    "pages": "null for what lists no pages",
    "problems": "number of [problems](problems.md) in the document; in a dataset, for page sitemaps only with "
    "`--problems`",
    "problem_codes": f"how many of each {_CODE}, such as `bad-lastmod:3 no-loc:1`; null without problems",
    "duration": "seconds of its transfer",
    "failure": "what is missing, and why; null if nothing is",
    "code": f"the same as a stable {_CODE}, such as `not-found` or `limit-seconds`",
    "etag": "header of the response, for the next crawl",
    "last_modified": "header of the response, for the next crawl",
}
_OF_SITE = {
    "bucket": "the part of the table: a hash of the domain",
    "site": "the homepage",
    "domain": "its registered domain",
    "visit": "the visit that wrote the row",
    "writer": "who committed it: the shard",
    "number": "the number of that commit",
}
VISITS = _OF_SITE | {
    "outcome": "`complete`; `partial`: something is missing; `failed`: nothing could be read; `empty`: there is no "
    "page (that the filters select), and nothing failed; `kept`: something failed, or more than half of the pages were "
    "gone, and [what was there before still counts](../guides/fleet.md#bad-rounds)",
    "reason": "why it is partial, failed or kept: the first failure, and how many more there are",
    "code": f"the {_CODE} of that failure",
    "sitemaps": "how many sitemaps there are",
    "pages": "how many pages: with filters, those that they select",
    "bytes": "bytes received",
    "requests": "requests sent; redirects are not counted",
    "duration": "seconds from the first request to the last response",
    "started": "when it began",
    "run": "the number of the run",
    "options": "a digest of the columns, filters and checks that its rows depend on",
    "due": "when the first of its sitemaps is due again",
    "failures": "how often the site has failed in a row",
    "absent": "known paths at which nothing is, and which are not requested each time",
    "absent_at": "when all of them were last requested",
}
FETCHES = {name: text for name, text in SITEMAPS.items() if name != "url"} | _OF_SITE
FETCHES |= {
    "sitemap": "the address of the sitemap, after redirects",
    "declared": "the address that was requested, if a redirect led to another one",
    "type": f"{_TYPES}; `invalid` if it could not be read; `gone` if the site does not list it any more",
    "digest": "a digest of the content; null if there is none",
    "document": "robots.txt, or an index, compressed with zlib, if it has changed",
    "good": "whether the pages of this row count; a failure is not good, and leaves those that there were",
    "pages_visit": "the visit whose rows of `pages` are those of the sitemap; null if it has none",
    "fetched_at": "when the visit began",
    "first_seen": "when it was first there",
    "changed_at": "when its content last changed",
    "due": "when it is to be requested again",
    "interval": "its own interval, in seconds",
    "failures": "how often it has failed in a row",
    "index_lastmod": "the lastmod that its index declares",
    "max_age": "seconds for which the response said that it stays as it is",
    "news": "whether it lists news",
}
PAGES_OF_DATASET = PAGES | _OF_SITE
PAGES_OF_DATASET |= {
    "digest": "the digest of the sitemap's content",
    "first_seen": "when the page was first listed by the sitemap",
}
CHANGES = _OF_SITE | {
    "url": "the address of the page",
    "sitemap": "the sitemap that lists it, or did",
    "kind": "`added`, `changed` (its date or its title), `removed`, or `moved` from another sitemap",
    "seen_at": "when the visit began that found it",
    "lastmod": "the date of the page",
    "previous_lastmod": "the date that it had before",
    "title": "the title of its news story",
}
RUNS = {
    "run": "the number of the run",
    "shard": "the part of the sites that it crawled",
    "what": "`new` sites, what was `due`, all `again`, or `retry_failed`",
    "version": "that of usp",
    "started": "when it began",
    "ended": "when it ended",
    **dict.fromkeys(
        ("sites", "failed", "kept"), "how many sites were visited, have failed, keep what they had"
    ),
    **dict.fromkeys(("sitemaps", "pages", "bytes", "requests"), "totals"),
    "seconds": "how long it took",
    "is_whole": "whether it came to its end",
    "failures": f"the {_CODE} of failures with the number of sites, as JSON",
}
TABLES = {
    "visits": ("One row for each visit of a site.", VISITS),
    "fetches": ("One row for each sitemap and visit, robots.txt included.", FETCHES),
    "pages": ("The pages of each version of a sitemap.", PAGES_OF_DATASET),
    "changes": ("What became of pages of sites that were there before.", CHANGES),
    "runs": ("One row for each run.", RUNS),
}
WIDE = {
    "site": "the homepage",
    "table": "`pages`, `fetches` or `visits`: the table that the row is for",
    "pages": "the columns of that table except the site; null in the rows of other tables",
    "fetches": "the same",
    "visits": "the same",
}

_BEGIN = """\
# Schemas of tables

<!-- Generated by python -m tools.reference_pages from the schemas. -->

The types are those of Arrow; a `dictionary` is a column of strings that repeat. In CSV, nested columns are JSON; in JSON, dates are
strings in UTC: `2024-05-31T12:00:00Z`. How to get them: [pages as data](../guides/data.md), [many sites](../guides/fleet.md).
"""
_PAGES = """\
## Pages

One row per page, in the order of the tree: `usp ls -o pages.parquet`, `usp.export`, `usp.export.arrow`.
"""
_NOTES = """
- An empty list is null. Dates inside structs are in UTC too.
- The values are those of the tree's pages, with two exceptions: an integer that does not fit into 64 bits becomes the
  largest that does, and a lone surrogate becomes `?`.
- `lastmod_precision` is taken from the text of the date. For entries with images, news or other extensions only the
  parsed date is known: midnight without an offset then counts as `day` (although it may have been a month), a date with
  microseconds as `fraction`, and everything else as `second`.
"""
_COMPUTED = """
More columns can be selected in every format (`--columns`, `columns=`); CSV has them without being asked:
"""
_SITEMAPS = """\
## Sitemaps

One row per sitemap: `usp ls --sitemaps`. A robots.txt or another well-known address that failed comes first, then the sitemaps in the
order of the tree.
"""
_FLEET = """
## The tables of a dataset

`usp crawl` writes five Delta tables. Rows are only ever added: what counts now are
[queries of them](../guides/fleet.md#reading-the-dataset).
"""
_WIDE = """
### Rows of crawl_sites

`usp.fleet.crawl_sites` yields batches with the rows of three tables:
"""


def pages() -> dict[str, str]:
    """Return the page."""
    parts = [_BEGIN, _PAGES, _table(arrow_schema(), PAGES), _NOTES]
    parts += [_COMPUTED, _table(arrow_schema(COMPUTED_COLUMNS), COMPUTED), ""]
    for field in arrow_schema():
        parts += _nested(field.name, field.type)
    known = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in SITEMAP_COLUMNS.items()])
    parts += [_SITEMAPS, _table(known, SITEMAPS), _FLEET]
    for name, (what, texts) in TABLES.items():
        parts += [f"### Table {name}\n\n{what}\n", _table(schema_of(name), texts), ""]
    parts += [_WIDE, _table(wide_schema(), WIDE), ""]
    return {"schemas.md": "\n".join(parts)}


def _table(schema: Iterable[pa.Field], texts: dict[str, str]) -> str:
    rows = [(f"`{field.name}`", f"`{_type(field.type)}`", texts[field.name]) for field in schema]
    return table("column | type | what it is", rows)


def _type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"list<{_type(kind.value_type)}>"
    if pa.types.is_dictionary(kind):
        return f"dictionary<{_type(kind.value_type)}>"
    return "struct" if pa.types.is_struct(kind) else str(kind).replace("tz=", "")


def _nested(name: str, kind: pa.DataType) -> Iterator[str]:
    """Yield the tables of a column that has structs."""
    inner = kind.value_type if pa.types.is_list(kind) else kind
    if not pa.types.is_struct(inner):
        return
    fields = [inner.field(at) for at in range(inner.num_fields)]
    yield f"### {name}\n"
    yield table("field | type", [(f"`{f.name}`", f"`{_type(f.type)}`") for f in fields])
    yield ""
    for field in fields:
        yield from _nested(f"{name}.{field.name}", field.type)
