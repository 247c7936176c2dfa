"""A stream gives exactly the pages of the tree, in its order, whatever the website is like."""

from __future__ import annotations

import pytest
from page_sites import LEAVES, SITES, html, pages_of

from cases import cases
from usp.stream import pages
from usp.tree import sitemap_tree_for_homepage
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, index, robots, urlset

ONE_AT_A_TIME = ["one index", "declared twice", "redirects to a parent", "stumbling", "dead hosts"]
ONE_AT_A_TIME += ["links of the homepage", "known path in the subtree of robots.txt", "packed"]


def home(site, options) -> str:
    return site.url("/" if options.get("normalize_homepage_url", True) else "/blog/")


def told(stream) -> list:
    return [(page.sitemap_url, page) for page in stream]


@pytest.mark.parametrize(
    ("name", "at_once"), [(name, 8) for name in SITES] + [(name, 1) for name in ONE_AT_A_TIME]
)
def test_the_pages_of_the_stream_are_those_of_the_tree(serve, name, at_once):
    """One by one, field by field, each with the address of its sitemap."""
    spec = SITES[name]

    def look(front):
        site = serve(spec.answers)  # one for each: a list of answers starts from its beginning
        client = RequestsWebClient(max_concurrent_requests=at_once)
        found = front(home(site, spec.options), client, **spec.options)
        given = told(found) if front is pages else pages_of(found)
        if front is not pages:
            assert [page for _, page in given] == list(found.all_pages())
        client.close()
        site.close()
        return [
            (url.replace(site.base, "{base}").replace(site.alt, "{alt}"), site_free(page, site))
            for url, page in given
        ]

    tree, stream = look(sitemap_tree_for_homepage), look(pages)
    assert stream == tree
    assert bool(tree) == spec.some


def site_free(page, site) -> dict:
    fields = page.to_dict()
    fields["url"] = fields["url"].replace(site.base, "{base}").replace(site.alt, "{alt}")
    return fields


def test_pages_of_the_stream_are_equal_values_to_those_of_the_tree(serve):
    for name in cases(
        ["one index", "declared twice", "feeds and text", "much", "fields", "packed"]
    ):
        site = serve(SITES[name].answers)
        streamed = list(pages(site.base + "/"))
        in_tree = list(sitemap_tree_for_homepage(site.base + "/").all_pages())
        assert streamed == in_tree
        assert list(map(hash, streamed)) == list(map(hash, in_tree))
        assert list(map(repr, streamed)) == list(map(repr, in_tree))


CALLBACKS = {
    "a child is left out": {"recurse_callback": lambda url, *_: not url.endswith("/a.xml")},
    "the list is turned around": {"recurse_list_callback": lambda urls, *_: urls[::-1]},
    "the list is cut": {"recurse_list_callback": lambda urls, level, parents: urls[:2]},
    "the list is longer": {
        "recurse_list_callback": lambda urls, *_: [*urls, urls[0] + "?more", urls[0]]
    },
    "by entry": {"recurse_entry_callback": lambda child: "b.xml" not in child.url},
    "all of them": {
        "recurse_callback": lambda url, level, parents: level < 3,
        "recurse_list_callback": lambda urls, level, parents: sorted(urls, reverse=True),
        "recurse_entry_callback": lambda child: child.last_modified is None,
    },
    "nothing": {"recurse_callback": lambda *_: False},
}


def test_callbacks_choose_the_same_in_the_stream(serve):
    for at_once in cases([8, 1]):
        for name in cases(CALLBACKS):
            site = serve(
                {"/robots.txt": robots("/i.xml", "/sitemap.xml"), "/sitemap.xml": index("/b.xml")}
                | {"/i.xml": index(*LEAVES, "<sitemap><loc>{base}/n.xml</loc><lastmod>2024-01-01</lastmod></sitemap>")}
                | {"/n.xml": urlset("/n"), "/a.xml?more": urlset("/more")}
                | LEAVES
            )  # fmt: skip
            client = RequestsWebClient(max_concurrent_requests=at_once)
            tree = sitemap_tree_for_homepage(site.base + "/", client, **CALLBACKS[name])
            assert told(pages(site.base + "/", client, **CALLBACKS[name])) == pages_of(tree)
            client.close()


def test_callbacks_are_asked_the_same_questions_in_the_same_order(serve):
    site = serve({"/robots.txt": robots("/i.xml"), "/i.xml": index(*LEAVES, "/j.xml")} | LEAVES)
    site.answers["/j.xml"] = index("/a.xml", "/b.xml")

    def ask(front) -> list:
        asked = []

        def recurse(*question):
            asked.append(question)
            return True

        list(front(site.base + "/", recurse_callback=recurse))
        return asked

    assert ask(pages) == ask(lambda *a, **k: sitemap_tree_for_homepage(*a, **k).all_pages())


def test_events_are_the_same_but_for_their_order(serve):
    site = serve({"/robots.txt": robots("/i.xml"), "/i.xml": index(*LEAVES)} | LEAVES)

    def told_events(front) -> list:
        events = []
        for _ in front(site.base + "/", on_event=events.append):
            pass
        return sorted((type(event).__name__, event.url) for event in events)

    assert told_events(pages) == told_events(
        lambda *a, **k: sitemap_tree_for_homepage(*a, **k).all_pages()
    )


def test_a_linked_sitemap_that_failed_still_stands_for_its_address(serve):
    """A known path that leads to what the homepage links to is left out, even if the link failed."""
    answers = {"/": html("/x.xml"), "/sitemap.xml": Answer(redirect="/x.xml")}
    answers["/x.xml"] = [Answer("", 404), urlset("/p")]
    client = RequestsWebClient(max_concurrent_requests=1)
    options = {"use_html_links": True, "use_robots": False, "use_known_paths": False}
    options["extra_known_paths"] = ["sitemap.xml"]
    tree = sitemap_tree_for_homepage(serve(answers).base + "/", client, **options)
    assert [node.url.rpartition("/")[2] for node in tree.sub_sitemaps] == ["x.xml"]
    stream = list(pages(serve(answers).base + "/", client, **options))
    client.close()
    assert stream == list(tree.all_pages())
