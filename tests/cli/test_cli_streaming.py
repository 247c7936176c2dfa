"""What ``usp ls`` lists comes as it is found, and is what the tree would have given."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cli_documents import index, urlset

from quick_usp import usp_command
from usp.cli import listing

DATED = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">{}</urlset>'
)


LONG = "?" + "x" * 300  # the first bytes of a document only tell its encoding


class Gate:
    """A website whose second sitemap comes in two halves, each when the test says so."""

    def __init__(self):
        self.first, self.second = threading.Event(), threading.Event()
        self.asked = []
        gate = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                gate.asked.append(self.path)
                site = f"http://127.0.0.1:{self.server.server_port}"
                children = [f"{site}/{name}.xml" for name in ("a", "b", *range(20))]
                files = {
                    "/robots.txt": f"Sitemap: {site}/i.xml",
                    "/i.xml": index(*children),
                    "/a.xml": urlset(f"{site}/a1", f"{site}/a2"),
                }
                if self.path == "/b.xml":
                    self.halves(urlset(f"{site}/b1{LONG}", f"{site}/b2"), f"{site}/b2")
                elif self.path in files:
                    self.answer(files[self.path])
                elif self.path[1].isdigit():
                    time.sleep(0.05)
                    self.answer(urlset(f"{site}{self.path}#1"))
                else:
                    self.send_error(404)

            def answer(self, text):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(text.encode())

            def halves(self, text, at):
                first, _, second = text.partition(f"<url><loc>{at}")
                gate.first.wait(120)
                self.answer(first)
                gate.second.wait(120)
                self.wfile.write(f"<url><loc>{at}{second}".encode())

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.site = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.first.set()
        self.second.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def gate(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    gate = Gate()
    yield gate
    gate.close()


@pytest.mark.parametrize("path", ["", "/i.xml"])
@pytest.mark.parametrize("output", ["pages", "csv", "jsonl"])
def test_pages_are_written_as_they_are_found(gate, output, path):
    argv = [*usp_command(), "ls", gate.site + path, "-f", output, "--concurrency", "2"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        read = process.stdout.readline
        if output == "csv":
            read()
        assert b"/a1" in read()
        assert b"/a2" in read()
        assert not gate.first.is_set()
        gate.first.set()
        assert b"/b1" in read()
        gate.second.set()
        assert b"/b2" in read()
        assert sum(1 for _ in process.stdout) == 20
        assert process.wait(120) == 0


@pytest.mark.parametrize("path", ["", "/i.xml"])
def test_a_closed_pipe_ends_the_requests_while_a_page_is_waited_for(gate, path):
    argv = [*usp_command(), "ls", gate.site + path, "-f", "pages", "--concurrency", "1"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert b"/a1" in process.stdout.readline()
        process.stdout.close()
        assert process.wait(120) == 0  # nobody has let the second sitemap go
        assert process.stderr.read() == b""
    assert not gate.first.is_set()
    assert "/19.xml" not in gate.asked


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_head_sees_the_first_pages_and_nothing_waits_for_the_rest(gate):
    gate.first.set()
    command = f"{' '.join(usp_command())} ls {gate.site} -f pages --concurrency 1 | head -3"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=True, timeout=60)
    assert done.stdout.decode().split() == [
        f"{gate.site}/{name}" for name in ("a1", "a2", f"b1{LONG}")
    ]
    assert done.stderr == b""
    assert not gate.second.is_set()


@pytest.fixture
def mixed(serve):
    """A website with everything that makes a listing differ: dates, news, feeds, repeats, failures."""
    story = (
        "<news:news><news:publication><news:name>N</news:name><news:language>en</news:language>"
        "</news:publication><news:publication_date>2024-05-0{0}</news:publication_date>"
        "<news:title>T, {0}</news:title></news:news>"
    )
    plain = "".join(
        f"<url><loc>{{site}}/p/{n}?a=1&amp;b={n}</loc><lastmod>2024-0{1 + n % 9}-01</lastmod></url>"
        for n in range(700)
    )
    news = "".join(f"<url><loc>{{site}}/n/{n}</loc>{story.format(n)}</url>" for n in range(1, 8))
    rss = (
        '<rss version="2.0"><channel><title>c</title>'
        "<item><title>=1+1</title><link>{site}/f/1</link>"
        "<pubDate>Tue, 02 Jan 2024 00:00:00 GMT</pubDate></item>"
        "<item><title>again</title><link>{site}/p/1?a=1&amp;b=1</link></item></channel></rss>"
    )
    return serve(
        {
            "/robots.txt": "Sitemap: {site}/i.xml\nSitemap: {site}/feed.rss",
            "/i.xml": index(
                *(f"{{site}}/{name}" for name in ("p.xml", "n.xml", "no.xml", "p.xml"))
            ),
            "/p.xml": DATED.format(plain + plain),
            "/n.xml": DATED.format(news),
            "/feed.rss": rss,
            "/sitemap.xml": urlset("{site}/known", "http://other.example/x"),
        }
    )


SELECTIONS = [
    [],
    ["--since", "2024-04", "--until", "2024-06-15"],
    ["--since", "2024-05", "--dated"],
    ["--unique", "--same-host"],
    ["--include", "sitemap:*n.xml", "--include", "/n/*", "--exclude", "re:[56]$"],
]


@pytest.mark.parametrize("selection", SELECTIONS, ids=" ".join)
@pytest.mark.parametrize("path", ["", "/i.xml", "/feed.rss", "/no.xml"])
def test_the_stream_gives_what_the_tree_gives_byte_for_byte(
    run, mixed, monkeypatch, selection, path
):
    for output in ("pages", "csv", "jsonl", "json"):
        argv = ["ls", mixed + path, "-f", output, *selection]
        streamed = run(*argv)
        with monkeypatch.context() as patched:
            patched.setattr(listing, "_can_stream", lambda *_: False)
            assert run(*argv) == streamed
        assert streamed.out or selection or path == "/no.xml"


@pytest.mark.parametrize("limit", [1, 3, 699, 700, 701, 705, 5000])
def test_a_limit_cuts_the_stream_where_it_cuts_the_tree(run, mixed, monkeypatch, limit):
    for output in ("pages", "csv"):
        argv = ["ls", f"{mixed}/i.xml", "-f", output, "--limit", str(limit)]
        streamed = run(*argv).out
        with monkeypatch.context() as patched:
            patched.setattr(listing, "_can_stream", lambda *_: False)
            assert run(*argv).out == streamed


def test_nothing_that_could_be_read_is_an_empty_output_and_a_failure(run, serve):
    site = serve({"/robots.txt": "Sitemap: {site}/gone.xml"})
    for output in ("pages", "csv", "jsonl", "json"):
        ended = run("ls", site, "-f", output)
        assert (ended.status, ended.out) == (1, "")
        assert "gone.xml" in ended.err
