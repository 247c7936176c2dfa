"""With a terminal, commands write what they write without one; the live line is nobody's business."""

import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from website import index, urlset

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs pseudo-terminals")

if sys.platform == "linux":
    from terminals import run_on_terminal, run_plain, shown

LONG = "{site}/" + "/".join(["a-rather-long-path"] * 12)


@pytest.fixture
def site(serve):
    """A website that takes long enough for the line to be drawn, with URLs of several lines."""

    def slowly(path):
        time.sleep(0.4)
        return texts[path]

    site = serve(
        {
            "/robots.txt": "Sitemap: {site}/index.xml",
            "/index.xml": partial(slowly, "/index.xml"),
            "/first.xml": urlset("/one", LONG, "/[/b]"),
            "/slow.xml": partial(slowly, "/slow.xml"),
        }
    )
    numbered = (f"{site}/{number}" for number in range(3000))
    texts = {
        "/index.xml": index(f"{site}/first.xml", f"{site}/slow.xml"),
        "/slow.xml": urlset(*numbered, LONG.replace("{site}", site)),
    }
    return site


COMMANDS = {
    "tabtree": ["ls", "{site}"],
    "pages": ["ls", "{site}", "-f", "pages"],
    "jsonl": ["ls", "{site}", "-f", "jsonl"],
    "json": ["ls", "{site}", "-f", "json", "--limit", "2"],
    "sitemap": ["ls", "{site}/index.xml", "-f", "csv"],
    "tree": ["tree", "{site}", "-p"],
    "graph": ["graph", "{site}"],
}


@pytest.mark.long
def test_the_output_is_that_of_a_run_without_a_terminal(site, subtests):
    for name, words in COMMANDS.items():
        with subtests.test(name=name):
            argv = [word.replace("{site}", site) for word in words]
            with ThreadPoolExecutor() as runs:  # they wait for the website most of the time
                without = runs.submit(run_plain, *argv)
                file, pipe, terminal = (
                    runs.submit(run_on_terminal, *argv, stdout=stdout)
                    for stdout in ("file", "pipe", "terminal")
                )
            plain = without.result()
            assert (plain.returncode, plain.stderr) == (0, b"")
            for ran in (file.result(), pipe.result()):
                assert (ran.status, ran.out) == (0, plain.stdout)
                assert b" address" in ran.screen
                assert shown(ran.screen) == []
            ran = terminal.result()
            assert ran.status == 0
            assert b" address" in ran.screen
            lines = [line.rstrip() for line in plain.stdout.decode().splitlines()]
            assert [line.rstrip() for line in shown(ran.screen)] == lines


def test_parquet_comes_through_a_pipe_as_it_is(site):
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    ran = run_on_terminal("ls", site, "-f", "parquet", stdout="pipe")
    assert parquet.read_table(arrow.BufferReader(ran.out)).num_rows == 3004


def test_the_line_is_gone_before_the_reader_of_a_pipe_writes(site):
    plain = run_plain("ls", site, "-f", "pages").stdout.decode().splitlines()
    tail = [sys.executable, "-c", "import sys\nfor line in sys.stdin: print(line, end='')"]
    ran = run_on_terminal("ls", site, "-f", "pages", stdout="pipe", tail=tail)
    assert shown(ran.screen) == plain


@pytest.mark.long
def test_the_line_gives_way_to_every_line_of_the_log(serve, times, subtests):
    for stdout in ["file", "terminal"]:
        with subtests.test(stdout=stdout):

            def slowly():
                time.sleep(0.3 * times)
                return urlset("http://h/1")

            children = {f"/{number}.xml": slowly for number in range(4)}
            site = serve(
                {
                    "/robots.txt": "Sitemap: {site}/i.xml",
                    "/i.xml": index(*(f"{{site}}{path}" for path in children), "/missing.xml"),
                    **children,
                }
            )
            argv = ["ls", site, "-f", "csv", "--concurrency", "1", "-v"]
            plain = run_plain(*argv)
            ran = run_on_terminal(*argv, stdout=stdout)
            assert b" address" in ran.screen
            told = plain.stderr.decode().splitlines()
            if stdout == "terminal":
                told += plain.stdout.decode().splitlines()
            assert sorted(map(neutral, shown(ran.screen))) == sorted(map(neutral, told))


def neutral(line: str) -> str:
    return re.sub(r"\d+\.\d+|\b\d+ ms|0x[0-9a-f]+", "N", line)


def test_a_report_and_the_demo_print_the_same(site, tmp_path):
    argv = ["report", site, "-o", "out.html"]
    ran = run_on_terminal(*argv, stdout="file", cwd=tmp_path)
    assert (ran.out, shown(ran.screen)) == (b"out.html\n", [])
    ran = run_on_terminal(*argv, stdout="terminal", cwd=tmp_path)
    assert shown(ran.screen) == ["out.html"]
    plain = run_plain("demo").stdout.decode().splitlines()
    ran = run_on_terminal("demo", stdout="terminal")
    assert list(map(demo_line, shown(ran.screen))) == list(map(demo_line, plain))


def demo_line(line: str) -> str:
    line = re.sub(r"127\.0\.0\.1:\d+", "HOST", line)
    return re.sub(r"/\S*usp-demo-\w+|, [\d.]+ k?B$", "", line).rstrip()


def test_who_wants_quiet_or_json_gets_no_line(site, subtests):
    for options in [["-q"], ["--json"]]:
        with subtests.test(options=options):
            ran = run_on_terminal("ls", site, "-f", "pages", *options, stdout="file")
            assert ran.screen == b""
