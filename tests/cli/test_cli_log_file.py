"""A log file has what a command would have told: nothing is lost, and nothing is shown."""

import pytest

from website import Answer, Site, index, robots, urlset


@pytest.fixture
def website():
    answers = {
        "/robots.txt": robots("/index.xml"),
        "/index.xml": index("/a.xml", "/lost.xml"),
        "/a.xml": urlset("/1"),
        "/lost.xml": Answer("gone", 404),
    }
    with Site(answers) as site:
        yield site


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
def snapshot(run, website, tmp_path):
    path = str(tmp_path / "site.warc.gz")
    run("snapshot", website.base, "-o", path)
    return path


def test_the_summary_of_an_update_is_logged(logged, snapshot):
    ended, log = logged("update", snapshot)
    assert (ended.status, ended.err) == (0, "")
    assert "0 changed, 0 new" in log
    assert "/lost.xml: 404 Not Found" in log


def test_failures_that_are_told_at_the_end_are_logged(logged, snapshot, subtests):
    for command in ["tree", "graph", "ls"]:
        with subtests.test(command=command):
            ended, log = logged(command, snapshot)
            assert (ended.status, ended.err) == (0, "")
            assert "/lost.xml: 404 Not Found" in log


def test_a_watch_logs_what_it_would_say(logged, website, snapshot):
    website.answers["/a.xml"] = urlset("/1", "/2")
    given = ["--snapshot", snapshot, "--rounds", "1", "--exec", "kill -9 $$"]
    ended, log = logged("watch", website.base, *given)
    assert (ended.status, ended.out, ended.err) == (0, "", "")
    assert "was ended by SIGKILL; the batch will be retried" in log
    assert "stopped: " in log


def test_a_watch_groups_failures_of_one_reason(run, website, snapshot):
    website.answers.clear()
    website.answers["*"] = Answer("down", 403)
    website.answers["/robots.txt"] = robots("/index.xml")
    website.answers["/index.xml"] = index(*(f"/{number}.xml" for number in range(9)))
    ended = run("watch", website.base, "--snapshot", snapshot, "--rounds", "1")
    assert "usp: 9 sitemaps: 404 Not Found, for example " in ended.err
    loss, *others = ended.err.splitlines()
    assert "would be gone" in loss
    assert len(others) == 2
