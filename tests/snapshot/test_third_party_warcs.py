"""WARC files of other programs are loaded: records by URL, redirects inside the file, the rest absent."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Iterable

import pytest

import usp
from website import index, robots, urlset

HOST = "http://site.example"


def fill(text: str, base: str = HOST) -> bytes:
    return text.replace("{base}", base).encode()


def record(
    kind: str, url: str, block: bytes, date: str = "2024-01-01T00:00:00Z", **more: str
) -> bytes:
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


def chunked(body: str, size: int = 11) -> bytes:
    data = fill(body)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


INFO = b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 12\r\n\r\nsoftware: x\n\r\n\r\n"

SITE = [
    INFO,
    record("response", f"{HOST}/", response("<html>home</html>", Content_Type="text/html")),
    record("response", f"{HOST}/robots.txt", response(robots("/index.xml", "/absent.xml"))),
    record(
        "response",
        f"{HOST}/index.xml",
        response(
            chunked(index("/a.xml", "/b.xml.gz", "/moved.xml", "/error.xml")),
            Transfer_Encoding="chunked",
        ),
    ),
    record("response", f"{HOST}/a.xml", response(urlset("/a/1", "/a/2"))),
    record("response", f"{HOST}/b.xml.gz", response(gzip.compress(fill(urlset("/b/1"))))),
    record("response", f"{HOST}/moved.xml", response("", "301 Moved", Location="/there.xml")),
    record("response", f"{HOST}/there.xml", response(urlset("/t/1"))),
    record("response", f"{HOST}/error.xml", response("", "500 Oh no")),
]
SITE_A = f"{HOST}/a.xml".encode()
PAGES = [f"{HOST}/{path}" for path in ("a/1", "a/2", "b/1", "t/1")]


def compressed(records: Iterable[bytes]) -> bytes:
    return b"".join(map(gzip.compress, records))


def without(path: str) -> list[bytes]:
    """Return the records of the website but for those of a path."""
    return [one for one in SITE if f"{path}\r\n".encode() not in one]


def urls(tree) -> list[str]:
    return [page.url for page in tree.all_pages()]


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
    newest = record("response", f"{HOST}/a.xml", response(urlset("/new")), "2025-01-01T00:00:00Z")
    older = record("response", f"{HOST}/a.xml", response(urlset("/old")), "2023-01-01T00:00:00Z")
    assert urls(load([newest, *SITE, older]))[0] == f"{HOST}/new"
    said = b"HTTP/1.1 304 Not Modified\r\n\r\n"
    later = record("response", f"{HOST}/a.xml", said, "2030-01-01T00:00:00Z")
    assert urls(load([*SITE, later])) == PAGES
    failures = load([*without("/a.xml"), later]).failures()
    assert {one.url: one.status for one in failures}[f"{HOST}/a.xml"] == 304


def test_a_revisit_is_what_it_refers_to(load):
    same = record(
        "revisit",
        f"{HOST}/a.xml",
        response(""),
        "2025-01-01T00:00:00Z",
        WARC_Refers_To_Target_URI=f"{HOST}/there.xml",
    )
    assert urls(load([*SITE, same])) == PAGES
    assert urls(load([*without("/a.xml"), same]))[0] == f"{HOST}/t/1"


def test_addresses_in_angle_brackets_and_line_ends_alone_are_read(load):
    listed = response(index("/a.xml", "/b.xml.gz", "/moved.xml"))
    head, _, block = record("response", f"{HOST}/index.xml", listed).partition(b"\r\n\r\n")
    plain = head.replace(b"\r\n", b"\n") + b"\n\n" + block
    old = SITE[4].replace(b"URI: " + SITE_A, b"URI: <" + SITE_A + b">")
    assert old != SITE[4]
    assert urls(load([*SITE[:3], plain, old, *SITE[5:]])) == PAGES


def test_of_several_websites_one_must_be_named(load):
    other = record("response", "http://other.example/robots.txt", response("User-agent: *\n"))
    with pytest.raises(usp.SnapshotError, match=r"several websites .*choose one with url="):
        load([*SITE, other])
    for url in (HOST, f"{HOST}/index.xml"):
        assert urls(load([*SITE, other], url)) == PAGES


def test_a_file_without_robots_txt_or_sitemaps_is_read_or_says_so(load):
    assert set(urls(load(without("/robots.txt")))) == set(PAGES)
    records = [INFO, record("response", f"{HOST}/x", response("<html>"))]
    with pytest.raises(usp.SnapshotError, match="no sitemaps"):
        load(records)
    assert [failure.code for failure in load(records, HOST).failures()] == ["not-in-snapshot"]


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
        robots_txt = record("response", f"{base}/robots.txt", response(robots(listed)))
        found = record("response", f"{base}{recorded}", response(urlset("/1")))
        for url in (None, *([f"{host}/"] if base is coded else [])):
            assert urls(load([robots_txt, found], url)) == [f"{HOST}/1"]


def test_redirects_in_a_circle_end_at_the_limit(load):
    records = [
        record("response", f"{HOST}/robots.txt", response(robots("/r"))),
        record("response", f"{HOST}/r", response("", "301 Moved", Location="/q")),
        record("response", f"{HOST}/q", response("", "301 Moved", Location="/r")),
    ]
    assert [failure.code for failure in load(records).failures()] == ["limit-redirects"]


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
