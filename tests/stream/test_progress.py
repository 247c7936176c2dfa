"""Progress in Python: a line on a terminal or in a notebook, and nothing anywhere else."""

import io
import sys
import threading
import time
from types import SimpleNamespace

import usp
from fronts import FRONTS
from patience import within
from together import together
from usp.events import SitemapReceived
from website import index, robots, urlset

SITE = {
    "/robots.txt": robots("/index.xml"),
    "/index.xml": index("/a.xml", "/b.xml"),
    "/a.xml": urlset("/1", "/2"),
    "/b.xml": urlset("/3"),
}
CLEAR = "\r\x1b[2K"


class Terminal(io.StringIO):
    """A terminal that knows whether something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.is_drawn = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.is_drawn.set()
        return super().write(text)

    def wait(self, event: object) -> None:
        """Go on with the crawl once the line was drawn: it is drawn now and then."""
        if isinstance(event, SitemapReceived):
            assert self.is_drawn.wait(60)


def terminal_of(monkeypatch) -> Terminal:
    """Be at a terminal; a fixture would be too early, as pytest has a standard error of its own."""
    found = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", found)
    return found


@together("front", FRONTS)
def test_a_line_is_on_the_terminal_while_a_crawl_runs_and_gone_afterwards(
    front, serve, monkeypatch
):
    site, terminal = serve(SITE).base, terminal_of(monkeypatch)
    streams = sys.stdout, sys.stderr
    for door in (front.tree, front.pages):
        terminal.is_drawn.clear()
        door(f"{site}/", progress=True, on_event=terminal.wait)
        assert (sys.stdout, sys.stderr) == streams
        assert "─ " in terminal.getvalue()
        assert " of 1 address, " in terminal.getvalue()
        assert terminal.getvalue().endswith(CLEAR)


def test_a_stream_that_nobody_reads_leaves_the_terminal_alone(serve, monkeypatch):
    terminal = terminal_of(monkeypatch)
    monkeypatch.setattr("usp._crawl.thread_driver._IDLE", 0.0)
    pages = usp.pages(f"{serve(SITE).base}/", progress=True, on_event=terminal.wait)
    next(pages)
    with within(60):
        while not terminal.getvalue().endswith(CLEAR):
            time.sleep(0.01)
    pages.close()


def test_a_notebook_shows_one_bar_which_stays(serve, monkeypatch, capfd):
    site, shown = serve(SITE).base, []

    def show(progress):
        shown.append((repr(progress), progress._repr_html_()))

    def display(progress, *, display_id):
        assert display_id is True
        show(progress)
        return SimpleNamespace(update=show)

    notebook = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    inside = []

    def crawl_inside(event: object) -> None:
        if not inside:
            inside.append(event)
            usp.sitemap_tree_for_homepage(f"{site}/", progress=True)

    options = usp.CrawlOptions(use_known_paths=False, on_event=crawl_inside, progress=True)
    assert len(list(usp.pages(f"{site}/", options=options))) == 3
    assert shown[0][1].startswith('<progress value="0.000"></progress> 0 of 0 addresses')
    assert shown[-1][1].startswith('<progress value="1.000"></progress> 4 of 4 addresses')
    assert "4 sitemaps · 3 pages · " in shown[-1][0]
    assert sum("0 of 0" in text for text, _ in shown) == 1
    assert capfd.readouterr().err == ""


def test_nothing_is_written_where_there_is_neither(serve, capfd):
    usp.sitemap_tree_for_homepage(f"{serve(SITE).base}/", progress=True)
    assert capfd.readouterr() == ("", "")
