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
PAGES = [f"{HOST}/{path}" for path in ("a/1", "a/2", "b/1", "t/1")]


def compressed(records: Iterable[bytes]) -> bytes:
    return b"".join(map(gzip.compress, records))


def urls(tree) -> list[str]:
    return [page.url for page in tree.all_pages()]


@pytest.fixture
def write(tmp_path):
    def write(data: bytes, name: str = "other.warc.gz"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


def test_the_tree_of_a_website_is_in_the_file(write):
    for form in [compressed, b"".join]:
        tree = usp.load(write(form(SITE), "any name"))
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


def test_the_latest_response_counts_wherever_it_is(write):
    newest = record("response", f"{HOST}/a.xml", response(urlset("/new")), "2025-01-01T00:00:00Z")
    older = record("response", f"{HOST}/a.xml", response(urlset("/old")), "2023-01-01T00:00:00Z")
    tree = usp.load(write(compressed([newest, *SITE, older])))
    assert urls(tree)[0] == f"{HOST}/new"


def test_http_and_https_stand_for_each_other(write):
    records = [
        INFO,
        record("response", "https://site.example/robots.txt", response(robots("/a.xml"))),
        record("response", "https://site.example:443/a.xml", response(urlset("/a/1"))),
    ]
    assert urls(usp.load(write(compressed(records)))) == [f"{HOST}/a/1"]


def test_a_revisit_is_what_it_refers_to(write):
    same = record(
        "revisit",
        f"{HOST}/a.xml",
        response(""),
        "2025-01-01T00:00:00Z",
        WARC_Refers_To_Target_URI=f"{HOST}/there.xml",
    )
    assert urls(usp.load(write(compressed([*SITE, same])))) == PAGES
    without = [one for one in SITE if b"/a.xml\r\n" not in one]
    tree = usp.load(write(compressed([*without, same])))
    assert urls(tree)[0] == f"{HOST}/t/1"


def test_addresses_in_angle_brackets_and_line_ends_alone_are_read(write):
    odd = [one.replace(b"\r\n", b"\n") for one in SITE[3:4]]
    old = [
        one.replace(b"WARC-Target-URI: http", b"WARC-Target-URI: <http").replace(
            b".xml\r\n", b".xml>\r\n", 1
        )
        for one in SITE[4:5]
    ]
    assert old != SITE[4:5]
    plain = record(
        "response", f"{HOST}/index.xml", response(index("/a.xml", "/b.xml.gz", "/moved.xml"))
    )
    tree = usp.load(
        write(
            compressed(
                [*SITE[:3], plain.replace(b"\r\n\r\nHTTP", b"\r\n\r\nHTTP"), *old, *SITE[5:]]
            )
        )
    )
    assert odd
    assert urls(tree) == PAGES


def test_without_robots_txt_the_sitemaps_in_the_file_are_read(write):
    records = [one for one in SITE if b"robots.txt" not in one]
    tree = usp.load(write(compressed(records)))
    assert set(urls(tree)) == set(PAGES)


def test_of_several_websites_one_must_be_named(write):
    other = record("response", "http://other.example/robots.txt", response("User-agent: *\n"))
    path = write(compressed([*SITE, other]))
    with pytest.raises(usp.SnapshotError, match=r"several websites .*choose one with url="):
        usp.load(path)
    assert urls(usp.load(path, HOST)) == PAGES
    assert urls(usp.load(path, f"{HOST}/index.xml")) == PAGES


def test_a_file_without_sitemaps_says_so(write):
    path = write(compressed([INFO, record("response", f"{HOST}/x", response("<html>"))]))
    with pytest.raises(usp.SnapshotError, match="no sitemaps"):
        usp.load(path)
    tree = usp.load(path, HOST)
    assert [failure.code for failure in tree.failures()] == ["not-in-snapshot"]


def test_a_url_is_found_however_it_is_written(tmp_path):
    for listed, recorded in [
        ("/ü.xml", "/%C3%BC.xml"),
        ("/%c3%bc.xml", "/%C3%BC.xml"),
        ("/%C3%BC.xml", "/ü.xml"),
        ("/a b.xml", "/a%20b.xml"),
        ("/a/../b.xml", "/b.xml"),
        ("/b.xml?q=é&r=%2f", "/b.xml?q=%C3%A9&r=%2F"),
    ]:
        path = tmp_path / "a.warc"
        path.write_bytes(
            record("response", f"{HOST}/robots.txt", response(f"Sitemap: {HOST}{listed}\n"))
            + record("response", f"{HOST}{recorded}", response(urlset("/1")))
        )
        assert urls(usp.load(path)) == [f"{HOST}/1"]


def test_a_host_in_another_script_is_found(tmp_path):
    path, coded = tmp_path / "a.warc", "https://xn--mnchen-3ya.example"
    path.write_bytes(
        record(
            "response", f"{coded}/robots.txt", response("Sitemap: https://münchen.example/s.xml")
        )
        + record("response", f"{coded}/s.xml", response(urlset("https://münchen.example/1")))
    )
    assert usp.load(path).page_count() == 1
    assert usp.load(path, "https://münchen.example/").page_count() == 1


def test_redirects_in_a_circle_end_at_the_limit(tmp_path):
    path = tmp_path / "a.warc"
    path.write_bytes(
        record("response", f"{HOST}/robots.txt", response(f"Sitemap: {HOST}/r"))
        + record("response", f"{HOST}/r", response("", "301 Moved", Location="/q"))
        + record("response", f"{HOST}/q", response("", "301 Moved", Location="/r"))
    )
    assert [failure.code for failure in usp.load(path).failures()] == ["limit-redirects"]


def test_what_another_program_has_truncated_is_incomplete(tmp_path):
    for which in ["/robots.txt", "/list.txt"]:
        path, cut = tmp_path / "a.warc", {"WARC-Truncated": "length"}
        bodies = {
            "/robots.txt": response(f"Sitemap: {HOST}/list.txt\n", Content_Type="text/plain"),
            "/list.txt": response(f"{HOST}/1\n{HOST}/2\n", Content_Type="text/plain"),
        }
        path.write_bytes(
            b"".join(
                record("response", HOST + place, body, **(cut if place == which else {}))
                for place, body in bodies.items()
            )
        )
        tree = usp.load(path)
        assert [(failure.url, failure.code) for failure in tree.failures()] == [
            (f"{HOST}{which}", "body-cut-off")
        ]
        assert urls(tree) == [f"{HOST}/1", f"{HOST}/2"][: tree.page_count()]
        assert tree.page_count()


def test_a_304_does_not_hide_the_document_that_it_confirms(write):
    said = b"HTTP/1.1 304 Not Modified\r\n\r\n"
    later = record("response", f"{HOST}/a.xml", said, "2030-01-01T00:00:00Z")
    assert urls(usp.load(write(compressed([*SITE, later])))) == PAGES
    alone = [one for one in SITE if b"/a.xml\r\n" not in one]
    tree = usp.load(write(compressed([*alone, later])))
    assert {one.url: one.status for one in tree.failures()}[f"{HOST}/a.xml"] == 304


def test_a_record_whose_rest_is_in_other_records_is_incomplete(write):
    first = record(
        "response", f"{HOST}/a.xml", response(urlset("/a/1", "/a/2")), WARC_Segment_Number="1"
    )
    rest = record("continuation", f"{HOST}/a.xml", b"</urlset>", WARC_Segment_Number="2")
    others = [one for one in SITE if b"/a.xml\r\n" not in one]
    tree = usp.load(write(compressed([*others, first, rest])))
    assert urls(tree) == PAGES
    reasons = {one.url: one.reason for one in tree.failures()}
    assert "continuation" in reasons[f"{HOST}/a.xml"]
