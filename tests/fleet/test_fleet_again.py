"""A crawl of all sites again: rows are replaced, and what has not changed is not downloaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fleet_support import OPTIONS, crawled, rows_of, tables_of

from usp.fleet import DatasetError
from usp.fleet.dataset import Dataset
from usp.selection import Selection
from website import TaggedSite, index, robots, urlset


@pytest.fixture
def web(served) -> list[TaggedSite]:
    """Three websites: an index of three, one sitemap, and a text file."""
    indexed = {
        "/robots.txt": robots("/index.xml"),
        "/index.xml": index("/a.xml", "/b.xml", "/c.xml"),
        "/a.xml": urlset("/a", "/bb", "/ccc"),
        "/b.xml": urlset("/d"),
        "/c.xml": urlset("/e", "/ff"),
    }
    single = {"/robots.txt": robots("/m.xml"), "/m.xml": urlset("/m", "/nn")}
    text = {"/robots.txt": robots("/t.txt"), "/t.txt": "{base}/1\n{base}/2\n"}
    return served(indexed, single, text, kind=TaggedSite)


def all_rows(root: Path) -> dict[str, list[str]]:
    """Read the tables without what differs from one crawl to the next."""
    return tables_of(root, {"sites": {"bytes"}, "sitemaps": {"bytes", "status"}})


def statuses(root: Path) -> dict[str, int]:
    return {row["url"].rpartition("/")[2]: row["status"] for row in rows_of(root, "sitemaps")}


def test_only_what_has_changed_is_downloaded_and_the_tables_are_as_after_a_new_crawl(web, tmp_path):
    root = tmp_path / "dataset"
    crawled(web, root)
    for site in web:
        site.forget()
    web[0].answers["/b.xml"] = urlset("/d", "/new")
    del web[0].answers["/c.xml"]
    web[0].answers["/index.xml"] = index("/a.xml", "/b.xml", "/z.xml")
    web[0].answers["/z.xml"] = urlset("/z")
    summary = crawled(web, root, again=True)
    assert summary["sites"] == 3
    assert sorted(web[0].bodies) == ["/b.xml", "/index.xml", "/robots.txt", "/z.xml"]
    assert [site.bodies for site in web[1:]] == [["/robots.txt"], ["/robots.txt"]]
    told = statuses(root)
    assert {name for name, status in told.items() if status == 304} == {"a.xml", "m.xml", "t.txt"}
    assert told["b.xml"] == told["z.xml"] == 200
    crawled(web, tmp_path / "new")
    assert all_rows(root) == all_rows(tmp_path / "new")
    web[0].forget()
    crawled(web, root, again=True)  # the validators are still there
    assert all_rows(root) == all_rows(tmp_path / "new")
    assert sorted(web[0].bodies) == ["/index.xml", "/robots.txt"]


def test_a_sitemap_that_is_declared_once_more_has_its_pages_once_more(web, tmp_path):
    root = tmp_path / "dataset"
    crawled(web, root)
    web[0].answers["/robots.txt"] = robots("/a.xml", "/index.xml")
    crawled(web, root, again=True)
    assert statuses(root)["a.xml"] == 304
    crawled(web, tmp_path / "new")
    assert all_rows(root) == all_rows(tmp_path / "new")


CHOSEN = replace(OPTIONS, selection=Selection(include=["*/ff", "*/a", "*/nn"]))


def test_rows_that_other_options_have_chosen_are_not_kept(web, tmp_path):
    root = tmp_path / "dataset"
    crawled(web, root)
    columns = replace(OPTIONS, columns=("url", "lastmod"))
    unique = replace(OPTIONS, selection=Selection(unique=True))
    for number, options in enumerate((columns, CHOSEN, unique)):
        crawled(web, root, options, again=True)
        assert set(statuses(root).values()) == {200}
        crawled(web, tmp_path / f"new-{number}", options)
        ours, new = all_rows(root), all_rows(tmp_path / f"new-{number}")
        assert len(ours["pages"]) == len(new["pages"])
        assert ours["sites"] == new["sites"]


@pytest.mark.parametrize(
    ("options", "pages"),
    [(CHOSEN, 3), (replace(OPTIONS, pages=False), 10)],
    ids=["filter", "counts"],
)
def test_options_that_are_the_same_keep_what_they_have_chosen(web, tmp_path, options, pages):
    root = tmp_path / "dataset"
    crawled(web, root, options)
    before = Dataset(root).sites("pages"), options.pages and all_rows(root)
    assert crawled(web, root, options, again=True)["pages"] == pages
    assert 304 in statuses(root).values()
    assert (Dataset(root).sites("pages"), options.pages and all_rows(root)) == before


def test_what_was_begun_is_continued_and_then_begun_anew(web, tmp_path, monkeypatch):
    root = tmp_path / "dataset"
    crawled(web, root)

    def lost(*_: object) -> None:
        raise DatasetError("the store does not respond")

    for step, some in (("commit", web), ("end_again", web[:2])):  # none is done, then two are
        with monkeypatch.context() as patch:
            patch.setattr(Dataset, step, lost)
            with pytest.raises(DatasetError):
                crawled(some, root, again=True)
    assert crawled(web, root)["sites"] == 0  # nothing is missing meanwhile
    assert crawled(web, root, again=True)["sites"] == 1
    assert crawled(web, root, again=True)["sites"] == 3
    assert len(Dataset(root).sites()) == 3


def test_older_versions_can_be_read_if_they_are_kept(web, tmp_path):
    root = tmp_path / "dataset"
    crawled(web, root)
    table = Dataset(root).table("pages")
    version, pages = table.version(), table.to_pyarrow_table().num_rows
    web[1].answers["/m.xml"] = urlset("/m")
    for _ in range(2):
        crawled(web, root, again=True, keep_versions=True)
    table = Dataset(root).table("pages")
    assert table.to_pyarrow_table().num_rows == pages - 1
    table.load_as_version(version)
    assert table.to_pyarrow_table().num_rows == pages
    before = tables_of(root)
    crawled(web, root)  # without them, plain globs are exact again
    assert len(tables_of(root)["pages"]) == pages - 1 < len(before["pages"])
