import contextlib
import re
import socket
import subprocess
import tempfile
import webbrowser
from pathlib import Path

import pytest

import usp
from quick_usp import usp_command
from usp._demo import demo_site
from usp.cli.treeview import TreeView, summary
from usp.objects.sitemap import IndexWebsiteSitemap, InvalidSitemap
from usp.tree import sitemap_tree_for_homepage
from usp.web_client.requests_client import RequestsWebClient
from website import urlset


def test_the_demo_ends_by_itself_and_shows_everything(run):
    ended = run("demo").ends(0, err="")
    for part in (
        r"/robots\.txt  robots\.txt: 3 sitemaps",
        r"/sitemaps/pages\.xml  XML: 4 pages with 5 alternates",
        r"/sitemaps/media/images\.xml  XML: 2 pages with 3 images",
        r"/sitemaps/media/videos\.xml  XML: 1 page with 1 video",
        r"/sitemaps/archive\.xml\.gz  XML: 3 pages",
        r"/sitemaps/shop\.xml  XML: 4 pages",
        r"error SM356: line 4: an ampersand",
        r"an entry has no loc \(1 entry lost\)",
        r"/sitemaps/moved-away\.xml  failed\n.* error SM150: 404 Not Found",
        r"/blog/feed\.rss  RSS: 2 pages",
        r"/places\.txt  text: 3 pages",
        r"/sitemap-news\.xml  XML: 2 pages with 2 stories",
        r"red: 2 sitemaps are missing or incomplete\.\n21 pages in 12 sitemaps; 13 findings \(9 errors, 2 warnings, 2 infos\)",
    ):
        assert re.search(part, ended.out), part
    assert "\x1b" not in ended.out
    assert not [line for line in ended.lines if line != line.rstrip()]
    assert ended.lines[-1].endswith("usp tree -p example.org")  # with problems, as the demo


@pytest.fixture
def browser(tmp_path, monkeypatch):
    """A browser that writes down what it was asked to open, and keeps it."""
    script = tmp_path / "browser"
    script.write_text('#!/bin/sh\necho "$1" >> "$0.opened"\ncp "${1#file://}" "$0.html"\n')
    script.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(script))
    monkeypatch.setattr(webbrowser, "_tryorder", None)  # which it remembers
    monkeypatch.setattr("usp.cli.commands.cmd_demo.LOADING", 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return script


@pytest.mark.parametrize(
    ("argv", "said", "opened"),
    [
        ([], "HTML report: usp demo --open shows one", None),
        (["-o", "demo.html"], "HTML report: demo.html", None),
        (["-o", "demo.html", "--open"], "HTML report: demo.html", r"/demo\.html"),
        (["--open"], None, r"/temporary/usp-demo-\w+/report\.html"),
    ],
)
def test_the_demo_leaves_nothing_but_the_report_that_was_asked_for(
    run, browser, tmp_path, argv, said, opened
):
    here = tmp_path / "here"
    here.mkdir()
    with contextlib.chdir(here):
        ended = run("demo", *argv).ends(0, err="")
    told = [line for line in ended.lines if line.startswith("HTML report")]
    assert told == ([] if said is None else [said])
    assert [path.name for path in here.iterdir()] == argv[1:2]
    assert list((tmp_path / "temporary").iterdir()) == []
    log = Path(f"{browser}.opened")
    assert log.exists() == (opened is not None)
    if opened is not None:
        assert re.search(f"^file://{re.escape(str(tmp_path))}.*{opened}$", log.read_text())
        assert Path(f"{browser}.html").read_text().startswith("<!DOCTYPE html>")


def test_a_report_is_opened_and_a_missing_browser_is_told(run, browser, tmp_path, monkeypatch):
    sitemap = tmp_path / "a.xml"
    sitemap.write_text(urlset("https://example.org/"))
    report = tmp_path / "report.html"
    run("report", str(sitemap), "-o", str(report), "--open").ends(0, err="")
    assert Path(f"{browser}.opened").read_text() == f"{report.as_uri()}\n"
    assert "--open needs a file" in run("report", str(sitemap), "-o", "-", "--open").ends(2).err
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    ended = run("report", str(sitemap), "-o", str(report), "--open")
    assert ended.status == 0
    assert "no browser could be opened" in ended.err


def test_the_demo_site_works_at_any_port_and_is_gone_afterwards():
    client = RequestsWebClient()
    with demo_site() as one, demo_site() as two:
        assert one != two
        trees = [sitemap_tree_for_homepage(url) for url in (one, two)]
        assert "404" in client.get(f"{one}nothing.xml").message()
    assert client.get(f"{one}robots.txt").unreachable
    client.close()
    for url, tree in zip((one, two), trees, strict=True):
        assert all(page.url.startswith(url) for page in tree.all_pages())
        assert tree.page_count() == 21


def test_a_served_demo_can_be_read_by_other_programs():
    command = [*usp_command(), "demo", "--serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            url = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())[0]
            assert usp.sitemap_tree_for_homepage(url).page_count() == 21
            assert process.poll() is None
        finally:
            process.terminate()


def test_a_port_that_is_taken_is_named(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = run("demo", "--serve", "--port", port)
    assert ended.status == 2
    assert f"port {port} cannot be used" in ended.err


def test_the_demo_changes_by_the_next_day(tmp_path):
    """So that updates, diffs and watches have something to show at the same address."""
    snapshot = tmp_path / "demo.warc.gz"
    with demo_site() as url:
        usp.sitemap_tree_for_homepage(url, record=snapshot)
        update = usp.update(snapshot, output=tmp_path / "same.warc.gz")
        assert (update.changed, update.added, update.not_modified > 8) == (0, 0, True)
    port = int(url.rstrip("/").rpartition(":")[2])
    with demo_site(port, later=True) as later:
        changes = usp.diff(snapshot, usp.sitemap_tree_for_homepage(later))
        found = [(str(change.kind), change.url.removeprefix(url)) for change in changes]
    assert later == url
    assert sorted(found) == [
        ("added", "news/tea-fair"),
        ("added", "visit"),
        ("changed", "menu"),
        ("removed", "news/harvest"),
        ("removed", "opening-hours"),
    ]


def test_a_tree_view_lets_no_markup_and_no_escapes_through():
    tree = IndexWebsiteSitemap(
        "http://x/", [InvalidSitemap("http://x/[red]\x1b", "[bold]\x1b[2J it failed")]
    )
    view = TreeView(tree)
    _, child, finding = view.drawn()
    assert child == "└── /[red]%1B  failed"
    assert finding == "    └── warning SM060: [bold]%1B[2J it failed"
    lines = list(summary(view.wrong))
    assert lines[0] == "red: http://x/[red]%1B could not be read: [bold]%1B[2J it failed."
    assert lines[2] == "0 pages in 1 sitemap; 1 finding (1 warning)."
