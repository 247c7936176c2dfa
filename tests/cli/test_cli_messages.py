"""What went wrong is told once, in words for people, with hints that can be followed."""

import ast
import json
import re
import sys
from pathlib import Path

import pytest
import rich_click as click

import usp
from cases import cases
from usp import cli
from usp._base.display import without_origin
from usp._base.reason import Advice, Topic
from usp.cli import errors
from usp.cli.cli import OLD_NAMES
from usp.cli.commands import COMMANDS
from usp.cli.errors import failure_line
from usp.fleet.run import failure_row
from usp.objects.problem import Failure, FailureCode
from usp.objects.sitemap import InvalidSitemap
from usp.web_client.abstract_client import WebClientErrorResponse, failure_reason
from website import Answer, index, nobody, urlset

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
FETCHING = ["ls", "tree", "graph", "report"]


pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def closed():
    """The address of a port at which nobody listens."""
    with nobody() as url:
        yield url.removeprefix("http://")


def test_a_start_that_cannot_be_read_is_told_in_one_line(run, site, closed):
    refused = f"connection refused by {closed}"
    paths = ("", "sitemap.xml", "blog/", "blog/post.html?page=2")
    told = {
        "example.invalid": "no such host: example.invalid",
        f"http://{closed}": refused,
        **{f"https://{closed}/{path}": f"{refused} (try http://{closed}/{path})" for path in paths},
        f"{site}/gone.xml": f"{site}/gone.xml: 404 Not Found",
    }
    for command, start in [(command, start) for command in FETCHING for start in told]:
        ended = run(command, start).ends(1, err=f"usp: {told[start]}\n")
        if command in ("ls", "tree"):  # the tree has a verdict where the server has said why
            verdict = 2 * start.endswith("/gone.xml")
            assert len(ended.lines) == (1 if command == "ls" else verdict)


def test_each_failure_is_told_once_also_if_it_is_not_drawn(run, site):
    for command in FETCHING:
        ended = run(command, site)
        told = ended.err + (ended.out if command == "tree" else "")
        assert told.count("missing.xml") == 1
        assert told.count("404 Not Found") == 1
        assert "WARNING" not in told
        assert "Unable to fetch" not in told
    ended = run("tree", site, "--depth", "1")
    assert ended.err == f"usp: incomplete: {site}/missing.xml: SM150 404 Not Found\n"


def test_each_document_has_the_rule_of_its_own_failure(run, tmp_path):
    """A missing file is a finding of the index that lists it, which may be incomplete itself."""
    (tmp_path / "i.xml").write_text(index("https://example.org/a.xml")[:-20])
    err = run("ls", str(tmp_path)).err
    assert "i.xml: SM354 the document breaks off" in err
    assert "https://example.org/a.xml: SM114 not fetched" in err


def test_what_is_nowhere_in_the_tree_is_drawn_too(run, serve):
    ended = run("tree", serve({"/sitemap.xml": urlset("/a"), "/robots.txt": Answer(status=500)}))
    assert "error SM102: /robots.txt: robots.txt could not be fetched: 500" in ended.out
    assert ended.err == "usp: incomplete: 1 sitemap missing or incomplete\n"


# JSON ---------------------------------------------------------------------------------------------


def test_every_line_of_the_standard_error_is_json(run, site, closed):
    Path("dead.txt").write_text(f"http://{closed}/\n")
    wrong = f"https://{closed}/"
    calls = [
        *([command, site, *more] for command in FETCHING for more in ([], ["-q"], ["-v"], ["-vv"])),
        *([command, wrong, "-q"] for command in FETCHING),
        ["ls", site, "-f", "pages", "--since", "7d", "-q"],
        ["ls", site, "-rk"],
        ["ls", f"{site}/shop/tea.html"],
        ["ls"],
        ["ls", site, "--nonsense"],
        ["nonsense"],
        ["crawl"],
        ["crawl", "no-such-file.txt", "-o", "dataset"],
        ["stats", "no-such-dataset"],
        ["crawl", "dead.txt", "-o", "dataset", "--workers", "1", "--allow-network", "any"],
        ["ls", site, "--max", "tea=1"],
    ]
    for call in calls:
        for argv in ([*call, "--log-format", "json"], ["--json", *call]):
            ended = run(*argv)
            told = [json.loads(line) for line in ended.err.splitlines()]
            assert all(isinstance(line, dict) for line in told)
            if ended.status:
                assert told[-1]["status"] == ended.status
                assert told[-1]["error"]
    told = json.loads(run("--json", "ls", "no website").err)
    assert (told["status"], told["hint"]) == (2, "Try 'usp ls --help'.")


def test_a_file_and_the_environment_can_ask_for_json(run, site, put, monkeypatch):
    monkeypatch.setenv("USP_JSON", "1")
    told = json.loads(run("ls", site, "--strict").err)
    (failure,) = told["failures"]
    assert (told["error"], told["status"]) == ("incomplete", 3)
    assert (failure["reason"], failure["status"], failure["rule"]) == (
        "404 Not Found", 404, "SM150",
    )  # fmt: skip
    monkeypatch.setenv("USP_JSON", "false")
    assert run("ls", site).err.startswith("usp: ")
    for setting in ("json = true\n", "log-format = 'json'\n"):
        put({"usp.toml": setting})
        assert json.loads(run("ls", site).err)["failures"][0]["url"] == f"{site}/missing.xml"
    assert run("ls", site, "--log-format", "text").err.startswith("usp: ")
    put({"usp.toml": ""})
    assert run("ls", site).err.startswith("usp: ")


def test_the_line_of_an_interrupt_is_json_if_all_others_are(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["usp", "ls"])
    for value in cases(["1", "true", "0", "false", "No", " "]):
        monkeypatch.setenv("USP_JSON", value)
        is_json = value in ("1", "true")
        assert cli._line().startswith(b"{") == cli.wants_json() == is_json
    monkeypatch.setenv("USP_LOG_FORMAT", "json")
    assert cli.wants_json()


def test_the_code_of_another_version_has_the_reason_that_was_recorded():
    line = failure_line(failure_row("melted", 2, "h.example", "the server has melted"))
    assert line == "  2 sites melted: the server has melted, for example h.example"


# Hints --------------------------------------------------------------------------------------------


def options_of(command: str) -> set[str]:
    return {option for parameter in COMMANDS[command].params for option in parameter.opts}


ADVICE = [
    *(Advice(Topic.RAISE_LIMIT, name) for name in ("pages", "seconds", "document_bytes")),
    *(Advice(Topic.ALLOW_NETWORK, entry) for entry in ("10.0.0.1", "fe80::1", "intranet.example")),
    Advice(Topic.BE_GENTLE),
    Advice(Topic.TRUST),
]


def said(command: str, advice: Advice) -> str:
    """Return what a command says of a failure with an advice."""
    failure = Failure("http://h/", "it failed", brief=f"it failed ({advice})", advice=advice)
    with click.Context(COMMANDS[command]):
        return errors.why(failure)


def test_hints_name_the_options_that_the_command_has_and_no_others():
    crawling = {command for command in COMMANDS if "--timeout" in options_of(command)}
    assert crawling > {"tree", "ls", "check", "crawl", "diff", "watch", "update"}
    for command in sorted(crawling):
        for advice in cases(ADVICE):
            text = said(command, advice)
            assert set(OPTION.findall(text)) <= options_of(command)
            assert not re.search(r"Limits\(|Zones\(|verify=|user_agent|\(\)", text)
            assert text.startswith("it failed")
    for command, advice, hint in [
        ("ls", Advice(Topic.RAISE_LIMIT, "pages"), "(raise it with --max pages=…)"),
        ("crawl", Advice(Topic.RAISE_LIMIT, "seconds"), "(raise it with --max seconds=…)"),
        ("ls", Advice(Topic.ALLOW_NETWORK, "::1"), "(--allow-network ::1 permits it)"),
        ("ls", Advice(Topic.BE_GENTLE), "--user-agent"),
        ("crawl", Advice(Topic.BE_GENTLE), "--concurrency 1"),
    ]:
        text = said(command, advice)
        assert text == f"it failed {hint}" if hint.startswith("(") else hint in text


def test_what_to_do_about_a_code_is_said_in_options_that_the_command_has():
    for code in cases(FailureCode):
        text = errors.remedy(code.value, of_fleet=True)
        assert text
        assert set(OPTION.findall(text)) <= options_of("crawl")
        assert not re.search(r"Limits\(|Zones\(|verify=|auth=|user_agent|\(\)", text)


def test_a_hint_is_found_by_its_value_and_not_by_its_words():
    words = f"it failed ({Advice(Topic.RAISE_LIMIT, 'pages')})"
    assert errors.why(Failure("http://h/", words)) == words


def test_a_server_that_turns_robots_away_is_told_with_what_to_try(run, monkeypatch):
    error = WebClientErrorResponse("403 Forbidden", retryable=False)
    error.blocked = True
    why = failure_reason(error).at("Unable to fetch sitemap from http://h/s.xml")
    failure = Failure.of("http://h/s.xml", why)
    node = InvalidSitemap("http://h/s.xml", str(why), failure=failure)
    monkeypatch.setattr("usp.cli.run_options.RunOptions.tree", lambda *_, **__: node)
    for command in ("tree", "graph", "report"):
        err = run(command, "http://h/s.xml").err
        assert err.startswith("usp: http://h/s.xml: 403 Forbidden: the server blocks robots (try ")
        assert set(OPTION.findall(err)) <= options_of(command)


def test_options_that_messages_name_exist():
    """Every option in a text of the package is one of some command."""
    known = {option for command in COMMANDS for option in options_of(command)}
    known |= {"--help", "--help-all", "--version", *OLD_NAMES}
    for path in Path(usp.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named = set(OPTION.findall(node.value))
                assert named <= known, (path.name, named - known)


def test_only_addresses_with_a_path_lose_their_scheme_and_host():
    start = "http://h:81/"
    assert without_origin("h:81 does not speak TLS; try http://h:81/", start).endswith(start)
    assert without_origin("see http://h:81/, and http://h:81/a.xml", start) == (
        "see http://h:81/, and /a.xml"
    )
    assert without_origin("'http://h:81/a'", start) == "'/a'"
    assert without_origin("from http://x/?u=http://h:81/a", "http://h:8/").endswith("http://h:81/a")

    # A document from the standard input leaves hyphens in reasons alone.
    assert without_origin("Un-fetched child sitemap", "-") == "Un-fetched child sitemap"


def test_each_reason_is_told_before_a_second_address_with_the_same_one(run, put):
    files = {
        "html.xml": "<!doctype html><html><body>Hello</body></html>",
        "empty.xml": "",
        "junk.xml": "<other>1</other>",
        "a.xml": urlset("http://h/1"),
    }
    gone = [f"gone{n}.xml" for n in range(3)]
    put({"i.xml": index(*(f"http://h/{name}" for name in (*gone, *files))), **files})
    lines = run("ls", "i.xml", "-f", "pages").err.splitlines()
    assert sum("gone" in line for line in lines) == 1
    assert not any("more" in line for line in lines)
