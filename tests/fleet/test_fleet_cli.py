"""``usp crawl`` and ``usp stats``: what people type, and what they are told."""

import io
import json
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
from click.testing import Result
from fleet_support import (
    ALLOWED,
    OPTIONS,
    Served,
    check_truth,
    ended,
    invoke,
    outcomes_of,
    rows_of,
    tables_of,
)

from patience import soon
from usp.cli.commands import cmd_crawl as crawl
from usp.cli.commands import cmd_stats as stats
from usp.fleet import DatasetError, FleetProgress, FleetRun, crawl_fleet, dataset_stats
from usp.fleet.dataset import Dataset
from website import robots, rss, urlset

run = partial(invoke, crawl.command)


@pytest.fixture(scope="module")
def some(fleet) -> Served:
    """Some websites of every kind."""
    quick = [site for site in fleet.sites if site.kind not in {"huge", "slow"}]
    kinds = [site.kind for site in quick]
    chosen = [site for at, site in enumerate(quick) if kinds[:at].count(site.kind) < 2]
    return Served(fleet.port, chosen)


@pytest.fixture(scope="module")
def crawled(some, tmp_path_factory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("cli")
    sites = folder / "sites.txt"
    sites.write_text("\n".join(("# some sites", "x" * 9000, *some.urls)))
    result = run(sites, "-o", folder / "dataset", *ALLOWED)
    return folder / "dataset", result


def test_a_run_ends_with_a_summary_for_people_and_one_for_programs(crawled, some):
    root, result = crawled
    assert result.exit_code == 0, result.output
    assert f"{len(some.urls)} sites in" in result.output
    assert f"Next: usp stats {root}" in result.output
    assert "sites.txt: line 2 has more than 8,192 characters; left out" in result.output
    summary = json.loads((root / "_summary.json").read_text())
    assert summary["sites"] == summary["dataset"]["sites"] == len(some.urls)
    assert summary["pages"] == sum(len(site.pages) for site in some.sites)
    check_truth(root, some.sites)


def test_the_feeds_of_an_opml_file_are_read_with_their_sites(serve, tmp_path):
    site = serve({"/blog/feed": rss("/p"), "/robots.txt": robots("/a.xml"), "/a.xml": urlset("/a")})
    outline = f'<outline xmlUrl="{site.url("/blog/feed")}" htmlUrl="{site.url("/blog/")}"/>'
    (tmp_path / "feeds.opml").write_text(f"<opml><body>{outline}</body></opml>")
    result = run(tmp_path / "feeds.opml", "-o", tmp_path / "dataset", *ALLOWED)
    assert result.exit_code == 0, result.output
    pages = [row["url"] for row in rows_of(tmp_path / "dataset", "pages")]
    assert pages == [site.url("/a"), site.url("/p")]
    assert len(rows_of(tmp_path / "dataset", "sites")) == 1


def test_how_to_go_on_is_a_line_of_its_own(monkeypatch, tmp_path, capsys):
    def full(sites, output, run, heard):
        progress = FleetProgress()
        progress.total = 2
        heard(progress)
        raise DatasetError("the disk\x1b is full")

    monkeypatch.setattr("usp.fleet.run.crawl_fleet", full)
    (tmp_path / "sites.txt").write_text("a.example\nb.example\n")
    _, told = ended(capsys, "crawl", tmp_path / "sites.txt", "-o", "tables")
    lines = [
        "usp: the disk%1B is full",
        "0 of 2 sites are in tables; run the same command to resume",
    ]
    assert told.splitlines()[:2] == lines


def test_the_same_command_again_has_nothing_to_do(crawled, some):
    root, _ = crawled
    before = tables_of(root)
    result = run("-", "-o", root, *ALLOWED, stdin="\n".join(some.urls))
    assert result.exit_code == 0
    assert f"nothing to do ({len(some.urls)} were already there" in result.output
    summary = json.loads((root / "_summary.json").read_text())
    assert (summary["sites"], summary["before"]) == (0, len(some.urls))
    assert tables_of(root) == before


def test_only_those_that_failed_are_tried_again(some, root, tmp_path):
    """A site that nobody was let to is found once its network is allowed; others stay as they are."""
    good, bad = some.sites[0], next(site for site in some.sites if site.kind == "forbidden")
    sites = tmp_path / "sites.csv"
    sites.write_text(f"site,rank\n{good.url},1\n{bad.url},2\n")
    result = run(sites, "-o", root, "--workers", "1")
    assert result.exit_code == 0  # both are in the dataset, as failures
    assert set(outcomes_of(root).values()) == {"failed"}
    result = run(sites, "-o", root, *ALLOWED)
    assert "nothing to do (2 were already there; 2 failed, --retry-failed" in result.output
    result = run(sites, "-o", root, *ALLOWED, "--retry-failed")
    assert result.exit_code == 0, result.output
    check_truth(root, [good, bad])
    before = tables_of(root)
    result = run(sites, "-o", root, *ALLOWED, "--retry-failed", "-q")
    assert result.output == ""
    assert tables_of(root) == before
    result = run("-", "-o", root, *ALLOWED, "--retry-failed", stdin=some.sites[1].url)
    assert result.exit_code == 1
    assert f"sites that are not in {root}: 1; run it without --retry-failed" in result.output


@pytest.mark.parametrize("by", ["options", "environment"])
def test_columns_limits_and_networks_are_as_they_are_given(some, tmp_path, monkeypatch, by):
    given = ["--same-address", "--site-seconds", "60", "--columns", "url,lastmod", *ALLOWED]
    if by == "options":
        given += ["--max", "pages=3"]
    else:
        given = ["--workers", "1"]
        monkeypatch.setenv("USP_MAX", "pages=3")
        monkeypatch.setenv("USP_ALLOW_NETWORK", "127.0.0.0/8")
    site = next(site for site in some.sites if site.kind == "indexed")
    result = run("-", "-o", tmp_path / "d", *given, stdin=site.url)
    assert result.exit_code == 0, result.output
    told = dataset_stats(tmp_path / "d")
    assert told["totals"]["pages"] == 3
    assert bool(told["extensions"]) == (by == "environment")
    assert [(row["code"], row["sites"]) for row in told["failures"]] == [("limit-pages", 1)]


@pytest.mark.parametrize(
    ("module", "extra", "command"),
    [
        ("aiohttp", "usp[fleet]", [crawl.command, "-", "-o", "d"]),
        ("ray", "usp[ray]", [crawl.command, "-", "-o", "d", "--engine", "ray"]),
        ("duckdb", "usp[fleet]", [stats.command, "d"]),
    ],
)
def test_what_is_not_installed_is_named_with_what_installs_it(
    module, extra, command, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Dataset("d").make()
    monkeypatch.setitem(sys.modules, module, None)
    result = invoke(*command, stdin="example.org")
    assert result.exit_code == 1
    told = result.output or str(result.exception)  # which the command line reports for all
    assert f"pip install '{extra}'" in " ".join(told.replace("│", " ").split())


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_a_live_line_on_a_terminal_and_a_line_now_and_then_elsewhere(
    monkeypatch, capsys
):
    progress = FleetProgress()
    progress.total = 4
    progress.take({"site": "http://a/", "visit": "1", "outcome": "failed", "duration": 2.0})
    monkeypatch.setattr(crawl, "_EVERY", 0.0)
    with crawl._shown("dataset") as show:
        show(progress)
    assert "1 of 4 sites · 1 failed" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with crawl._shown("dataset") as show:
        show(progress)
        assert soon(lambda: "slowest http://a/ 2.0 s" in terminal.getvalue())


# Statistics -----------------------------------------------------------------------------------------


def test_the_statistics_are_those_of_the_websites(crawled, some):
    told = dataset_stats(crawled[0])
    assert told["totals"]["sites"] == len(some.sites)
    assert told["totals"]["pages"] == sum(len(site.pages) for site in some.sites)
    outcomes = {row["outcome"]: row["sites"] for row in told["outcomes"]}
    assert outcomes == Counter(site.outcome for site in some.sites)
    largest = max(some.sites, key=lambda site: len(site.pages))
    assert told["largest"][0]["pages"] == len(largest.pages)
    formats = {row["type"]: row["sitemaps"] for row in told["formats"]}
    kinds = Counter(kind for site in some.sites for _, kind, _ in site.sitemaps)
    assert formats.items() <= kinds.items()
    extensions = {row["extension"]: row["sites"] for row in told["extensions"]}
    rich = sum(site.kind == "rich" for site in some.sites)
    assert extensions["images"] == extensions["alternates"] == rich
    codes = {row["code"]: row["sites"] for row in told["failures"]}
    assert codes["not-found"] == sum(site.kind == "half" for site in some.sites)
    freshness = told["freshness"]
    assert freshness["newest"].startswith("2024-")
    assert 0 < freshness["last_30_days"] < freshness["last_365_days"] <= freshness["dated"]
    assert [row["year"] for row in freshness["years"]] == [2024]


def test_the_statistics_are_shown_as_tables_and_as_json(crawled, dataset, root):
    """Those of an empty dataset, too."""
    titles = ("Outcomes", "Largest sites", "Formats", "Extensions", "Pages by")
    for place, told in ((crawled[0], titles), (root, ("0 sites", "No page has a date."))):
        shown = invoke(stats.command, place)
        assert shown.exit_code == 0, shown.output
        assert all(text in shown.output for text in told)
        as_json = json.loads(invoke(stats.command, place, "-f", "json").output)
        assert as_json == json.loads(json.dumps(dataset_stats(place)))
    assert set(as_json["totals"].values()) == {0}


# What an operator is told: why sites failed and what helps, how much is safe, the exit status -----


def test_the_summary_names_the_most_frequent_reasons_with_an_example_and_what_helps(root):
    sites = [f"http://10.0.0.{number}/" for number in range(1, 4)] + ["http://h.invalid/"]
    result = run("-", "-o", root, "--workers", "1", stdin="\n".join(sites))
    assert result.exit_code == 0, result.output
    line = next(line for line in result.output.splitlines() if "address-refused" in line)
    assert line.startswith("  3 sites address-refused: connections to this address are not allowed")
    assert "for example http://10.0.0." in line
    assert line.endswith("--allow-network NET permits it")
    first, second = json.loads((root / "_summary.json").read_text())["failures"]
    assert (first["code"], first["sites"]) == ("address-refused", 3)
    assert first["example"] in sites
    assert "a private address" in first["example_reason"]
    assert "--allow-network" in first["remedy"]
    assert second["example"] == "http://h.invalid/"
    (failure, _) = dataset_stats(root)["failures"]
    known = tuple(failure[name] for name in ("code", "sites", "example"))
    assert known == ("address-refused", 3, sites[0])
    assert "a private address" in failure["example_reason"]
    shown = " ".join(invoke(stats.command, root).output.split())
    assert "3 sites address-refused: connections to this address are not allowed" in shown
    assert f"for example {sites[0]}; --allow-network NET permits it" in shown


def test_a_store_that_goes_away_in_the_middle_is_told_with_how_much_is_safe(
    fleet: Served, root, monkeypatch
):
    silent = Mock(side_effect=DatasetError("the store does not respond"))
    crawl_fleet(fleet.urls[:1], root, FleetRun(workers=1, options=OPTIONS))
    monkeypatch.setattr(Dataset, "commit", silent)
    result = run("-", "-o", root, *ALLOWED, stdin="\n".join(fleet.urls[:3]))
    assert result.exit_code == 1
    told = " ".join(result.output.replace("│", " ").split())
    assert "the store does not respond" in told
    assert "1 of 3 sites is in" in told
    assert "run the same command to resume" in told


# Filters --------------------------------------------------------------------------------------------


def test_the_table_has_the_pages_that_the_filters_select_and_they_are_counted(fleet, root):
    chosen = [site for site in fleet.sites if site.kind in {"small", "indexed"}][:4]
    filters = ("--since", "2024-03", "--until", "2024-08", "--exclude", "re:[02468]$")
    stdin = "\n".join(site.url for site in chosen)
    assert run("-", "-o", root, *ALLOWED, *filters, stdin=stdin).exit_code == 0
    truth = sorted(
        (site.url, url)
        for site in chosen
        for _, url in site.pages
        if 2 <= (number := int(url.rpartition("-")[2])) % 12 <= 7 and number % 2
    )
    assert truth
    assert sorted((row["site"], row["url"]) for row in rows_of(root, "pages")) == truth
    for view in ("sites", "sitemaps"):
        assert sum(row["pages"] or 0 for row in rows_of(root, view)) == len(truth)


@pytest.mark.parametrize("more", [(), ("--no-skip",)])
def test_sitemaps_that_the_patterns_leave_out_are_not_downloaded_unless_asked_for(
    fleet, root, more
):
    site = next(s for s in fleet.sites if s.kind == "indexed" and len(s.sitemaps) > 3)
    pattern = "sitemap:*part1.xml"
    assert run("-", "-o", root, *ALLOWED, "--include", pattern, *more, stdin=site.url)
    assert {row["sitemap"] for row in rows_of(root, "pages")} == {site.at("/part1.xml")}
    asked = {row["sitemap"] for row in rows_of(root, "sitemaps")}
    needed = {site.at(path) for path in ("/robots.txt", "/index.xml", "/part1.xml")}
    assert asked == ({url for url, _, _ in site.sitemaps} if more else needed)


@pytest.mark.long
def test_a_short_command_never_aborts_at_its_end(crawled, tmp_path):
    root, _ = crawled
    sites = tmp_path / "sites.txt"
    sites.write_text((root.parent / "sites.txt").read_text())
    commands = [["crawl", str(sites), "-o", str(root)], ["stats", str(root)]]
    statuses = [
        subprocess.run(
            [sys.executable, "-m", "usp", *command], capture_output=True, timeout=120, check=False
        ).returncode
        for command in commands * 12
    ]
    assert statuses == [0] * 24  # one in twenty did
