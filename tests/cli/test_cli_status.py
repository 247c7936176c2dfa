"""The exit status: 0 when anything was read, 1 when nothing was; ``--strict`` asks for everything."""

import json
from pathlib import Path

import pytest
from tools.reference_pages.commands import STATUSES

from cases import cases
from usp._demo import demo_site
from usp.cli import errors
from usp.cli.commands import SHORT_HELP
from usp.objects.problem import Failure, FailureCode
from website import Answer, Everywhere, index, robots, rss, urlset

COMMANDS = [
    *(["ls"], ["ls", "-f", "pages"], ["ls", "-f", "csv"], ["ls", "-f", "jsonl", "--limit", "50"]),
    *(["tree"], ["graph"], ["report", "-o", "report.html"]),
]

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def itself(serve):
    """A website whose index lists itself, also by a redirect, beside a sitemap."""
    return serve(
        {
            "/robots.txt": "Sitemap: {site}/i.xml",
            "/i.xml": index("/i.xml", "/j.xml", "/a.xml"),
            "/j.xml": index("/i.xml#again"),
            "/a.xml": urlset("/p"),
        }
    )


def test_a_hole_counts_only_if_an_option_the_environment_or_a_file_is_strict(
    run, site, put, monkeypatch
):
    for command in COMMANDS:
        ended = run(command[0], site, *command[1:]).ends(0, "incomplete")
        assert "missing.xml" in (ended.out if command == ["tree"] else ended.err)
        assert run(command[0], site, "--strict", *command[1:]).status == 3
    monkeypatch.setenv("USP_STRICT", "1")
    assert run("ls", site).status == 3
    monkeypatch.setenv("USP_STRICT", "0")
    assert run("ls", site).status == 0
    monkeypatch.delenv("USP_STRICT")
    put({"usp.toml": "strict = true\n"})
    for command in ("ls", "tree", "graph"):
        assert run(command, site).status == 3


def test_nothing_read_at_all_is_1(run, serve):
    for command in COMMANDS:
        for strict in [[], ["--strict"]]:
            nobody = "http://127.0.0.1:9/"
            gone = serve({"/robots.txt": robots("/a.xml"), "/i.xml": index("/a.xml")})
            for start in (nobody, gone, f"{gone}/missing.xml", f"{gone}/i.xml"):
                assert run(command[0], start, *strict, *command[1:]).status == 1


def test_an_index_that_lists_itself_is_complete_and_said_not_to_be_followed(run, itself):
    for command in COMMANDS:
        ended = run(command[0], itself, "--strict", *command[1:]).ends(0)
        assert "incomplete" not in ended.err
    told = "it is one of the sitemaps above it"
    listed = json.loads(run("ls", itself, "--sitemaps", "-f", "json").out)
    tree = json.loads(run("tree", itself, "-f", "json").out)
    loops = [row for row in listed if row["type"] == "invalid"]
    loops.append(tree["sitemaps"][0]["sitemaps"][0]["sitemaps"][0])
    assert [(loop["code"], loop["failure"]) for loop in loops] == [("recursion", told)] * 3
    drawn = run("tree", itself).out
    assert "not followed" in drawn
    assert f"warning SM152: {told}" in drawn
    assert "Recursion" not in drawn
    assert f"\t{told}\trecursion" in run("ls", itself, "--sitemaps").out


def test_indexes_in_a_folder_that_list_each_other_are_complete(run, put):
    put({"a.xml": index("http://h/b.xml", "http://h/a.xml"), "b.xml": index("http://h/a.xml")})
    drawn = run("tree", ".", "--strict").ends(0)
    assert "warning SM152: it is one of the sitemaps above it" in drawn.out
    assert "Recursion" not in drawn.out
    put({"a.xml": index("http://h/b.xml", "http://h/c.xml"), "c.xml": urlset("http://h/1")})
    ended = run("ls", ".", "-f", "pages", "--strict")
    assert (ended.status, ended.lines) == (0, ["http://h/1"])


def test_an_index_that_is_a_file_was_read(run, put, stdin):
    """Nothing that a file declares is fetched, so that is not what was asked for."""
    text = index("http://h/a.xml", "http://h/b.xml")
    put({"index.xml": text})
    assert run("tree", "index.xml").status == 0
    assert run("tree", "index.xml", "--strict").status == 3
    stdin(text)
    assert run("tree", "-").status == 0


@pytest.fixture(scope="module")
def demo():
    with demo_site() as url:
        yield url


def test_filters_that_leave_out_everything_are_named_to_people_and_programs(run, demo):
    for how in [["-f", "pages"], ["-f", "csv"], ["-o", "pages.csv"]]:
        ended = run("ls", demo, *how, "--include", "/nothing/*").ends(0)
        assert ended.err.startswith("usp: no page matches the filters; 21 pages left out\n")
        assert "no page matches" not in run("ls", demo, *how, "--include", "/news/*").err
    first = run("ls", demo, "-f", "pages", "--exclude", "*", "--json").err.splitlines()[0]
    assert json.loads(first) == {
        "notice": "no page matches the filters; 21 pages left out",
        "left_out": 21,
    }


def test_sitemaps_without_pages_are_named(run, serve):
    for how in [["-f", "pages"], ["-f", "csv"], ["-o", "pages.csv"]]:
        site = serve({"/robots.txt": robots("/a.xml", "/b.txt"), "/a.xml": urlset()})
        run("ls", site, "-k", *how).ends(0, "usp: 1 sitemap read, without any pages\n")
        site.web.answers["/a.xml"] = urlset("/1")
        assert "without any pages" not in run("ls", site, "-k", *how).err


def test_a_website_without_sitemaps_gets_other_places_to_look_at_but_those_given(run, demo, serve):
    for start in ([demo, "-rk"], [serve({})]):
        run("ls", *start, "-f", "pages").ends(
            0, "no sitemaps with pages were found", "--html-links", "--known-path", out=""
        )
    site = serve({"/": "<html><body>Tea</body></html>"})
    ended = run("tree", site, "-rk", "--html-links")
    assert "no sitemaps with pages were found" in ended.err
    assert "--html-links" not in ended.err
    assert "--known-path" in ended.err


def test_a_website_without_sitemaps_has_a_verdict_in_text_and_json(run, serve):
    sentence, site = "answers every path with the same HTML page", serve({})
    site.web.answers = Everywhere({"*": "<html>Tea</html>"})
    head, shown = run("tree", site).out, json.loads(run("tree", site, "-f", "json").out)
    assert (shown["sitemaps"], sentence in head) == ([], True)
    assert f"{shown['verdict']['color']}: {shown['verdict']['sentence']}" in head
    assert f"{site}/, which {sentence} (--html" in run("ls", site).err


def test_a_check_of_a_website_that_blocks_does_not_call_it_empty(run, serve):
    site = serve({"/robots.txt": Answer(status=403)})
    ended = run("check", site, "--fail-on", "never").ends(
        2, "403 Forbidden: the server blocks robots"
    )
    assert "no sitemaps were found" not in ended.err
    assert "Try --user-agent NAME, --concurrency 1 or --wait 2." in ended.out


def test_redirects_in_a_circle_are_named_and_no_limit_is_to_be_raised(run, serve):
    for steps in [1, 2, 3]:
        circle = {f"/{n}.xml": Answer(redirect=f"/{(n + 1) % steps}.xml") for n in range(steps)}
        ended = run("tree", f"{serve(circle)}/0.xml").ends(
            1, "redirected in a circle, until the limit redirects=20 was reached"
        )
        assert "--max" not in ended.err
    on_and_on = {f"/{n}.xml": Answer(redirect=f"/{n + 1}.xml") for n in range(30)}
    ended = run("tree", f"{serve(on_and_on)}/0.xml")
    assert "raise it with --max redirects=" in ended.err


def test_a_login_that_is_missing_is_asked_for():
    for code, said in [
        (FailureCode.UNAUTHORIZED, " (put the login into the URL: https://user:password@host/)"),
        (FailureCode.NOT_FOUND, ""),
    ]:
        failure = Failure("https://example.org/robots.txt", "401 Unauthorized", code=code)
        assert errors.why(failure) == f"401 Unauthorized{said}"


# Every situation with every command ---------------------------------------------------------------

SITUATIONS = {
    "complete": {"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/p", "/q")},
    "partial": {"/robots.txt": robots("/a.xml", "/gone.xml"), "/a.xml": urlset("/p", "/q")},
    "feed": {"/robots.txt": robots("/f.rss"), "/f.rss": rss("/p")},
    "empty": {"/robots.txt": robots("/a.xml"), "/a.xml": urlset()},
    "nothing": {},
    "page": {"/robots.txt": "<html><body>Tea</body></html>"},
    "gone": {"/robots.txt": robots("/gone.xml")},
    "blocked": {"/robots.txt": Answer(status=403)},
    "nobody": "http://127.0.0.1:9/",
    "nowhere": "no-such-file.xml",
    "junk": "junk.xml",
}
ENDINGS = {
    # complete partial feed empty nothing page gone blocked nobody nowhere junk
    "ls {start}": "00000011121",
    "ls {start} --strict": "03000011121",
    "ls {start} -f pages": "00000011121",
    "ls {start} -f pages --strict": "03000011121",
    "ls {start} -f pages --limit 1 --strict": "00000011121",
    "ls {start} -o new.csv": "00000011121",
    "ls {start} --sitemaps": "00000011121",
    "tree {start}": "00000011121",
    "tree {start} -o new.json --strict": "03000011121",
    "tree {start} -f dot --strict": "03000011121",
    "report {start} -o new.html": "00000011121",
    "report {start} -o new.html --strict": "03000011121",
    "snapshot {start} -o new.warc.gz": "00000011122",
    "snapshot {start} -o old.warc.gz --strict": "03011111122",
    "check {start}": "01012212221",
    "check {start} --fail-on never": "00002202220",
    "check {start} --fail-on never --strict": "03002232223",
    "diff {start} {start}": "00000022222",
    "diff {start} {start} --strict": "03000022222",
    "watch {start} --snapshot {new}.warc.gz --rounds 1": "00000000022",
    "watch {start} --snapshot {new}.warc.gz --rounds 1 --strict": "03000033322",
}
"""The exit status of each command in each situation, in their order."""


def test_every_command_ends_every_situation_with_the_documented_status(run, serve, put):
    put({"junk.xml": "<other>1</other>"})
    complete = serve(SITUATIONS["complete"])
    run("snapshot", complete, "-k", "-o", "old.warc.gz")
    for line, statuses in cases(ENDINGS.items()):
        name = line.split()[0]
        ended = []
        for number, given in enumerate(SITUATIONS.values()):
            start = given if isinstance(given, str) else serve(given)
            Path("new.warc.gz").unlink(missing_ok=True)
            words = line.format(start=start, new=f"{number}{len(line)}").split()
            ended.append(run(*words, "-k").status)
        assert "".join(map(str, ended)) == statuses
        assert set(ended) <= STATUSES[name].keys()


UPDATES = {
    # complete partial feed empty nothing page gone blocked nobody
    "update {known}": "000111111",
    "update {known} --strict": "030111111",
    "update {known} --accept": "000000111",
}
"""The same for a snapshot of the time when the website was complete."""


def test_an_update_ends_every_situation_with_the_documented_status(run, serve):
    for line, statuses in cases(UPDATES.items()):
        ended = []
        for number, given in enumerate([*SITUATIONS.values()][: len(statuses)]):
            site, known = serve(SITUATIONS["complete"]), f"{number}{len(line)}.warc.gz"
            run("snapshot", site, "-k", "-o", known)
            if isinstance(given, str):
                site.web.close()
            else:
                site.web.answers = dict(given)
            ended.append(run(*line.format(known=known).split()).status)
        assert "".join(map(str, ended)) == statuses
        assert set(ended) <= STATUSES["update"].keys()


def test_every_command_ends_a_wrong_call_with_2(run, here):
    for name in cases(SHORT_HELP):
        run(name, "--nonsense").ends(2, "No such option", out="")
        run(name, "http://127.0.0.1:9/", "-o", "no/such/file.json").ends(2, out="")
        assert 2 in STATUSES[name]
