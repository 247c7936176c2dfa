"""Programs as people write them for ultimate-sitemap-parser 1.8.1.

They import nothing but its documented names, the standard library and ``requests``; each takes the
address of a website and gives what it would print or store. They run unchanged on either library.
"""

# ruff: noqa: UP031, UP045, PERF401 - written as users write

import json
import urllib.error
import urllib.request
from typing import Optional

import requests

from usp.helpers import get_url_retry_on_client_errors, ungzipped_response_content
from usp.objects.page import SitemapPageChangeFrequency
from usp.objects.sitemap import AbstractSitemap, InvalidSitemap
from usp.tree import sitemap_from_str, sitemap_tree_for_homepage
from usp.web_client.abstract_client import (
    AbstractWebClient,
    AbstractWebClientResponse,
    AbstractWebClientSuccessResponse,
    WebClientErrorResponse,
)
from usp.web_client.requests_client import RequestsWebClient


def list_pages(homepage: str):
    """The first lines of every README."""
    tree = sitemap_tree_for_homepage(homepage)
    urls = []
    for page in tree.all_pages():
        urls.append(page.url)
    return urls


def print_the_tree(homepage: str):
    lines = []

    def show(sitemap: AbstractSitemap, depth: int = 0) -> None:
        lines.append("%s%s %s" % ("\t" * depth, type(sitemap).__name__, sitemap.url))
        for sub_sitemap in sitemap.sub_sitemaps:
            show(sub_sitemap, depth + 1)

    show(sitemap_tree_for_homepage(homepage))
    return lines


def failures(homepage: str):
    tree = sitemap_tree_for_homepage(homepage, use_known_paths=False)
    return {s.url: s.reason for s in tree.all_sitemaps() if isinstance(s, InvalidSitemap)}


def table_of_pages(homepage: str):
    """What is handed to a data frame."""
    tree = sitemap_tree_for_homepage(homepage, use_known_paths=False)
    rows = [page.to_dict() for page in tree.all_pages()]
    return [
        {**row, "priority": float(row["priority"]), "last_modified": str(row["last_modified"])}
        for row in rows
    ]


def save_as_json(homepage: str):
    tree = sitemap_tree_for_homepage(homepage, use_known_paths=False)
    return json.loads(json.dumps(tree.to_dict(with_pages=False), default=str))


def recently_changed(homepage: str):
    tree = sitemap_tree_for_homepage(homepage, use_known_paths=False)
    return [
        page.url
        for page in tree.all_pages()
        if page.last_modified is not None
        and page.last_modified.year >= 2024
        and page.change_frequency in (SitemapPageChangeFrequency.DAILY, None)
    ]


def headlines(homepage: str):
    tree = sitemap_tree_for_homepage(homepage, use_known_paths=False)
    return [
        [page.news_story.title, page.news_story.publication_name, page.news_story.keywords]
        for page in tree.all_pages()
        if page.news_story
    ]


def pictures(homepage: str):
    tree = sitemap_tree_for_homepage(homepage, use_known_paths=False)
    return [[i.loc, i.caption, i.license] for p in tree.all_pages() for i in p.images or []]


def own_session(homepage: str):
    session = requests.Session()
    session.headers["X-Token"] = "secret"
    client = RequestsWebClient(session=session)
    client.set_timeout(10)
    tree = sitemap_tree_for_homepage(homepage, web_client=client, use_known_paths=False)
    session.close()
    return len(list(tree.all_pages()))


def polite_client(homepage: str):
    client = RequestsWebClient(wait=0.01, random_wait=True, verify=False)
    client.set_timeout((3.05, 10))
    client.set_proxies({})
    tree = sitemap_tree_for_homepage(homepage, client, use_known_paths=False)
    return len(list(tree.all_pages()))


class UrllibResponse(AbstractWebClientSuccessResponse):
    def __init__(self, response, data: bytes) -> None:
        self.__response = response
        self.__data = data

    def status_code(self) -> int:
        return int(self.__response.status)

    def status_message(self) -> str:
        return self.__response.reason

    def header(self, case_insensitive_name: str) -> Optional[str]:
        return self.__response.headers.get(case_insensitive_name)

    def raw_data(self) -> bytes:
        return self.__data

    def url(self) -> str:
        return self.__response.url


class UrllibClient(AbstractWebClient):
    def __init__(self) -> None:
        self.__max = None
        self.urls = []

    def set_max_response_data_length(self, max_response_data_length: int) -> None:
        self.__max = max_response_data_length

    def get(self, url: str) -> AbstractWebClientResponse:
        self.urls.append(url)
        try:
            with urllib.request.urlopen(url, timeout=10) as response:
                return UrllibResponse(response, response.read(self.__max))
        except urllib.error.HTTPError as ex:
            ex.close()
            return WebClientErrorResponse(message="%d %s" % (ex.code, ex.reason), retryable=False)


def own_client(homepage: str):
    client = UrllibClient()
    tree = sitemap_tree_for_homepage(homepage, web_client=client, use_known_paths=False)
    return [[s.url for s in tree.all_sitemaps()], client.urls[0]]


class CountingClient(RequestsWebClient):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def get(self, url: str) -> AbstractWebClientResponse:
        self.count += 1
        return super().get(url)


def counting_client(homepage: str):
    client = CountingClient()
    tree = sitemap_tree_for_homepage(homepage, web_client=client, use_known_paths=False)
    return client.count > 0 and len(list(tree.all_pages()))


def from_text(homepage: str):
    response = get_url_retry_on_client_errors(homepage + "index.xml", RequestsWebClient())
    text = ungzipped_response_content(homepage + "index.xml", response)
    sitemap = sitemap_from_str(text)
    return [[s.url, s.reason] for s in sitemap.sub_sitemaps]


PROGRAMS = [
    value
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", "") == __name__ and name.islower()
]
