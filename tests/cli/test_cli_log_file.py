"""A log file has what a command would have told: nothing is lost, and nothing is shown."""

import logging
import re

import pytest

from cases import cases
from website import index, robots, urlset


@pytest.fixture
def logged(run, tmp_path):
    """Run a command with a log file; return how it ended and what was logged."""

    def _logged(*argv: str):
        log = tmp_path / "usp.log"
        log.unlink(missing_ok=True)
        ended = run(*argv, "-l", str(log))
        return ended, log.read_text()

    return _logged


@pytest.fixture
def snapshot(run, site, tmp_path):
    path = str(tmp_path / "site.warc.gz")
    run("snapshot", site, "-o", path)
    return path


def test_failures_and_summaries_and_what_a_watch_would_say_are_logged(logged, site, snapshot):
    for command in cases(["tree", "graph", "ls", "update"]):
        ended, log = logged(command, snapshot)
        assert (ended.status, ended.err) == (0, "")
        assert "/missing.xml: 404 Not Found" in log
    assert "0 changed, 0 new" in log
    site.web.answers["/a.xml"] = urlset("/one", "/two")
    given = ["--snapshot", snapshot, "--rounds", "1", "--exec", "kill -9 $$"]
    ended, log = logged("watch", site, *given)
    assert (ended.status, ended.out, ended.err) == (1, "", "")  # the command failed
    assert "was ended by SIGKILL; the batch will be retried" in log
    assert "stopped: " in log


def test_a_watch_groups_failures_of_one_reason(run, site, snapshot):
    gone = index(*(f"/{number}.xml" for number in range(9)))
    site.web.answers = {"/robots.txt": robots("/index.xml"), "/index.xml": gone}
    ended = run("watch", site, "--snapshot", snapshot, "--rounds", "1")
    assert "usp: 9 sitemaps: 404 Not Found, for example " in ended.err
    loss, *others = ended.err.splitlines()
    assert "would be gone" in loss
    assert len(others) == 2


def test_verbosity_adds_information_and_details_for_the_command_alone(run, site):
    root = logging.getLogger()
    before = (root.level, list(root.handlers))
    info, debug = run("ls", site, "-v"), run("ls", site, "-vv")
    assert "INFO:" in info.err
    assert "DEBUG:" not in info.err
    assert "DEBUG:" in debug.err
    assert info.out == debug.out == run("ls", site).out
    assert run("ls", site, "-vvvv").status == 0
    assert (root.level, list(root.handlers)) == before


def test_a_log_file_is_appended_to_and_the_console_stays_quiet(run, site, tmp_path):
    log = tmp_path / "crawl.log"
    for repeat in (1, 2):
        ended = run("ls", site, "-v", "-l", str(log))
        assert ended.err == ""
        assert ended.lines[0] == f"{site}/"
        assert log.read_text().count("missing.xml failed") == repeat
    assert "INFO:" in log.read_text()
    stamp = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} [A-Z]+:usp")
    assert all(stamp.match(line) for line in log.read_text().splitlines())
    assert logging.getLogger().level == logging.WARNING
