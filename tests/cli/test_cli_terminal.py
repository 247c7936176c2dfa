"""With a terminal, commands write what they write without one; the live line is nobody's business.

Nothing that a website wrote steers a terminal, and formats stay what they are on one.
"""

import csv
import io
import json
import re
import sys
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor

import pytest

from cases import cases
from website import Answer, index, robots, story, urlset

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs pseudo-terminals")

if sys.platform == "linux":
    from terminals import run_on_terminal, run_plain, shown

LONG = "/" + "/".join(["a-rather-long-path"] * 12)


def on_screen(*argv: str, **how) -> str:
    """Return what a terminal is sent."""
    screen = run_on_terminal(*argv, stdout="terminal", **how).screen
    return screen.decode().replace("\r\n", "\n")


@pytest.fixture
def site(serve):
    """A website that takes long enough for the line to be drawn, with URLs of several lines."""
    numbered = (f"/{number}" for number in range(3000))
    return serve(
        {
            "/robots.txt": robots("/index.xml"),
            "/index.xml": Answer(index("/first.xml", "/slow.xml"), delay=0.4),
            "/first.xml": urlset("/one", LONG, "/[/b]"),
            "/slow.xml": Answer(urlset(*numbered, LONG), delay=0.4),
        }
    )


COMMANDS = [
    *(["ls", "{site}"], ["ls", "{site}", "-f", "pages"], ["ls", "{site}", "-f", "jsonl"]),
    *(["ls", "{site}", "-f", "json", "--limit", "2"], ["ls", "{site}/index.xml", "-f", "csv"]),
    *(["tree", "{site}", "-p"], ["graph", "{site}"]),
]


@pytest.mark.long
def test_the_output_is_that_of_a_run_without_a_terminal(site):
    for words in cases(COMMANDS):
        argv = [word.replace("{site}", site) for word in words]
        columns = 70 if "tree" in words else 60  # which wraps sentences, such as those below a tree
        with ThreadPoolExecutor() as runs:  # they wait for the website most of the time
            without = runs.submit(run_plain, *argv)
            file, pipe, terminal = (
                runs.submit(run_on_terminal, *argv, stdout=stdout, columns=columns)
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
        assert stripped(shown(ran.screen)) == stripped(plain.stdout.decode().splitlines())


def test_a_pipe_gets_parquet_as_it_is_and_the_line_is_gone_before_its_reader_writes(site):
    parquet = pytest.importorskip("pyarrow.parquet")
    ran = run_on_terminal("ls", site, "-f", "parquet", stdout="pipe")
    assert parquet.read_table(io.BytesIO(ran.out)).num_rows == 3004
    plain = run_plain("ls", site, "-f", "pages")
    assert plain.stderr == b""
    tail = [sys.executable, "-c", "import sys\nfor line in sys.stdin: print(line, end='')"]
    ran = run_on_terminal("ls", site, "-f", "pages", stdout="pipe", tail=tail)
    assert b" address" in ran.screen
    assert shown(ran.screen) == plain.stdout.decode().splitlines()


@pytest.mark.long
def test_the_line_gives_way_to_every_line_of_the_log(serve, times):
    slow = Answer(urlset("http://h/1"), delay=0.3 * times)
    for stdout in cases(["file", "terminal"]):
        children = {f"/{number}.xml": slow for number in range(4)}
        listed = index(*children, "/missing.xml")
        site = serve({"/robots.txt": robots("/i.xml"), "/i.xml": listed, **children})
        argv = ["ls", site, "-f", "csv", "--concurrency", "1", "-v"]
        plain = run_plain(*argv)
        ran = run_on_terminal(*argv, stdout=stdout)
        assert b" address" in ran.screen
        told = plain.stderr.decode().splitlines()
        if stdout == "terminal":
            told += plain.stdout.decode().splitlines()
        assert sorted(map(neutral, shown(ran.screen))) == sorted(map(neutral, told))


def stripped(lines: list[str]) -> list[str]:
    return [line.rstrip() for line in lines]


def neutral(line: str) -> str:
    return re.sub(r"\d+\.\d+(?: s)?|\b\d+ ms|0x[0-9a-f]+", "N", line)


@pytest.mark.long
def test_a_dataset_is_made_and_summed_up_the_same(serve, put):
    site = serve({"/sitemap.xml": Answer(urlset("http://h/1"), delay=0.4)})
    put({"sites.txt": f"{site}\n"})
    argv = ["crawl", "sites.txt", "--allow-network", "any", "--workers", "1", "-o"]
    plain = run_plain(*argv, "plain")
    ran = run_on_terminal(*argv, "shown", stdout="file")
    assert (ran.status, ran.out) == (plain.returncode, plain.stdout) == (0, b"")
    assert b"sites/s" in ran.screen
    told = [neutral(line).replace("plain", "shown") for line in plain.stderr.decode().splitlines()]
    assert list(map(neutral, shown(ran.screen))) == told
    plain = run_plain("stats", "plain")
    ran = run_on_terminal("stats", "plain", stdout="file")
    assert (ran.status, ran.out) == (0, plain.stdout)
    ran = run_on_terminal("stats", "plain", stdout="terminal")
    assert stripped(shown(ran.screen)) == stripped(plain.stdout.decode().splitlines())


def test_a_report_and_the_demo_print_the_same(site, tmp_path):
    argv = ["report", site, "-o", "out.html"]
    ran = run_on_terminal(*argv, stdout="file", cwd=tmp_path)
    assert (ran.out, shown(ran.screen)) == (b"out.html\n", [])
    ran = run_on_terminal(*argv, stdout="terminal", cwd=tmp_path)
    assert shown(ran.screen) == ["out.html"]
    plain = run_plain("demo").stdout.decode().splitlines()
    ran = run_on_terminal("demo", stdout="terminal", columns=200)
    assert b"\x1b[31merror SM150" in ran.screen
    assert list(map(demo_line, shown(ran.screen))) == list(map(demo_line, plain))


def test_the_verdict_and_the_advice_are_wrapped_at_words_and_lines_of_the_tree_never(serve):
    site = serve({"/robots.txt": robots(f"{LONG}.xml")})
    lines = shown(run_on_terminal("tree", site, stdout="terminal").screen)
    plain = run_plain("tree", site).stdout.decode().splitlines()
    drawn, below = plain.index(""), lines.index("")
    assert stripped(lines[:below]) == plain[:drawn]
    end = next(at for at, line in enumerate(lines) if line.startswith("usp:"))
    assert all(len(line) <= 60 or " " not in line.strip() for line in lines[below:end])
    assert " ".join(lines[below:end]).split() == " ".join(plain[drawn:]).split()


def demo_line(line: str) -> str:
    line = re.sub(r"127\.0\.0\.1:\d+", "HOST", line)
    return re.sub(r", [\d.]+ k?B$", "", line).rstrip()


def test_who_wants_quiet_or_json_gets_no_line(site):
    for options in cases([["-q"], ["--json"]]):
        ran = run_on_terminal("ls", site, "-f", "pages", *options, stdout="file")
        assert ran.screen == b""


# What a website wrote -------------------------------------------------------------------------------


TITLE = "tea \u202egnp.exe\u2069 \x9b31m \x85 \U000e0041 \x7f café 茶"


@pytest.fixture
def document(put):
    put({"s.xml": urlset(story("https://example.org/tea", "2025-01-01", TITLE))})
    return "s.xml"


def test_nothing_steers_the_terminal_and_formats_can_still_be_read(document):
    screens = {}
    for form in cases(["csv", "json", "jsonl", "xml", "tabtree", "pages"]):
        ran = run_on_terminal("ls", "-q", document, "-f", form, stdout="terminal")
        assert ran.status == 0
        text = ran.screen.decode().replace("\r\r\n", "\n").replace("\r\n", "\n")
        assert all(char.isprintable() or char in "\n\t" for char in text), ascii(text)
        screens[form] = text
    assert json.loads(screens["jsonl"])["news"]["title"] == TITLE
    assert json.loads(screens["json"])[0]["news"]["title"] == TITLE
    (row,) = csv.DictReader(io.StringIO(screens["csv"]))
    assert "%E2%80%AE" in row["news"]
    assert "café 茶" in row["news"]
    assert "\u202e" in "".join(ET.fromstring(screens["xml"]).itertext())


def test_a_file_or_a_pipe_has_what_the_website_wrote(document):
    for form in cases(["csv", "jsonl", "xml"]):
        plain = run_plain("ls", document, "-f", form).stdout
        assert "\u202e".encode() in plain
        for stdout in ("file", "pipe"):
            assert run_on_terminal("ls", document, "-f", form, stdout=stdout).out == plain


@pytest.fixture
def checked(put):
    put({"sitemap.xml": urlset("<url><loc>/tea</loc></url>", "https://example.org/a-tea#x")})


def without_styles(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_lines_fit_into_a_narrow_terminal_and_only_there_severities_have_colors(checked):
    argv = ("check", ".", "--select", "SM401,SM407", "-q")
    text = without_styles(on_screen(*argv, columns=40))
    assert "the URL is relative: '/tea'" in text
    assert "  Write the full URL, with its scheme\n  and host.\n    sitemap.xml\n" in text
    assert re.search(r"\n      1:\d+  the URL is relative: '/tea'\n", text)
    by_sitemap = without_styles(on_screen(*argv, "--by-sitemap", columns=40))
    assert "  SM401 Write the full URL, with its\n        scheme and host.\n" in by_sitemap
    page = without_styles(on_screen("rule", "SM407", columns=40))
    long = [line for line in page.split("\n") if len(line) > 40]
    assert [line for line in long if "http" not in line] == []
    listed = without_styles(on_screen("rule", columns=80)).split("\n")
    assert max(map(len, listed)) <= 80
    at = listed.index(
        "  SM107  warning  sitemap-not-declared       A sitemap exists, but robots.txt"
    )
    assert listed[at + 1].split() == ["does", "not", "declare", "it."]
    argv = ("check", ".", "--select", "SM401", "-q")
    assert "\x1b[31m\x1b[1merror" in on_screen(*argv)
    for words in (argv, ("rule", "SM401")):
        assert b"\x1b" not in run_on_terminal(*words, stdout="pipe").out
