"""What a comparison must find, said in the plainest way: dictionaries of everything."""

from __future__ import annotations

from usp.changes import ChangeKind
from usp.objects.sitemap import AbstractPagesSitemap, IndexWebsiteSitemap

NAMES = {"last_modified": "lastmod", "change_frequency": "changefreq", "news_story": "news"}


def nodes_of(tree):
    return list(tree.all_sitemaps())


def listings(tree) -> dict[str, dict[str, object]]:
    """Give by URL the sitemaps that list it, each with the fields."""
    found: dict[str, dict[str, object]] = {}
    for node in nodes_of(tree):
        if isinstance(node, AbstractPagesSitemap):
            for page in node.all_pages():
                found.setdefault(page.url, {}).setdefault(node.url, page.fields())
    return found


def broken(tree) -> set[str]:
    failed = {node.url for node in nodes_of(tree) if node.failure is not None}
    return failed | {failure.url for failure in tree.not_found}


def accounts(tree, other, *, wary: bool) -> dict[str, bool]:
    """Give for each sitemap of the other tree whether this one can tell what became of it."""
    urls = {node.url for node in nodes_of(tree)} | broken(tree)
    skipped = {
        child.url for node in [tree, *nodes_of(tree)] for child in getattr(node, "skipped", ())
    }
    theirs = {node.url for node in nodes_of(other)} | broken(other)
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
    is_known, was_known = accounts(after, before, wary=True), accounts(before, after, wary=False)
    found: set[tuple[object, ...]] = set()
    for url in old.keys() | new.keys():
        was, now = old.get(url, {}), new.get(url, {})
        if not was or not now:
            known = was_known if now else is_known
            gone = ChangeKind.ADDED if now else ChangeKind.REMOVED
            kind = gone if all(known[key] for key in was or now) else ChangeKind.UNKNOWN
            found.add((kind, url, (), tuple(was), tuple(now)))
            continue
        left = [key for key in was if key not in now]
        joined = [key for key in now if key not in was]
        sure_left = tuple(key for key in left if is_known[key])
        sure_joined = tuple(key for key in joined if was_known[key])
        fields: tuple[object, ...] = ()
        for key in now:
            if key in was and not fields:
                fields = differing(was[key], now[key])
        if not fields and not (was.keys() & now.keys()) and sure_joined:
            fields = differing(was[left[0]], now[joined[0]])
        if fields:
            found.add((ChangeKind.CHANGED, url, fields, sure_left, sure_joined))
        elif sure_left or sure_joined:
            found.add((ChangeKind.MOVED, url, (), sure_left, sure_joined))
    return found


def differing(was, now) -> tuple[str, ...]:
    return tuple(
        NAMES.get(name, name)
        for name, one, two in zip(was._fields, was, now, strict=True)
        if one != two
    )
