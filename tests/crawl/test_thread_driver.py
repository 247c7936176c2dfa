"""The crawl as threads drive it: how many requests at a time, in which thread, and what is left of it."""

import threading
import time

from cases import cases
from memory_web import Client, H, Web
from usp._crawl.thread_driver import ThreadDriver
from usp._crawl.website import Search
from usp.options import CrawlOptions
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, indexed, urlset

MANY = [f"/{n}.xml" for n in range(24)]
SITE = indexed(*MANY) | {path: urlset(f"/of{path}") for path in MANY}


def test_the_client_says_how_many(serve):
    for most in cases([1, 2, 5]):
        site = serve(SITE | {path: Answer(SITE[path], delay=0.02) for path in MANY})
        client = RequestsWebClient(max_concurrent_requests=most)
        sitemap_tree_for_sitemap(site.url("/i.xml"), client)
        client.close()
        assert site.most_at_once["base"] == most


def test_a_users_own_client_is_asked_in_the_callers_thread_unless_it_takes_several_at_a_time():
    trees = []
    for most in cases([1, 3]):
        threads = set()

        def before(*_, threads=threads):
            threads.add(threading.get_ident())
            time.sleep(0.005)

        web = Web(SITE)
        trees.append(sitemap_tree_for_homepage(H + "/", Client(web, most, before)))
        assert trees[-1].page_count() == len(MANY)
        assert 1 <= web.most <= most
        assert (web.most > 1) == (most > 1)
        assert (threads == {threading.get_ident()}) == (most == 1)
        assert (threading.get_ident() in threads) == (most == 1)
    assert trees[0] == trees[1]


def test_a_crawl_of_nothing_ends_at_once():
    with ThreadDriver(Search(id, H + "/", CrawlOptions()), Client(Web({}))) as driver:
        driver.step()
    assert driver.crawl.complete
