"""WARC files of other programs are loaded; those that are cut off, lie or attack say so."""

import gzip
import itertools
import json
import random
import socket
import struct
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import suppress

import pytest
from snapshots import codes, members_of, mixed, urls

import usp
from patience import memory_below
from usp._http import encodings
from website import index, robots, urlset

HOST = "http://site.example"
DAY, YEAR_LATER = "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"


def fill(text: str, base: str = HOST) -> bytes:
    return text.replace("{base}", base).encode()


def record(kind: str, url: str, block: bytes, date: str = DAY, **more: str) -> bytes:
    """Return a record as another program writes it, by hand: what is read is not what we write."""
    headers = {
        "WARC-Type": kind,
        "WARC-Target-URI": url,
        "WARC-Date": date,
        "WARC-Record-ID": "<urn:uuid:00000000-0000-0000-0000-000000000000>",
        "Content-Type": "application/http; msgtype=response",
        **{name.replace("_", "-"): value for name, value in more.items()},
        "Content-Length": str(len(block)),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return b"WARC/1.0\r\n" + head.encode() + b"\r\n" + block + b"\r\n\r\n"


def response(body: bytes | str, status: str = "200 OK", **headers: str) -> bytes:
    data = fill(body) if isinstance(body, str) else body
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + data


def sent(
    path: str, body: bytes | str, status: str = "200 OK", date: str = DAY, **headers: str
) -> bytes:
    """Return the record of a response to a path of the website, or to another URL."""
    url = HOST + path if path.startswith("/") else path
    return record("response", url, response(body, status, **headers), date)


def cut_in(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def chunked(body: str, size: int = 11) -> bytes:
    chunks = (b"%x\r\n%s\r\n" % (len(one), one) for one in cut_in(fill(body), size))
    return b"".join(chunks) + b"0\r\n\r\n"


INFO = b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 12\r\n\r\nsoftware: x\n\r\n\r\n"
LISTED = ("/a.xml", "/b.xml.gz", "/moved.xml")
SITE = [
    INFO,
    sent("/", "<html>home</html>", Content_Type="text/html"),
    sent("/robots.txt", robots("/index.xml", "/absent.xml")),
    sent("/index.xml", chunked(index(*LISTED, "/error.xml")), Transfer_Encoding="chunked"),
    sent("/a.xml", urlset("/a/1", "/a/2")),
    sent("/b.xml.gz", gzip.compress(fill(urlset("/b/1")))),
    sent("/moved.xml", "", "301 Moved", Location="/there.xml"),
    sent("/there.xml", urlset("/t/1")),
    sent("/error.xml", "", "500 Oh no"),
]
SITE_A = f"{HOST}/a.xml".encode()
OTHER = sent("http://other.example/robots.txt", "User-agent: *\n")
PAGES = [f"{HOST}/{path}" for path in ("a/1", "a/2", "b/1", "t/1")]


def compressed(records: Iterable[bytes]) -> bytes:
    return b"".join(map(gzip.compress, records))


def without(path: str) -> list[bytes]:
    """Return the records of the website but for those of a path."""
    return [one for one in SITE if f"{path}\r\n".encode() not in one]


@pytest.fixture
def load(tmp_path):
    """Load a file with these records."""

    def load(records: Iterable[bytes], url: str | None = None, form=compressed):
        path = tmp_path / "any name"
        path.write_bytes(form(records))
        return usp.load(path, url)

    return load


def test_the_tree_of_a_website_is_in_the_file(load):
    for form in [compressed, b"".join]:
        tree = load(SITE, form=form)
        assert tree.url == f"{HOST}/"
        assert urls(tree) == PAGES
        failures = {failure.url: (failure.code, failure.status) for failure in tree.failures()}
        assert failures == {
            f"{HOST}/absent.xml": ("not-in-snapshot", None),
            f"{HOST}/error.xml": ("server-error", 500),
        }
        there = next(node for node in tree.all_sitemaps() if node.url.endswith("/there.xml"))
        assert there.exchange.redirects == (f"{HOST}/moved.xml",)
        assert urls(tree) == PAGES


def test_a_wacz_is_a_zip_archive_of_warcs(tmp_path):
    path = tmp_path / "crawl.wacz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("datapackage.json", "{}")
        archive.writestr("archive/one.warc.gz", compressed(SITE[:4]))
        archive.writestr("archive/two.warc.gz", compressed(SITE[4:]))
    assert urls(usp.load(path)) == PAGES


def test_the_latest_document_counts_wherever_it_is(load):
    """A 304 does not hide the document that it confirms."""
    newest = sent("/a.xml", urlset("/new"), date=YEAR_LATER)
    older = sent("/a.xml", urlset("/old"), date="2023-01-01T00:00:00Z")
    assert urls(load([newest, *SITE, older]))[0] == f"{HOST}/new"
    later = sent("/a.xml", "", "304 Not Modified", "2030-01-01T00:00:00Z")
    assert urls(load([*SITE, later])) == PAGES
    failures = load([*without("/a.xml"), later]).failures()
    assert {one.url: one.status for one in failures}[f"{HOST}/a.xml"] == 304


def test_a_revisit_is_what_it_refers_to(load):
    known = {"WARC_Refers_To_Target_URI": f"{HOST}/there.xml"}
    same = record("revisit", f"{HOST}/a.xml", response(""), YEAR_LATER, **known)
    assert urls(load([*SITE, same])) == PAGES
    assert urls(load([*without("/a.xml"), same]))[0] == f"{HOST}/t/1"


def test_addresses_in_angle_brackets_and_line_ends_alone_are_read(load):
    head, _, block = sent("/index.xml", index(*LISTED)).partition(b"\r\n\r\n")
    plain = head.replace(b"\r\n", b"\n") + b"\n\n" + block
    old = SITE[4].replace(b"URI: " + SITE_A, b"URI: <" + SITE_A + b">")
    assert old != SITE[4]
    assert urls(load([*SITE[:3], plain, old, *SITE[5:]])) == PAGES


def test_of_several_websites_one_must_be_named(load):
    with pytest.raises(usp.SnapshotError, match=r"several websites .*choose one with url="):
        load([*SITE, OTHER])
    for url in (HOST, f"{HOST}/index.xml"):
        assert urls(load([*SITE, OTHER], url)) == PAGES


def test_a_file_without_robots_txt_or_sitemaps_is_read_or_says_so(load):
    assert set(urls(load(without("/robots.txt")))) == set(PAGES)
    records = [INFO, sent("/x", "<html>")]
    with pytest.raises(usp.SnapshotError, match="no sitemaps"):
        load(records)
    assert codes(load(records, HOST)) == ["not-in-snapshot"]


def test_a_url_is_found_however_it_is_written(load):
    coded, host = "https://xn--mnchen-3ya.example", "https://münchen.example"
    for base, listed, recorded in [
        (HOST, "/ü.xml", "/%C3%BC.xml"),
        (HOST, "/%c3%bc.xml", "/%C3%BC.xml"),
        (HOST, "/%C3%BC.xml", "/ü.xml"),
        (HOST, "/a b.xml", "/a%20b.xml"),
        (HOST, "/a/../b.xml", "/b.xml"),
        (HOST, "/b.xml?q=é&r=%2f", "/b.xml?q=%C3%A9&r=%2F"),
        (coded, f"{host}/s.xml", "/s.xml"),
        ("https://site.example", f"{HOST}/a.xml", ":443/a.xml"),  # and the other scheme
    ]:
        records = [sent(f"{base}/robots.txt", robots(listed)), sent(base + recorded, urlset("/1"))]
        for url in (None, *([f"{host}/"] if base is coded else [])):
            assert urls(load(records, url)) == [f"{HOST}/1"]


def test_redirects_in_a_circle_end_at_the_limit(load):
    records = [
        sent("/robots.txt", robots("/r")),
        sent("/r", "", "301 Moved", Location="/q"),
        sent("/q", "", "301 Moved", Location="/r"),
    ]
    assert codes(load(records)) == ["limit-redirects"]


def test_what_another_program_has_truncated_is_incomplete(load):
    bodies = {
        "/robots.txt": response(robots("/list.txt"), Content_Type="text/plain"),
        "/list.txt": response("{base}/1\n{base}/2\n", Content_Type="text/plain"),
    }
    for which in bodies:
        cut = {which: {"WARC-Truncated": "length"}}
        tree = load(
            record("response", HOST + path, body, **cut.get(path, {}))
            for path, body in bodies.items()
        )
        assert [(failure.url, failure.code) for failure in tree.failures()] == [
            (f"{HOST}{which}", "body-cut-off")
        ]
        assert urls(tree) == [f"{HOST}/1", f"{HOST}/2"][: tree.page_count()]
        assert tree.page_count()


def test_a_record_whose_rest_is_in_other_records_is_incomplete(load):
    body = response(urlset("/a/1", "/a/2"))
    first = record("response", f"{HOST}/a.xml", body, WARC_Segment_Number="1")
    rest = record("continuation", f"{HOST}/a.xml", b"</urlset>", WARC_Segment_Number="2")
    tree = load([*without("/a.xml"), first, rest])
    assert urls(tree) == PAGES
    reasons = {one.url: one.reason for one in tree.failures()}
    assert "continuation" in reasons[f"{HOST}/a.xml"]


# What is cut off, lies or attacks is a clear error, or read with a word about it ------------------


@pytest.fixture
def own(record, path):
    record(mixed())
    return path


def test_what_is_not_a_warc_is_a_clear_error(path):
    for data in [
        *(b"", b"x", b"<urlset/>", b"\x1f\x8b", gzip.compress(b"<urlset/>"), b"PK\x03\x04"),
        *(b"WARC/1.0", b"WARC/1.0\r\n\r\n", b"WARC/" * 50_000, b"\r\n" * 100_000),
        b"WARC/1.0\r\nContent-Length: -5\r\n\r\n",
        b"WARC/1.0\r\nContent-Length: 99999999999999999999\r\n\r\nx",
    ]:
        path.write_bytes(data)
        with pytest.raises(usp.SnapshotError, match=r"site\.warc\.gz"):
            usp.load(path)


def test_a_warc_that_is_compressed_as_a_whole_says_what_to_do(path):
    path.write_bytes(gzip.compress(b"".join(SITE)))
    with pytest.raises(usp.SnapshotError, match="warcio recompress"):
        usp.load(path)


@pytest.mark.parametrize("dictionary", ["", "plain", "compressed"])
@pytest.mark.parametrize("library", ["backports.zstd", "zstandard"])
def test_a_warc_zst_is_read_if_there_is_a_library(tmp_path, monkeypatch, library, dictionary):
    zstandard, path = pytest.importorskip("zstandard"), tmp_path / "site.warc.zst"
    libraries = encodings._LIBRARIES["zstd"]
    monkeypatch.setitem(encodings._LIBRARIES, "zstd", {library: libraries[library]})
    known = zstandard.train_dictionary(4096, SITE * 50) if dictionary else None
    head = known.as_bytes() if known else b""
    if dictionary == "compressed":
        head = zstandard.compress(head)
    head = head and struct.pack("<II", 0x184D2A5D, len(head)) + head
    frames = [zstandard.ZstdCompressor(dict_data=known).compress(one) for one in SITE]
    path.write_bytes(head + b"".join(frames))
    assert urls(usp.load(path)) == PAGES
    path.write_bytes(head + frames[0] + b"\x28\xb5\x2f\xfd damage" + b"".join(frames[1:-1]))
    damaged = usp.load(path)
    assert (urls(damaged), damaged.is_complete) == (PAGES, False)
    encodings._LIBRARIES["zstd"].clear()
    with pytest.raises(usp.SnapshotError, match="pip install zstandard"):
        usp.load(path)
    with pytest.raises(usp.SnapshotError, match=r"written as \.warc\.gz only"):
        damaged.save(path)


def test_a_snapshot_that_is_cut_off_or_damaged_anywhere_says_so(own):
    whole = usp.load(own)
    data = own.read_bytes()
    chance = random.Random(1)
    cuts = [*(chance.randrange(1, len(data)) for _ in range(25)), len(data) - 1, len(data) - 40]
    for cut in cuts:
        own.write_bytes(data[:cut])
        try:
            tree = usp.load(own)
        except usp.SnapshotError:
            assert cut < 600  # not even the first record is there
            continue
        assert "incomplete-snapshot" in codes(tree)
        assert set(urls(tree)) <= set(urls(whole))
    for at in (chance.randrange(len(data)) for _ in range(25)):
        own.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        with suppress(usp.SnapshotError):  # damage costs what it hits
            assert sum(1 for _ in usp.load(own).all_pages()) <= whole.page_count()


def test_what_stands_around_damage_is_read(path):
    members = [gzip.compress(one) for one in SITE]
    members[5] = members[5][:20] + b"\0" * 30 + members[5][50:]
    path.write_bytes(b"".join(members))
    tree = usp.load(path)
    assert urls(tree) == [url for url in PAGES if "/b/" not in url]
    assert {"incomplete-snapshot", "not-in-snapshot"} <= set(codes(tree))


def test_a_length_that_lies_is_noticed(path):
    (length,) = [one for one in SITE[4].split(b"\r\n") if one.startswith(b"Content-Length")]
    said = int(length.split()[1])
    for by, form in itertools.product((-20, 20, 10_000_000), (compressed, b"".join)):
        lies = SITE[4].replace(length, f"Content-Length: {said + by}".encode())
        path.write_bytes(form([*SITE[:4], lies, *SITE[5:]]))
        tree = usp.load(path)
        assert tree.failures()
        assert set(urls(tree)) <= set(PAGES)


def test_a_bomb_in_the_record_is_stepped_over(path):
    bomb = sent("/bomb.xml", b"\0" * 40_000_000)
    path.write_bytes(compressed([*SITE[:4], bomb, *SITE[4:]]))
    tree = usp.load(path)
    assert urls(tree) == PAGES
    assert "incomplete-snapshot" in codes(tree)


def test_a_bomb_in_the_body_is_stopped_as_one_that_is_received(path):
    inner = zlib.compressobj(9, zlib.DEFLATED, 31)
    body = inner.compress(urlset("http://h/1")[:-9].encode()) + inner.compress(b" " * 40_000_000)
    bomb = sent("/a.xml", body + inner.flush(), date=YEAR_LATER)
    path.write_bytes(compressed([*SITE, bomb]))
    tree = usp.load(path, limits=usp.Limits(unpacked_bytes=1_000_000))
    (code,) = (one.code for one in tree.failures() if one.url == f"{HOST}/a.xml")
    assert code in ("limit-unpacked-bytes", "limit-ratio")


def test_nothing_is_ever_connected_to(path, monkeypatch):
    inside = sent("http://10.0.0.1/robots.txt", "Sitemap: http://169.254.169.254/x\n")
    path.write_bytes(compressed([inside]))
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("connected"))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: pytest.fail("looked up"))
    assert codes(usp.load(path)) == ["not-in-snapshot"]


def test_a_status_that_is_none_is_not_a_response(path):
    for status in ["²00 OK", "20", "", "-12", "1234", "2OO"]:
        odd = record("response", f"{HOST}/a.xml", f"HTTP/1.1 {status}\r\n\r\n".encode("latin-1"))
        path.write_bytes(compressed([*without("/a.xml"), odd]))
        tree = usp.load(path)
        assert f"{HOST}/a.xml" in {failure.url for failure in tree.failures()}


def test_an_index_that_becomes_a_lot_is_not_held(own):
    for line in [b" " * 1000, b"\n", b'{"url": "http://h/", "role": "sitemap"}\n']:
        members = members_of(own)
        index = line * (40_000_000 // len(line))
        start = sum(len(gzip.compress(member, mtime=0)) for member in members[:-2])
        end = json.dumps({"index": start, "documents": 10**9}).encode()
        last = [record("metadata", "urn:usp:index", index), record("metadata", "urn:usp:end", end)]
        own.write_bytes(b"".join(gzip.compress(one, mtime=0) for one in (*members[:-2], *last)))
        with memory_below(30_000_000):
            assert usp.load(own).page_count()
