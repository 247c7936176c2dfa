"""The tables of a dataset, their columns and what counts in them; the files that a worker writes.

Rows are only ever appended, so that everybody may compact, delete and vacuum: no name of a file means
anything. All tables but ``runs`` are partitioned by ``bucket``, a hash of the site's domain.

A *visit* is one crawl of a site, and has a row in ``visits``. Its rows in the other tables are
committed before that one: **a row of another table counts exactly if its visit is in ``visits``**
(same ``bucket`` and ``visit``). What a run that was killed has left in the others is seen by nobody.

- The current row of a *site* is that of its last visit: the latest ``started``, then the highest
  ``number``, then ``writer``.
- The last row of a *sitemap* (``site`` and ``sitemap``, same order, by ``fetched_at``) says how it is
  now. With the ``type`` :data:`GONE`, it is in the site's tree no more.
- The *pages* of a sitemap are those of its last row that is ``good``: they have the same ``site`` and
  ``sitemap``, and its ``pages_visit`` as their ``visit``; none if that is null. A failure writes a row
  that is not good, and so removes nothing; the row of what is gone is good, and has no pages.

``writer`` and ``number`` say who has committed a row, and when: the application transaction
``usp WRITER`` of ``visits`` has the number of the last commit of a writer, so that the transactions at
a version of ``visits`` tell which visits it had. The numbers of a later run are higher.

``document`` has what robots.txt or an index said (compressed with zlib) when it last changed, so that
they can be asked for conditionally, too; empty if it was too large.
"""

from __future__ import annotations

import secrets
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeAlias

from usp._base.display import printable
from usp._base.files import FileStore, StoredFile
from usp._base.urls import BadUrl, read_url
from usp.export.arrow import ParquetFileWriter
from usp.export.schema import ALL_COLUMNS, COLUMNS, REPEATING, arrow_type, chosen, pyarrow

__all__ = ["bucket_of", "domain_of", "page_columns", "schema_of", "unwrap", "wide_schema", "wrap"]

TABLES = ("changes", "pages", "fetches", "visits")
"""The partitioned tables, in the order in which they are committed."""

CRAWLED = ("pages", "fetches", "visits")
"""Those that a crawl fills; ``changes`` compares it with the one before."""

OUTCOMES = ("complete", "partial", "failed", "empty", "kept")
"""How a visit ended. ``kept``: it has lost more than half of the pages that were there; nothing of it
counts, unless the next visit finds the same.
"""

CHANGES = ("added", "changed", "removed", "moved")
GONE = "gone"

BUCKETS = 16  # of a new dataset; the number is in the configuration of the table visits
BUCKETS_KEY = "usp.buckets"

_WRITTEN = {"writer": "string", "number": "int64"}
_KINDS: Mapping[str, Mapping[str, str]] = {
    "visits": {
        **dict.fromkeys(("site", "domain", "visit", "outcome", "reason", "code"), "string"),
        **dict.fromkeys(("sitemaps", "pages", "bytes", "requests"), "int64"),
        "duration": "float64",
        "started": "moment",
        "run": "int64",
        "options": "string",  # a digest: only rows of the same options can be compared
        "due": "moment",  # when the first of its sitemaps is to be asked for again
        "failures": "int32",  # in a row, of the whole site
        "absent": "texts",  # known paths at which nothing was found,
        "absent_at": "moment",  # when all of them were last asked for
        **_WRITTEN,
    },
    "fetches": {
        **dict.fromkeys(("site", "domain", "visit", "sitemap", "parent"), "string"),
        "declared": "string",  # the URL that was asked for, if a redirect led to another one
        "depth": "int32",
        "type": "string",  # of the document, "invalid", or GONE
        "status": "int32",
        **dict.fromkeys(("failure", "code", "etag", "last_modified"), "string"),
        "digest": "string",  # of the decoded content; null if there is none
        "document": "binary",
        "good": "bool",
        "pages_visit": "string",
        **dict.fromkeys(("pages", "bytes", "problems"), "int64"),
        "problem_codes": "string",
        "duration": "float64",
        **dict.fromkeys(("fetched_at", "first_seen", "changed_at", "due"), "moment"),
        "interval": "float64",  # in seconds
        "failures": "int32",  # in a row
        "index_lastmod": "string",  # what its index says of it
        "max_age": "float64",
        "news": "bool",
        **_WRITTEN,
    },
    "changes": {
        **dict.fromkeys(("site", "domain", "visit", "url", "sitemap", "kind"), "string"),
        **dict.fromkeys(("seen_at", "lastmod", "previous_lastmod"), "moment"),
        "title": "string",
        **_WRITTEN,
    },
    "runs": {
        "run": "int64",
        **dict.fromkeys(("shard", "what", "version"), "string"),
        **dict.fromkeys(("started", "ended"), "moment"),
        **dict.fromkeys(("sites", "failed", "kept"), "int64"),
        **dict.fromkeys(("sitemaps", "pages", "bytes", "requests"), "int64"),
        "seconds": "float64",
        "is_whole": "bool",  # whether it came to its end
        "failures": "string",  # JSON: the reasons, with the number of sites
    },
}
_BEFORE_PAGE = {
    **dict.fromkeys(("site", "domain", "visit", "digest"), "string"),
    "first_seen": "moment",
}
"""The columns of ``pages`` before those of the page itself; ``sitemap`` and ``url`` are always there."""

PART_SITES = 2000
PART_ROWS = 2_000_000
PART_SECONDS = 30.0
"""A part is finished once it has this many sites or pages, or is this old (in seconds)."""

_MOST_WAITING = 48 << 20  # bytes of rows that are not in a file yet
_REPEATING = {
    "pages": (
        *("site", "domain", "visit", "digest", "first_seen", "writer", "number"),
        *(name for name, spec in COLUMNS.items() if spec.kind in REPEATING),
    ),
    "fetches": (
        "site",
        "domain",
        "visit",
        "type",
        "status",
        "depth",
        "failure",
        "writer",
        "number",
    ),
    "visits": ("outcome", "reason", "code", "run", "options", "writer", "number"),
    "changes": ("site", "domain", "visit", "sitemap", "kind", "seen_at", "writer", "number"),
}
"""The columns that get a dictionary."""


def page_columns(columns: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the columns that a page has of itself, in the order of the table."""
    return chosen(tuple(dict.fromkeys(("sitemap", "url", *(columns or COLUMNS)))))


def schema_of(table: str, columns: Sequence[str] | None = None) -> Any:
    """Return the ``pyarrow.Schema`` of a table; ``columns`` are the chosen ones of the pages.

    ``bucket`` is first. Files have all columns but that one, and dictionaries where they pay.
    """
    pa = pyarrow()
    fields = [(field.name, _plain(field.type)) for field in file_schema(table, columns)]
    return pa.schema(fields if table == "runs" else [("bucket", pa.int32()), *fields])


def _plain(kind: Any) -> Any:
    """Return a type without a dictionary, which Delta does not have and Spark does not read."""
    return kind.value_type if pyarrow().types.is_dictionary(kind) else kind


@lru_cache(maxsize=64)
def file_schema(table: str, columns: Sequence[str] | None = None) -> Any:
    """Return the schema of the files of a table."""
    pa = pyarrow()
    types = {
        "moment": pa.timestamp("us", "UTC"),
        "texts": pa.list_(pa.string()),
        "bool": pa.bool_(),
    }

    def typed(named: Mapping[str, str]) -> list[tuple[str, Any]]:
        return [
            (name, types[kind] if kind in types else pa.type_for_alias(kind))
            for name, kind in named.items()
        ]

    if table != "pages":
        return pa.schema(typed(_KINDS[table]))
    own = [(name, arrow_type(ALL_COLUMNS[name])) for name in page_columns(columns)]
    return pa.schema([*typed(_BEFORE_PAGE), *own, *typed(_WRITTEN)])


# Domains and buckets --------------------------------------------------------------------------------

_SECOND = frozenset("ac co com edu gob gov go gouv gv ltd me ne net nom or org plc sch".split())
"""Labels below the top-level domain of a country under which others register their names."""

_COUNTRY = 2  # letters


def domain_of(site: str) -> str:
    """Return the registered domain of a site, as far as that is known without a list of them all."""
    try:
        host = read_url(site).host
    except BadUrl:
        return site
    labels = host.split(".")
    if labels[-1].isdigit() or ":" in host:
        return host  # an address
    is_below = len(labels[-1]) == _COUNTRY and len(labels) > _COUNTRY and labels[-2] in _SECOND
    return ".".join(labels[-3 if is_below else -2 :])


def hash_of(domain: str) -> int:
    """Return the hash of a domain that decides about its bucket, and its shard."""
    return zlib.crc32(domain.encode("utf-8", "replace"))


def bucket_of(domain: str, buckets: int = BUCKETS) -> int:
    """Return the bucket of a domain."""
    return hash_of(domain) % buckets
