"""A snapshot is a WARC file that other programs can read, and that holds no secrets."""

import asyncio
import base64
import gzip
import io
import json
import subprocess
import sys

import pytest
from snapshots import assert_same, mixed

import usp
import usp.aio
from memory_web import Client, Doc, Web
from usp._snapshot.warc_writing import ENTRY_FIELD
from usp.snapshot import load
from usp.web_client.aiohttp_client import AiohttpWebClient
from usp.web_client.requests_client import RequestsWebClient
from website import ONE_PAGE, Answer, Request, TaggedSite, dated, index, robots, urlset

warcio = pytest.importorskip("warcio.archiveiterator")
checker = pytest.importorskip("warcio.checker")


def records(path):
    with path.open("rb") as file:
        for record in warcio.ArchiveIterator(file):
            yield record, record.content_stream().read()


@pytest.fixture
def site(record):
    return record(mixed())[0]


@pytest.mark.usefixtures("site")
def test_the_digests_of_all_records_are_right(path, capsys):
    arguments = type("Arguments", (), {"inputs": [str(path)], "verbose": True})
    assert checker.Checker(arguments).process_all() == 0
    told = capsys.readouterr().out
    assert "digest pass" in told
    assert "no digest" not in told


def test_redirects_are_records_of_their_own_with_their_requests(site, path):
    found = {
        (record.rec_type, record.rec_headers["WARC-Target-URI"], record.http_headers.statusline)
        for record, _ in records(path)
        if record.rec_type in ("request", "response")
    }
    asked = {url for kind, url, _ in found if kind == "request"}
    hops = [site.url(path) for path in ("/moved.xml", "alt:/hop.xml", "/there.xml")]
    statuses = ["301 Moved Permanently", "302 Found", "200 OK"]
    assert found >= {("response", *hop) for hop in zip(hops, statuses, strict=True)}
    assert asked >= set(hops)


def test_a_body_is_recorded_as_it_was_received(site, path):
    by_url = {}
    with path.open("rb") as file:
        for one in warcio.ArchiveIterator(file):
            if one.rec_type == "response":
                by_url[one.rec_headers["WARC-Target-URI"]] = one.http_headers, one.raw_stream.read()
    headers, body = by_url[site.url("/b.xml")]
    assert (headers["Content-Encoding"], body) == ("gzip", site.answers["/b.xml"].body)
    assert headers["Content-Length"] == str(len(body))
    headers, body = by_url[site.url("/there.xml")]
    assert headers["X-Crawler-Transfer-Encoding"] == "chunked"
    assert headers["Transfer-Encoding"] is None
    assert body == site.fill(urlset("/t/1"))


def test_failures_are_records_with_code_and_reason(site, path):
    failed = {
        record.rec_headers["WARC-Target-URI"]: json.loads(data[len(ENTRY_FIELD) :])["error"]
        for record, data in records(path)
        if data.startswith(ENTRY_FIELD.encode()) and data.count(b"\n") == 1 and b'"error":' in data
    }
    error = failed[site.url("/error.xml")]
    assert error["reason"] == {"code": "server-error", "text": "503 Service Unavailable"}
    assert failed[site.url("/lost.xml")]["reason"]["code"] == "connection-closed"


def test_the_first_record_names_the_program_and_the_options(record, path):
    record(mixed(), use_known_paths=False)
    first, data = next(records(path))
    assert first.rec_type == "warcinfo"
    text = data.decode()
    assert f"software: usp/{usp.__version__}" in text
    assert '"use_known_paths": false' in text


SECRET = (
    *("Authorization", "X-Auth-Token", "Authentication-Info", "X-Api-Key", "X-CSRF-Token"),
    *("Proxy-Authenticate", "WWW-Authenticate", "X-Amz-Security-Token", "X-Session-Id", "ApiKey"),
)


def test_secrets_are_never_written(serve, tmp_path):
    site = serve(
        {
            "/robots.txt": Answer(robots("/a.xml"), headers={"Set-Cookie": "id=hush-cookie"}),
            "/b.xml": Answer(urlset("/1"), headers=dict.fromkeys(SECRET, "hush-echo")),
        }
    )
    site.answers["/a.xml"] = Answer(
        redirect=site.base.replace("//", "//someone:hush-location@") + "/b.xml",
        headers={"Set-Cookie": "id=hush-hop"},
    )
    client = RequestsWebClient(
        auth=("user", "hush-auth"),
        headers={"X-Api-Key": "hush-key", "Cookie": "c=hush-sent", "Accept-Language": "de"},
    )
    start = site.base.replace("//", "//name:hush-start@")
    path = tmp_path / "a.warc.gz"
    tree = usp.sitemap_tree_for_homepage(start, client, record=path)
    assert tree.page_count() == 1
    tree.save(tmp_path / "b.warc.gz")
    for file in tmp_path.iterdir():
        text = gzip.decompress(file.read_bytes())
        assert b"hush" not in text
        assert b"someone" not in text
        assert b"Accept-Language: de" in text


def test_a_client_that_tells_nothing_of_its_requests_is_recorded_all_the_same(path):
    last = Doc(urlset("/1"), headers={"Content-Encoding": "gzip"})
    web = Web({"/first.xml": Doc(moved_to="/last.xml"), "/last.xml": last})
    tree = usp.sitemap_tree_for_sitemap("http://h/first.xml", Client(web), record=path)
    assert tree.page_count() == 1
    assert load(path) == tree
    responses = [record for record, _ in records(path) if record.rec_type == "response"]
    first, last = (record.http_headers for record in responses)
    assert first["Location"] == "http://h/last.xml"
    assert last["X-Crawler-Content-Encoding"] == "gzip"


def test_without_warcio_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "warcio", None)
    with pytest.raises(usp.SnapshotError, match=r"pip install 'usp\[warc\]'"):
        usp.sitemap_tree_for_homepage("http://127.0.0.1:9/", record=tmp_path / "a.warc.gz")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("site")
def test_reading_a_snapshot_needs_no_warcio(path):
    code = (
        "import sys; sys.modules['warcio'] = None; import usp;"
        f"print(usp.load({str(path)!r}).page_count())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert int(done.stdout) == usp.load(path).page_count()


@pytest.mark.usefixtures("site")
def test_fastwarc_finds_its_digests_right(path):
    fastwarc = pytest.importorskip("fastwarc.warc")
    with path.open("rb") as file:
        read = fastwarc.ArchiveIterator(file, parse_http=False)
        checked = [record.verify_block_digest() for record in read]
    assert checked
    assert all(checked)


def test_cdxj_indexer_lists_its_documents(site, path):
    cdxj, out = pytest.importorskip("cdxj_indexer.main"), io.StringIO()
    cdxj.CDXJIndexer(output=out, inputs=[str(path)], data_out_name=None).process_all()
    assert site.url("/there.xml") in out.getvalue()


@pytest.mark.parametrize("client", [RequestsWebClient, AiohttpWebClient])
def test_records_name_the_address_that_responded(serve, path, client):
    site = serve(mixed())

    asyncio.run(usp.aio.sitemap_tree_for_homepage(site.base, client(), record=path))
    known = {
        record.rec_headers["WARC-IP-Address"]
        for record, data in records(path)
        if record.rec_type == "response" and data
    }
    assert known == {"127.0.0.1"}


# Logins and cookies: used where they were given, and never written --------------------------------


class GuardedSite(TaggedSite):
    """A website that wants a login, and sets a cookie with every answer, 304 included."""

    login = "anna:hush-password"

    def answer(self, request: Request) -> Answer:
        """Refuse whoever does not log in."""
        wanted = base64.b64encode(self.login.encode()).decode()
        if self.login and request.headers.get("Authorization") != f"Basic {wanted}":
            return Answer("no", 401)
        answer = super().answer(request)
        answer.headers["Set-Cookie"] = "id=hush-cookie"
        return answer

    @property
    def start(self) -> str:
        """The homepage with the login."""
        return self.base.replace("//", f"//{self.login}@") + "/"


@pytest.fixture
def guarded():
    with GuardedSite(ONE_PAGE) as guarded:
        yield guarded


def written(path) -> bytes:
    return gzip.decompress(path.read_bytes())


def test_of_unchanged_documents_the_time_is_written_and_no_cookie(guarded, path):
    guarded.login = ""
    usp.sitemap_tree_for_homepage(guarded.base, record=path)
    done = usp.update(path)
    assert done.not_modified == 2
    assert b"revisit" in written(path)
    assert written(path).count(b'"seen":') >= 2
    assert b"hush" not in written(path)


def test_every_round_of_a_watch_logs_in(guarded, path, watched):
    for count in (2, 1):
        rounds = watched(guarded.start, path, every=0.01, rounds=count)
        assert [(current.error, current.failures) for current in rounds] == [(None, ())] * count
    assert b"hush" not in written(path)


def listed(guarded, path: str) -> str:
    return guarded.start.rstrip("/") + path


def test_a_listed_url_with_a_login_is_fetched_with_that_login(guarded):
    guarded.answers["/robots.txt"] = f"Sitemap: {listed(guarded, '/a.xml')}"
    tree = usp.sitemap_tree_for_homepage(guarded.start)
    assert [page.url for page in tree.all_pages()] == [guarded.url("/tea")]


def test_logins_of_listed_urls_are_in_the_documents_only(guarded, path):
    """The bytes of a document are the website's own; nothing that we write repeats them."""
    guarded.answers["/robots.txt"] = robots("/index.xml")
    known = dated(listed(guarded, "/a.xml"), "2024-01-01", "sitemap")
    guarded.answers["/index.xml"] = index(known, listed(guarded, "/lost.xml"))
    tree = usp.sitemap_tree_for_homepage(guarded.start, record=path)
    assert written(path).count(b"hush") == 2
    assert_same(usp.load(path), tree)
    (current,) = usp.watch(guarded.start, path, rounds=1)
    assert (current.update.not_modified, current.update.changed, current.update.added) == (3, 0, 0)
    (current,) = usp.watch(guarded.start, path, rounds=1, trust_lastmod=True)
    assert current.update.not_asked == 1
    assert written(path).count(b"hush") == 2
    assert usp.load(path) == tree
