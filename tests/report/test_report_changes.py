"""The report shows what changed since another tree, if it is given one."""

from __future__ import annotations

import pytest

from usp.cli import main
from usp.objects.page import SitemapPage
from usp.objects.sitemap import IndexWebsiteSitemap, InvalidSitemap, PagesXMLSitemap
from usp.report import html, summarise
from usp.report.changes import MAX_CHANGES

H = "http://h"


def tree(*pages: str, failed: bool = False) -> IndexWebsiteSitemap:
    nodes = [PagesXMLSitemap(f"{H}/a.xml", [SitemapPage(f"{H}/{page}") for page in pages])]
    if failed:
        nodes.append(InvalidSitemap(f"{H}/b.xml", "503"))
    return IndexWebsiteSitemap(f"{H}/", nodes)


def test_without_another_tree_there_is_no_such_section():
    assert summarise(tree("1")).changes is None
    assert 'id="changes"' not in html(tree("1"))


def test_changes_are_counted_and_some_are_listed():
    many = [f"new-{number}" for number in range(MAX_CHANGES + 20)]
    before, after = tree("1", "2"), tree("1", *many, failed=True)
    found = summarise(after, before=before).changes
    assert {kind: of_kind.count for kind, of_kind in found.pages.items()} == {
        "added": len(many), "removed": 1,
    }  # fmt: skip
    assert len(found.pages["added"].first) == MAX_CHANGES
    assert list(found.sitemaps) == ["failed"]
    page = html(after, before=before)
    assert 'id="changes"' in page
    assert f"{len(many)} pages added" in page
    assert "1 page removed" in page
    assert "/new-0" in page
    assert f"new-{MAX_CHANGES + 1}" not in page


def test_what_a_website_wrote_is_escaped():
    page = html(tree("<script>alert(1)</script>"), before=tree())
    assert "<script>alert" not in page


def test_the_same_tree_is_said_to_be_the_same():
    assert "Nothing changed." in html(tree("1"), before=tree("1"))


def test_the_command_compares(tmp_path, capsys):
    for name, pages in (("old.xml", "1"), ("new.xml", "12")):
        locs = "".join(f"<url><loc>{H}/{page}</loc></url>" for page in pages)
        (tmp_path / name).write_text(f"<urlset>{locs}</urlset>")
    out = tmp_path / "report.html"
    given = [str(tmp_path / "new.xml"), "--compare", str(tmp_path / "old.xml"), "-o", str(out)]
    with pytest.raises(SystemExit) as ended:
        main(["report", *given])
    capsys.readouterr()
    assert ended.value.code == 0
    assert "1 page added" in out.read_text()
