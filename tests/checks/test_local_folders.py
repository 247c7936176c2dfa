"""Findings in a folder: they are at files and lines of it, and the same wherever it is."""

from __future__ import annotations

import shutil

import pytest

import usp
from usp._inputs.sources import tree_of
from usp.checks import Baseline
from website import SITEMAP_NS

INDEX = f"""<sitemapindex xmlns="{SITEMAP_NS}">
<sitemap><loc>https://example.org/teas.xml</loc></sitemap>
<sitemap><loc>https://example.org/my%20milk.xml.gz</loc></sitemap>
</sitemapindex>
"""


@pytest.fixture
def site(tmp_path):
    """Return a folder with an index, a file that is broken and one that is missing."""
    folder = tmp_path / "here" / "public"
    folder.mkdir(parents=True)
    (folder / "sitemap.xml").write_text(INDEX)
    (folder / "my milk.xml.gz").write_bytes(b"\x1f\x8b\x08broken")
    return folder


def test_a_missing_file_is_found_where_it_is_declared(site):
    found = [one for one in usp.check(site) if one.name == "missing-file"]
    assert [(one.sitemap, one.line) for one in found] == [((site / "sitemap.xml").as_uri(), 2)]
    assert found[0].message == "there is no file for https://example.org/teas.xml"


def test_a_message_names_files_inside_the_folder(site):
    messages = [finding.message for finding in usp.check(site)]
    assert any("(declared in sitemap.xml" in message for message in messages), messages
    assert not any("file:" in message for message in messages), messages


def test_a_baseline_holds_for_a_copy_of_the_folder(site, tmp_path):
    known = site.parent / "known.json"
    baseline = Baseline.of(usp.check(site), site.parent)
    assert len(baseline) >= 2
    baseline.save(known)
    there = shutil.copytree(site.parent, tmp_path / "there" / "another")
    assert list(usp.check(there / "public", baseline=there / "known.json")) == []


def test_media_in_the_folder_are_not_read(site, caplog):
    for name in ("app.js", "photo.JPG", "font.woff2"):
        (site / name).write_text("https://example.org/a\n")
    (site / "style.css").write_text("a {}")
    names = {node.url.rpartition("/")[2] for node in tree_of(site, None, None).all_sitemaps()}
    assert names.isdisjoint({"app.js", "photo.JPG", "font.woff2", "style.css"})
    assert not [record for record in caplog.records if "style.css" in record.getMessage()]


def test_media_that_an_index_lists_are_read(site):
    (site / "teas.js").write_text("https://example.org/a\n")
    (site / "sitemap.xml").write_text(INDEX.replace("teas.xml", "teas.js"))
    assert "missing-file" not in {finding.name for finding in usp.check(site)}
