"""``usp.check`` and ``usp.aio.check``: what they take, and what they give."""

import asyncio
import shutil
import subprocess
import sys

import pytest
from check_examples import HOME, Client, found_in, index, locs, replies_of, wrapped

import usp
from fronts import rest
from usp._inputs import tree_of
from usp.checks import Baseline

BAD = "<url><loc>/tea</loc></url>\n<url><loc>https://example.org/#a</loc></url>"
TWO = ["SM401", "SM407"]


def client() -> Client:
    return Client(replies_of(BAD))


def codes(findings) -> list[str]:
    return [finding.code for finding in findings]


def test_a_website_a_tree_a_file_and_a_folder_are_checked_alike(tmp_path):
    (tmp_path / "sitemap.xml").write_bytes(replies_of(BAD)[f"{HOME}/sitemap.xml"].body)
    tree = usp.sitemap_tree_for_homepage(HOME, client())
    for source in (HOME, tree, tmp_path, str(tmp_path / "sitemap.xml")):
        assert codes(usp.check(source, client(), select=TWO)) == TWO


def test_asyncio_gives_the_same_findings():
    options = {"select": TWO, "severities": {"SM407": "info"}}
    found = asyncio.run(rest(usp.aio.check(HOME, client(), **options)))
    assert found == list(usp.check(HOME, client(), **options))


def test_a_baseline_leaves_out_what_is_known(tmp_path):
    path = tmp_path / "known.json"
    Baseline.of(usp.check(HOME, client(), select=["SM401"]), tmp_path).save(path)
    assert codes(usp.check(HOME, client(), select=TWO, baseline=path)) == ["SM407"]
    assert codes(usp.check(HOME, client(), select=TWO, baseline=Baseline.read(path))) == ["SM407"]


COUNTS = ["-5", "Infinity", "-Infinity", "NaN", "1e400", "2.5", "true", '"3"', "null", "[]", "{}"]
NO_BASELINES = ["[" * 100_000, '{"a":' * 100_000, "", "3", "\0", "1" * 5000]
NO_BASELINES += [
    f'{{"version": 1, "findings": {{"a": {{"SM401": {{"b": {n}}}}}}}}}' for n in COUNTS
]


def test_what_is_no_baseline_is_told(tmp_path):
    path = tmp_path / "known.json"
    for content in NO_BASELINES:
        path.write_text(content)
        with pytest.raises(ValueError, match="is not a baseline of usp check"):
            Baseline.read(path)


def test_a_baseline_of_very_many_findings_counts_them(tmp_path):
    path, many = tmp_path / "known.json", "<url><loc>/{n}</loc></url> (x 1500)"
    baseline = Baseline.of(found_in(many, select=["SM401"]), tmp_path)
    baseline.save(path)
    assert len(baseline) == 1500
    assert path.stat().st_size < 500
    left = found_in(f"{many}\n<url><loc>/more</loc></url>", select=["SM401"], baseline=path)
    assert [finding.page for finding in left] == [f"{HOME}/more"]


def test_a_number_in_a_message_does_not_make_a_finding_new(tmp_path):
    def finding(message: str) -> usp.checks.Finding:
        severity = usp.checks.Severity.ERROR
        return usp.checks.Finding("SM203", "too-many-urls", severity, message, f"{HOME}/a.xml")

    Baseline.of([finding("50,001 URLs")], tmp_path).save(tmp_path / "known.json")
    known = Baseline.read(tmp_path / "known.json")
    other = finding("other words")
    assert list(known.new([finding("60,250 URLs"), other])) == [other]


def test_a_rule_that_does_not_exist_is_refused_before_anything_is_fetched():
    asked = client()
    with pytest.raises(ValueError, match="did you mean relative-url"):
        usp.check(HOME, asked, select=["relative_urls"])
    with pytest.raises(ValueError, match="choose from error, warning, info, off"):
        usp.check(HOME, asked, severities={"SM401": "bad"})
    with pytest.raises(ValueError, match="SM999"):
        asyncio.run(rest(usp.aio.check(HOME, asked, select=["SM999"])))
    assert asked.requested == []


def test_rules_are_explained_without_what_crawls_parses_and_checks():
    program = "import sys, usp.checks; usp.checks.RULES['SM401'].why; print(*sys.modules)"
    run = [sys.executable, "-c", program]
    ran = subprocess.run(run, capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert "usp.checks.rules.sm4_urls" in loaded
    heavy = {"requests", "usp.checks.checking", "usp._crawl.crawl", "usp._formats.xml.parser"}
    assert loaded.isdisjoint(heavy)
    assert sum(name.split(".")[0] == "usp" for name in loaded) < 50


# Folders: findings are at files and lines of them, and the same wherever they are -------------------

INDEX = wrapped(index("/teas.xml", "/my%20milk.xml.gz"))


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
    assert [(one.sitemap, one.line) for one in found] == [((site / "sitemap.xml").as_uri(), 3)]
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


@pytest.mark.parametrize("place", ["known.json", "ci/known.json", "public/known.json"])
@pytest.mark.parametrize("checked", ["dist", "dist/sitemap.xml"])
def test_a_baseline_stays_valid_if_the_folder_gets_another_name(place, checked, tmp_path):
    for folder in ("ci", "public/blog"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("sitemap.xml", "blog/sitemap.xml"):
        (tmp_path / "public" / name).write_text(wrapped(locs(f"/{name} x")))
    file = tmp_path / place
    Baseline.of(usp.check(tmp_path / "public"), file.parent).save(file)
    (tmp_path / "public").rename(tmp_path / "dist")
    if not file.exists():
        file = tmp_path / "dist" / file.name
    assert list(usp.check(tmp_path / checked, baseline=file)) == []
    (tmp_path / "public").mkdir()  # it is another one now
    (tmp_path / "public" / "sitemap.xml").write_text(wrapped(locs("/sitemap.xml x")))
    if "dist" not in str(file):
        assert len(list(usp.check(tmp_path / "dist", baseline=file))) == 2
