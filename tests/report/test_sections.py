"""Sections of websites, by the permalinks of the systems that make them."""

import pytest

from usp._base.urls import section_of
from usp._content import Sections, folder_counts

SITE = "https://example.org"


def sections(*paths: str, most: int = 20_000) -> Sections:
    counted = Sections(most)
    counted.add(folder_counts(f"{SITE}{path}" for path in paths))
    return counted


@pytest.mark.parametrize(
    ("path", "section"),
    [
        # WordPress: the permalinks it offers, and WooCommerce
        ("/2021/05/03/title/", "/2021/05/"),
        ("/2021/05/title/", "/2021/05/"),
        ("/2021/post-10/", "/2021/"),
        ("/archives/123", "/archives/"),
        ("/title/", "/"),
        ("/?p=123", "/"),
        ("/category/tea/", "/category/"),
        ("/category/tea/page/2/", "/category/tea/"),
        ("/product/oolong/", "/product/"),
        # Shopify
        ("/products/oolong", "/products/"),
        ("/collections/green/products/sencha", "/collections/green/"),
        ("/blogs/news/first", "/blogs/news/"),
        ("/en-gb/products/oolong?variant=1", "/en-gb/products/"),
        # Hugo and other generators of files
        ("/posts/first/", "/posts/"),
        ("/posts/first/index.html", "/posts/"),
        ("/posts/first.html", "/posts/"),
        ("/", "/"),
        ("", "/"),
        ("/index.php", "/"),
        # news
        ("/politics/2024/may/03/title", "/politics/2024/"),
        ("/news/uk-politics-12345678", "/news/"),
        ("/2024-05-03/title.html", "/2024-05-03/"),
        # languages, alone or with a country
        ("/de/tee/gruen/", "/de/tee/"),
        ("/de/tee/", "/de/"),
        ("/us/en/tea/green/sencha", "/us/en/tea/"),
        ("/ch/de-CH/tee/sencha", "/ch/de-CH/tee/"),
        # letters beyond ASCII, escaped or not; what is no letter stays escaped
        ("/%D1%87%D0%B0%D0%B9/%d0%b0", "/\u0447\u0430\u0439/"),
        ("/\u0447\u0430\u0439/oolong", "/\u0447\u0430\u0439/"),
        ("/a%2Fb%20c%25/x", "/a%2Fb%20c%25/"),
        ("/%E2%80%AE%FF/x", "/%E2%80%AE%FF/"),
        # forums, wikis, docs
        ("/viewtopic.php?t=1", "/"),
        ("/forum/?topic=/1/2", "/forum/"),
        ("/threads/tea.123/", "/threads/"),
        ("/wiki/Tea", "/wiki/"),
        ("/wiki/User:Anne/Drafts", "/wiki/User:Anne/"),
        ("/w/index.php?title=Tea", "/w/"),
        ("/en/latest/guide/install.html", "/en/latest/"),
        ("/3.13/library/re.html#re.sub", "/3.13/library/"),
        ("/docs/guide/#top", "/docs/"),
    ],
)
def test_the_section_of_a_page_is_the_first_folders_of_its_path_without_its_own(path, section):
    other = f"{SITE}/a/b/c"
    counts = folder_counts([f"{SITE}{path}", other])
    counted = Sections()
    counted.add(counts)
    assert dict(counted.largest(9)) == ({section: 1, "/a/b/": 1} if section != "/a/b/" else {})
    own = section_of(f"{SITE}{path}")  # as in tables: the first of these folders
    assert section.startswith(own)
    assert (own == "/") is (section == "/")


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        # a flat site, and one whose folders are the pages' own, are one section each
        ([f"/title-{n}/" for n in range(1026)], {"/": 1026}),
        ([f"/tea-{n}/dp/{n}" for n in range(100)] + ["/help/a", "/help/b"], {"/": 100, "/help/": 2}),
        ([f"/t/topic-{n}/{n}" for n in range(500)], {"/t/": 500}),
        ([f"/questions/{n}/title" for n in range(50)] + ["/tags/a"], {"/questions/": 50, "/tags/": 1}),
        # a forum whose topics have a few pages each
        ([f"/f/topic-{n}/{page}" for n in range(500) for page in range(3)], {"/f/": 1500}),
        # a folder that is written in two ways is one
        (["/\u8336/a", "/%E8%8C%B6/b", "/%e8%8c%b6/c", "/x/d"], {"/\u8336/": 3, "/x/": 1}),
        # some folders of one page are shown
        (["/a/1", "/b/1", "/2021/one/", "/2021/two/"], {"/2021/": 2, "/a/": 1, "/b/": 1}),
    ],
)  # fmt: skip
def test_folders_of_single_pages_are_no_sections_if_there_are_many(paths, found):
    assert sections(*paths).largest(10) == sorted(found.items(), key=lambda one: -one[1])


def test_sections_are_ranked_with_what_is_inside_them():
    counted = sections("/de/tee/a", "/de/tee/b", "/de/about", "/2021/05/a", "/about/")
    ranked = [(one.name, one.pages, dict(one.below.items)) for one in counted.ranked(10, 10)]
    assert ranked == [
        ("/de/", 3, {"tee": 2, "": 1}), ("/", 1, {"": 1}), ("/2021/", 1, {"05": 1})
    ]  # fmt: skip
    assert counted.largest(1) == [("/de/tee/", 2)]


def test_too_many_folders_count_as_those_above_them_and_the_sum_is_exact():
    paths = [f"/t/{n}/x" for n in range(300)] + [f"/{n}/x" for n in range(300)] + ["/t/0/y"] * 50
    counted = sections(*paths, most=100)
    assert not counted.exact
    listed = dict(counted.largest(50))
    assert sum(one.pages for one in counted.ranked(50, 50)) == 650
    assert listed["/t/"] + listed["/t/0/"] == 350
