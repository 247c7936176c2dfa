"""What an operator is told: why sites failed and what helps, how much is safe, and the exit status."""

from __future__ import annotations

import json
from functools import partial

import pytest
from fleet_support import ALLOWED, OPTIONS, Served, invoke, rows_of

from usp.cli.commands import cmd_crawl as crawl
from usp.cli.commands import cmd_stats as stats
from usp.fleet import DatasetError, FleetRun, crawl_fleet, dataset_stats
from usp.fleet.dataset import Dataset

run = partial(invoke, crawl.command)


def test_the_summary_names_the_most_frequent_reasons_with_an_example_and_what_helps(tmp_path):
    sites = [f"http://10.0.0.{number}/" for number in range(1, 4)] + ["http://h.invalid/"]
    stdin = "\n".join(sites)
    root = tmp_path / "dataset"
    result = run("-", "-o", root, "--workers", "1", stdin=stdin)
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


def test_sites_that_are_not_in_the_dataset_in_the_end_are_counted_with_status_1(fleet, tmp_path):
    root, one, other = tmp_path / "dataset", *fleet.urls[:2]
    run("-", "-o", root, *ALLOWED, stdin=one)
    result = run("-", "-o", root, *ALLOWED, "--retry-failed", stdin=f"{one}\n{other}\n")
    assert result.exit_code == 1
    assert f"sites that are not in {root}: 1; run it without --retry-failed" in result.output


def test_a_store_that_goes_away_in_the_middle_is_told_with_how_much_is_safe(
    fleet: Served, tmp_path, monkeypatch
):
    def silent(*_: object) -> None:
        raise DatasetError("the store does not respond")

    root, few = tmp_path / "dataset", fleet.urls[:1]
    crawl_fleet(few, root, FleetRun(workers=1, options=OPTIONS))
    monkeypatch.setattr(Dataset, "commit", silent)
    result = run("-", "-o", root, *ALLOWED, stdin="\n".join(fleet.urls[:3]))
    assert result.exit_code == 1
    told = " ".join(result.output.replace("│", " ").split())
    assert "the store does not respond" in told
    assert "1 of 3 sites is in" in told
    assert "the same command goes on" in told


# Filters --------------------------------------------------------------------------------------------


def test_the_table_has_the_pages_that_the_filters_select_and_they_are_counted(fleet, tmp_path):
    chosen = [site for site in fleet.sites if site.kind in {"small", "indexed"}][:4]
    root = tmp_path / "dataset"
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
    for table in ("sites", "sitemaps"):
        assert sum(row["pages"] or 0 for row in rows_of(root, table)) == len(truth)


@pytest.mark.parametrize("more", [(), ("--no-skip",)])
def test_sitemaps_that_the_patterns_leave_out_are_not_downloaded_unless_asked_for(
    fleet, tmp_path, more
):
    site = next(s for s in fleet.sites if s.kind == "indexed" and len(s.sitemaps) > 3)
    root, pattern = tmp_path / "dataset", "sitemap:*part1.xml"
    assert run("-", "-o", root, *ALLOWED, "--include", pattern, *more, stdin=site.url)
    assert {row["sitemap"] for row in rows_of(root, "pages")} == {site.at("/part1.xml")}
    asked = {row["url"] for row in rows_of(root, "sitemaps")}
    everything = {url for url, _, _ in site.sitemaps}
    if more:
        assert asked == everything
    else:
        assert asked == {site.at(path) for path in ("/robots.txt", "/index.xml", "/part1.xml")}
