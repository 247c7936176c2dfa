"""Pages and sitemaps of other hosts: the robots.txt of the other host is the proof."""

import pytest
from check_examples import HOME, Client, index, locs, replies_of

import usp
from usp.checks import fetching

INDEX = f"--- /index.xml (declared)\n{index('/teas.xml')}\n"
TEAS = f"--- /teas.xml\n{locs('https://example.de/tee')}\n"
SITE = INDEX + TEAS
OTHER = "--- https://example.de/robots.txt\nSitemap: {}\n"


def check(example, **options):
    client = Client(replies_of(example))
    return [one.code for one in usp.check(f"{HOME}/", client, **options)], client.requested


def test_the_robots_txt_of_another_host_proves_that_its_pages_may_be_listed():
    for declared in (f"{HOME}/teas.xml", f"{HOME}/index.xml", "HTTPS://Example.org:443/teas.xml"):
        assert check(SITE + OTHER.format(declared))[0] == []
    for more in ("", OTHER.format(f"{HOME}/cups.xml"), "--- https://example.de/robots.txt 503\n"):
        assert check(SITE + more)[0] == ["SM402"]


@pytest.mark.parametrize("declared", ["https://files.example/teas.xml", f"{HOME}/index.xml"])
def test_an_index_may_list_what_the_other_host_declares(declared):
    site = INDEX.replace(f"{HOME}/teas", "https://files.example/teas")
    site += f"--- https://files.example/teas.xml\n{locs('/tea')}\n"
    other = f"--- https://files.example/robots.txt\nSitemap: {declared}\n"
    assert check(site)[0] == ["SM113"]
    assert check(site + other)[0] == []


def test_a_robots_txt_is_fetched_once_and_only_if_it_is_needed():
    page = "<url><loc>https://example.de/{n}</loc></url> (x 3)\n"
    _, requested = check(f"{INDEX}--- /teas.xml\n{page}")
    assert requested.count("https://example.de/robots.txt") == 1
    _, requested = check(SITE.replace("example.de", "example.org"))
    assert not [url for url in requested if "example.de" in url]


def test_only_some_hosts_are_asked(monkeypatch):
    monkeypatch.setattr(fetching, "MOST_HOSTS", 2)
    page = "<url><loc>https://h{n}.example/</loc></url> (x 5)\n"
    found, requested = check(f"{INDEX}--- /teas.xml\n{page}")
    assert found == ["SM402"] * 5
    assert sum(".example/robots.txt" in url for url in requested) == 2


def test_a_tree_alone_is_checked_without_requests():
    """A snapshot or a tree from before is what it is: nothing is fetched for it."""
    client = Client(replies_of(SITE + OTHER.format(f"{HOME}/teas.xml")))
    tree = usp.sitemap_tree_for_homepage(f"{HOME}/", client)
    before = len(client.requested)
    assert [one.code for one in usp.check(tree)] == ["SM402"]
    assert len(client.requested) == before


def test_a_public_website_does_not_lead_to_private_addresses():
    """Pages are fetched as a crawl of their website would fetch them."""

    class Watching(Client):
        started = ()

        def for_crawl(self, start_url, *rest, **more):
            self.started += (start_url,)
            return self

    client = Watching(replies_of(SITE.replace("https://example.de", "http://10.0.0.1")))
    list(usp.check(f"{HOME}/", client, fetch_pages=1))
    assert set(client.started) == {f"{HOME}/"}
