"""What ``usp ls`` lists comes as it is found, and is what the tree would have given."""

import subprocess
import threading

import pytest

from cases import cases
from quick_usp import usp_command
from website import Answer, dated, index, robots, rss, story, urlset

LONG = "?" + "x" * 300  # the first bytes of a document only tell its encoding


@pytest.fixture
def halves(serve):
    """A website whose second sitemap comes in two halves, each when the test says so."""
    first, second = threading.Event(), threading.Event()
    later = [f"/{number}.xml" for number in range(20)]
    site = serve(
        {
            "/robots.txt": robots("/i.xml"),
            "/i.xml": index("/a.xml", "/b.xml", *later),
            "/a.xml": urlset("/a1", "/a2"),
            "/b.xml": Answer(urlset(f"/b1{LONG}", f"/b2{LONG}{LONG}"), gate=first, stall=second),
            **{path: Answer(urlset(f"{path}#1"), delay=0.05) for path in later},
        }
    )
    yield site, first, second
    first.set()
    second.set()


def test_pages_are_written_as_they_are_found(halves):
    site, first, second = halves
    for path in ["", "/i.xml"]:
        for output in cases(["pages", "csv", "jsonl"]):
            first.clear()
            second.clear()
            argv = [*usp_command(), "ls", site + path, "-f", output, "--concurrency", "2"]
            with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                read = process.stdout.readline
                if output == "csv":
                    read()
                assert b"/a1" in read()
                assert b"/a2" in read()
                first.set()
                assert b"/b1" in read()
                second.set()
                assert b"/b2" in read()
                assert sum(1 for _ in process.stdout) == 20
                assert process.wait(120) == 0


def test_a_closed_pipe_ends_the_requests_while_a_page_is_waited_for(halves):
    site, first, _ = halves
    for path, pages in cases(
        [("", [b"/a1"]), ("/i.xml", [b"/a1"]), ("", [b"/a1", b"/a2", b"/b1"])]
    ):
        if len(pages) > 1:
            first.set()
        argv = [*usp_command(), "ls", site + path, "-f", "pages", "--concurrency", "1"]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            for page in pages:
                assert page in process.stdout.readline()
            process.stdout.close()
            assert process.wait(120) == 0  # nobody has let the second sitemap go on
            assert process.stderr.read() == b""
        assert "/19.xml" not in site.web.hits


@pytest.fixture
def mixed(serve):
    """A website with everything that makes a listing differ: dates, news, feeds, repeats, failures."""
    plain = [dated(f"/p/{n}?a=1&amp;b={n}", f"2024-0{1 + n % 9}-01") for n in range(700)]
    news = [story(f"/n/{n}", f"2024-05-0{n}", f"T, {n}") for n in range(1, 8)]
    feed = rss("/f/1", "/p/1?a=1&amp;b=1", title="=1+1").replace(
        "</item>", "<pubDate>Tue, 02 Jan 2024 00:00:00 GMT</pubDate></item>", 1
    )
    return serve(
        {
            "/robots.txt": robots("/i.xml", "/feed.rss"),
            "/i.xml": index("/p.xml", "/n.xml", "/no.xml", "/p.xml"),
            "/p.xml": urlset(*plain, *plain),
            "/n.xml": urlset(*news),
            "/feed.rss": feed,
            "/sitemap.xml": urlset("/known", "http://other.example/x"),
        }
    )


WHOLE = "--keep-partial"  # for which the whole tree is read first
SELECTIONS = [
    [],
    ["--since", "2024-04", "--until", "2024-06-15"],
    ["--since", "2024-05", "--dated"],
    ["--unique", "--same-host"],
    ["--include", "sitemap:*n.xml", "--include", "/n/*", "--exclude", "re:[56]$"],
]


@pytest.mark.long
def test_the_stream_gives_what_the_tree_gives_byte_for_byte(run, mixed):
    for selection in SELECTIONS:
        for path in ["", "/i.xml", "/feed.rss", "/no.xml"]:
            for output in ("pages", "csv", "jsonl", "json"):
                argv = ["ls", mixed + path, "-f", output, *selection]
                streamed = run(*argv)
                assert run(*argv, WHOLE) == streamed
                assert streamed.out or selection or path == "/no.xml"


def test_a_limit_cuts_the_stream_where_it_cuts_the_tree(run, mixed):
    for limit in [1, 3, 699, 700, 701, 705, 5000]:
        for output in ("pages", "csv"):
            argv = ["ls", f"{mixed}/i.xml", "-f", output, "--limit", str(limit)]
            assert run(*argv, WHOLE).out == run(*argv).out


def test_pages_are_listed_as_they_arrive_each_once(run, serve):
    first = threading.Event()
    site = serve(
        {
            "/robots.txt": robots("/i.xml", "/j.xml"),
            "/i.xml": index("/slow.xml", "/b.xml", "/c.xml"),
            "/j.xml": index("/b.xml"),
            "/slow.xml": Answer(urlset("/1"), gate=first),
            "/b.xml": urlset("/2", "/3"),
            "/c.xml": urlset("/4"),
            "/sitemap.xml": urlset("/5"),
        }
    )
    with subprocess.Popen(
        [*usp_command(), "ls", site, "-f", "pages", "--unordered"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        early = {process.stdout.readline() for _ in range(3)}
        first.set()
        late = process.stdout.readlines()
    assert early == {f"{site}/{page}\n" for page in (2, 3, 4)}
    assert sorted(late) == [f"{site}/{page}\n" for page in (1, 2, 3, 5)]
    ordered = run("ls", site, "-f", "pages")
    assert sorted(ordered.lines) == sorted(line.strip() for line in (*early, *late))
    run("ls", site, "--unordered").ends(2, "--unordered works with the formats")
