"""A WARC that is cut off, lies or attacks gives a clear error, or what is in it with a word about it."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import socket
import zlib
from contextlib import suppress

import pytest
from snapshots import codes, members_of, mixed, urls
from test_third_party_warcs import HOST, PAGES, SITE, YEAR_LATER, compressed, record, sent, without

import usp
from patience import memory_below
from website import urlset


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
