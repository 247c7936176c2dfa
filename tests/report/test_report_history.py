"""A website over time, and the attempts at its documents."""

import gzip
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner
from report_trees import SITE, charts, sitemap, website

import usp
from usp._demo import demo_site
from usp.cli.commands.cmd_report import command
from usp.exceptions import SnapshotError
from usp.objects.exchange import Exchange
from usp.objects.sitemap import PagesXMLSitemap
from usp.report import html, summarise
from website import Answer, robots, urlset

BEGUN = datetime(2025, 3, 31, 12, tzinfo=UTC)


def crawl(days: int, *pages: str):
    """A website so many days later, whose pages have these dates."""
    url = f"{SITE}/b.xml"
    entries = [f"<loc>{SITE}/{at}</loc><lastmod>{day}</lastmod>" for at, day in enumerate(pages)]
    exchange = Exchange(url, url, started=BEGUN + timedelta(days))
    return website(sitemap("a.xml", *entries), PagesXMLSitemap(url, [], exchange=exchange))


def test_trees_are_put_into_the_order_of_their_crawls():
    earlier = [crawl(9, "2025-03-01", "x"), crawl(0, "2025-03-01", "2025-04-02", "2020-01-01")]
    points = summarise(crawl(30, ""), history=earlier).history
    assert [point.when for point in points] == [BEGUN + timedelta(days) for days in (0, 9, 30)]
    counted = [(point.pages, point.dated, point.fresh, point.newest) for point in points]
    assert counted == [
        (3, 3, 1, "2025-04-02"), (2, 1, 0, "2025-03-01"), (1, 0, 0, None)
    ]  # fmt: skip
    assert [point.errors > 0 for point in points] == [False, True, False]
    text = html(crawl(30, ""), history=earlier)
    drawn = charts(text)
    assert drawn["history-0"]["labels"] == ["2025-03-31", "2025-04-09", "2025-04-30"]
    assert drawn["history-0"]["values"] == [3, 2, 1]
    assert [one["name"] for one in drawn["history-1"]["series"]] == ["errors", "warnings"]
    assert "history-2" in drawn
    assert "history-2" not in charts(html(crawl(30, ""), history=[crawl(9, "2020-01-01")]))
    assert 'id="history"' in text
    assert 'id="history"' not in html(crawl(0))


def test_a_folder_has_snapshots_of_the_website_and_other_files(tmp_path, caplog):
    folder = tmp_path / "history"
    folder.mkdir()
    (folder / "notes.txt").write_text("nothing")
    (folder / "cut.warc.gz").write_bytes(gzip.compress(b"WARC/1.0\r\n"))
    with demo_site() as other:
        usp.sitemap_tree_for_homepage(other, record=folder / "other.warc.gz")
    with demo_site() as url:
        port = int(url.rstrip("/").rpartition(":")[2])
        for name in "ba":  # whose order is not that of the crawls
            usp.sitemap_tree_for_homepage(url, record=folder / f"{name}.warc.gz")
        usp.sitemap_tree_for_homepage(url, record=tmp_path / "now.warc.gz")
    with demo_site(port, later=True) as url:
        usp.sitemap_tree_for_homepage(url, record=folder / "c.warc.gz")
    tree = usp.load(tmp_path / "now.warc.gz")
    points = summarise(tree, history=folder).history
    assert len(points) == 4
    assert "cut.warc.gz" in caplog.text
    assert [point.when for point in points] == sorted(point.when for point in points)
    assert [point.fresh for point in points] == [0, 0, 0, 2]

    report, empty = tmp_path / "r.html", tmp_path / "empty"
    argv = [str(tmp_path / "now.warc.gz"), "-o", str(report), "--history"]
    assert CliRunner().invoke(command, [*argv, str(folder)]).exit_code == 0
    assert "4 crawls." in report.read_text()
    empty.mkdir()
    refused = CliRunner().invoke(command, [*argv, str(empty)])
    assert refused.exit_code == 2
    assert "no snapshot of " in refused.output
    with pytest.raises(SnapshotError):
        summarise(tree, history=str(empty))


def test_trees_and_snapshots_know_every_attempt_at_a_document(serve, tmp_path):
    busy = Answer("", 503)
    site = serve(
        {
            "/a.xml": [busy, busy, urlset("/p")],
            "/b.xml": busy,
            "/robots.txt": robots("/a.xml", "/b.xml"),
        }
    )
    tree = usp.sitemap_tree_for_homepage(site.url("/"), record=tmp_path / "s.warc.gz")
    for one in (tree, usp.load(tmp_path / "s.warc.gz")):
        known = {node.url: node.exchange for node in one.all_sitemaps()}
        for path, attempts in (("/robots.txt", 1), ("/a.xml", 3), ("/b.xml", 5)):
            exchange = known[site.url(path)]
            begun = [when for when, _ in exchange.earlier]
            assert (exchange.attempts, len(begun)) == (attempts, attempts - 1)
            assert sorted(begun) == begun
            assert all(when < exchange.started for when in begun)


def test_every_attempt_at_a_document_is_shown():
    tried = tuple((BEGUN + timedelta(seconds=at), 0.5) for at in (0, 2))
    known = {"started": BEGUN + timedelta(seconds=6), "seconds": 0.25, "attempts": 3}
    urls = [f"{SITE}/{name}.xml" for name in "ab"]
    nodes = [
        PagesXMLSitemap(url, [], exchange=Exchange(url, url, **known, earlier=earlier))
        for url, earlier in zip(urls, (tried, ()), strict=True)
    ]
    text = html(website(*nodes))
    chart = charts(text)["fetches"]
    assert (chart["begin"], chart["earlier"]) == ([6, 6], [[[0, 0.5], [2, 0.5]], []])
    assert "Attempts before the last one are paler." in text
