"""A comparison finds exactly what dictionaries of everything would, however it gets there."""

import asyncio
import errno
import sqlite3
from collections import Counter
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from profiles import examples
from usp import aio
from usp.changes import ChangeKind, PageChange, SitemapChange, comparison, diff
from usp.objects.child import SkippedSitemap, SkipReason
from usp.objects.page import SitemapPage, fields_of
from usp.objects.problem import Failure
from usp.objects.sitemap import (
    AbstractPagesSitemap,
    IndexWebsiteSitemap,
    IndexXMLSitemap,
    InvalidSitemap,
    PagesXMLSitemap,
)
from usp.tree import sitemap_from_bytes, sitemap_tree_for_sitemap
from website import SITEMAP_NS

few = settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
H = "http://h"
IMAGE_NS = "http://www.google.com/schemas/sitemap-image/1.1"
HEAD = f'<urlset xmlns="{SITEMAP_NS}" xmlns:image="{IMAGE_NS}">'
IMAGE = "<image:image><image:loc>http://h/i.png</image:loc></image:image>"

entries = st.tuples(
    st.integers(0, 12),
    st.sampled_from(["", "2024-01-01", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00+00:00"]),
    st.sampled_from(["plain", "spaced", "comment", "image"]),
)
sitemaps = st.fixed_dictionaries(
    {},
    optional={
        name: st.one_of(
            st.lists(entries, max_size=8), st.sampled_from(["failed", "cut", "skipped"])
        )
        for name in ("a", "b", "c")
    },
)
websites = st.tuples(sitemaps, sitemaps, st.sampled_from(["", "", "index", "robots"]))


def entry(number: int, lastmod: str, way: str) -> str:
    mod = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    inner = f"<loc>{H}/{number}</loc>{mod}"
    return {
        "plain": f"<url>{inner}</url>",
        "spaced": f"\n<url>\n {inner}\n</url>",
        "comment": f"<!-- x --><url>{inner}</url>",
        "image": f"<url>{inner}{IMAGE}</url>",
    }[way]


def document(listed) -> bytes:
    return (HEAD + "".join(entry(*one) for one in listed) + "</urlset>").encode()


def index(name: str, given, *, failed: bool):
    url = f"{H}/{name}-index.xml"
    if failed:
        return InvalidSitemap(url, "503")
    below, skipped = [], []
    for child, content in given.items():
        child_url = f"{H}/{child}.xml"
        if content == "skipped":
            skipped.append(SkippedSitemap(child_url, None, SkipReason.DATE))
        elif content == "failed":
            below.append(InvalidSitemap(child_url, "503"))
        elif content == "cut":
            failure = Failure(child_url, "broke off")
            below.append(PagesXMLSitemap(child_url, [SitemapPage(f"{H}/1")], failure=failure))
        else:
            read = sitemap_from_bytes(document(content), child_url)
            below.append(PagesXMLSitemap(child_url, read._pages))
    return IndexXMLSitemap(url, below, skipped=skipped)


def website(given) -> IndexWebsiteSitemap:
    one, two, missing = given
    two = {name: one.get(name, content) for name, content in two.items()}  # one document each
    tops = [index("x", one, failed=missing == "index"), index("y", two, failed=False)]
    lost = [Failure(f"{H}/robots.txt", "500")] if missing == "robots" else []
    return IndexWebsiteSitemap(f"{H}/", tops, not_found=lost)


def said(change: PageChange) -> tuple[object, ...]:
    names = tuple(field.name for field in change.fields)
    return change.kind, change.url, names, change.left, change.joined


def found(before, after) -> list[tuple[object, ...]]:
    return [said(change) for change in diff(before, after) if isinstance(change, PageChange)]


@pytest.mark.parametrize("small", [False, True])
def test_a_comparison_finds_what_dictionaries_of_everything_find(small, monkeypatch):
    """Also if hardly anything may be kept, so that pages are looked for in parts and read again."""
    if small:
        monkeypatch.setattr(comparison, "_TOGETHER", 2)

    @few
    @given(websites, websites, st.sampled_from(["", "a", "b"]))
    def check(one, two, renamed):
        if renamed and (content := one[0].get(renamed)) is not None:
            kept = {name: listed for name, listed in two[0].items() if name != renamed}
            two = ({**kept, "renamed": content}, two[1], two[2])
        before, after = website(one), website(two)
        changes = found(before, after)
        assert len(changes) == len({change[1] for change in changes}), "each page once"
        assert set(changes) == expected(before, after)
        assert found(before, before) == []

    check()


def tree(*sitemaps: tuple[str, list[tuple[int, str]]]) -> IndexWebsiteSitemap:
    nodes = [
        sitemap_from_bytes(document([(n, mod, "plain") for n, mod in listed]), f"{H}/{name}.xml")
        for name, listed in sitemaps
    ]
    return IndexWebsiteSitemap(f"{H}/", nodes)


def test_a_page_that_moved_and_is_in_several_sitemaps_is_told_once():
    """Also if its date is written in another way in those that have it still."""
    kept = ("kept", [(2, "")])
    one, other = [(1, "2024-01-01T00:00:00Z")], [(1, "2024-01-01T00:00:00+00:00")]
    for before, after in (
        ([("a", one)], [("b", one), ("c", one)]),
        ([("a", one), ("x", one), ("y", one)], [("x", other), ("y", other)]),
    ):
        changes = found(tree(*before, kept), tree(*after, kept))
        assert [change[:2] for change in changes] == [(ChangeKind.MOVED, f"{H}/1")]


def test_changes_come_in_the_order_of_the_trees():
    before = tree(("a", [(1, ""), (2, ""), (3, "")]), ("b", [(4, "")]), ("gone", [(5, "")]))
    after = tree(
        ("new", [(9, "")]), ("a", [(8, ""), (3, "2024-01-01"), (2, "")]), ("b", [(7, ""), (1, "")])
    )
    changes = list(diff(before, after))
    assert [(change.kind, change.url.removeprefix(H)) for change in changes] == [
        ("added", "/new.xml"), ("removed", "/gone.xml"),
        ("added", "/9"), ("added", "/8"), ("changed", "/3"), ("added", "/7"), ("moved", "/1"),
        ("removed", "/4"), ("removed", "/5"),
    ]  # fmt: skip
    assert [isinstance(change, SitemapChange) for change in changes] == [True] * 2 + [False] * 7


def test_a_renamed_sitemap_is_one_change():
    """Whatever became of some of its pages; so is its index, and one that was compressed."""
    pages = [(number, "") for number in range(1, 400)]
    urls = {name: f"{H}/{name}.xml" for name in ("old", "new", "steady", "other", "x", "y")}

    def website(top, *listed):
        found = tree(*listed).sub_sitemaps
        return IndexWebsiteSitemap(f"{H}/", [IndexXMLSitemap(urls[top], found)])

    before = website("x", ("steady", [(900, "")]), ("old", pages), ("other", [(901, "")]))
    after = website("y", ("new", [*pages[100:], (1000, "")]), ("steady", [(900, ""), (1, "")]))
    found = [change for change in diff(before, after) if change.kind != "removed"]
    assert [(change.kind, change.url, getattr(change, "former", None)) for change in found] == [
        ("moved", urls["y"], urls["x"]), ("moved", urls["new"], urls["old"]),
        ("added", f"{H}/1000", None), ("moved", f"{H}/1", None),
    ]  # fmt: skip
    assert str(found[1]) == f"> sitemap {urls['old']} -> {urls['new']}"
    assert (found[-1].left, found[-1].joined) == ((urls["old"],), (urls["steady"],))
    assert diff(before, after).counts().sitemaps == {"moved": 2, "removed": 1}
    few = website("y", ("new", pages[200:]))
    assert {change.kind for change in diff(before, few) if change.url == urls["new"]} == {"added"}


def test_a_changed_page_tells_which_fields_from_what_to_what():
    (change,) = diff(tree(("a", [(1, "2024-01-01T00:00:00Z")])), tree(("a", [(1, "")])))
    (field,) = change.fields
    assert (field.name, field.after) == ("lastmod", None)
    assert field.before == change.before.last_modified
    assert change.after.last_modified is None
    assert (change.left, change.joined) == ((), ())


def test_two_files_are_compared_with_each_other_whatever_their_names_are():
    before = sitemap_from_bytes(document([(1, "", "plain")]), f"{H}/old.xml")
    after = sitemap_from_bytes(document([(1, "", "plain"), (2, "", "image")]), f"{H}/new.xml")
    (change,) = diff(before, after)
    assert said(change) == (ChangeKind.ADDED, f"{H}/2", (), (), (f"{H}/new.xml",))
    assert change.after.images is not None


def test_counts_are_known_after_an_iteration_or_without():
    before, after = tree(("a", [(1, ""), (2, "")])), tree(("a", [(2, ""), (3, "")]))
    counts = diff(before, after).counts()
    assert counts.changed
    assert (counts.pages["added"], counts.pages["removed"], counts.pages["moved"]) == (1, 1, 0)
    assert not diff(before, before).counts().changed


def test_a_page_is_not_read_before_it_is_asked_for_and_keeps_only_what_differs():
    listed = [(n, "2024-01-01") for n in range(1, 500)]
    new = [(n, "2024-01-01") for n in (1001, 1002)]
    changes = list(diff(tree(("a", listed)), tree(("a", [new[0], *listed, new[1]]))))
    assert [change.url for change in changes] == [f"{H}/1001", f"{H}/1002"]
    assert max(len(change.after._parse.__self__._block) for change in changes) < 200
    assert [change.after.last_modified.year for change in changes] == [2024, 2024]


def test_a_document_that_did_not_change_is_read_once(monkeypatch):
    reading = Mock(side_effect=comparison.read_fingerprints)
    monkeypatch.setattr(comparison, "read_fingerprints", reading)
    before, after = (tree(("a", [(1, "")]), ("b", [(number, "")])) for number in (2, 3))
    changes = [said(change)[:2] for change in diff(before, after)]
    assert changes == [("added", f"{H}/3"), ("removed", f"{H}/2")]
    read = sorted(call.args[0].url for call in reading.call_args_list)
    assert read == [f"{H}/a.xml", f"{H}/b.xml", f"{H}/b.xml"]


def test_a_full_disk_is_an_error_of_the_system(monkeypatch):
    full = Mock()
    full.executemany.side_effect = sqlite3.OperationalError("database or disk is full")
    monkeypatch.setattr(sqlite3, "connect", Mock(return_value=full))
    with pytest.raises(OSError, match="disk is full") as raised:
        list(diff(tree(("a", [(1, "")])), tree(("a", [(1, "2024-01-01")]))))
    assert raised.value.errno == errno.ENOSPC


def test_the_same_bytes_at_another_address_may_mean_other_pages():
    text = b"<urlset><url><loc>/page</loc></url></urlset>"
    here, there = (sitemap_from_bytes(text, f"http://{host}/a.xml") for host in ("h", "g"))
    found = [change.url for change in diff(here, there, map_host={})]
    assert found == ["http://g/page", "http://h/page"]
    assert not list(diff(here, there))  # by path: the hosts are different


def test_files_snapshots_and_urls_are_compared_too(tmp_path, serve):
    site = serve({"/sitemap.xml": document([(1, "", "plain")]), "/robots.txt": "User-agent: *"})
    file, snapshot = tmp_path / "old.xml", tmp_path / "site.warc.gz"
    file.write_bytes(document([(2, "", "plain")]))
    url = site.url("/sitemap.xml")
    recorded = sitemap_tree_for_sitemap(url, record=snapshot)
    for after in (url, recorded, snapshot, str(snapshot)):
        changes = asyncio.run(aio.diff(file, after))
        assert list(changes) == list(diff(file, after))
        kinds = {change.url: change.kind for change in changes}
        assert kinds == {f"{H}/1": ChangeKind.ADDED, f"{H}/2": ChangeKind.REMOVED}
        assert changes.counts().pages == {"added": 1, "removed": 1}
    assert list(diff(f"{site.base}/", f"{site.base}/")) == []


def test_a_change_is_printed_as_one_line():
    old = tree(("a", [(1, "2025-01-01T00:00:00Z"), (2, "")]))
    new = tree(("a", [(1, "2025-02-01T00:00:00Z"), (3, "")]))
    assert [str(change) for change in diff(old, new)] == [
        "~ http://h/1  lastmod 2025-01-01T00:00:00Z -> 2025-02-01T00:00:00Z",
        "+ http://h/3",
        "- http://h/2",
    ]
    failed = SitemapChange(ChangeKind.FAILED, "http://h/a.xml", "404 Not Found")
    assert f"{failed}" == "! sitemap http://h/a.xml failed: 404 Not Found"


# What a comparison must find, said in the plainest way: dictionaries of everything ----------------


NAMES = {"last_modified": "lastmod", "change_frequency": "changefreq", "news_story": "news"}


def listings(tree) -> dict[str, dict[str, object]]:
    """Give by URL the sitemaps that list it, each with the fields."""
    found: dict[str, dict[str, object]] = {}
    for node in tree.all_sitemaps():
        if isinstance(node, AbstractPagesSitemap):
            for page in node.all_pages():
                found.setdefault(page.url, {}).setdefault(node.url, fields_of(page))
    return found


def broken(tree) -> set[str]:
    failed = {node.url for node in tree.all_sitemaps() if node.failure is not None}
    return failed | {failure.url for failure in tree.not_found}


def accounts(tree, other, *, wary: bool) -> dict[str, bool]:
    """Give for each sitemap of the other tree whether this one can tell what became of it."""
    urls = {node.url for node in tree.all_sitemaps()} | broken(tree)
    skipped = {
        child.url for node in [tree, *tree.all_sitemaps()] for child in getattr(node, "skipped", ())
    }
    theirs = {node.url for node in other.all_sitemaps()} | broken(other)
    fresh = wary and bool(broken(tree) - theirs)
    result: dict[str, bool] = {}

    def visit(node, above: bool) -> None:
        if node.url in urls:
            known = node.url not in broken(tree)
        elif isinstance(node, IndexWebsiteSitemap):
            known = above
        else:
            known = above and not fresh and node.url not in skipped
        result[node.url] = result.get(node.url, True) and known
        for child in node.sub_sitemaps:
            visit(child, known)

    visit(other, tree.failure is None and not tree.not_found)
    return result


def expected(before, after) -> set[tuple[object, ...]]:
    """Give every change of a page as ``(kind, url, fields, left, joined)``."""
    old, new = listings(before), listings(after)
    now_at = renamed(before, after)
    was_at = {now: was for was, now in now_at.items()}
    is_known = accounts(after, before, wary=True) | dict.fromkeys(now_at, True)
    was_known = accounts(before, after, wary=False)
    found: set[tuple[object, ...]] = set()
    for url in old.keys() | new.keys():
        was, now = old.get(url, {}), new.get(url, {})
        if not was or not now:
            known = was_known if now else is_known
            gone = ChangeKind.ADDED if now else ChangeKind.REMOVED
            kind = gone if all(known[key] for key in was or now) else ChangeKind.UNKNOWN
            found.add((kind, url, (), tuple(was), tuple(now)))
            continue
        left = [key for key in was if now_at.get(key, key) not in now]
        joined = [key for key in now if was_at.get(key, key) not in was]
        sure_left = tuple(key for key in left if is_known[key])
        sure_joined = tuple(key for key in joined if was_known[key])
        fields: tuple[object, ...] = ()
        for key in now:
            if (former := was_at.get(key, key)) in was and not fields:
                fields = differing(was[former], now[key])
        if not fields and len(joined) == len(now) and sure_joined:
            fields = differing(was[left[0]], now[joined[0]])
        if fields:
            found.add((ChangeKind.CHANGED, url, fields, sure_left, sure_joined))
        elif sure_left or sure_joined:
            found.add((ChangeKind.MOVED, url, (), sure_left, sure_joined))
    return found


def renamed(before, after) -> dict[str, str]:
    """Give the sitemaps that list most of the same pages at another URL, by the former one."""
    is_known, was_known = accounts(after, before, wary=False), accounts(before, after, wary=False)
    gone, new = pages_only_in(before, after, is_known), pages_only_in(after, before, was_known)
    owners: dict[str, str] = {}
    for key, urls in gone.items():
        for url in urls:
            owners.setdefault(url, key)
    found: dict[str, str] = {}
    for key, urls in new.items():
        candidates = Counter(owners[url] for url in urls if url in owners).most_common()
        for was, _ in candidates:
            if was not in found and 2 * len(gone[was].keys() & urls) > max(
                len(gone[was]), len(urls)
            ):
                found[was] = key
                break
    return found


def pages_only_in(tree, other, known) -> dict[str, dict[str, None]]:
    theirs = {node.url for node in other.all_sitemaps()} | broken(other)
    return {
        node.url: dict.fromkeys(page.url for page in node.all_pages())
        for node in tree.all_sitemaps()
        if isinstance(node, AbstractPagesSitemap)
        and node.url not in theirs | broken(tree)
        and known[node.url]
    }


def differing(was, now) -> tuple[str, ...]:
    return tuple(
        NAMES.get(name, name)
        for name, one, two in zip(was._fields, was, now, strict=True)
        if one != two
    )


def test_a_comparison_prints_counts_and_the_first_changes_of_each_kind():
    before = PagesXMLSitemap(f"{H}/s.xml", [SitemapPage(f"{H}/old")])
    after = PagesXMLSitemap(f"{H}/s.xml", [SitemapPage(f"{H}/{at}") for at in range(1200)])
    changes = diff(before, after)
    assert repr(changes) == f"Diff('{H}/s.xml' -> '{H}/s.xml': not compared yet)"
    assert str(changes).splitlines() == [
        f"{H}/s.xml -> {H}/s.xml", "pages: 1,200 added, 1 removed",
        f"+ {H}/0", f"+ {H}/1", f"+ {H}/2", f"- {H}/old", "… and 1,197 more",
    ]  # fmt: skip
    assert repr(changes).endswith(": pages: 1,200 added, 1 removed)")
    assert str(diff(after, after)).endswith("\nnothing changed")
    long = PagesXMLSitemap(f"{H}/{'s' * 5000}", [SitemapPage(f"{H}/{'p' * 5000}")])
    assert (len(repr(diff(long, long))), len(str(diff(before, long)))) < (500, 3000)


def test_some_of_the_changes_are_selected_by_kind_and_url():
    before = tree(("a", [(1, ""), (2, ""), (30, "")]), ("gone", [(5, "")]))
    after = tree(("a", [(2, "2024-01-01"), (3, ""), (30, "2024-01-01")]))
    changes = diff(before, after)
    only = changes.select(["added", ChangeKind.REMOVED])
    assert [change.url for change in only] == [f"{H}/{n}" for n in ("gone.xml", 3, 1, 5)]
    assert (only.counts().pages, only.counts().sitemaps) == (
        {"added": 1, "removed": 2},
        {"removed": 1},
    )
    some = only.select(include=["/3*", "/1"], exclude=["*/30"])
    assert [change.url for change in some] == [f"{H}/3", f"{H}/1"]
    nothing = changes.select(["moved"])
    assert not nothing.counts().changed
    assert len(list(changes)) == 6
    for wrong in ({"only": ["gone"]}, {"include": [""]}, {"exclude": ["re:("]}):
        with pytest.raises(ValueError, match=r"'gone'|empty pattern|regular expression"):
            changes.select(**wrong)


def test_a_selection_does_not_hide_that_a_comparison_is_uncertain():
    after = IndexWebsiteSitemap(f"{H}/", [InvalidSitemap(f"{H}/a.xml", "503")])
    counts = diff(tree(("a", [(1, "")])), after).select(["removed"], include=["/9"]).counts()
    assert (counts.pages, counts.sitemaps) == ({}, {})
    assert (counts.changed, counts.uncertain) == (False, True)
