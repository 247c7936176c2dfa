"""The table of sitemaps: what is wrong with each, how much of it came; and what documents say of it."""

from __future__ import annotations

from pathlib import Path

from usp.export import COLUMNS, FORMATS
from usp.export.sitemaps import SITEMAP_COLUMNS, problem_columns, sitemap_rows
from usp.objects.problem import Problem, ProblemCode
from usp.objects.sitemap import AbstractPagesSitemap
from usp.tree import sitemap_tree_for_homepage
from website import index, robots, urlset


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
