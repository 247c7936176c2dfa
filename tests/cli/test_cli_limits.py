"""Limits on the command line, and what a command says of what is missing."""

from cases import cases
from usp.cli.option_values import read_limits
from usp.limits import DEFAULT, Limits
from website import index, robots, urlset

PAGES = [f"/{number:02}" for number in range(10)]


def test_failures_for_one_reason_share_a_line_if_they_are_many(serve, run):
    for missing in (1, 3, 4, 40):
        names = [f"/{number}.xml" for number in range(missing)]
        site = serve({"/s.xml": index("/ok.xml", *names), "/ok.xml": urlset("/p")})
        several = f"{missing} sitemaps: SM150 404 Not Found, for example {site}/0.xml"
        told = {
            1: [f"usp: incomplete: {site}/0.xml: SM150 404 Not Found"],
            3: [
                "usp: incomplete: 3 sitemaps missing or incomplete",
                *(f"  {site}{name}: SM150 404 Not Found" for name in names),
            ],
        }
        lines = run("ls", site + "/s.xml").err.splitlines()
        assert lines == told.get(missing, [f"usp: incomplete: {several}"])


def test_at_most_five_lines_tell_of_failures(serve, run):
    names = [f"/{number}.xml" for number in range(8)]
    files = {name: f"<!DOCTYPE x [<!ENTITY a 'b'>]><r{name[1]}/>" for name in names[:2]}
    files |= {name: f"<root{number}/>" for number, name in enumerate(names[2:])}
    site = serve({"/s.xml": index("/ok.xml", *names), "/ok.xml": urlset("/p"), **files})
    lines = run("ls", site + "/s.xml").err.splitlines()
    assert lines[0] == "usp: incomplete: 8 sitemaps missing or incomplete"
    assert (
        lines[-1] == "  and 2 more; --log-format json lists them all"
    )  # the two alike share a line
    assert len(lines) == 1 + 5 + 1


VALUES = {
    "pages": {"1000": 1000, "1k": 1000},
    "pages ": {" 7": 7},
    "depth": {"none": None, "None": None},
    "document_bytes": {"10MB": 10_000_000, "10mb": 10_000_000, "10 MiB": 10 * 1024 * 1024},
    "document-bytes": {"1.5KiB": 1536},
    "unpacked_bytes": {"2GiB": 2 << 30},
    "spool_bytes": {"3G": 3_000_000_000},
    "seconds": {"90": 90, "1.5min": 90, "2h": 7200},
    "document_seconds": {"0.5s": 0.5},
    "ratio": {"12.5": 12.5},
    "lowest_rate": {"0": 0},
    "redirects": {"0": 0},
}


def test_limits_are_read_with_units():
    for name, text, value in cases(
        [(n, *item) for n, row in VALUES.items() for item in row.items()]
    ):
        limits = Limits(**{name.strip().replace("-", "_"): value})
        assert read_limits((f"{name}={text}",)) == limits
    assert read_limits(()) == DEFAULT
    assert read_limits(("pages=5", "depth=2")) == Limits(pages=5, depth=2)
    assert read_limits(("pages=5", "pages=6")) == Limits(pages=6)
    whole = read_limits(("pages=5k", "document_bytes=1.5kib", "sitemaps=1"))
    assert {type(value) for value in (whole.pages, whole.document_bytes)} == {int}


def test_limits_reach_the_crawl_and_one_that_is_reached_says_how_to_raise_it(serve, run):
    files = {"/robots.txt": robots("/i.xml"), "/i.xml": index("/s.xml"), "/s.xml": urlset(*PAGES)}
    site = serve(files)
    for start in (site, f"{site}/i.xml"):
        for limit in [
            *("document_bytes=300", "unpacked_bytes=300", "depth=0", "sitemaps=1", "seconds=0"),
            "pages=3",
        ]:
            ended = run("ls", start, "-k", "-f", "pages", "--strict", "--max", limit)
            assert ended.status in (1, 3)
            assert len(ended.lines) < 10
            assert f"--max {limit.partition('=')[0]}=" in ended.err
        assert ended.lines == [site + path for path in PAGES[:3]]
        for value in ("10", "none"):
            ended = run("ls", start, "-k", "-f", "pages", "--strict", "--max", f"pages={value}")
            assert (ended.status, ended.err, len(ended.lines)) == (0, "", 10)


def test_what_to_do_about_a_limit_names_the_option_and_nothing_of_python(serve, run):
    site = serve({"/s.xml": index("/a.xml", "/b.xml"), "/a.xml": urlset("/p")})
    for command in cases(["tree", "check"]):
        out = run(command, f"{site}/s.xml", "--max", "sitemaps=2").out
        assert "  Raise it with --max sitemaps=…." in out.replace("SM066 limit-sitemaps: ", "")
        assert "Limits(" not in out
