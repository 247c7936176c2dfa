"""The commands record, update, and take a snapshot wherever they take a URL."""

import gzip
import json

import pytest
from snapshots import mixed
from test_third_party_warcs import HOST, OTHER, PAGES, SITE, compressed

from website import ONE_PAGE, Answer, TaggedSite, urlset


@pytest.fixture
def site():
    with TaggedSite(mixed()) as site:
        yield site


def test_every_command_shows_a_snapshot_as_it_showed_the_website(run, site, path, tmp_path):
    status, out, _ = run("snapshot", site.base, "-o", path)
    assert (status, out) == (0, f"{path}\n")
    for arguments in (
        ("ls", "-f", "pages"),
        ("ls", "-f", "jsonl"),
        ("ls", "--sitemaps", "-f", "csv", "--columns", "url,kind,pages,failure"),
        ("tree", "-p"),
        ("graph",),
    ):
        command, *options = arguments
        live = run(command, site.base, *options)
        recorded = run(command, path, *options)
        assert recorded[:2] == live[:2], arguments
    assert run("report", path, "-o", tmp_path / "r.html")[0] == 0
    assert (tmp_path / "r.html").stat().st_size > 10_000


def test_update_tells_what_it_did(run, site, path, tmp_path):
    run("snapshot", site.base, "-o", path)
    site.answers["/a.xml"] = urlset("/a/new")
    status, out, told = run("update", path)
    assert (status, out) == (0, "")
    assert "1 changed, 0 new, 0 removed" in told
    assert "saved" in told
    assert f"{site.base}/a/new" in run("ls", path, "-f", "pages")[1]
    _, _, told = run("update", path, "--trust-lastmod", "--json", "-o", tmp_path / "new.warc.gz")
    facts = json.loads(told.splitlines()[0])
    assert facts["changed"] == 0
    assert {"requests", "saved_bytes", "saved_seconds", "not_asked"} <= set(facts)


def test_a_disk_without_room_is_named_and_nothing_is_left(run, site, path, tmp_path):
    resource = pytest.importorskip("resource")
    assert run("snapshot", site.base, "-o", path)[0] == 0
    before, other = path.read_bytes(), tmp_path / "other.warc.gz"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, limits[1]))
    try:
        for command in (
            ("snapshot", site.base, "-o", other),
            ("update", path),
            ("update", path, "-o", other),
            ("ls", path, "-o", tmp_path / "pages.csv"),
            ("report", path, "-o", tmp_path / "report.html"),
        ):
            status, _, told = run(*command)
            *_, file = command
            assert (status, told.splitlines()[-1].count(str(file)), "Errno" in told) == (
                1,
                1,
                False,
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_url_that_turns_out_to_be_a_website_is_recorded_as_one(run, site, path):
    shop = Answer("<html>", headers={"Content-Type": "text/html"})
    site.answers = ONE_PAGE | {"/shop": shop}
    assert run("snapshot", f"{site.base}/shop", "-o", path)[0] == 0
    assert run("ls", path, "-f", "pages")[1] == f"{site.base}/tea\n"


def test_a_file_of_another_program_is_read_and_its_site_can_be_named(run, path):
    path.write_bytes(compressed([*SITE, OTHER]))
    status, _, told = run("ls", path)
    assert (status, "several websites" in told, "--site" in told) == (1, True, True)
    for site in (HOST, HOST.partition("://")[2]):  # which the file has by http only
        assert run("ls", path, "--site", site, "-f", "pages")[1].split() == PAGES


def test_a_file_that_only_has_the_name_of_a_snapshot_is_an_error(run, path):
    for data in [b"", b"junk", gzip.compress(b"junk")]:
        path.write_bytes(data)
        for arguments in (("ls", path), ("tree", path), ("update", path)):
            status, out, told = run(*arguments)
            assert (status, out) == (1, "")
            assert "site.warc.gz" in told
            assert "Traceback" not in told


def test_a_sitemap_is_not_taken_for_a_snapshot(run, tmp_path):
    path = tmp_path / "sitemap.xml.gz"
    path.write_bytes(gzip.compress(urlset("http://h/1").encode()))
    assert run("ls", path, "-f", "pages")[1] == "http://h/1\n"


def test_a_snapshot_is_a_file(run):
    for argv in [
        ["snapshot", "example.org", "-o", "-"],
        ["update", __file__, "-o", "-"],
        ["watch", "example.org", "--snapshot", "-"],
    ]:
        status, _, told = run(*argv)
        assert status == 2
        assert "cannot be written to standard output; name a file" in " ".join(told.split())
