"""How requests are made: pauses, and certificates that the system does not know."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import time

import pytest

from usp._crawl.schedule import Schedule
from usp._crawl.tree_slots import FetchTask
from usp._formats.document import Role
from usp.options import CrawlOptions
from website import index, urlset


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    make = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=tea"
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", *make.split(), *names, *files], check=True, capture_output=True)
    return key, certificate


@pytest.fixture
def secure(serve, certificate):
    """A website that only those can read who know its certificate, or do not care."""
    key, pem = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    return serve({"/sitemap.xml": urlset("https://h.example/1")}, tls=context)


def test_a_certificate_that_nobody_knows_is_refused_with_what_to_do(run, secure):
    ended = run("ls", secure, "-f", "pages")
    assert (ended.status, ended.out) == (1, "")
    assert "--ca-bundle" in ended.err
    assert "--insecure" in ended.err


def test_it_is_trusted_if_somebody_says_so(
    run, secure, certificate, tmp_path, monkeypatch, subtests
):
    monkeypatch.chdir(tmp_path)
    for name, *options in [["ls", "-f", "pages"], ["ls", "-o", "x.txt"], ["tree"]]:
        with subtests.test(name=name, options=options):
            for trust in (["--insecure"], ["--ca-bundle", str(certificate[1])]):
                for url in (secure, f"{secure}/sitemap.xml"):
                    ended = run(name, url, *options, *trust)
                    assert (ended.status, ended.err) == (0, "")
    monkeypatch.setenv("USP_CA_BUNDLE", str(certificate[1]))
    assert run("ls", secure, "-f", "pages").lines == ["https://h.example/1"]


@pytest.mark.long
def test_a_fleet_trusts_it_too(run, secure, certificate, tmp_path, monkeypatch):
    pytest.importorskip("aiohttp")
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sites.txt").write_text(secure)
    argv = ["crawl", "sites.txt", "--allow-network", "any", "--workers", "1", "-o"]
    assert "untrusted-certificate" in run(*argv, "refused").err
    assert "1 complete" in run(*argv, "trusted", "--ca-bundle", str(certificate[1])).err
    assert "1 complete" in run(*argv, "unchecked", "--insecure", "--wait", "0.01").err


def test_a_bundle_that_has_no_certificates_is_a_wrong_call(run, certificate, tmp_path):
    (tmp_path / "words.pem").write_text("no certificates")
    for options in (
        ["--ca-bundle", str(tmp_path / "words.pem")],
        ["--ca-bundle", str(tmp_path / "missing.pem")],
        ["--insecure", "--ca-bundle", str(certificate[1])],
    ):
        ended = run("ls", "https://127.0.0.1:1", *options)
        assert ended.status == 2
        assert "--ca-bundle" in ended.err


@pytest.mark.parametrize("path", ["", "/i.xml"])
def test_a_pause_is_kept_between_requests(run, serve, path):
    asked = []

    def noting(text):
        def answer():
            asked.append(time.monotonic())
            return text.replace("{site}", site)

        return answer

    site = serve(
        {
            "/robots.txt": noting("Sitemap: {site}/i.xml"),
            "/i.xml": noting(index("/a.xml", "/b.xml")),
            "/a.xml": noting(urlset("/1")),
            "/b.xml": noting(urlset("/2")),
        }
    )
    ended = run("ls", site + path, "-k", "-f", "pages", "--wait", "0.3")
    assert ended.lines == [f"{site}/1", f"{site}/2"]
    assert len(asked) == (3 if path else 4)
    # A request may be a little late, and the next one then a little early.
    assert asked[-1] - asked[0] >= 0.3 * (len(asked) - 1) - 0.2


def test_a_pause_is_kept_for_each_host():
    schedule = Schedule(CrawlOptions(wait=2.0, crawl_delay=True), per_host=8)
    first, *others = (
        FetchTask(f"http://{host}/{at}", Role.SITEMAP, (at,), 0, False, False, host, host)
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
    schedule.robots_settled("h", 5.0)  # robots.txt asks for more
    schedule.done(others[0])
    assert schedule.next(6.9) is None
