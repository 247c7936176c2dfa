"""How requests are made: pauses, and certificates that the system does not know."""

import time
from functools import partial
from pathlib import Path

import pytest

from usp._crawl.orders import FetchOrder
from usp._crawl.schedule import Schedule
from usp._formats.document import Role
from usp.options import CrawlOptions
from website import certified, index, robots, urlset


@pytest.fixture
def certificate(tmp_path):
    return str(tmp_path / "certificate.pem")


@pytest.fixture
def secure(serve, certificate):
    """A website that only those can read who know its certificate, or do not care."""
    tls = certified(Path(certificate), "127.0.0.1")
    return serve({"/sitemap.xml": urlset("https://h.example/1")}, tls=tls)


def test_a_certificate_that_nobody_knows_is_refused_with_what_to_do(run, secure):
    run("ls", secure, "-f", "pages").ends(1, "--ca-bundle", "--insecure", out="")


@pytest.mark.usefixtures("here")
def test_it_is_trusted_if_somebody_says_so(run, secure, certificate, monkeypatch):
    for name, *options in [["ls", "-f", "pages"], ["ls", "-o", "x.txt", "-q"], ["tree"]]:
        for trust in (["--insecure"], ["--ca-bundle", certificate]):
            for url in (secure, f"{secure}/sitemap.xml"):
                run(name, url, *options, *trust).ends(0, err="")
    monkeypatch.setenv("USP_CA_BUNDLE", certificate)
    assert run("ls", secure, "-f", "pages").lines == ["https://h.example/1"]


@pytest.mark.long
def test_a_fleet_trusts_it_too(run, secure, certificate, put):
    pytest.importorskip("aiohttp")
    pytest.importorskip("pyarrow")
    put({"sites.txt": secure})
    argv = ["crawl", "sites.txt", "--allow-network", "any", "--workers", "1", "-o"]
    assert "untrusted-certificate" in run(*argv, "refused").err
    assert "1 complete" in run(*argv, "trusted", "--ca-bundle", certificate).err
    assert "1 complete" in run(*argv, "unchecked", "--insecure", "--wait", "0.01").err


def test_a_bundle_that_has_no_certificates_is_a_wrong_call(run, certificate, put):
    certified(Path(certificate), "127.0.0.1")
    put({"words.pem": "no certificates"})
    for options in (
        ["--ca-bundle", "words.pem"],
        ["--ca-bundle", "missing.pem"],
        ["--insecure", "--ca-bundle", certificate],
    ):
        run("ls", "https://127.0.0.1:1", *options).ends(2, "--ca-bundle")


@pytest.mark.parametrize(
    ("path", "options"),
    [("", ["--wait", "0.3"]), ("/i.xml", ["--wait", "0.3"]), ("", ["--crawl-delay"])],
)
def test_a_pause_is_kept_between_requests(run, serve, path, options):
    asked = []

    def noted(text):
        asked.append(time.monotonic())
        return text

    files = {"/robots.txt": robots("/i.xml") + "Crawl-delay: 0.3\n"}
    files |= {"/i.xml": index("/a.xml", "/b.xml"), "/a.xml": urlset("/1"), "/b.xml": urlset("/2")}
    site = serve({path: partial(noted, text) for path, text in files.items()})
    ended = run("ls", site + path, "-k", "-f", "pages", *options)
    assert ended.lines == [f"{site}/1", f"{site}/2"]
    assert len(asked) == (3 if path else 4)
    # A request may be a little late, and the next one then a little early.
    assert asked[-1] - asked[0] >= 0.3 * (len(asked) - 1) - 0.2


def test_a_pause_is_kept_for_each_host():
    schedule = Schedule(CrawlOptions(wait=2.0, crawl_delay=True), per_host=8)
    first, *others = (
        FetchOrder(f"http://{host}/{at}", Role.SITEMAP, (at,), 0, False, False, host, host)
        for at, host in enumerate(["h", "h", "h", "other"])
    )
    for task in (first, *others):
        schedule.add(task)
    assert schedule.next(0.0) is first
    assert schedule.next(0.0) is others[2]
    schedule.done(first)
    assert schedule.next(1.9) is None
    assert schedule.next_due() == 2.0
    assert schedule.next(2.0) is others[0]
    schedule.keep_crawl_delay("h", 5.0)  # robots.txt asks for more
    schedule.done(others[0])
    assert schedule.next(6.9) is None
