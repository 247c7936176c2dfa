"""What all tests above the pure layer share: a web server on loopback, and quick retries."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

import profiles  # noqa: F401 - for what it sets
from usp._crawl import schedule
from usp._crawl.schedule import RetryPolicy
from website import Site


def pytest_configure() -> None:
    """Let processes keep what they compile, and hear Ctrl-C where the run itself was started without.

    Hundreds of tests start a process; without bytecode each would compile the whole package.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_xdist_auto_num_workers() -> int:
    """Run two workers on each core: many tests wait for a server, a process or a clock."""
    return 2 * (os.cpu_count() or 1)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their place: those of gzip have the time in them, and workers must agree."""
    return argname if isinstance(val, bytes) else None


SHARED = {
    "chromium": ("test_report_browser.py", "test_report_layout.py"),
    "fleet": (
        "test_fleet_truth.py",
        "test_fleet_cli.py",
        "test_fleet_deaths.py",
        "test_fleet_interrupts.py",
        "test_fleet_operating.py",
        "test_fleet_sigterm.py",
        "test_shortage.py",
    ),
    "slow_fleet": ("test_fleet_killed.py",),
    "scraped": ("test_scrapy.py",),
    "s3_server": ("test_fleet_stores.py", "test_fleet_kills.py", "test_fleet_cluster.py"),
}
"""Fixtures that take long to make, and the files whose tests use them: one worker runs them all."""

GROUPS = {name: fixture for fixture, names in SHARED.items() for name in names}


class SharingScheduling(LoadScopeScheduling):
    """Gives a worker all tests that share something expensive, and of the others one at a time.

    The mark ``xdist_group`` is not used for that: with pytest 9.2 and xdist 3.8 it does nothing.
    """

    def _split_scope(self, nodeid: str) -> str:
        return GROUPS.get(nodeid.partition("::")[0].rpartition("/")[2], nodeid)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Forget what is finished: xdist counts all that a worker ever got, after every test."""
        nodeid = self.registered_collections[node][item_index]
        scope = self._split_scope(nodeid)
        unit = self.assigned_work[node].get(scope, {})  # gone already if the test runs again
        unit[nodeid] = True
        if all(unit.values()):
            self.assigned_work[node].pop(scope, None)
        self._reschedule(node)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharingScheduling:
    return SharingScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests that share something expensive first; refuse those that would make it once more."""
    for item in items:
        for fixture in SHARED.keys() & set(getattr(item, "fixturenames", ())):
            if GROUPS.get(item.path.name) != fixture:
                raise pytest.UsageError(f"{item.path.name} uses {fixture}: list it in SHARED")
        for mark in second_tries(item):
            item.add_marker(mark)
    # What one worker must do alone begins; tests that are over at once fill the gaps at the end.
    items.sort(key=lambda item: (item.path.name not in GROUPS, item.path.parent.name in SHORT))


SHORT = {"compat", "crawl", "export", "formats", "objects", "store"}
"""The folders whose tests compute and do not wait."""

REAL = {
    "aio",
    "cli",
    "diff",
    "docs",
    "faults",
    "fleet",
    "mcp_server",
    "report",
    "snapshot",
    "stream",
    "tree",
    "web_client",
}
"""The folders whose tests need servers, threads, processes or a browser of this machine."""

MOST_REPEATED = 5
"""If more tests than these pass at the second try only, it is not the machine: the run has failed."""


def second_tries(item: pytest.Item) -> list[pytest.MarkDecorator]:
    """Return the marks of a test that runs again if it fails, each time with new fixtures.

    A test that depends on a time limit takes ``times`` and multiplies its limits and pauses by it: 1,
    then 8, then 64, because what should come within a limit comes late on a busy machine. One that
    needs this machine's processes runs once more, and the summary names it.
    """
    if "times" in getattr(item, "fixturenames", ()):
        return [pytest.mark.timed, pytest.mark.flaky(reruns=2)]
    if item.path.parent.name in REAL:
        return [pytest.mark.flaky(reruns=1)]
    return []


@pytest.fixture
def times(request: pytest.FixtureRequest) -> int:
    """Return by how much a test multiplies its time limits: more at every try."""
    return 8 ** (getattr(request.node, "execution_count", 1) - 1)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run in which many tests needed a second try."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    repeated = {
        report.nodeid
        for report in (reporter.stats.get("rerun", ()) if reporter else ())
        if "timed" not in report.keywords
    }
    if len(repeated) > MOST_REPEATED and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter.write_line(f"{len(repeated)} tests needed a second try", red=True)


def pytest_collection_finish() -> None:
    """Keep ten thousand tests out of every later collection of garbage: some tests ask for many."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's proxies have no business on loopback."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def serve() -> Iterator[Callable[[Mapping[str, Any]], Site]]:
    """Serve a table of answers on loopback until the test ends."""
    sites: list[Site] = []

    def start(answers: Mapping[str, Any]) -> Site:
        sites.append(Site(answers))
        return sites[-1]

    yield start
    for site in sites:
        site.close()


@pytest.fixture
def real_pauses() -> None:
    """Wait before a failed request is repeated as long as outside the tests."""


@pytest.fixture(autouse=True)
def _quick_retries(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat failed requests as often as ever, but without long pauses."""
    if "real_pauses" in request.fixturenames:
        return
    monkeypatch.setattr(schedule, "DECLARED", RetryPolicy(first_delay=0.001))
    monkeypatch.setattr(
        schedule, "PROBE", RetryPolicy(connection=2, busy=2, server=2, first_delay=0.001)
    )


def fetching_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "usp-fetch"]


@pytest.fixture
def threads_end() -> Callable[[], bool]:
    """Tell whether all fetching threads end, given a moment."""

    def wait(seconds: float = 60.0) -> bool:
        end = time.monotonic() + seconds
        while fetching_threads() and time.monotonic() < end:
            time.sleep(0.01)
        return not fetching_threads()

    return wait
