"""Many websites in one process, as many as ``USP_FLEET_SITES`` says, and workers that start quickly."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from fleet_stores import S3, serving_s3
from fleet_support import COUNT, SLOW, Served, serving

from usp.fleet import engines
from usp.fleet.dataset import Dataset
from website import Site


@pytest.fixture(scope="session")
def fleet() -> Iterator[Served]:
    """All the websites, quick ones."""
    yield from serving(COUNT)


@pytest.fixture(scope="session")
def slow_fleet() -> Iterator[Served]:
    """Some of them with a pause before every answer: there is time to kill somebody."""
    yield from serving(SLOW, 0.25)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3]:
    """A server with an empty bucket."""
    with serving_s3() as server:
        yield server


@pytest.fixture
def s3(s3_server: S3, monkeypatch: pytest.MonkeyPatch) -> S3:
    """The same, and the environment of somebody who uses it."""
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture(scope="module", autouse=True)
def _quick_workers() -> Iterator[None]:
    """Fork workers from a process that has loaded everything; commands are run with real ones."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        yield
        return
    multiprocessing.set_forkserver_preload(
        [
            *("usp.fleet.engines", "usp.fleet.site", "usp._formats.xml_sitemaps"),
            *("pyarrow.compute", "pyarrow.parquet"),
        ]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "START_METHOD", "forkserver")
        yield


@pytest.fixture(autouse=True)
def _process_as_it_was() -> Iterator[None]:
    """Give the process back what workers and commands that run in it change."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    environment, start = dict(os.environ), engines.START_METHOD
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
    if os.environ != environment:
        os.environ.clear()
        os.environ.update(environment)
    engines.START_METHOD = start


@pytest.fixture
def served() -> Iterator[Callable[..., list[Site]]]:
    """Serve tables of answers on loopback, each a website, until the test ends."""
    with ExitStack() as stack:
        yield lambda *tables, kind=Site: [stack.enter_context(kind(one)) for one in tables]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a dataset that is not there yet."""
    return tmp_path / "dataset"


@pytest.fixture
def dataset(root: Path) -> Dataset:
    """An empty dataset in a folder."""
    made = Dataset(root)
    made.make()
    return made
