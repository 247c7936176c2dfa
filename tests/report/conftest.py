"""A Chromium to look at reports with."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from usp._demo import demo_site
from usp.objects.sitemap import AbstractSitemap
from usp.report import write_report
from usp.tree import sitemap_tree_for_homepage


@pytest.fixture(scope="session")
def demo() -> AbstractSitemap:
    """The tree of the demo website."""
    with demo_site() as url:
        return sitemap_tree_for_homepage(url)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser of the system, or a word about why there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("no Chromium is installed: apt-get install -y chromium")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Look:
    """An open report: the tab, what it said on the console, and what it asked the network for."""

    tab: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def text(self, selector: str) -> str:
        return self.tab.inner_text(selector)

    def tiles(self) -> dict[str, str]:
        return {
            tile.query_selector("dt").text_content(): tile.query_selector("dd").inner_text()
            for tile in self.tab.query_selector_all(".tile")
        }


@pytest.fixture
def look(chromium: Any, tmp_path: Path) -> Iterator[Callable[..., Look]]:
    """Write the report of a tree and open it; afterwards nothing may have gone wrong."""
    contexts: list[Any] = []
    looks: list[Look] = []

    def _look(tree: AbstractSitemap, **options: Any) -> Look:
        path = tmp_path / f"report-{len(looks)}.html"
        write_report(tree, path)
        context = chromium.new_context(reduced_motion="reduce", **options)
        contexts.append(context)
        result = Look(context.new_page())
        looks.append(result)
        result.tab.on("console", lambda message: result.said.append(message.text))
        result.tab.on("pageerror", lambda error: result.said.append(str(error)))
        context.on("request", lambda request: result.asked.append(request.url))
        result.tab.goto(path.as_uri())
        result.tab.wait_for_selector("#rows[data-ready]")
        return result

    yield _look
    for context in contexts:
        context.close()
    for result in looks:
        assert result.said == []
        assert [url for url in result.asked if not url.startswith("data:")][1:] == []
