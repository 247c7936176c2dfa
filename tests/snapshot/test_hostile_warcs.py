"""A WARC that is cut off, lies or attacks gives a clear error, or what is in it with a word about it."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import socket
import tracemalloc
import zlib

import pytest
from snapshots import mixed
from test_foreign_warcs import HOST, PAGES, SITE, compressed, record, response, urls

import usp
from usp._snapshot.writing import ENTRY_FIELD
from website import urlset


@pytest.fixture
def own(serve, tmp_path):
    site = serve(mixed())
    path = tmp_path / "site.warc.gz"
    usp.sitemap_tree_for_homepage(site.base, record=path)
    return path


@pytest.mark.parametrize(
    "data",
    [b"", b"x", b"<urlset/>", b"\x1f\x8b", gzip.compress(b"<urlset/>"), b"PK\x03\x04", b"WARC/1.0",
     b"WARC/1.0\r\n\r\n", b"WARC/1.0\r\nContent-Length: -5\r\n\r\n", b"WARC/" * 50_000,
     b"WARC/1.0\r\nContent-Length: 99999999999999999999\r\n\r\nx", b"\r\n" * 100_000],
)  # fmt: skip
def test_what_is_not_a_warc_is_a_clear_error(tmp_path, data):
    path = tmp_path / "a.warc.gz"
    path.write_bytes(data)
    with pytest.raises(usp.SnapshotError, match=r"a\.warc\.gz"):
        usp.load(path)


def test_a_warc_that_is_compressed_as_a_whole_says_what_to_do(tmp_path):
    path = tmp_path / "a.warc.gz"
    path.write_bytes(gzip.compress(b"".join(SITE)))
    with pytest.raises(usp.SnapshotError, match="warcio recompress"):
        usp.load(path)


def test_a_snapshot_that_is_cut_off_anywhere_says_so(own):
    whole = usp.load(own)
    data = own.read_bytes()
    pages = {page.url for page in whole.all_pages()}
    chance = random.Random(1)
    cuts = [*(chance.randrange(1, len(data)) for _ in range(25)), len(data) - 1, len(data) - 40]
    for cut in cuts:
        own.write_bytes(data[:cut])
        try:
            tree = usp.load(own)
        except usp.SnapshotError:
            assert cut < 600  # not even the first record is there
            continue
        assert "incomplete-snapshot" in {failure.code for failure in tree.failures()}
        assert {page.url for page in tree.all_pages()} <= pages


def test_damage_costs_what_it_hits(own):
    whole = usp.load(own)
    data = own.read_bytes()
    chance = random.Random(2)
    for _ in range(25):
        at = chance.randrange(len(data))
        own.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        try:
            tree = usp.load(own)
            assert sum(1 for _ in tree.all_pages()) <= whole.page_count()
        except usp.SnapshotError:
            pass


def test_what_stands_around_damage_is_read(tmp_path):
    path = tmp_path / "a.warc.gz"
    members = [gzip.compress(one) for one in SITE]
    members[5] = members[5][:20] + b"\0" * 30 + members[5][50:]
    path.write_bytes(b"".join(members))
    tree = usp.load(path)
    assert urls(tree) == [url for url in PAGES if "/b/" not in url]
    assert {"incomplete-snapshot", "not-in-snapshot"} <= {one.code for one in tree.failures()}


@pytest.mark.parametrize("by", [-20, 20, 10_000_000])
@pytest.mark.parametrize("form", [compressed, b"".join])
def test_a_length_that_lies_is_noticed(tmp_path, by, form):
    path = tmp_path / "a.warc"
    line = f"Content-Length: {len(response(urlset('/a/1', '/a/2')))}"
    records = list(SITE)
    (length,) = [one for one in records[4].split(b"\r\n") if one.startswith(b"Content-Length")]
    said = int(length.split()[1])
    records[4] = records[4].replace(length, f"Content-Length: {said + by}".encode())
    assert line
    path.write_bytes(form(records))
    tree = usp.load(path)
    assert tree.failures()
    assert set(urls(tree)) <= set(PAGES)


def test_a_bomb_in_the_record_is_stepped_over(tmp_path):
    bomb = record("response", f"{HOST}/bomb.xml", response(b"\0" * 40_000_000))
    path = tmp_path / "a.warc.gz"
    path.write_bytes(compressed([*SITE[:4], bomb, *SITE[4:]]))
    tree = usp.load(path)
    assert urls(tree) == PAGES
    assert "incomplete-snapshot" in {failure.code for failure in tree.failures()}


def test_a_bomb_in_the_body_is_stopped_as_one_that_is_received(tmp_path):
    inner = zlib.compressobj(9, zlib.DEFLATED, 31)
    body = inner.compress(urlset("http://h/1")[:-9].encode()) + inner.compress(b" " * 40_000_000)
    bomb = record(
        "response", f"{HOST}/a.xml", response(body + inner.flush()), "2025-01-01T00:00:00Z"
    )
    path = tmp_path / "a.warc.gz"
    path.write_bytes(compressed([*SITE, bomb]))
    tree = usp.load(path, limits=usp.Limits(unpacked_bytes=1_000_000))
    codes = {failure.url: failure.code for failure in tree.failures()}
    assert codes[f"{HOST}/a.xml"] in ("limit-unpacked-bytes", "limit-ratio")


def test_many_records_take_time_in_proportion(tmp_path):
    junk = [
        gzip.compress(record("response", f"{HOST}/{n}", response(b"<html>"))) for n in range(3000)
    ]
    path = tmp_path / "a.warc.gz"
    path.write_bytes(compressed(SITE[:4]) + b"".join(junk) + compressed(SITE[4:]))
    assert urls(usp.load(path)) == PAGES


def test_a_file_full_of_beginnings_is_given_up(tmp_path):
    path = tmp_path / "a.warc.gz"
    path.write_bytes(compressed(SITE) + b"\x1f\x8b\x08" * 200_000)
    tree = usp.load(path)
    assert urls(tree) == PAGES
    assert "incomplete-snapshot" in {failure.code for failure in tree.failures()}


def test_nothing_is_ever_connected_to(tmp_path, monkeypatch):
    inside = [
        record(
            "response",
            "http://10.0.0.1/robots.txt",
            response("Sitemap: http://169.254.169.254/x\n"),
        )
    ]
    path = tmp_path / "a.warc.gz"
    path.write_bytes(compressed(inside))
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("connected"))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: pytest.fail("looked up"))
    tree = usp.load(path)
    assert [failure.code for failure in tree.failures()] == ["not-in-snapshot"]


@pytest.mark.parametrize("status", ["²00 OK", "20", "", "-12", "1234", "2OO"])
def test_a_status_that_is_none_is_not_a_response(tmp_path, status):
    odd = record("response", f"{HOST}/a.xml", f"HTTP/1.1 {status}\r\n\r\n".encode("latin-1"))
    path = tmp_path / "a.warc.gz"
    path.write_bytes(compressed([one for one in SITE if b"/a.xml\r\n" not in one] + [odd]))
    tree = usp.load(path)
    assert f"{HOST}/a.xml" in {failure.url for failure in tree.failures()}


def members_of(path):
    data, members = path.read_bytes(), []
    while data:
        inflate = zlib.decompressobj(31)
        members.append(inflate.decompress(data))
        data = inflate.unused_data
    return members


@pytest.mark.parametrize(
    "change",
    [
        {"at": 10**12}, {"at": -1}, {"start": "x"}, {"role": "nothing"}, {"exchange": None},
        {"exchange": {"url": 1}}, {"error": {}}, {"error": 5, "at": None}, {"glance": {"kind": "X"}},
        {"url": None}, {"before": {"before": {}}}, {"at": 0}, {"lastmod": 5}, {"glance": 5},
        {"exchange": {"url": "http://h/", "final_url": "http://h/", "headers": [1]}},
    ],
)  # fmt: skip
def test_entries_that_lie_raise_nothing_else(own, change):
    members = members_of(own)
    changed = []
    for member in members[:-2]:  # without the end, entries are read one by one
        head, _, body = member.partition(b"\r\n\r\n")
        if body.startswith(ENTRY_FIELD.encode()):
            value = json.loads(body.removeprefix(ENTRY_FIELD.encode()))
            body = ENTRY_FIELD.encode() + json.dumps({**value, **change}).encode()
            head = b"\r\n".join(
                line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length")
            )
            member = head + b"\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n" % (len(body), body)  # noqa: PLW2901
        changed.append(gzip.compress(member))
    own.write_bytes(b"".join(changed))
    try:
        tree = usp.load(own)
        list(tree.all_pages())
        assert tree.failures()
    except usp.SnapshotError:
        pass


def test_options_that_lie_raise_nothing_else(own):
    members = members_of(own)
    for options in ('{"limits": {"depth": "x"}}', '{"use_robots": "no"}', "[]", '{"limits": 3}'):
        first = members[0].replace(b"usp-options: {}", b"usp-options: " + options.encode())
        length = len(first.partition(b"\r\n\r\n")[2]) - 4
        lines = first.split(b"\r\n")
        lines = [
            b"Content-Length: %d" % length if b"Content-Length" in one else one for one in lines
        ]
        own.write_bytes(
            gzip.compress(b"\r\n".join(lines)) + b"".join(map(gzip.compress, members[1:]))
        )
        with contextlib.suppress(usp.SnapshotError):
            usp.load(own)


@pytest.mark.parametrize("line", [b" " * 1000, b"\n", b'{"url": "http://h/", "role": "sitemap"}\n'])
def test_an_index_that_becomes_a_lot_is_not_held(own, line):
    members = members_of(own)
    index = line * (40_000_000 // len(line))
    start = sum(len(gzip.compress(member, mtime=0)) for member in members[:-2])
    end = json.dumps({"index": start, "documents": 10**9}).encode()
    last = [
        record("metadata", "urn:usp:index", index),
        record("metadata", "urn:usp:end", end),
    ]
    own.write_bytes(b"".join(gzip.compress(one, mtime=0) for one in (*members[:-2], *last)))
    tracemalloc.start()
    try:
        assert usp.load(own).page_count()
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["usp-start", "usp-options"])
def test_deeply_nested_facts_are_not_ours(tmp_path, name):
    fields = {"usp-start": "{}", "usp-options": "{}", name: "[" * 100_000}
    info = "".join(f"{key}: {value}\r\n" for key, value in fields.items())
    path = tmp_path / "nested.warc"
    path.write_bytes(b"".join([record("warcinfo", "", info.encode()), *SITE]))
    assert usp.load(path).page_count() == len(PAGES)
