"""An update requests what may have changed, and keeps the rest; the tree is that of a new crawl."""

import gzip
import struct
from collections import Counter

import pytest
from snapshots import codes, mixed
from snapshots import sorted_urls as urls
from test_recorded_warc import records
from test_third_party_warcs import SITE, compressed

import usp
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, dated, index, robots, urlset, with_index

HTML = "<!doctype html><html>sorry</html>"
GZIP = b"\x1f\x8b\x08\0\0\0\0\0"  # begins each record
COUNT = 12
CHANGED = (3, 7, 11)


def child(number: int, date: str | None = None) -> str:
    return dated(f"/s{number}.xml", date, "sitemap") if date else f"/s{number}.xml"


def answers(changed=(), *, dates=True):
    """Return a website of which some sitemaps have changed."""
    when = {n: "2024-02-02" if n in changed else "2024-01-01" for n in range(COUNT)}
    listed = index(*(child(n, when[n] if dates else None) for n in range(COUNT)))
    documents = {f"/s{n}.xml": urlset(f"/{n}/{when[n]}") for n in range(COUNT)}
    return with_index(documents) | {"/index.xml": listed}


@pytest.fixture
def site(record):
    site, _ = record(answers(), use_known_paths=False)
    site.forget()
    return site


@pytest.fixture
def again(site, path):
    """Record the website once more, as it is now."""

    def again(**options):
        usp.sitemap_tree_for_homepage(site.base, record=path, **options)
        site.forget()

    return again


def crawled(site):
    return usp.sitemap_tree_for_homepage(site.base, use_known_paths=False)


@pytest.mark.parametrize(
    "form", ["plain", "zst", "zst as long as before", "zst with a dictionary", "whole zst"]
)
def test_a_snapshot_of_another_compression_becomes_a_valid_one(site, path, update, form, tmp_path):
    zstandard, zipped = pytest.importorskip("zstandard"), path.read_bytes()
    lengths = {gzip.decompress(GZIP + one): len(GZIP + one) for one in zipped.split(GZIP)[1:]}
    members = list(lengths)
    known = zstandard.train_dictionary(4096, members * 20) if "dictionary" in form else None
    head = known.as_bytes() if known else b""
    other = tmp_path / ("site.warc" if form == "plain" else "site.warc.zst")
    if form == "whole zst":
        other.write_bytes(zstandard.compress(b"".join(members)))
        with pytest.raises(
            usp.SnapshotError, match=r"site\.warc\.zst is compressed as a whole.*: zstd -d"
        ):
            update(other, output=path)
        return
    pack = bytes if form == "plain" else zstandard.ZstdCompressor(dict_data=known).compress
    if form == "zst as long as before":  # so that its records are where they were

        def pack(member):
            ways = [
                zstandard.ZstdCompressor(level, write_checksum=checksum).compress(member)
                for level in range(1, 23)
                for checksum in (False, True)
            ]
            return min(ways, key=lambda packed: abs(len(packed) - lengths[member]))

    head = head and struct.pack("<II", 0x184D2A5D, len(head)) + head
    other.write_bytes(head + b"".join(map(pack, members)))
    site.answers = answers(CHANGED)
    site.answers["/s1.xml"] = Answer(status=404)
    done = update(other, output=path)
    assert (done.changed, done.not_modified) == (len(CHANGED) + 1, COUNT + 1 - len(CHANGED) - 1)
    kinds = Counter(record.rec_type for record, _ in records(path))
    assert kinds["revisit"] == done.not_modified
    assert urls(usp.load(path)) == urls(done.tree)
    site.answers = answers(CHANGED)
    assert update(path).changed == 0
    assert usp.load(path) == crawled(site)


def test_an_update_receives_only_what_has_changed(site, path, update):
    site.answers = answers(CHANGED, dates=False)
    site.answers["/index.xml"] = answers()["/index.xml"]
    done = update(path)
    assert sorted(site.bodies) == sorted(f"/s{n}.xml" for n in CHANGED)
    assert (done.changed, done.not_modified, done.added) == (3, COUNT + 2 - 3, 0)
    assert done.tree == crawled(site)
    assert usp.load(path) == done.tree


def test_with_trust_lastmod_only_what_has_another_date_is_requested(site, path, update, again):
    again()  # nor known paths that were not there
    site.answers = answers(CHANGED)
    done = update(path, trust_lastmod=True)
    asked = sorted(request.path for request in site.requests)
    assert asked == sorted(["/robots.txt", "/index.xml", *(f"/s{n}.xml" for n in CHANGED)])
    assert done.requests == len(asked)
    assert (done.changed, done.not_asked) == (4, COUNT - 3)
    assert done.tree == usp.sitemap_tree_for_homepage(site.base)
    site.forget()
    assert update(path, trust_lastmod=True).requests == 2


def test_entries_without_lastmod_are_always_requested(site, path, update, again):
    site.answers = answers(dates=False)
    again()
    done = update(path, trust_lastmod=True)
    assert done.requests == COUNT + 2
    assert not site.bodies


def test_a_server_that_sends_the_same_bytes_again_has_changed_nothing(site, path, update):
    site.tags = False
    done = update(path)
    assert (done.identical, done.changed) == (COUNT + 2, 0)
    assert usp.update(path).identical == COUNT + 2
    assert usp.load(path) == crawled(site)


@pytest.mark.usefixtures("site")
def test_the_client_of_a_caller_stays_open(path, update):
    closed = []

    class Client(RequestsWebClient):
        for_crawl = usp.AbstractWebClient.for_crawl

        def close(self):
            closed.append(self)

    assert update(path, Client()).unchanged == COUNT + 2
    assert not closed


def test_the_summary_says_what_was_saved_and_the_file_does_not_grow(site, path):
    size = sum(len(site.fill(body)) for body in site.answers.values())
    done = usp.update(path)
    written = path.stat().st_size
    assert (done.saved_bytes, done.received) == (size, 0)
    assert done.unchanged == COUNT + 2
    assert f"{COUNT + 2} unchanged" in str(done)
    assert done.saved_seconds >= 0
    for _ in range(3):
        usp.update(path)
    assert abs(path.stat().st_size - written) < 0.01 * written


def test_new_and_removed_sitemaps_are_counted(site, path):
    site.answers["/new.xml"] = urlset("/new")
    site.answers["/index.xml"] = index(*(child(n) for n in range(1, COUNT)), "/new.xml")
    done = usp.update(path)
    assert (done.added, done.removed, done.changed) == (1, 1, 1)
    assert usp.load(path) == crawled(site)


def test_the_old_snapshot_can_be_kept_and_its_tree_still_be_read(site, path, update):
    old, before, new = usp.load(path), path.read_bytes(), path.with_name("new.warc.gz")
    site.answers = answers(CHANGED)
    done = update(path, output=new)
    assert path.read_bytes() == before
    assert usp.load(new) == done.tree != usp.load(path)
    update(path)
    assert {page.url for page in old.all_pages()} == {
        f"{site.base}/{n}/2024-01-01" for n in range(COUNT)
    }


def test_a_redirect_that_leads_elsewhere_is_not_answered_from_the_record(site, path, again):
    site.answers = {
        "/robots.txt": robots("/a.xml", "/c.xml"),
        "/a.xml": Answer(redirect="{base}/b.xml"),
        "/b.xml": urlset("/b"),
        "/c.xml": urlset("/c"),
    }
    again()
    site.answers["/a.xml"] = Answer(redirect="{base}/c.xml")
    assert usp.update(path).tree == usp.sitemap_tree_for_homepage(site.base)


def test_revisits_refer_to_a_record_of_the_same_payload_in_the_file(site, path):
    """What pywb needs: a digest to find the payload by, and a status and headers that fit it."""
    packed = Answer(gzip.compress(b"<urlset/>"), headers={"Content-Encoding": "gzip"})
    site.answers["/0.xml"] = packed
    usp.update(path)
    for site.tags in (True, False, False, True):  # 304, then the same once more
        usp.update(path)
        found = {"response": {}, "revisit": {}}
        for one, _ in records(path):
            if one.rec_type in found:
                told, sent = one.rec_headers, one.http_headers
                where = "Refers-To-" if one.rec_type == "revisit" else ""
                key = tuple(told[f"WARC-{where}{name}"] for name in ("Target-URI", "Date"))
                of_body = [sent[f"Content-{name}"] for name in ("Length", "Encoding")]
                digest = told["WARC-Payload-Digest"]
                found[one.rec_type][key] = (sent.get_statuscode(), digest, *of_body)
        assert len(found["revisit"]) == COUNT + 2
        assert found["revisit"].items() <= found["response"].items()


def test_a_sitemap_that_was_only_compressed_anew_has_not_changed(site, path, update):
    text = site.fill(urlset("/a", "/b"))
    site.tags = False
    for level, changed in ((9, 2), (1, 0), (0, 0)):
        packed = gzip.compress(text, level)
        site.answers["/s0.xml"] = Answer(packed, headers={"Content-Encoding": "gzip"})
        site.answers["/s1.xml"] = packed
        done = update(path)
        assert (done.changed, done.unchanged) == (changed, COUNT + 2 - changed)
        assert done.tree == crawled(site)
        assert packed in gzip.decompress(path.read_bytes())
    site.answers["/s1.xml"] = gzip.compress(site.fill(urlset("/a", "/c")))
    assert update(path).changed == 1


def test_everything_about_a_mixed_website_is_the_same_after_an_update(site, path, update, again):
    site.answers = mixed()
    again()
    for _ in range(2):
        trees = update(path).tree, usp.sitemap_tree_for_homepage(site.base)
        assert trees[0] == trees[1]
        told = [{(failure.url, failure.code) for failure in tree.failures()} for tree in trees]
        assert told[0] == told[1]
        problems = [[node.problems for node in tree.all_sitemaps()] for tree in trees]
        assert problems[0] == problems[1]


def test_only_a_snapshot_of_ours_can_be_updated(path):
    path.write_bytes(compressed(SITE))
    with pytest.raises(usp.SnapshotError, match="another program"):
        usp.update(path)


def test_a_snapshot_that_was_cut_off_is_completed(site, path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    assert not usp.load(path).is_complete
    done = usp.update(path)
    assert done.added
    assert done.not_modified
    assert done.tree == crawled(site)
    assert usp.load(path).is_complete


def test_a_known_path_that_is_gone_is_removed(site, path, again):
    site.answers = {"/sitemap.xml": urlset("/1"), "/sitemap-news.xml": urlset("/2")}
    again()
    del site.answers["/sitemap-news.xml"]
    done = usp.update(path)
    assert (done.failed, done.removed, done.unchanged) == (0, 1, 1)
    assert usp.update(path).removed == 0


def test_what_is_no_longer_listed_is_dropped_although_another_sitemap_fails(site, path):
    good = usp.load(path)
    site.answers["/s1.xml"] = Answer("down", 403)
    assert usp.update(path).failed == 1
    assert usp.load(path, last_good=True) == good
    for number in (9, 6, 3):
        site.answers["/index.xml"] = index(*(child(n) for n in range(number)))
        done = usp.update(path)
        assert (done.failed, done.removed) == (1, 3)
    assert b"/s7.xml" not in gzip.decompress(path.read_bytes())
    assert usp.load(path, last_good=True).page_count() == 3
    site.answers["/index.xml"] = index(child(0), child(2))  # not the one that fails
    assert usp.update(path).failed == 0
    assert usp.load(path, last_good=True).page_count() == 2


@pytest.mark.parametrize("broken", ["/index.xml", "/s1.xml"])
def test_what_breaks_off_is_compared_with_its_last_good_version(site, path, broken):
    good = usp.load(path)
    whole = site.answers[broken]
    site.answers[broken] = Answer(f"{whole}\n<!-- changed -->", cut=150)
    (current,) = usp.watch(site.base, path, rounds=1)
    assert list(current) == []
    assert current.failures
    assert usp.load(path, last_good=True) == good
    site.answers[broken] = whole
    site.answers["/s1.xml"] = urlset("/1/2024-01-01", "/1/new")
    site.forget()
    (current,) = usp.watch(site.base, path, rounds=1)
    assert [change.url for change in current] == [site.url("/1/new")]
    assert site.bodies == ["/s1.xml"]


def test_a_sitemap_that_was_a_page_is_asked_for_again_whatever_its_date(site, path, update, again):
    good = site.answers["/s3.xml"]
    site.answers["/s3.xml"] = HTML
    again()
    site.answers["/s3.xml"] = good
    done = update(path, trust_lastmod=True)
    assert done.tree.is_complete
    assert done.tree.page_count() == COUNT


def test_pages_at_known_paths_are_neither_new_nor_removed(site, path, update, again):
    again()
    whole = dict(site.answers)
    site.answers |= dict.fromkeys(["/robots.txt", "/sitemap.xml", "/sitemap_index.xml"], HTML)
    down = update(path)
    assert (down.added, down.removed, down.failed) == (0, 0, 1)
    site.answers = whole
    back = update(path)
    assert (back.added, back.changed, back.removed, back.failed) == (0, 0, 0, 0)


# Limits, and what else an update must not lose ------------------------------------------------------


@pytest.mark.parametrize("limits", [{"sitemaps": 4}, {"pages": COUNT - 1}, {"depth": 1}])
def test_what_a_limit_of_the_update_leaves_out_is_kept(site, path, limits):
    whole = urls(usp.load(path))
    site.answers["/s0.xml"] = urlset("/0/new")
    update = usp.update(path, limits=usp.Limits(**limits))
    assert bool(update.not_checked) == ("pages" not in limits)  # which are counted afterwards
    assert update.removed == 0
    assert ("not checked and kept" in str(update)) == bool(update.not_checked)
    new = site.url("/0/new") if update.changed else site.url("/0/2024-01-01")
    assert urls(usp.load(path)) == sorted({*whole} - {site.url("/0/2024-01-01")} | {new})
    assert usp.load(path).is_complete
    update = usp.update(path)  # the limit was for that update only
    assert (update.not_checked, update.failed) == (0, 0)
    assert update.unchanged + update.changed == COUNT + 2
    assert len(urls(usp.load(path))) == COUNT


def test_a_document_that_a_limit_cuts_keeps_its_last_good_response(site, path):
    site.answers["/s3.xml"] = urlset(*(f"/3/{number}" for number in range(500)))
    update = usp.update(path, limits=usp.Limits(document_bytes=2000))
    assert update.failed == 1
    assert site.url("/3/2024-01-01") in urls(usp.load(path, last_good=True))


def test_the_limits_of_an_update_are_those_of_its_caller(site, path, update, again):
    limits = usp.Limits(sitemaps=4)
    again(use_known_paths=False, limits=limits)
    before = urls(usp.load(path))
    for most in (3, 4):
        update(path, limits=usp.Limits(sitemaps=most))
        assert urls(usp.load(path)) == before
        assert codes(usp.load(path)) == ["limit-sitemaps"]
    assert update(path).added == COUNT - 2
    assert usp.load(path).is_complete
    assert len(urls(usp.load(path))) == COUNT


def test_new_sitemaps_that_a_limit_leaves_out_are_missing(site, path):
    site.answers["/index.xml"] = index(*(child(n) for n in range(COUNT)), "/new.xml")
    site.answers["/new.xml"] = urlset("/new")
    update = usp.update(path, limits=usp.Limits(sitemaps=4))
    assert codes(update.tree) == ["not-in-snapshot"]
    assert usp.update(path).failed == 0


def test_a_page_instead_of_robots_txt_is_told(site, path, run):
    whole = path.read_bytes()
    site.answers["/robots.txt"] = HTML
    update = usp.update(path)
    assert update.failed == 1
    assert [one.url for one in update.kept] == [site.url("/robots.txt")]
    path.write_bytes(whole)
    status, _, told = run("update", path, "--strict")
    assert status != 0
    assert "1 failed" in told
    assert f"{site.url('/robots.txt')}: " in told


@pytest.mark.usefixtures("site")
def test_options_without_meaning_are_refused(path, run):
    status, _, told = run("update", path, "--site", "http://h/")
    assert (status, "--site" in told) == (2, True)
    for option in (["--keep-partial"], ["--site", "http://h/"]):
        status, _, told = run("watch", "http://h/", "--snapshot", path, *option)
        assert (status, option[0] in told) == (2, True)


def test_redirects_are_counted_as_requests(site, path, again):
    site.answers["/robots.txt"] = robots("/first.xml")
    site.answers["/first.xml"] = Answer(redirect="{base}/second.xml")
    site.answers["/second.xml"] = Answer(redirect="{base}/s0.xml")
    again(use_known_paths=False)
    update = usp.update(path)
    assert update.requests == len(site.requests) == 4
    assert usp.update(path, trust_lastmod=True).unchanged == 2


def test_a_url_that_is_gone_counts_once_whatever_it_was_requested_as(record, path, update):
    options = {"use_known_paths": False, "extra_known_paths": ["robots.txt", "index.xml"]}
    site, _ = record(answers(), **options)
    del site.answers["/robots.txt"]
    assert update(path, accept=True).removed == 1
