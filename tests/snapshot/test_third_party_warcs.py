"""WARC files of other programs are loaded: records by URL, redirects inside the file, the rest absent."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Iterable

import pytest
from snapshots import codes, urls

import usp
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
