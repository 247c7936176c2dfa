"""``usp demo``: shows what the library does, with a small bundled website."""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from usp.cli import options
from usp.cli.errors import words_of
from usp.cli.output import logging_to, open_in_browser, write_text

if TYPE_CHECKING:
    from usp.objects.abstract_sitemap import AbstractSitemap

PORT = 8017  # always the same, so that the tutorial can name the address
LOADING = 15.0  # seconds for a browser to load the report, if nobody can say that it has


@options.command("demo")
@options.output("File to write an HTML report to.", must_be_file=True)
@options.table(
    {
        "--serve": "Only serve the website, until Ctrl-C, so that other commands and programs can "
        "read it.",
        "--port N": "Port of --serve; 0 for any that is free.",
        "--later": "Serve the website as it is a day later: two pages are new, one has changed, two "
        "are gone.",
        "--open": "Show an HTML report in the browser; without -o it is removed afterwards.",
    },
    port={"type": click.IntRange(0, 65_535), "default": PORT},
    open={"name": "is_opened"},
)
@options.common_options
def command(output: Path | None, serve: bool, port: int, later: bool, is_opened: bool) -> None:
    """Read the sitemaps of a small bundled website and show them.

    The website is served on this machine; no internet access is needed. It has a nested index, news,
    images, videos, languages, a feed, a list of URLs, and sitemaps that are compressed, broken or
    missing. Nothing is left behind, except for the report that is asked for.

    Examples:
      usp demo                    show its sitemaps
      usp demo --open             and a report on them in the browser
      usp demo -o report.html     and write the report to a file
      usp demo --serve            serve it for other commands
      usp demo --serve --later    the same address, a day later
    """
    if serve and (output is not None or is_opened):
        raise click.UsageError(
            "--serve only serves the website: it cannot be used with -o or --open"
        )
    if serve:
        _serve(port, later=later)
    else:
        _show(output, later=later, is_opened=is_opened)


def _serve(port: int, *, later: bool) -> None:
    from usp._demo import demo_site

    try:
        with demo_site(port, later=later) as url:
            told = f"Serving the demo website at {url} until Ctrl-C."
            write_text([told, f"In another terminal, try: usp tree -p {url}"])
            threading.Event().wait()
    except OSError as error:
        raise click.UsageError(
            f"port {port} cannot be used ({words_of(error)}); choose another one with --port"
        ) from error
    except KeyboardInterrupt:
        pass  # the expected end


def _show(output: Path | None, *, later: bool, is_opened: bool) -> None:
    import requests

    from usp._demo import demo_site
    from usp.cli.treeview import TreeView, summary
    from usp.options import DEFAULT_CONCURRENCY
    from usp.report import write_report
    from usp.tree import sitemap_tree_for_homepage
    from usp.web_client.requests_client import RequestsWebClient

    with logging_to(None, 0), demo_site(later=later) as url, requests.Session() as session:
        session.trust_env = False  # a proxy cannot reach this machine
        client = RequestsWebClient(session=session, max_concurrent_requests=DEFAULT_CONCURRENCY)
        tree = sitemap_tree_for_homepage(url, client)
    view = TreeView(tree)
    more = [] if is_opened else ["HTML report: usp demo --open shows one"]
    if output is not None:
        write_report(tree, output)
        more = [f"HTML report: {output}"]
    more += ["Next, try a real site: usp tree -p example.org"]
    write_text([*view.drawn(), "", *summary(view.wrong), *more])
    if is_opened and output is not None:
        open_in_browser(output, f"open {output} in one")
    elif is_opened:
        _show_for_a_while(tree)


def _show_for_a_while(tree: AbstractSitemap) -> None:
    """Open a report in the browser, and remove it when the user says so."""
    from usp.cli.run_options import ending_at_sigterm
    from usp.report import write_report

    with ending_at_sigterm(), tempfile.TemporaryDirectory(prefix="usp-demo-") as folder:
        path = Path(folder, "report.html")
        write_report(tree, path)
        if not open_in_browser(path, "usp demo -o report.html writes the report to a file"):
            return
        try:
            if sys.stdin.isatty():
                write_text(["The report is open in the browser. Press Enter to remove it and end."])
                sys.stdin.readline()
            else:
                time.sleep(LOADING)
        except KeyboardInterrupt:
            pass  # the same
