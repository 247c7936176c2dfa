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
  that is not good, and so removes nothing: it has the ``type``, ``pages``, ``pages_visit``, ``digest``
  and validators of the last good one, so that the last row alone tells all. The row of what is gone is
  good, and has no pages.

``writer`` and ``number`` say who has committed a row, and when: the application transaction
``usp WRITER`` of ``visits`` has the number of the last commit of a writer, so that the transactions at
a version of ``visits`` tell which visits it had. The numbers of a later run are higher.

``document`` has what robots.txt or an index said (compressed with zlib) when it last changed, so that
they can be asked for conditionally, too; empty if it was too large.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from usp._base.display import printable
from usp._base.files import FileStore, StoredFile
from usp._base.urls import BadUrl, read_url
from usp.export.arrow import ParquetFileWriter
from usp.export.schema import ALL_COLUMNS, COLUMNS, REPEATING, arrow_type, chosen, pyarrow
from usp.fleet.options import COMMIT_SECONDS, hash_of
from usp.objects.failure_codes import BY_VALUE

if TYPE_CHECKING:
    from usp.fleet.joins import PageComparison

__all__ = ["bucket_of", "domain_of", "page_columns", "schema_of", "unwrap", "wide_schema", "wrap"]

TABLES = ("changes", "pages", "fetches", "visits")
"""The partitioned tables, in the order in which they are committed."""

CRAWLED = ("pages", "fetches", "visits")
"""Those that a crawl fills; ``changes`` compares it with the one before."""

OUTCOMES = ("complete", "partial", "failed", "empty", "kept")
"""How a visit ended. ``kept``: some or all pages are still those of an earlier visit, because something
failed, or because more than half of them were suddenly gone, which has no code: that counts once the
next visit finds the same.
"""

CHANGES = ("added", "changed", "removed", "moved")
GONE = "gone"

BUCKETS = 16

_WHO = ("site", "domain", "visit")
_WRITTEN = {"writer": "string*", "number": "int64*"}
_KINDS: Mapping[str, Mapping[str, str]] = {
    "visits": {
        **dict.fromkeys(_WHO, "string"),
        **dict.fromkeys(("outcome", "reason", "code"), "string*"),
        **dict.fromkeys(("sitemaps", "pages", "bytes", "requests"), "int64"),
        "duration": "float64",
        "started": "moment",
        "run": "int64*",
        "options": "string*",  # a digest: only rows of the same options can be compared
        "due": "moment",  # when the first of its sitemaps is to be asked for again
        "failures": "int32",  # in a row, of the whole site
        "absent": "texts",  # known paths at which nothing was found,
        "absent_at": "moment",  # when all of them were last asked for
        **_WRITTEN,
    },
    "fetches": {
        **dict.fromkeys(_WHO, "string*"),
        **dict.fromkeys(("sitemap", "parent"), "string"),
        "declared": "string",  # the URL that was asked for, if a redirect led to another one
        "depth": "int32*",
        "type": "string*",  # of the document, "invalid", or GONE
        "status": "int32*",
        "failure": "string*",
        **dict.fromkeys(("code", "etag", "last_modified"), "string"),
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
    "pages": {  # and, before the last two, the columns of the page itself
        **dict.fromkeys((*_WHO, "digest"), "string*"),
        "first_seen": "moment*",
        **_WRITTEN,
    },
    "changes": {
        **dict.fromkeys(_WHO, "string*"),
        "url": "string",
        **dict.fromkeys(("sitemap", "kind"), "string*"),
        "seen_at": "moment*",
        **dict.fromkeys(("lastmod", "previous_lastmod"), "moment"),
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
"""The columns of the tables with their types; those with an asterisk get a dictionary in the files."""

PART_SITES = 2000
PART_ROWS = 2_000_000
"""A part is finished once it has this many sites or pages, if it is not too old before."""

_MOST_WAITING = 48 << 20  # bytes of rows that are not in a file yet


SUMS = ("sitemaps", "pages", "bytes", "requests")  # of visits


def columns_of(table: str) -> tuple[str, ...]:
    """Return the columns of a table, without the bucket, and without those of a page itself."""
    return tuple(_KINDS[table])


def page_columns(columns: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the columns that a page has of itself, in the order of the table."""
    return chosen(tuple(dict.fromkeys(("sitemap", "url", *(columns or COLUMNS)))))


def schema_of(table: str, columns: Sequence[str] | None = None) -> Any:
    """Return the ``pyarrow.Schema`` of a table; ``columns`` are the chosen ones of the pages.

    ``bucket`` is first. Files have all columns but that one, and dictionaries where they pay.
    """
    pa = pyarrow()
    # Delta has no dictionaries, and Spark does not read them.
    fields = [
        (field.name, kind.value_type if pa.types.is_dictionary(kind := field.type) else kind)
        for field in file_schema(table, columns)
    ]
    return pa.schema(fields if table == "runs" else [("bucket", pa.int32()), *fields])


@lru_cache(maxsize=64)
def file_schema(table: str, columns: Sequence[str] | None = None) -> Any:
    """Return the schema of the files of a table."""
    fields = {field.name: field.type for field in typed(_KINDS[table])}
    if table == "pages":  # which always has a sitemap and a URL
        own = {name: arrow_type(ALL_COLUMNS[name]) for name in page_columns(columns)}
        fields |= own | {name: fields.pop(name) for name in _WRITTEN}
    return pyarrow().schema(fields)


def typed(kinds: Mapping[str, str]) -> Any:
    """Return the schema of columns of these kinds."""
    pa = pyarrow()
    types = {
        "moment": pa.timestamp("us", "UTC"),
        "texts": pa.list_(pa.string()),
        "bool": pa.bool_(),
    }
    words = {name: kind.removesuffix("*") for name, kind in kinds.items()}
    return pa.schema(
        [(name, types.get(word) or pa.type_for_alias(word)) for name, word in words.items()]
    )


def _repeating(table: str) -> list[str]:
    """Return the columns that get a dictionary."""
    of_pages = COLUMNS if table == "pages" else {}
    return [
        *(name for name, kind in _KINDS[table].items() if kind.endswith("*")),
        *(name for name, spec in of_pages.items() if spec.kind in REPEATING),
    ]


def quoted(text: str) -> str:
    """Return a text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


# Domains and buckets --------------------------------------------------------------------------------

_SECOND = frozenset(
    "ac co com edu gob gov go gouv gv ltd me ne net nom or org plc sch".split()  # noqa: SIM905
)
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


def bucket_of(domain: str) -> int:
    """Return the bucket of a domain."""
    return hash_of(domain) % BUCKETS


# Rows -----------------------------------------------------------------------------------------------


def rows_of(table: str, rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return rows as a record batch, without control characters and halves of surrogate pairs."""
    schema = file_schema(table)
    listed = [{name: _clean(row.get(name)) for name in schema.names} for row in rows]
    return pyarrow().RecordBatch.from_pylist(listed, schema=schema)


def failure_row(code: str, sites: int, example: str, reason: str) -> dict[str, Any]:
    """Return why something is missing, of how many sites, with an example and what to do."""
    known = BY_VALUE.get(code)
    return {
        "code": code,
        "reason": getattr(known, "message", reason),
        "sites": sites,
        "example": example,
        "example_reason": reason,
        "remedy": getattr(known, "remedy", None),
    }


def _clean(value: Any) -> Any:
    if isinstance(value, str) and not value.isprintable():
        return printable(value.encode("utf-8", "replace").decode("utf-8"))
    return value


def pages_of(
    batch: Any, visit: Mapping[str, Any], digests: Mapping[str, str], columns: Sequence[str] | None
) -> Any:
    """Return a batch of the pages of a visit with all columns of the table."""
    sitemaps = batch.column("sitemap")
    known = [digests.get(url) for url in sitemaps.dictionary.to_pylist()]
    own = {name: _clean(visit[name]) for name in _WHO} | {"first_seen": visit["started"]}
    own["digest"] = pyarrow().array(known, pyarrow().string()).take(sitemaps.indices)
    return _fitted(batch, file_schema("pages", columns), own)


def _fitted(batch: Any, schema: Any, values: Mapping[str, Any]) -> Any:
    """Return a batch with the columns of a schema; ``values`` are arrays, or the same for all rows."""
    pa, there = pyarrow(), set(batch.schema.names)

    def column(field: Any) -> Any:
        value = values.get(field.name)
        if isinstance(value, pa.Array):
            return value
        if value is not None:
            return pa.repeat(pa.scalar(value, field.type), len(batch))
        if field.name in there:
            return batch.column(field.name).cast(field.type)
        return pa.nulls(len(batch), field.type)

    return pa.RecordBatch.from_arrays([column(field) for field in schema], schema=schema)


# Files ----------------------------------------------------------------------------------------------


Row: TypeAlias = dict[str, Any]
"""A row of ``visits``."""


class PartFile(NamedTuple):
    """A file of a table: its name below the table, its bucket, its size, the number of its rows."""

    table: str
    name: str
    bucket: int
    size: int
    rows: int


class Part(NamedTuple):
    """Finished visits: their rows, the files with all of their rows, and who has written them."""

    sites: tuple[Row, ...]
    files: tuple[PartFile, ...]
    writer: str
    number: int


@dataclass
class PartWriter:
    """Collects visits into files; ``add``, ``tick`` and ``finish`` return what is finished with it.

    ``number`` is that of the part that is being written.
    """

    store: FileStore
    writer: str
    number: int
    columns: Sequence[str] | None = None
    seconds: float = COMMIT_SECONDS
    comparing: Callable[[], PageComparison] | None = None

    def __post_init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._name = f"part-{secrets.token_hex(8)}.parquet"
        self._files: dict[tuple[str, int], ParquetFileWriter] = {}
        self._waiting: dict[tuple[str, int], list[Any]] = {}
        self._size = self._pages = 0
        self._sites: list[Row] = []
        self._since = float("inf")
        self._comparison: PageComparison | None = None

    def add(self, table: str, rows: Any) -> list[Part]:
        """Add rows of one site: a batch of ``pages``, else a list; that of ``visits`` is the last.

        Pages of ``compared`` are those of a site that was there before: what changed is found out when
        the part is finished, and ``replaced`` says what they replace.
        """
        if table in ("compared", "replaced"):
            assert self.comparing is not None
            self._comparison = self._comparison or self.comparing()
            if table == "replaced":
                self._comparison.replaced += rows
            else:
                self._comparison.add(rows)
                self._pages += len(rows)
            return []
        if table == "pages":
            self._pages += len(rows)
            self._add_batch(table, bucket_of(rows.column("domain")[0].as_py()), rows)
            return []
        bucket = bucket_of(rows[0]["domain"])
        known = {"writer": self.writer, "number": self.number}
        self._waiting.setdefault((table, bucket), []).extend(row | known for row in rows)
        if table != "visits":
            return []
        self._sites += rows
        self._since = min(self._since, time.monotonic())
        full = len(self._sites) >= PART_SITES or self._pages >= PART_ROWS
        return self.finish() if full else self.tick()

    def _add_batch(self, table: str, bucket: int, batch: Any) -> None:
        """Add a batch of pages or changes; write what waits if that is too much."""
        who = {"writer": self.writer, "number": self.number}
        whole = _fitted(batch, file_schema(table, self.columns), who)
        self._file(table, bucket).add(whole)
        self._size += whole.nbytes
        if self._size >= _MOST_WAITING:
            self._size = 0
            for file in self._files.values():
                file.flush()

    def _file(self, table: str, bucket: int) -> ParquetFileWriter:
        if (table, bucket) not in self._files:
            opened = partial(StoredFile, self.store, f"{table}/bucket={bucket}/{self._name}")
            schema = file_schema(table, self.columns)
            self._files[table, bucket] = ParquetFileWriter(opened, schema, _repeating(table))
        return self._files[table, bucket]

    def tick(self) -> list[Part]:
        """Finish a part that is old enough; call it only between two sites."""
        return self.finish() if time.monotonic() - self._since >= self.seconds else []

    def finish(self) -> list[Part]:
        """Finish the part of what was added."""
        if not self._sites:
            return []
        if self._comparison is not None:
            for table, bucket, batch in self._comparison.results():
                self._add_batch(table, bucket, batch)
        for (table, bucket), rows in self._waiting.items():
            self._file(table, bucket).add(rows_of(table, rows))
        files = []
        for (table, bucket), file in self._files.items():
            if file.rows:
                file.close()
                name = f"bucket={bucket}/{self._name}"
                files.append(PartFile(table, name, bucket, file.stream.close(), file.rows))
        part = Part(tuple(self._sites), tuple(files), self.writer, self.number)
        self._close_comparison()
        self.number += 1
        self._begin()
        return [part]

    def _close_comparison(self) -> None:
        if self._comparison is not None:
            self._comparison.close()

    def discard(self) -> None:
        """Remove what is not in a finished part."""
        self._close_comparison()
        for file in self._files.values():
            file.abandon()
            if file.stream is not None:
                file.stream.discard()


# The wide table -------------------------------------------------------------------------------------


def wide_schema(columns: Sequence[str] | None = None) -> Any:
    """Return the schema of the wide table."""
    pa = pyarrow()
    # Of each table all columns but the bucket and the site.
    structs = [(table, pa.struct(list(schema_of(table, columns))[2:])) for table in CRAWLED]
    return pa.schema([("site", pa.string()), ("table", pa.string()), *structs])


def wrap(table: str, batch: Any, columns: Sequence[str] | None = None) -> Any:
    """Return a batch of one table as a batch of the wide one."""
    pa, schema = pyarrow(), wide_schema(columns)
    fields = list(schema.field(table).type)
    inner = _fitted(batch, pa.schema(fields), {})
    struct = pa.StructArray.from_arrays(inner.columns, fields=fields)
    return _fitted(batch.select(["site"]), schema, {"table": table, table: struct})


def unwrap(batches: Iterable[Any], table: str) -> Iterator[Any]:
    """Yield the rows of one table in wide batches, as batches of that table."""
    pa, compute = pyarrow(), pyarrow(".compute")
    for batch in batches:
        rows = batch.filter(compute.equal(batch.column("table"), table))
        if len(rows):
            struct = rows.column(table)
            names = ["site", *(field.name for field in struct.type)]
            yield pa.RecordBatch.from_arrays([rows.column("site"), *struct.flatten()], names=names)
