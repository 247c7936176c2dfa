"""A login in the address of the start is used for its host, and stands nowhere."""

import asyncio
import base64
import contextlib
import logging
import pickle

import pytest
import requests

import usp.aio
import usp.fleet
from cases import cases
from usp import stream
from usp.cli import main
from usp.exceptions import SitemapException
from usp.export import write
from usp.report import write_report
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from usp.web_client.abstract_client import (
    AbstractWebClient,
    LocalWebClientSuccessResponse,
    WebClientErrorResponse,
)
from usp.web_client.aiohttp_client import AiohttpWebClient
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, index, robots, urlset

PASSWORD = "Zq8Geheim"
LOGIN = f"me:{PASSWORD}%40x"
HEADER = "Basic " + base64.b64encode(f"me:{PASSWORD}@x".encode()).decode()
SECRETS = [PASSWORD, PASSWORD.lower(), HEADER[6:], HEADER[6:].lower()]


class Guarded(dict):
    """Answers whoever has the password, and nobody else; another host is told nothing."""

    def __init__(self, site, answers):
        super().__init__(answers)
        self._site = site

    def get(self, path, default=None):
        answer = super().get(path, default)
        if path.startswith("alt:"):
            return answer
        told = self._site.requests[-1].headers.get("Authorization")
        return answer if told == HEADER else Answer("no", 401)


def test_an_odd_extra_path_beside_a_login_is_not_found(serve):
    site = serve({"/sitemap.xml": urlset("/p")})
    start = site.base.replace("//", "//me:secret@") + "/"
    tree = sitemap_tree_for_homepage(start, extra_known_paths=["a\x00b.xml", "sitemap.xml"])
    assert [page.url for page in tree.all_pages()] == [site.url("/p")]


@pytest.fixture
def site(serve):
    site = serve({})
    answers = {
        "/robots.txt": robots("/index.xml", "/gone.xml"),
        "/index.xml": index("/a.xml", "/moved.xml", "{alt}/other.xml", "/broken.xml"),
        "/a.xml": urlset("/p", "/q"),
        "/moved.xml": Answer(redirect="/there.xml"),
        "/there.xml": urlset("/r"),
        "alt:/other.xml": urlset("{alt}/s"),
        "/broken.xml": Answer("x" * 50, cut=10),
        "/gone.xml": Answer("gone", 410),
    }
    site.answers = Guarded(site, answers)
    return site


def start(site, path="/") -> str:
    return site.url(path).replace("//", f"//{LOGIN}@")


def is_clean(*texts: object) -> bool:
    """Tell whether the password stands in none of some texts, however it is written."""
    for text in texts:
        data = text if isinstance(text, bytes) else str(text).encode()
        assert not any(secret.encode() in data for secret in SECRETS), data
    return True


class OwnClient(AbstractWebClient):
    """A client of a user's, which knows nothing of logins but what requests does."""

    def set_max_response_data_length(self, length):
        pass

    def get(self, url):
        response = requests.get(url, timeout=10)
        if not response.ok:
            return WebClientErrorResponse(f"{response.status_code} for {url}", retryable=False)
        return LocalWebClientSuccessResponse(response.url, response.text)


def with_session():
    return RequestsWebClient(session=requests.Session())


@pytest.mark.parametrize("client", [type(None), with_session, OwnClient])
def test_a_tree_is_read_with_the_login_and_does_not_know_it(client, site, caplog, tmp_path):
    caplog.set_level(logging.DEBUG, "usp")
    events: list[object] = []
    tree = sitemap_tree_for_homepage(start(site), client(), on_event=events.append)
    found = {page.url.rpartition("/")[2] for page in tree.all_pages()}
    assert found == {"p", "q", "r", "s"}
    for request in site.requests:
        told = request.headers.get("Authorization")
        assert told == (None if request.path.startswith("alt:") else HEADER), request.path
    nodes = [tree, *tree.all_sitemaps()]
    assert is_clean(*(node.url for node in nodes), *map(repr, nodes))
    assert is_clean(tree.to_dict(), tree.failures(), [node.problems for node in nodes])
    assert is_clean(caplog.text, *events)
    assert is_clean(pickle.dumps(tree))
    assert tree.url == f"{site.base}/"
    report = tmp_path / "report.html"
    write_report(tree, report)
    write(tree, tmp_path / "pages.csv")
    assert is_clean(report.read_bytes(), (tmp_path / "pages.csv").read_bytes())


def test_a_stream_and_a_sitemap_are_read_with_it(site, caplog):
    caplog.set_level(logging.DEBUG, "usp")
    pages = list(stream.pages(start(site)))
    assert len(pages) == 4
    assert is_clean(*(page.sitemap_url for page in pages))
    node = sitemap_tree_for_sitemap(start(site, "/a.xml"))
    assert len(node.pages) == 2
    assert node.url == site.url("/a.xml")
    assert is_clean(pickle.dumps(node), caplog.text)


@pytest.mark.parametrize("given", [None, AiohttpWebClient])
def test_the_asynchronous_front_does_the_same(site, caplog, given):
    caplog.set_level(logging.DEBUG, "usp")

    async def work():
        client = given() if given else None
        tree = await usp.aio.sitemap_tree_for_homepage(start(site), client)
        pages = [page async for page in usp.aio.pages(start(site), client)]
        node = await usp.aio.sitemap_tree_for_sitemap(start(site, "/a.xml"), client)
        if client:
            await client.close()
        return tree, pages, node

    tree, pages, node = asyncio.run(work())
    assert (len(list(tree.all_pages())), len(pages), len(node.pages)) == (4, 4, 2)
    assert is_clean(pickle.dumps(tree), pickle.dumps(node), caplog.text, tree.failures())
    of_others = [request for request in site.requests if request.path.startswith("alt:")]
    assert of_others
    assert not any("Authorization" in request.headers for request in of_others)


class Telling(OwnClient):
    def get(self, url):
        return WebClientErrorResponse(f"{url} has no answer", retryable=False)


@pytest.mark.parametrize(("user", "client"), [("you:", type(None)), ("me:", Telling)])
def test_a_login_that_is_wrong_or_that_a_client_tells_is_not_told(site, caplog, user, client):
    tree = sitemap_tree_for_homepage(start(site).replace("me:", user), client())
    assert tree.failures()
    assert is_clean(caplog.text, tree.failures(), pickle.dumps(tree))


def test_the_mistakes_of_a_client_do_not_tell_it(site, caplog):
    class Mistaken(OwnClient):
        def get(self, url):
            raise RuntimeError(f"I cannot read {url}")

    with pytest.raises(RuntimeError, match="I cannot read") as caught:
        sitemap_tree_for_homepage(start(site), Mistaken(), use_known_paths=False)
    assert is_clean(caught.value, caplog.text)


def test_an_address_that_is_refused_is_shown_without_it():
    for url in cases(["ftp://{}@h/", "http://{}@h\\x/", "http://{}@", "{}@h"]):
        with pytest.raises(SitemapException) as caught:
            sitemap_tree_for_homepage(url.format(LOGIN))
        assert is_clean(caught.value)


# The command line -----------------------------------------------------------------------------------


def run(capfd, *arguments: str) -> tuple[str, str]:
    with contextlib.suppress(SystemExit):
        main(list(arguments))
    return capfd.readouterr()


@pytest.mark.parametrize(
    "command",
    [
        ["ls"], ["ls", "-f", "pages"], ["ls", "-f", "jsonl"], ["ls", "-f", "xml"], ["ls", "-u"], ["tree"],
        ["graph"], ["ls", "-f", "pages", "--limit", "1"], ["ls", "--json"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_no_command_prints_it(command, site, capfd, tmp_path):
    log = tmp_path / "log"
    out, err = run(capfd, *command, start(site), "-vv")
    assert "/p" in out or "a.xml" in out
    assert is_clean(out, err)
    out, err = run(capfd, *command, start(site), "-vv", "--log-file", str(log))
    assert is_clean(out, err, log.read_bytes())


def test_the_report_does_not_have_it(site, capfd, tmp_path):
    target = tmp_path / "report.html"
    out, err = run(capfd, "report", start(site), "-o", str(target))
    assert is_clean(out, err, target.read_bytes())
    assert site.base.removeprefix("http://").encode() in target.read_bytes()


@pytest.mark.parametrize("address", ["http://{}@h h/", "http://{}@[x/", "{}@h h"])
def test_a_wrong_call_is_explained_without_it(address, capfd):
    out, err = run(capfd, "ls", address.format(LOGIN))
    assert is_clean(out, err)


def test_a_fleet_logs_in_and_writes_no_login(site, capfd, tmp_path):
    sites = tmp_path / "sites.txt"
    sites.write_text(f"{start(site)}\nhttp://{LOGIN}@[broken/\n{site.alt}/\n", encoding="utf-8")
    dataset = tmp_path / "dataset"
    run(capfd, "crawl", str(sites), "-o", str(dataset), "--workers", "1", "--allow-network", "any")
    out, err = run(capfd, "stats", str(dataset))
    assert "4" in out
    files = [path for path in dataset.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert is_clean(path.read_bytes(), path.name)
    assert is_clean(out, err)
    rows = usp.fleet.open(dataset).sites().read_all().to_pylist()
    assert {row["site"] for row in rows} >= {f"{site.base}/", f"{site.alt}/"}
    assert {row["pages"] for row in rows if row["site"] == f"{site.base}/"} == {4}
