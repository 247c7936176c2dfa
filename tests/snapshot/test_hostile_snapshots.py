"""A snapshot says what was: whoever reads it decides about limits, patterns, pauses and memory."""

import asyncio
import copy
import gc
import gzip
import json
import random
import zipfile
import zlib
from dataclasses import asdict

import pytest
from snapshots import codes, urls
from test_third_party_warcs import (
    HOST,
    SITE,
    YEAR_LATER,
    compressed,
    cut_in,
    fill,
    record,
    response,
    sent,
    without,
)

import usp
from patience import memory_below
from usp import aio
from usp._snapshot.recorded_responses import without_chunks
from usp._snapshot.snapshot_entries import read_entry
from usp._snapshot.snapshot_file import start_of
from usp._snapshot.warc import WarcFile
from usp.web_client.abstract_client import WebClientErrorResponse
from website import dated, index, robots, urlset, with_index

NAMES = [f"/{number}.xml" for number in range(4)]
DOCUMENTS = with_index({name: urlset(f"{name[:-4]}/a", f"{name[:-4]}/b") for name in NAMES})
HOSTILE = "\x1b[31m\x00\x9b\u202e\r\nforged: yes"


def forged(
    documents: dict[str, str] | None = None,
    options: str = "{}",
    start: str = f'{{"website": "{HOST}/"}}',
    change=lambda entries, facts: None,
    is_indexed: bool = True,
    alter=lambda entry: None,
    is_cut: bool = False,
) -> bytes:
    """Return a snapshot that is made by hand, with whatever its JSON says."""
    data, entries = bytearray(), []

    def add(kind: str, url: str, block: bytes) -> None:
        data.extend(gzip.compress(record(kind, url, block), mtime=0))

    def line(value, name: str = "usp-entry") -> bytes:
        said = value if isinstance(value, bytes) else json.dumps(value).encode()
        return name.encode() + b": " + said + b"\r\n"

    info = f"software: usp\r\nusp-start: {start}\r\nusp-options: {options}\r\n"
    add("warcinfo", "", info.encode())
    for path, text in (documents or DOCUMENTS).items():
        body, url, at = fill(text), f"{HOST}{path}", len(data)
        add("response", url, response(body))
        exchange = {"url": url, "final_url": url, "status": 200, "attempts": 1, "seconds": 0.5}
        exchange |= {"received": len(body), "content_type": "text/xml", "redirects": []}
        exchange |= {"headers": [["ETag", '"1"']], "started": "2024-01-01T00:00:00+00:00"}
        exchange["hops"] = [[url, 200, "OK", [["Accept", "*/*"]], [], "192.0.2.1"]]
        role = "robots.txt" if path == "/robots.txt" else "sitemap"
        entry = {"url": url, "role": role, "lastmod": "2024-01-01", "attempts": 1}
        entry |= {"exchange": exchange, "digest": "sha1:X", "seen": "2024-01-01"}
        entry |= {"at": at, "start": at, "end": len(data), "here": len(data)}
        entry["sum"] = zlib.crc32(data[at:])
        if path in NAMES:
            entry["glance"] = {"kind": "PagesXMLSitemap", "namespace": ["a", "b"], "start": "3c75"}
        alter(entry)
        entries.append(entry)
        add("metadata", f"urn:usp:entry:{url}", line(entry))
    if is_cut:
        return bytes(data)
    reason = {"code": "not-found", "text": "404 Not Found", "advice": ["TRUST", ""], "full": "404"}
    error = {"message": "404", "reason": reason, "status": 404, "retry_after": 1, "silent": True}
    before = {**copy.deepcopy(entries[-1]), "start": len(data), "end": len(data), "at": None}
    failed = {"url": f"{HOST}/gone.xml", "role": "sitemap", "error": error}
    entries.append({**failed, "before": {**before, "error": error}, "start": 0, "end": 0})
    facts = {"seconds": 1.5, "index": len(data), "documents": len(entries)}
    facts = change(entries, facts) or facts
    if is_indexed:
        add("metadata", "urn:usp:index", b"".join(map(line, entries)))
        add("metadata", "urn:usp:end", line(facts, "usp-end"))
    else:
        for entry in entries:
            add("metadata", "urn:usp:entry:x", line(entry))
    return bytes(data)


# What it says in JSON ------------------------------------------------------------------------------

NASTY = [
    *("Infinity", "-Infinity", "NaN", "1e999", "-1", "1180591620717411303424", "9" * 5000, "-2.5"),
    *("1e308", "true", "null", '""', '"\\ud800"', json.dumps(HOSTILE), '"http://[x"', "[]", "{}"),
    *('"0001-01-01T00:00:00+23:59"', '"9999-12-31T23:59:59-23:59"', "[" * 50_000, "[[1]]"),
]


def places(value, place=()):
    """Yield where the values of a JSON value are."""
    if place:
        yield place
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        if isinstance(inner, dict | list):
            yield from places(inner, (*place, key))
        else:
            yield (*place, key)


def with_text(value, place, text) -> bytes:
    """Return JSON in which one value is this text, whether that is JSON or not."""
    changed = copy.deepcopy(value)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = "@"
    return json.dumps(changed).replace('"@"', text, 1).encode()


def read_all(path) -> None:
    """Read everything that a file has; nothing else may be raised, and all texts are safe to show."""
    try:
        start_of(path)
        tree = usp.load(path)
        usp.load(path, last_good=True)
    except usp.SnapshotError as error:
        assert str(error).isprintable()  # noqa: PT017 - or it is not raised
        return
    assert sum(1 for _ in tree.all_pages()) <= 8
    for node in (tree, *tree.all_sitemaps()):
        assert node.url.isprintable()
    for failure in tree.failures():
        assert failure.reason.isprintable()
        assert failure.brief.isprintable()


def entries_of(data: dict[str, str] | None = None):
    kept = []
    forged(data, change=lambda entries, facts: kept.extend([copy.deepcopy(entries), facts]))
    return kept


@pytest.fixture
def no_garbage():
    """Let nothing be collected while JSON is read whose nesting uses up all recursion."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage")
@pytest.mark.parametrize("number", [1, -2, -1])
def test_no_value_of_an_entry_raises(path, number):
    (entries, _) = entries_of()
    entry = entries[number]
    lines = [with_text(entry, place, text) for place in places(entry) for text in NASTY]
    chosen = random.Random(number).sample(lines, 30)
    for line in lines:
        try:
            read_entry(line)
        except ValueError as error:
            assert "not an entry" in str(error)  # noqa: PT017 - most of them are refused
    for at, line in enumerate(chosen):

        def change(entries, facts, line=line):
            entries[number] = line

        path.write_bytes(forged(change=change, is_indexed=bool(at % 3)))
        read_all(path)


@pytest.mark.usefixtures("no_garbage")
def test_no_value_of_the_end_the_start_or_the_options_raises(path):
    few = {"/robots.txt": robots("/0.xml"), "/0.xml": urlset("/a")}
    (_, facts) = entries_of(few)
    limits = dict.fromkeys(("seconds", "depth", "sitemaps", "pages", "ratio"), 5)
    options = {"use_robots": True, "extra_known_paths": ["a.xml"], "include_sitemaps": ["*"]}
    options |= {"exclude_sitemaps": ["x"], "sitemaps_since": "2001", "limits": limits}
    options["callbacks"] = True
    start = {"website": f"{HOST}/"}

    def check(**said) -> None:
        path.write_bytes(forged(few, **said))
        read_all(path)

    for number, text in enumerate(NASTY):
        for place in places(facts):
            check(change=lambda *_, p=place: with_text(facts, p, text))  # noqa: B023
        for place in [*places(options)][number % 3 :: 3]:
            check(options=with_text(options, place, text).decode())
        check(start=with_text(start, ("website",), text).decode())
        check(options=text)


def test_options_that_cannot_be_read_are_told_and_cost_nothing_else(path):
    path.write_bytes(forged(options='{"limits": {"depth": Infinity}}'))
    tree = usp.load(path)
    assert len(urls(tree)) == 8
    (failure,) = tree.failures()
    assert failure.code == "incomplete-snapshot"
    assert "recorded options cannot be read: Infinity is not a number" in failure.reason
    with pytest.raises(usp.SnapshotError, match="record the website anew"):
        usp.update(path)
    assert usp.load(path, options=usp.CrawlOptions()).is_complete


# What it says about options ------------------------------------------------------------------------

UNLIMITED = json.dumps({"limits": dict.fromkeys(usp.Limits.__dataclass_fields__)})
PAUSES = '{"wait": 1e9, "crawl_delay": true}'
ENDLESS = '{"include_sitemaps": ["re:(a+)+$"]}'
STARS = '{"exclude_sitemaps": ["*"]}'
LONG = {
    "/robots.txt": robots("/index.xml") + "Crawl-delay: 1000\n",
    "/index.xml": index("/a.xml", f"/{'a' * 60}.xml!"),
    "/a.xml": urlset("/a/1"),
}


def test_pauses_and_patterns_of_a_file_are_not_used_and_pauses_are_told(path, run, caplog):
    for options in [PAUSES, ENDLESS, STARS]:
        path.write_bytes(forged(LONG, options))
        caplog.clear()
        for tree in (usp.load(path), asyncio.run(aio.load(path)), usp.load(path, last_good=True)):
            assert urls(tree) == [f"{HOST}/a/1"]
        told = "options in the file that are ignored: crawl_delay, wait" in caplog.text
        assert told == (options is PAUSES)
        for command in (["ls", path], ["tree", path], ["check", path], ["diff", path, path]):
            status, _, told = run(*command)
            assert "Traceback" not in told
            assert status in (0, 1)


def test_what_a_regular_expression_left_out_is_left_out(record, path):
    _, tree = record(DOCUMENTS, include_sitemaps=["re:/[01].xml"])
    loaded = usp.load(path)
    assert urls(loaded) == urls(tree)
    assert loaded.is_complete
    with pytest.raises(usp.SnapshotError, match=r"re:/\[01\].xml.*give include_sitemaps again"):
        usp.update(path)
    update = usp.update(path, include_sitemaps=["re:/[01].xml"])
    assert (urls(update.tree), update.removed) == (urls(tree), 0)


def test_patterns_with_stars_are_used_again_by_an_update(record, path):
    _, tree = record(DOCUMENTS, exclude_sitemaps=["*/[01].xml"])
    loaded = usp.load(path)
    assert urls(loaded) == urls(usp.update(path).tree) == urls(tree)
    assert loaded.is_complete
    assert len(urls(tree)) == 4


def test_limits_of_a_file_never_raise_those_of_the_reader(path):
    path.write_bytes(forged(options=UNLIMITED))
    tree = usp.load(path, limits=usp.Limits(sitemaps=3))
    assert codes(tree) == ["limit-sitemaps"]
    nested = {f"/nested-{n}.xml": index(f"/nested-{n + 1}.xml") for n in range(20)}
    path.write_bytes(forged({"/robots.txt": robots("/nested-0.xml"), **nested}, UNLIMITED))
    assert "limit-depth" in codes(usp.load(path))


DATED = index(*(dated(name, "2024-01-01", "sitemap") for name in NAMES))
NOTHING = json.dumps({"limits": dict.fromkeys(asdict(usp.Limits()), 0)})


@pytest.mark.parametrize("options", [NOTHING, '{"sitemaps_since": "2999-01-01"}'])
def test_lower_limits_and_dates_of_a_file_hide_nothing_that_is_in_it(path, run, options):
    path.write_bytes(forged({**DOCUMENTS, "/index.xml": DATED}, options))
    trees = [usp.load(path), usp.load(path, limits=usp.Limits()), asyncio.run(aio.load(path))]
    for tree in trees:
        assert len(urls(tree)) == 8
        assert tree.is_complete
    status, out, _ = run("ls", path, "-f", "pages")
    assert (status, len(out.split())) == (0, 8)


def test_recorded_limits_are_why_something_is_not_in_the_file(path):
    documents = {**DOCUMENTS, "/index.xml": index(*NAMES, "/lost.xml", "/gone.xml")}
    path.write_bytes(forged(documents, '{"limits": {"sitemaps": 5, "depth": 2}}'))
    failures = usp.load(path).failures()
    assert [(one.url, one.code) for one in failures] == [
        (f"{HOST}/index.xml", "limit-sitemaps"),
        (f"{HOST}/gone.xml", "not-found"),
    ]
    assert "1 of its sitemaps" in failures[0].reason


def test_higher_limits_of_a_recorded_crawl_stay_in_its_file(record, path):
    record(DOCUMENTS, limits=usp.Limits(sitemaps=200_000))
    assert usp.update(path).failed == 0
    assert b'"sitemaps": 200000' in gzip.decompress(path.read_bytes())


def test_the_time_of_the_reader_covers_opening_a_file(path):
    path.write_bytes(compressed([*SITE, *(sent(f"/{n}", "x") for n in range(2000))]))
    tree = usp.load(path, "http://site.example/", limits=usp.Limits(seconds=0.001))
    assert any("limit seconds" in one.reason for one in tree.failures())


# What it becomes -----------------------------------------------------------------------------------


def test_no_record_is_read_for_two_documents(path):
    def change(entries, facts):
        others = [copy.deepcopy(entries[2]) for _ in range(50)]
        for number, other in enumerate(others):
            other["url"] = other["exchange"]["url"] = f"{HOST}/{number + 1}.xml"
            other["here"] += 1  # as if it were written elsewhere
        entries.extend(others)
        facts["documents"] = len(entries)

    children = index(*(f"/{number}.xml" for number in range(51)))
    documents = with_index({"/0.xml": urlset("/a")}) | {"/index.xml": children}
    for is_indexed in (True, False):
        path.write_bytes(forged(documents, change=change, is_indexed=is_indexed))
        assert urls(usp.load(path)) == [f"{HOST}/a"]


def test_children_that_are_not_in_the_file_are_bounded(path, monkeypatch):
    monkeypatch.setattr("usp._snapshot.replay._ABSENT", 100)
    children = index(*(f"/{number}" for number in range(110)))
    path.write_bytes(forged(with_index({}) | {"/index.xml": children}, UNLIMITED))
    tree = usp.load(path)
    assert sum(1 for _ in tree.all_sitemaps()) <= 110
    assert "limit-sitemaps" in codes(tree)
    assert "limit-sitemaps" not in codes(usp.load(path, limits=usp.Limits(sitemaps=120)))


@pytest.mark.long
def test_what_entries_say_takes_bounded_memory(path):
    for junk in [
        {"error": {"message": "", "reason": {"code": "x", "text": "x"}, "junk": [[]] * 50_000}},
        {"exchange": {"url": "a", "final_url": "b", "headers": [["a", "b"]] * 30_000}},
        {"exchange": {"url": "a", "final_url": "b", "hops": [["", 1, "", [], []]] * 10_000}},
        {"lastmod": "x" * 400_000},
    ]:

        def change(entries, facts, junk=junk):
            error = {"message": "404", "reason": {"code": "not-found", "text": "404"}}
            for number in range(100):
                url = {"url": f"{HOST}/x{number}", "role": "sitemap"}
                entries.append({"error": error, **url, **junk})
            facts["documents"] = len(entries)

        path.write_bytes(forged(change=change))
        with memory_below(60_000_000):
            assert len(urls(usp.load(path))) == 8


def test_a_compressed_document_is_not_compressed_again(path):
    inner = gzip.compress(b"<urlset>" + b"<url><loc>http://h/</loc></url>" * 1_000_000)
    path.write_bytes(compressed([sent("/robots.txt", robots("/a.xml")), sent("/a.xml", inner)]))
    assert "damaged-record" in codes(usp.load(path))


def test_members_of_an_archive_are_read_once(tmp_path):
    path = tmp_path / "a.wacz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/a.warc.gz", compressed(SITE))
        for number in range(20):
            other = copy.copy(archive.filelist[0])
            other.filename = other.orig_filename = f"archive/{number}.warc.gz"
            archive.filelist.append(other)
    spans = WarcFile(path).spans()
    assert len(spans) == 1
    assert usp.load(path).page_count()


# Work in proportion to the size --------------------------------------------------------------------


def test_chunks_are_joined_however_they_are_cut_and_small_ones_stay_together():
    for size in [1, 2, 3, 7, 11, 1000]:
        body = b"5;name=value\r\nhello\r\n\r\n1\n \n0006\r\nworld!\r\n0\r\n\r\nignored"
        assert b"".join(without_chunks(cut_in(body, size))) == b"hello world!"
        plain = b"<urlset/>" * 5
        assert b"".join(without_chunks(cut_in(plain, size))) == plain
    body = b"".join(b"1\r\n%c\r\n" % (97 + n % 26) for n in range(20_000)) + b"0\r\n\r\n"
    found = list(without_chunks(pieces := cut_in(body, 7000)))
    assert b"".join(found) == bytes(97 + n % 26 for n in range(20_000))
    assert len(found) <= len(pieces)


def test_what_looks_like_a_record_costs_little(tmp_path):
    for junk in [
        *(b"WARC/1.0\n", b"xWARC/1.0\r\n", b"WARC/", b"WARC/1.0\na:", b"\x1f\x8b\x08"),
        b"WARC/1.0\r\nContent-Length: 999999999\r\n\r\n",
        gzip.compress(b"WARC/1.0\r\n" + b"a" * 99_999),
    ]:
        path = tmp_path / "a.warc"
        path.write_bytes(b"".join(SITE) + junk * (400_000 // len(junk)))
        file, losses = WarcFile(path), []
        assert sum(1 for _ in file.records((0, file.size), usp.Limits(), losses)) >= len(SITE)
        assert 0 < len(losses) <= 1000
        assert file._served < 100 * file.size
        assert len(urls(usp.load(path))) > 2


# Texts ---------------------------------------------------------------------------------------------


def test_a_status_line_of_a_file_is_safe_to_show(path, run):
    odd = record("response", f"{HOST}/a.xml", f"HTTP/1.1 500 {HOSTILE}\r\n\r\n".encode())
    path.write_bytes(compressed([*without("/a.xml"), odd]))
    read_all(path)
    tree = usp.load(path)
    assert any("500 %1B[31m%00" in one.reason for one in tree.failures())
    for node in tree.all_sitemaps():
        assert getattr(node, "reason", "").isprintable()
    for command in ("tree", "ls", "check"):
        _, out, told = run(command, path)
        odd = {char for char in out + told if not char.isprintable()} - {"\n", "\t"}
        assert not odd, ascii(odd)


def test_reasons_are_safe_to_show_however_they_are_made():
    made = [
        usp.Failure(HOST, HOSTILE).reason,
        usp.Failure(HOST, HOSTILE).brief,
        usp.InvalidSitemap(HOST, HOSTILE).reason,
        WebClientErrorResponse(f"500 {HOSTILE}", retryable=False).message(),
        usp.Problem(HOSTILE).message,
    ]
    assert all(text.isprintable() for text in made)


def test_heads_in_another_script_are_recorded(path):
    head = "HTTP/1.1 200 O\xe9\r\nX-\xe9: \xe9\x1b\r\n\r\n".encode("latin-1")
    odd = record("response", f"{HOST}/a.xml", head + fill(urlset("/odd")), YEAR_LATER)
    path.write_bytes(compressed([*SITE, odd]))
    usp.load(path).save(path)
    assert f"{HOST}/odd" in urls(usp.load(path))


@pytest.mark.parametrize("is_indexed", [True, False])
@pytest.mark.parametrize("size", [0, 1, 150, 5000, 10**12])
@pytest.mark.parametrize("which", [".xml", ".txt", "index.xml", "/0.xml"])
def test_a_document_that_does_not_have_the_size_of_its_entry_is_damaged(
    path, size, which, is_indexed
):
    def alter(entry):
        if entry["url"].endswith(which):
            entry["exchange"]["received"] = size

    path.write_bytes(forged(alter=alter, is_indexed=is_indexed, is_cut=not is_indexed))
    tree = usp.load(path)
    list(tree.all_pages())
    assert "damaged-record" in codes(tree)
    assert not tree.is_complete
