"""A value that cannot be meant is refused before anything is fetched, and its origin is named."""

from __future__ import annotations

import pytest

SITE = "http://127.0.0.1:9/"  # nothing listens there, and nothing is asked


@pytest.mark.parametrize(
    ("value", "is_valid"),
    [
        ("pages=3.5", False),
        ("pages=10MiB", False),
        ("depth=2h", False),
        ("seconds=2MiB", False),
        ("ratio=2.5", True),
        ("pages=1.5k", True),
        ("document_bytes=1.5KiB", True),
        ("document_seconds=2min", True),
        ("lowest_rate=1kB", True),
    ],
)
def test_a_limit_has_the_units_of_what_it_limits(run, tmp_path, value, is_valid):
    file = tmp_path / "sitemap.txt"
    file.write_text("https://example.org/\n")
    ended = run("ls", str(file), "--max", value)
    name, _, text = value.partition("=")
    assert ended.status == (0 if is_valid else 2)
    assert (f"{text!r} is not a valid value for {name}" in ended.err) is not is_valid


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--wait", "soon", "'soon' is not a valid number"),
        ("--timeout", "nan", "'nan' is not a valid number"),
        ("--limit", "2.5", "'2.5' is not a valid integer"),
        ("--proxy", "ftp://me:secret@host", "'ftp' is not the scheme of a proxy"),
    ],
)
def test_a_wrong_value_is_described_in_plain_words(run, option, value, said):
    ended = run("ls", SITE, option, value)
    assert ended.status == 2
    assert said in ended.err
    assert "secret" not in ended.err


def test_a_wrong_value_that_was_not_typed_says_where_it_was_set(run, tmp_path, monkeypatch):
    monkeypatch.setenv("USP_TIMEOUT", "abc")
    assert "'abc' is not a valid number (set by USP_TIMEOUT)\n" in run("ls", SITE).err
    monkeypatch.delenv("USP_TIMEOUT")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "usp.toml").write_text('max = ["sites=1"]')
    assert f"(set in {tmp_path / 'usp.toml'})\n" in run("ls", SITE).err
    assert "set in" not in run("ls", SITE, "--max", "sites=1").err


@pytest.mark.parametrize("name", ["--known-path", "--html-links", "--no-robots", "--timeout"])
@pytest.mark.parametrize("command", ["ls", "tree", "crawl"])
def test_every_command_that_reads_websites_says_where_sitemaps_are_looked_for(run, command, name):
    assert name in run(command, "--help").out


def test_known_paths_of_ones_own(run, site):
    ended = run("ls", site, "-r", "-k", "--known-path", "main.xml", "-u")
    assert ended.lines[1] == "\t/main.xml"
