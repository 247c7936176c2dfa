"""The thread driver: several requests at a time, none more than the client allows."""

from __future__ import annotations

import threading
import time

import pytest

from cases import cases
from usp._crawl.thread_driver import ThreadDriver
from usp.events import SitemapStarted
from usp.options import CrawlOptions
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from usp.web_client.abstract_client import (
    AbstractWebClient,
    LocalWebClientSuccessResponse,
    WebClientErrorResponse,
)
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, index, paths, robots, urlset

MANY = [f"/{n}.xml" for n in range(24)]


def many(delay: float = 0.03) -> dict:
    return {"/i.xml": index(*MANY)} | {
        path: Answer(urlset(f"/of{path}"), delay=delay) for path in MANY
    }


def test_the_client_says_how_many(serve):
    for most in cases([1, 2, 5]):
        site = serve(many(0.02))
        client = RequestsWebClient(max_concurrent_requests=most)
        sitemap_tree_for_sitemap(site.url("/i.xml"), client)
        client.close()
        assert site.most_at_once["base"] == most


class OwnClient(AbstractWebClient):
    """A user's own client: counts how many are in it at once, and who called."""

    def __init__(self, answers, base="http://h") -> None:
        self._answers, self._base = answers, base
        self._lock = threading.Lock()
        self._inside = 0
        self.most = 0
        self.threads: set[int] = set()

    def set_max_response_data_length(self, max_response_data_length) -> None:
        pass

    def get(self, url):
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
            self.threads.add(threading.get_ident())
        time.sleep(0.005)
        with self._lock:
            self._inside -= 1
        answer = self._answers.get(url.removeprefix(self._base))
        if answer is None:
            return WebClientErrorResponse("404 Not Found", retryable=False)
        return LocalWebClientSuccessResponse(url, answer.replace("{base}", self._base))


class SeveralAtOnce(OwnClient):
    """One that promises to be safe."""

    max_concurrent_requests = 3


SITE = {"/robots.txt": robots("/i.xml"), "/i.xml": index(*MANY)} | {
    path: urlset(f"/of{path}") for path in MANY
}


def test_a_users_own_client_is_asked_one_thing_at_a_time_in_the_callers_thread():
    client = OwnClient(SITE)
    tree = sitemap_tree_for_homepage("http://h/", web_client=client)
    assert tree.page_count() == len(MANY)
    assert client.most == 1
    assert client.threads == {threading.get_ident()}


def test_a_users_own_client_opts_in_to_several_at_a_time():
    client = SeveralAtOnce(SITE)
    tree = sitemap_tree_for_homepage("http://h/", web_client=client)
    assert 1 < client.most <= 3
    assert threading.get_ident() not in client.threads
    assert tree == sitemap_tree_for_homepage("http://h/", web_client=OwnClient(SITE))


def test_retries_wait_and_then_succeed():
    for kind in cases([OwnClient, SeveralAtOnce]):

        class Stumbling(kind):
            fell = False

            def get(self, url):
                if url.endswith("/i.xml") and not self.fell:
                    self.fell = True
                    return WebClientErrorResponse("503 Busy", retryable=True)
                return super().get(url)

        tree = sitemap_tree_for_homepage(
            "http://h/", web_client=Stumbling(SITE), use_known_paths=False
        )
        assert tree.page_count() == len(MANY)


def test_a_client_that_raises_costs_only_the_document_it_was_asked_for():
    for kind in cases([OwnClient, SeveralAtOnce]):

        class Fragile(kind):
            def get(self, url):
                if url.endswith("/3.xml"):
                    raise ZeroDivisionError("in the client")
                return super().get(url)

        tree = sitemap_tree_for_homepage(
            "http://h/", web_client=Fragile(SITE), use_known_paths=False
        )
        assert tree.page_count() == len(MANY) - 1
        (invalid,) = [node for node in tree.all_sitemaps() if hasattr(node, "reason")]
        assert invalid.url == "http://h/3.xml"
        assert "in the client" in invalid.reason


def test_a_thread_that_is_ended_from_inside_still_reports():
    class Exiting(SeveralAtOnce):
        def get(self, url):
            if url.endswith("/3.xml"):
                raise SystemExit
            return super().get(url)

    tree = sitemap_tree_for_homepage("http://h/", web_client=Exiting(SITE), use_known_paths=False)
    assert tree.page_count() == len(MANY) - 1


def test_an_interrupt_while_the_users_own_client_fetches_comes_out():
    class Interrupted(OwnClient):
        def get(self, url):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sitemap_tree_for_homepage("http://h/", web_client=Interrupted({}))


def test_an_endless_answer_does_not_keep_a_crawl_that_was_given_up(serve, threads_end):
    filler = b"<url><loc>http://h/p</loc></url>" * 1000
    site = serve(
        {"/robots.txt": robots("/a.xml", "/b.xml"), "/b.xml": urlset("/p")}
        | {"/a.xml": Answer("<urlset>", endless=filler)}
    )

    def listen(event):
        if type(event).__name__ == "SitemapFinished" and event.url.endswith("/b.xml"):
            raise LookupError

    with pytest.raises(LookupError):
        sitemap_tree_for_homepage(site.base + "/", use_known_paths=False, on_event=listen)
    assert threads_end()


def test_a_slow_answer_does_not_hold_back_the_exception_for_long(serve, threads_end):
    gate = threading.Event()
    site = serve({"/robots.txt": robots("/a.xml"), "/sitemap.xml": Answer(urlset("/p"), gate=gate)})

    def stop(*_):
        raise LookupError

    with pytest.raises(LookupError):
        sitemap_tree_for_homepage(site.base + "/", recurse_callback=stop)
    gate.set()
    assert threads_end()


def test_a_crawl_of_nothing_ends_at_once():
    with ThreadDriver(id, "http://h/", SeveralAtOnce({}), CrawlOptions()) as driver:
        driver.step()
    assert driver.crawl.complete


def test_dead_host_is_not_asked_for_every_known_path(serve):
    site = serve({})
    site.close()
    asked = []
    client = RequestsWebClient(max_concurrent_requests=1)  # others may begin before the first fails
    tree = sitemap_tree_for_homepage(site.base + "/", client, on_event=asked.append)
    client.close()
    assert not tree.sub_sitemaps
    assert sum(isinstance(event, SitemapStarted) for event in asked) == 1


def test_a_redirect_to_a_dead_host_costs_only_the_document_that_redirects(serve):
    """The host that sent us there has answered: it is not dead."""
    names = [f"/{n}.xml" for n in range(5)]
    site = serve({name: urlset(f"/of{name}") for name in names} | {"/i.xml": index("/x", *names)})
    site.answers["/x"] = Answer(redirect="http://127.0.0.1:9/")
    client = RequestsWebClient(max_concurrent_requests=1)
    tree = sitemap_tree_for_sitemap(site.url("/i.xml"), client)
    client.close()
    assert paths(tree, site.base) == [f"/of{name}" for name in names]
