"""Row groups that are put together from encoded columns are those that Arrow itself would write."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from export_trees import RICH, tree_of
from hypothesis import given
from hypothesis import strategies as st

from usp.export import row_groups, write
from usp.export.row_groups import RowGroups, RowGroupWriter
from usp.export.thrift import I64, LIST, STRUCT, Reader, struct_bytes

SCHEMA = pa.schema(
    [
        ("images", pa.list_(pa.struct([("loc", pa.string()), ("sizes", pa.list_(pa.int64()))]))),
        ("url", pa.string()),
        ("word", pa.dictionary(pa.int32(), pa.string())),
        ("news", pa.struct([("title", pa.string()), ("at", pa.timestamp("us", "UTC"))])),
    ]
)
IMAGES = [{"loc": "a", "sizes": [1, 2]}, {"loc": None, "sizes": None}]


def batch(rows: int, *, images: bool = False, news: bool = False) -> pa.RecordBatch:
    values = [
        {
            "images": IMAGES if images and at % 3 == 1 else None,
            "url": f"https://example.org/{at}",
            "word": ("daily", None, "weekly")[at % 3],
            "news": {"title": f"story {at}", "at": None} if news else None,
        }
        for at in range(rows)
    ]
    return pa.RecordBatch.from_pylist(values, schema=SCHEMA)


MIXED = [
    [batch(40), batch(2)],
    [batch(42)],
    [batch(42, images=True)],
    [batch(7), batch(35, news=True)],
    [batch(1, images=True, news=True)],
    [batch(5)],
]


def file_of(groups: list[list[pa.RecordBatch]], schema: pa.Schema = SCHEMA) -> bytes:
    stream = io.BytesIO()
    writer = RowGroupWriter(stream, schema, ("word",))
    for group in groups:
        writer.write(group)
    writer.close()
    return stream.getvalue()


def described(data: bytes) -> list[dict[str, object]]:
    """Return what a file says about its columns, except for where they are."""
    metadata = pq.ParquetFile(io.BytesIO(data)).metadata.to_dict()
    for group in metadata["row_groups"]:
        for column in group["columns"]:
            for place in ("file_offset", "data_page_offset", "dictionary_page_offset"):
                column.pop(place, None)
    return metadata["row_groups"]


def test_a_file_holds_what_arrows_own_writer_would_write():
    ours = file_of(MIXED)
    stream = io.BytesIO()
    with pq.ParquetWriter(stream, SCHEMA, compression="zstd", use_dictionary=["word"]) as writer:
        for group in MIXED:
            writer.write_table(pa.Table.from_batches(group).unify_dictionaries())
    theirs = stream.getvalue()
    assert described(ours) == described(theirs)
    assert pq.read_schema(io.BytesIO(ours)).equals(pq.read_schema(io.BytesIO(theirs)))
    table = pq.read_table(io.BytesIO(ours))
    table.validate(full=True)
    assert table.equals(pq.read_table(io.BytesIO(theirs)))


def test_row_groups_follow_each_other_without_gaps():
    """Spark takes the place of a group from the size of those before it."""
    data = file_of(MIXED)
    footer = Reader(data[-8 - int.from_bytes(data[-8:-4], "little") : -8]).struct()
    place = 4
    for group in footer[4][1][1]:
        assert group[5][1] == place
        place += group[6][1]
    assert place == len(data) - 8 - int.from_bytes(data[-8:-4], "little")


def test_other_programs_read_all_groups(tmp_path):
    import duckdb  # noqa: PLC0415 - both take long to load, and only this test needs them
    import polars as pl  # noqa: PLC0415

    path = tmp_path / "table.parquet"
    path.write_bytes(file_of(MIXED))
    expected = [row for group in MIXED for one in group for row in one.to_pylist()]
    assert pl.read_parquet(path).to_dicts() == expected
    found = duckdb.sql(f"select images, url, word::varchar, news from '{path}'").fetchall()
    assert [dict(zip(SCHEMA.names, row, strict=True)) for row in found] == expected
    count = f"select count(*) from '{path}' where images is not null and url < 'https://f'"
    assert duckdb.sql(count).fetchall() == [(14,)]


@pytest.mark.parametrize("names", [("news",), ("news", "images"), ("url",), ("news", "url")])
def test_any_of_the_columns_make_a_file(names):
    schema = pa.schema([SCHEMA.field(name) for name in names])
    for with_news in (False, True):
        one = batch(9, news=with_news).select(list(names))
        found = pq.read_table(io.BytesIO(file_of([[one], [one]], schema)))
        assert found.equals(pa.Table.from_batches([one, one]))


def test_without_rows_there_is_a_schema():
    found = pq.read_table(io.BytesIO(file_of([])))
    assert found.schema.equals(SCHEMA)
    assert not len(found)


def test_columns_without_a_value_are_encoded_once(monkeypatch):
    encoded = []
    file = row_groups._file_of

    def counted(table, repeating):
        encoded.extend(table.schema.names if len(table) else ())
        return file(table, repeating)

    row_groups._empty.cache_clear()
    monkeypatch.setattr(row_groups, "_file_of", counted)
    file_of([[batch(11)]] * 5)
    assert sorted(encoded) == ["images", "news", *["url"] * 5, *["word"] * 5]


def test_the_pages_of_a_site_come_in_groups_of_one_size(monkeypatch):
    """Otherwise the columns without a value would have to be encoded for each of them."""
    monkeypatch.setattr(row_groups, "GROUP_ROWS", 700)
    monkeypatch.setattr("usp.export.parquet_file._BATCH_ROWS", 300)
    stream = io.BytesIO()
    urls = "".join(f"<url><loc>https://x.org/{at}</loc></url>" for at in range(1000))
    plain = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
    write(tree_of(plain, RICH, plain), stream, "parquet")
    metadata = pq.ParquetFile(stream).metadata
    sizes = [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]
    assert len(sizes) > 2
    assert set(sizes[:-1]) == {700}


@given(st.lists(st.integers(0, 40), max_size=12))
def test_groups_have_all_rows_in_order(sizes):
    begin = 0
    batches = []
    for size in sizes:
        batches.append(pa.record_batch({"at": pa.array(range(begin, begin + size), pa.int64())}))
        begin += size
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_groups, "GROUP_ROWS", 25)
        patch.setattr(row_groups, "_GROUP_BYTES", 150)
        collected = RowGroups()
        groups = [group for one in batches for group in collected.add(one)]
        groups += collected.rest()
    found = [pa.Table.from_batches(group).column("at").to_pylist() for group in groups]
    assert [at for group in found for at in group] == list(range(begin))
    assert all(0 < len(group) <= 25 for group in found)


# What files say about themselves -------------------------------------------------------------------

integers = st.integers(-(1 << 63), (1 << 63) - 1).map(lambda number: (I64, number))
flags = st.booleans().map(lambda flag: (1 if flag else 2, flag))
texts = st.binary(max_size=200).map(lambda text: (8, text))


def structs(values):
    return st.dictionaries(st.integers(1, 90), values, max_size=6)


values = st.recursive(
    integers | flags | texts,
    lambda inner: (
        structs(inner).map(lambda fields: (STRUCT, fields))
        | st.lists(structs(inner), max_size=20).map(lambda items: (LIST, (STRUCT, items)))
    ),
    max_leaves=12,
)


@given(structs(values))
def test_a_struct_is_read_as_it_was_written(struct):
    assert Reader(struct_bytes(struct)).struct() == struct


def test_a_struct_that_is_bytes_already_is_written_as_it_is():
    inner = {1: (I64, 5), 40: (8, b"x")}
    whole = struct_bytes({2: (LIST, (STRUCT, [inner] * 20))})
    assert struct_bytes({2: (LIST, (STRUCT, [struct_bytes(inner)] * 20))}) == whole
