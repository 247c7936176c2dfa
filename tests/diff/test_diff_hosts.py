"""Websites on different hosts are compared by path, and a move shows what it has lost."""

import pytest

from usp.changes import ChangeKind, diff
from usp.changes.migration import migration
from usp.objects.page import SitemapImage, SitemapPage
from usp.objects.sitemap import IndexWebsiteSitemap, InvalidSitemap, PagesXMLSitemap
from website import Answer, Site, urlset

OLD, NEW = "https://old.example", "https://new.example:8443"
PATHS = ["/", "/a", "/b?x=1"]


def website(home, *paths, listed=None, name="sitemap.xml", **fields):
    pages = [SitemapPage(f"{listed or home}{path}", **fields) for path in paths]
    return IndexWebsiteSitemap(f"{home}/", [PagesXMLSitemap(f"{home}/{name}", pages)])


def rich(home):
    images, alternates = [SitemapImage(f"{home}/i.png")], [("de", f"{home}/de")]
    return website(home, *PATHS, images=images, alternates=alternates)


def one_file(host):
    return PagesXMLSitemap(f"file:///{host[8:11]}.xml", [SitemapPage(f"{host}/")])


@pytest.mark.parametrize(
    ("before", "after", "hosts"),
    [
        (website(OLD, *PATHS), website(NEW, *PATHS), None),
        (rich(OLD), rich(NEW), None),
        (website("http://www.old.example", *PATHS), website(OLD, *PATHS), None),
        (website(OLD, *PATHS, listed="http://www.old.example"), website(NEW, *PATHS), None),
        (website("http://old.example", *PATHS), website(OLD, *PATHS), None),
        # Staging lists the addresses of production.
        (website(OLD, *PATHS), website(NEW, *PATHS, listed=OLD), None),
        (one_file(OLD), one_file(NEW), None),
        (
            website(OLD, *PATHS, listed="http://cdn.old:81"),
            website(NEW, *PATHS),
            {"cdn.old:81": NEW},
        ),
        (website(OLD, "/", listed="https://c.old"), website(OLD, "/", listed=NEW), {"c.old": NEW}),
    ],
)
def test_the_same_paths_on_other_hosts_are_the_same_pages(before, after, hosts):
    found = list(diff(before, after, map_host=hosts))
    assert [
        change for change in found if change.url.startswith("http") and "xml" not in change.url
    ] == []
    assert list(diff(before, after, map_host={}))


def test_a_path_is_the_same_however_its_characters_are_escaped():
    before = website(OLD, "/\u00fc", "/%d0%bf?q=\u00f6", "/a b", "/100%25", "/lost%2f")
    paths = ["/%C3%BC", "/%D0%BF?q=%c3%b6", "/a%20b", "/100%25", "/lost/"]
    for home in (OLD, NEW):
        found = [
            change for change in diff(before, website(home, *paths)) if "xml" not in change.url
        ]
        expected = [f"{home}/lost/", f"{OLD}/lost%2f"]
        assert [change.url for change in found] == expected
        assert [page.url for page in migration(before, website(home, *paths))] == expected[1:]
    twice = [website(OLD, "/\u00fc", "/%C3%BC", priority=one) for one in (0, 1)]
    (change,) = diff(*twice)
    assert (change.kind, change.left, change.joined) == ("changed", (), ())


def test_changes_between_hosts_name_the_pages_of_both():
    before = website(OLD, "/a", "/gone", priority=1)
    changed, removed = diff(before, website(NEW, "/a", priority=0))
    assert (changed.url, changed.before.url) == (f"{NEW}/a", f"{OLD}/a")
    assert [field.name for field in changed.fields] == ["priority"]
    assert (removed.kind, removed.url) == (ChangeKind.REMOVED, f"{OLD}/gone")
    broken = IndexWebsiteSitemap(f"{NEW}/", [InvalidSitemap(f"{NEW}/sitemap.xml", "broken")])
    kinds = [change.kind for change in diff(before, broken)]
    assert kinds == [ChangeKind.FAILED, ChangeKind.UNKNOWN, ChangeKind.UNKNOWN]
    with pytest.raises(ValueError, match="'://' is not a host"):
        diff(before, broken, map_host={"://": NEW})


def test_a_move_lists_what_the_new_website_lacks_and_where_the_old_one_leads():
    lost = {
        "/b": (Answer(redirect="{alt}/b2"), "redirected", "/b2", 200),
        "/c": (Answer(redirect="{alt}/x"), "elsewhere", "/x", 200),
        "/d": (Answer(status=410), "gone", None, 410),
        "/e": ("<html>", "present", None, 200),
        "/f": (Answer(status=403), "failed", None, 403),
        "/g": (Answer(redirect="{alt}/%C3%A4"), "redirected", "/%C3%A4", 200),
        "/dead": (Answer(hang_up=True), "failed", None, None),
        "/no": ("<html>", "disallowed", None, None),
    }
    with Site({path: answer for path, (answer, *_) in lost.items()}) as site:
        site.answers |= {
            "/robots.txt": "User-agent: *\nDisallow: /no",
            "/s.xml": urlset(*(f"{site.base}{path}" for path in ("/", "/a", *lost, "/b"))),
            "alt:/new.xml": urlset(
                *(f"{site.alt}{path}" for path in ("/", "/a", "/b2", "/\u00e4"))
            ),
            "alt:/b2": "<html>",
            "alt:/%C3%A4": "<html>",
            "alt:/x": "<html>",
        }
        sites = site.url("/s.xml"), site.url("alt:/new.xml")
        found = list(migration(*sites))
        assert [(page.url, page.expected) for page in found] == [
            (f"{site.base}{path}", f"{site.alt}{path}") for path in lost
        ]
        assert {page.outcome for page in found} == {"missing"}
        for page, (_, outcome, target, status) in zip(
            migration(*sites, fetch=True), lost.values(), strict=True
        ):
            leads_to = target and f"{site.alt}{target}"
            assert (page.outcome, page.target, page.status) == (outcome, leads_to, status)
            assert (page.reason is None) == (not page.url.endswith("/dead"))
        assert site.hits["/no"] == 0
