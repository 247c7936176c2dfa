"""What all tests above the pure layer share: a web server on loopback, and quick retries."""

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the fleets first, which wait for many processes; repeat once what depends on a time limit."""
    for item in items:
        if "times" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.flaky(reruns=1))
    items.sort(key=lambda item: item.path.parent.name != "fleet")


@pytest.fixture
def times(request: pytest.FixtureRequest) -> int:
    """Return by how much a test multiplies its time limits and pauses: 1, and 20 at the second try.

    What should come within a limit comes late on a busy machine.
    """
    return 20 ** (getattr(request.node, "execution_count", 1) - 1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage while tests are collected: nothing of them goes."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


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
def gate() -> Iterator[threading.Event]:
    """What holds an answer back until the test is over, or opens it."""
    event = threading.Event()
    yield event
    event.set()


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
        schedule, "GUESSED", RetryPolicy(connection=2, busy=2, server=2, first_delay=0.001)
    )


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command in this process; return its exit status, output and messages."""
    from usp.cli import main  # noqa: PLC0415

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(one) for one in arguments])
        told = capfd.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return run


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
