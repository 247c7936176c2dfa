"""What a small document costs beside its pages: counted in calls, which no busy machine changes."""

from memory_web import Client, H, Web
from patience import calls
from usp.fetch_parse import IndexRobotsTxtSitemapParser
from usp.tree import sitemap_tree_for_homepage
from usp.web_client.abstract_client import LocalWebClient
from website import indexed, urlset

FEW, MANY = 20, 60
FETCHED = 300  # Python functions that are called for one sitemap in the tree
READ = 130  # and for its pages
GIVEN = 120  # for a robots.txt with two sitemaps that a program has


def site(sitemaps: int) -> Client:
    """Give a website of small sitemaps, at hand."""
    names = [f"/{number}.xml" for number in range(sitemaps)]
    docs = {name: urlset(*(f"{name}/{page}" for page in range(3))) for name in names}
    return Client(Web(indexed(*names) | docs), 1)


def cost(sitemaps: int) -> tuple[int, int]:
    """Return what a website costs: its tree, then its pages."""
    trees = []
    client = site(sitemaps)
    fetched = calls(lambda: trees.append(sitemap_tree_for_homepage(H + "/", client)))
    read = calls(lambda: [page.url for page in trees[0].all_pages()])
    assert sum(1 for _ in trees[0].all_pages()) == 3 * sitemaps
    return fetched, read


def test_one_more_small_sitemap_costs_few_calls():
    cost(FEW)  # what is found out once is found out now
    (few_fetched, few_read), (fetched, read) = cost(FEW), cost(MANY)
    assert (fetched - few_fetched) / (MANY - FEW) <= FETCHED
    assert (read - few_read) / (MANY - FEW) <= READ


def test_the_rules_of_a_robots_txt_cost_no_calls():
    def read(rules: int) -> int:
        text = "User-agent: *\n" + "Disallow: /tea\n" * rules + f"Sitemap: {H}/a\nSitemap: {H}/b\n"
        given = (f"{H}/robots.txt", text, 0, LocalWebClient(), set())
        trees = []
        called = calls(lambda: trees.append(IndexRobotsTxtSitemapParser(*given).sitemap()))
        assert [node.url for node in trees[0].sub_sitemaps] == [f"{H}/a", f"{H}/b"]
        return called

    read(1)  # what is found out once is found out now
    assert read(500) <= read(1) + 5 <= GIVEN
