"""A command that finds nothing says why, and what could be tried."""

import json

import pytest

from usp._demo import demo_site
from usp.cli import errors
from usp.objects.problem import Failure, FailureCode
from website import Answer, Site, robots, urlset


@pytest.fixture(scope="module")
def demo():
    with demo_site() as url:
        yield url


@pytest.mark.parametrize("how", [["-f", "pages"], ["-f", "csv"], ["-o", "pages.csv"]])
def test_filters_that_leave_out_everything_are_named(run, demo, how, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = run("ls", demo, *how, "--include", "/nothing/*")
    assert ended.status == 0
    assert ended.err.startswith("usp: no page matches the filters; 21 pages left out\n")
    assert "no page matches" not in run("ls", demo, *how, "--include", "/news/*").err


@pytest.mark.parametrize("how", [["-f", "pages"], ["-f", "csv"], ["-o", "pages.csv"]])
def test_sitemaps_without_pages_are_named(run, how, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers = {"/robots.txt": robots("/a.xml", "/b.txt"), "/a.xml": urlset()}
    with Site(answers) as site:
        ended = run("ls", site.base, "-k", *how)
        assert ended.status == 0
        assert "usp: 1 sitemap read, without any pages\n" in ended.err
        site.answers["/a.xml"] = urlset("/1")
        assert "without any pages" not in run("ls", site.base, "-k", *how).err


def test_programs_are_told_the_same(run, demo):
    first = run("ls", demo, "-f", "pages", "--exclude", "*", "--json").err.splitlines()[0]
    assert json.loads(first) == {
        "notice": "no page matches the filters; 21 pages left out",
        "left_out": 21,
    }


def test_a_website_without_sitemaps_gets_other_places_to_look_at(run, demo):
    ended = run("ls", demo, "-rk", "-f", "pages")
    assert (ended.status, ended.out) == (0, "")
    assert "no sitemaps with pages were found" in ended.err
    assert "--html-links" in ended.err
    assert "--known-path" in ended.err


def test_an_option_that_was_given_is_not_proposed(run):
    with Site({"/": "<html><body>Tea</body></html>"}) as site:
        ended = run("tree", site.base, "-rk", "--html-links")
    assert "no sitemaps with pages were found" in ended.err
    assert "--html-links" not in ended.err
    assert "--known-path" in ended.err


def test_a_check_of_a_website_that_blocks_does_not_call_it_empty(run):
    with Site({"/robots.txt": Answer(status=403)}) as site:
        ended = run("check", site.base, "--fail-on", "never")
    assert ended.status == 2
    assert "403 Forbidden: the server blocks robots" in ended.err
    assert "no sitemaps were found" not in ended.err


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_redirects_in_a_circle_are_named_and_no_limit_is_to_be_raised(run, steps):
    circle = {f"/{n}.xml": Answer(redirect=f"/{(n + 1) % steps}.xml") for n in range(steps)}
    with Site(circle) as site:
        ended = run("tree", f"{site.base}/0.xml")
    assert ended.status == 1
    assert "redirected in a circle, until the limit redirects=20 was reached" in ended.err
    assert "--max" not in ended.err


def test_redirects_that_go_on_name_the_limit(run):
    with Site({f"/{n}.xml": Answer(redirect=f"/{n + 1}.xml") for n in range(30)}) as site:
        ended = run("tree", f"{site.base}/0.xml")
    assert "raise it with --max redirects=" in ended.err


@pytest.mark.parametrize(
    ("code", "said"),
    [(FailureCode.UNAUTHORIZED, "https://user:password@host/"), (FailureCode.NOT_FOUND, "")],
)
def test_a_login_that_is_missing_is_asked_for(code, said):
    failure = Failure("https://example.org/robots.txt", "401 Unauthorized", code=code)
    assert errors.why(failure).partition("401 Unauthorized")[2].endswith(f"{said})" if said else "")
