"""How requests are made: pauses, and certificates that the system does not know."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cli_documents import index, urlset

from usp._crawl.schedule import Queue


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    make = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=tea",
        "-addext",
    ]
    subprocess.run(
        [*make, "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )
    return key, certificate


@pytest.fixture
def secure(certificate):
    """A website that only those can read who know its certificate, or do not care."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path != "/sitemap.xml":
                self.send_error(404)
                return
            self.send_response(200)
            self.end_headers()
            self.wfile.write(urlset("https://h.example/1").encode())

        def log_message(self, *args):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *args):
            """Nothing: a client that does not trust us hangs up."""

    key, pem = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    server = Server(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"https://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_certificate_that_nobody_knows_is_refused_with_what_to_do(run, secure):
    ended = run("ls", secure, "-f", "pages")
    assert (ended.status, ended.out) == (1, "")
    assert "--ca-bundle" in ended.err
    assert "--insecure" in ended.err


@pytest.mark.parametrize("command", [["ls", "-f", "pages"], ["ls", "-o", "x.txt"], ["tree"]])
def test_it_is_trusted_if_somebody_says_so(
    run, secure, certificate, tmp_path, monkeypatch, command
):
    monkeypatch.chdir(tmp_path)
    name, *options = command
    for trust in (["--insecure"], ["--ca-bundle", str(certificate[1])]):
        for url in (secure, f"{secure}/sitemap.xml"):
            ended = run(name, url, *options, *trust)
            assert (ended.status, ended.err) == (0, "")
    monkeypatch.setenv("USP_CA_BUNDLE", str(certificate[1]))
    assert run("ls", secure, "-f", "pages").lines == ["https://h.example/1"]


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
            "/i.xml": noting(index("{site}/a.xml", "{site}/b.xml")),
            "/a.xml": noting(urlset("{site}/1")),
            "/b.xml": noting(urlset("{site}/2")),
        }
    )
    ended = run("ls", site + path, "-k", "-f", "pages", "--wait", "0.3")
    assert ended.lines == [f"{site}/1", f"{site}/2"]
    assert len(asked) == (3 if path else 4)
    # A request may be a little late, and the next one then a little early.
    assert asked[-1] - asked[0] >= 0.3 * (len(asked) - 1) - 0.2


class Item:
    def __init__(self, at: int, host: str = "h"):
        self.position, self.host = (at,), host


def test_a_queue_keeps_its_pause_for_each_host():
    queue = Queue[Item](8, 2.0)
    for at in range(3):
        queue.put(Item(at))
    queue.put(Item(9, "other"))
    first = queue.get(0.0)
    assert first.position == (0,)
    assert queue.get(0.0).host == "other"
    assert queue.get(1.9) is None
    assert queue.next_due() == 2.0
    assert queue.get(2.0).position == (1,)
    queue.restrain("h", 1, 5.0)  # robots.txt asks for more
    queue.done(first)
    assert queue.get(6.9) is None


@pytest.mark.parametrize("value", ["-1", "soon", "nan", "1e9"])
def test_what_is_not_a_pause_is_refused(run, value):
    ended = run("ls", "example.org", "--wait", value)
    assert ended.status == 2
    assert "--wait" in ended.err
