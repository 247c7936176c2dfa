"""A website: where its sitemaps are looked for, and what of that stands in its tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.crawl.build import node_for
from usp.formats.document import Role
from usp.objects.sitemap import AbstractSitemap, IndexWebsiteSitemap, InvalidSitemap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from usp.crawl.crawl import Crawl, Place


class Website:
    """Wants robots.txt, then the links of the homepage, then the known paths, from a crawl."""

    def __init__(
        self,
        crawl: Crawl,
        homepage_url: str,
        *,
        use_robots: bool,
        use_html_links: bool,
        known_paths: Iterable[str],
    ) -> None:
        self._url = homepage_url
        self._robots = (
            crawl.want(f"{homepage_url}robots.txt", role=Role.ROBOTS) if use_robots else None
        )
        # Sitemaps that the homepage links to stand where those at known paths do: at level 0.
        self._homepage = (
            crawl.want(homepage_url, role=Role.HOMEPAGE, level=-1) if use_html_links else None
        )
        self._known = [crawl.want(homepage_url + path, probe=True) for path in known_paths]

    def tree(self) -> IndexWebsiteSitemap:
        """Give the tree, once the crawl is complete."""
        top: list[AbstractSitemap] = []
        held: set[str] = set()
        if self._robots is not None:
            robots = node_for(self._robots)
            if not isinstance(robots, InvalidSitemap):
                top.append(robots)
                held.update(_urls(self._robots))
        if self._homepage is not None:
            self._add(top, held, self._homepage.children, keep_invalid=True)
        self._add(top, held, self._known, keep_invalid=False)
        return IndexWebsiteSitemap(self._url, top)

    @staticmethod
    def _add(
        top: list[AbstractSitemap], held: set[str], places: Iterable[Place], *, keep_invalid: bool
    ) -> None:
        """Add what robots.txt's subtree does not hold and what is not there yet."""
        for place in places:
            if place.url in held or place.final_url in held:
                continue
            node = node_for(place)
            if keep_invalid or not isinstance(node, InvalidSitemap):
                top.append(node)
                held.update((place.url, place.final_url))


def _urls(place: Place) -> Iterable[str]:
    """Give the addresses of a place and of everything below it, before and after redirects."""
    yield place.url
    yield place.final_url
    for child in place.children:
        yield from _urls(child)
