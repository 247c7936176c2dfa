"""One table for each extension: what stands in it is read, kept, put into tables and written again."""

import json
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from export_trees import exported

from usp._formats.extension_reader import TableReader
from usp.export import COLUMNS, FORMATS
from usp.export.schema import arrow_schema, arrow_type
from usp.export.sitemaps import SITEMAP_COLUMNS, problem_columns, sitemap_rows
from usp.export.xml_file import record_text
from usp.objects.extension_values import EACH, SELF, FieldSpec, Kind, Table
from usp.objects.extensions import EXTENSIONS
from usp.objects.problem import Problem, ProblemCode
from usp.objects.sitemap import AbstractPagesSitemap, AbstractSitemap
from usp.objects.video import SitemapVideo
from usp.tree import sitemap_from_bytes, sitemap_tree_for_homepage
from website import index, robots, urlset

WITH_FIELDS = pytest.mark.parametrize(
    "extension", [one for one in EXTENSIONS if one.table.specs], ids=lambda one: one.prefix
)

SAMPLES = {  # what stands in the document, and what it is read as
    Kind.TEXT: ("Oranges & lemons", "Oranges & lemons"),
    Kind.VERBATIM: ("https://example.org/en", "https://example.org/en"),
    Kind.ADDRESS: ("/thumb", "https://example.org/thumb"),
    Kind.ADDRESS_OR_NAME: ("/terms", "https://example.org/terms"),
    Kind.TIME: ("2024-05-31T12:00:00Z", datetime(2024, 5, 31, 12, tzinfo=UTC)),
    Kind.NUMBER: ("4.5", Decimal("4.5")),
    Kind.WHOLE: ("17", 17),
    Kind.FLAG: ("yes", True),
}


def sample(spec: FieldSpec) -> tuple[str, object]:
    """Return a text for a field that is not a record, and its value."""
    text, value = SAMPLES[spec.kind]
    if not spec.many:
        return text, value
    return f"one{spec.many}two", ("one", "two")


def written(prefix: str, tag: str, table: Table) -> str:
    """Return the element of a record with every field of its table, written without the exporter."""
    attributes = "".join(f' {name}="{text}"' for name, text in table.fixed.items())
    inside = ""
    for name, specs in table.elements.items():
        text, given = "", ""
        for spec in specs:
            if isinstance(spec.kind, Table):
                continue
            if spec.attribute:
                given += f' {spec.attribute}="{_xml(sample(spec)[0])}"'
            else:
                text = _xml(sample(spec)[0])
        if name == SELF:
            attributes, inside = attributes + given, inside + text
        elif isinstance(specs[0].kind, Table):
            inside += written(prefix, name, specs[0].kind)
        else:
            inside += f"<{prefix}:{name}{given}>{text}</{prefix}:{name}>"
    return f"<{prefix}:{tag}{attributes}>{inside}</{prefix}:{tag}>"


def _xml(text: str) -> str:
    return text.replace("&", "&amp;")


def check(table: Table, value: object) -> None:
    """See that a value has what :func:`written` wrote."""
    for spec in table.specs:
        if spec.feeds_only:
            continue
        held = table.getters[spec.name](value)
        if isinstance(spec.kind, Table):
            check(spec.kind, held[0] if spec.many == EACH else held)
        elif spec.many == EACH:
            assert list(held) == [sample(spec)[1]], spec.name
        elif spec.many:
            assert tuple(held) == sample(spec)[1], spec.name
        else:
            assert held == sample(spec)[1], spec.name


def read(prefix: str, namespace: str, record: str) -> AbstractSitemap:
    """Return the tree of a document with one record."""
    data = urlset(
        f'<url xmlns:{prefix}="{namespace}"><loc>https://example.org/</loc>{record}</url>'
    )
    return sitemap_from_bytes(data.encode(), "https://example.org/sitemap.xml")


def document(extension) -> AbstractSitemap:
    record = written(extension.prefix, extension.table.element, extension.table)
    return read(extension.prefix, extension.namespace, record)


@WITH_FIELDS
def test_every_field_is_read_and_kept_and_survives_the_export_to_xml(extension):
    tree = document(extension)
    assert tree.problems == []
    (page,) = tree.all_pages()
    held = getattr(page, extension.field)
    check(extension.table, held[0] if extension.many else held)
    again = sitemap_from_bytes(exported([page], "xml"))
    assert again.problems == []
    assert list(again.all_pages()) == [page]


@pytest.mark.parametrize("extension", [one for one in EXTENSIONS if one.table.specs and one.column])
def test_every_field_is_a_column_of_the_tables(extension):
    column = extension.column
    names = [spec.column or spec.name for spec in extension.table.in_order]
    read = {spec.column or spec.name for spec in extension.table.specs if not spec.feeds_only}
    kind = arrow_schema().field(column).type
    record = kind.value_type if extension.many else kind
    assert [one.name for one in record] == names
    tree = document(extension)
    (of_arrow,) = tree.to_arrow([column]).to_pylist()
    for row in (of_arrow, json.loads(exported(tree, "jsonl", columns=[column]))):
        value = row[column][0] if extension.many else row[column]
        assert list(value) == names
        assert {name for name in names if value[name]} == read


@pytest.mark.parametrize("extension", EXTENSIONS, ids=lambda one: one.prefix)
def test_a_table_and_its_value_have_the_same_fields(extension):
    waiting = [extension.table]
    while waiting:
        table = waiting.pop()
        names = [spec.name for spec in table.specs]
        assert len(set(names)) == len(names)
        if table.value is not None:
            assert set(names) == {one.name for one in fields(table.value)}
        waiting += [spec.kind for spec in table.specs if isinstance(spec.kind, Table)]


def test_a_new_field_needs_an_attribute():
    """No other place is told of it: the parser, the tables and the XML follow."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Subtitled(SitemapVideo):
        subtitle_count: int | None = None

    table = Table.of("video", Subtitled)
    assert "subtitle_count" in table.names()

    elements = ["video", "", "", "title", "Tea", "", "subtitle_count", "3", ""]
    value = TableReader(table, "video").read(elements, lambda *_: None, None)
    assert value == Subtitled(title="Tea", subtitle_count=3)
    assert "<video:subtitle_count>3</video:subtitle_count>" in record_text(
        "video", "video", table, value
    )
    assert arrow_type(FieldSpec("videos", table)).field("subtitle_count").type == "int64"


def test_what_cannot_be_read_is_a_problem_wherever_it_stands():
    video = (
        '<video:player_loc allow_embed="perhaps">https://example.org/p</video:player_loc>'
        '<video:content_segment_loc duration="long">https://example.org/s</video:content_segment_loc>'
        "<video:tvshow><video:season_number>two</video:season_number></video:tvshow>"
    )
    namespace = "http://www.google.com/schemas/sitemap-video/1.1"
    problems = read("video", namespace, f"<video:video>{video}</video:video>").problems
    assert {problem.code for problem in problems} == {ProblemCode.BAD_EXTENSION_FIELD}
    assert [problem.excerpt for problem in problems] == [
        "video:player_loc[allow_embed]: perhaps",
        "video:content_segment_loc[duration]: long",
        "video:season_number: two",
    ]


# The table of sitemaps: what is wrong with each, how much of it came; what documents say of it ----


def site_of(serve, **documents):
    pages = {f"/{name}.xml": body for name, body in documents.items()}
    paths = [f"/{name}.xml" for name in documents]
    return serve({"/robots.txt": robots("/i.xml"), "/i.xml": index(*paths), **pages})


def rows_of(site, **options):
    tree = sitemap_tree_for_homepage(site.url("/"), use_known_paths=False)
    return {row["url"].rpartition("/")[2]: row for row in sitemap_rows(tree, **options)}


def test_problems_are_counted_by_their_codes_the_most_frequent_first():
    problems = [
        Problem("x", code=ProblemCode.NO_LOC),
        Problem("x", code=ProblemCode.BAD_LASTMOD, times=4),
        Problem("x", code=ProblemCode.BAD_LASTMOD),
    ]
    found = problem_columns(problems)
    assert found == {"problems": 6, "problem_codes": "bad-lastmod:5 no-loc:1"}
    assert problem_columns([]) == {"problems": 0, "problem_codes": None}


def test_who_does_not_ask_for_problems_does_not_wait_for_them(serve, monkeypatch):
    site = site_of(serve, a=urlset("/p"))
    monkeypatch.setattr(AbstractPagesSitemap, "problems", None)
    row = rows_of(site, problems=False)["a.xml"]
    assert (row["pages"], row["problems"], row["problem_codes"]) == (1, None, None)


def test_the_bytes_of_a_document_that_is_refused_are_told(serve):
    page = "<!doctype html><html><head><title>Oops</title></head><body>Oops</body></html>"
    row = rows_of(site_of(serve, a=page))["a.xml"]
    assert (row["type"], row["status"], row["bytes"]) == ("invalid", 200, len(page))


def test_every_column_is_named_and_every_format_described():
    guide = Path(__file__).parents[2] / "docs" / "guides" / "data.md"
    text = guide.read_text(encoding="utf-8")
    assert [name for name in (*COLUMNS, *SITEMAP_COLUMNS) if f"`{name}`" not in text] == []
    assert [form for form in FORMATS if f"**{form}**" not in text] == []
