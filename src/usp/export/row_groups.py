"""Row groups of Parquet files, put together from columns that Arrow has encoded.

The extensions have dozens of columns, and most sitemaps use none of them. For Arrow a column without a
value takes as long as one with values, because it has a level for each row; altogether they would take
most of the time. So they are encoded once for each number of rows, and their bytes are written again
into every other row group. A file describes its columns in its footer, after all of them: only the
offsets in it depend on where a column is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from usp.export.schema import pyarrow
from usp.export.thrift import I64, LIST, STRUCT, Reader, struct_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from usp.export.thrift import Struct

GROUP_ROWS = 1 << 17
"""Rows of a group: all have the same number, except for the last and those of very large rows."""

_GROUP_BYTES = 48 << 20

_MAGIC = b"PAR1"
_END = 8  # bytes: the length of the footer, and the magic once more

# Fields of the footer, by the structs of parquet.thrift that they are in.
_FILE_ROWS, _FILE_GROUPS = 3, 4
_GROUP_COLUMNS, _GROUP_SIZE, _GROUP_OFFSET, _GROUP_PACKED, _GROUP_ORDINAL = 1, 2, 5, 6, 7
_COLUMN_OFFSET, _COLUMN_ABOUT = 2, 3
_ABOUT_PATH = 3
_ABOUT_OFFSETS = (9, 10, 11)  # of data, index and dictionary pages


class RowGroups:
    """Collects record batches; gives those of one row group at a time."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._batches: list[Any] = []
        self._rows = self._bytes = 0

    def add(self, batch: Any) -> Iterator[list[Any]]:
        """Add a batch; yield the groups that are full with it."""
        size = batch.nbytes
        if self._bytes + size > _GROUP_BYTES:
            yield from self.rest()
        while self._rows + len(batch) >= GROUP_ROWS:
            room = GROUP_ROWS - self._rows
            self._batches.append(batch.slice(0, room))
            batch = batch.slice(room)
            size = batch.nbytes
            yield from self.rest()
        if len(batch):
            self._batches.append(batch)
            self._rows += len(batch)
            self._bytes += size

    def rest(self) -> Iterator[list[Any]]:
        """Yield what is left, if anything."""
        if self._batches:
            batches = self._batches
            self._begin()
            yield batches


class _Columns(NamedTuple):
    """Columns of one row group, encoded: their bytes and their part of a footer."""

    data: Any
    group: Struct

    def moved(self, by: int) -> Iterator[tuple[bytes, Struct]]:
        """Yield the columns for another place in a file, each with the name of the one it is in."""
        for column in self.group[_GROUP_COLUMNS][1][1]:
            about = dict(column[_COLUMN_ABOUT][1])
            for field in _ABOUT_OFFSETS:
                if field in about:
                    about[field] = I64, about[field][1] + by
            name = about[_ABOUT_PATH][1][1][0]
            yield name, {_COLUMN_OFFSET: (I64, 0), _COLUMN_ABOUT: (STRUCT, about)}


class RowGroupWriter:
    """Writes a Parquet file, zstd-compressed, one row group at a time.

    ``repeating`` are the columns that get a dictionary.
    """

    def __init__(self, stream: Any, schema: Any, repeating: tuple[str, ...]) -> None:
        self._stream = stream
        self._schema = schema
        self._repeating = repeating
        self._at = 0
        self._rows = 0
        self._groups: list[bytes] = []
        self._write(_MAGIC)

    def _write(self, data: Any) -> None:
        self._stream.write(data)
        self._at += len(data)

    def write(self, batches: list[Any]) -> None:
        """Write batches as one row group."""
        pa = pyarrow()
        table = pa.Table.from_batches(batches, self._schema).unify_dictionaries()
        empty = [
            field
            for field, column in zip(self._schema, table.columns, strict=True)
            if field.type.num_fields and column.null_count == len(column)
        ]
        parts = [_empty(field, len(table)) for field in empty]
        others = table.drop_columns([field.name for field in empty])
        if others.num_columns:
            parts.insert(0, _encoded(others, self._repeating))
        self._write_group(parts)
        self._rows += len(table)

    def _write_group(self, parts: list[_Columns]) -> None:
        begin = self._at
        columns: dict[bytes, list[Struct]] = {}
        for part in parts:
            for name, column in part.moved(self._at - len(_MAGIC)):
                columns.setdefault(name, []).append(column)
            self._write(part.data)
        in_order = [one for name in self._schema.names for one in columns[name.encode()]]
        group = {
            **parts[0].group,
            _GROUP_COLUMNS: (LIST, (STRUCT, in_order)),
            _GROUP_OFFSET: (I64, begin),
            **{
                field: (I64, sum(part.group[field][1] for part in parts))
                for field in (_GROUP_SIZE, _GROUP_PACKED)
            },
        }
        group.pop(_GROUP_ORDINAL, None)  # which need not be there
        self._groups.append(struct_bytes(group))

    def close(self) -> None:
        """Write the footer; the stream stays open."""
        footer = _footer(_file_of(self._schema.empty_table(), self._repeating))
        footer[_FILE_ROWS] = I64, self._rows
        footer[_FILE_GROUPS] = LIST, (STRUCT, self._groups)
        data = struct_bytes(footer)
        self._write(data + len(data).to_bytes(4, "little") + _MAGIC)


class BatchWriter:
    """Writes a Parquet file of many small batches, to a stream that is opened for the first group."""

    def __init__(
        self, open_stream: Callable[[], Any], schema: Any, repeating: Iterable[str]
    ) -> None:
        self._open = open_stream
        self._schema = schema
        self._repeating = tuple(name for name in repeating if name in schema.names)
        self._groups = RowGroups()
        self._writer: RowGroupWriter | None = None
        self.stream: Any = None
        self.rows = 0

    def add(self, batch: Any) -> None:
        """Add a batch."""
        self.rows += len(batch)
        for group in self._groups.add(batch):
            self._begun().write(group)

    def _begun(self) -> RowGroupWriter:
        if self._writer is None:
            self.stream = self._open()
            self._writer = RowGroupWriter(self.stream, self._schema, self._repeating)
        return self._writer

    def close(self) -> None:
        """Complete the file; the stream stays open."""
        for group in self._groups.rest():
            self._begun().write(group)
        self._begun().close()


@lru_cache(maxsize=32)
def _empty(field: Any, rows: int) -> _Columns:
    """Return a column without a value."""
    pa = pyarrow()
    table = pa.Table.from_arrays([pa.nulls(rows, field.type)], schema=pa.schema([field]))
    return _encoded(table, ())


def _encoded(table: Any, repeating: tuple[str, ...]) -> _Columns:
    data = _file_of(table, repeating)
    (group,) = _footer(data)[_FILE_GROUPS][1][1]
    return _Columns(data[len(_MAGIC) : -_END - _footer_size(data)], group)


def _file_of(table: Any, repeating: tuple[str, ...]) -> Any:
    """Return a table as a Parquet file, in one row group."""
    sink = pyarrow().BufferOutputStream()
    with pyarrow(".parquet").ParquetWriter(
        sink, table.schema, compression="zstd", use_dictionary=list(repeating)
    ) as writer:
        if len(table):
            writer.write_table(table, row_group_size=len(table))
    return memoryview(sink.getvalue())


def _footer(data: Any) -> Struct:
    return Reader(bytes(data[-_END - _footer_size(data) : -_END])).struct()


def _footer_size(data: Any) -> int:
    return int.from_bytes(data[-_END : -len(_MAGIC)], "little")
