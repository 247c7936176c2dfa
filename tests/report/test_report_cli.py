"""``usp report``."""

import re
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from usp._demo import demo_site
from usp.cli.commands.cmd_report import command
from website import urlset


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *argv: CliRunner().invoke(command, list(argv))


@pytest.mark.parametrize(
    ("path", "argv", "name", "said"),
    [
        ("", (), "report.html", (">21</a></dd>", "documents were fetched")),
        ("sitemap-news.xml", ("-o", "x.html", "--all-problems"), "x.html", ("<!DOCTYPE html>",)),
    ],
)
def test_the_report_replaces_what_is_there_and_its_path_is_printed(
    run, tmp_path, path, argv, name, said
):
    (tmp_path / name).write_text("old")
    with demo_site() as url:
        ended = run(f"{url}{path}", *argv)
    assert (ended.exit_code, ended.stdout) == (0, f"{name}\n")
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert all(part in text for part in said)


def test_a_site_that_is_not_there_has_a_report_that_says_so(run, tmp_path):
    assert run("http://127.0.0.1:9/sitemap.xml").exit_code == 1
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "http://127.0.0.1:9/sitemap.xml could not be read: connection refused" in text


def test_the_command_compares(run, tmp_path):
    for name, pages in (("old.xml", ["/1"]), ("new.xml", ["/1", "/2"])):
        (tmp_path / name).write_text(urlset(*(f"http://h{page}" for page in pages)))
    report = tmp_path / "report.html"
    assert run("new.xml", "--compare", "old.xml").exit_code == 0
    text = report.read_text()
    assert "1 page added" in text
    assert f"From {tmp_path.as_uri()}/old.xml to {tmp_path.as_uri()}/new.xml." in text
    assert (
        '<bdi class="url address" dir="ltr">http://h/2</bdi>' in text
    )  # which a script makes a link
    assert '<dt>page added</dt><dd><a href="#changes">1</a></dd>' in text
    assert run("new.xml", "--compare", "new.xml").exit_code == 0
    assert '<dt>changes</dt><dd><a href="#changes">0</a></dd>' in report.read_text()
    with demo_site() as url:
        assert run(url, "--compare", url).exit_code == 0
    day = datetime.now(UTC).date()
    assert re.search(
        rf"From {url}/? of {day} ..:.. UTC to {url}/? of {day} ..:.. UTC\.", report.read_text()
    )
