"""A value that cannot be meant is refused before anything is fetched, and its origin is named."""

from website import urlset

SITE = "http://127.0.0.1:9/"  # nothing listens there, and nothing is asked
NOT_A_DATE = "is not a date; use 2025-01-31, 12h, 7d or 4w"
NO_VALUE = "is not a valid value for"
CRAWL = ["crawl", "-", "-o", "d"]

WRONG = {
    "--help": [
        *(["ls"], ["nothing"], ["--nothing"], ["ls", "x.org", "-f", "no"], ["ls", "a.b", "c.d"]),
    ],
    "use for example https://example.org": [
        *(["ls", text] for text in ("", " ", "word", "sitemap.xml", "sitemap.xml.gz", "http://")),
        *(["ls", text] for text in ("./sitemap.xml", "http:///path", "ftp://example.org/")),
        *(["ls", text] for text in ("file:///etc/passwd", "http://example.org:99999/")),
        *(["ls", text] for text in ("http://[::1/", "http://exa mple.org/", "mailto:a@b.c:x")),
    ],
    "is neither an HTTP URL nor an existing file": [
        *(["no-such-file.xml"], ["no/such/file"]),
        *(["ls", name] for name in ("none.warc.gz", "none.warc", "NONE.WACZ", "none.csv.gz")),
    ],
    "--max": [
        *(["ls", SITE, "--max", text] for text in ("", "=5", "pages", "pages=", "pages=many")),
        *(["ls", SITE, "--max", f"pages={text}"] for text in ("-1", "1e3", "10 parsecs", "inf")),
        *(["ls", SITE, "--max", f"pages={text}"] for text in ("nan", "1=2", "0x10", "9" * 400)),
        *(["ls", SITE, "--max", text] for text in ("pagez=5", "__init__=5")),
    ],
    "unknown limit 'pagez'; choose from document_bytes,": [["ls", SITE, "--max", "pagez=5"]],
    f"'3.5' {NO_VALUE} pages": [["ls", SITE, "--max", "pages=3.5"]],
    f"'10MiB' {NO_VALUE} pages": [["ls", SITE, "--max", "pages=10MiB"]],
    f"'2h' {NO_VALUE} depth": [["ls", SITE, "--max", "depth=2h"]],
    f"'2MiB' {NO_VALUE} seconds": [["ls", SITE, "--max", "seconds=2MiB"]],
    "--wait": [["ls", SITE, "--wait", value] for value in ("-1", "soon", "nan", "1e9")],
    "'soon' is not a valid number": [["ls", SITE, "--wait", "soon"]],
    "'nan' is not a valid number": [["ls", SITE, "--timeout", "nan"]],
    "'inf' is not a valid number": [["ls", SITE, "--timeout", "inf"]],
    "'2.5' is not a valid integer": [["ls", SITE, "--limit", "2.5"]],
    "--limit": [["ls", SITE, "--limit", "0"]],
    "'ftp' is not the scheme of a proxy": [["ls", SITE, "--proxy", "ftp://me:secret@host"]],
    "use for example 'Accept-Language: de'": [
        *(["ls", SITE, "-H", header] for header in ("", "word", ": value", "a\x1b: b")),
    ],
    **{
        f"{option} {text!r} {NOT_A_DATE}": [["ls", SITE, option, text]]
        for text in ("30m", "", "soon", "7y")
        for option in ("--since", "--until")
    },
    "--since '999999w' is before the year 1": [["ls", SITE, "--since", "999999w"]],
    "--since 7d is after --until 8d": [["ls", SITE, "--since", "7d", "--until", "8d"]],
    "--since 2025-02 is after --until 2025-01-31": [
        ["ls", SITE, "--since", "2025-02", "--until", "2025-01-31"]
    ],
    "--include 're:(' is not a valid regular expression": [["ls", SITE, "--include", "re:("]],
    "no format given": [["ls", SITE, "-o", "pages.dat"]],
    "-o": [["graph", SITE, "-o", "a.png"]],
    "--log-file": [["ls", SITE, "-l", place] for place in (".", "no/where")],
    "unknown column 'loc'; choose from url": [["ls", SITE, "-f", "csv", "--columns", "loc"]],
    "use for example -f csv": [["ls", SITE, "--columns", "url"]],
    "--strip-url works with": [["ls", SITE, "-f", "csv", "-u"]],
    "--sitemaps": [
        *(["ls", SITE, "--sitemaps", *more] for more in (["--since", "7d"], ["-u"])),
        ["ls", SITE, "--sitemaps", "--limit", "3"],
    ],
    "sitemaps cannot be listed as": [
        *(["ls", SITE, "--sitemaps", "-f", form] for form in ("xml", "pages")),
    ],
    "choose from url, parent": [["ls", SITE, "--sitemaps", "--columns", "lastmod"]],
    "is not a time": [
        ["watch", SITE, "--snapshot", "s.warc.gz", "--every", text]
        for text in ("0", "soon", "5 parsecs")
    ],
    "not a file": [["snapshot", start, "-o", "a.warc.gz"] for start in ("-", ".", "a.xml")],
    "only a website": [
        ["watch", start, "--snapshot", "a.warc.gz"] for start in ("-", ".", "a.xml")
    ],
    "--select: no rule has the code or name 'relativ-url'; did you mean relative-url": [
        ["check", ".", "--select", "relativ-url"]
    ],
    "--ignore: no rule has the code or name 'SM999'": [["check", ".", "--ignore", "SM999"]],
    "--severity: unknown severity 'bad' of SM407; choose from error, warning": [
        ["check", ".", "--severity", "SM407=bad"]
    ],
    "no rule has the code or name 'relative-urls'; did you mean relative-url": [
        ["rule", "relative-urls"]
    ],
    "did you mean ls?": [["lst"], ["l"]],
    "as in 'usp example.org'": [["nonsense"]],
    "Did you mean": [["ls", "--formt", "csv"]],
    "use for example SM407=info": [["check", ".", "--severity", "SM407"]],
    "--severity: no rule has the code or name 'SM998'": [
        ["check", ".", "--severity", "SM998=info"]
    ],
    "there is no dataset 'nope' that could be read as it was at '7d'": [["ls", "nope@7d"]],
    "no format given for 'out.foo'; use -f": [
        ["check", ".", "-o", "out.foo"],
        ["diff", ".", ".", "-o", "out.foo"],
    ],
    "'nope' is neither an HTTP URL nor an existing file": [["ls", ".", "--site", "nope"]],
    "only one input can be standard input": [
        ["diff", "-", "-"],
        ["report", "-", "--compare", "-"],
        ["check", "-", "-"],
        ["check", "-", "--against", "-"],
    ],
    "pass a file with one site per line": [["crawl", "nowhere.txt", "-o", "d"]],
    "unknown column 'colour'": [[*CRAWL, "--columns", "url,colour"]],
    "is not a network": [[*CRAWL, "--allow-network", "10.0.0.1/8"]],
    "unknown limit 'apples'": [[*CRAWL, "--max", "apples=3"]],
    "'--engine': unknown engine 'steam'; choose from local, ray": [[*CRAWL, "--engine", "steam"]],
    "unknown format 'cvs'; choose from tabtree, pages, table, csv, json, jsonl, parquet, xml\n": [
        ["ls", ".", "-f", "cvs"]
    ],
    "unknown log format 'xml'; choose from text, json\n": [["tree", ".", "--log-format", "xml"]],
    "--address is that of a Ray cluster; set --engine to ray": [[*CRAWL, "--address", "auto"]],
    "choose one of them": [[*CRAWL, "--again", "--retry-failed"]],
    "unknown code 'due'; ": [[*CRAWL, "--retry-failed", "--code", "due"]],
    f"'30m' {NOT_A_DATE}": [[*CRAWL, "--since", "30m"]],
    "choose a folder for the dataset": [["crawl", "-", "-o", " "]],
    "choose a folder for the dataset with -o": [["crawl", "-"]],
    "'usp crawl SITES -o": [["stats", "."]],
}
"""Wrong calls, by what is said of them."""


def test_a_wrong_call_is_told_in_two_lines_before_anything_is_fetched_or_written(
    run, put, here, stdin
):
    put({"a.xml": urlset("http://h/1")})
    stdin("example.org")
    for said, calls in WRONG.items():
        for argv in calls:
            ended = run(*argv).ends(2, said, out="")
            assert [path.name for path in here.iterdir()] == ["a.xml"]
            assert "secret" not in ended.err
            first, *hints = ended.err.splitlines()
            assert first.startswith("usp")
            if argv[0] != "check":  # whose status 2 has a meaning of its own
                assert "--help" in "".join(hints)
                assert len(hints) == 1


def test_a_wrong_value_that_was_not_typed_says_where_it_was_set(run, tmp_path, monkeypatch):
    monkeypatch.setenv("USP_TIMEOUT", "abc")
    assert "'abc' is not a valid number (set by USP_TIMEOUT)\n" in run("ls", SITE).err
    monkeypatch.delenv("USP_TIMEOUT")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "usp.toml").write_text('max = ["sites=1"]')
    assert f"(set in {tmp_path / 'usp.toml'})\n" in run("ls", SITE).err
    assert "set in" not in run("ls", SITE, "--max", "sites=1").err
    wrong = ('since = "30m"', 'until = "x"', 'include = "re:("', 'columns = "x"', 'timeout = "x"')
    for setting in (*wrong, '[ls]\nexclude = ["re:["]', 'since = "2025"\nuntil = "2024"'):
        (tmp_path / "usp.toml").write_text(setting)
        said = run("ls", SITE).err
        assert f"(set in {tmp_path / 'usp.toml'})\n" in said
        key = setting.removeprefix("[ls]\n").split()[0]
        assert f"--{key}" in said
    (tmp_path / "usp.toml").write_text("same-host = true")
    assert "set in" not in run("ls", SITE, "--since", "30m").err


def test_known_paths_of_ones_own(run, site):
    ended = run("ls", site, "-r", "-k", "--known-path", "main.xml", "-u")
    assert ended.lines[1] == "\t/main.xml"
