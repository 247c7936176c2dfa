"""Lists of sites, in whatever form people have them."""

import gzip
import io
import os
import threading

import pyarrow as pa
import pytest
from fleet_support import handed_out
from pyarrow import parquet

from usp._base.urls import Login
from usp.fleet import SiteListError, read_sites
from usp.fleet import site_list as sites_module
from usp.fleet.site_list import (
    WaitingSite,
    address_of,
    by_address,
    homepage,
    homepages,
)

HOMEPAGES = [
    ("example.org", "https://example.org/"),
    (" HTTP://Example.org:80/a/b?c ", "http://example.org/"),
    ("https://example.org:443", "https://example.org/"),
    ("example.org:8080", "https://example.org:8080/"),
    ("http://[::1]:99/x", "http://[::1]:99/"),
    ("http://[0:0::1]:099", "http://[::1]:99/"),
    ("BÜCHER.example.", "https://xn--bcher-kva.example/"),
    ("xn--bcher-kva.example", "https://xn--bcher-kva.example/"),
    ("ftp://example.org/", "ftp://example.org/"),
    ("two words", "two words"),
    ("http:/example.org/", "http:/example.org/"),
    ("", ""),
]


def test_a_site_is_the_address_of_its_homepage_and_a_login_is_kept_apart():
    found = [(text, *homepage(text)) for text, _ in HOMEPAGES]
    assert found == [(text, site, None) for text, site in HOMEPAGES]
    extras = {}
    assert list(homepages(["http://u:p@h/x", " ", "h"], extras)) == ["http://h/", "https://h/"]
    assert extras == {"http://h/": WaitingSite("http://h/", login=Login(b"u", b"p"))}


def test_an_opml_file_lists_websites_and_feeds(tmp_path):
    outlines = (
        '<outline text="A"><outline xmlUrl="http://a.example/f?x=1&amp;y=2" htmlUrl="http://A.example/b"/>',
        '<outline xmlUrl="https://feeds.example/a.xml"/></outline>',
        '<outline type="link" url="https://b.example/"/><outline xmlUrl="mailto:x"/><outline text="C',
    )
    long = "x" * (1 << 20)  # a list in a single line
    (tmp_path / "a.opml").write_text(f"<opml><body text='{long}'>\n" + "\n".join(outlines))
    extras = {}
    listed = list(homepages(read_sites(str(tmp_path / "a.opml")), extras))
    assert listed == ["http://a.example/", "https://feeds.example/", "https://b.example/"]
    paths = {"http://a.example/": ("f?x=1&y=2",), "https://feeds.example/": ("a.xml",)}
    assert {site: found.feeds for site, found in extras.items()} == paths


def parquet_of(**columns: list[object]) -> bytes:
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


BOTH = ["a.example", "b.example"]
LISTS = {
    "sites.txt": b"\xef\xbb\xbf# a list\na.example\r\n\n  b.example\n",
    "sites.csv": b"rank,domain\n1,a.example\n2,b.example\n",
    "sites.tsv": b"site\trank\na.example\t1\nb.example\t2\n",
    "sites.parquet": parquet_of(host=BOTH),
    "list": b"a.example\nb.example",
}


def test_a_list_may_be_lines_with_comments_or_a_table(tmp_path):
    for name, content in LISTS.items():
        path = tmp_path / name
        path.write_bytes(content)
        assert list(read_sites(str(path))) == BOTH
    path, told = tmp_path / "sites.txt", []
    path.write_text("# none yet\n\n")
    assert list(read_sites(str(path), told.append)) == []
    assert told == [f"{path} lists no sites"]


def test_tables_have_a_column_of_sites(tmp_path):
    csv, table = tmp_path / "sites.csv", tmp_path / "sites.parquet"
    for column in ("site", "url", "host", "Domain"):
        csv.write_text(f"rank,{column}\n1,a.example\n2,\n3,b.example\n4\n")
        table.write_bytes(parquet_of(rank=[1, 2], **{column: BOTH}))
        for path in (csv, table):
            assert list(read_sites(str(path))) == BOTH, column


def test_the_standard_input_is_a_list(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("example.org\n"))
    assert list(read_sites("-")) == ["example.org"]
    monkeypatch.setattr("sys.stdin", stdin := io.TextIOWrapper(io.BytesIO(b"a.example\nb\xff\n")))
    assert list(read_sites("-")) == ["a.example", "b\ufffd"]
    assert not stdin.buffer.closed


UNREADABLE = [
    ("none.txt", None, "No such file or directory; pass a file with one site per line"),
    ("x" * 300, None, "pass a file with one site per line, or - for standard input"),
    ("folder.txt", "", "Is a directory"),
    ("wide.txt", "example.org\n".encode("utf-16"), "pass it uncompressed and in UTF-8"),
    ("sites.txt.gz", gzip.compress(b"example.org\n"), "is not a text file in UTF-8"),
    ("sites.csv", b"name,rank\n", "no column is named site, url, host or domain"),
    ("sites.csv", b'site\n"' + b"x" * 200_000, "line 2 cannot be read: field larger than"),
    ("sites.parquet", b"no such thing", "is not a readable Parquet file"),
]


def test_a_list_that_cannot_be_read_is_told_what_to_do(tmp_path):
    for name, content, said in UNREADABLE:
        path = tmp_path / name
        if content == "":
            path.mkdir()
        elif content is not None:
            path.write_bytes(content)
        with pytest.raises(SiteListError, match=said):
            list(read_sites(str(path)))


class Endless(io.RawIOBase):
    """Input that repeats itself for ever; counts how much of it was read."""

    def __init__(self, piece: bytes) -> None:
        self.piece = piece
        self.read_bytes = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        size = len(buffer) // len(self.piece) * len(self.piece)
        buffer[:size] = self.piece * (size // len(self.piece))
        self.read_bytes += size
        return size


ENDLESS = [
    (b"x", "standard input: line 1 has more than 1,048,576 characters"),
    (b"example.org\n", "standard input: more than 1,000 lines; split the list"),
    (b"# a comment\n", "standard input: more than 1,000 lines"),
    (b"\n", "standard input: more than 1,000 lines"),
]


def test_a_list_that_never_ends_is_refused_in_bounded_memory(monkeypatch):
    monkeypatch.setattr(sites_module, "MOST_LINES", 1000)
    for piece, said in ENDLESS:
        endless = Endless(piece)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(endless)))
        with pytest.raises(SiteListError, match=said):
            list(read_sites("-"))
        assert endless.read_bytes < 2 << 20


def test_a_line_that_is_too_long_is_named_and_left_out(tmp_path):
    path = tmp_path / "sites.txt"
    path.write_text(f"a.example\n{'x' * 8193}\n{'b' * 8192}\n")
    problems = []
    assert list(read_sites(str(path), problems.append)) == ["a.example", "b" * 8192]
    assert problems == [f"{path}: line 2 has more than 8,192 characters; left out"]
    table = tmp_path / "sites.parquet"
    table.write_bytes(parquet_of(url=["x" * 9000, "c.example"]))
    assert list(read_sites(str(table), problems.append)) == ["c.example"]
    assert problems[1:] == [f"{table}: row 1 has more than 8,192 characters; left out"]


def test_a_host_is_never_divided_and_one_worker_has_it_at_a_time():
    left = handed_out(("1", "a"), ("4", "b"), ("2", "a"), ("5", "c"))
    assert left.batch(2, "x") == [WaitingSite("1", "a"), WaitingSite("2", "a")]
    left._add(WaitingSite("3", "a"))
    assert left.batch(9, "y") == [WaitingSite("4", "b"), WaitingSite("5", "c")]
    assert left.batch(9, "y") is None
    assert left.has_more
    left.done("x", ["1", "2"])
    assert left.batch(9, "y") == [WaitingSite("3", "a")]
    assert left.batch(9, "y") == []
    assert not left.has_more


def test_sites_to_be_left_alone_are_handed_out_to_nobody():
    left = handed_out(("1", "a"), ("2", "a"), is_left_alone=lambda site: site == "1")
    assert left.batch(9, "x") == [WaitingSite("2", "a")]


def test_sites_at_one_address_are_found_by_looking_them_up():
    addresses = {"a": "192.0.2.1", "b": "192.0.2.1"}
    urls = [f"http://{host}/" for host in "abc"] * 700
    keyed = list(by_address(map(WaitingSite, urls), lambda host: addresses.get(host, host)))
    assert [one.url for one in keyed] == urls
    assert {one.key for one in keyed} == {"192.0.2.1", "c"}
    assert address_of("127.0.0.1") == "127.0.0.1"
    assert address_of("no.such.host.invalid") == "no.such.host.invalid"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes that have a name")
def test_a_list_may_come_through_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("a.example\nb.example\n",))
    writer.start()
    assert list(read_sites(str(pipe))) == BOTH
    writer.join()
    with pytest.raises(SiteListError, match=r"nothing was written to it within 0\.01 s"):
        list(read_sites(str(pipe), seconds=0.01))
